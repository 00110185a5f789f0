"""ffmpeg and ffprobe, as programs."""

from __future__ import annotations

import functools
import json
import re
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from framewire import files
from framewire.errors import InputError, MachineError
from framewire.files import MP4, kind_of_video
from framewire.movie.sample_entries import ENCRYPTED, entries_of

__all__ = [
    "Show",
    "bits_of",
    "damaged",
    "has_audio",
    "packets_of",
    "path_of",
    "probe",
    "refuse_crash",
    "refuse_encrypted",
    "refuse_no_file",
    "refuse_undecodable",
    "run",
    "version_of",
]


_OF_MACHINE = ("No space left on device", "Disk quota exceeded", "File too large", "Read-only file system")
"""Why a file cannot be written, as strerror says it: then nothing is known of the one that is read."""


Show = Callable[[int], None]
"""Called with the number of frames that are done."""


_TOO_LOW = "bitrate too low for this video"  # libavcodec/ratecontrol.c: no plan of the second pass is cheap enough


def run(arguments: Sequence[str], show: Show, source: Path | None = None) -> None:
    """Runs ffmpeg to its end, or not at all: whatever interrupts this ends it.

    ``source`` is a file of the user's that it reads, which is damaged where it fails.
    """
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
        errors.seek(0)
        told = [] if process.returncode == 0 else errors.read().strip().splitlines()
        if any(_TOO_LOW in line for line in told):  # some versions crash after this message
            raise InputError(
                "the rate is too low for this picture, even with the coarsest quantiser that is allowed; ask for a "
                "higher rate, a smaller size or another codec"
            )
        refuse_crash("ffmpeg", process.returncode)
        of_machine = any(said in line for line in told for said in _OF_MACHINE)
        if process.returncode != 0 and source is not None and not of_machine:
            raise damaged(source, "nothing can be taken out of it", told)
        if process.returncode != 0:
            raise InputError(f"ffmpeg could not make the movie: {'; '.join(told[:3]) or f'exit {process.returncode}'}")


_ADDRESS = re.compile(r"\[(\S+) @ 0x[0-9a-f]+\]")


def damaged(path: Path, why: str, told: Sequence[str] = ()) -> InputError:
    """The error for a file that begins as video and is not what it says, with what ffmpeg said of it.

    >>> str(damaged(Path("a"), "no frame is in it", ["[h264 @ 0x55b4cd2d4600] No start code is found."]))
    'a: the file is damaged: no frame is in it (h264: No start code is found); get it again from where it is whole'
    """
    begins = files.kind_of_video(path) if path.is_file() else None
    line = next((line for line in told if not line.startswith("Output file")), "")  # of which this file is none
    said = _ADDRESS.sub(r"\1:", line).removeprefix(f"file:{path}: ").strip().rstrip(".")
    what = "the file" if begins is None else f"it begins as {begins} and"
    return InputError(f"{path}: {what} is damaged: {why}{said and f' ({said})'}; get it again from where it is whole")


def refuse_undecodable(path: Path) -> None:
    """Raises InputError for a file of whose video not one picture can be decoded: of a whole one that is soon known."""
    decoded = [0]
    output = ["-map", "0:V:0", "-frames:v", "1", "-f", "null", "-"]
    run(["-i", f"file:{path}", *output], decoded.append, path)
    if not max(decoded):
        raise damaged(path, "not one of its pictures can be decoded")


def refuse_crash(program: str, code: int) -> None:
    """Raises MachineError for a program that was ended by a signal: what it wrote before is of no use to a user."""
    if code >= 0:
        return
    named = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    if -code in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
        raise MachineError(f"{program} was ended by {named} from outside: too little memory, a limit, or somebody")
    raise MachineError(
        f"{program} crashed ({named}): a defect of this {program}, which another version may not have; "
        f"what it was given may be damaged or very unusual"
    )


def path_of(program: str) -> str:
    """Where a program is; raises MachineError where it is not installed."""
    found = shutil.which(program)
    if found is None:
        raise MachineError(f"{program} is not installed: making a movie needs ffmpeg and ffprobe (apt install ffmpeg)")
    return found


def version_of(program: str) -> str:
    """The first line that a program says about itself; raises MachineError where it is not installed."""
    found = path_of(program)
    return _first_line(found, Path(found).stat().st_mtime_ns)


@functools.cache
def _first_line(program: str, _changed_ns: int) -> str:
    """What a program says, asked once as long as its file does not change: to start FFmpeg takes 0.1 s."""
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stdout
    return said.partition("\n")[0].strip()


