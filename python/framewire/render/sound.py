"""The sound of a film: that of one flow as its viewer heard it, in the time of the run's player.

It is the sound that was sent, decoded, with silence where a packet did not come or came too late; of a player that
waits, each packet is heard beside the picture that it belongs to.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from framewire.errors import InputError
from framewire.movie.ffmpeg import refuse_crash
from framewire.render.screens import Screen
from framewire.report.cut_stream import StreamError, ffmpeg
from framewire.report.data import ReportRun

__all__ = ["CHANNELS", "NONE", "RATE", "SENT", "Packet", "chosen", "heard", "packets_of"]

RATE = 48_000
"""Samples per second in the film."""

CHANNELS = 2

SENT = "sent"
"""Stands for what was sent, in place of a flow's name."""

NONE = "none"


@dataclass(frozen=True)
class Packet:
    """A packet of sound that was heard."""

    begin_s: float
    """When it begins in the movie, from the first picture."""
    end_s: float
    at_s: float
    """When it was heard, in seconds of the film."""


def chosen(run: ReportRun, screens: Sequence[Screen], asked: str | None, flows: Sequence[str] = ()) -> Screen | None:
    """The screen whose sound is heard: the one that is asked for, or else that of the first of these flows.

    None where no sound was sent. Raises InputError for a name that is not on a screen, and where the run has no sound.
    """
    if asked == NONE or (asked is None and run.sound.is_empty()):
        return None
    if run.sound.is_empty():
        raise InputError(f"--sound {asked}: no sound was sent in this run")
    with_sound = {screen.label: screen for screen in screens if screen.label in set(run.sound["flow"].unique())}
    named = {SENT: screens[0], **with_sound}
    if asked is not None and asked not in named:
        raise InputError(f"--sound {asked}: allowed is {', '.join(named)} or {NONE}")
    if asked is not None:
        return named[asked]
    return next((with_sound[name] for name in (*flows, *with_sound) if name in with_sound), None)


def packets_of(run: ReportRun, screen: Screen) -> Iterator[Packet]:
    """Those that a viewer heard, in order."""
    flows = {flow.name: flow for flow in run.flows}
    flow = flows.get(screen.label)
    name = flow.name if flow is not None else run.sound["flow"][0]
    rows = run.sound.filter(pl.col("flow") == name).sort("frame")
    begins = (rows["display_ns"] / 1e9).to_list()
    arrivals = rows["arrival_ns"].to_list()
    usual = float(np.median(np.diff(begins))) if len(begins) > 1 else 0.0
    first = _first_arrival_ns(run.ledger(flow)) if flow is not None else None
    startup_s = run.player(flow).startup_s if flow is not None else 0.0
    clock = _clock(screen)
    for begin_s, end_s, arrival in zip(begins, [*begins[1:], begins[-1] + usual], arrivals, strict=True):
        at_s = clock(begin_s)
        is_there = flow is None or (arrival is not None and first is not None
                                    and (arrival - first) / 1e9 <= startup_s + at_s)  # fmt: skip
        if is_there:
            yield Packet(begin_s, end_s, at_s)


def _first_arrival_ns(ledger: pl.DataFrame) -> int | None:
    """When the player of a flow began to count."""
    rows = ledger.filter(pl.col("arrival_ns").is_not_null()).head(1)
    return None if rows.is_empty() else int(rows["arrival_ns"][0] - rows["arrival_rel_ns"][0])


def _clock(screen: Screen) -> Callable[[float], float]:
    """When in the film a moment of the movie is played."""
    if not screen.waits:
        return lambda moment: moment
    behind, delays = 0.0, []
    for slot, at in enumerate(screen.shown_at_s):
        behind = behind if at is None else at - slot / screen.frame_rate
        delays.append(behind)

    def at_s(moment: float) -> float:
        slot = min(max(0, int(moment * screen.frame_rate + 1e-6)), len(delays) - 1)
        return moment + delays[slot]

    return at_s


@contextmanager
def heard(run: ReportRun, screen: Screen, begin_s: float, end_s: float) -> Iterator[Path]:
    """A file of samples (16 bits, little endian, `CHANNELS` at `RATE`) for this part of the film.

    Raises StreamError where the sound that was sent is no longer there or cannot be decoded, MachineError where ffmpeg
    crashes.
    """
    described = run.info.get("sound") or {}
    source, start_s = Path(str(described.get("path"))), float(described.get("start_ns", 0)) / 1e9
    if not source.is_file():
        raise StreamError(f"the sound that was sent is no longer at {source}")
    with tempfile.TemporaryDirectory(prefix="framewire-sound-") as directory:
        decoded, made = Path(directory) / "sent.pcm", Path(directory) / "heard.pcm"
        # No moment of the movie is played before its time.
        _decode(source, decoded, end_s - start_s)
        samples = np.memmap(decoded, dtype="<i2", mode="r").reshape(-1, CHANNELS)
        played = np.memmap(made, dtype="<i2", mode="w+", shape=(round((end_s - begin_s) * RATE), CHANNELS))
        for packet in packets_of(run, screen):
            since = samples[_sample(packet.begin_s - start_s) : _sample(packet.end_s - start_s)]
            place = _sample(packet.at_s - begin_s)
            since = since[max(0, -place) :]
            room = played[max(0, place) : max(0, place) + len(since)]
            room[:] = since[: len(room)]
        played.flush()
        yield made


def _sample(seconds: float) -> int:
    return round(seconds * RATE)


def _decode(source: Path, out: Path, seconds: float) -> None:
    command = [ffmpeg(), "-hide_banner", "-nostdin", "-v", "error", "-y"]
    # What a decoder is told to throw away at the beginning (Opus) has its place among the packets.
    command += ["-flags2", "+skip_manual", "-i", str(source), "-t", f"{seconds:.6f}"]
    command += ["-f", "s16le", "-ar", str(RATE), "-ac", str(CHANNELS), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    refuse_crash("ffmpeg", done.returncode)
    if done.returncode != 0 or not out.stat().st_size:
        raise StreamError(f"the sound that was sent cannot be decoded: {done.stderr.strip() or 'there is none'}")
