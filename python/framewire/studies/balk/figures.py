"""The paper's figures, drawn from our runs: one seed where something is shown over time, else means over all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from framewire.confidence import Estimate
from framewire.report.figures.base import Figure, Trace, rounded, thinned
from framewire.studies.balk import psnr_over_time, sending_plans
from framewire.studies.balk.clips import QUANTISERS
from framewire.studies.balk.drawing import HYBRID, RIVAL, SOFT, TCP, VTP, Drawn, line, plot
from framewire.studies.balk.measure import Measured, Run
from framewire.studies.balk.plan import (
    FLOWS,
    LOSSES,
    PACKETS_PER_REQUEST,
    STRONG_FLOWS,
    TFRC_ROUND_TRIPS_MS,
    Setting,
    Transport,
    alone,
    hybrid,
    isolated,
    mild,
    strong,
)

__all__ = ["figures"]


def figures(measured: Measured) -> list[Drawn]:
    """All of them; what was not measured says so in its place."""
    return [
        *sending_plans.drawn(measured.clips["mild"], measured.clips["strong"]),
        Drawn("15", "The mild clip alone on 10 Mbit/s", tuple(_climb(measured))),
        Drawn("16", "The mild clip among TCP connections, 3 Mbit/s", (_fairness(measured, "16", FLOWS, mild),)),
        Drawn("17", "Packets per request for a control packet, 8 flows, 3 Mbit/s", (_over_k(measured),)),
        Drawn(
            "18", "The strong clip among TCP connections, 5 Mbit/s", (_fairness(measured, "18", STRONG_FLOWS, strong),)
        ),
        Drawn("19", "Random loss, the strong clip among 11 TCP connections, 5 Mbit/s", (_over_loss(measured),)),
        Drawn("20", "VTP and TFRC, each alone, under random loss", tuple(_tfrc(measured))),
        psnr_over_time.drawn(measured),
        Drawn(
            "22",
            "Frames shown per second, mild clip, 16 flows, 3 Mbit/s",
            (_frames(measured, "22", mild(16), mild(16, transport="fixed")),),
        ),
        Drawn(
            "23",
            "Frames shown per second, strong clip, 12 flows, 5 Mbit/s",
            (_frames(measured, "23", strong(12), strong(12, transport="fixed")),),
        ),
        Drawn("24", "Mean quantiser of the mild clip", (_quantisers(measured),)),
    ]


def _points(name: str, x: Sequence[object], estimates: Sequence[Estimate | None], colour: str, **more: object) -> Trace:
    """Means with their confidence intervals."""
    known = [(at, one) for at, one in zip(x, estimates, strict=True) if one is not None]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [at for at, _ in known],
        "y": rounded([one.mean for _, one in known]),
        "error_y": {"type": "data", "array": rounded([one.half_width or 0.0 for _, one in known]), "thickness": 1.2},
        "line": {"color": colour, "width": 1.4},
        "marker": {"color": colour, "size": 7},
    } | more


def _over(
    measured: Measured, places: Sequence[tuple[object, Setting]], name: str, value: Callable[[Run], float], colour: str
) -> list[Trace]:
    """One value over what is varied; nothing when none of it was measured."""
    known = [(at, setting) for at, setting in places if measured.of(setting)]
    if not known:
        return []
    # TCP is ringed, so that it is seen where another line lies upon it.
    ringed = {"marker": {"color": colour, "size": 11, "symbol": "circle-open", "line": {"width": 2}}}
    means = [measured.mean(setting, value) for _, setting in known]
    return [_points(name, [at for at, _ in known], means, colour, **(ringed if colour == TCP else {}))]


def _climb(measured: Measured) -> list[Figure]:
    run = measured.shown(isolated())
    if run is None:
        return [plot("figure-15", "", "", [], "", "")]
    series = run.series
    x = [at - run.document["stream"]["begin_s"] for at in series["t"]]
    few = [thinned(x, series[key], 900) for key in ("rate_kbps", "estimate_kbps")]
    rates = [line("sending rate", *few[0], VTP), line("estimate", *few[1], RIVAL, line={"width": 1})]
    plans_of = [
        line(f"plan of level {level}", x, [at[level] for at in series["plan_kbps"]], SOFT, line={"dash": "dot"})
        for level in range(len(QUANTISERS))
    ]
    levels = [line("level sent", x, series["level"], VTP, line={"shape": "hv"})]
    return [
        plot("figure-15", "Rate and estimate", "", [*plans_of, *rates], "time from the first packet (s)", "kbit/s"),
        plot("figure-15-level", "Level", "", levels, "time from the first packet (s)", "level", yaxis={"dtick": 1}),
    ]


def _fairness(measured: Measured, number: str, flows: Sequence[int], setting: Callable[..., Setting]) -> Figure:
    places = [(str(count), setting(count)) for count in flows]
    traces = _over(measured, places, "TCP, mean", lambda run: run.tcp_share, TCP)
    for trace in traces:
        known = [one for _, one in places if measured.of(one)]
        spreads = [measured.mean(one, lambda run: run.tcp_spread) for one in known]
        trace["error_y"] = {
            "type": "data",
            "array": rounded([one.mean if one else 0.0 for one in spreads]),
            "thickness": 1.2,
        }
    traces += _over(measured, places, "VTP", lambda run: run.share, VTP)
    traces += _over(measured, _hybrid(places), "VTP, hybrid", lambda run: run.share, HYBRID)
    hint = "1 is the fair share. Bars: of VTP 95 % confidence, of TCP the standard deviation over its connections."
    return plot(
        f"figure-{number}",
        "Normalised throughput",
        hint,
        traces,
        "flows in all",
        "of the fair share",
        xaxis={"type": "category"},
    )


def _over_k(measured: Measured) -> Figure:
    places = [(str(k), mild(8, k=k)) for k in PACKETS_PER_REQUEST]
    traces = _over(measured, places, "TCP, mean", lambda run: run.tcp_share, TCP)
    traces += _over(measured, places, "VTP", lambda run: run.share, VTP)
    traces += _over(measured, _hybrid(places), "VTP, hybrid", lambda run: run.share, HYBRID)
    return plot("figure-17", "Normalised throughput", "", traces, "k", "of the fair share", xaxis={"type": "category"})


def _over_loss(measured: Measured) -> Figure:
    places: list[tuple[object, Setting]] = [(loss, strong(12, loss_percent=loss)) for loss in LOSSES]
    traces = _over(measured, places, "TCP, mean", lambda run: sum(run.tcp_kbps) / len(run.tcp_kbps), TCP)
    traces += _over(measured, places, "VTP", lambda run: run.stream_kbps, VTP)
    traces += _over(measured, _hybrid(places), "VTP, hybrid", lambda run: run.stream_kbps, HYBRID)
    return plot("figure-19", "Mean throughput", "", traces, "random loss (%)", "kbit/s")


def _tfrc(measured: Measured) -> list[Figure]:
    made = []
    transports: Sequence[tuple[Transport, str]] = (("vtp", VTP), ("vtp-hybrid", HYBRID), ("tfrc", RIVAL))
    for loss in (1.0, 5.0):
        traces = []
        for transport, colour in transports:
            run = measured.shown(alone(loss, transport))
            if run is not None:
                rates = [rate / 1e3 for rate in run.document["stream"]["video_bps_by_second"][10:30]]
                name = "VTP, hybrid" if transport == "vtp-hybrid" else transport.upper()
                traces.append(line(name, range(10, 10 + len(rates)), rates, colour))
        title = f"{loss:g} % loss, 10 ms"
        made.append(plot(f"figure-20-{loss:g}", title, "Video received in each second.", traces, "time (s)", "kbit/s"))
    traces = []
    for loss, colour in ((1.0, VTP), (5.0, RIVAL)):
        places: list[tuple[object, Setting]] = [(rtt, alone(loss, "tfrc", rtt)) for rtt in TFRC_ROUND_TRIPS_MS]
        traces += _over(measured, places, f"TFRC at {loss:g} %", video_kbps, colour)
    hint = "At which round-trip time figure 20 comes about: below 200 kbit/s at 1 %, 100 at 5 %."
    made.append(plot("figure-20-rtt", "TFRC by round-trip time", hint, traces, "round trip (ms)", "kbit/s"))
    return made


def video_kbps(run: Run) -> float:
    """Video received over the whole stream."""
    return float(run.document["stream"]["video_bps"]) / 1e3


def _frames(measured: Measured, number: str, vtp: Setting, fixed: Setting) -> Figure:
    traces = []
    for name, setting, colour in (
        ("fixed rate", fixed, RIVAL),
        ("VTP", vtp, VTP),
        ("VTP, hybrid", hybrid(vtp), HYBRID),
    ):
        run = measured.shown(setting)
        if run is not None:
            traces.append(line(name, range(len(run.frame_rates)), run.frame_rates, colour))
    hint = "Frames that came whole and in time, by the second of the clip in which they are shown."
    return plot(f"figure-{number}", "", hint, traces, "time in the clip (s)", "frames per second")


def _quantisers(measured: Measured) -> Figure:
    traces = []
    for link, colour in ((2.0, RIVAL), (3.0, VTP)):
        places = [(str(flows), mild(flows, link_mbps=link)) for flows in FLOWS]
        traces += _over(measured, places, f"{link:g} Mbit/s", lambda run: run.quantiser, colour)
        dotted = {"line": {"color": colour, "width": 1.2, "dash": "dot"}}
        for trace in _over(measured, _hybrid(places), f"{link:g} Mbit/s, hybrid", lambda run: run.quantiser, colour):
            traces.append(trace | dotted)
    clip = measured.clips["mild"]
    quantisers = ", ".join(f"{quantiser:.1f}" for quantiser in clip.mean_quantisers)
    source = "by rule, because its sizes are made up" if clip.quality is None else "from their bit streams"
    hint = f"Of the frames received. The levels' means are {quantisers}, {source}."
    return plot("figure-24", "", hint, traces, "flows in all", "mean quantiser", xaxis={"type": "category"})


def _hybrid(places: Sequence[tuple[object, Setting]]) -> list[tuple[object, Setting]]:
    return [(at, hybrid(setting)) for at, setting in places]
