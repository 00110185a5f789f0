"""How flows are drawn: a colour per transport, the same in every report, and what distinguishes flows without colour.

Okabe and Ito's palette, and beyond its eight Paul Tol's, both safe for colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from framewire.transports import current_name

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
    "rtp+tcp": "#117733",
    "rtsp": "#7B3FA0",
    "rtsp+udp": "#B07CC6",
    "ts": "#B2182B",
    "ts+rtp": "#6B5B95",
    "ts+tcp": "#2F8F9D",
    "http": "#1B1B4B",
    "http+ts": "#A6761D",
    "http+fmp4": "#6B8E9E",
    "vtp": "#1F5FA8",
    "vtp-hybrid": "#13875F",
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
"""For a transport without a colour where all others are taken."""

REPEATED = ("#D55E00", "#009E73", "#E69F00", "#CC79A7", "#0072B2", "#7A4B00", "#AA3377", "#56B4E9")
"""Colours of further flows of a transport, the first that no other flow of the run has."""

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
"""Of the flows of one transport."""
MARKERS = (
    ("circle", "\N{BLACK CIRCLE}"),
    ("square", "\N{BLACK SQUARE}"),
    ("triangle-up", "\N{BLACK UP-POINTING TRIANGLE}"),
    ("diamond", "\N{BLACK DIAMOND}"),
    ("triangle-down", "\N{BLACK DOWN-POINTING TRIANGLE}"),
    ("cross", "\N{HEAVY GREEK CROSS}"),
    ("x", "\N{HEAVY MULTIPLICATION X}"),
    ("star", "\N{BLACK STAR}"),
    ("circle-open", "\N{WHITE CIRCLE}"),
    ("square-open", "\N{WHITE SQUARE}"),
    ("triangle-up-open", "\N{WHITE UP-POINTING TRIANGLE}"),
    ("diamond-open", "\N{WHITE DIAMOND}"),
    ("triangle-down-open", "\N{WHITE DOWN-POINTING TRIANGLE}"),
    ("cross-open", "\N{OPEN CENTRE CROSS}"),
    ("x-open", "\N{MULTIPLICATION X}"),
    ("star-open", "\N{WHITE STAR}"),
)
"""plotly's name of a marker, and the sign that stands for the flow in tables: of the flows of a run, in order. From the
seventeenth flow on they come again."""
STROKES = ("/", "\\", "x", "-", "|", "+", ".")
PATTERNS = (("", 6), *((stroke, size) for size in (6, 12, 18) for stroke in STROKES))
"""Of bars, as the markers of lines: strokes, and the pixels from one to the next."""

INTERFERENCE_FILL = "rgba(240, 228, 66, 0.28)"

# What is no transport has none of the transports' colours (here mostly of Paul Tol's muted scheme).
FATE_COLOURS: dict[str, str] = {
    "shown": "#CFE3EE",
    "late": "#DDCC77",
    "undecodable": "#AA4499",
    "lost": "#22272B",
    "not offered": "#F4F4F2",
}
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
    "intermediate-queue": "queue in the network",
    "receiver-pipeline": "discarded by the receiver",
}


@dataclass(frozen=True)
class Look:
    """How one flow is drawn everywhere in a report."""

    colour: str
    dash: str = "solid"
    marker: str = "circle"
    glyph: str = "\N{BLACK CIRCLE}"
    """The marker as a sign, for texts."""
    pattern: str = ""
    """Of its bars."""
    pattern_size: int = 6
    """From one stroke of it to the next, in pixels."""


def looks(transports: Sequence[str]) -> list[Look]:
    """One look for each flow, by its transport.

    The first flow of a transport has the transport's colour; the others, and those of combinations without one, have
    colours that nothing else in the run has, as long as there are any. Marker and pattern differ from flow to flow, and
    so does the dash within a transport.

    >>> [look.colour for look in looks(["tcp", "udp", "tcp"])]
    ['#56B4E9', '#D55E00', '#009E73']
    >>> [(look.dash, look.marker) for look in looks(["tcp", "udp", "tcp"])]
    [('solid', 'circle'), ('solid', 'square'), ('dash', 'triangle-up')]
    >>> [look.colour for look in looks(["http+ts+dependency", "http+fmp4+dependency"])]
    ['#D55E00', '#009E73']
    """
    made: list[Look] = []
    free = [one for one in REPEATED if one not in {colour(transport) for transport in transports}]
    for number, transport in enumerate(transports):
        before = transports[:number].count(transport)
        has_own = not before and current_name(transport) in TRANSPORT_COLOURS
        own = colour(transport) if has_own or not free else free.pop(0)
        marker, glyph = MARKERS[number % len(MARKERS)]
        pattern = PATTERNS[number % len(PATTERNS)]
        made.append(Look(own, DASHES[before % len(DASHES)], marker, glyph, *pattern))
    return made


def colour(transport: str) -> str:
    """The colour of a transport, by its name."""
    return TRANSPORT_COLOURS.get(current_name(transport), OTHER_COLOUR)
