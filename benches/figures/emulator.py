"""A lane of the emulated world."""

from __future__ import annotations

from svg import Figure

TOP, HOST, HUB, GAP = 60.0, 190.0, 270.0, 105.0


def draw() -> Figure:
    """The picture of emulator.md."""
    figure = Figure("A lane: two hosts of this kernel, and between them a link that is a model", 960, 330)
    left, hub, right = 20.0, 20 + HOST + GAP, 20 + HOST + GAP + HUB + GAP
    for x, width, name in (
        (left, HOST, "sender's namespace"),
        (hub, HUB, "hub"),
        (right, HOST, "receiver's namespace"),
    ):
        figure.rectangle(x, TOP, width, 196, "frame")
        figure.text(x + 10, TOP + 18, name, "head")
    for x, address, program in ((left, "10.77.0.1", "sender"), (right, "10.77.0.2", "receiver")):
        figure.box(x + 15, TOP + 34, HOST - 30, 40, program, ["ours, or any program"])
        figure.arrow((x + HOST / 2, TOP + 74), (x + HOST / 2, TOP + 96))
        figure.box(
            x + 15, TOP + 96, HOST - 30, 54, "the kernel's TCP, UDP", [f"fw0, {address}", "no offloads, no IPv6"]
        )
    figure.box(
        hub + 55, TOP + 34, HUB - 110, 66, "link model", ["rate, queue, delay, loss,", "802.11: as simulated"], "part"
    )
    figure.box(hub + 12, TOP + 112, 114, 40, "packet socket s", ["time stamps in ns"])
    figure.box(hub + HUB - 126, TOP + 112, 114, 40, "packet socket r", ["releases on time"])
    figure.arrow((hub + 69, TOP + 112), (hub + 95, TOP + 100))
    figure.arrow((hub + HUB - 95, TOP + 100), (hub + HUB - 69, TOP + 112))
    for x in (left + HOST, hub + HUB):
        figure.line([(x - 15, TOP + 132), (x + GAP + 15, TOP + 132)])
        figure.text(x + GAP / 2, TOP + 126, "veth", "small", "middle")
    figure.text(left + HOST + GAP / 2, TOP + 172, "or NFQUEUE,", "small", "middle")
    figure.text(left + HOST + GAP / 2, TOP + 186, "where the device", "small", "middle")
    figure.text(left + HOST + GAP / 2, TOP + 200, "is the queue", "small", "middle")
    figure.text(hub + HUB / 2, TOP + 178, "one pump, one thread, real time", "small", "middle", "pale")
    for number, line in enumerate(
        (
            "The kernel stamps what leaves; the model says when it arrives or where it is lost; the pump releases it.",
            "Namespaces are held by descriptors only: when the process ends, however it ends, nothing is left.",
        )
    ):
        figure.text(20, TOP + 222 + 18 * number, line, "small")
    return figure
