"""What the page says of the programs themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from framewire.studies.dropping.applications import AT_ONCE, FLOWS, PLAYER_MS, SECONDS, SRT_LATENCY_MS, Application, Lab
from framewire.studies.dropping.choices import seconds
from framewire.studies.dropping.measure import Measured, Row
from framewire.studies.dropping.plan import MAIN_STARTUP_MS, MOVIES
from framewire.studies.dropping.tables import P95, SHOWN, of_measures
from framewire.studies.parts import Part, Section, SideBySide
from framewire.studies.table import Table, of_texts

__all__ = ["sections"]

WORDS = (
    f"GStreamer's own elements, SRT and ours, in real time over the emulated network: {SECONDS} s of each movie over "
    f"each link, every TCP socket with CUBIC. Start-up {seconds(MAIN_STARTUP_MS)}. Limits of the others as found best "
    "in virtual time with their own sockets; that of `ifdsink` is its default of a second. SRT's receiver waits "
    f"{SRT_LATENCY_MS} ms itself (`latency`) and the player {PLAYER_MS} ms more, so that its frames are due when the "
    f"others' are; its latencies contain the wait. {AT_ONCE} flows run at a time; one that the machine disturbed was "
    "run again, and is marked † where that did not help. OBS Studio is a program with a window, so its rule is in the "
    "tables of the lab only."
)

AGREEMENT = (
    "**Where element and lab ought to agree**",
    "`tcpclientsink` and the lab's `tcp`, `ifdsink` and the lab's `tcp+dependency` have the same rules and the same "
    "sockets. What is left between them: the parser gives a frame on when the next one begins, 40 ms later, and the "
    "pipe before it holds 16 KiB; and the runs were not at the same time, on a machine with two cores.",
)


def sections(measured: Measured) -> Iterator[Section]:
    """The means over all cases, every case, and how far elements and lab agree; nothing where none was run."""
    rows = measured.applications
    if not rows:
        return
    cases = {(row.codec, row.link) for row in rows}
    parts: list[Part] = [WORDS, _of(rows, f"Mean over {len(cases)} movies x links")]
    for link in measured.plan.links:
        parts.append(f"**{link.text[0].upper()}{link.text[1:]}**")
        tables = [
            _of(
                [row for row in rows if (row.codec, row.link) == (codec, link.name)],
                f"{MOVIES[codec]} over {link.name}",
            )
            for codec in measured.plan.movies
            if (codec, link.name) in cases
        ]
        parts.append(SideBySide(tables))
    yield Section("The programs themselves", [*parts, *AGREEMENT, _agreement(measured)], "programs", "Programs")


def _of(rows: Sequence[Row], title: str) -> Table:
    found = ((_labelled(one, rows), [row for row in rows if row.flow == one.name]) for one in FLOWS)
    return of_measures(title, [(label, some) for label, some in found if some])


def _labelled(one: Application | Lab, rows: Sequence[Row]) -> str:
    return one.label + " †" * any(row.disturbed for row in rows if row.flow == one.name)


def _agreement(measured: Measured) -> Table:
    """Where an element and the lab's transport ought to be the same."""
    lines = []
    for twin in (one for one in FLOWS if isinstance(one, Lab)):
        for link in (link.name for link in measured.plan.links):
            for codec in measured.plan.movies:
                pair = [
                    [row for row in measured.applications if (row.codec, row.link, row.flow) == (codec, link, name)]
                    for name in (twin.twin, twin.name)
                ]
                if all(pair):
                    cells = [one.text(one.mean(rows)) for one in (SHOWN, P95) for rows in pair]
                    lines.append([f"{twin.twin}, {MOVIES[codec]} over {link}", *cells])
    heads = ["", "shown in time %, application", "the lab's", "latency p95 ms, application", "the lab's "]
    return of_texts(heads, lines)
