"""What is said of a stream: why it ended, and what plays it."""

from __future__ import annotations

import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

from framewire.errors import InputError, MachineError
from framewire.movie import ffmpeg

__all__ = ["how_it_plays", "joining_command", "why_it_ended"]

_WITHOUT_TIMES = ("H.264", "H.265")
"""Codecs of whose byte streams FFmpeg cannot derive when a frame is shown, where there are B frames."""


def why_it_ended(viewed: dict[str, Any], *, server: str, title: str, keyed: bool, max_size: str = "") -> str | None:
    """What went wrong in a session that was not interrupted here, and what to look at; None where nothing did."""
    ended = viewed["ended"]
    if ended == "EndOfMovie":
        return None
    if viewed.get("size_limit_reached"):
        return (
            f"{server}: stopped after {viewed['frames']} whole frames: more than --max-size {max_size} would be written"
        )
    if ended == "Vanished":
        return f"{server}: {_silence(viewed, keyed=keyed)}"
    reasons = {
        "UnknownTitle": f"the server has no movie of the title {title!r}; a title is the name of the server's file "
        "without .vtp, unless the server has another (--title)",
        "Busy": "the server has as many sessions as it may (its --clients); try again later",
        "Stopped": f"the server was stopped after {viewed['frames']} whole frames, before the end of the movie",
        "SourceFailed": f"the server cannot read its file any further, after {viewed['frames']} frames",
    }
    return f"{server}: {reasons.get(ended, f'the session ended before the movie: {ended}')}"


def _silence(viewed: dict[str, Any], *, keyed: bool) -> str:
    if viewed["frames"] or viewed["packets"]:
        return (
            f"the server fell silent after {viewed['frames']} whole frames: it was stopped, the network is broken, or "
            "it receives nothing from this side (has it another --transport?)"
        )
    if viewed["frames_by_level"]:
        return "the server described the movie and sent nothing of it: does something between hold UDP back?"
    if viewed["drops"].get("NotAuthentic"):
        return "what answers does not have your key: both sides need the same (--key-file)"
    if viewed["drops"]:
        return "what answers does not speak this protocol, or only garbage came: are the ports right?"
    key = "does it share your key" if keyed else "does it want a key (--key-file)"
    return f"no answer in 10 s: is a server there, are both ports open for UDP, and {key}?"


def how_it_plays(viewed: dict[str, Any], out: Path | None) -> list[str]:
    """The codec, and commands that play what was written, one a line."""
    if out is None or not viewed["bytes"]:
        return []
    kind = viewed["ffmpeg_format"]
    if kind is None:
        return [f"{out}: a codec that is not known"]
    if viewed["frames_before_key"] is None:
        return [f"{out}: no key frame came whole, without which no player shows anything of it"]
    rate = viewed["frames_per_second"]
    video = ["-f", kind, *([] if rate is None else ["-framerate", _rate(rate)])]
    lines = [f"{out}: {viewed['codec']}; plays with: {shlex.join(['ffplay', *video, str(out)])}"]
    heard = viewed["audio"]
    if heard is not None and heard["file"] is not None:
        before = viewed["frames_before_key"]
        # The audio of what no picture is there of is passed over, so that both begin together.
        skip = ["-ss", f"{before / rate:.3f}"] if before and rate is not None else []
        lines.append(f"with its audio: {joining_command(viewed['codec'], video, out, [*skip, '-i', heard['file']])}")
    return [*lines, *_missing(viewed, is_joined=len(lines) > 1)]


def joining_command(codec: str, video: list[str], movie: Path, sound: list[str]) -> str:
    """The command that makes a film of a stream of video, whose options those are, and of its sound, beside it.

    The picture is copied wherever FFmpeg can.
    """
    copied = codec not in _WITHOUT_TIMES or _is_in_display_order(movie)
    times, codecs = (["-fflags", "+genpts"], ["-c", "copy"]) if copied else ([], ["-c:a", "copy"])
    return shlex.join(["ffmpeg", *times, *video, "-i", str(movie), *sound, *codecs, str(movie.with_suffix(".mkv"))])


def _is_in_display_order(movie: Path) -> bool:
    """Whether no frame of a bare stream waits for a later one: then FFmpeg has times, and can copy H.264 and H.265.

    Others are put into order by a decoder, and encoded again.
    """
    try:
        return bool(ffmpeg.probe(movie)["streams"][0].get("has_b_frames") == 0)
    except (InputError, MachineError):
        return False  # this works whatever the stream is


def _missing(viewed: dict[str, Any], *, is_joined: bool) -> list[str]:
    """What is missing of the video, and how it then stands to its audio where they are joined as was said."""
    before, rate = viewed["frames_before_key"], viewed["frames_per_second"]
    lost = viewed["frames_lost"] - viewed["frames_lost_before_key"]
    begins = "the first key frame did not come whole: "
    begun = f"{begins}the video begins {before} frames later, at the next one" if before else ""
    lines = [f"{begun}, and its audio begins there too" if begun and is_joined and rate is not None else begun]
    if lost and is_joined and rate is not None and viewed["ended"] == "EndOfMovie":
        gaps = f"{lost} frames are missing within the film: "
        if viewed["codec"] == "MPEG-4 part 2":
            gaps += (
                "its pictures carry times, but behind a gap they may be late against the audio, by up to a second a gap"
            )
        else:
            gaps += f"behind each gap the video is ahead of its audio, at the end by {lost / rate:.2f} s"
        lines.append(f"{gaps}; a server with --transport vtp-hybrid sends lost packets again")
    return [line for line in lines if line]


def _rate(rate: float) -> str:
    """As a fraction, which it is.

    >>> _rate(25.0), _rate(23.976023976)
    ('25', '24000/1001')
    """
    return str(Fraction(rate).limit_denominator(1_001))