@files.remembered
def has_audio(path: Path) -> bool:
    """Whether there is a stream of audio in a file that was probed before."""
    command = ["ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries", "stream=index", "-of", "csv=p=0"]
    result = subprocess.run([*command, f"file:{path}"], capture_output=True, text=True, check=False)
    refuse_crash("ffprobe", result.returncode)
    return bool(result.stdout.strip())


def packets_of(path: Path, *more: str) -> int:
    """How many packets of video a file has; all of it is read for that."""
    return int(probe(path, "-count_packets", *more)["streams"][0].get("nb_read_packets") or 0)


def bits_of(path: Path) -> int:
    """The bits of all packets of the first real video stream of a file; all of it is read for that."""
    command = ["ffprobe", "-v", "error", "-select_streams", "V:0", "-show_entries", "packet=size", "-of", "csv=p=0"]
    result = subprocess.run([*command, f"file:{path}"], capture_output=True, text=True, check=False)
    refuse_crash("ffprobe", result.returncode)
    return 8 * sum(int(size) for line in result.stdout.split() if (size := line.strip(",")).isdecimal())


_NO_INDEX = "moov atom not found"  # libavformat/mov.c


def refuse_no_file(path: Path) -> None:
    """Raises InputError for what is no file, cannot be reached, or has nothing in it."""
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {files.why_absent(error)}; a video file is needed") from None
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path}: not a file; a video file is needed")
    if found.st_size == 0:
        raise InputError(f"{path}: the file is empty; a video file is needed")


@files.remembered
def refuse_encrypted(path: Path, stream: str, what: str) -> None:
    """Raises InputError for a stream (ffmpeg's specifier: ``V:0``, ``a:1``) of an MP4 or MOV file that is encrypted, as
    its index says, all of it or what follows a beginning in the clear: a decoder would make noise of the bytes.
    """
    if kind_of_video(path) != MP4:
        return
    kind, _, number = stream.partition(":")
    of_kind = entries_of(path, b"vide" if kind == "V" else b"soun")
    for track, entries in of_kind[int(number) :][:1]:
        if ENCRYPTED.intersection(entries):
            raise InputError(
                f"{path}: its {what} (track {track}) is encrypted (DRM), and there is no key for it: a file without "
                "protection is needed"
            )


@files.remembered
def probe(path: Path, *more: str, first_frame: bool = False) -> dict[str, Any]:
    """What ffprobe says about the first real video stream of a file, and on request about its first frame, decoded.

    Without more the tracks of sound are in ``sound``, so that one look is enough for both.
    """
    refuse_no_file(path)
    path_of("ffprobe")
    entries = (
        "stream=codec_name,has_b_frames,width,height,sample_aspect_ratio,field_order,r_frame_rate,avg_frame_rate,start_time,"
        "duration,nb_frames,nb_read_packets:stream_side_data=rotation:format=format_name,start_time,duration"
    )
    chosen = ["-select_streams", "V:0"]
    if not more and not first_frame:
        chosen = []
        entries += ":stream=codec_type,sample_rate,channels:stream_tags=language"
        entries += ":stream_disposition=attached_pic,default"
    if first_frame:  # entries of frames make ffprobe decode: all of them, but for the interval
        entries += ":frame=interlaced_frame,top_field_first"
        more = (*more, "-read_intervals", "%+#1")
    command = ["ffprobe", "-v", "error", *chosen, *more, "-show_entries", entries, "-of", "json"]
    result = subprocess.run([*command, f"file:{path}"], capture_output=True, text=True, check=False)
    refuse_crash("ffprobe", result.returncode)
    if result.returncode != 0:
        told = result.stderr.strip().splitlines()
        if any(_NO_INDEX in line for line in told) and kind_of_video(path) == MP4:
            raise InputError(
                f"{path}: it has no index (moov), which an MP4 or MOV file gets when it is written to its end: it is "
                "cut off, or still being written"
            )
        if kind_of_video(path) is not None:
            raise damaged(path, "what it holds cannot be found", told[-1:])
        raise InputError(f"{path}: ffmpeg cannot read it: {told[-1].removeprefix(f'file:{path}: ') if told else '?'}")
    probed: dict[str, Any] = json.loads(result.stdout)
    if not chosen:
        streams = probed.get("streams") or []
        probed["sound"] = [stream for stream in streams if stream.get("codec_type") == "audio"]
        probed["streams"] = [stream for stream in streams if _is_video(stream)][:1]
    if not probed.get("streams"):
        raise InputError(f"{path}: it holds no video; a file with a video stream is needed")
    return probed


def _is_video(stream: Mapping[str, Any]) -> bool:
    """Whether ffmpeg's specifier ``V`` is of this stream: the picture of a record's cover is none."""
    return stream.get("codec_type") == "video" and not (stream.get("disposition") or {}).get("attached_pic")
