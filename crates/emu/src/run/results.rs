//! The run directory: tables, run.json.

use std::path::Path;
use std::time::Duration;

use framewire_emu::{Accuracy, Clock, Evidence, LaneRecord};
use framewire_media::Movie;
use framewire_probe::record::{FlowLog, FlowSample, FlowStatus, Playout, PlayoutPolicy};
use framewire_probe::tables::FORMAT_VERSION;
use framewire_probe::write_run;
use framewire_scenario::{self as scenario, Scenario};
use framewire_session::{FlowSetup, ReceiverLog, SenderLog};
use framewire_units::Timestamp;
use serde_json::{Value, json};

use super::events::{Event, emit};
use super::failure::Failure;
use super::packets::FlowPackets;
use super::plan::Plan;
use super::port;

/// What one flow recorded.
pub struct FlowOutcome {
    /// The sender's log.
    pub sent: SenderLog,
    /// Samples of the flow's state.
    pub samples: Vec<FlowSample>,
    /// The receiver's log.
    pub received: ReceiverLog,
    /// How it ended.
    pub status: FlowStatus,
}

/// What the run recorded.
pub struct RunOutcome<'a> {
    /// Flow by flow, in the order of the scenario.
    pub flows: Vec<FlowOutcome>,
    /// Lane by lane.
    pub lanes: Vec<LaneRecord>,
    /// The run's clock.
    pub clock: Clock,
    /// What was sent.
    pub movie: &'a Movie,
    /// A signal ended it.
    pub interrupted: bool,
    /// The time limit ended it.
    pub limit_hit: bool,
}

/// Writes the run directory and says so.
///
/// # Errors
/// When a file cannot be written; the error names it.
pub fn write(plan: &Plan, groups: &[Vec<usize>], setups: &[FlowSetup], outcome: RunOutcome<'_>) -> Result<(), Failure> {
    let mut packets: Vec<FlowPackets> = Vec::new();
    let sniffed = plan.scenario.network.wifi.as_ref().is_some_and(|wifi| wifi.sniffer.is_some());
    packets.extend((0..setups.len()).map(|flow| FlowPackets::new(port(flow), sniffed)));
    for (group, lane) in groups.iter().zip(&outcome.lanes) {
        for packet in &lane.packets {
            // What belongs to no flow (ICMP, for instance) is shown with the first one, so that nothing is hidden.
            let owner = group.iter().copied().find(|&flow| packets[flow].owns(packet)).unwrap_or(group[0]);
            packets[owner].add(packet);
        }
    }
    let json = run_json(plan, groups, setups, &outcome);
    let status = json["status"].as_str().unwrap_or("partial").to_owned();
    let failures = failures(setups, &outcome.flows);
    let flows = setups.iter().zip(outcome.flows).zip(packets);
    let logs: Vec<FlowLog> = flows.map(|((setup, flow), packets)| flow_log(setup, flow, packets)).collect();
    write_run(&plan.directory, &logs, playout(&plan.scenario.playout))?;
    write_text(&plan.directory.join("scenario.toml"), &plan.scenario.to_toml())?;
    write_text(&plan.directory.join("run.json"), &format!("{json:#}\n"))?;
    emit(&Event::Finished { directory: &plan.directory.to_string_lossy(), status: &status, failures: &failures });
    Ok(())
}

fn flow_log(setup: &FlowSetup, flow: FlowOutcome, packets: FlowPackets) -> FlowLog {
    FlowLog {
        flow: setup.name().to_owned(),
        transport: setup.kind().to_string(),
        status: flow.status,
        frames: setup.plan().facts(),
        frame_events: flow.sent.frame_events,
        datagrams_sent: flow.sent.datagrams,
        datagrams_received: flow.received.datagrams,
        stream_reads: flow.received.reads,
        packets: packets.records,
        samples: flow.samples,
        releases: packets.releases,
    }
}

fn playout(playout: &scenario::Playout) -> Playout {
    let policy = match playout.policy {
        scenario::PlayoutPolicy::Live => PlayoutPolicy::Live,
        scenario::PlayoutPolicy::Stall => PlayoutPolicy::Stall,
    };
    Playout { policy, startup: playout.startup }
}

fn write_text(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::run(format!("{}: cannot be written: {error}", path.display())))
}

fn failures(setups: &[FlowSetup], flows: &[FlowOutcome]) -> Vec<String> {
    let failed = setups.iter().zip(flows).filter_map(|(setup, flow)| match &flow.status {
        FlowStatus::Failed(reason) => Some(format!("flow {}: {reason}", setup.name())),
        FlowStatus::Complete | FlowStatus::Partial => None,
    });
    failed.collect()
}

