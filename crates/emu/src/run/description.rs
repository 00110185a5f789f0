//! What `run.json` has of this world: the proof of accuracy and the kernel.

use framewire_emu::LaneRecord;
use framewire_kernel::FlowLateness;
use framewire_session::FlowSetup;
use serde_json::{Map, Value, json};

/// What is known of one flow's own part in the proof of accuracy.
pub struct FlowProof {
    /// Packets of its network that are not in its tables.
    pub left_out: u64,
    /// How late its threads were woken.
    pub lateness: FlowLateness,
    /// Where the ledger and the receiver disagree.
    pub contradiction: Option<String>,
}

/// By flow, the proof of accuracy of its lane and of itself.
pub fn accuracy(
    groups: &[Vec<usize>],
    setups: &[FlowSetup],
    lanes: &[LaneRecord],
    flows: &[FlowProof],
) -> Map<String, Value> {
    let mut accuracy = Map::new();
    for (group, lane) in groups.iter().zip(lanes) {
        for &flow in group {
            accuracy.insert(setups[flow].name().to_owned(), accuracy_json(lane, &flows[flow]));
        }
    }
    accuracy
}

fn accuracy_json(lane: &LaneRecord, flow: &FlowProof) -> Value {
    let (accuracy, evidence) = (&lane.accuracy, &lane.evidence);
    let micros = |nanos: i64| nanos as f64 / 1e3;
    let late = flow.lateness.doubt();
    let doubts = [accuracy.disturbed.as_deref(), late.as_deref(), flow.contradiction.as_deref()];
    let doubts: Vec<&str> = doubts.into_iter().flatten().collect();
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
        "packets_left_out": flow.left_out,
        "wakes": flow.lateness.to_json(),
    })
}

/// The kernel, and those of its settings that decide how transports behave; to be asked inside the sender's host.
pub fn kernel_json() -> Value {
    const SETTINGS: [&str; 9] = [
        "net/core/wmem_default",
        "net/core/wmem_max",
        "net/core/rmem_max",
        "net/ipv4/tcp_wmem",
        "net/ipv4/tcp_rmem",
        "net/ipv4/tcp_limit_output_bytes",
        "net/ipv4/tcp_available_congestion_control",
        "net/ipv4/tcp_congestion_control",
        "net/ipv4/tcp_ecn",
    ];
    let settings = SETTINGS.iter().filter_map(|name| Some((name.replace('/', "."), json!(setting(name)?))));
    json!({
        "release": setting("kernel/osrelease"),
        "settings": settings.collect::<Map<_, _>>(),
    })
}

/// The congestion control of TCP sockets that choose none; to be asked inside a host.
pub fn default_congestion() -> Option<String> {
    setting("net/ipv4/tcp_congestion_control")
}

fn setting(name: &str) -> Option<String> {
    Some(std::fs::read_to_string(format!("/proc/sys/{name}")).ok()?.trim().to_owned())
}
