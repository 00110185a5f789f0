"""The whole report: complete in itself, true to its tables, and not upset by what a run lacks."""

from __future__ import annotations

import base64
import gzip
import json
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from report_run import Delivery, Picture, make_movie, prompt, read_pictures, without, write_run

from conftest import REPOSITORY
from framewire import report, scenario
from framewire.campaign import provenance
from framewire.campaign.index import Place
from framewire.errors import InputError
from framewire.report import page, palette, plotly
from framewire.report.caveats import caveats, provisional
from framewire.report.data import load
from framewire.report.figures import over_time
from framewire.report.figures.base import Figure, broken, cut_to_live_streams, rounded, thinned
from framewire.report.figures.losses import size_against_latency
from framewire.report.outcome import competition
from framewire.transports import EXTERNAL, TRANSPORTS

FIGURES = {
    "psnr", "psnr-frames", "throughput-frames", "throughput-packets", "latency", "jitter", "fates", "places", "types",
    "size-latency", "frame-runs", "packet-runs", "missed-time", "discontinuities-time", "packet-gaps",
    "packet-gaps-time", "packet-sizes", "transmissions", "transmissions-time", "rates-time", "sniffer", "cwnd",
    "unsent", "release-errors",
}  # fmt: skip


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_movie(tmp_path_factory.mktemp("movie") / "small.m2v")


@pytest.fixture(scope="module")
def pictures(movie: Path) -> list[Picture]:
    return read_pictures(movie)


