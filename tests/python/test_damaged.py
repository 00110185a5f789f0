"""Frames with a packet missing that are handed on up to their first gap, and what FFmpeg makes of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from test_emulated import capable
from test_rtp_payloads import ENCODERS, IN_CONTAINERS, films, pictures  # noqa: F401

import framewire
from framewire import InputError, as_decoded
from framewire.as_decoded.concealed import Concealed
from framewire.as_decoded.first_bytes import beginning
from framewire.as_decoded.received_parts import arrivals
from framewire.render.screens import of_run
from framewire.report import filmstrip, psnr
from framewire.report.data import ReportRun, load
from framewire.report.decoder import luma
from framewire.report.reference_pictures import Pictures

LOSSY = '[network]\nkind = "wired"\n[network.wire]\nrate = "20 Mbit/s"\nloss = "3 %"\n'
FLOWS = {"discards": "", "passes": 'damaged = "pass"\n'}
OWN = ["flow", "handed_on", "discarded_at"]


def run_of(film: Path, out: Path, world: str, transport: str = "udp") -> ReportRun:
    """The same film twice over the same losses."""
    flows = "".join(f'[[flow]]\nname = "{name}"\ntransport = "{transport}"\n{more}' for name, more in FLOWS.items())
    text = f'name = "test"\n[movie]\nsource = "{film}"\n{LOSSY}{flows}'
    return load(framewire.run(text, out=out, world=world).directory)


def check_handed_on(run: ReportRun, codec: str) -> pl.DataFrame:
    """What was handed on is what packets and ledger say that came up to the gap; returns the frames."""
    (original,), _ = Pictures(run).originals
    ledgers = {flow.name: run.ledger(flow).sort("frame") for flow in run.streams}
    assert ledgers["discards"]["handed_on"].sum() == 0
    ledger = ledgers["passes"]
    handed_on = ledger.filter(pl.col("handed_on") > 0)
    assert set(handed_on["fate"]) == {"lost"}
    assert handed_on["discarded_at"].to_list() == handed_on["root_cause_place"].to_list()
    assert (handed_on["handed_on"] < handed_on["size"]).all()
    (received,) = (path for path in (run.directory / "received").iterdir() if path.stem == "passes")
    assert received.stat().st_size == ledger.filter("complete")["size"].sum() + handed_on["handed_on"].sum()
    flow = next(flow for flow in run.streams if flow.name == "passes")
    stream = Pictures(run).received(flow, original).stream
    came = [one for one in arrivals(run, flow) if not one.whole]
    assert [one.frame for one in came] == handed_on["frame"].to_list()
    for frame in handed_on["frame"]:
        assert original.stream.read(frame).startswith(stream.read(frame)), codec
    return handed_on


@pytest.mark.parametrize("codec", ENCODERS)
def test_what_came_up_to_the_gap_is_handed_on_and_a_decoder_makes_more_of_it(
    codec: str,
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    run = run_of(films[codec], tmp_path / "run", "simulated")
    handed_on = check_handed_on(run, codec)
    both = [run.ledger(flow).sort("frame").drop(OWN) for flow in run.streams]
    assert_frame_equal(both[0], both[1])
    discards, passes = run.streams
    (original,), _ = Pictures(run).originals
    begun = {one.frame: one for one in arrivals(run, discards) if not one.whole}
    if codec == "obu":
        # Of a temporal unit whole units are handed on, where a frame is among them.
        assert {*handed_on["frame"]} < {*begun}
        made = {frame: len(beginning(original.stream, one, 1460)) for frame, one in begun.items()}
        of_discarded = {frame: size for frame, size in made.items() if size > 0}
        # As for other codecs, a receiver cannot always tell that it has the beginning.
        assert handed_on.height > 0.8 * len(of_discarded) > 3
        assert dict(handed_on.select("frame", "handed_on").iter_rows()).items() <= of_discarded.items()
        scores, _, problems = as_decoded.measure(run)
        assert not problems
        assert [one.damaged for one in scores] == [len(of_discarded), handed_on.height]
        return
    # Where packets before a frame are missing, too, a receiver cannot always tell that it has its beginning.
    assert {*handed_on["frame"]} <= {*begun} and handed_on.height > 0.8 * len(begun) > 5
    for frame, size in handed_on.select("frame", "handed_on").iter_rows():
        assert len(beginning(original.stream, begun[frame], 1460)) == size
    files = {path.stem: path for path in (run.directory / "received").iterdir()}
    shown = {name: pictures(path) for name, path in files.items()}
    assert len(shown["passes"]) > len(shown["discards"])
    scores, _, problems = as_decoded.measure(run)
    assert not problems
    by_discarding, by_passing = scores
    assert by_discarding.flow == discards.name and by_passing.flow == passes.name
    # As the thesis' receiver discards both are the same; a decoder that conceals gets what was handed on.
    assert by_passing.discarded_psnr_db == by_discarding.discarded_psnr_db
    assert by_passing.damaged == handed_on.height
    # What FFmpeg puts in the place of a reference of H.265 that is missing is grey, and worse by PSNR than a freeze.
    assert by_passing.as_decoded_ssim > by_passing.discarded_ssim + 0.05
    # What the other flow is taken to have handed on is made of its packets; here they are the bytes of the receiver.
    if {*handed_on["frame"]} == {*begun}:
        assert by_passing.as_decoded_psnr_db == by_discarding.as_decoded_psnr_db


@pytest.mark.parametrize("transport", ["ts", "ts+rtp"])
@pytest.mark.parametrize("codec", IN_CONTAINERS)
def test_of_a_transport_stream_it_is_what_the_packets_before_the_gap_carry(
    codec: str,
    transport: str,
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    run = run_of(films[codec], tmp_path / "run", "simulated", transport)
    handed_on = check_handed_on(run, codec)
    both = [run.ledger(flow).sort("frame").drop(OWN) for flow in run.streams]
    assert_frame_equal(both[0], both[1])
    carried = leading_bytes(run)
    sizes = dict(handed_on.select("frame", "handed_on").iter_rows())
    assert {frame: size for frame, size in carried.items() if size > 0} == sizes and len(sizes) > 5
    shown = {path.stem: pictures(path) for path in (run.directory / "received").iterdir()}
    assert len(shown["passes"]) > len(shown["discards"])
    scores, _, problems = as_decoded.measure(run)
    assert not problems
    by_discarding, by_passing = scores
    assert by_passing.discarded_psnr_db == by_discarding.discarded_psnr_db
    assert (by_discarding.damaged, by_passing.damaged) == (None, handed_on.height)
    assert by_passing.as_decoded_ssim > by_passing.discarded_ssim + 0.05


def test_film_and_filmstrip_show_what_the_decoder_conceals(
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    """Picture for picture those of the score, in the player's time; those of a receiver that discards stand still."""
    run = run_of(films["h264"], tmp_path / "run", "simulated")
    (sent, discards, passes), missing = of_run(run)
    assert not missing
    (original,), _ = Pictures(run).originals
    flow = run.streams[1]
    concealed = Concealed.of(run, flow, original, Pictures(run).received(flow, original))
    assert passes.shown_at_s == concealed.played.shown_at_s
    output = luma(original.width, original.height)
    known, all_of = (
        dict(concealed.pictures(output)),
        {slot for slot, at in enumerate(passes.shown_at_s) if at is not None},
    )
    assert dict(passes.pictures(output, all_of)) == {slot: one for slot, one in known.items() if slot in all_of}
    damaged = {one.display for one in concealed.came if not one.whole} & all_of
    assert len(damaged) > 5 and not any(discards.shown_at_s[slot] is not None for slot in damaged)
    slot = max(damaged)
    at_s = slot / passes.frame_rate
    assert passes.caption(at_s, slot) == (f"frame {slot}, concealed", False)
    stood = max(one for one in range(slot) if discards.shown_at_s[one] is not None)
    assert discards.caption(at_s, stood)[1]
    pictured = dict(sent.pictures(output, {slot}))
    assert pictured[slot] != known[slot] != dict(discards.pictures(output, {stood}))[stood]
    # A part of the film has the pictures of the whole one: the decoder is given all before it.
    assert dict(passes.pictures(output, {slot})) == {slot: known[slot]}
    strip = {row.label: row for row in filmstrip.make(run, psnr.unmeasured()).rows}
    assert [row.problem for row in strip.values()] == [None] * 3
    frozen = {name: sum(cell.frozen_s > 0 for cell in strip[name].cells) for name in FLOWS}
    assert frozen["passes"] < frozen["discards"]


