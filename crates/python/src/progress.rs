//! What a simulation says of its flows, as the emulated world does: a few times a second, for Python.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use framewire_scenario::Scenario;
use framewire_sim::{FlowProgress, FlowState, Watch};
use framewire_units::Timestamp;
use pyo3::prelude::*;
use serde_json::{Value, json};

/// Time between two reports, as in the emulated world.
const BETWEEN: Duration = Duration::from_millis(200);

/// The last that was heard of each flow, and what was reported of it.
pub(crate) struct Progress {
    latest: Arc<Mutex<Vec<Option<FlowProgress>>>>,
    reported: Vec<Option<FlowProgress>>,
    names: Vec<String>,
    tell: Py<PyAny>,
    at: Instant,
}

impl Progress {
    /// Of the flows of a scenario, told to a function.
    pub(crate) fn new(scenario: &Scenario, tell: Py<PyAny>) -> Self {
        let names: Vec<String> = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        Self {
            latest: Arc::new(Mutex::new(vec![None; names.len()])),
            reported: vec![None; names.len()],
            names,
            tell,
            at: Instant::now(),
        }
    }

    /// What the simulation is to tell.
    pub(crate) fn watch(&self) -> Watch {
        let latest = Arc::clone(&self.latest);
        Watch::new(move |flows| {
            let mut latest = latest.lock().expect("invariant: nothing panics while it is held");
            flows.iter().for_each(|flow| latest[flow.flow] = Some(*flow));
        })
    }

    /// Reports where it is time for that.
    ///
    /// # Errors
    /// What the function raises.
    pub(crate) fn report_if_due(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.at.elapsed() < BETWEEN {
            return Ok(());
        }
        self.report(py)
    }

    /// Reports of every flow what is new.
    ///
    /// # Errors
    /// What the function raises.
    pub(crate) fn report(&mut self, py: Python<'_>) -> PyResult<()> {
        self.at = Instant::now();
        let latest = self.latest.lock().expect("invariant: nothing panics while it is held").clone();
        for (flow, now) in latest.into_iter().enumerate() {
            let Some(now) = now.filter(|now| self.reported[flow] != Some(*now)) else { continue };
            let before = self.reported[flow].replace(now);
            self.tell.call1(py, (self.described(&now, before.as_ref()).to_string(),))?;
        }
        Ok(())
    }

    fn described(&self, now: &FlowProgress, before: Option<&FlowProgress>) -> Value {
        json!({
            "event": "progress",
            "flow": self.names[now.flow],
            "elapsed_s": now.at.as_secs_f64(),
            "offered": now.offered,
            "frames": now.frames,
            "arrived": now.arrived,
            "dropped": now.dropped,
            "throughput_bps": rate(now, before) as u64,
            "state": match now.state {
                FlowState::Streaming => "streaming",
                FlowState::Draining => "draining",
                FlowState::Done => "done",
            },
        })
    }
}

/// Bits per second of virtual time since the last report; of a flow that is done, since its beginning: nothing comes in
/// its last moments.
fn rate(now: &FlowProgress, before: Option<&FlowProgress>) -> f64 {
    let before = before.filter(|_| now.state != FlowState::Done);
    let (bytes, since) = before.map_or((0, Timestamp::ZERO), |before| (before.received, before.at));
    let seconds = now.at.saturating_since(since).as_secs_f64();
    if seconds > 0.0 { now.received.saturating_sub(bytes) as f64 * 8.0 / seconds } else { 0.0 }
}
