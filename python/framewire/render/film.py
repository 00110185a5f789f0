"""Writing the film: pictures are decoded, drawn and encoded one by one, so that memory stays as it is."""

from __future__ import annotations

import io
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from framewire.content_store import replacing
from framewire.errors import InputError, MachineError
from framewire.movie.ffmpeg import path_of, refuse_crash
from framewire.render import sound
from framewire.render.canvas import COLOURS, Canvas, planar
from framewire.render.panel import Grid, Panel
from framewire.render.screens import Screen, of_run, seconds_of, standing
from framewire.report import decoded_display as standing_pictures
from framewire.report.cut_stream import PIPE_BYTES, StreamError, ffmpeg
from framewire.report.data import load
from framewire.report.decoder import Output
from framewire.report.single_pictures import portable_pixmaps

__all__ = ["Options", "encode", "render"]

Progress = Callable[[dict[str, Any]], None]

ENCODING = ("-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart")
"""H.264 in MP4 with its index in front: what browsers play."""

SOUND = ("-c:a", "aac", "-b:a", "160k")

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
    sound: str | None = None
    """Whose is heard: a flow's name, ``sent`` or ``none``; that of the first flow where it is not said."""


def render(
    run_dir: Path,
    out: Path | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
    *,
    replace: bool = False,
) -> tuple[Path, list[str]]:
    """Writes what each viewer of a run saw as one film, ``film.mp4`` in the run directory where ``out`` is not given.

    The film has the movie's frame rate and begins when the player of each screen puts on its first picture. It is as
    long as the movie, or until the last player that waits has shown all that came. Where sound was sent, one flow's is
    heard. Returns where it is, and why screens are missing.

    Raises:
        InputError: when there is no such run, flow, time or sound, or no picture, where the file cannot be written,
            and where it is there already and is not to be replaced.
        MachineError: when ffmpeg is missing or crashes.
    """
    options, tell, target = options or Options(), progress or (lambda _event: None), out or run_dir / "film.mp4"
    if target.exists() and not replace:
        raise InputError(f"{target}: exists already; name another file (--out), or say --replace")
    tell({"event": "step", "text": "reading the run"})
    run = load(run_dir)
    path_of("ffmpeg")
    screens, missing = of_run(run, options.flows)
    part_s = _part(options, seconds_of(screens))
    heard = sound.chosen(run, screens, options.sound, options.flows)
    if heard is not None:
        screens = [one.with_sound() if one is heard else one for one in screens]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as part, nullcontext() if heard is None else sound.heard(run, heard, *part_s) as samples:
            encode(part, screens, options, tell, samples)
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


def encode(
    target: Path, screens: Sequence[Screen], options: Options, progress: Progress, samples: Path | None = None
) -> None:
    """Writes a film of these screens, with these samples of sound, if any (:func:`framewire.render.sound.heard`).

    Raises InputError for a part that is not in it, StreamError where there is no picture or one cannot be told from
    another, and MachineError where ffmpeg crashes.
    """
    begin_s, end_s = _part(options, seconds_of(screens))
    rate = screens[0].frame_rate
    count = max(1, round((end_s - begin_s) * rate))
    grid = Grid.of(len(screens), _aspect(screens[0], options.width), options.width, foot=options.foot)
    output = planar(grid.width, grid.height)
    views = [(screen, *_shown(screen, output, standing(screen.shown_at_s, count, rate, begin_s))) for screen in screens]
    canvas = Canvas(grid, texts=options.texts)
    with _encoder(target, grid.size, rate, samples) as take:
        for number in range(count):
            at_s = begin_s + number / rate
            panels = []
            for screen, shown, slots, _ in views:
                caption, is_still = screen.caption(at_s, slots[number])
                panels.append(Panel(screen.label, screen.colour, shown.at(number), caption, is_still))
            take(canvas.draw(panels, f"{at_s:.2f} s"))
            progress({"event": "step", "text": "rendering the film", "share": (number + 1) / count})
        for _, _, _, pictures in views:
            for _ in pictures:  # to the end, where it is said whether all came
                pass


def _aspect(screen: Screen, width: int | None) -> float:
    """Width over height of the picture on a screen, in square pixels."""
    _, picture = next(screen.pictures(portable_pixmaps(2 * ((width or 640) // 2)), {0}), (0, None))
    if picture is None:
        raise StreamError(f"{screen.label} has no picture")
    columns, rows = Image.open(io.BytesIO(picture)).size
    return columns / rows


Shown = tuple[standing_pictures.Screen, list[int | None], Iterator[tuple[int, bytes]]]
"""What stands on a screen in each frame of the film; its display number, and what is being decoded for it."""


def _shown(screen: Screen, output: Output, stands: NDArray[np.int64]) -> Shown:
    slots = [None if slot < 0 else slot for slot in stands.tolist()]
    pictures = screen.pictures(output, {slot for slot in slots if slot is not None})
    return standing_pictures.Screen(slots, pictures), slots, pictures


@contextmanager
def _encoder(
    target: Path, size: tuple[int, int], rate: float, samples: Path | None
) -> Iterator[Callable[[memoryview], None]]:
    """One ffmpeg process that takes pictures and writes the film.

    Raises MachineError where it does not.
    """
    command = [ffmpeg(), "-hide_banner", "-nostdin", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "yuv420p"]
    command += ["-s", f"{size[0]}x{size[1]}", "-r", f"{rate:.6g}", "-i", "pipe:0"]
    if samples is not None:
        command += ["-f", "s16le", "-ar", str(sound.RATE), "-ac", str(sound.CHANNELS), "-i", str(samples), *SOUND]
    command += [*ENCODING, *COLOURS, "-f", "mp4", str(target)]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=errors, bufsize=0, pipesize=PIPE_BYTES) as process:
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


def _feed(pipe: IO[bytes], picture: memoryview) -> None:
    while picture:  # a signal may interrupt a write
        picture = picture[pipe.write(picture) :]
