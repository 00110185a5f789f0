"""The comparison with the thesis as the outcome of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from framewire.studies.measured import Cost
from framewire.studies.outcome import Outcome
from framewire.studies.ouwens import numbers, summary, views
from framewire.studies.ouwens.bounds import BoundResult, described
from framewire.studies.ouwens.comparison import Comparison
from framewire.studies.ouwens.criteria import Judgement
from framewire.studies.ouwens.effects import Effect
from framewire.studies.ouwens.figures import SECTIONS, PaperFigure
from framewire.studies.ouwens.model import ThesisTable
from framewire.studies.parts import Drawing, Drawings, Folded, Part, Points, Section, SideBySide, Text
from framewire.studies.table import of_findings, shown

__all__ = ["outcome"]

SECTION_TITLES: Mapping[str, str] = {
    "3.5": "IEEE 802.11b link layer",
    "3.6": "Blocking UDP",
    "3.7": "TCP",
    "3.8": "Non-blocking UDP",
    "3.9": "TCP with IFD",
}

ACROSS = ("table-3-7", "table-3-13")
"""Tables of few columns that take the whole width all the same: most of theirs are published."""


def outcome(comparison: Comparison) -> Outcome:
    """The page, what a terminal shows, and all numbers."""
    measured = comparison.measured
    return Outcome(
        headline=comparison.headline,
        findings=comparison.claims,
        title="The 802.11b thesis, repeated",
        heading="MPEG-2 over 802.11b: the thesis, repeated",
        facts=[
            ("thesis", "J. Ouwens, TU Eindhoven and Philips Research, 2005"),
            ("world", "simulated"),
            ("seed", str(measured.seed)),
            ("simulated", f"{shown(measured.simulated_s, 0)} s"),
            ("took", f"{shown(measured.wall_s, 0)} s"),
            ("peak memory", f"{shown(measured.peak_memory_bytes / 1e6, 0)} MB"),
        ],
        command=f"framewire reproduce ouwens --seed {measured.seed}",
        failures=measured.failures,
        overview=_overview(comparison),
        sections=list(_sections(comparison)),
        method=[_method(comparison), views.costs(comparison)],
        summary=summary.parts(comparison),
        took=list(_took(comparison)),
        numbers=numbers.document(comparison),
        files=numbers.csv_files(comparison),
    )


def _overview(comparison: Comparison) -> list[Part]:
    durations = replace(
        views.duration_errors(comparison),
        title="Durations, told from other settings",
        above="Tables 3.6, 3.7 and 3.13: how far off in the mean, as a share of the thesis' duration, at the retry "
        "values where a bound is asked and at those where none is.",
    )
    return [
        views.bounds(comparison),
        Text(_WHOSE_BOUNDS),
        views.without_a_link(comparison),
        Text(_WITHOUT_A_LINK),
        *([durations] if comparison.duration_errors else []),
        *(_missed(one) for one in comparison.bounds if one.misses),
        *(_excepted(one) for one in comparison.bounds if one.exceptions),
        Drawings([Drawing(one) for one in comparison.overview if not one.absent]),
        Text(_IN_THE_TABLES),
        views.parameters(comparison),
    ]


_WHOSE_BOUNDS = (
    "The bounds are this project's. The thesis has one run of each setting and does not say how far its numbers may "
    "be off; what is set by hand has no source behind it."
)

_WITHOUT_A_LINK = (
    "The table above has guesses that simulate no link, held against the same numbers and bounds as the simulation "
    "(“here”). “nothing lost”: no frame is lost, every packet is sent once, and every stream takes the movie's time. "
    "“one number”: for each column of a table the median of what the thesis has there, in every row. The other four "
    "take the thesis' own numbers for other settings (retry value and oven) in place of the one asked about. “mean”: "
    "of its column; “factors”: the same retry value with the other state of the oven, and what the oven changes in "
    "the mean elsewhere; “nearest”: the same oven and the nearest number of attempts; “other bitrate”: the same "
    "setting at the other published bitrate. Coloured where a guess meets more than the simulation: there the count "
    "says how well the thesis repeats itself, and little of the link. No guess has a spread of its own in table 3.6, "
    "nor is one corrected for the movies' ratio."
)

_IN_THE_TABLES = (
    "In the tables: “here” is the mean of the repeats with its 95 % confidence interval, “diff.” ours less the "
    "thesis'. The colour of a difference says whether its bound **holds** (green), **does not hold** (red) or is "
    "**excepted** (yellow); without colour nothing is asked. Point at a difference for its bound."
)


def _missed(one: BoundResult) -> Folded:
    points = [f"{described(miss)}; allowed {miss.allowed}" for miss in one.misses]
    return Folded(f"Missed: {one.bound.title} ({one.fails})", [Points(points)])


def _excepted(one: BoundResult) -> Folded:
    summary = f"Excepted, because the thesis' own neighbours contradict them: {one.bound.title} ({one.excepted})"
    return Folded(summary, [Points([_exception(exception) for exception in one.exceptions])], is_open=True)


def _exception(one: Judgement) -> str:
    oven = ", oven" if one.row[1] == "yes" else ""
    return f"table {one.table}, retry {one.row[0]}{oven}, {one.column}: {one.why}; here {shown(one.ours, 1)} %"


def _sections(comparison: Comparison) -> Iterator[Section]:
    yield from (_chapter(number, comparison) for number in SECTION_TITLES)
    yield Section("Retry values 1 and 2: direction and order", list(_low(comparison)), "low", "Retry 1 and 2")
    yield Section("Statements of the text", [of_findings(comparison.claims)], "claims", "Statements")
    yield Section("What the thesis left open, answered", list(_open(comparison)), "open", "Left open")


def _chapter(number: str, comparison: Comparison) -> Section:
    """A section of chapter 3."""
    found = views.index(comparison.judgements)
    tables = [_shown(views.judged(table, found)) for table in comparison.tables if table.section == number]
    figures = [_drawn(one) for one in comparison.figures if SECTIONS[one.spec.flow] == number]
    movie: list[Part] = [views.candidates(comparison), *comparison.link_layer] if number == "3.5" else []
    drawings = [Drawings(figures)] if figures else []
    title = f"{number} {SECTION_TITLES[number]}"
    return Section(title, [*movie, SideBySide(tables, ACROSS), *drawings], "section-" + number.replace(".", "-"))


def _shown(table: ThesisTable) -> ThesisTable:
    """With its number, and what of it is a prediction."""
    above = ""
    if not table.is_open and not table.published_cells:
        above = "Not published here: every number is our prediction."
    elif any(table.beside) and table.published_cells < sum(not cell.is_empty for _, _, cell in table.cells()):
        above = "Where the thesis' part is empty, its number is not published here, and ours is a prediction."
    return replace(table, title=table.title if table.is_open else f"Table {table.number}: {table.title}", above=above)


def _drawn(one: PaperFigure) -> Drawing:
    return Drawing(one.figure, (("Thesis", one.says), ("Here", "" if one.figure.absent else one.finds)))


def _low(comparison: Comparison) -> Iterator[Part]:
    yield Text(
        "How the card chose its rate is not known. So what is asked is not the size of an effect but its direction: of "
        "every pair of settings (retry value 1, 2, 3, with and without the oven) that the thesis found different by "
        "more than the range of its rows with 3 and more attempts. Where all pairs agree, so does the order."
    )
    yield replace(views.effects(comparison), title="")
    for kind in ("opposite", "within our spread"):
        some = [_effect(one) for one in comparison.effects if one.direction == kind]
        if some:
            yield Folded(f"{kind.capitalize()} ({len(some)})", [Points(some)], is_open=kind == "opposite")


def _effect(one: Effect) -> str:
    unit = one.unit if one.unit == "s" else "points"
    return (
        f"table {one.table}, {one.column}, from {one.of[0]} to {one.of[1]}: {one.published:+.1f} {unit} there (spread "
        f"{shown(one.spread, 1)}), {one.ours:+.1f} ±{shown(one.half_width, 1)} here"
    )


def _open(comparison: Comparison) -> Iterator[Part]:
    if not comparison.questions:
        yield Text("Not measured in this run.", "absent")
    for question in comparison.questions:
        yield f"**{question.asked}**"
        yield from filter(None, question.answers)
        yield _shown(question.table)


def _method(comparison: Comparison) -> str:
    shares = ""
    if comparison.b_shares is not None:
        theirs, ours = comparison.b_shares
        shares = (
            f" By tables 3.13 and 3.22, the B frames that IFD sheds first have effectively {100 * ours:.1f} % of the "
            f"bytes of the 6 Mbit/s movie here, and {100 * theirs:.1f} % of the thesis' movie: what it takes to shed a "
            "byte differs by that ratio, and this is what “the movies' ratio explains” computes. On the rows without "
            "the oven, which the ratio is taken from, only the difference of the links is left; the rows with the oven "
            "are the test."
        )
    return (
        "One room, one card, one oven, one movie in four bitrates for everything: the defaults of framewire's 802.11b "
        "link (docs/links.md gives each parameter and its reason), with nothing set per table. Two things are said of "
        "the equipment, in every cell: the card falls back on packets that it gave up, and the access point keeps its "
        "own retry value of 7. Movies are the lab's own: 1,499 frames, 101 I, 400 P and 998 B, as the thesis' has."
        f"{shares} Latencies and jitter follow the thesis' own arithmetic (group time codes, first arrival as origin). "
        "TCP is paced by its receiver in section 3.7, as there; its congestion control is CUBIC, where Linux 2.6.10 "
        "had its predecessor BIC."
    )


def _took(comparison: Comparison) -> Iterator[str]:
    """Simulated seconds, wall time, peak memory; the thesis' own measurements apart."""
    costs = comparison.measured.costs
    for what, some in (
        ("thesis", [cost for cost in costs if not cost.is_optional]),
        ("open questions", [cost for cost in costs if cost.is_optional]),
    ):
        if some:
            yield _cost(what, some)
    yield f"peak memory    {comparison.measured.peak_memory_bytes / 1e6:6,.0f} MB"


def _cost(what: str, some: Sequence[Cost]) -> str:
    return (
        f"{what:15}{sum(cost.runs for cost in some):6,} movie runs, "
        f"{sum(cost.simulated_s for cost in some):9,.0f} simulated s, "
        f"{sum(cost.wall_s for cost in some):6.1f} s now ({sum(cost.computed for cost in some)} of "
        f"{sum(cost.cells for cost in some)} cells computed now)"
    )
