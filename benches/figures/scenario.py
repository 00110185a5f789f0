"""Which section of a scenario describes what part of a run."""

from __future__ import annotations

from svg import Figure


def draw() -> Figure:
    """The picture of scenario.md."""
    figure = Figure("Which section describes what", 960, 426)
    figure.text(20, 50, "version, name, seed, layout, limit, captures: of the run as a whole", "small", "pale")
    figure.rectangle(288, 76, 464, 218, "frame")
    figure.text(300, 94, "[network]", "code", "head")
    figure.text(372, 94, "kind, bottleneck", "small", "pale")
    _boxes(figure)
    for start, end in ((132, 158), (268, 312), (462, 502), (738, 782)):
        figure.arrow((start, 188), (end, 188))
    _foot(figure)
    return figure


def _boxes(figure: Figure) -> None:
    figure.box(20, 140, 112, 96, "movie", ["frames at", "their times"], "part")
    figure.text(76, 222, "[movie]", "code", "head", "middle")
    figure.box(158, 140, 110, 96, "sender", ["transport,", "socket"], "part")
    figure.text(213, 222, "[[flow]]", "code", "head", "middle")
    figure.box(312, 140, 150, 96, "802.11", ["only with", 'kind = "wifi"'])
    figure.text(387, 222, "[network.wifi]", "code", "head", "middle")
    figure.box(502, 140, 236, 96, "wire", ["behind the access point,", "or the link itself"])
    figure.text(620, 222, "[network.wire]", "code", "head", "middle")
    figure.box(782, 140, 158, 96, "receiver, player", ["when a frame is late,", "or the player waits"], "part")
    figure.text(861, 222, "[playout]", "code", "head", "middle")
    figure.arrow((340, 262), (340, 236))
    figure.text(606, 276, "remote: first the wire", "small", "pale")
    figure.text(300, 276, "[network.wifi.oven]", "code")
    figure.text(440, 276, "[network.wifi.sniffer]", "code")
    figure.arrow((450, 262), (450, 236))


def _foot(figure: Figure) -> None:
    figure.text(20, 330, "[[flow]]", "code", "head")
    for number, (kinds, keys) in enumerate(
        (
            ("udp, tcp, ... ", "a movie: packets, spread, pacing, queue_time, send_buffer, device_queue, congestion"),
            ("vtp, tfrc, ...", "an adaptive stream of movie.ladder: start, ack_every, and keys of the transport"),
            ("bulk", "TCP connections without a movie: connections, start, stop, congestion"),
            ("external", "programs of your own: sender and receiver, each a pipeline or a command"),
        )
    ):
        y = 350 + number * 20
        figure.text(20, y, kinds, "code")
        figure.text(150, y, keys, "small")
