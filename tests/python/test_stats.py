"""The thesis' quantities against values worked out by hand, against its own tables, and against the summary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from framewire import stats
from framewire.results import RunDirectory

RUN = RunDirectory(Path(__file__).parents[1] / "golden" / "format-1")
MS = 1_000_000
LEDGER = {"root_cause_place": pl.String, "root_cause": pl.String, "jitter_ns": pl.Int64, "offered_ns": pl.Int64}


def ledger(*rows: dict[str, Any]) -> pl.DataFrame:
    """Ledger rows that are shown I frames of 1,000 bytes unless they say something else."""
    usual: dict[str, Any] = {
        "flow": "udp", "type": "I", "size": 1000, "due_ns": 0, "arrival_ns": 0, "latency_ns": 0, "jitter_ns": None,
        "complete": True, "fate": "shown", "root_cause_place": None, "offered_ns": None, "root_cause": None,
    }  # fmt: skip
    filled = [usual | {"frame": number} | row for number, row in enumerate(rows)]
    return pl.DataFrame(filled, schema_overrides=LEDGER)


def packet(number: int, hop: str, finished_ms: int, **more: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "flow": "udp", "packet": number, "direction": "forward", "hop": hop, "finished_ns": finished_ms * MS,
        "enqueued_ns": (finished_ms - 1) * MS, "payload": 1000, "outcome": "delivered", "transmissions": 1,
        "sniffed": None,
    }  # fmt: skip
    return usual | more


def test_frame_throughput_counts_complete_frames_in_the_second_of_their_arrival() -> None:
    frames = ledger(
        {"arrival_ns": 0}, {"arrival_ns": 999 * MS}, {"arrival_ns": 2_000 * MS, "size": 500},
        {"arrival_ns": None, "complete": False, "fate": "lost"},
        {"flow": "tcp", "arrival_ns": 1_500 * MS},
    )  # fmt: skip
    assert stats.frame_throughput(frames).rows() == [
        ("udp", 0.0, 16_000.0), ("udp", 1.0, 0.0), ("udp", 2.0, 4_000.0), ("tcp", 0.0, 0.0), ("tcp", 1.0, 8_000.0),
    ]  # fmt: skip
    assert stats.frame_throughput(frames, 0.5).filter(pl.col("flow") == "udp")["bps"].to_list() == [
        16_000.0, 16_000.0, 0.0, 0.0, 8_000.0,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="window_s is 0"):
        stats.frame_throughput(frames, 0)


def test_packet_throughput_counts_what_the_last_hop_delivered() -> None:
    packets = pl.DataFrame(
        [
            packet(1, "sender-device", 10), packet(1, "wire", 11),
            packet(2, "sender-device", 20), packet(2, "wire", 21, outcome="dropped"),
            packet(3, "sender-device", 30, outcome="dropped"),
            packet(4, "sender-device", 990), packet(4, "wire", 1_001, payload=500),
            packet(5, "sender-device", 1_100),  # still on its way when the run ended
            packet(6, "wire", 1_200, direction="backward"),
            packet(7, "sender-device", 1_300), packet(7, "wire", 1_301),
        ]
    )  # fmt: skip
    assert stats.packet_throughput(packets).rows() == [("udp", 0.0, 8_000.0), ("udp", 1.0, 12_000.0)]


def test_gaps_between_packets_are_those_of_each_end() -> None:
    hops = [
        ("udp", 0, "sender-device", "delivered", 0, 1, 1500), ("udp", 0, "wire", "delivered", 1, 10, 1500),
        ("udp", 1, "sender-device", "dropped", 2, 2, 700),
        ("udp", 2, "sender-device", "delivered", 5, 6, 900), ("udp", 2, "wire", "delivered", 6, 40, 900),
        ("udp", 3, "sender-device", "delivered", 6, 7, 900), ("udp", 3, "wire", "delivered", 7, 30, 900),
        ("tcp", 4, "sender-device", "delivered", 9, 9, 40), ("tcp", 4, "wire", "delivered", 9, 11, 40),
    ]  # fmt: skip
    names = ("flow", "packet", "hop", "outcome", "enqueued_ns", "finished_ns", "size")
    rows = [dict(zip(names, hop, strict=True)) | {"direction": "forward"} for hop in hops]
    back = rows[0] | {"direction": "backward", "enqueued_ns": 3}
    gaps = stats.packet_gaps(pl.DataFrame([*rows, back]))
    nanoseconds = (pl.col("gap_ms") * 1e6).round().cast(pl.Int64)
    assert gaps.filter(pl.col("flow") == "udp").select("end", "size", nanoseconds).rows() == [
        ("sender", 1500, None), ("sender", 700, 2), ("sender", 900, 3), ("sender", 900, 1),
        ("receiver", 1500, None), ("receiver", 900, 20), ("receiver", 900, 10),
    ]  # fmt: skip
    assert gaps.filter(pl.col("flow") == "tcp")["at_s"].to_list() == pytest.approx([9e-9, 11e-9])


@pytest.mark.parametrize("full", ["sender-device", "wire"])
def test_packet_throughput_bears_a_hop_that_drops_most(full: str) -> None:
    """Three of five packets are dropped at the first hop, or at the last."""
    rows: list[dict[str, Any]] = []
    for number in range(100):
        dropped = number % 5 < 3
        if full == "sender-device":
            rows.append(packet(number, "sender-device", number, outcome="dropped" if dropped else "delivered"))
            rows += [] if dropped else [packet(number, "wire", number + 1)]
        else:
            rows.append(packet(number, "sender-device", number))
            rows.append(packet(number, "wire", number + 1, outcome="dropped" if dropped else "delivered"))
    assert stats.packet_throughput(pl.DataFrame(rows)).rows() == [("udp", 0.0, 40 * 8_000.0)]


def test_packet_throughput_counts_nothing_where_the_last_hop_delivered_nothing() -> None:
    rows = [packet(1, "sender-device", 1), packet(1, "wire", 2, outcome="dropped"), packet(2, "sender-device", 3)]
    assert stats.packet_throughput(pl.DataFrame(rows)).height == 0


def test_packet_throughput_is_what_the_network_brought_where_the_summary_is_what_was_read() -> None:
    twice = [packet(number, hop, number, sequence=0) for number in (1, 2) for hop in ("sender-device", "wire")]
    assert stats.packet_throughput(pl.DataFrame(twice)).rows() == [("udp", 0.0, 16_000.0)]


def test_loss_by_type_and_place_have_a_row_for_each_also_without_losses() -> None:
    lost = {"arrival_ns": None, "complete": False, "fate": "lost"}
    frames = ledger(
        {}, {"type": "P"}, {"type": "P", **lost, "root_cause_place": "link"}, {"type": "B", "fate": "undecodable",
        "root_cause_place": "link"}, {"flow": "tcp"},
    )  # fmt: skip
    assert stats.loss_by_type(frames).rows() == [
        ("udp", "I", 1, 0, 0.0), ("udp", "P", 2, 1, 0.5), ("udp", "B", 1, 0, 0.0),
        ("tcp", "I", 1, 0, 0.0), ("tcp", "P", 0, 0, None), ("tcp", "B", 0, 0, None),
    ]  # fmt: skip
    places = stats.loss_by_place(frames)
    assert places.height == 10
    assert places.filter(pl.col("lost") > 0).rows() == [("udp", "link", 1, 0.25, 1, 0.25)]
    assert places.filter((pl.col("lost") == 0) & (pl.col("undecodable") > 0)).is_empty()


def test_shares_are_of_the_frames_that_were_offered() -> None:
    lost = {"arrival_ns": None, "complete": False, "fate": "lost", "root_cause_place": "sender-pipeline"}
    left = {"arrival_ns": None, "complete": False, "fate": "not offered"}
    frames = ledger({}, {"type": "B"}, {"type": "B", **lost, "root_cause": "ifd"}, {"type": "B", **left}, left)
    assert frames.filter(stats.offered())["frame"].to_list() == [0, 1, 2]
    assert stats.loss_by_type(frames).rows() == [("udp", "I", 1, 0, 0.0), ("udp", "P", 0, 0, None),
                                                 ("udp", "B", 2, 1, 0.5)]  # fmt: skip
    [place] = stats.loss_by_place(frames).filter(pl.col("lost") > 0).rows()
    assert place == ("udp", "sender-pipeline", 1, pytest.approx(1 / 3), 0, 0.0)


def test_loss_run_shares_are_those_of_the_thesis() -> None:
    # Table 3.12, 3 Mbit/s, retry value 1, no microwave: 454 packets in 449 runs, 98.9 % of one and 1.1 % of two.
    # Table 3.12, same with the microwave: 529 packets in 509 runs: 97.1, 2.6, 0.0, 0.2 and 0.2 %.
    thesis = [("no", (444, 5, 0, 0, 0, 0), 454), ("yes", (494, 13, 0, 1, 1, 0), 529)]
    columns = ["flow", *(f"runs_{suffix}" for suffix in stats.RUN_CLASSES.values())]
    summary = pl.DataFrame([(flow, *runs) for flow, runs, _ in thesis], schema=columns, orient="row")
    shares = stats.loss_runs(summary)
    percent = {
        flow: [round(share * 100, 1) for share in shares.filter(pl.col("flow") == flow)["share"]]
        for flow in ("no", "yes")
    }
    assert percent == {"no": [98.9, 1.1, 0.0, 0.0, 0.0, 0.0], "yes": [97.1, 2.6, 0.0, 0.2, 0.2, 0.0]}
    assert shares.filter(pl.col("flow") == "no")["runs"].sum() == 449


def test_flows_without_packets_have_no_packet_runs_and_no_runs_have_no_shares() -> None:
    runs = stats.loss_runs(RUN.summary)
    assert set(runs["flow"]) == {"udp-blocking", "udp", "udp-whole", "udp+ifd"}
    of_frames = stats.loss_runs(RUN.summary, "frames").filter(pl.col("flow") == "tcp")
    assert (of_frames["runs"].sum(), of_frames["share"].null_count()) == (0, 6)


def test_delays_are_in_order_of_arrival() -> None:
    frames = ledger(
        {"due_ns": 0, "arrival_ns": 50 * MS, "latency_ns": 50 * MS, "jitter_ns": MS},
        {"due_ns": 40 * MS, "arrival_ns": 45 * MS, "latency_ns": 5 * MS},
        {"arrival_ns": None, "latency_ns": None, "complete": False, "fate": "lost"},
    )
    series = stats.delays(frames)
    assert series["frame"].to_list() == [1, 0]
    assert series.row(1, named=True) == {
        "flow": "udp", "frame": 0, "type": "I", "due_s": 0.0, "arrival_s": 0.05, "latency_ms": 50.0, "jitter_ms": 1.0,
    }  # fmt: skip
    assert stats.size_and_latency(frames).select("size", "latency_ms").rows() == [(1000, 50.0), (1000, 5.0)]


def test_a_viewers_seconds_count_frames_where_they_are_due_and_packets_where_they_come() -> None:
    second = 1000 * MS
    frames = ledger(
        {"arrival_ns": 100 * MS, "deadline_ns": second},
        {"arrival_ns": 200 * MS, "deadline_ns": 2 * second, "fate": "late"},
        {"arrival_ns": None, "complete": False, "deadline_ns": 2 * second + 1, "fate": "lost"},
        {"arrival_ns": 3 * second, "deadline_ns": 4 * second, "fate": "undecodable"},
        {"arrival_ns": None, "complete": False, "deadline_ns": 5 * second, "fate": "not offered"},
    )
    # 0 and 1 come, 2 and 3 are lost, 5 overtakes 4, 6 comes twice, 7 is refused by the first of two hops.
    rows = [(0, 10), (1, 20), (4, 1050), (5, 1040), (6, 1060), (6, 1070), (8, 1080)]
    packets = [
        packet(number, hop, at, sequence=sequence, protocol="udp")
        for number, (sequence, at) in enumerate(rows)
        for hop in ("sender-device", "wire")
    ]
    packets.append(packet(9, "sender-device", 1075, sequence=7, protocol="udp", outcome="dropped"))
    found = stats.viewer_seconds(frames, pl.DataFrame(packets))
    assert found.drop("flow").rows() == [
        (0.0, 16_000.0, 0, 0, 0, 0, 0),
        (1.0, 0.0, 1, 0, 0, 0, 2),
        (2.0, 0.0, 0, 1, 0, 1, 0),
        (3.0, 8_000.0, 0, 0, 0, 0, 0),
        (4.0, 0.0, 0, 0, 1, 0, 0),
    ]
    assert stats.viewer_seconds(frames)["discontinuities"].null_count() == 5
    of_tcp = pl.DataFrame([row | {"protocol": "tcp"} for row in packets])
    assert stats.viewer_seconds(frames, of_tcp)["discontinuities"].null_count() == 5


def discontinuities(sequences: list[int], lost: set[int], *, by_clock: bool = False) -> int:
    rows = [
        packet(at, "wire", at, sequence=one, protocol="udp", outcome="dropped" if one in lost else "delivered")
        for at, one in enumerate(sequences)
    ]
    frames = ledger({"arrival_ns": 100 * MS, "deadline_ns": MS})
    clocked = ["udp"] if by_clock else []
    return stats.viewer_seconds(frames, pl.DataFrame(rows), by_clock=clocked)["discontinuities"].sum()


def test_sound_with_numbers_of_its_own_hides_no_gap_of_the_video() -> None:
    sound = [stats.FIRST_OF_SOUND + number for number in range(6)]
    both = [number for pair in zip(range(6), sound, strict=True) for number in pair]
    assert discontinuities(both, set()) == 0
    assert discontinuities(both, {2}) == 1
    assert discontinuities(both, {2, 4, sound[3]}) == 3


def test_clock_references_of_a_transport_stream_count_in_their_order() -> None:
    ticks = [0, 1, 1_700, 9_000, 9_001, 20_000]
    assert discontinuities(ticks, set(), by_clock=True) == 0
    assert discontinuities(ticks, {1_700, 9_000}, by_clock=True) == 1
    assert discontinuities(ticks, {1, 9_001}, by_clock=True) == 2
    assert discontinuities(ticks, set()) == 3, "as numbers, some are missing"


def test_a_player_that_waits_has_frames_in_the_seconds_in_which_they_were_due() -> None:
    frames = ledger({"due_ns": 1500 * MS, "deadline_ns": None}, {"due_ns": 0, "deadline_ns": None, "fate": "lost"})
    found = stats.viewer_seconds(frames.with_columns(pl.col("deadline_ns").cast(pl.Int64)))
    assert found.select("at_s", "shown", "lost").rows() == [(0.0, 0, 1), (1.0, 1, 0)]


def test_the_seconds_of_a_run_sum_to_its_fates() -> None:
    sums = stats.viewer_seconds(RUN.frames, RUN.packets).group_by("flow").agg(pl.col(*stats.OF_OFFERED).sum())
    of_summary = RUN.summary.select("flow", *stats.OF_OFFERED)
    assert sums.sort("flow").rows() == of_summary.sort("flow").rows()


def test_percentiles_are_by_nearest_rank() -> None:
    values = [15, 20, 35, 40, 50]
    assert [stats.percentile(values, percent) for percent in (5, 30, 40, 50, 100)] == [15, 20, 20, 35, 50]
    assert stats.percentile([], 50) is None
    for percent in (0, 101):
        with pytest.raises(ValueError, match=f"percent is {percent}"):
            stats.percentile(values, percent)


def test_transmissions_are_counted_as_sent_and_as_captured() -> None:
    packets = pl.DataFrame(
        [
            packet(1, "sender-device", 1, sniffed=1), packet(1, "wire", 2),
            packet(2, "sender-device", 3, transmissions=2, sniffed=1), packet(3, "sender-device", 4, sniffed=0),
            packet(4, "sender-device", 5, transmissions=6, sniffed=4),
            packet(5, "sender-device", 6, transmissions=0, sniffed=0, outcome="dropped"),
            packet(6, "sender-device", 7, direction="backward", transmissions=9, sniffed=9),
        ]
    )  # fmt: skip
    assert stats.transmissions(packets).rows() == [("udp", 1, 2, 0.5), ("udp", 2, 1, 0.25), ("udp", 6, 1, 0.25)]
    assert stats.transmissions(packets, "sniffer").select("transmissions", "packets").rows() == [(1, 2), (4, 1)]
    assert stats.transmissions(packets.with_columns(sniffed=pl.lit(None, pl.Int32)), "sniffer").height == 0


def test_transmissions_behind_a_wire_are_those_of_the_access_point() -> None:
    packets = pl.DataFrame(
        [
            packet(1, "wire", 1), packet(1, "access-point", 2, transmissions=3, sniffed=2),
            packet(2, "wire", 3, outcome="dropped"),
            packet(3, "sender-device", 4, direction="backward", transmissions=9),
        ]
    )  # fmt: skip
    assert stats.transmissions(packets).rows() == [("udp", 3, 1, 1.0)]
    assert stats.transmissions(packets, "sniffer").rows() == [("udp", 2, 1, 1.0)]


def test_what_is_worked_out_here_agrees_with_the_summary() -> None:
    """Of a run of format 1, whose rates were over the duration; now the time of the first frame is in them."""
    throughput = stats.frame_throughput(RUN.frames)
    by_type, by_place = stats.loss_by_type(RUN.frames), stats.loss_by_place(RUN.frames)
    latencies = stats.percentiles(RUN.frames)
    sent, sniffed = stats.transmissions(RUN.packets), stats.transmissions(RUN.packets, "sniffer")
    received = stats.packet_throughput(RUN.packets)
    for row in RUN.summary.iter_rows(named=True):
        own = pl.col("flow") == row["flow"]
        bits = row["frame_throughput_bps"] * row["duration_s"]
        assert throughput.filter(own)["bps"].sum() == pytest.approx(bits)
        assert received.filter(own)["bps"].sum() == pytest.approx(row["packet_throughput_bps"] * row["duration_s"])
        assert by_type.filter(own)["lost"].to_list() == [row["lost_i"], row["lost_p"], row["lost_b"]]
        places = [row[f"lost_{place.replace('-', '_')}"] for place in stats.PLACES]
        assert by_place.filter(own)["lost"].to_list() == places
        expected = [row[f"latency_{name}_ms"] for name in ("p50", "p95", "p99", "max")]
        assert latencies.filter(own)["latency_ms"].to_list() == pytest.approx(expected)
        shares = dict(sent.filter(own).select("transmissions", "share").iter_rows())
        assert [shares.get(count, 0.0) for count in (1, 2, 3, 4)] == pytest.approx(
            [row[f"tx_{count}"] for count in (1, 2, 3, 4)]
        )
        assert sniffed.filter(own)["packets"].sum() == row["sniffed_unique"]


def test_results_keep_the_order_of_the_flows() -> None:
    flows = RUN.summary["flow"].to_list()
    for table in (
        stats.frame_throughput(RUN.frames),
        stats.packet_throughput(RUN.packets),
        stats.loss_by_type(RUN.frames),
        stats.loss_by_place(RUN.frames),
        stats.loss_runs(RUN.summary, "frames"),
        stats.delays(RUN.frames),
        stats.percentiles(RUN.frames),
        stats.size_and_latency(RUN.frames),
        stats.transmissions(RUN.packets),
        stats.viewer_seconds(RUN.frames, RUN.packets),
    ):
        assert table["flow"].unique(maintain_order=True).to_list() == flows


def test_empty_tables_give_empty_answers() -> None:
    frames, packets, summary = RUN.frames.clear(), RUN.packets.clear(), RUN.summary.clear()
    for table in (
        stats.frame_throughput(frames),
        stats.packet_throughput(packets),
        stats.loss_by_type(frames),
        stats.loss_by_place(frames),
        stats.loss_runs(summary),
        stats.delays(frames),
        stats.percentiles(frames),
        stats.size_and_latency(frames),
        stats.transmissions(packets),
        stats.viewer_seconds(frames, packets),
        stats.viewer_seconds(frames),
    ):
        assert table.height == 0


def test_the_protocol_of_a_flow_is_that_of_most_of_its_bytes() -> None:
    rows = [
        ("rtsp", "forward", "tcp", 300), ("rtsp", "forward", "udp", 1400), ("rtsp", "backward", "tcp", 9000),
        ("mute", "forward", "tcp", 0), ("plain", "forward", "tcp", 1448), ("plain", "forward", "udp", 40),
    ]  # fmt: skip
    packets = pl.DataFrame(rows, schema=["flow", "direction", "protocol", "payload"], orient="row")
    assert stats.main_protocols(packets) == {"rtsp": "udp", "mute": "tcp", "plain": "tcp"}
    assert stats.main_protocols(pl.DataFrame()) == {}


def test_packet_throughput_asks_nothing_of_the_order_of_rows() -> None:
    random = np.random.default_rng(3)
    rows = []
    for flow in ("a", "b"):
        for packet in range(400):
            at, hops = packet * 11_000_000, ("sender-device", "wire")[: 2 if packet % 7 else 1]
            for place, hop in enumerate(hops):
                lost = packet % 7 == 0 or (place == 1 and packet % 5 == 0)
                # Some are on both hops at one time: then the later enqueued is the last.
                took = 0 if packet % 3 == 0 and place == 1 else 1_000_000
                rows.append(
                    (flow, packet, "forward", hop, at, at + took, 1000 + packet, "dropped" if lost else "delivered")
                )
                at += took
        rows.append((flow, 0, "backward", "wire", 0, 10**12, 60, "delivered"))
    names = ("flow", "packet", "direction", "hop", "enqueued_ns", "finished_ns", "payload", "outcome")
    table = pl.DataFrame(rows, schema=names, orient="row")
    found = stats.packet_throughput(table)
    brought = {flow: sum(1000 + packet for packet in range(400) if packet % 7 and packet % 5) for flow in ("a", "b")}
    assert found.group_by("flow").agg((pl.col("bps").sum() / 8).cast(pl.Int64)).sort("flow").rows() == [
        *brought.items()
    ]
    for _ in range(3):
        shuffled = table[random.permutation(table.height)]
        assert stats.packet_throughput(shuffled).sort("flow", "at_s").equals(found.sort("flow", "at_s"))
    assert stats.packet_throughput(table[:0]).is_empty()
