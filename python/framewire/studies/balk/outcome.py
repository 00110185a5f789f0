"""The comparison with the paper as the outcome of a study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from framewire.studies.balk import views
from framewire.studies.balk.comparison import Comparison
from framewire.studies.balk.drawing import Drawn
from framewire.studies.outcome import Outcome
from framewire.studies.parts import Drawing, Drawings, Folded, Part, Section, Text
from framewire.studies.table import DASH, Table

__all__ = ["outcome"]


def outcome(comparison: Comparison) -> Outcome:
    """The page, what a terminal shows, and all numbers."""
    cost = comparison.measured
    return Outcome(
        headline=comparison.headline,
        findings=comparison.findings,
        title="VTP: the paper, repeated",
        heading="Adaptive streaming with VTP: the paper, repeated",
        facts=_facts(comparison),
        command=_command(comparison),
        failures=cost.failures,
        overview=_overview(comparison),
        sections=list(_sections(comparison)),
        method=_method(comparison),
        summary=_summary(comparison),
        in_full=_in_full(comparison),
        took=[f"{comparison.experiments:,} experiments, {cost.simulated_s:,.0f} simulated s, {cost.wall_s:.0f} s now"],
        numbers=_numbers(comparison),
        files={"claims.csv": [one.record() for one in comparison.findings]},
    )


def _facts(comparison: Comparison) -> list[tuple[str, str]]:
    measured = comparison.measured
    last = measured.seed + measured.repeats - 1
    seldom = f", to {measured.seed + measured.most_repeats - 1} for what is seldom"
    return [
        ("paper", "A. Balk, M. Gerla, M. Sanadidi and D. Maggiorini, UCLA and Milano"),
        ("world", "simulated"),
        ("seeds", f"{measured.seed} to {last}{seldom if measured.most_repeats > measured.repeats else ''}"),
        ("experiments", f"{comparison.experiments:,}"),
        ("simulated", f"{measured.simulated_s:,.0f} s"),
        ("took", f"{measured.wall_s:,.0f} s"),
    ]


def _command(comparison: Comparison) -> str:
    measured = comparison.measured
    command = f"framewire reproduce balk --seed {measured.seed} --repeats {measured.repeats}"
    return command + " --traces DIR" * bool(measured.traces) + " --made-up" * comparison.made_up


def _overview(comparison: Comparison) -> list[Part]:
    left_out = comparison.measured.left_out
    of_a_part = Text(
        f"This is a part (`--quick`, or experiments that failed): {left_out} settings of the whole were not run, and "
        "claims on them are not measured.",
        "caveat",
    )
    return [
        comparison.counted_apart,
        *([of_a_part] if left_out else []),
        Text(
            "Ours is the mean over seeds with its 95 % confidence interval. A claim is undecided where the interval "
            "reaches over a bound, or where there is a single value and chance had a part in it. Grey rows are not "
            "counted: they follow from the stand-in clips or the code, set something that the paper leaves open, or "
            "repeat another row."
        ),
        views.claims(comparison.findings, numbered=True),
    ]


def _sections(comparison: Comparison) -> Iterator[Section]:
    yield from (_of_figure(comparison, figure) for figure in comparison.figures)
    if comparison.readings:
        table = replace(views.readings(comparison), above=_on_readings(comparison.readings[1].seeds))
        yield Section(table.title, [table], "readings", "Readings")
    yield Section(
        "The hybrid rate control beside the paper's", _better(comparison), "better", "The hybrid rate control"
    )
    yield Section("Beside the paper", comparison.tables, "beside")


def _of_figure(comparison: Comparison, figure: Drawn) -> Section:
    parts: list[Part] = [Drawings([Drawing(one) for one in figure.plots])]
    mine = comparison.of_figure(figure.number)
    if mine:
        parts.append(views.claims(mine))
    if figure.number in comparison.by_figure:
        parts.append(
            _with_intervals("The paper's rate control and the hybrid one", comparison.by_figure[figure.number])
        )
    title = f"Figure {figure.number}: {figure.title}"
    return Section(title, parts, f"paper-figure-{figure.number}", figure.number)


def _with_intervals(what: str, table: Table) -> Folded:
    return Folded(f"{what}, with intervals", [replace(table, title="")])


def _on_readings(seeds: int) -> str:
    return (
        "The paper gives equation 1 twice: in section 4.1 as SIZE, the bytes received since the last control packet, "
        "over the time between the receiver's time stamps (**bytes over gaps**, what `vtp` does: SIZE counts all that "
        "a packet has, 60 bytes of header beside its video), and by its indices as the bytes of k packets over the "
        "time from the first to the last of them (**k over k - 1**). docs/vtp.md says why the first is the paper's "
        "protocol. With the link clock, packets come out of the link each 10 ms only, in both directions, as of "
        "dummynet on FreeBSD 4. Each reading has the alpha that was calibrated for it by the climb of figure 15, those "
        f"with fewer bytes of header that of all. The first column has all seeds, the others {seeds}: what is seldom "
        f"is undecided there. Plans and PSNR are the same by all. “{DASH}”: not run."
    )


def _better(comparison: Comparison) -> list[Part]:
    if comparison.better is None:
        return ["Not compared: it was not measured in this run."]
    recorded = comparison.by_figure.get("LTE")
    more = [] if recorded is None else [_with_intervals("Recorded links", recorded)]
    return [f"**{comparison.better_headline}**", comparison.better, *more]


def _method(comparison: Comparison) -> list[Part]:
    clips = (
        "Neither clip can be had. In their place are movies of the rates that the paper prints, which change as it "
        "says (the presets of `framewire movie ladder`). Mean quantisers are those of their bit streams (vop_quant), "
        "and PSNR is that of each frame against the picture before it was encoded; where sizes are made up there is "
        "no picture, and quantisers follow from the rates: rate times quantiser is constant, and 6 for the top level "
        "is the middle of the printed 2 to 10."
    )
    return [
        "Every experiment is the protocol itself, its server and its client, and endpoints of TCP, over a model of the "
        "link in virtual time. Nothing is set per figure but what the paper sets. What it leaves open was decided "
        "once:",
        views.decisions(comparison),
        replace(views.clips(comparison), title="The clips", above=clips),
    ]


def _summary(comparison: Comparison) -> list[Part]:
    better = [] if comparison.better is None else [comparison.better_headline]
    return [comparison.counted_apart, views.claims_in_short(comparison.findings), *better]


def _in_full(comparison: Comparison) -> list[Part]:
    better = [] if comparison.better is None else [comparison.better]
    readings = [views.readings_in_short(comparison)] if comparison.readings else []
    return [*better, *readings, *comparison.tables]


def _numbers(comparison: Comparison) -> dict[str, Any]:
    cost = comparison.measured
    return {
        "counted_apart": comparison.counted_apart,
        "readings": [
            {"reading": one.name, "claims": [found.record_of_reading() for found in one.findings]}
            for one in comparison.readings
        ],
        "better": None if comparison.better is None else _table(comparison.better),
        "better_headline": comparison.better_headline,
        "side_by_side": {number: _table(table) for number, table in comparison.by_figure.items()},
        "tables": [_table(table) for table in comparison.tables],
        "seed": cost.seed,
        "repeats": cost.repeats,
        "experiments": comparison.experiments,
        "simulated_s": cost.simulated_s,
        "wall_s": cost.wall_s,
    }


def _table(table: Table) -> dict[str, Any]:
    columns = [*table.row_names, *(column.heading for column in table.columns)]
    rows = [[*row.labels, *(cell.text for cell in row.cells)] for row in table.rows]
    return {"title": table.title, "columns": columns, "rows": rows}
