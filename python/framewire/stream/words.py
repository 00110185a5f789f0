"""What is said of a stream: why it ended, and what plays it."""

from __future__ import annotations

import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

__all__ = ["how_it_plays", "why_it_ended"]

_FORMATS = {"MPEG video": "mpegvideo", "MPEG-4 part 2": "m4v", "H.264": "h264", "H.265": "hevc", "AV1": "obu"}
"""FFmpeg's names of byte streams."""


def why_it_ended(viewed: dict[str, Any], *, server: str, title: str, keyed: bool) -> str | None:
    """What went wrong in a session, and what to look at; None where nothing did."""
    ended = viewed["ended"]
    if ended in ("EndOfMovie", "Stopped"):
        return None
    if ended == "Vanished":
        return f"{server}: {_silence(viewed, keyed=keyed)}"
    reasons = {
        "UnknownTitle": f"the server has no movie of the title {title!r}; a title is the name of the server's file "
        "without .vtp, unless the server was told another (--title)",
        "Busy": "the server has as many sessions as it may (its --clients); try again later",
        "SourceFailed": f"the server cannot read its file any further, after {viewed['frames']} frames",
    }
    return f"{server}: {reasons.get(ended, f'the session ended before the movie: {ended}')}"


def _silence(viewed: dict[str, Any], *, keyed: bool) -> str:
    if viewed["frames"] or viewed["packets"]:
        return (
            f"the server fell silent after {viewed['frames']} whole frames: it was stopped, the network is broken, or "
            "it does not hear this side (is it told another --transport?)"
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
    kind = _FORMATS.get(viewed["codec"] or "")
    if kind is None:
        return [f"{out}: a codec that is not known"]
    rate = viewed["frames_per_second"]
    video = ["-f", kind, *([] if rate is None else ["-framerate", _rate(rate)])]
    lines = [f"{out}: {viewed['codec']}; plays with: {shlex.join(['ffplay', *video, str(out)])}"]
    heard = viewed["audio"]
    if heard is not None and heard["file"] is not None:
        both = ["ffmpeg", "-fflags", "+genpts", *video, "-i", str(out), "-i", heard["file"], "-c", "copy"]
        lines.append(f"with its audio: {shlex.join([*both, str(out.with_suffix('.mkv'))])}")
        lost = viewed["frames_lost"]
        if lost and rate is not None and viewed["ended"] == "EndOfMovie":
            lines.append(
                f"{lost} frames are missing: the video is {lost / rate:.2f} s shorter than "
                "its audio and runs ahead of it; a server with --transport better sends lost packets again"
            )
    return lines


def _rate(rate: float) -> str:
    """As a fraction, which it is.

    >>> _rate(25.0), _rate(23.976023976)
    ('25', '24000/1001')
    """
    return str(Fraction(rate).limit_denominator(1_001))
