"""The scenario as a reader elsewhere can run it again: without the directories of the machine that it ran on."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from framewire.report.data import ReportRun

__all__ = ["Scenario", "portable", "send_command", "shortened"]

EVERYWHERE = ("/bin/", "/dev/", "/etc/", "/lib/", "/proc/", "/run/", "/sbin/", "/sys/", "/usr/")
"""Directories that every machine of the kind has: what lies there is named in full."""

ABSOLUTE = re.compile(r"""(?:^|(?<=[\s"'=,\[]))/(?:[^\s"'/,\]]+/)+[^\s"'/,\]]+""")
"""An absolute path of two names or more, as commands and pipelines have them; what follows a host's name is none."""


@dataclass(frozen=True)
class Scenario:
    """The text of a scenario, and the files that it names and that have to lie beside it."""

    text: str
    files: list[str]


def portable(run: ReportRun) -> Scenario:
    """The run's scenario, each file of the user's own by its name alone."""
    text, files = without_network(run.scenario_text) if run.real else run.scenario_text, []
    for path in (path for path in named(run) if path is not None and PurePath(path).is_absolute()):
        text = text.replace(path, PurePath(path).name)
        files.append(PurePath(path).name)
    files += [PurePath(path).name for path in ABSOLUTE.findall(text) if not path.startswith(EVERYWHERE)]
    return Scenario(shortened(text), list(dict.fromkeys(files)))


NETWORK = re.compile(r"^\[network[^\]\n]*\]\n(?:(?!\[).*\n?)*", re.MULTILINE)
"""A table of a network, up to the next table."""


def without_network(text: str) -> str:
    """A scenario without its network, which takes no part between two machines.

    >>> without_network('[movie]\\n\\n[network]\\nkind = "wifi"\\n\\n[network.wifi]\\nretry = 4\\n\\n[playout]\\n')
    '[movie]\\n\\n[playout]\\n'
    """
    return NETWORK.sub("", text)


def send_command(run: ReportRun) -> str:
    """What sends the same stream again, for a shell; of directories that do not say it, the file is not known."""
    told = run.info.get("sent_with")
    words = [str(word) for word in told] if isinstance(told, list) and told else ["FILE"]
    to = ["--to", str(run.info.get("peer") or "HOST:PORT"), "--transport", run.flows[0].transport]
    return shlex.join(["framewire", "send", words[0], *to, *words[1:]])


def named(run: ReportRun) -> list[str | None]:
    """The files that the scenario names by keys of its own."""
    if run.scenario is None:
        return []
    movie = run.scenario.movie
    return [movie.source, movie.ladder, *run.scenario.network.traces]


def shortened(text: Any) -> str:
    """A text in which the user's own files stand by their names alone.

    >>> shortened('["/home/me/sender", "--from=/home/me/a.ts", "/dev/stdin", "rtsp://{receiver}:{port}/live/a"]')
    '["sender", "--from=a.ts", "/dev/stdin", "rtsp://{receiver}:{port}/live/a"]'
    """

    def named(found: re.Match[str]) -> str:
        return found[0] if found[0].startswith(EVERYWHERE) else PurePath(found[0]).name

    return ABSOLUTE.sub(named, str(text))
