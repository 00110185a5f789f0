"""The film of a run: which picture stands on each screen is read from the film itself."""

from __future__ import annotations

import base64
import re
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from report_run import INTERVAL_NS, Delivery, Picture, make_movie, prompt, read_pictures, without, write_run
from typer.testing import CliRunner

from framewire import InputError, report
from framewire.cli import app
from framewire.errors import MachineError
from framewire.render import Options, render
from framewire.render.canvas import Canvas
from framewire.render.excerpts import FOOT, worst
from framewire.render.panel import GAP, Grid, Panel
from framewire.render.screens import of_run, standing
from framewire.report.data import load
from framewire.report.reference_pictures import Pictures

WIDTH, HEIGHT = 176, 144
RATE = 25.0


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_movie(tmp_path_factory.mktemp("movie") / "small.m2v", bitrate="900k")


@pytest.fixture(scope="module")
def pictures(movie: Path) -> list[Picture]:
    return read_pictures(movie)


def decoded(path: Path, width: int, height: int) -> NDArray[np.int64]:
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-fps_mode", "passthrough", "-f", "rawvideo"]
    raw = subprocess.run([*command, "-pix_fmt", "gray", "pipe:1"], check=True, capture_output=True).stdout
    return np.frombuffer(raw, dtype=np.uint8).reshape(-1, height, width).astype(np.int64)


def numbers_in(film: Path, movie: Path, screens: int) -> list[list[int | None]]:
    """By screen, the number of the movie's picture that each frame of the film shows; None for a dark screen."""
    grid = Grid.of(screens, WIDTH / HEIGHT, WIDTH)
    assert (grid.width, grid.height) == (WIDTH, HEIGHT)
    wide, high = grid.size
    shown, known = decoded(film, wide, high), decoded(movie, WIDTH, HEIGHT)
    bar = (high - GAP - grid.rows * (HEIGHT + GAP)) // grid.rows
    found: list[list[int | None]] = []
    for place in range(screens):
        row, column = divmod(place, grid.columns)
        top, left = GAP + row * (HEIGHT + bar + GAP), GAP + column * (WIDTH + GAP)
        panels = shown[:, top : top + HEIGHT, left : left + WIDTH]
        nearest = [int(((known - one) ** 2).mean(axis=(1, 2)).argmin()) for one in panels]
        found.append([None if one.mean() < 30 else number for one, number in zip(panels, nearest, strict=True)])
    return found


