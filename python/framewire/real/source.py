"""What is sent: a file, a part of it, the same several times, or standard input."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import BinaryIO

from framewire import files
from framewire.content_store import existing
from framewire.errors import InputError

__all__ = ["STDIN", "check_source", "source_of"]

STDIN = "-"
"""The name of standard input."""

MOST_INPUT = 16 << 30
"""Bytes that are taken from standard input at most, as a file of the cache."""

MOST_TIMES = 10_000
"""How often a file is sent at most."""


def check_source(named: str | os.PathLike[str], start_s: float = 0.0, times: int = 1) -> str | None:
    """What is sent, as far as it is there before anything is read or cut: a path, or ``lab``; None of standard input.

    Raises InputError for what is no file, and for a part of one that has no times.
    """
    text = os.fspath(named)
    if not 1 <= times <= MOST_TIMES:
        raise InputError(f"loop = {times}: 1 to {MOST_TIMES} times are allowed")
    if start_s < 0:
        raise InputError(f"start = {start_s} s: a time from 0 on is allowed")
    is_whole = start_s == 0 and times == 1
    if text == "lab" and not Path(text).exists():
        if not is_whole:
            raise InputError("lab: the lab's own movie is sent whole; --duration says how long it is")
        return text
    if text == STDIN:
        return None
    try:
        files.check_regular(text)
    except OSError as error:
        raise InputError(f"{text}: {error.strerror or error}") from None
    if not is_whole:
        _check_times(Path(text))
    return str(Path(text).resolve())


def source_of(named: str | os.PathLike[str], start_s: float = 0.0, times: int = 1) -> str:
    """The path of what is sent, wherever this process is; ``lab`` for the lab's own movie.

    What is not a whole file once is made in the cache: standard input read to its end, and a file from its last key
    frame before ``start_s`` on, several ``times``.

    Raises InputError as `check_source` does, and for what standard input gives.
    """
    checked = check_source(named, start_s, times)
    is_whole = start_s == 0 and times == 1
    if checked is None:
        path = _kept(sys.stdin.buffer)
        if not is_whole:
            _check_times(path)
    elif is_whole:
        return checked
    else:
        path = Path(checked)
    return str((path if is_whole else _part(path, start_s, times)).resolve())


def _kept(stream: BinaryIO) -> Path:
    """What a stream gives until its end, as a file of the cache: the same bytes are the same file."""
    from framewire.movie import cache  # it is slow to import

    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "movie"
        with path.open("wb") as written:
            while block := stream.read(1 << 20):
                written.write(block)
                if written.tell() > MOST_INPUT:
                    raise InputError(f"standard input: more than {MOST_INPUT >> 30} GiB; name a file instead")
        if not path.stat().st_size:
            raise InputError("standard input: nothing came before its end")

        def copied(folder: Path) -> Path:
            shutil.copyfile(path, folder / "movie.bin")
            return folder / "movie.bin"

        return cache.store().keep(f"stdin-{files.sha256(path)[:16]}.bin", existing, copied)


def _check_times(path: Path) -> None:
    from framewire.movie.source import ELEMENTARY, video_of

    if video_of(path).container in ELEMENTARY:
        raise InputError(
            f"{path}: an elementary stream has no times, by which --start and --loop go; a container (MP4, MKV, TS) has"
        )


def _part(path: Path, start_s: float, times: int) -> Path:
    """A file from a time on, several times one behind the other, without a frame encoded."""
    from framewire.movie import cache, ffmpeg

    def cut(folder: Path) -> Path:
        out = folder / "part.mkv"
        begun = ["-ss", f"{start_s:.3f}"] if start_s else []
        first = out if times == 1 else folder / "first.mkv"
        kept = ["-map", "0:V:0", "-map", "0:a?", "-c", "copy", "-fflags", "+bitexact"]
        ffmpeg.run([*begun, "-i", f"file:{path}", *kept, "-f", "matroska", str(first)], lambda _frame: None, path)
        if times > 1:
            looped = ["-stream_loop", str(times - 1), "-i", f"file:{first}"]
            ffmpeg.run([*looped, *kept, "-f", "matroska", str(out)], lambda _frame: None, path)
        return out

    name = f"part-{files.sha256(path)[:16]}-{start_s:.3f}-{times}.mkv"
    return cache.store().keep(name, existing, cut)
