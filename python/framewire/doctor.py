"""What works on this machine, and what each missing thing costs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any

from framewire import emulator
from framewire.errors import MachineError

__all__ = ["Check", "can_simulate", "examine", "is_fit"]

EMULATOR = "emulator"
"""Name of the check that the simulated world does without."""

PATIENCE_S = 30.0
"""How long a program may take to say what it can do."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    required: bool
    """Whether `framewire run` needs it."""
    detail: str
    """What was found."""
    cost: str
    """What is lost without it; empty when it is there."""


def examine() -> list[Check]:
    """Look at everything: the kernel (the emulator does that), then the programs."""
    return [*_kernel(), *_ffmpeg(), _gstreamer(), _tshark()]


def is_fit(checks: list[Check]) -> bool:
    """Whether everything that `framewire run` needs is there."""
    return all(check.ok for check in checks if check.required)


def can_simulate(checks: list[Check]) -> bool:
    """Whether the simulated world has what it needs: everything but the emulator, and `is_fit` says of that."""
    return all(check.ok for check in checks if check.required and check.name != EMULATOR)


def _kernel() -> list[Check]:
    cost = "no run in the emulated world; --world simulated, campaigns, reports and movies still work"
    try:
        program = emulator.find()
    except MachineError as error:
        return [Check(EMULATOR, False, True, str(error), cost)]
    try:
        answer = json.loads(_output([str(program), "doctor", "--json"]))
        works = bool(answer["can_emulate"])
        capabilities = [_capability(entry) for entry in answer["capabilities"]]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
        return [Check(EMULATOR, False, True, f"{program} doctor gave no answer: {error!r}", cost)]
    return [Check(EMULATOR, works, True, str(program), "" if works else cost), *capabilities]


def _capability(entry: dict[str, Any]) -> Check:
    """One thing that the emulator looked at; whether they suffice is its own verdict."""
    ok = bool(entry["ok"])
    return Check(str(entry["name"]), ok, False, str(entry["detail"]), "" if ok else str(entry["cost"]))


def _ffmpeg() -> list[Check]:
    without = "no movie can be made or transcoded, and reports have no pictures and no PSNR; install ffmpeg"
    version = _version(["ffmpeg", "-hide_banner", "-version"])
    if version is None:
        return [Check("ffmpeg", False, True, "not in PATH", without)]
    encoders = _answer(["ffmpeg", "-hide_banner", "-encoders"]) or ""
    has_mpeg2 = re.search(r"^\s*V\S*\s+mpeg2video\s", encoders, re.MULTILINE) is not None
    return [
        Check("ffmpeg", True, True, version, ""),
        Check(
            "ffmpeg encoder mpeg2video",
            has_mpeg2,
            True,
            "present" if has_mpeg2 else "this ffmpeg was built without it",
            "" if has_mpeg2 else "no movie can be made or transcoded; MPEG-2 streams can be sent as they are",
        ),
    ]


def _gstreamer() -> Check:
    version = _version(["gst-launch-1.0", "--version"])
    detail = version or "not in PATH"
    if version is not None and _answer(["gst-inspect-1.0", "rtpmpvdepay"]) is None:
        version, detail = None, f"{detail}, without the good plugins (rtpmpvpay, rtpmpvdepay)"
    cost = "tests that exchange packets with GStreamer are skipped; runs do not use it"
    return Check("GStreamer", version is not None, False, detail, "" if version else cost)


def _tshark() -> Check:
    version = _version(["tshark", "--version"])
    cost = "tests that let Wireshark check our packets are skipped; captures are written all the same"
    return Check("tshark", version is not None, False, version or "not in PATH", "" if version else cost)


def _version(command: list[str]) -> str | None:
    """The first line that a program says about itself; None without the program."""
    answer = _answer(command)
    return None if answer is None else re.split(r" Copyright| \(Git|\n", answer, maxsplit=1)[0].strip()


def _answer(command: list[str]) -> str | None:
    if shutil.which(command[0]) is None:
        return None
    try:
        return _output(command)
    except (OSError, subprocess.SubprocessError):
        return None


def _output(command: list[str]) -> str:
    ended = subprocess.run(
        command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_S, text=True
    )
    return ended.stdout
