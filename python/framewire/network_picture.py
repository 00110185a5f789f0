"""A picture of a scenario's network: nodes, links, and on each link what it does in either direction."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from html import escape

from framewire.scenario import Network, Scenario, Wifi, Wire

COLUMN, ROW, MARGIN = 300, 130, 90
"""Between columns and rows of nodes, and around them, in pixels: a column holds the words of a link at 11 pixels."""
WIDTH, HEIGHT = 104, 34
"""Of a node."""
STYLE = "".join(
    f".network-picture {rule}"
    for rule in (
        "text{font:12px system-ui,sans-serif;fill:#1b1f24;paint-order:stroke;stroke:#fff;stroke-width:4}",
        ".node{fill:#fff;stroke:#1b1f24;stroke-width:1.5}",
        ".node.end{fill:#e3f0fa;stroke:#0072b2}",
        ".node+text{stroke:none}",
        ".wire,.network-picture .air{fill:none;stroke:#57606a;stroke-width:1.5}",
        ".air{stroke-dasharray:5 4}",
        ".name{font-weight:600}",
        ".does{font-size:11px;fill:#57606a}",
    )
)
"""In a page the picture stands among others: its rules are for it alone."""


@dataclass(frozen=True)
class Edge:
    """A link as it is drawn: between two nodes, with its name and what it does."""

    nodes: tuple[str, str]
    name: str
    does: tuple[str, ...]
    wireless: bool = False


def svg(scenario: Scenario) -> str:
    """The network as an SVG picture, from the senders on the left to the right.

    >>> from framewire.scenario import load
    >>> picture = svg(load({"network": {"kind": "wired"}, "flow": [{"transport": "udp"}]}))
    >>> picture.count("<rect"), "100 Mbit/s" in picture
    (3, True)
    """
    edges = links(scenario.network)
    nodes = list(dict.fromkeys(node for edge in edges for node in edge.nodes))
    ends = _ends(scenario)
    places = _places(nodes, edges, [sender for sender, _ in ends])
    named = {node for pair in ends for node in pair}
    columns = 1 + max(column for column, _ in places.values())
    rows = 1 + max(row for _, row in places.values())
    width = 2 * MARGIN + COLUMN * (columns - 1)
    height = 2 * MARGIN + round(ROW * (rows - 1))
    drawn = [_edge(edge, edges[:number], places) for number, edge in enumerate(edges)]
    drawn += [_node(node, places[node], node in named) for node in nodes]
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="network-picture" {box} role="img"><title>The network</title>'
    )
    return f'{head}<style>{STYLE}</style><rect width="{width}" height="{height}" fill="#fff"/>{"".join(drawn)}</svg>\n'


def links(network: Network) -> list[Edge]:
    """The links of a network; a short form has those that it stands for."""
    path = network.path
    if path is not None:
        if path.wifi is None:
            return [Edge(("sender", "receiver"), "wire", both_ways(path.wire, None))]
        station, far = ("sender", "receiver") if path.bottleneck == "local-device" else ("receiver", "sender")
        wire = Edge(("access point", far), "wire", both_ways(path.wire, path.wire))
        return [Edge((station, "access point"), "802.11", (air(path.wifi),), wireless=True), wire]
    wired = [Edge(link.between, link.name, both_ways(link.forward, link.backward)) for link in network.wired]
    cells = [
        Edge((cell.access_point, station), cell.name, (air(cell.wifi),), wireless=True)
        for cell in network.cells
        for station in cell.stations
    ]
    return wired + cells


def both_ways(forward: Wire, backward: Wire | None) -> tuple[str, ...]:
    """What a wire does in each direction; the way back of a wired short form has the same delay and nothing else."""
    there = words(forward)
    back = f"{forward.delay}" if backward is None else words(backward)
    return (f"\u2194 {there}",) if there == back else (f"\u2192 {there}", f"\u2190 {back}")


def words(wire: Wire) -> str:
    """Rate, delay, queue, and loss where there is any."""
    parts = ["recorded" if wire.rate is None else wire.rate, wire.delay, wire.queue]
    if wire.queue_discipline != "drop-tail":
        parts.append(wire.queue_discipline)
    if wire.jitter_s:
        parts.append(f"jitter {wire.jitter}")
    if wire.loss != 0.0:
        parts.append(f"loss {100 * wire.loss:g} %" if isinstance(wire.loss, float) else "loss in bursts")
    return ", ".join(parts)


def air(wifi: Wifi) -> str:
    """The standard, the rate, and the queue of the access point."""
    rate = "automatic rate" if wifi.rate == "auto" else wifi.rate
    managed = "" if wifi.queue_discipline == "drop-tail" else f", {wifi.queue_discipline}"
    return f"{wifi.standard}, {rate}, {wifi.queue}{managed}"


def _ends(scenario: Scenario) -> list[tuple[str, str]]:
    """From where to where flows go; in a short form from its sender to its receiver."""
    if scenario.network.path is not None:
        return [("sender", "receiver")]
    return [(str(flow["from"]), str(flow["to"])) for flow in scenario.data["flow"]]


def _places(nodes: list[str], edges: list[Edge], senders: list[str]) -> dict[str, tuple[int, float]]:
    """Column and row of each node: as many columns from the first sender as there are links, and rows centred."""
    beside: dict[str, list[str]] = {node: [] for node in nodes}
    for edge in edges:
        one, other = edge.nodes
        beside[one].append(other)
        beside[other].append(one)
    column = {senders[0]: 0}
    border = deque([senders[0]])
    while border:
        node = border.popleft()
        for other in beside[node]:
            if other not in column:
                column[other] = column[node] + 1
                border.append(other)
    columns: dict[int, list[str]] = {}
    for node in nodes:
        columns.setdefault(column[node], []).append(node)
    tallest = max(map(len, columns.values()))
    return {
        node: (number, row + (tallest - len(members)) / 2)
        for number, members in columns.items()
        for row, node in enumerate(members)
    }


def _centre(place: tuple[int, float]) -> tuple[float, float]:
    column, row = place
    return MARGIN + COLUMN * column, MARGIN + ROW * row


def _edge(edge: Edge, earlier: list[Edge], places: dict[str, tuple[int, float]]) -> str:
    one, other = edge.nodes
    does = edge.does
    if places[one] > places[other]:
        # Words are read from left to right, and so is the picture.
        one, other = other, one
        does = tuple(text.translate({0x2192: "\u2190", 0x2190: "\u2192"}) for text in reversed(does))
    (x1, y1), (x2, y2) = _centre(places[one]), _centre(places[other])
    beside = sum(set(other.nodes) == set(edge.nodes) for other in earlier)
    x, y = (x1 + x2) / 2, (y1 + y2) / 2 + 60 * beside
    kind = "air" if edge.wireless else "wire"
    line = f'<path class="{kind}" d="M{x1:g},{y1:g} Q{x:g},{y + 60 * beside:g} {x2:g},{y2:g}"/>'
    told = [("name", edge.name), *(("does", text) for text in does)]
    if edge.wireless and any(other.name == edge.name for other in earlier):
        told = []  # said once of a cell
    first = y - 8 - 14 * (len(told) - 1)
    texts = "".join(
        f'<text class="{of}" x="{x:g}" y="{first + 14 * number:g}" text-anchor="middle">{escape(text)}</text>'
        for number, (of, text) in enumerate(told)
    )
    return line + texts


def _node(name: str, place: tuple[int, float], is_end: bool) -> str:
    x, y = _centre(place)
    box = f'x="{x - WIDTH / 2:g}" y="{y - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"'
    shown = name if len(name) <= 16 else f"{name[:15]}…"
    text = f'<text x="{x:g}" y="{y + 4:g}" text-anchor="middle">{escape(shown)}</text>'
    return f'<rect class="node{" end" if is_end else ""}" {box}><title>{escape(name)}</title></rect>{text}'