fn run_json(plan: &Plan, groups: &[Vec<usize>], setups: &[FlowSetup], outcome: &RunOutcome<'_>) -> Value {
    let complete = outcome.flows.iter().all(|flow| flow.status == FlowStatus::Complete);
    let ended_by = match (outcome.interrupted, outcome.limit_hit) {
        (true, _) => Some("interrupted"),
        (false, true) => Some("time limit"),
        (false, false) => None,
    };
    let flows: Vec<Value> = setups.iter().zip(&outcome.flows).map(|(setup, flow)| flow_json(setup, flow)).collect();
    let mut accuracy = serde_json::Map::new();
    for (group, lane) in groups.iter().zip(&outcome.lanes) {
        for &flow in group {
            accuracy.insert(setups[flow].name().to_owned(), accuracy_json(&lane.accuracy, &lane.evidence, lane));
        }
    }
    json!({
        "format": FORMAT_VERSION,
        "program": "framewire",
        "version": env!("CARGO_PKG_VERSION"),
        "world": "emulated",
        "status": if complete { "complete" } else { "partial" },
        "ended_by": ended_by,
        "origin_utc": utc(outcome.clock.to_unix(Timestamp::ZERO)),
        "seed": plan.scenario.seed,
        "kernel": kernel_json(),
        "movie": movie_json(plan, outcome.movie),
        "interference": interference(&plan.scenario),
        "flows": flows,
        "accuracy": accuracy,
    })
}

fn flow_json(setup: &FlowSetup, flow: &FlowOutcome) -> Value {
    let failure = match &flow.status {
        FlowStatus::Failed(reason) => Some(reason),
        FlowStatus::Complete | FlowStatus::Partial => None,
    };
    json!({
        "name": setup.name(),
        "transport": setup.kind().to_string(),
        "settings": setup.settings(),
        "failure": failure,
        "rejected": flow.received.rejected,
        "rejections": flow.received.rejections,
    })
}

fn accuracy_json(accuracy: &Accuracy, evidence: &Evidence, lane: &LaneRecord) -> Value {
    let micros = |nanos: i64| nanos as f64 / 1e3;
    json!({
        "count": accuracy.release_error.count,
        "p50_us": micros(accuracy.release_error.p50_ns),
        "p99_us": micros(accuracy.release_error.p99_ns),
        "max_us": micros(accuracy.release_error.max_ns),
        "device_p99_us": micros(accuracy.device_release_error.p99_ns),
        "requested_rate_bps": accuracy.forward.rate_requested_bps,
        "achieved_rate_bps": accuracy.forward.rate_achieved_bps,
        "requested_delay_p50_us": micros(accuracy.forward.delay_requested.p50_ns),
        "achieved_delay_p50_us": micros(accuracy.forward.delay_achieved.p50_ns),
        "clamped": accuracy.clamped,
        "device_drops": accuracy.lost_outside_model,
        "crossed_the_link": evidence.forward_seen + evidence.backward_seen,
        "sched": accuracy.scheduling,
        "pump_threads": accuracy.pump_threads,
        "gate": evidence.gate,
        "disturbed": accuracy.disturbed,
        "evidence": evidence,
        "capture": lane.capture,
    })
}

fn movie_json(plan: &Plan, movie: &Movie) -> Value {
    let sequence = &movie.index.sequence;
    let seconds = sequence.frame_rate.time_of(movie.index.frames.len() as u64).as_secs_f64();
    json!({
        "path": plan.movie,
        "bytes": movie.bytes.len(),
        "bitrate": movie.bytes.len() as f64 * 8.0 / seconds,
        "duration_s": seconds,
        "frames": movie.index.frames.len(),
        "width": sequence.width,
        "height": sequence.height,
        "frame_rate": f64::from(sequence.frame_rate.numerator) / f64::from(sequence.frame_rate.denominator),
    })
}

fn interference(scenario: &Scenario) -> Vec<[f64; 2]> {
    let oven = scenario.network.wifi.as_ref().and_then(|wifi| wifi.oven.as_ref());
    let on = oven.map(|oven| oven.on.as_slice()).unwrap_or_default();
    on.iter().map(|interval| [interval.from.as_secs_f64(), interval.to.as_secs_f64()]).collect()
}

/// The kernel, and those of its settings that decide how transports behave.
fn kernel_json() -> Value {
    const SETTINGS: [&str; 8] = [
        "net/core/wmem_default",
        "net/core/wmem_max",
        "net/core/rmem_max",
        "net/ipv4/tcp_wmem",
        "net/ipv4/tcp_rmem",
        "net/ipv4/tcp_limit_output_bytes",
        "net/ipv4/tcp_available_congestion_control",
        "net/ipv4/tcp_congestion_control",
    ];
    let read = |name: &str| std::fs::read_to_string(format!("/proc/sys/{name}")).ok();
    let settings = SETTINGS.iter().filter_map(|name| Some((name.replace('/', "."), json!(read(name)?.trim()))));
    json!({
        "release": read("kernel/osrelease").map(|text| text.trim().to_owned()),
        "settings": settings.collect::<serde_json::Map<_, _>>(),
    })
}

/// A time since 1970 as ISO 8601 in UTC, to the millisecond.
fn utc(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (year, month, day) = civil_date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since_1970.subsec_millis())
}

/// The Gregorian date of a day since 1970-01-01 (years of 146,097 days in 400; March-based months of 153 days in 5).
fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_gregorian() {
        assert_eq!(utc(Duration::ZERO), "1970-01-01T00:00:00.000Z");
        assert_eq!(utc(Duration::from_millis(951_782_400_500)), "2000-02-29T00:00:00.500Z");
        assert_eq!(utc(Duration::from_secs(1_795_219_199)), "2026-11-20T23:59:59.000Z");
    }
}
