"""Whether levels that a user encoded show the same movie: their key frames, made small and grey, side by side."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framewire.errors import InputError
from framewire.movie import ffmpeg
from framewire.movie.picture import Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pictures = NDArray[np.float64]

__all__ = ["LEAST_CORRELATION", "compare"]

WIDTH, HEIGHT = 32, 18
"""Of the small pictures: what coarse quantisers do to a block, the mean over it hardly shows."""

LEAST_CORRELATION = 0.7
"""Between two small pictures of the same frame. Measured on synthetic pictures of 320x192 with FFmpeg's mpeg4: the same
one at quantiser 2 and at quantiser 31 or 100 kbit/s, 0.98 and more; with libx264 at its coarsest (CRF 51), 0.89 and
more; at 80x48 and quantiser 31, 0.94, and 0.80 for specks of a pixel. Different ones: -0.5 to 0.4, and 0.55 to 0.72
where both have the same black bars above and below, each pair with frames below 0.66."""

FLAT = 16.0
"""Standard deviation of the grey values up to which a picture is left out: one that is black, or fades, has none that
is its own, and coarse quantisers take what it has (at 11, CRF 51 leaves a correlation of 0.02)."""


def compare(files: Sequence[Path], description: dict[str, Any], report: Progress) -> None:
    """Compares the key frames of levels that are aligned with those of level 0.

    Raises InputError with the level, the frame and the time of the first that is clearly another picture. What ffmpeg
    cannot decode alike in both is not compared.
    """
    lowest: Pictures | None = None
    for number, file in enumerate(files):
        report(f"comparing the pictures of level {number}", number / len(files))
        pictures = _key_frames(file)
        if lowest is None:
            lowest = pictures
        elif len(pictures) == len(lowest):
            for place, (ours, theirs) in enumerate(zip(pictures, lowest, strict=True)):
                found = correlation(ours, theirs)
                if found is not None and found < LEAST_CORRELATION:
                    raise InputError(
                        f"{_named(place, len(lowest), description)} of level {number} is another picture than in level "
                        f"0: they have a correlation of {found:.2f}, and {LEAST_CORRELATION} is the least that is "
                        "allowed; levels are encodes of the same movie"
                    )


def correlation(one: Pictures, other: Pictures) -> float | None:
    """Of the grey values of two pictures; None where both are flat, which decides nothing."""
    if max(one.std(), other.std()) < FLAT:
        return None
    if min(one.std(), other.std()) == 0:
        return 0.0
    return float(((one - one.mean()) * (other - other.mean())).mean() / (one.std() * other.std()))


def _key_frames(path: Path) -> Pictures:
    """A row for each key frame that ffmpeg finds, small and grey."""
    import numpy as np  # slow, and help does not need it

    small = f"scale={WIDTH}:{HEIGHT}:flags=area,format=gray"
    chosen = ["-map", "0:V:0", "-vf", small, "-fps_mode", "passthrough", "-f", "rawvideo", "-"]
    command = ["ffmpeg", "-nostdin", "-v", "error", "-skip_frame", "nokey", "-i", f"file:{path}", *chosen]
    ended = subprocess.run(command, capture_output=True, check=False)
    ffmpeg.refuse_crash("ffmpeg", ended.returncode)
    whole = len(ended.stdout) // (WIDTH * HEIGHT)
    values = np.frombuffer(ended.stdout, np.uint8, whole * WIDTH * HEIGHT)
    return values.reshape(whole, WIDTH * HEIGHT).astype(np.float64)


def _named(place: int, count: int, description: dict[str, Any]) -> str:
    """A key frame by its number in the movie and its time, where all key frames are known."""
    frames = description["switch_points"]
    if len(frames) != count:
        return f"key frame {place + 1} of {count}"
    numerator, denominator = description["frame_rate"]
    return f"frame {frames[place]} ({frames[place] * denominator / numerator:.3f} s)"
