"""The tables of a run, by what their rows are, and how they join."""

from __future__ import annotations

from svg import Figure

TABLES = (
    ("summary.parquet", "flow", ["frames by fate, throughput,", "latency, losses, TCP counts"]),
    ("frames.parquet", "flow, track, frame", ["the ledger: times, fate,", "root cause of each frame"]),
    ("packets.parquet", "flow, packet, hop", ["times, transmissions,", "outcome at each hop"]),
    ("accuracy.parquet", "flow, packet", ["intended and actual release", "(emulated world)"]),
    ("flows.parquet", "flow, connection, at_ns", ["windows, round trips, rates,", "level, over time"]),
    ("rates.parquet", "flow, connection, at_ns", ["bytes by then (campaigns", "with rates)"]),
)
WIDTH, HEIGHT = 210.0, 88.0


def draw() -> Figure:
    """The picture of results.md."""
    figure = Figure("A run directory: the tables with the key of their rows, and how they join", 960, 448)
    places = ((375, 60), (40, 200), (375, 200), (375, 340), (710, 200), (710, 340))
    for (name, key, lines), (x, y) in zip(TABLES, places, strict=True):
        figure.box(x, y, WIDTH, HEIGHT, name, [], "part")
        figure.text(x + WIDTH / 2, y + 36, key, "code", "middle", "head")
        figure.lines(x + WIDTH / 2, y + 56, lines, "small", "middle", step=14)
    _joins(figure)
    figure.box(40, 60, WIDTH, HEIGHT, "run.json", ["versions, movie, kernel, seed,", "proof of accuracy, checksums"])
    figure.box(710, 60, WIDTH, HEIGHT, "scenario.toml", ["the run, every default", "written out"])
    figure.box(
        40,
        340,
        WIDTH,
        HEIGHT,
        "for other programs",
        ["captures/*.pcapng", "received/*.m2v ...", "report.html"],
    )
    return figure


def _joins(figure: Figure) -> None:
    figure.line([(145, 200), (145, 174), (815, 174), (815, 200)])
    figure.line([(480, 148), (480, 200)])
    figure.text(488, 168, "flow", "code")
    figure.line([(250, 244), (375, 244)])
    figure.text(270, 238, "flow, frame", "code")
    figure.line([(480, 288), (480, 340)])
    figure.text(488, 318, "flow, packet", "code")
    figure.line([(815, 288), (815, 340)])
    figure.lines(823, 311, ["flow,", "connection"], "code")
