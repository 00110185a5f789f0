"""Writing the film: pictures are decoded, drawn and encoded one by one, so that memory stays as it is."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from PIL import Image

from framewire.content_store import replacing
from framewire.errors import InputError, MachineError
from framewire.movie.ffmpeg import refuse_crash, version_of
from framewire.render.panel import Grid, Panel
from framewire.render.screens import Screen, of_run, seconds_of, standing
from framewire.report.cut_stream import StreamError, ffmpeg
from framewire.report.data import load

__all__ = ["Options", "encode", "render"]

Progress = Callable[[dict[str, Any]], None]

ENCODING = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart")
"""H.264 in MP4 with its index in front: what browsers play."""

SHORTEST_S = 0.04


@dataclass(frozen=True)
class Options:
    """What is in the film."""

    flows: Sequence[str] = ()
    """Their names, in the order of the run; all where none is named."""
    begin_s: float = 0.0
    """Of the film, by the viewer's clock."""
    end_s: float | None = None
    width: int | None = None
    """Of each screen, in pixels; as large as there is room in 1920 x 1080 where it is not given."""
    foot: int = 0
    """Pixels below the screens that stay free."""
    texts: bool = True
    """Frame numbers and fates below the screens."""


def render(
    run_dir: Path, out: Path | None = None, options: Options | None = None, progress: Progress | None = None
) -> tuple[Path, list[str]]:
    """Writes what each viewer of a run saw as one film, ``film.mp4`` in the run directory where ``out`` is not given.

    The film has the movie's frame rate and begins when the player of each screen puts on its first picture. It is as
    long as the movie, or until the last player that waits has shown all that came. Returns where it is, and why
    screens are missing.

    Raises:
        InputError: when there is no such run, flow or time, or no picture, and where the file cannot be written.
        MachineError: when ffmpeg is missing or crashes.
    """
    run, options = load(run_dir), options or Options()
    version_of("ffmpeg")
    screens, missing = of_run(run, options.flows)
    target = out or run.directory / "film.mp4"
    _part(options, seconds_of(screens))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as part:
            encode(part, screens, options, progress or (lambda _event: None))
    except StreamError as error:
        raise InputError(f"{run_dir}: {error}") from None
    except OSError as error:
        raise InputError(f"{target}: cannot write the film: {error.strerror}") from error
    return target, missing


def _part(options: Options, length_s: float) -> tuple[float, float]:
    """From where to where, within the film."""
    end_s = length_s if options.end_s is None else min(options.end_s, length_s)
    if not 0 <= options.begin_s <= end_s - SHORTEST_S:
        asked = f"{options.begin_s:g} s to {length_s if options.end_s is None else options.end_s:g} s"
        raise InputError(f"from {asked}: allowed is a part of the film, which is {length_s:g} s long")
    return options.begin_s, end_s


def encode(target: Path, screens: Sequence[Screen], options: Options, progress: Progress) -> None:
    """Writes a film of these screens.

    Raises InputError for a part that is not in it, StreamError where there is no picture or one cannot be told from
    another, and MachineError where ffmpeg crashes.
    """
    begin_s, end_s = _part(options, seconds_of(screens))
    rate = screens[0].frame_rate
    count = max(1, round((end_s - begin_s) * rate))
    first = next(_shown(screens[0], 2 * ((options.width or 640) // 2), [0]), None)
    if first is None:
        raise StreamError(f"{screens[0].label} has no picture")
    grid = replace(Grid.of(len(screens), first.width / first.height, options.width), foot=options.foot)
    views = [
        (screen, wanted, _shown(screen, grid.width, wanted.tolist()))
        for screen in screens
        for wanted in [standing(screen.shown_at_s, count, rate, begin_s)]
    ]
    with _encoder(target, grid.size, rate) as take:
        for number in range(count):
            at_s = begin_s + number / rate
            panels = []
            for screen, wanted, pictures in views:
                slot = None if wanted[number] < 0 else int(wanted[number])
                caption, is_still = screen.caption(at_s, slot)
                panels.append(Panel(screen.label, screen.colour, next(pictures), caption, is_still))
            take(grid.draw(panels, f"{at_s:.2f} s", texts=options.texts))
            progress({"event": "step", "text": "rendering the film", "share": number / count})
        for _, _, pictures in views:
            next(pictures, None)


def _shown(screen: Screen, width: int, wanted: Sequence[int]) -> Iterator[Image.Image | None]:
    """The picture for each frame of the film, by display numbers that never go back; None where there is none yet."""
    pictures = screen.pictures(width, {one for one in wanted if one >= 0})
    slot, picture = -1, None
    for one in wanted:
        while slot < one:
            following = next(pictures, None)
            if following is None:
                break
            slot, picture = following
        yield None if one < 0 else picture
    for _ in pictures:  # to the end, where their number is checked
        pass


@contextmanager
def _encoder(target: Path, size: tuple[int, int], rate: float) -> Iterator[Callable[[Image.Image], None]]:
    """One ffmpeg process that takes pictures and writes the film.

    Raises MachineError where it does not.
    """
    command = [ffmpeg(), "-hide_banner", "-nostdin", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{size[0]}x{size[1]}", "-r", f"{rate:.6g}", "-i", "pipe:0", *ENCODING, "-f", "mp4", str(target)]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors, bufsize=0) as process:
            pipe = process.stdin
            assert pipe is not None
            try:
                with suppress(BrokenPipeError):  # it ended early, and says why
                    yield lambda picture: _feed(pipe, picture)
                    pipe.close()
            except BaseException:
                process.kill()
                raise
        refuse_crash("ffmpeg", process.returncode)
        if process.returncode != 0:
            errors.seek(0)
            told = errors.read().decode(errors="replace").strip().splitlines()
            raise MachineError(f"ffmpeg could not write the film: {'; '.join(told[:3]) or process.returncode}")


def _feed(pipe: IO[bytes], picture: Image.Image) -> None:
    left = memoryview(picture.tobytes())
    while left:  # a signal may interrupt a write
        left = left[pipe.write(left) :]