@pytest.mark.parametrize("policy", ["live", "stall"])
def test_each_screen_shows_what_its_player_showed(
    policy: str, movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    slow = [
        at + (3 * INTERVAL_NS if number > 20 else 0) + 10**9 * (number > 30)
        for number, at in enumerate(prompt(pictures))
    ]
    gone = {number for number, one in enumerate(pictures) if one.gop == 1}
    first = {number for number, one in enumerate(pictures) if one.gop == 0}
    deliveries = {
        "whole": Delivery("tcp", prompt(pictures), datagrams=False),
        "gap": Delivery("udp", without(prompt(pictures), gone)),
        "dark": Delivery("udp+ifd", without(prompt(pictures), first)),
        "slow": Delivery("tcp+ifd", slow, datagrams=False),
    }
    run = write_run(tmp_path / "run", movie, deliveries, policy=policy)
    film, missing = render(run, options=Options(width=WIDTH))
    assert not missing and film == run / "film.mp4"
    loaded = load(run)
    (original,), _ = Pictures(loaded).originals
    seen = numbers_in(film, movie, 5)
    lengths = {len(screen) for screen in seen}
    assert len(lengths) == 1
    (count,) = lengths
    # As long as the movie, or as the player that waits longest.
    ends = [max(at for at in Pictures(loaded).received(flow, original).display.shown_at_s if at is not None)
            for flow in loaded.flows]  # fmt: skip
    assert count == round(max(2.0, *(end + 0.04 for end in ends)) * RATE)
    assert (count > 50) == (policy == "stall")
    assert seen[0] == [*range(50), *[49] * (count - 50)]
    for flow, screen in zip(loaded.flows, seen[1:], strict=True):
        shown_at = Pictures(loaded).received(flow, original).display.shown_at_s
        expected = [None if one < 0 else one for one in standing(shown_at, count, RATE).tolist()]
        assert screen == expected, flow.name
    assert None in seen[3] and None not in seen[1]


def test_a_part_of_some_flows_begins_where_it_is_asked_to(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    deliveries = {name: Delivery("udp", prompt(pictures)) for name in ("a", "b", "c")}
    run = write_run(tmp_path / "run", movie, deliveries)
    film, _ = render(run, tmp_path / "part.mp4", Options(("b",), 0.4, 1.0, WIDTH, texts=False))
    assert numbers_in(film, movie, 2) == [[*range(10, 25)]] * 2


def test_captions_say_what_is_missing_and_for_how_long(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    b = next(number for number, one in enumerate(pictures) if one.kind == "B" and one.display > 20)
    deliveries = {"udp": Delivery("udp", without(prompt(pictures), {b})), "none": Delivery("tcp", [None] * 50)}
    screens, _ = of_run(load(write_run(tmp_path / "run", movie, deliveries)))
    lost, sent, none = pictures[b].display, screens[0], screens[2]
    assert sent.caption(0.4, 10) == ("frame 10", False)
    assert screens[1].caption(lost / RATE, lost - 1) == (f"frozen 0.04 s, frame {lost} lost (on the link)", True)
    assert screens[1].caption((lost + 1) / RATE, lost + 1) == (f"frame {lost + 1}", False)
    assert none.caption(1.0, None) == ("frame 25 lost (on the link)", True)
    slow = [at + 2 * 10**9 * (number > 30) for number, at in enumerate(prompt(pictures))]
    stalls = write_run(tmp_path / "stalls", movie, {"tcp": Delivery("tcp", slow, datagrams=False)}, policy="stall")
    (_, waits), _ = of_run(load(stalls))
    last = max(slot for slot, at in enumerate(waits.shown_at_s) if at is not None and at < slot / RATE + 0.05)
    paused = waits.shown_at_s[last]
    assert paused is not None
    assert waits.caption(paused + 0.34, last) == (f"frame {last}, waiting 0.3 s", True)
    after = waits.shown_at_s[last + 1]
    assert after is not None
    behind = after - (last + 1) / RATE
    assert waits.caption(after, last + 1) == (f"frame {last + 1}, {behind:.1f} s behind", False)


@pytest.mark.parametrize("policy", ["live", "stall"])
def test_a_run_that_was_stopped_ends_with_what_was_offered(
    policy: str, movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    late = 400_000_000
    came = [at + late if number < 20 else None for number, at in enumerate(prompt(pictures))]
    deliveries = {"a": Delivery("udp", came, offered=20), "b": Delivery("tcp", [*prompt(pictures)[:10], *[None] * 40],
                  datagrams=False, offered=10)}  # fmt: skip
    run = write_run(tmp_path / "run", movie, deliveries, status="partial", policy=policy)
    film, _ = render(run, options=Options(width=WIDTH))
    last = max(one.display for one in pictures[:20])
    (sent, _, b) = numbers_in(film, movie, 3)
    assert sent == [*range(last + 1)]
    assert b[5] == 5 and b[-1] is not None and b[-1] < 10, "which was offered less stands still"
    screens, _ = of_run(load(run))
    assert screens[0].caption(last / RATE, last) == (f"frame {last}", False)
    assert screens[2].caption(last / RATE, b[-1])[1]
    assert "not offered" not in screens[1].caption(last / RATE, last)[0]
    # Behind the end of what was offered, while a player that waits shows the rest, nothing else is due.
    assert screens[0].caption(last / RATE + 1, last) == (f"frame {last}", False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (Options(("nosuch",)), "nosuch: the run has no such flow; it has a"),
        (Options(begin_s=2.0), "allowed is a part of the film, which is 2 s long"),
        (Options(begin_s=1.0, end_s=0.5), "from 1 s to 0.5 s"),
    ],
)
def test_what_cannot_be_shown_is_refused(
    options: Options, said: str, movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", movie, {"a": Delivery("udp", prompt(pictures))})
    with pytest.raises(InputError, match=said):
        render(run, options=options)
    assert not (run / "film.mp4").exists()


def test_pictures_that_do_not_come_out_of_the_decoder_are_missed(
    movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", movie, {"a": Delivery("udp", prompt(pictures))})
    stream = bytearray((run / "received" / "a.m2v").read_bytes())
    last = stream.rindex(b"\0\0\1\0")  # the header of a picture: a decoder passes over what is none
    stream[last + 3] = 0xB8
    (run / "received" / "a.m2v").write_bytes(stream)
    with pytest.raises(InputError, match="a: 49 of 50 pictures came out of the decoder"):
        render(run)


def test_an_encoder_that_fails_leaves_no_film(
    movie: Path, pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", movie, {"a": Delivery("udp", prompt(pictures))})
    monkeypatch.setattr("framewire.render.film.ENCODING", ("-c:v", "no-such-encoder"))
    with pytest.raises(MachineError, match="ffmpeg could not write the film: .*no-such-encoder"):
        render(run)
    assert not list(run.glob("*film*"))


def test_the_command_line_names_what_is_not_shown(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    deliveries = {name: Delivery("udp", prompt(pictures)) for name in ("a", "b")}
    run = write_run(tmp_path / "run", movie, deliveries)
    (run / "received" / "b.m2v").unlink()
    done = CliRunner().invoke(app, ["render", str(run), "--width", "176", "--out", str(tmp_path / "film.mp4")])
    assert done.exit_code == 0, done.output
    assert "not shown: b:" in done.output and (tmp_path / "film.mp4").is_file()
    (run / "received" / "a.m2v").unlink()
    refused = CliRunner().invoke(app, ["render", str(run)])
    assert refused.exit_code == 2 and "there is no picture to show" in refused.output.replace("\n", " ")
    assert not list(run.glob("*.mp4")) and not list(run.glob(".*part"))


def test_a_film_that_is_there_stays_unless_it_is_to_be_replaced(
    movie: Path, pictures: list[Picture], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "run", movie, {"a": Delivery("udp", prompt(pictures))})
    (run / "film.mp4").write_text("whole")
    command = ["render", str(run), "--to", "0.4", "--width", "176"]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2 and "film.mp4: exists already; " in refused.stderr.replace("\n", " ")
    drawn = Canvas.draw

    def interrupted(canvas: Canvas, panels: list[Panel], clock: str) -> memoryview:
        if clock == "0.20 s":
            raise KeyboardInterrupt
        return drawn(canvas, panels, clock)

    with monkeypatch.context() as patch:
        patch.setattr(Canvas, "draw", interrupted)
        assert CliRunner().invoke(app, [*command, "--replace"]).exit_code == 130
    assert (run / "film.mp4").read_text() == "whole"
    assert not list(run.glob(".*")), "nothing half-written is beside it"
    done = CliRunner().invoke(app, [*command, "--replace"])
    assert done.exit_code == 0, done.output
    assert numbers_in(run / "film.mp4", movie, 2) == [[*range(10)]] * 2


def test_what_is_drawn_beside_the_pictures_has_its_colour(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    """White between screens, red around one that stands still, dark where nothing came yet."""
    deliveries = {"a": Delivery("udp", prompt(pictures)), "none": Delivery("udp", [None] * 50)}
    film, _ = render(write_run(tmp_path / "run", movie, deliveries), options=Options(width=WIDTH, end_s=0.2))
    wide, high = Grid.of(3, WIDTH / HEIGHT, WIDTH).size
    command = ["ffmpeg", "-v", "error", "-i", str(film), "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    raw = subprocess.run([*command, "pipe:1"], check=True, capture_output=True).stdout
    seen = np.frombuffer(raw, dtype=np.uint8).reshape(high, wide, 3).astype(int)
    grid = Grid.of(3, WIDTH / HEIGHT, WIDTH)
    (left, top), (other, at) = grid.corner(0), grid.corner(2)
    for row, column, colour in (
        (top + 9, left - 3, (255, 255, 255)),
        (at + 9, other - 3, (179, 38, 30)),
        (at + 9, other + 9, (22, 25, 27)),
    ):
        assert abs(seen[row, column] - colour).max() < 12, (row, column)
    asked = ["ffprobe", "-v", "error", "-show_entries", "stream=color_space,color_range", "-of", "csv=p=0", str(film)]
    assert subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip() == "tv,smpte170m"


def test_the_worst_moments_are_those_at_which_most_screens_stand_still(
    movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    late = {number for number, one in enumerate(pictures) if one.gop == 2}
    gone = {number for number, one in enumerate(pictures) if one.gop >= 1}
    deliveries = {
        "a": Delivery("udp", without(prompt(pictures), late)),
        "b": Delivery("udp", without(prompt(pictures), gone)),
    }
    screens, _ = of_run(load(write_run(tmp_path / "run", movie, deliveries)))
    third = min(one.display for one in pictures if one.gop == 2)
    (begin,) = worst(screens, length_s=0.4, most=1)
    # B pictures of the third group that go before its I picture are shown before it, so the freeze begins with them.
    assert begin == pytest.approx(third / RATE, abs=0.09)
    first, second = worst(screens, length_s=0.4, most=2)
    assert round((second - first) * RATE) >= 10
    whole, _ = of_run(load(write_run(tmp_path / "whole", movie, {"a": Delivery("udp", prompt(pictures))})))
    assert worst(whole) == []


def test_a_report_holds_films_of_the_worst_moments_on_request(
    movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    gone = {number for number, one in enumerate(pictures) if one.gop == 1}
    run = write_run(tmp_path / "run", movie, {"a": Delivery("udp", without(prompt(pictures), gone))})
    asked = CliRunner().invoke(app, ["report", str(run), "--film"])
    assert asked.exit_code == 0, asked.output
    (code,) = re.findall(r'<video [^>]*src="data:video/mp4;base64,([^"]*)"', (run / "report.html").read_text())
    (tmp_path / "excerpt.mp4").write_bytes(base64.b64decode(code))
    grid = replace(Grid.of(2, WIDTH / HEIGHT, (960 - GAP) // 2 - GAP), foot=FOOT)
    assert len(decoded(tmp_path / "excerpt.mp4", *grid.size)) == 50  # the movie is shorter than an excerpt
    assert CliRunner().invoke(app, ["report", str(run)]).exit_code == 0
    assert "<video" not in (run / "report.html").read_text()


def test_the_report_has_a_button_for_the_film_of_each_flow(
    movie: Path, pictures: list[Picture], tmp_path: Path
) -> None:
    run = write_run(tmp_path / "my run", movie, {"of a name": Delivery("udp", prompt(pictures))})
    page = report.build(run).read_text(encoding="utf-8")
    buttons = re.findall(r'<button type="button" class="copies" data-command="([^"]*)"', page)
    assert [unescape(command) for command in buttons] == ["framewire render 'my run' 'of a name'"]
    assert 'class="copied" role="status" hidden' in page
    two = {name: Delivery("udp", prompt(pictures)) for name in ("a", "b")}
    page = report.build(write_run(tmp_path / "two", movie, two)).read_text(encoding="utf-8")
    buttons = re.findall(r'data-command="([^"]*)"', page)
    assert buttons == ["framewire render two a", "framewire render two b", "framewire render two"]
    # Without pictures there is no film.
    assert "data-command" not in report.write(run, pictures=False).path.read_text(encoding="utf-8")