def leading_bytes(run: ReportRun) -> dict[int, int]:
    """Of each frame of the flow that passes and is not whole: bytes in its datagrams before the first missing one."""
    ledger = run.ledger(next(flow for flow in run.streams if flow.name == "passes")).filter(~pl.col("complete"))
    packets = run.packets.filter((pl.col("flow") == "passes") & (pl.col("direction") == "forward")).sort("sequence")
    found = {}
    for frame in ledger["frame"]:
        size = 0
        own = packets.filter(frame=frame).select("outcome", "payload", "headers")
        for outcome, payload, headers in own.iter_rows():
            if outcome != "delivered":
                break
            size += payload - headers
        found[frame] = size
    return found


@pytest.mark.real_time
@pytest.mark.skipif(capable() is not None, reason=f"no emulated world here: {capable()}")
@pytest.mark.parametrize("transport", ["udp", "ts", "ts+rtp"])
def test_it_is_so_over_the_kernels_sockets(
    transport: str,
    films: dict[str, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    assert check_handed_on(run_of(films["h264"], tmp_path / "run", "emulated", transport), "h264").height > 5


@pytest.mark.parametrize("transport", ["tcp", "rtp+tcp", "ts+tcp", "http+fmp4", "rtsp"])
def test_where_no_frame_is_damaged_alone_there_is_no_such_key(transport: str) -> None:
    with pytest.raises(InputError, match=r"damaged: means nothing .* a reliable stream brings all of it or ends"):
        framewire.load(f'[[flow]]\ntransport = "{transport}"\ndamaged = "pass"\n')


def test_it_is_written_where_it_is_not_the_default() -> None:
    flow = '[[flow]]\ntransport = "udp"\n'
    assert "damaged" not in framewire.load(flow).toml
    passing = framewire.load(f'{flow}damaged = "pass"\n')
    assert 'damaged = "pass"' in passing.toml and passing.flows[0].damaged == "pass"
    with pytest.raises(InputError, match="one of discard, pass"):
        framewire.load(f'{flow}damaged = "hide"\n')
