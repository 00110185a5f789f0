"""What ``docs/vtp-hybrid.md`` says of the control, as bounds of this project on what was measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from framewire.studies.hybrid.measure import Measured, Run
from framewire.studies.hybrid.movies import MILD, STRONG
from framewire.studies.hybrid.paths import WITHOUT_REPEATS, Path
from framewire.studies.verdicts import Bounds, Claim, Finding, Number, together

__all__ = ["ASKED", "Asked", "findings"]

HYBRID, PAPER = "vtp-hybrid", "vtp"

REPEATS, WINS, LOSES = "With repeats and without", "Where it wins", "Where it loses, and why"
"""Sections of the page."""


@dataclass(frozen=True, kw_only=True)
class Asked(Claim):
    """A bound, and where it is asked."""

    of: Callable[[Path], bool]
    value: Callable[[Run], float]
    bounds: Bounds
    unit: str
    digits: int = 1
    beside: str | None = None
    """The control whose value with the same seed is taken off."""


def _named(*names: str) -> Callable[[Path], bool]:
    return lambda path: path.name in names


def _is_of_few(path: Path) -> bool:
    """One to three reno or CUBIC flows, where the movie asks for the share or more."""
    asks_for_more = path.movie not in (MILD, STRONG) or path.name == "1 s of queue, 1 Mbit/s, 1 cubic"
    return asks_for_more and path.congestion in ("reno", "cubic") and path.rivals <= 3


def _shown_percent(run: Run) -> float:
    return 100 * run.shown


ASKED = (
    Asked(
        source=WINS,
        says="Alone and under random loss it is near the top level all the time.",
        of=_named("alone, 10 Mbit/s", "1 % lost, 10 Mbit/s", "5 % lost, 10 Mbit/s"),
        value=lambda run: run.level,
        bounds=Bounds(low=1.9),
        unit="mean level",
        digits=2,
    ),
    Asked(
        source=WINS,
        says="Under random loss every frame is shown.",
        of=_named("1 % lost, 10 Mbit/s", "5 % lost, 10 Mbit/s"),
        value=_shown_percent,
        bounds=Bounds(low=99.5),
        unit="% shown",
    ),
    Asked(
        source=WINS,
        says="Next to 7 to 23 reno flows on 3 Mbit/s it has its share.",
        of=_named(*(f"{rivals} reno, 3 Mbit/s" for rivals in (7, 11, 15, 23))),
        value=lambda run: run.share,
        bounds=Bounds(0.85, 1.25),
        unit="of the share",
        digits=2,
    ),
    Asked(
        source=WINS,
        says="Next to up to 15 of them nearly all frames are shown.",
        of=_named(*(f"{rivals} reno, 3 Mbit/s" for rivals in (1, 3, 7, 11, 15))),
        value=_shown_percent,
        bounds=Bounds(low=98.0),
        unit="% shown",
    ),
    Asked(
        source=WINS,
        says="Next to one to three reno or CUBIC flows it has about its share where the movie asks for more.",
        of=_is_of_few,
        value=lambda run: run.share,
        bounds=Bounds(0.7, 1.5),
        unit="of the share",
        digits=2,
    ),
    Asked(
        source=WINS,
        says="Next to them nearly all frames are shown.",
        of=_is_of_few,
        value=_shown_percent,
        bounds=Bounds(low=98.0),
        unit="% shown",
    ),
    Asked(
        source=WINS,
        says="Next to 3 and 7 BBR flows more frames are shown than with the paper's.",
        of=lambda path: path.congestion == "bbr" and path.rivals >= 3,
        value=_shown_percent,
        bounds=Bounds(low=20.0),
        unit="points more shown",
        beside=PAPER,
    ),
    Asked(
        source=WINS,
        says="Behind a second of queue on 300 kbit/s its frames are delayed by a small part of it.",
        of=_named("1 s of queue, 300 kbit/s"),
        value=lambda run: run.delay_ms,
        bounds=Bounds(0.0, 100.0),
        unit="ms",
        digits=0,
    ),
    Asked(
        source=WINS,
        says="Where the lowest level does not fit, more frames are shown than with the paper's.",
        of=_named("below the floor, 100 kbit/s", "80 kbit/s, 30 ms"),
        value=_shown_percent,
        bounds=Bounds(low=20.0),
        unit="points more shown",
        beside=PAPER,
    ),
    Asked(
        source=WINS,
        says="On recorded links beside a CUBIC flow more frames are shown than with the paper's.",
        of=lambda path: path.is_recorded and path.rivals > 0,
        value=_shown_percent,
        bounds=Bounds(low=0.0),
        unit="points more shown",
        beside=PAPER,
    ),
    Asked(
        source=REPEATS,
        says="At 5 % of loss far more frames are shown than if nothing were sent again.",
        of=_named("5 % lost, 10 Mbit/s"),
        value=_shown_percent,
        bounds=Bounds(low=40.0),
        unit="points more shown",
        beside=WITHOUT_REPEATS,
    ),
    Asked(
        source=LOSES,
        says="Next to 31 reno flows it takes more than its share, and most frames are shown all the same.",
        of=_named("31 reno, 3 Mbit/s"),
        value=_shown_percent,
        bounds=Bounds(60.0, 95.0),
        unit="% shown",
    ),
    Asked(
        source=LOSES,
        says="Next to a CUBIC flow behind 200 packets on 1.5 Mbit/s it is below its share.",
        of=_named("200 packets, 1.5 Mbit/s, 30 ms, 1 cubic"),
        value=lambda run: run.share,
        bounds=Bounds(0.3, 0.65),
        unit="of the share",
        digits=2,
    ),
    Asked(
        source=LOSES,
        says="Next to two BBR flows the paper's shows no fewer frames, by a little.",
        of=_named("2 bbr, 2 Mbit/s, 60 ms, 100 packets"),
        value=_shown_percent,
        bounds=Bounds(-2.0, 0.0),
        unit="points more shown",
        beside=PAPER,
    ),
)
"""In the order of the page."""


def findings(measured: Measured) -> list[Finding]:
    """What came of each."""
    return [_finding(asked, measured) for asked in ASKED]


def _finding(asked: Asked, measured: Measured) -> Finding:
    found = [
        (path, numbers) for path in measured.paths if asked.of(path) and (numbers := _values(asked, path, measured))
    ]
    judged = [asked.bounds.judge(Number.of(values), exact=not path.is_drawn) for path, values in found]
    means = [sum(values) / len(values) for _, values in found]
    return Finding(asked, _told(asked, means), together(judged))


def _values(asked: Asked, path: Path, measured: Measured) -> list[float]:
    ours = [asked.value(run) for run in measured.of(path, HYBRID)]
    if asked.beside is None:
        return ours
    return [one - asked.value(other) for one, other in zip(ours, measured.of(path, asked.beside), strict=False)]


def _told(asked: Asked, means: Sequence[float]) -> str:
    if not means:
        return ""
    least, most = (f"{value:.{asked.digits}f}" for value in (min(means), max(means)))
    span = least if least == most else f"{least} to {most}"
    where = "" if len(means) == 1 else f" on {len(means)} paths"
    return f"{span} {asked.unit}{where}; asked {asked.bounds}"
