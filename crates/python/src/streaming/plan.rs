//! A sending plan as numbers.

use framewire_adaptive::schedule::LevelPlan;
use serde_json::{Value, json};

/// Time between two points of a curve.
const STEP_S: f64 = 0.25;

/// V(t), C(t) and U(t) of a plan, its changes of rate and its extremes.
pub(super) fn described(plan: &LevelPlan) -> Value {
    let end = plan.profile.end().max(plan.consumption.time_of(plan.consumption.frames()));
    let times: Vec<f64> = (0..=(end / STEP_S) as usize).map(|point| point as f64 * STEP_S).collect();
    let consumed: Vec<f64> = times.iter().map(|&at| plan.consumption.at(at).as_bytes() as f64).collect();
    let sent: Vec<f64> = times.iter().map(|&at| plan.profile.at(at)).collect();
    let ahead: Vec<f64> = sent.iter().zip(&consumed).map(|(sent, consumed)| sent - consumed).collect();
    let steps: Vec<(f64, f64)> = plan.profile.steps().iter().map(|step| (step.start, step.rate * 8.0)).collect();
    json!({
        "t": times,
        "consumed": consumed,
        "sent": sent,
        "ahead": ahead,
        "steps": steps,
        "least_bytes": plan.occupancy.min.bytes,
        "least_at_s": plan.occupancy.min.time,
        "most_bytes": plan.occupancy.max.bytes,
        "most_at_s": plan.occupancy.max.time,
        "first_underflow_s": plan.occupancy.first_underflow,
        "client_buffer_bytes": plan.client_buffer.as_bytes(),
        "peak_bps": plan.profile.peak_rate().as_bps(),
    })
}
