//! Adaptive streams and their rivals in virtual time, and the plans that they follow.

mod experiment;
mod outcome;
mod plan;
mod spec;

use std::sync::Arc;

use framewire_adaptive::schedule::{Method, PreSend, Schedule, ScheduleSettings};
use framewire_adaptive::stored::LadderSource;
use framewire_media::FrameRate;
use framewire_media::ladder::{Ladder, Level};
use framewire_units::Duration;
use pyo3::prelude::*;

use self::spec::Spec;
use crate::scenario::ScenarioError;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<StreamingLadder>()?;
    module.add_function(wrap_pyfunction!(simulate_streaming, module)?)
}

/// Bytes of video in a packet: the paper's kbyte (section 6.1), taken as 1,000.
const PAYLOAD: u16 = 1_000;

/// Simulates an experiment (JSON): one stream of the ladder, and TCP connections beside it. Returns what came of it, as
/// JSON.
#[pyfunction]
fn simulate_streaming(py: Python<'_>, ladder: &Bound<'_, StreamingLadder>, experiment: &str) -> PyResult<String> {
    let spec: Spec = serde_json::from_str(experiment).map_err(|error| refused(format!("experiment: {error}")))?;
    let source = Arc::clone(&ladder.get().source);
    py.detach(move || {
        let outcome = experiment::of(source, &spec)?.run().map_err(refused)?;
        Ok(outcome::described(&outcome, spec.series).to_string())
    })
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
        let schedule = self.schedule(segments, pre_send_s, startup_s)?;
        let levels = schedule.levels();
        let plan = levels.get(level).ok_or_else(|| refused(format!("level {level}: there are {}", levels.len())))?;
        Ok(plan::described(plan).to_string())
    }
}

impl StreamingLadder {
    fn schedule(&self, count: usize, pre_send_s: Option<f64>, startup_s: f64) -> PyResult<Schedule> {
        let pre_send = pre_send_s.map(seconds).transpose()?.map_or(PreSend::Never, PreSend::AtMost);
        let settings = ScheduleSettings { method: Method::Segments { count, pre_send }, startup: seconds(startup_s)? };
        Schedule::new(self.source.ladder(), settings).map_err(refused)
    }
}

fn seconds(value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|error| refused(format!("{value} s: {error}")))
}

fn refused(error: impl ToString) -> PyErr {
    ScenarioError::new_err(error.to_string())
}
