//! `summary.parquet`: one row per flow.

use super::table::Table;
use crate::summary::Summary;

/// Columns of the packet loss runs, in the order of [`crate::summary::LossRuns`].
const PACKET_RUNS: [&str; 6] = ["runs_1", "runs_2", "runs_3", "runs_4", "runs_5_10", "runs_over_10"];

/// Columns of the frame loss runs, in the same order.
const FRAME_RUNS: [&str; 6] =
    ["frame_runs_1", "frame_runs_2", "frame_runs_3", "frame_runs_4", "frame_runs_5_10", "frame_runs_over_10"];

/// Columns of the latencies, in the order of [`Summary::latency_ms`].
const LATENCIES: [&str; 4] = ["latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_max_ms"];

/// Columns of the jitter, in the order of [`Summary::jitter_ms`].
const JITTERS: [&str; 2] = ["jitter_mean_ms", "jitter_max_ms"];

/// Columns of the transmissions per packet, in the order of [`crate::summary::AirShares`].
const TRANSMISSIONS: [&str; 5] = ["tx_1", "tx_2", "tx_3", "tx_4", "tx_5_up"];

/// The same as the sniffer saw it.
const SNIFFED: [&str; 5] = ["sniffed_tx_1", "sniffed_tx_2", "sniffed_tx_3", "sniffed_tx_4", "sniffed_tx_5_up"];

/// The summary: one row per flow.
pub fn summary() -> Table<Summary> {
    let table = Table::named("summary")
        .text("flow", |s: &Summary| s.flow.as_str().into())
        .text("transport", |s| s.transport.as_str().into())
        .text("status", |s| s.status.into())
        .int64("movie_bitrate_bps", |s| s.movie_bitrate_bps)
        .int32("frames", |s| s.frames);
    sound(air(connection(delays(runs(throughput(losses(table)))))))
}

fn losses(table: Table<Summary>) -> Table<Summary> {
    table
        .int32("shown", |s| s.fates.map(|count| count.shown))
        .int32("late", |s| s.fates.map(|count| count.late))
        .int32("undecodable", |s| s.fates.map(|count| count.undecodable))
        .int32("lost", |s| s.fates.map(|count| count.lost))
        .int32_since("not_offered", 0, |s| s.fates.map(|count| count.not_offered))
        .int32("offered", |s| s.fates.map(|count| count.offered()))
        .following()
        .int32("frames_i", |s| s.types.map(|count| count.frames_i))
        .int32("frames_p", |s| s.types.map(|count| count.frames_p))
        .int32("frames_b", |s| s.types.map(|count| count.frames_b))
        .int32("offered_i", |s| s.types.map(|count| count.offered_i))
        .following()
        .int32("offered_p", |s| s.types.map(|count| count.offered_p))
        .following()
        .int32("offered_b", |s| s.types.map(|count| count.offered_b))
        .following()
        .int32("lost_i", |s| s.types.map(|count| count.lost_i))
        .int32("lost_p", |s| s.types.map(|count| count.lost_p))
        .int32("lost_b", |s| s.types.map(|count| count.lost_b))
        .int32("lost_sender_pipeline", |s| s.places.map(|count| count.sender_pipeline))
        .int32("lost_sender_socket", |s| s.places.map(|count| count.sender_socket))
        .int32("lost_link", |s| s.places.map(|count| count.link))
        .int32("lost_intermediate_queue", |s| s.places.map(|count| count.intermediate_queue))
        .int32("lost_receiver_pipeline", |s| s.places.map(|count| count.receiver_pipeline))
}

fn throughput(table: Table<Summary>) -> Table<Summary> {
    table
        .double("duration_s", |s| s.duration_s)
        .double("frame_throughput_bps", |s| s.frame_throughput_bps)
        .double("packet_throughput_bps", |s| s.packet_throughput_bps)
        .int32("packets_sent", |s| s.packets_sent)
        .int32("packets_lost", |s| s.packets_lost)
}

fn runs(table: Table<Summary>) -> Table<Summary> {
    let table = numbered(table, PACKET_RUNS, |table, name, class| {
        table.int32(name, move |s| s.packet_runs.map(|runs| runs.counts[class]))
    });
    numbered(table, FRAME_RUNS, |table, name, class| {
        table.int32(name, move |s| s.frame_runs.map(|runs| runs.counts[class]))
    })
}

fn delays(table: Table<Summary>) -> Table<Summary> {
    let table = numbered(table, LATENCIES, |table, name, rank| {
        table.double(name, move |s| s.latency_ms.map(|latencies| latencies[rank]))
    });
    numbered(table, JITTERS, |table, name, rank| table.double(name, move |s| s.jitter_ms.map(|jitters| jitters[rank])))
        .int32("stalls", |s| s.stalls.map(|stalls| stalls.stalls))
        .double("stalled_s", |s| s.stalls.map(|stalls| stalls.stalled_s))
        .int64("shed_bytes", |s| s.shed_bytes)
        .int64("wasted_bytes", |s| s.wasted_bytes)
        .int64("useless_bytes", |s| s.useless_bytes)
        .double("level_mean", |s| s.levels.and_then(|levels| levels.mean))
        .int32("level_switches", |s| s.levels.map(|levels| levels.switches))
}

fn connection(table: Table<Summary>) -> Table<Summary> {
    table
        .int32("retransmissions", |s| s.connection.retransmissions)
        .int32("timeouts", |s| s.connection.timeouts)
        .double("srtt_mean_ms", |s| s.connection.srtt_mean_ms)
}

fn air(table: Table<Summary>) -> Table<Summary> {
    let table = table.double("transmissions_mean", |s| s.transmissions.map(|sent| sent.mean));
    let table = numbered(table, TRANSMISSIONS, |table, name, class| {
        table.double(name, move |s| s.transmissions.map(|sent| sent.shares[class]))
    });
    numbered(table, SNIFFED, |table, name, class| {
        table.double(name, move |s| s.sniffed.and_then(|sniffed| Some(sniffed.shares?[class])))
    })
    .int64("sniffed_unique", |s| s.sniffed.map(|sniffed| sniffed.unique))
    .int64("sniffed_total", |s| s.sniffed.map(|sniffed| sniffed.total))
}

/// What older tables are without, and what is null where no sound was sent.
fn sound(table: Table<Summary>) -> Table<Summary> {
    table
        .int32_since("sound_shown", 0, |s| s.sound.map(|sound| sound.fates.shown))
        .int32_since("sound_late", 0, |s| s.sound.map(|sound| sound.fates.late))
        .int32_since("sound_lost", 0, |s| s.sound.map(|sound| sound.fates.lost))
        .int32_since("sound_not_offered", 0, |s| s.sound.map(|sound| sound.fates.not_offered))
        .double("sound_wait_max_ms", |s| s.sound.and_then(|sound| sound.longest_wait_ms))
        .following()
}

/// Adds one column per name, made with the name's number.
fn numbered<const N: usize>(
    table: Table<Summary>,
    names: [&'static str; N],
    add: impl Fn(Table<Summary>, &'static str, usize) -> Table<Summary>,
) -> Table<Summary> {
    names.into_iter().enumerate().fold(table, |table, (number, name)| add(table, name, number))
}
