"""The measurements of the thesis, and those that it left open, as campaigns.

The room is that of the thesis' figure 3.1: the default link of the lab with :data:`CARD`, the same in all of them.
The card's rule of fallback, the oven's strength and the laptop's time for a packet are calibrated on a few numbers,
which `docs/links.md` and `docs/reproduce-ouwens.md` list; nothing else here is fitted to a table.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from framewire.studies.measured import Measurement
from framewire.studies.ouwens.published import BITRATES, LINK_LAYER_RETRIES, OVENS, RETRIES

__all__ = [
    "FLOWS",
    "HOST_TIME_MS",
    "PROTOCOLS",
    "REPEATS",
    "STREAMS",
    "STREAM_TRANSPORTS",
    "measurements",
]

REPEATS = 3
"""Morning, mid-day and afternoon; all graphs of the thesis show the afternoon."""

LIMIT = "30 min"
"""Longer than any stream of the thesis (table 3.6: 562 s)."""

OVEN_MOVIES = [["20 s", "40 s"]]
OVEN_ALWAYS = [["0 s", LIMIT]]
OVEN_STRENGTH = "-5 dB"
"""Calibrated on tables 3.2 and 3.3 with :data:`CARD`, see `docs/links.md`; the same in every cell."""
SNIFFER = "65 %"
"""What the sniffer of section 3.5 caught on average."""

STREAM_TRANSPORTS = ("udp", "tcp", "tcp+ifd")
"""By which several streams are sent at once."""

STREAMS = {
    "1": (0,), "2, one card": (0, 0), "2, own cards": (0, 1), "3, one card": (0, 0, 0), "3, own cards": (0, 1, 2),
    "4, one card": (0, 0, 0, 0), "4, own cards": (0, 1, 2, 3),
}  # fmt: skip
"""How many, and the number of the wireless sender of each."""

ACCESS_POINT_RETRY = 7
"""Only the laptop's card was told a retry value. dot11ShortRetryLimit is 7 by default (IEEE 802.11, annex C)."""

Json = Mapping[str, Any]

CARD: Json = {"access_point_retry": ACCESS_POINT_RETRY, "fallback": "packets"}
"""What `docs/links.md` says of the card and its access point: the same in every cell."""

HOST_TIME_MS = 0.2
"""Between two packets of the thesis' ``udpsink``: calibrated on one count of its table 3.18, see
`docs/reproduce-ouwens.md`; the same in every cell."""

UDP: Json = {"packets": "thesis", "spread": f"{HOST_TIME_MS} ms"}
"""What ``filesrc ! rfc2250enc ! rtpmpegenc ! udpsink`` makes of a movie on the thesis' laptop."""

FLOWS: dict[str, dict[str, Any]] = {
    "udp-blocking": {"transport": "udp-blocking", **UDP},
    "tcp": {"transport": "tcp", "pacing": "receiver"},
    "udp": {"transport": "udp", **UDP},
    "tcp+ifd": {"transport": "tcp+ifd"},
}
"""The four pipelines of sections 3.6 to 3.9."""

UNPACED: list[dict[str, Any]] = [
    {"name": "udp", "transport": "udp-blocking", "pacing": "none", **UDP},
    {"name": "tcp", "transport": "tcp", "pacing": "none"},
]
"""The two of section 3.5, whose sinks ignore time stamps."""

PROTOCOLS = {
    "udp-blocking": "blocking UDP",
    "tcp": "TCP",
    "udp": "non-blocking UDP",
    "tcp+ifd": "TCP with IFD",
}
"""The same as the thesis calls them."""


def measurements(
    *, seed: int = 1, repeats: int = REPEATS, quick: bool = False, carrier_sense: str | None = None
) -> list[Measurement]:
    """All of them: the thesis' own first. ``quick`` leaves out most of the grid, so that some tables have gaps.

    ``carrier_sense`` is the scenario's key of that name, in every cell; None is its default.
    """
    retries = (1, 3, 4) if quick else RETRIES
    bitrates = (3, 6) if quick else BITRATES
    every = [
        _movies(seed, retries, bitrates),
        _link_layer(seed, (1, 3) if quick else LINK_LAYER_RETRIES),
        _tcp_segments(seed, (1, 3) if quick else LINK_LAYER_RETRIES),
        *([] if quick else _open_questions(seed)),
    ]
    return [_sensing(_repeated(one, repeats), carrier_sense) for one in every]


def _repeated(one: Measurement, repeats: int) -> Measurement:
    """Repeats as asked for; what is measured once stays so."""
    return replace(one, document={**one.document, "repeats": min(one.document["repeats"], repeats)})


def _sensing(one: Measurement, carrier_sense: str | None) -> Measurement:
    """The same with another time for which a station does not notice another's beginning."""
    if carrier_sense is None:
        return one
    document = copy.deepcopy(dict(one.document))
    document["scenario"]["network"]["wifi"]["carrier_sense"] = carrier_sense
    return replace(one, document=document)


def _measurement(
    name: str, section: str, scenario: Json, axes: Sequence[Json], *, repeats: int = REPEATS, packets: bool = False
) -> Measurement:
    flows = scenario["flow"]
    document = {
        "name": f"ouwens-{name}", "scenario": scenario, "axis": list(axes), "repeats": repeats, "packets": packets,
    }  # fmt: skip
    return Measurement(name, document, len(flows), is_optional=section == "open")


