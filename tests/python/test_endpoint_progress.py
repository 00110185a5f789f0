"""The progress, messages and log of adaptive streams that are sent and received."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from framewire.endpoint import messages
from framewire.progress import Silence
from framewire.run_handle import Event

pytestmark = pytest.mark.real_time


class Shown(Silence):
    """Keeps what would be shown."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def last(self) -> tuple[str, float]:
        """The state, and the rate in Mbit/s."""
        return str(self.events[-1]["state"]), float(self.events[-1]["throughput_bps"]) / 1e6


class Watched:
    """A receiver on a clock of its own."""

    def __init__(self, *, tfrc: bool = False) -> None:
        self.shown, self.now = Shown(), 100.0
        self.receiver = messages._Receiver("movie", self.shown, tfrc=tfrc, clock=lambda: self.now)
        self.frame = 0
        self.tell(event="described", frames=1_000)

    def tell(self, **event: Any) -> None:
        self.receiver("event", {"at_s": self.now, **event})

    def frames(self, seconds: int, size: int) -> None:
        """Ten a second."""
        for _ in range(10 * seconds):
            self.now += 0.1
            self.tell(event="frame", frame=self.frame, level=1, bytes=size)
            self.frame += 1


def test_the_rate_is_that_of_the_last_seconds_and_at_the_end_the_mean() -> None:
    watched = Watched()
    watched.frames(2, 25_000)
    assert watched.shown.last()[1] == pytest.approx(2, rel=0.1)
    watched.frames(18, 25_000)
    assert watched.shown.last() == ("level 1, 0 frames lost", pytest.approx(2, rel=0.05))
    watched.frames(6, 2_500)
    assert watched.shown.last()[1] == pytest.approx(0.2, rel=0.05)
    watched.tell(event="ended", reason="EndOfMovie")
    assert watched.shown.last() == ("done", pytest.approx((20 * 2 + 6 * 0.2) / 26, rel=0.02))


def test_what_does_not_come_any_more_is_said_after_five_seconds_and_not_before() -> None:
    watched = Watched()
    watched.frames(10, 25_000)
    count = len(watched.shown.events)
    watched.now += 4.9
    watched.receiver.tick()
    assert len(watched.shown.events) == count
    watched.now += 2.1
    watched.receiver.tick()
    assert watched.shown.last() == ("nothing has come for 7 s", 0)
    assert watched.shown.events[-1]["elapsed_s"] == pytest.approx(17)
    watched.frames(1, 25_000)
    assert watched.shown.last()[0] == "level 1, 0 frames lost"
    watched.tell(event="ended", reason="EndOfMovie")
    count = len(watched.shown.events)
    watched.now += 60
    watched.receiver.tick()
    assert len(watched.shown.events) == count, "it is over"


def test_nothing_is_said_before_a_server_described_the_movie_and_silence_at_its_beginning_is() -> None:
    shown = Shown()
    receiver = messages._Receiver("movie", shown, clock=lambda: 1_000.0)
    receiver.tick()
    assert shown.events == []
    watched = Watched()
    watched.now += 6
    watched.receiver.tick()
    assert watched.shown.last() == ("nothing has come for 6 s", 0)
    assert watched.shown.events[-1]["offered"] == 0


@pytest.mark.parametrize("reason", ["EndOfMovie", "Stopped", "Vanished", "SourceFailed"])
def test_only_the_end_of_the_movie_is_called_done(reason: str) -> None:
    watched = Watched()
    watched.frames(1, 1_000)
    watched.tell(event="ended", reason=reason)
    assert watched.shown.last()[0] == ("done" if reason == "EndOfMovie" else "broken off")


def test_a_receiver_is_watched_from_a_thread_that_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown()
    monkeypatch.setattr(messages.progress, "for_console", lambda _: shown)
    monkeypatch.setattr(messages, "_WATCH_EVERY_S", 0.01)
    monkeypatch.setattr(messages, "_WINDOW_S", 0.05)
    with messages.receiver("movie") as listener:
        listener("event", {"at_s": 0.0, "event": "described", "frames": 5})
        deadline = time.monotonic() + 10
        while len(shown.events) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert str(shown.events[-1]["state"]).startswith("nothing has come")
    count = len(shown.events)
    time.sleep(0.3)
    assert len(shown.events) == count


@pytest.mark.parametrize(("tfrc", "advice"), [(False, "say that here too"), (True, "leave that out here too")])
def test_who_has_the_wrong_reports_is_told_what_to_do(
    tfrc: bool, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Watched(tfrc=tfrc).tell(event="no feedback", for_s=5.0)
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith("warning: the server has used no report of this side for 5 s: it seems to run with")
    assert said.endswith(advice) and ("without --transport tfrc" in said) == tfrc


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("EndOfMovie", "the movie was sent to its end"),
        ("Stopped", "it, or this server, was stopped before the end of the movie"),
        ("Vanished", "nothing was heard of it any more"),
        ("SourceFailed", "the file cannot be read any further"),
    ],
)
def test_a_server_says_in_words_why_a_client_goes(reason: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = messages.server("vtp")
    told("event", {"event": "started", "session": 1, "data": "192.0.2.1:9", "at_s": 1.0, "sessions": 1})
    told("event", {"event": "level", "session": 1, "at_s": 2.0, "to": 2})
    told("event", {"event": "ended", "session": 1, "at_s": 17.0, "reason": reason, "lateness_p99_s": 0.001})
    said = " ".join(capsys.readouterr().err.split())
    expected = f"192.0.2.1:9 goes after 16.0 s at level 2: {why}; 99 % of all packets within 1.00 ms of their time"
    assert said.endswith(expected) and reason not in said


def test_a_log_ends_at_its_size_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(messages, "_LOG_AT_MOST", 1_000)
    path, heard = tmp_path / "log", []
    with messages.log_to(path, lambda _kind, event: heard.append(event["frame"])) as listener:
        for frame in range(100):
            listener("event", {"event": "frame", "frame": frame})
    assert heard == list(range(100)), "what it tells of goes on"
    *lines, last = map(json.loads, path.read_text().splitlines())
    assert [line["frame"] for line in lines] == list(range(len(lines)))
    assert last == {"kind": "log", "event": "full", "bytes": 1_000}
    assert 900 < path.stat().st_size - len(json.dumps(last)) - 1 <= 1_000
    assert capsys.readouterr().err.count("the most that a log may have") == 1


def test_a_log_to_a_pipe_has_no_end_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_LOG_AT_MOST", 1_000)
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with messages.log_to(pipe, lambda _kind, _event: None) as listener:
        for frame in range(100):
            listener("event", {"event": "frame", "frame": frame})
    reader.join()
    assert len(read[0].splitlines()) == 100