@pytest.fixture(scope="module")
def full_run(movie: Path, pictures: list[Picture], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three flows, interference, a sniffer."""
    b_frames = {number for number, picture in enumerate(pictures) if picture.kind == "B"}
    deliveries = {
        "udp": Delivery("udp", without(prompt(pictures), {3, 17}), "sender-socket", "send buffer full"),
        "tcp": Delivery("tcp", [int(at * 2.5) for at in prompt(pictures) if at is not None], datagrams=False),
        "tcp+ifd": Delivery("tcp+ifd", without(prompt(pictures), b_frames), "sender-pipeline", "ifd", datagrams=False),
    }
    return write_run(tmp_path_factory.mktemp("runs") / "full", movie, deliveries, interference=[[0.8, 1.2]])


class Page(HTMLParser):
    """What a browser would fetch, run and show."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.identifiers: list[str] = []
        self.elements: list[str] = []
        self.text = ""
        self.scripts: dict[str, str] = {}
        self._inside = ""
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append(tag)
        self.identifiers += [str(given["id"])] if "id" in given else []
        self.addresses += [str(given[name]) for name in ("src", "href", "action", "data", "poster") if name in given]
        self._inside = str(given.get("id") or "script") if tag == "script" else "style" if tag == "style" else ""

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style"}:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.scripts[self._inside] = self.scripts.get(self._inside, "") + data
        else:
            self.text += data

    @property
    def figures(self) -> dict[str, Any]:
        found = json.loads(self.scripts["figures"])
        assert isinstance(found, dict)
        return found


def build(run: Path) -> Page:
    return Page(report.build(run))


def test_the_report_is_complete_in_itself(full_run: Path) -> None:
    steps: list[dict[str, Any]] = []
    path = report.build(full_run, progress=steps.append)
    assert path == full_run / "report.html"
    assert path.stat().st_size < 6_000_000
    assert [step["event"] for step in steps] == ["step"] * 2
    page = Page(path)
    inside = [address for address in page.addresses if address.startswith("#")]
    assert {address[1:] for address in inside} <= set(page.identifiers)
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert "@import" not in page.scripts["style"]
    assert "url(" not in page.scripts["style"]
    assert "default-src 'none'" in page.source
    assert len(page.identifiers) == len(set(page.identifiers))


def test_every_quantity_has_its_figure(full_run: Path) -> None:
    page = build(full_run)
    assert set(page.figures) == FIGURES
    assert set(page.identifiers) >= FIGURES
    for name in ("latency", "throughput-frames", "cwnd", "transmissions-time", "psnr"):
        spans = [shape for shape in page.figures[name][1]["shapes"] if shape["type"] == "rect"]
        assert [(span["x0"], span["x1"]) for span in spans] == [(0.8, 1.2)], name


def test_a_transport_has_one_colour_everywhere(full_run: Path) -> None:
    colours: dict[str, set[str]] = {}
    for data, _ in build(full_run).figures.values():
        for trace in data:
            style = trace.get("line", trace.get("marker", {}))
            colours.setdefault(trace["name"], set()).add(style.get("color"))
    assert [len(colours[name]) for name in ("udp", "tcp", "tcp+ifd")] == [1, 1, 1]
    assert len(set.union(*(colours[name] for name in ("udp", "tcp", "tcp+ifd")))) == 3


def test_every_transport_of_the_lab_has_a_colour() -> None:
    assert {*palette.TRANSPORT_COLOURS} == {one.name for one in TRANSPORTS if one.is_entry and one.name != EXTERNAL}


def test_a_transports_colour_means_nothing_else() -> None:
    others = {*palette.FATE_COLOURS.values(), *palette.TYPE_COLOURS.values(), *palette.PLACE_COLOURS.values()}
    transports = list(palette.TRANSPORT_COLOURS.values())
    assert {*palette.REPEATED} <= {*transports}
    assert len(set(transports)) == len(transports)
    assert not others & {*transports, palette.OTHER_COLOUR}


def test_the_figures_say_what_the_tables_say(full_run: Path) -> None:
    figures = build(full_run).figures
    frames = pl.read_parquet(full_run / "frames.parquet")
    bits = {trace["name"]: sum(trace["y"]) * 1e6 for trace in figures["throughput-frames"][0]}
    for flow, rows in frames.drop_nulls("arrival_ns").group_by("flow"):
        second = rows["arrival_ns"] // 1_000_000_000
        drawn = rows.filter(second < second.max())  # the last second is cut short, and left out
        assert bits[str(flow[0])] == pytest.approx(float(drawn["size"].sum()) * 8, rel=1e-3) != 0
    shares = {trace["name"]: trace["x"] for trace in figures["fates"][0]}
    assert [sum(column) for column in zip(*shares.values(), strict=True)] == pytest.approx([100] * 3, abs=0.1)
    lost = {trace["name"]: trace["x"] for trace in figures["types"][0]}
    assert lost["B frames"][2] == 100
    assert lost["I frames"][2] == lost["P frames"][2] == 0


def test_verdict_and_table_say_what_the_ledger_says(full_run: Path) -> None:
    page = build(full_run)
    frames = pl.read_parquet(full_run / "frames.parquet")
    shown = {
        str(flow[0]): 100 * rows.filter(pl.col("fate") == "shown").height / rows.height
        for flow, rows in frames.group_by("flow")
    }
    best = max(shown, key=lambda flow: shown[flow])
    assert f"choose {best}." in page.text
    for share in shown.values():
        assert f"{share:.1f}" in page.text


def test_what_the_user_named_is_escaped(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    closing = "<!--<script>"
    deliveries = {
        evil: Delivery("udp", without(prompt(pictures), {5})),
        closing: Delivery("<b>tcp", prompt(pictures), datagrams=False),
    }
    page = build(write_run(tmp_path / "run", movie, deliveries))
    assert page.addresses.count("x") == 0
    assert evil not in page.source
    assert closing not in page.source
    assert evil in page.text
    assert page.elements.count("script") == 3
    names = {trace["name"] for trace in page.figures["latency"][0]}
    assert names == {"&lt;img src=x onerror=alert(1)&gt;", "&lt;!--&lt;script&gt;"}


def test_a_partial_disturbed_run_says_so_at_the_top(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    half = without(prompt(pictures), set(range(25, len(pictures))))
    deliveries = {"udp": Delivery("udp", half), "tcp": Delivery("tcp", half, datagrams=False)}
    run = write_run(tmp_path / "run", movie, deliveries, status="partial", layout="together", disturbed="p99 8 ms")
    verdict = build(run).text.split("Comparison", 2)[1]
    assert "The run is partial" in verdict
    assert "all flows: p99 8 ms" in verdict
    assert "Provisional: the run did not come to its end and the emulation was disturbed" in verdict
    assert "Do not choose by it" in verdict
    assert ", choose " not in verdict
    assert "shared one network" in verdict


def test_what_chance_there_is_is_told_as_it_is_in_each_world(full_run: Path) -> None:
    run = load(full_run)
    wired: dict[str, Any] = {"network": {"kind": "wired"}, "flow": [{"transport": "udp"}]}
    run.scenario = scenario.load(wired)
    for world, in_real_time in (("simulated", False), ("emulated", True)):
        run.info["world"] = world
        told = str(caveats(run, {})[-1])
        assert "another seed changes nothing" in told
        assert ("In real time the order of packets is chance" in told) is in_real_time
    run.info["world"] = "simulated"
    bbr = [{"transport": "tcp"}, {"name": "bbr", "transport": "tcp", "congestion": "bbr"}]
    run.scenario = scenario.load(wired | {"flow": bbr})
    assert str(caveats(run, {})[-1]).startswith("Nothing of the network is drawn from the seed; when BBR probes is")
    run.scenario = scenario.load(wired | {"flow": bbr[:1]})
    assert "another seed changes nothing" in str(caveats(run, {})[-1])
    run.scenario = scenario.load(wired | {"flow": bbr[:1], "layout": "together"})
    assert "the order in which flows begin" in str(caveats(run, {})[-1])
    run.scenario = scenario.load(wired | {"network": {"kind": "wired", "wire": {"loss": "1 %"}}})
    assert "another seed changes nothing" not in " ".join(map(str, caveats(run, {})))


def test_a_run_whose_flow_failed_is_not_called_ended_early(full_run: Path) -> None:
    run = load(full_run)
    run.info |= {"status": "partial", "ended_by": None}
    run.info["flows"] = [one | {"failure": "it broke" if one["name"] == "udp" else None} for one in run.info["flows"]]
    said = " ".join(map(str, caveats(run, {})))
    assert "<b>udp</b> failed: it broke." in said
    assert "ended as" not in said, "said once"
    assert "Do not choose by it" not in said
    assert provisional(run) is None
    run.info["ended_by"] = "time limit"
    assert "ended early (time limit)" in str(caveats(run, {})[0])
    assert provisional(run) == "the run reached its time limit"


def test_an_application_whose_latencies_begin_later_is_named(full_run: Path) -> None:
    run = load(full_run)
    run.flows = [replace(flow, transport="external") if flow.name == "udp" else flow for flow in run.flows]
    assert "count from its first packet" not in " ".join(map(str, caveats(run, {})))
    later = pl.when(pl.col("flow") == "udp").then(pl.col("due_ns") + 131_900_000).otherwise(pl.col("due_ns"))
    run.frames = run.frames.with_columns(due_ns=later)
    said = " ".join(map(str, caveats(run, {})))
    assert "The latencies of udp count from its first packet, 132 ms after the beginning" in said


def test_one_stream_is_not_told_that_all_transports_met_one_channel(full_run: Path) -> None:
    run = load(full_run)
    assert "all transports met the same channel" in str(caveats(run, {})[-1])
    run.flows[1:] = [replace(flow, transport="bulk") for flow in run.flows[1:]]
    assert "all transports" not in str(caveats(run, {})[-1])


def test_what_came_ahead_of_its_time_is_drawn(full_run: Path) -> None:
    run = load(full_run)
    axis = size_against_latency(run).layout["yaxis"]
    assert (axis["type"], axis["tickformat"]) == ("log", "~g"), "20 is written as 20, and not as 2"
    run.frames = run.frames.with_columns(pl.col("latency_ns") - 40_000_000)
    figure = size_against_latency(run)
    assert figure.layout["yaxis"]["type"] == "linear"
    assert "ahead of their time" in figure.hint
    assert any(value < 0 for trace in figure.data for value in trace["y"])


def test_what_streams_and_cross_traffic_got_is_told_where_they_share(full_run: Path) -> None:
    run = load(full_run)
    assert competition(run) == []
    bulk = replace(run.flows[0], name="reno", transport="bulk")
    run.flows.append(bulk)
    assert competition(run) == [], "each had a network of its own"
    together = {"layout": "together", "flow": [{"transport": "udp"}, {"name": "reno", "transport": "bulk"}]}
    run.scenario = scenario.load(together | {"network": {"kind": "wifi", "wire": {"rate": "100 Mbit/s"}}})
    assert "of a link" not in competition(run)[0], "the wire behind the access point is not what they shared"
    run.scenario = scenario.load(together | {"network": {"kind": "wired", "wire": {"rate": "3 Mbit/s"}}})
    (told,) = competition(run)
    assert "of a link of 3 Mbit/s: <b>udp</b> " in told
    assert told.endswith("<b>reno</b> nothing.")


def test_a_quiet_complete_run_is_not_excused(full_run: Path) -> None:
    text = build(full_run).text
    assert "The run is partial" not in text
    assert "Provisional" not in text
    assert "disturbed by other work on the machine (" not in text
    assert "shared one network" not in text
    assert "One run, one seed (seed 1)" in text


def test_nothing_arrived_for_one_flow(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    nothing: list[int | None] = [None] * len(pictures)
    deliveries = {"udp": Delivery("udp", nothing), "tcp": Delivery("tcp", prompt(pictures), datagrams=False)}
    page = build(write_run(tmp_path / "run", movie, deliveries))
    assert "choose tcp." in page.text
    assert "nothing yet" in page.text
    assert {trace["name"] for trace in page.figures["latency"][0]} == {"tcp"}


def test_nothing_arrived_at_all(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    nothing: list[int | None] = [None] * len(pictures)
    page = build(write_run(tmp_path / "run", movie, {name: Delivery(name, nothing) for name in ("udp", "tcp")}))
    assert "No transport showed a single frame in time." in page.text
    assert "latency" not in page.figures


def test_a_player_that_waits_is_judged_as_one(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    slow = [int(at + number * 30e6) for number, at in enumerate(prompt(pictures)) if at is not None]
    b_frames = {number for number, picture in enumerate(pictures) if picture.kind == "B" and number % 3}
    deliveries = {
        "tcp": Delivery("tcp", slow, datagrams=False),
        "tcp+ifd": Delivery("tcp+ifd", without(prompt(pictures), b_frames), "sender-pipeline", "ifd", datagrams=False),
    }
    page = build(write_run(tmp_path / "run", movie, deliveries, policy="stall"))
    assert "For a player that waits, choose tcp." in page.text
    assert re.search(r"For live viewing, .* tcp\+ifd \([0-9.]+ % of the frames in time\) is best", page.text)
    assert re.search(r"[0-9.]+ s behind", page.text)


def test_sixteen_flows_have_markers_and_bars_of_their_own() -> None:
    looks = palette.looks(["tcp"] * 17)
    assert len({look.marker for look in looks}) == len({look.glyph for look in looks}) == 16
    assert len({(look.pattern, look.pattern_size) for look in looks[:16]}) == 16
    assert (looks[16].marker, looks[16].dash != looks[0].dash) == (looks[0].marker, True)


@pytest.mark.parametrize("count", [1, 12])
def test_any_number_of_flows(count: int, movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    deliveries = {f"tcp-{number}": Delivery("tcp", prompt(pictures), datagrams=False) for number in range(count)}
    page = build(write_run(tmp_path / "run", movie, deliveries, sniffer=False))
    assert page.text.count("alone was run") == (1 if count == 1 else 0)
    styles = [(trace["line"]["color"], trace["line"]["dash"], trace["marker"]["symbol"]) for trace in
              page.figures["latency"][0]]  # fmt: skip
    assert len(set(styles)) == count, "no two look alike"
    assert len({symbol for *_, symbol in styles}) == count, "nor without colour and line style"
    assert len({colour for colour, _, _ in styles}) == min(count, 8)
    assert styles[0][0] == palette.colour("tcp")
    signs = re.findall(r'class="key flow" style="color: (#[0-9A-F]{6})" aria-hidden="true">(.)<', page.source)
    drawn = [(colour, dict(palette.MARKERS)[symbol]) for colour, _, symbol in styles]
    assert signs == drawn[:count] * 4, "the same in table, filmstrip, buttons and fates"
    assert "link" not in page.identifiers, "nothing was sent over the air"


def test_a_wired_run_without_most_tables(movie: Path, pictures: list[Picture], tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run", movie, {"udp": Delivery("udp", prompt(pictures)), "tcp": Delivery("tcp", prompt(pictures))}
    )
    for name in ("packets", "flows", "accuracy", "summary"):
        (run / f"{name}.parquet").unlink()
    (run / "scenario.toml").unlink()
    movie_facts = json.loads((run / "run.json").read_text()) | {"accuracy": None, "movie": {}}
    (run / "run.json").write_text(json.dumps(movie_facts))
    page = build(run)
    assert "run.json names no movie" in page.text
    assert "There is no proof of accuracy for udp, tcp." in page.text
    assert "has no packets.parquet" in page.text
    assert {"latency", "fates"} <= set(page.figures)
    assert not {"transmissions", "cwnd", "psnr"} & set(page.figures)


@pytest.mark.parametrize("spoil", ["no run.json", "bad run.json", "no frames", "bad frames", "newer", "no directory"])
def test_no_run_directory_is_one_clear_error(spoil: str, full_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("run.json", "frames.parquet", "scenario.toml"):
        shutil.copy(full_run / name, run / name)
    if spoil == "no run.json":
        (run / "run.json").unlink()
    elif spoil == "bad run.json":
        (run / "run.json").write_text("{")
    elif spoil == "no frames":
        (run / "frames.parquet").unlink()
    elif spoil == "bad frames":
        (run / "frames.parquet").write_bytes(b"PAR1")
    elif spoil == "newer":
        (run / "run.json").write_text('{"format": 99}')
    else:
        shutil.rmtree(run)
    with pytest.raises(InputError, match=re.escape(str(run))) as caught:
        report.build(run)
    assert "\n" not in str(caught.value)
    assert not (run / "report.html").exists()


def test_a_directory_that_cannot_be_written_leaves_nothing(full_run: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(InputError, match="cannot write the report"):
        report.build(full_run, tmp_path / "taken" / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_lines_are_broken_where_nothing_came_and_only_there(movie: Path, tmp_path: Path) -> None:
    pictures = read_pictures(movie)
    one = next(number for number, picture in enumerate(pictures) if picture.kind == "B" and number > 35)
    gone = {*range(10, 25)} | {one}
    whole = Delivery("tcp", prompt(pictures), datagrams=False)
    run = load(
        write_run(tmp_path / "run", movie, {"gap": Delivery("udp", without(prompt(pictures), gone)), "whole": whole})
    )
    for figure in (over_time.latency(run), over_time.jitter(run)):
        gap, without_any = (trace["y"] for trace in figure.data)
        assert gap.count(None) == 2 and without_any.count(None) == 0, "one of a lost frame, which a short movie shows"
        (x,) = (x for x, y in zip(figure.data[0]["x"], gap, strict=True) if y is None and x < 1)
        assert 10 / 25 < x < 24 / 25
        assert not figure.data[0]["connectgaps"]
    # A line of a minute has no gaps that are too short to be seen.
    x = [0.04 * frame for frame in range(1500) if frame % 50 > 2 and not 500 <= frame < 600]
    assert broken(x, x, 0.04)[1].count(None) == 1


def test_a_long_line_keeps_its_gaps() -> None:
    x = [float(at) for at in range(100_000) if at % 10_000 > 900]
    kept_x, kept = thinned(*broken(x, x))
    gaps = [at for at, value in zip(kept_x, kept, strict=True) if value is None]
    assert len(gaps) == 9 and all(at % 10_000 < 1000 for at in gaps)
    assert len(kept) <= 1510


def test_long_lines_keep_their_extremes() -> None:
    y: list[float | int | None] = [0.0] * 100_000
    y[54_321], y[77_777], y[10] = 9.0, -9.0, None
    x, kept = thinned(list(range(len(y))), y)
    assert len(kept) <= 1500
    assert {9.0, -9.0} <= set(kept)
    assert x[kept.index(9.0)] == 54_321
    assert x == sorted(x, key=lambda value: value or 0)
    assert rounded([1234.5678, 0.00012345678, float("nan"), None, float("inf"), 7]) == [
        1235,
        0.0001235,
        None,
        None,
        None,
        7,
    ]


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_draws_every_figure(full_run: Path, tmp_path: Path) -> None:
    path = report.build(full_run)
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000", "--dump-dom", path.as_uri()]
    seen = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    assert '<html lang="en" data-ready="yes">' in seen
    drawn = re.findall(r'data-figure="([a-z-]+)"[^>]*data-drawn="yes"', seen)
    assert set(drawn) == FIGURES
    assert seen.count("plotly plot-container") + seen.count("plot-container plotly") == len(FIGURES)


def test_the_report_of_a_cell_says_which_it_is(movie: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    write_run(run, movie, {"udp": Delivery("udp", prompt(read_pictures(movie)))})
    page = report.build(run).read_text()
    assert "<h1>sweep: network.wifi.retry = 4, oven = on, repeat 2</h1>" not in page
    place = Place("3f2a", {"network.wifi.retry": 4, "oven": "on"}, 2, 7)
    provenance.write(run, "sweep", tmp_path / "campaigns" / "sweep", place)
    assert "<h1>sweep: network.wifi.retry = 4, oven = on, repeat 2</h1>" in report.build(run).read_text()
    (run / provenance.FILE).write_text("{")
    assert "sweep:" not in report.build(run).read_text()


@pytest.mark.parametrize(("version", "shown"), [(1, False), (2, True)])
def test_what_tcp_went_through_is_shown_where_it_was_recorded(version: int, shown: bool, tmp_path: Path) -> None:
    run = shutil.copytree(REPOSITORY / f"tests/golden/format-{version}", tmp_path / "run")
    page = report.build(Path(run)).read_text()
    assert ("smoothed round-trip time" in page.partition('class="plot"')[0]) == shown


def test_what_goes_on_beside_an_interruption_ends() -> None:
    ended: list[bool] = []

    def work(progress: Callable[[str, float], None]) -> page.Seen:
        try:
            while True:
                progress("", 0.0)
                time.sleep(0.001)
        finally:
            ended.append(True)

    with pytest.raises(KeyboardInterrupt), page.beside(work):
        raise KeyboardInterrupt
    assert ended == [True]
    with page.beside(lambda _progress: page.unseen()) as seen:
        assert seen()[1].failure == page.LATER


def test_the_script_is_packed_once_and_a_damaged_one_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRAMEWIRE_CACHE", str(tmp_path / "cache"))
    plotly.packed.cache_clear()
    first = plotly.packed()
    (kept,) = (tmp_path / "cache" / "scripts").iterdir()
    whole = kept.read_bytes()
    assert gzip.decompress(base64.b64decode(first)).startswith(b"/**")
    packs: list[int] = []
    pack = gzip.compress
    monkeypatch.setattr(gzip, "compress", lambda *given, **more: packs.append(1) or pack(*given, **more))
    for content, expected in ((whole, 0), (whole[:-1] + b"?", 1), (b"", 1)):
        kept.write_bytes(content)
        packs.clear()
        plotly.packed.cache_clear()
        assert plotly.packed() == first and len(packs) == expected
        assert kept.read_bytes() == whole


def test_files_that_are_fetched_do_not_press_live_latencies_flat() -> None:
    live = {"name": "udp", "y": [40.0, None, 80.0]}
    flows = [SimpleNamespace(name=name, fetches_file=name == "http") for name in ("udp", "http")]

    def drawn(ahead: float) -> Figure:
        figure = Figure("latency", "", "How.", [live, {"name": "http", "y": [30.0, ahead]}], {"yaxis": {"title": "ms"}})
        return cut_to_live_streams(SimpleNamespace(streams=flows), figure)

    far = drawn(-9000.0)
    low, high = far.layout["yaxis"]["range"]
    assert -20 < low < 0 < 80 < high < 100
    assert "9.0 s ahead" in far.hint
    assert drawn(-79.0).layout["yaxis"] == {"title": "ms"}
