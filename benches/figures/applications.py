"""What the lab gives to programs of the user's own, and what it takes from them."""

from __future__ import annotations

from svg import Figure

TOP, TALL = 108.0, 84.0


def draw() -> Figure:
    """The picture of applications.md."""
    figure = Figure("Your programs in the lab", 960, 330)
    for x, width, name in ((204, 172, "sender's host"), (588, 158, "receiver's host")):
        figure.rectangle(x, TOP - 38, width, TALL + 56, "frame")
        figure.text(x + 10, TOP - 20, name, "small", "pale")
    figure.box(20, TOP, 130, TALL, "frame clock", ["each frame when", "it is due, or the", "file itself"])
    figure.box(220, TOP, 140, TALL, "your sender", ["a pipeline or a", "command"], "part")
    figure.box(410, TOP, 140, TALL, "network", ["of the scenario,", "as for all flows"])
    figure.box(600, TOP, 140, TALL, "your receiver", ["a pipeline or a", "command"], "part")
    figure.box(804, TOP, 136, TALL, "frames found", ["in its output, by", "their content"])
    for start, end in ((150, 220), (360, 410), (550, 600), (740, 804)):
        figure.arrow((start, TOP + TALL / 2), (end, TOP + TALL / 2))
    figure.text(153, TOP + 34, "stdin,", "code")
    figure.text(153, TOP + 58, "{movie}", "code")
    figure.text(752, TOP + 34, "stdout", "code")
    _ledger(figure)
    return figure


def _ledger(figure: Figure) -> None:
    bottom = TOP + TALL
    figure.box(
        300, 250, 360, 54, "ledger, packets, captures, report", ["what became of every frame, as for other flows"]
    )
    figure.arrow((85, bottom), (85, 277), (300, 277))
    figure.text(92, 270, "due and offered", "small")
    figure.arrow((480, bottom), (480, 250))
    figure.text(488, 236, "packets, drops", "small")
    figure.arrow((872, bottom), (872, 277), (660, 277))
    figure.text(794, 270, "arrivals", "small")
