"""What works on this machine, and what each missing thing costs."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from framewire import _native, emulator, gstreamer
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
    return [*_kernel(), *_ffmpeg(), _gstreamer(), _elements(), _tshark()]


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
    found = Check(EMULATOR, works, True, str(program), "" if works else cost)
    return [found, _same_sources(answer), *capabilities]


def _same_sources(answer: dict[str, Any]) -> Check:
    """Whether the emulator and the native module, which are built one by one, were built from the same sources."""
    # This file may be newer than the module, too.
    sources: str | None = getattr(_native, "__sources__", None)
    ours, theirs = _build(_native.__version__, sources), _build(answer.get("version"), answer.get("sources"))
    same = ours == theirs and sources is not None
    detail = f"emulator and native module are of {ours}" if same else f"emulator: {theirs}; native module: {ours}"
    cost = "one of the two is stale, and runs show what older code does; `make setup` builds both"
    return Check("matching builds", same, False, detail, "" if same else cost)


def _build(version: object, sources: object) -> str:
    """How a build is identified.

    >>> _build("0.1.0", "5e0f3a1b00000000"), _build(None, None)
    ('0.1.0 (5e0f3a1b00000000)', 'an earlier version')
    """
    return "an earlier version" if sources is None else f"{version} ({sources})"


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
        _vmaf(),
    ]


def _vmaf() -> Check:
    from framewire.as_decoded import vmaf  # loads what a look at the machine needs for nothing else

    name, cost = "ffmpeg filter libvmaf", "framewire score measures PSNR and SSIM, and no VMAF"
    try:
        program = vmaf.find()
    except MachineError as error:
        return Check(name, False, False, str(error), cost)
    detail = program or f"this ffmpeg was built without it; {vmaf.VARIABLE} may name one that has it"
    return Check(name, program is not None, False, detail, "" if program else cost)


def _gstreamer() -> Check:
    version = _version(["gst-launch-1.0", "--version"])
    detail = version or "not in PATH"
    if version is not None and _answer(["gst-inspect-1.0", "rtpmpvdepay"]) is None:
        version, detail = None, f"{detail}, without the good plugins (rtpmpvpay, rtpmpvdepay)"
    cost = "tests that exchange packets with GStreamer are skipped; runs do not use it"
    return Check("GStreamer", version is not None, False, detail, "" if version else cost)


def _elements() -> Check:
    """Whether GStreamer finds the elements, and else whether they are there for it to be found."""
    name = "GStreamer elements"
    cost = "pipelines with ifdqueue, ifdsink or mpegstat do not start; runs without them do"
    if shutil.which("gst-inspect-1.0") is None:
        return Check(name, False, False, "not looked for: gst-inspect-1.0 is not in PATH", cost)
    if (shown := _answer(["gst-inspect-1.0", "framewire"])) is not None:
        where = re.search(r"^\s*Filename\s+(.+)$", shown, re.MULTILINE)
        return Check(name, True, False, where[1] if where else "GStreamer finds them", "")
    try:
        directory = gstreamer.plugin_directory()
    except FileNotFoundError:
        return Check(name, False, False, "not built; `make plugin` builds them", cost)
    if _answer(["gst-inspect-1.0", str(directory / gstreamer.LIBRARY)]) is None:
        return Check(name, False, False, f"{directory}: this GStreamer cannot load them; `make plugin` anew", cost)
    detail = f'built, but GStreamer does not look there: eval "$({shlex.quote(sys.executable)} -m framewire.gstreamer)"'
    return Check(name, False, False, detail, cost)


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
