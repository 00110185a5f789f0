//! Runs as text, and the text held against what was written down.

use std::fmt::Write as _;
use std::path::Path;

use framewire_recording::ledger::{FrameRow, Ledger};
use framewire_scenario::Scenario;
use framewire_sim::{Cell, Simulated};
use framewire_units::Timestamp;

/// Appends the summaries of a run and the hashes of its tables.
pub fn describe(text: &mut String, name: &str, cell: &Cell) {
    writeln!(text, "{name}: {:.9} s simulated", cell.report.simulated_s).unwrap();
    for summary in &cell.report.summaries {
        if summary.fates.is_none() {
            let rate = summary.packet_throughput_bps.unwrap_or_default() / 1e6;
            writeln!(text, "  {:<18} {:>8} {rate:>8.6} Mbit/s  {:?}", summary.flow, summary.status, summary.connection)
                .unwrap();
            continue;
        }
        if let Some(levels) = summary.levels {
            writeln!(text, "  {:<18} level {:.6}, {} switches", summary.flow, levels.mean.unwrap(), levels.switches)
                .unwrap();
        }
        let (fates, lost) = (summary.fates.unwrap(), summary.types.unwrap());
        writeln!(
            text,
            "  {:<18} {:>8} shown {:>3} late {:>3} undecodable {:>3} lost {:>2}/{:>2}/{:>3}  {:>7.3} s  {:>9.3} ms",
            summary.flow,
            summary.status,
            fates.shown,
            fates.late,
            fates.undecodable,
            lost.lost_i,
            lost.lost_p,
            lost.lost_b,
            summary.duration_s.unwrap_or_default(),
            summary.latency_ms.unwrap_or_default()[1],
        )
        .unwrap();
    }
    let hashes = cell.hashes;
    writeln!(text, "  frames {}  flows {}", hashes.frames, hashes.flows.unwrap()).unwrap();
    writeln!(text, "  summary {}  packets {}", hashes.summary, hashes.packets.unwrap()).unwrap();
}

/// Appends the table of frames: times in microseconds, latency and jitter in microseconds, a dash where there is none.
pub fn describe_frames(text: &mut String, scenario: &Scenario, simulated: &Simulated) {
    let playout = scenario.playout;
    writeln!(text, "frame type bytes due queued first_byte last_byte arrival latency jitter lost/packets fate cause")
        .unwrap();
    for log in &simulated.logs {
        let ledger = Ledger::build(log, playout);
        writeln!(text, "{}", ledger.flow).unwrap();
        for row in &ledger.rows {
            describe_frame(text, &row);
        }
    }
}

fn describe_frame(text: &mut String, row: &FrameRow) {
    let micros = |at: Option<Timestamp>| or_dash(at.map(|at| at.as_nanos() / 1_000));
    let cause = row.root_cause.as_ref().map(|cause| format!("{} {}", cause.place.name(), cause.cause));
    writeln!(
        text,
        "{:>3} {} {:>6} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>3}/{:<3} {} {}",
        row.frame,
        row.kind,
        row.size,
        micros(Some(row.due)),
        micros(row.queued),
        micros(row.first_byte),
        micros(row.last_byte),
        micros(row.arrival),
        or_dash(row.latency_nanos.map(|nanos| nanos / 1_000)),
        or_dash(row.jitter_nanos.map(|nanos| nanos / 1_000)),
        or_dash(row.packets_lost),
        or_dash(row.packets),
        row.fate.name(),
        or_dash(cause),
    )
    .unwrap();
}

fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Compares with the snapshot of this name, or writes it where that is asked for.
pub fn hold(name: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("FRAMEWIRE_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let then = std::fs::read_to_string(&path).unwrap_or_default();
    for (line, (now, then)) in now.lines().zip(then.lines().chain(std::iter::repeat(""))).enumerate() {
        assert_eq!(now, then, "line {} of {}", line + 1, path.display());
    }
    assert_eq!(now.lines().count(), then.lines().count());
}