def _scenario(seed: int, flows: Sequence[Json], **more: Any) -> dict[str, Any]:
    """A scenario with the thesis' room; the player counts nothing as late, because the thesis' did not."""
    return {
        "seed": seed,
        "limit": LIMIT,
        "movie": {"source": "lab", "bitrate": "3 Mbit/s", "duration": "59.96 s"},
        "network": {"kind": "wifi", "wifi": dict(CARD)},
        "playout": {"policy": "stall", "timing": "thesis"},
        "flow": list(flows),
    } | more


def _axis(name: str, key: str, values: Mapping[Any, Any]) -> Json:
    return {"name": name, "values": [{"label": label, "set": {key: value}} for label, value in values.items()]}


def _bitrates(values: Sequence[int]) -> Json:
    return _axis("bitrate", "movie.bitrate", {value: f"{value} Mbit/s" for value in values})


def _retries(values: Sequence[int]) -> Json:
    return _axis("retry", "network.wifi.retry", {value: value for value in values})


def _ovens(on: list[list[str]] = OVEN_MOVIES) -> Json:
    settings = {"no": {}, "yes": {"network.wifi.oven.on": on, "network.wifi.oven.strength": OVEN_STRENGTH}}
    return {"name": "oven", "values": [{"label": label, "set": settings[label]} for label in OVENS]}


def _movies(seed: int, retries: Sequence[int], bitrates: Sequence[int]) -> Measurement:
    """Sections 3.6 to 3.9: four transports, every retry value and bitrate, with and without the oven."""
    flows = [flow | {"name": name} for name, flow in FLOWS.items()]
    axes = [_bitrates(bitrates), _retries(retries), _ovens()]
    return _measurement("movies", "3.6 to 3.9", _scenario(seed, flows), axes)


def _link_layer(seed: int, retries: Sequence[int]) -> Measurement:
    """Section 3.5: as fast as the link takes it, the oven always on, with a sniffer.

    The thesis does not say at which rate its card sent. It is measured with the card's own choice, as everywhere, and
    with 5.5 Mbit/s: see ``link_layer.py``.
    """
    rates = _axis("rate", "network.wifi.rate", {"auto": "auto", "5.5": "5.5 Mbit/s"})
    axes = [rates, _retries(retries), _ovens(OVEN_ALWAYS)]
    scenario = _scenario(seed, UNPACED)
    scenario["network"]["wifi"]["sniffer"] = {"capture": SNIFFER}
    return _measurement("link-layer", "3.5", scenario, axes)


def _tcp_segments(seed: int, retries: Sequence[int]) -> Measurement:
    """Section 3.5, table 3.5: how often TCP segments came to the receiver. Needs packets, so it is done once."""
    flows = [{"name": "tcp", "transport": "tcp", "pacing": "none"}]
    axes = [_retries(retries), _ovens(OVEN_ALWAYS)]
    return _measurement("tcp-segments", "3.5", _scenario(seed, flows), axes, repeats=1, packets=True)


def _open_questions(seed: int) -> list[Measurement]:
    ifd = [
        {"name": "tcp+ifd", "transport": "tcp+ifd"},
        {"name": "tcp+ifd-optimised", "transport": "tcp+ifd-optimised"},
        {"name": "udp+ifd", "transport": "udp+ifd", "packets": "full"},
        {"name": "udp+ifd-thesis", "transport": "udp+ifd", "packets": "thesis"},
    ]
    rules = [
        {"name": f"udp-{rule}-{mtu}", "transport": "udp-blocking", "packets": rule, "mtu": mtu}
        for mtu in (576, 1500)
        for rule in ("thesis", "slices", "full")
    ] + [{"name": f"tcp-{mtu}", "transport": "tcp", "pacing": "receiver", "mtu": mtu} for mtu in (576, 1500)]
    six = {"movie": {"source": "lab", "bitrate": "6 Mbit/s", "duration": "59.96 s"}}
    rates = {"auto": "auto"} | {rate: f"{rate} Mbit/s" for rate in ("11", "5.5", "2", "1")}
    standards = {"802.11b": "802.11b", "802.11g": "802.11g"}
    every = [flow | {"name": name} for name, flow in FLOWS.items()]
    return [
        _measurement("ifd", "open", _scenario(seed, ifd), [_bitrates((4, 5, 6)), _retries((2, 4)), _ovens()]),
        _measurement("packet-size", "open", _scenario(seed, rules, **six), [_ovens()]),
        _measurement(
            "fixed-rates", "open", _scenario(seed, UNPACED),
            [_axis("rate", "network.wifi.rate", rates), _retries((1, 2, 4)), _ovens(OVEN_ALWAYS)],
        ),
        _measurement(
            "ieee80211g", "open", _scenario(seed, every, **six),
            [_axis("standard", "network.wifi.standard", standards), _retries((1, 2, 4)), _ovens()],
        ),
        *_several_streams(seed),
    ]  # fmt: skip


def _several_streams(seed: int) -> list[Measurement]:
    """Streams through one card or from a laptop each, over 802.11b and over 802.11g: a campaign for each transport."""
    made = []
    standards = _axis("standard", "network.wifi.standard", {"802.11b": "802.11b", "802.11g": "802.11g"})
    for transport in STREAM_TRANSPORTS:
        layouts = {
            label: [
                FLOWS[transport] | {"name": f"{transport}-{number}", "station": station}
                for number, station in enumerate(stations, 1)
            ]
            for label, stations in STREAMS.items()
        }
        streams = _axis("streams", "flow", layouts)
        scenario = _scenario(seed, layouts["1"], layout="together")
        one = _measurement(f"streams-{transport.replace('+', '-')}", "open", scenario, [streams, standards, _ovens()])
        made.append(replace(one, streams=sum(map(len, STREAMS.values())) / len(STREAMS)))
    return made
