"""The report: one self-contained HTML file."""

from __future__ import annotations

from framewire.studies import page
from framewire.studies.balk import views
from framewire.studies.balk.comparison import Comparison

__all__ = ["render"]


def render(comparison: Comparison) -> str:
    """The report as HTML."""
    measured = comparison.measured
    last = measured.seed + measured.repeats - 1
    seldom = f", to {measured.seed + measured.most_repeats - 1} for what is seldom"
    facts = (
        ("paper", "A. Balk, M. Gerla, M. Sanadidi and D. Maggiorini, UCLA and Milano"),
        ("world", "simulated"),
        ("seeds", f"{measured.seed} to {last}{seldom if measured.most_repeats > measured.repeats else ''}"),
        ("experiments", f"{comparison.experiments:,}"),
        ("simulated", f"{measured.simulated_s:,.0f} s"),
        ("took", f"{measured.wall_s:,.0f} s"),
    )
    command = f"framewire reproduce balk --seed {measured.seed} --repeats {measured.repeats}"
    command += " --traces DIR" * bool(measured.traces) + " --made-up" * comparison.made_up
    head = page.Head(
        "VTP: the paper, repeated",
        "Adaptive streaming with VTP: the paper, repeated",
        facts,
        command,
        "The same seeds give the same numbers",
    )
    return page.render(
        head,
        template="balk/page.html.jinja",
        figures=[plot for figure in comparison.figures for plot in figure.plots],
        comparison=comparison,
        views=views,
    )
