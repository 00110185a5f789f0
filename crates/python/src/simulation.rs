//! Scenarios in virtual time.

use std::path::PathBuf;

use framewire_media::Movie;
use framewire_scenario::Scenario;
use framewire_sim::{CellOptions, RunOptions, RunReport, SimError, TableHashes, simulate_cell, simulate_run};
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::interruption::interruptible;
use crate::movie::MovieError;
use crate::scenario::ScenarioError;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LoadedMovie>()?;
    module.add_function(wrap_pyfunction!(load_movie, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_cell_py, module)?)
}

/// A movie in memory, for any number of simulations on any thread.
#[pyclass(frozen, module = "framewire._native")]
struct LoadedMovie {
    movie: Movie,
    #[pyo3(get)]
    path: PathBuf,
}

#[pymethods]
impl LoadedMovie {
    /// Number of frames.
    fn __len__(&self) -> usize {
        self.movie.index.frames.len()
    }

    fn __repr__(&self) -> String {
        format!("LoadedMovie({:?}, {} frames)", self.path, self.movie.index.frames.len())
    }
}

/// Reads an MPEG video elementary stream that is whole.
#[pyfunction]
fn load_movie(py: Python<'_>, path: PathBuf) -> PyResult<LoadedMovie> {
    let movie =
        py.detach(|| framewire_sim::load_movie(&path)).map_err(|error| MovieError::new_err(error.to_string()))?;
    Ok(LoadedMovie { movie, path })
}

/// Simulates a resolved scenario and fills the directory, which exists, with a run. Returns, as JSON, the status, what
/// ended it, the flows that broke, the summaries and the seconds simulated. Ctrl-C ends the streams: the result is then
/// partial.
#[pyfunction]
#[pyo3(signature = (scenario, movie, directory, *, packets = false, received = true))]
fn simulate(
    py: Python<'_>,
    scenario: &str,
    movie: &Bound<'_, LoadedMovie>,
    directory: PathBuf,
    packets: bool,
    received: bool,
) -> PyResult<String> {
    let scenario = parse(scenario)?;
    let movie = movie.get();
    let (made, interruption) = interruptible(py, |cancel| {
        let options = RunOptions { packets, received, cancel: cancel.clone() };
        simulate_run(&scenario, &movie.movie, &movie.path, &directory, &options)
    });
    match interruption {
        // What there is of an interrupted run is a result; any other exception of a signal's handler is the caller's.
        Some(raised) if !raised.is_instance_of::<PyKeyboardInterrupt>(py) => Err(raised),
        _ => Ok(Value::from(described(&made.map_err(exception)?)).to_string()),
    }
}

/// Simulates a resolved scenario in memory. Into the directory, which exists, go its ledger, its summary and, where they
/// are asked for, its packets. Returns, as JSON, what `simulate` does and the canonical hashes of the tables.
#[pyfunction(name = "simulate_cell")]
#[pyo3(signature = (scenario, movie, directory = None, *, packets = false))]
fn simulate_cell_py(
    py: Python<'_>,
    scenario: &str,
    movie: &Bound<'_, LoadedMovie>,
    directory: Option<PathBuf>,
    packets: bool,
) -> PyResult<String> {
    let scenario = parse(scenario)?;
    let movie = movie.get();
    let (made, interruption) = interruptible(py, |cancel| {
        let options = CellOptions { packets, cancel: cancel.clone() };
        simulate_cell(&scenario, &movie.movie, directory.as_deref(), &options)
    });
    if let Some(raised) = interruption {
        return Err(raised);
    }
    let cell = made.map_err(exception)?;
    let mut document = described(&cell.report);
    document.insert("hashes".to_owned(), hashes(&cell.hashes));
    Ok(Value::from(document).to_string())
}

fn parse(json: &str) -> PyResult<Scenario> {
    serde_json::from_str(json).map_err(|error| ScenarioError::new_err(error.to_string()))
}

fn exception(error: SimError) -> PyErr {
    match error {
        SimError::Input(message) => ScenarioError::new_err(message),
        SimError::Write(error) => PyOSError::new_err((error.code, error.reason, error.file)),
        SimError::Cancelled => PyKeyboardInterrupt::new_err(()),
    }
}

fn described(report: &RunReport) -> Map<String, Value> {
    let document = json!({
        "status": report.status,
        "ended_by": report.ended_by,
        "failures": report.failures,
        "summaries": report.summaries,
        "simulated_s": report.simulated_s,
    });
    let Value::Object(document) = document else { unreachable!("invariant: it was written as an object") };
    document
}

fn hashes(hashes: &TableHashes) -> Value {
    let mut document = Map::new();
    let tables = [("frames", Some(hashes.frames)), ("flows", Some(hashes.flows)), ("summary", Some(hashes.summary))];
    for (table, hash) in tables.into_iter().chain([("packets", hashes.packets)]) {
        document.extend(hash.map(|hash| (table.to_owned(), hash.to_string().into())));
    }
    document.into()
}
