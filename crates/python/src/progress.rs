//! What a simulation says of its flows, a few times a second, for a function in Python.

use std::time::{Duration, Instant};

use framewire_scenario::Scenario;
use framewire_sim::{Reports, Watch};
use pyo3::prelude::*;

/// Time between two reports, as in the emulated world.
const BETWEEN: Duration = Duration::from_millis(200);

/// Reports, and who is to hear them.
pub(crate) struct Progress {
    reports: Reports,
    listener: Py<PyAny>,
    at: Instant,
}

impl Progress {
    /// Of the flows of a scenario, reported to a function.
    pub(crate) fn new(scenario: &Scenario, listener: Py<PyAny>) -> Self {
        Self { reports: Reports::new(scenario), listener, at: Instant::now() }
    }

    /// What the simulation is to tell.
    pub(crate) fn watch(&self) -> Watch {
        self.reports.watch()
    }

    /// Reports where it is time for that.
    ///
    /// # Errors
    /// What the function raises.
    pub(crate) fn report_if_due(&mut self, py: Python<'_>) -> PyResult<()> {
        if self.at.elapsed() < BETWEEN { Ok(()) } else { self.report(py) }
    }

    /// Reports of every flow what is new.
    ///
    /// # Errors
    /// What the function raises.
    pub(crate) fn report(&mut self, py: Python<'_>) -> PyResult<()> {
        self.at = Instant::now();
        self.reports.take_new().into_iter().try_for_each(|text| self.listener.call1(py, (text,)).map(drop))
    }
}
