//! Scenarios in virtual time.

use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

use framewire_sim::{
    Cancel, CellOptions, Content, RunOptions, RunReport, SimError, TableHashes, load_sound, simulate_cell, simulate_run,
};
use framewire_units::Duration;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::interruption::{interruptible, interruptible_and};
use crate::movie::MovieError;
use crate::progress::Progress;
use crate::scenario::{ParsedScenario, ScenarioError};

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<LoadedMovie>()?;
    module.add_class::<StopFlag>()?;
    module.add_function(wrap_pyfunction!(load_movie, module)?)?;
    module.add_function(wrap_pyfunction!(write_top_level, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(simulate_cell_py, module)?)
}

/// A movie, a ladder or both in memory, for any number of simulations on any thread.
#[pyclass(frozen, module = "framewire._native")]
pub(crate) struct LoadedMovie {
    pub(crate) content: Content,
}

#[pymethods]
impl LoadedMovie {
    /// Where the movie came from; `None` where there is only a ladder.
    #[getter]
    fn path(&self) -> Option<PathBuf> {
        self.content.movie().map(|(path, _)| path.to_owned())
    }

    /// Length in seconds of what takes longer, movie or ladder; 0 where there is neither.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.content.duration().as_secs_f64()
    }

    /// Number of frames of the movie, or of the ladder where there is no movie.
    fn __len__(&self) -> usize {
        self.content.frames()
    }

    fn __repr__(&self) -> String {
        let path = self.content.movie().map(|(path, _)| path).or(self.content.ladder().map(|(path, _)| path));
        format!("LoadedMovie({:?}, {} frames)", path.unwrap_or("".as_ref()), self.__len__())
    }
}

/// Ends a simulation early, from any thread: raised once, for good.
#[pyclass(frozen, module = "framewire._native")]
struct StopFlag {
    cancel: Cancel,
}

#[pymethods]
impl StopFlag {
    #[new]
    fn new() -> Self {
        Self { cancel: Cancel::new() }
    }

    /// Asks for the end.
    #[pyo3(name = "raise_")]
    fn raise(&self) {
        self.cancel.raise();
    }
}

/// Reads what a scenario's flows send: a video elementary stream that is whole, a streaming file, both or neither; beside the
/// video an elementary stream of sound, and when that begins to play from the first frame shown, in nanoseconds.
#[pyfunction]
#[pyo3(signature = (path, ladder = None, sound = None))]
fn load_movie(
    py: Python<'_>,
    path: Option<PathBuf>,
    ladder: Option<PathBuf>,
    sound: Option<(PathBuf, i64)>,
) -> PyResult<LoadedMovie> {
    let loaded = py.detach(|| {
        let content = Content::load(path.as_deref(), ladder.as_deref())?;
        Ok(match sound {
            Some((file, start)) => {
                let sound = load_sound(&file, start)?;
                content.with_sound(file, sound)
            }
            None => content,
        })
    });
    let loaded = loaded.map_err(|error: framewire_sim::MovieError| MovieError::new_err(error.to_string()));
    Ok(LoadedMovie { content: loaded? })
}

/// Writes the highest level of a streaming file as one elementary stream.
#[pyfunction]
fn write_top_level(py: Python<'_>, ladder: PathBuf, out: PathBuf) -> PyResult<()> {
    let refused = |error: framewire_sim::MovieError| MovieError::new_err(error.to_string());
    py.detach(|| {
        let ladder = framewire_sim::load_ladder(&ladder).map_err(refused)?;
        let written = File::create(&out).and_then(|file| ladder.write_level(ladder.levels() - 1, BufWriter::new(file)));
        written.map_err(|error| PyOSError::new_err((error.raw_os_error(), error.to_string(), out)))
    })
}

/// Simulates a scenario and fills the directory, which exists, with a run. Returns, as JSON, the status, what ended it,
/// the flows that broke, the summaries and the seconds simulated. The flag, or Ctrl-C on the main thread, ends the
/// streams: the result is then partial. `listener` is called with a JSON object for each flow a few times a second.
#[pyfunction]
#[pyo3(signature = (scenario, movie, directory, *, packets = false, received = true, stop = None, listener = None))]
#[allow(clippy::too_many_arguments, reason = "keywords of a Python function")]
fn simulate(
    py: Python<'_>,
    scenario: &Bound<'_, ParsedScenario>,
    movie: &Bound<'_, LoadedMovie>,
    directory: PathBuf,
    packets: bool,
    received: bool,
    stop: Option<&Bound<'_, StopFlag>>,
    listener: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (scenario, movie) = (&scenario.get().0, movie.get());
    let cancel = stop.map_or_else(Cancel::new, |stop| stop.get().cancel.clone());
    let mut progress = listener.map(|listener| Progress::new(scenario, listener));
    let watch = progress.as_ref().map(Progress::watch);
    let work = |cancel: &Cancel| {
        let options = RunOptions { packets, received, cancel: cancel.clone(), watch };
        simulate_run(scenario, &movie.content, &directory, &options)
    };
    let (made, interruption) = interruptible_and(py, &cancel, work, |py, has_ended| match &mut progress {
        Some(progress) if has_ended => progress.report(py),
        Some(progress) => progress.report_if_due(py),
        None => Ok(()),
    });
    match interruption {
        // What there is of an interrupted run is a result; any other exception of a signal's handler is the caller's.
        Some(raised) if !raised.is_instance_of::<PyKeyboardInterrupt>(py) => Err(raised),
        _ => Ok(Value::from(described(&made.map_err(exception)?)).to_string()),
    }
}

/// Simulates a scenario in memory. Into the directory, which exists, go its ledger, its summary and, where they
/// are asked for, its packets, the states of its flows, and rates each so many seconds. Returns, as JSON, what `simulate` does and the canonical
/// hashes of the tables.
#[pyfunction(name = "simulate_cell")]
#[pyo3(signature = (scenario, movie, directory = None, *, packets = false, flows = false, rates_s = None))]
fn simulate_cell_py(
    py: Python<'_>,
    scenario: &Bound<'_, ParsedScenario>,
    movie: &Bound<'_, LoadedMovie>,
    directory: Option<PathBuf>,
    packets: bool,
    flows: bool,
    rates_s: Option<f64>,
) -> PyResult<String> {
    let rates = rates_s.map(interval).transpose()?;
    let (scenario, movie) = (&scenario.get().0, movie.get());
    let (made, interruption) = interruptible(py, &Cancel::new(), |cancel| {
        let options = CellOptions { packets, flows, rates, cancel: cancel.clone() };
        simulate_cell(scenario, &movie.content, directory.as_deref(), &options)
    });
    if let Some(raised) = interruption {
        return Err(raised);
    }
    let cell = made.map_err(exception)?;
    let mut document = described(&cell.report);
    document.insert("hashes".to_owned(), hashes(&cell.hashes));
    Ok(Value::from(document).to_string())
}

fn interval(seconds: f64) -> PyResult<Duration> {
    let interval = Duration::try_from_secs_f64(seconds).ok().filter(|interval| !interval.is_zero());
    interval.ok_or_else(|| ScenarioError::new_err(format!("rates: {seconds} s: a time above zero is needed")))
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
    let tables = [("frames", Some(hashes.frames)), ("summary", Some(hashes.summary))];
    let wanted = [("packets", hashes.packets), ("flows", hashes.flows), ("rates", hashes.rates)];
    for (table, hash) in tables.into_iter().chain(wanted) {
        document.extend(hash.map(|hash| (table.to_owned(), hash.to_string().into())));
    }
    document.into()
}
