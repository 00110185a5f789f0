//! Adaptive streams and their rivals in virtual time, and the plans that they follow.

mod experiment;
mod outcome;
mod plan;
mod spec;

use std::sync::Arc;

use framewire_adaptive::schedule::{Method, PreSend, Schedule, ScheduleSettings};
use framewire_adaptive::stored::LadderSource;
use framewire_link::DeliveryTrace;
use framewire_media::FrameRate;
use framewire_media::ladder::{Ladder, Level};
use framewire_units::{DataSize, Duration};
use pyo3::prelude::*;

use self::spec::Spec;
use crate::scenario::ScenarioError;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<StreamingLadder>()?;
    module.add_class::<StreamingTrace>()?;
    module.add_function(wrap_pyfunction!(simulate_streaming, module)?)
}

/// Bytes of video in a packet: the paper's kbyte (section 6.1), taken as 1,000.
const PAYLOAD: u16 = 1_000;

/// Simulates an experiment (JSON): one stream of the ladder, and TCP connections beside it, over the recorded link where
/// one is given. Returns what came of it, as JSON.
#[pyfunction]
#[pyo3(signature = (ladder, experiment, trace = None))]
fn simulate_streaming(
    py: Python<'_>,
    ladder: &Bound<'_, StreamingLadder>,
    experiment: &str,
    trace: Option<&Bound<'_, StreamingTrace>>,
) -> PyResult<String> {
    let spec: Spec = serde_json::from_str(experiment).map_err(|error| refused(format!("experiment: {error}")))?;
    let source = Arc::clone(&ladder.get().source);
    let trace = trace.map(|trace| trace.get().trace.clone());
    py.detach(move || {
        let outcome = experiment::of(source, &spec, trace)?.run().map_err(refused)?;
        Ok(outcome::described(&outcome, spec.series).to_string())
    })
}

/// A recorded link in Mahimahi's format, for any number of experiments on any thread.
#[pyclass(frozen, module = "framewire._native")]
struct StreamingTrace {
    trace: DeliveryTrace,
}

#[pymethods]
impl StreamingTrace {
    /// Reads it from its text: a millisecond per line, at which 1,500 bytes may pass.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        Ok(Self { trace: DeliveryTrace::parse(text).map_err(refused)? })
    }

    /// Its mean rate in bit/s.
    #[getter]
    fn mean_bps(&self) -> u64 {
        self.trace.mean_rate().as_bps()
    }

    /// How long it is before it is repeated.
    #[getter]
    fn length_s(&self) -> f64 {
        self.trace.length().as_secs_f64()
    }

    fn __repr__(&self) -> String {
        format!("StreamingTrace({:.1} s, {})", self.trace.length().as_secs_f64(), self.trace.mean_rate())
    }
}

/// A movie at several levels, of which only the sizes of frames are known; for any number of experiments on any thread.
#[pyclass(frozen, module = "framewire._native")]
struct StreamingLadder {
    source: Arc<LadderSource>,
}

#[pymethods]
impl StreamingLadder {
    /// `sizes` has the bytes of each frame of each level, lowest level first; every `key_interval`th frame is an I frame.
    #[new]
    #[pyo3(signature = (*, frame_rate, key_interval, sizes))]
    fn new(frame_rate: (u32, u32), key_interval: usize, sizes: Vec<Vec<u32>>) -> PyResult<Self> {
        let frame_rate = FrameRate { numerator: frame_rate.0, denominator: frame_rate.1 };
        let level = |sizes: &Vec<u32>| Level::of_sizes(frame_rate, key_interval, sizes);
        let levels: Result<Vec<Level>, _> = sizes.iter().map(level).collect();
        let ladder = Ladder::new(levels.map_err(refused)?).map_err(refused)?;
        Ok(Self { source: Arc::new(LadderSource::new(ladder, PAYLOAD.into())) })
    }

    /// Number of frames.
    fn __len__(&self) -> usize {
        self.source.ladder().frame_count()
    }

    fn __repr__(&self) -> String {
        let ladder = self.source.ladder();
        format!("StreamingLadder({} levels, {} frames)", ladder.level_count(), ladder.frame_count())
    }

    /// The sending plan of a level in so many segments of equal length, with what would be missing sent ahead in the
    /// first `pre_send_s` seconds, or not at all; as JSON.
    #[pyo3(signature = (level, segments, pre_send_s = None, *, startup_s = 1.0))]
    fn plan(&self, level: usize, segments: usize, pre_send_s: Option<f64>, startup_s: f64) -> PyResult<String> {
        let pre_send = pre_send_s.map(seconds).transpose()?.map_or(PreSend::Never, PreSend::AtMost);
        self.planned(level, Method::Segments { count: segments, pre_send }, startup_s)
    }

    /// The best plan of a level for a client that can hold `buffer` bytes, as JSON: the smoothest one, or the one with the
    /// fewest changes of rate.
    #[pyo3(signature = (level, buffer, *, fewest_changes, startup_s = 1.0))]
    fn best_plan(&self, level: usize, buffer: u64, fewest_changes: bool, startup_s: f64) -> PyResult<String> {
        let buffer = DataSize::from_bytes(buffer);
        let method = if fewest_changes { Method::FewestChanges { buffer } } else { Method::Smoothed { buffer } };
        self.planned(level, method, startup_s)
    }
}

impl StreamingLadder {
    fn planned(&self, level: usize, method: Method, startup_s: f64) -> PyResult<String> {
        let settings = ScheduleSettings { method, startup: seconds(startup_s)? };
        let schedule = Schedule::new(self.source.ladder(), settings).map_err(refused)?;
        let levels = schedule.levels();
        let plan = levels.get(level).ok_or_else(|| refused(format!("level {level}: there are {}", levels.len())))?;
        Ok(plan::described(plan).to_string())
    }
}

fn seconds(value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|error| refused(format!("{value} s: {error}")))
}

fn refused(error: impl ToString) -> PyErr {
    ScenarioError::new_err(error.to_string())
}
