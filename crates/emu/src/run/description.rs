//! `run.json`: what was run, on what, how it ended, and the proof of accuracy.

use framewire_emu::LaneRecord;
use framewire_media::Movie;
use framewire_probe::record::FlowStatus;
use framewire_probe::tables::FORMAT_VERSION;
use framewire_scenario::Scenario;
use framewire_session::FlowSetup;
use framewire_units::Timestamp;
use serde_json::{Value, json};

use super::plan::Plan;
use super::results::{FlowOutcome, RunOutcome};
use super::utc::utc;

/// What `run.json` says. `contradictions` has, flow by flow, where the ledger and the receiver disagree.
pub fn run_json(
    plan: &Plan,
    groups: &[Vec<usize>],
    setups: &[FlowSetup],
    outcome: &RunOutcome<'_>,
    contradictions: &[Option<String>],
) -> Value {
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
            let entry = accuracy_json(lane, contradictions[flow].as_deref());
            accuracy.insert(setups[flow].name().to_owned(), entry);
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
        "kernel": outcome.kernel,
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
        "received_frames": flow.received.complete_frames,
        "received_bytes": flow.kept_bytes,
        "rejected": flow.received.rejected,
        "rejections": flow.received.rejections,
    })
}

fn accuracy_json(lane: &LaneRecord, contradiction: Option<&str>) -> Value {
    let (accuracy, evidence) = (&lane.accuracy, &lane.evidence);
    let micros = |nanos: i64| nanos as f64 / 1e3;
    let doubts: Vec<&str> = accuracy.disturbed.as_deref().into_iter().chain(contradiction).collect();
    json!({
        "count": accuracy.release_error.count,
        "p50_us": micros(accuracy.release_error.p50_ns),
        "p99_us": micros(accuracy.release_error.p99_ns),
        "max_us": micros(accuracy.release_error.max_ns),
        "worst_at_s": accuracy.worst_at.map(|at| at.as_secs_f64()),
        "late_over_1ms": accuracy.late,
        "device_p99_us": micros(accuracy.device_release_error.p99_ns),
        "model_rate_bps": accuracy.forward.rate_requested_bps,
        "emulated_rate_bps": accuracy.forward.rate_achieved_bps,
        "model_delay_p50_us": micros(accuracy.forward.delay_requested.p50_ns),
        "emulated_delay_p50_us": micros(accuracy.forward.delay_achieved.p50_ns),
        "clamped": accuracy.clamped,
        "lost_outside_model": accuracy.lost_outside_model,
        "crossed_the_link": evidence.forward_seen + evidence.backward_seen,
        "sched": accuracy.scheduling,
        "pump_threads": accuracy.pump_threads,
        "gate": evidence.gate,
        "disturbed": (!doubts.is_empty()).then(|| doubts.join("; ")),
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

/// The kernel, and those of its settings that decide how transports behave; to be asked inside the sender's host.
pub fn kernel_json() -> Value {
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
