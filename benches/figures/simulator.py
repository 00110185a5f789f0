"""What of the simulated world is that of the emulated one, and what takes the kernel's place."""

from __future__ import annotations

from svg import Figure

TOP, WIDTH, HEIGHT, GAP = 62.0, 170.0, 50.0, 45.0
ROWS = (
    ("session, sender's half", "session, receiver's half", "part"),
    ("socket: its buffer", "socket: its buffer", "box"),
    ("TCP endpoint", "TCP endpoint", "box"),
)


def draw() -> Figure:
    """The picture of simulator.md."""
    step = HEIGHT + 18
    figure = Figure("One simulation: a network, and the flows that share it", 790, TOP + 3 * step + 70)
    left, right = 20.0, 790 - 20 - WIDTH
    for number, (of_sender, of_receiver, kind) in enumerate(ROWS):
        y = TOP + step * number
        for x, name in ((left, of_sender), (right, of_receiver)):
            figure.box(x, y, WIDTH, HEIGHT, name, ["not of datagrams"] if name.startswith("TCP") else [], kind)
        if number:
            figure.arrow((left + WIDTH / 2, y - 16), (left + WIDTH / 2, y - 2))
            figure.arrow((right + WIDTH / 2, y - 2), (right + WIDTH / 2, y - 16))
    bottom = TOP + 2 * step + HEIGHT / 2
    begin = left + WIDTH + GAP
    figure.box(
        begin, TOP + step, right - GAP - begin, step + HEIGHT, "link model", ["queues, rate, loss, 802.11 MAC"], "part"
    )
    figure.arrow((left + WIDTH + 4, bottom), (begin - 4, bottom))
    figure.arrow((right - GAP + 4, bottom), (right - 4, bottom))
    middle = (begin + right - GAP) / 2
    figure.lines(
        middle,
        TOP + step + 58,
        [
            "one thread, from event to event:",
            "the link decides, releases, arrivals,",
            "then what flows do by themselves",
        ],
        "small",
        "middle",
    )
    y = TOP + 3 * step + 12
    figure.rectangle(left, y, 16, 14, "part")
    figure.text(left + 24, y + 12, "that of the emulated world", "small")
    figure.rectangle(left + 210, y, 16, 14)
    figure.text(left + 234, y + 12, "a model of what the kernel does there", "small")
    figure.text(
        left,
        y + 38,
        "Tables of frames, packets and flows are those of the emulated world; the same seed gives the same to the bit.",
        "small",
        "pale",
    )
    return figure
