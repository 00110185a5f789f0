//! What a simulation says of its flows, as the emulated world does: a few times a second, for Python.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use framewire_scenario::Scenario;
use framewire_sim::{Event, FlowProgress, FlowReport, Throughput, Watch};
use pyo3::prelude::*;

/// Time between two reports, as in the emulated world.
const BETWEEN: Duration = Duration::from_millis(200);

/// The last that was heard of each flow, and what was reported of it.
pub(crate) struct Progress {
    latest: Arc<Mutex<Vec<Option<FlowProgress>>>>,
    reported: Vec<Option<FlowProgress>>,
    names: Vec<String>,
    throughputs: Vec<Throughput>,
    listener: Py<PyAny>,
    at: Instant,
}

impl Progress {
    /// Of the flows of a scenario, reported to a function.
    pub(crate) fn new(scenario: &Scenario, listener: Py<PyAny>) -> Self {
        let names: Vec<String> = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
        Self {
            latest: Arc::new(Mutex::new(vec![None; names.len()])),
            reported: vec![None; names.len()],
            throughputs: names.iter().map(|_| Throughput::default()).collect(),
            names,
            listener,
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
            self.reported[flow] = Some(now);
            let text = self.described(&now);
            self.listener.call1(py, (text,))?;
        }
        Ok(())
    }

    fn described(&mut self, now: &FlowProgress) -> String {
        let event = Event::Progress(FlowReport {
            flow: &self.names[now.flow],
            elapsed_s: now.at.as_secs_f64(),
            offered: now.offered,
            frames: now.frames,
            arrived: now.arrived,
            dropped: now.dropped,
            throughput_bps: self.throughputs[now.flow].since_last(now.received, now.state, now.at),
            state: now.state,
        });
        serde_json::to_string(&event).expect("invariant: events hold only strings and numbers")
    }
}
