"""ffmpeg and ffprobe, as programs."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from framewire.errors import InputError, MachineError

__all__ = ["has_audio", "probe", "run", "version_of"]


def run(arguments: Sequence[str], show: Callable[[int], None]) -> None:
    """Runs ffmpeg to its end, or not at all: whatever interrupts this ends it."""
    command = ["ffmpeg", "-hide_banner", "-nostdin", "-v", "error", "-nostats", "-progress", "pipe:1", "-y", *arguments]
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            try:
                assert process.stdout is not None
                for line in process.stdout:
                    if line.startswith("frame="):
                        show(int(line.removeprefix("frame=")))
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            errors.seek(0)
            told = errors.read().strip().splitlines()
            raise InputError(f"ffmpeg could not make the movie: {'; '.join(told[:3]) or f'exit {process.returncode}'}")


def version_of(program: str) -> str:
    """The first line that a program says about itself; raises MachineError where it is not installed."""
    if shutil.which(program) is None:
        raise MachineError(f"{program} is not installed: making a movie needs ffmpeg and ffprobe (apt install ffmpeg)")
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stdout
    return said.partition("\n")[0].strip()


def has_audio(path: Path) -> bool:
    """Whether there is a stream of audio in a file that was probed before."""
    command = ["ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "stream=index", "-of", "csv=p=0"]
    result = subprocess.run([*command, f"file:{path}"], capture_output=True, text=True, check=False)
    return bool(result.stdout.strip())


def probe(path: Path, *more: str) -> dict[str, Any]:
    """What ffprobe says about the first real video stream of a file."""
    if not path.is_file():
        raise InputError(f"{path}: {'not a file' if path.exists() else 'no such file'}; a video file is needed")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: the file is empty; a video file is needed")
    version_of("ffprobe")
    entries = "stream=codec_name,r_frame_rate,nb_read_packets:format=format_name,duration"
    command = ["ffprobe", "-v", "error", "-select_streams", "V:0", *more, "-show_entries", entries, "-of", "json"]
    result = subprocess.run([*command, f"file:{path}"], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        told = result.stderr.strip().splitlines()
        raise InputError(f"{path}: ffmpeg cannot read it: {told[-1].removeprefix(f'file:{path}: ') if told else '?'}")
    probed: dict[str, Any] = json.loads(result.stdout)
    if not probed.get("streams"):
        raise InputError(f"{path}: it holds no video; a file with a video stream is needed")
    return probed
