"""What would have to be different for the paper's figures: one decision at a time, and what it does to all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from framewire.studies.balk import climbing
from framewire.studies.balk.measure import Measured, Run
from framewire.studies.balk.plan import Setting, isolated, mild, of_variant, strong
from framewire.studies.balk.published import published
from framewire.studies.balk.variants import VARIANTS
from framewire.studies.numbers import estimated
from framewire.studies.table import DASH, Table, of_texts

__all__ = [
    "below_percent",
    "frames_where_fixed_falls",
    "seconds_below",
    "seconds_where_fixed_falls",
    "table",
    "with_which_it_holds",
    "within_percent",
]

LEAST, MOST, VIEWABLE = 18, 24, 15
"""Frames per second that are asked for, and below which fixed-rate streaming counts as failing (section 6.5)."""


def within_percent(run: Run) -> float:
    """Percent of the seconds with 18 to 24 frames; 24 in a second of 23.976 on the mean."""
    rates = run.frame_rates
    return 100 * sum(LEAST <= rate <= MOST for rate in rates) / max(1, len(rates))


def below_percent(run: Run) -> float:
    """Percent of the seconds with fewer than 15 frames."""
    return 100 * sum(rate < VIEWABLE for rate in run.frame_rates) / max(1, len(run.frame_rates))


def seconds_below(run: Run) -> float:
    """Number of seconds with fewer than 15 frames."""
    return float(sum(rate < VIEWABLE for rate in run.frame_rates))


_COLUMNS: Sequence[tuple[str, str, str, Callable[[Run], float], int]] = (
    ("climb", "climb", "to the top (s)", climbing.first_at_top_s, 1),
    ("8", "fair-8", "share, 8 flows", lambda run: run.share, 2),
    ("16", "fair-16", "16 flows", lambda run: run.share, 2),
    ("32", "fair-32", "32 flows", lambda run: run.share, 2),
    ("k-1", "k-small", "k = 1", lambda run: run.share, 2),
    ("k-20", "k-20", "k = 20", lambda run: run.share, 2),
    ("strong", "strong-under", "strong, 12 flows", lambda run: run.share, 2),
    ("16", "frames-vtp", "18 to 24 frames (% of s)", within_percent, 1),
    ("fixed", "frames-fixed", "fixed rate below 15 (s of a run)", seconds_below, 1),
)
"""Experiment, claim whose bounds are used, heading, value, digits."""


def table(measured: Measured) -> Table:
    """A row for each decision; bounds are those of the claims."""
    as_decided = {
        "climb": isolated(), "8": mild(8), "16": mild(16), "32": mild(32), "k-1": mild(8, k=1), "k-20": mild(8, k=20),
        "strong": strong(12), "fixed": mild(16, transport="fixed"),
    }  # fmt: skip
    rows = [_row(measured, "as decided", as_decided)]
    for variant in VARIANTS:
        settings = of_variant(variant)
        if any(measured.of(setting) for setting in settings.values()):
            rows.append(_row(measured, variant.name, settings))
    hint = (
        "One decision changed at a time; * where the mean is within the bounds of the paper's claim. In the last two "
        "columns, frames of figure 22 (16 flows): no row has both."
    )
    columns = ["", *(name for _, _, name, *_ in _COLUMNS), "claims met"]
    note = hint if _none_has_both(rows) else hint.rpartition(":")[0] + "."
    return of_texts(columns, rows if len(rows) > 1 else [], title="What would have to be different", note=note)


def with_which_it_holds(measured: Measured, name: str) -> list[str]:
    """The decisions with which the claim on a column is within its bounds, by the column's heading."""
    held = table(measured)
    places = [place for place, column in enumerate(held.columns) if column.name == name]
    return [row.labels[0] for row in held.rows[1:] for place in places if row.cells[place].text.endswith("*")]


def _none_has_both(rows: Sequence[Sequence[str]]) -> bool:
    return not any(row[-2].endswith("*") and row[-3].endswith("*") for row in rows)


def _row(measured: Measured, name: str, settings: Mapping[str, Setting]) -> list[str]:
    cells, met = [], 0
    for key, claim, _, value, digits in _COLUMNS:
        estimate = measured.mean(settings[key], value)
        holds = estimate is not None and published()[claim].bounds.hold(estimate.mean)
        met += holds
        cells.append(DASH if estimate is None else f"{estimate.mean:,.{digits}f}{' *' if holds else ''}")
    return [name, *cells, f"{met} of {len(_COLUMNS)}"]


def frames_where_fixed_falls(measured: Measured) -> Table:
    """The two readings of "where fixed-rate streaming falls below 15": the seconds, and the runs."""
    places = [
        *((f"mild clip, {flows} flows, 3 Mbit/s", mild(flows)) for flows in (16, 24, 32)),
        *((f"mild clip, 16 flows, {loss:g} % loss", mild(16, loss_percent=loss)) for loss in (1.0, 5.0)),
        *((f"strong clip, {flows} flows, 5 Mbit/s", strong(flows)) for flows in (12, 16)),
    ]
    rows = []
    for name, setting in places:
        fixed = measured.of(_of(setting, "fixed"))
        if not fixed:
            continue
        cells = [name, estimated(measured.mean(_of(setting, "fixed"), below_percent), 1)]
        for transport in ("vtp", "vtp-hybrid"):
            cells += _readings(measured.paired(_of(setting, transport), _of(setting, "fixed")))
        rows.append(cells)
    columns = ["", "fixed rate below 15 (% of seconds)"]
    for name in ("paper", "hybrid"):
        columns += [f"{name}: of all seconds", f"{name}: of these seconds", f"{name}: of the runs with such"]
    hint = (
        "Percent of seconds with 18 to 24 intact frames; asked for are 95 % where fixed-rate streaming falls below 15. "
        "Read as the very seconds in which it does, with the same seed (their number in brackets), and as all seconds "
        "of the runs in which it does at any time."
    )
    return of_texts(columns, rows, title="Frames per second where fixed-rate streaming fails", note=hint)


def _of(setting: Setting, transport: str) -> Setting:
    return Setting(setting.clip, setting.link_mbps, setting.tcp, transport,  # type: ignore[arg-type]
                   loss_percent=setting.loss_percent)  # fmt: skip


def _readings(pairs: Sequence[tuple[Run, ...]]) -> list[str]:
    if not pairs:
        return [DASH] * 3
    all_seconds = sum(within_percent(run) for run, _ in pairs) / len(pairs)
    seconds = seconds_where_fixed_falls(pairs)
    of_runs = [within_percent(run) for run, other in pairs if below_percent(other) > 0]
    return [
        f"{all_seconds:.1f}",
        f"{100 * sum(seconds) / len(seconds):.1f} ({len(seconds)})" if seconds else "none",
        f"{sum(of_runs) / len(of_runs):.1f} ({len(of_runs)})" if of_runs else "none",
    ]


def seconds_where_fixed_falls(pairs: Sequence[tuple[Run, ...]]) -> list[bool]:
    """Of the seconds in which the second of each pair has fewer than 15 frames, whether the first has 18 to 24."""
    return [
        LEAST <= rate <= MOST
        for run, other in pairs
        for rate, others in zip(run.frame_rates, other.frame_rates, strict=True)
        if others < VIEWABLE
    ]
