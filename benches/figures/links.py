"""The way of a packet through each kind of network, and where it may be lost."""

from __future__ import annotations

from dataclasses import dataclass

from svg import Figure

WIDTH, TOP, ROW, BOX = 960, 70, 152, 64
LEFT, STEP, GAP = 156.0, 106.0, 26.0


@dataclass(frozen=True)
class Stage:
    """Something that a packet passes, and how it is lost there."""

    head: str
    text: tuple[str, ...]
    losses: tuple[str, ...] = ()


MANAGED = ("queue full,", "active queue", "management")
SENDER = Stage("sender", ("transport,", "socket"))
DEVICE = Stage("queue", ("of the sender's", "interface"), ("queue full",))
MANAGED_DEVICE = Stage("queue", ("of the sender's", "interface; rate"), MANAGED)
AIR = Stage("802.11", ("contention, rates,", "transmissions"), ("retry limit:", "noise, oven,", "collisions"))
POINT = Stage("queue", ("of the access", "point"), MANAGED)
QUEUE = Stage("queue", ("rate or trace", "of the wire"), MANAGED)
WIRE = Stage("propagation", ("delay, jitter",), ("random loss,", "outage"))
RECEIVER = Stage("receiver", ("socket,", "player"))

ROWS: tuple[tuple[str, str, tuple[tuple[str, tuple[Stage, ...]], ...]], ...] = (
    ("wifi", "local-device", (("sender-device", (DEVICE, AIR)), ("wire", (QUEUE, WIRE)))),
    ("wifi", "remote", (("wire", (QUEUE, WIRE)), ("access-point", (POINT, AIR)))),
    ("wired", "local-device", (("sender-device", (MANAGED_DEVICE, WIRE)),)),
    ("wired", "remote", (("bottleneck", (QUEUE, WIRE)),)),
)
"""Kind of network, bottleneck, and the hops of its packet table with what is in them."""


def draw() -> Figure:
    """The picture of links.md."""
    figure = Figure("From sender to receiver: hops, and where a packet may be lost", WIDTH, TOP + len(ROWS) * ROW - 8)
    for number, (kind, bottleneck, hops) in enumerate(ROWS):
        top = TOP + number * ROW
        figure.lines(20, top + 22, [f'kind = "{kind}"', "bottleneck =", f'  "{bottleneck}"'], "code")
        _row(figure, top, hops)
    return figure


def _row(figure: Figure, top: float, hops: tuple[tuple[str, tuple[Stage, ...]], ...]) -> None:
    place = 0
    for name, stages in (("", (SENDER,)), *hops, ("", (RECEIVER,))):
        x = LEFT + place * (STEP + GAP)
        if name:
            figure.rectangle(x - 8, top - 22, len(stages) * (STEP + GAP) - GAP + 16, ROW - 20, "frame")
            figure.text(x, top - 8, f"hop {name}", "code")
        for stage in stages:
            _stage(figure, LEFT + place * (STEP + GAP), top, stage, "box" if name else "part")
            place += 1


def _stage(figure: Figure, x: float, top: float, stage: Stage, kind: str) -> None:
    figure.box(x, top, STEP, BOX, stage.head, stage.text, kind)
    if stage is not RECEIVER:
        figure.arrow((x + STEP, top + BOX / 2), (x + STEP + GAP, top + BOX / 2))
    if stage.losses:
        figure.arrow((x + 10, top + BOX), (x + 10, top + BOX + 18), kind="lossline")
        figure.lines(x + 18, top + BOX + 13, stage.losses, "small", "loss", step=12)
