"""The comparison as the outcome of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

from framewire.confidence import mean_with_confidence
from framewire.studies.hybrid.claims import HYBRID, PAPER, findings
from framewire.studies.hybrid.measure import Measured, Run
from framewire.studies.hybrid.paths import CONTROLS, WITHOUT_REPEATS, Path
from framewire.studies.outcome import Outcome
from framewire.studies.table import Cell, Table, of_texts
from framewire.studies.verdicts import Change, Verdict, counted

__all__ = ["outcome"]

NAMES = {PAPER: "paper", "tfrc": "TFRC"}
"""What controls are called where it is not the name of the transport."""

Value = Callable[[Run], float]

COLUMNS: Sequence[tuple[str, Value, str]] = (
    ("mean level", lambda run: run.level, "{:.2f}"),
    ("switches", lambda run: run.switches, "{:.1f}"),
    ("freezes", lambda run: run.freezes, "{:.1f}"),
    ("in time", lambda run: 100 * run.in_time, "{:.1f} %"),
    ("shown", lambda run: 100 * run.shown, "{:.1f} %"),
    ("share of fair", lambda run: run.share, "{:.2f}"),
    ("lost", lambda run: 100 * run.lost, "{:.1f} %"),
    ("delay of frames", lambda run: run.delay_ms, "{:.0f} ms"),
)

COMPARED: Sequence[tuple[str, Value, str, float]] = (
    ("shown (%)", lambda run: 100 * run.shown, "{:.1f}", 0.1),
    ("freezes", lambda run: -run.freezes, "{:.1f}", 0.1),
    ("mean level", lambda run: run.level, "{:.2f}", 0.01),
    ("switches", lambda run: -run.switches, "{:.1f}", 0.1),
)
"""Of which more is better (less than nothing where it is not), and the least that counts: what the table shows."""


def outcome(measured: Measured) -> Outcome:
    """Claims, both tables of the page, and where the hybrid control is better and worse than the paper's."""
    found = findings(measured)
    counts = counted(one.verdict for one in found)
    better = _changes(measured)
    side_by_side = [path for path in measured.paths if not path.is_held_out]
    held_out = [path for path in measured.paths if path.is_held_out]
    tables = [
        _side_by_side(measured, side_by_side, "Side by side", "side-by-side"),
        _side_by_side(measured, held_out, "Held out", "held-out"),
        _repeats(measured),
        _beside_the_paper(measured),
    ]
    return Outcome(
        headline=f"{counts[Verdict.HOLDS]} of {len(found)} claims on the hybrid control hold, "
        f"{counts[Verdict.FAILS]} do not, {counts[Verdict.UNDECIDED]} are undecided, "
        f"{counts[Verdict.NOT_MEASURED]} were not measured; it shows more frames than the paper's on "
        f"{better[Change.BETTER]} of {better.total()} paths, and fewer on {better[Change.WORSE]}.",
        findings=found,
        tables=[table for table in tables if table.rows],
        method=_METHOD,
        failures=measured.failures,
        facts=[
            ("world", "simulated"),
            ("paths", str(len(measured.paths))),
            ("repeats", str(measured.repeats)),
            ("simulated", f"{measured.simulated_s:,.0f} s"),
            ("took", f"{measured.wall_s:,.0f} s"),
        ],
        title="The hybrid rate control of VTP, side by side",
        command=f"framewire reproduce hybrid --seed {measured.seed} --repeats {measured.repeats}",
        took=[f"{len(measured.paths)} paths, {measured.simulated_s:,.0f} simulated s, {measured.wall_s:.0f} s now"],
    )


_METHOD = (
    "Every path is a link of one rate or a recorded one, with a drop-tail queue; on it one stream of two minutes by "
    "each control with the same draws, and TCP connections that begin before it. The player starts after 1 s.",
    "**In time** are frames that are whole when they are due, which the paper's player shows; **shown** are those of "
    "them for which all that they refer to is there too. **Mean level** (0 to 2) is of the frames in time; a "
    "**freeze** is half a second without a frame that is shown; **share** is of the rate over the number of "
    "flows, headers counted, and means nothing where the movie asks for less. The delay is from a "
    "frame's last byte leaving to its arrival.",
    "A claim on several paths holds where it holds on each of them, by the 95 % interval over the repeats.",
)


def _side_by_side(measured: Measured, paths: Sequence[Path], title: str, key: str) -> Table:
    rows: list[list[str | Cell]] = []
    for path in paths:
        for control in (one for one in CONTROLS if one != WITHOUT_REPEATS):
            runs = measured.of(path, control)
            if runs:
                texts = [form.format(fmean(map(value, runs))) for _, value, form in COLUMNS]
                rows.append([path.name, NAMES.get(control, control), *texts])
    heads = ["path", "control", *(name for name, _, _ in COLUMNS)]
    return of_texts(heads, rows, title=title, labels=2, key=key)


def _repeats(measured: Measured) -> Table:
    """Where it makes a difference that what is lost is sent again."""
    rows = []
    for path in measured.paths:
        without, given = (measured.of(path, control) for control in (WITHOUT_REPEATS, HYBRID))
        if not without or not given:
            continue
        pairs = [
            [form.format(fmean(map(value, runs))) for runs in (without, given)]
            for name, value, form in COLUMNS
            if name in ("mean level", "freezes", "in time", "shown")
        ]
        if any(one != other for one, other in pairs):
            rows.append(
                [f"{'held out: ' if path.is_held_out else ''}{path.name}", *(text for one in pairs for text in one)]
            )
    heads = [
        f"{name} without" if which == 0 else "with"
        for name in ("level", "freezes", "in time", "shown")
        for which in (0, 1)
    ]
    return of_texts(["path", *heads], rows, title="With repeats and without", key="repeats")


def _change(measured: Measured, path: Path, value: Value, least: float) -> Change:
    pairs = zip(measured.of(path, HYBRID), measured.of(path, PAPER), strict=False)
    return Change.of(mean_with_confidence([value(ours) - value(theirs) for ours, theirs in pairs]), least)


def _both(measured: Measured) -> list[Path]:
    return [path for path in measured.paths if measured.of(path, HYBRID) and measured.of(path, PAPER)]


def _changes(measured: Measured) -> Counter[Change]:
    """Of the frames shown, by path."""
    _, value, _, least = COMPARED[0]
    return Counter(_change(measured, path, value, least) for path in _both(measured))


def _beside_the_paper(measured: Measured) -> Table:
    rows: list[list[str | Cell]] = []
    for path in _both(measured):
        cells = []
        for _, value, form, least in COMPARED:
            theirs, ours = (abs(fmean(map(value, measured.of(path, one)))) for one in (PAPER, HYBRID))
            text = f"{form.format(theirs)} \N{RIGHTWARDS ARROW} {form.format(ours)}"
            cells.append(Cell(text=text, mark=_change(measured, path, value, least)))
        rows.append([path.name, *cells])
    note = (
        "Paper \N{RIGHTWARDS ARROW} hybrid. Better and worse are marked where the 95 % interval of the differences, "
        "seed by seed, does not hold zero."
    )
    heads = ["path", *(name for name, *_ in COMPARED)]
    return of_texts(heads, rows, title="Beside the paper's", note=note, key="beside-the-paper")
