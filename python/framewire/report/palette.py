"""One colour per transport, the same in every report. Okabe and Ito's palette, and beyond its eight Paul Tol's, both
safe for colour-blind readers."""

from __future__ import annotations

TRANSPORT_COLOURS: dict[str, str] = {
    "udp-blocking": "#E69F00",
    "udp": "#D55E00",
    "udp-whole": "#CC79A7",
    "udp+ifd": "#7A4B00",
    "udp+dependency": "#AA3377",
    "tcp": "#56B4E9",
    "tcp+ifd": "#0072B2",
    "tcp+ifd-optimised": "#009E73",
    "tcp+dependency": "#EE3377",
    "tcp+leaky": "#8F8F5A",
    "tcp+keyframe": "#6F7FB5",
    "tcp+obs": "#B58A6F",
    "vtp": "#1F5FA8",
    "better": "#13875F",
    "tfrc": "#94378F",
    "rap": "#C7860B",
    "sqrt": "#E0799B",
    "aimd": "#5E3B1B",
    "fixed": "#C4490D",
    "bulk": "#8A9299",
}
"""Adaptive transports are near the colours of others that they seldom stand beside; cross traffic is grey, and what
stands for the programs of others is muted. The last colour of Okabe and Ito's palette, a light yellow, is kept for
interference: it cannot carry a thin line."""

OTHER_COLOUR = "#555555"
"""For a transport that this version does not know."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
PATTERNS = ("", "/", "\\", "x", "-", "|", "+", ".")
"""Several flows of one transport share its colour and differ in line style (bars: in pattern)."""

INTERFERENCE_FILL = "rgba(240, 228, 66, 0.28)"

# What is no transport has none of the transports' colours (here mostly of Paul Tol's muted scheme).
FATE_COLOURS: dict[str, str] = {
    "shown": "#CFE3EE",
    "late": "#DDCC77",
    "undecodable": "#AA4499",
    "lost": "#22272B",
}
NEVER_OFFERED = "never offered"
NEVER_OFFERED_COLOUR = "#F4F4F2"
"""Of frames that a partial run ended before: they had no fate."""
TYPE_COLOURS: dict[str, str] = {"I": "#22272B", "P": "#75828A", "B": "#C3CCD2"}
PLACE_COLOURS: dict[str, str] = {
    "sender-pipeline": "#332288",
    "sender-socket": "#999933",
    "link": "#882255",
    "intermediate-queue": "#DDCC77",
    "receiver-pipeline": "#A9B2B8",
}
PLACE_NAMES: dict[str, str] = {
    "sender-pipeline": "dropped by the sender's pipeline",
    "sender-socket": "sender's socket or device queue",
    "link": "on the link",
    "intermediate-queue": "queue in between",
    "receiver-pipeline": "discarded by the receiver",
}


def colour(transport: str) -> str:
    """The colour of a transport, by its name."""
    return TRANSPORT_COLOURS.get(transport, OTHER_COLOUR)
