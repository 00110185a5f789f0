//! Ladders, schedules and streaming files.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use framewire_adaptive::schedule::{LevelPlan, Method, Occupancy, PreSend, Profile, Schedule, ScheduleSettings};
use framewire_media::audio::AudioTrack;
use framewire_media::ladder::{Ladder, Level};
use framewire_media::streaming_file::{self, StoredPlan, StreamingFile, StreamingFileError};
use framewire_units::{DataSize, Duration};
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};

create_exception!(_native, LadderError, PyValueError, "Levels, a plan or a streaming file were refused.");
create_exception!(_native, NotAStreamingFile, LadderError, "The first bytes of a file are those of another format.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("LadderError", module.py().get_type::<LadderError>())?;
    module.add("NotAStreamingFile", module.py().get_type::<NotAStreamingFile>())?;
    module.add_class::<PlanSettings>()?;
    module.add_function(wrap_pyfunction!(inspect_ladder, module)?)?;
    module.add_function(wrap_pyfunction!(plan_levels, module)?)?;
    module.add_function(wrap_pyfunction!(write_streaming_file, module)?)?;
    module.add_function(wrap_pyfunction!(write_ladder_of_sizes, module)?)?;
    module.add_function(wrap_pyfunction!(read_streaming_file, module)?)
}

/// How a schedule is made: in segments with bytes sent ahead, or as smooth as a buffer allows.
#[pyclass(frozen, module = "framewire._native")]
struct PlanSettings {
    settings: ScheduleSettings,
}

#[pymethods]
impl PlanSettings {
    /// `pre_send_s` is the latest end of what is sent ahead: with `exact` it is refused where bytes are missing before, else
    /// it ends there. Without it, nothing is sent ahead. With `buffer` bytes the plan is the smoothest, and the rest is
    /// of no use; or, with `fewest_changes`, the one with the fewest changes of rate.
    #[new]
    #[pyo3(signature = (
        *, segments = 10, pre_send_s = Some(5.0), exact = false, startup_s = 1.0, buffer = None, fewest_changes = false
    ))]
    fn new(
        segments: usize,
        pre_send_s: Option<f64>,
        exact: bool,
        startup_s: f64,
        buffer: Option<u64>,
        fewest_changes: bool,
    ) -> PyResult<Self> {
        let pre_send = match pre_send_s.map(seconds).transpose()? {
            None => PreSend::Never,
            Some(until) if exact => PreSend::Until(until),
            Some(until) => PreSend::AtMost(until),
        };
        let method = match buffer {
            Some(bytes) if fewest_changes => Method::FewestChanges { buffer: DataSize::from_bytes(bytes) },
            Some(bytes) => Method::Smoothed { buffer: DataSize::from_bytes(bytes) },
            None => Method::Segments { count: segments, pre_send },
        };
        Ok(Self { settings: ScheduleSettings { method, startup: seconds(startup_s)? } })
    }
}

/// Reads levels, lowest first, checks that they are aligned, and describes them as JSON.
#[pyfunction]
fn inspect_ladder(py: Python<'_>, paths: Vec<PathBuf>) -> PyResult<String> {
    py.detach(|| Ok(described(&read_ladder(&paths)?).to_string()))
}

/// Plans levels of these sizes in bytes, lowest first; as JSON.
#[pyfunction]
fn plan_levels(
    py: Python<'_>,
    sizes: Vec<Vec<u32>>,
    frame_rate: (u32, u32),
    settings: &Bound<'_, PlanSettings>,
) -> PyResult<String> {
    let settings = settings.get().settings;
    let (numerator, denominator) = frame_rate;
    py.detach(|| {
        let frame_rate = framewire_media::FrameRate { numerator, denominator };
        let schedule = Schedule::of_sizes(frame_rate, &sizes, settings).map_err(refused)?;
        Ok(planned(&schedule).to_string())
    })
}

/// Writes levels, lowest first, as a streaming file, with a stream of audio cut to their length, and describes it and
/// its plan as JSON.
#[pyfunction]
#[pyo3(signature = (paths, out, payload, settings, audio = None))]
fn write_streaming_file(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    out: PathBuf,
    payload: u32,
    settings: &Bound<'_, PlanSettings>,
    audio: Option<PathBuf>,
) -> PyResult<String> {
    let settings = settings.get().settings;
    py.detach(|| {
        let ladder = read_ladder(&paths)?;
        let schedule = Schedule::new(&ladder, settings).map_err(refused)?;
        let file = File::create(&out).map_err(|error| failed(&error, &out))?;
        let plan = StoredPlan::from(&schedule);
        let track = audio.as_deref().map(|path| read_audio(path, &ladder)).transpose()?.flatten();
        let sink = BufWriter::new(file);
        let written = streaming_file::write_with_audio(&ladder, track.as_ref(), Some(&plan), payload, sink);
        let length = written.map_err(|error| of_file(error, &out))?;
        let document = json!({
            "bytes": length,
            "payload": payload,
            "ladder": described(&ladder),
            "plan": planned(&schedule),
        });
        Ok(document.to_string())
    })
}

/// Writes levels of nothing but sizes in bytes, lowest first, as a streaming file: every `key_interval`th frame is an I
/// frame, and all bytes are zero.
#[pyfunction]
fn write_ladder_of_sizes(
    py: Python<'_>,
    sizes: Vec<Vec<u32>>,
    frame_rate: (u32, u32),
    key_interval: usize,
    out: PathBuf,
    payload: u32,
    settings: &Bound<'_, PlanSettings>,
) -> PyResult<()> {
    let settings = settings.get().settings;
    let (numerator, denominator) = frame_rate;
    py.detach(|| {
        let frame_rate = framewire_media::FrameRate { numerator, denominator };
        let level = |sizes: &Vec<u32>| Level::of_sizes(frame_rate, key_interval, sizes);
        let levels: Result<Vec<_>, _> = sizes.iter().map(level).collect();
        let ladder = Ladder::new(levels.map_err(refused)?).map_err(refused)?;
        let plan = StoredPlan::from(&Schedule::new(&ladder, settings).map_err(refused)?);
        let file = File::create(&out).map_err(|error| failed(&error, &out))?;
        let written = streaming_file::write(&ladder, Some(&plan), payload, BufWriter::new(file));
        written.map_err(|error| of_file(error, &out)).map(|_| ())
    })
}

/// Opens a streaming file, checks every byte of it, and describes it as JSON.
#[pyfunction]
fn read_streaming_file(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    py.detach(|| {
        let file = File::open(&path).map_err(|error| failed(&error, &path))?;
        let file = StreamingFile::open(file).map_err(|error| of_file(error, &path))?;
        file.verify().map_err(|error| of_file(error, &path))?;
        let frames = file.frame_count();
        let levels = (0..file.level_count()).map(|level| {
            json!({
                "bytes": file.size(level).as_bytes(),
                "mean_bps": file.mean_rate(level).as_bps(),
                "packets": (0..frames).map(|frame| u64::from(file.packet_count(level, frame))).sum::<u64>(),
                "sizes": (0..frames).map(|frame| file.frame_size(level, frame)).collect::<Vec<_>>(),
                "steps": file.plan().levels.get(level).into_iter().flatten()
                    .map(|step| (step.start.as_secs_f64(), step.rate.as_bps())).collect::<Vec<_>>(),
            })
        });
        let document = json!({
            "codec": file.codec().map(|codec| codec.to_string()),
            "size": file.picture_size(),
            "frame_rate": (file.frame_rate().numerator, file.frame_rate().denominator),
            "frames": frames,
            "duration_s": file.duration().as_secs_f64(),
            "payload": file.payload(),
            "client_buffer_bytes": file.plan().client_buffer.as_bytes(),
            "startup_s": file.plan().startup.as_secs_f64(),
            "types": (0..frames).map(|frame| file.frame(frame).kind.to_string()).collect::<String>(),
            "switch_points": (0..frames).filter(|&frame| file.is_switch_point(frame)).collect::<Vec<_>>(),
            "levels": levels.collect::<Vec<_>>(),
            "audio": file.audio().map(|audio| json!({
                "codec": audio.format.codec.name(),
                "sample_rate": audio.format.sample_rate,
                "channels": audio.format.channels,
                "packets": audio.packets,
                "bytes": audio.size.as_bytes(),
                "mean_bps": file.audio_rate().as_bps(),
            })),
        });
        Ok(document.to_string())
    })
}

/// The audio of a file as far as the movie goes.
fn read_audio(path: &Path, ladder: &Ladder) -> PyResult<Option<AudioTrack>> {
    let bytes = std::fs::read(path).map_err(|error| failed(&error, path))?;
    let track = AudioTrack::parse(&bytes.into()).map_err(|error| refused(format!("{}: {error}", path.display())))?;
    Ok(track.until(ladder.duration()))
}

fn read_ladder(paths: &[PathBuf]) -> PyResult<Ladder> {
    let level = |path: &PathBuf| {
        let file = File::open(path).map_err(|error| failed(&error, path))?;
        Level::open(file).map_err(|error| refused(format!("{}: {error}", path.display())))
    };
    let levels: PyResult<Vec<_>> = paths.iter().map(level).collect();
    Ladder::new(levels?).map_err(refused)
}

fn described(ladder: &Ladder) -> Value {
    let frames = ladder.frame_count();
    let level = |level: usize| {
        json!({
            "bytes": ladder.size(level).as_bytes(),
            "mean_bps": ladder.mean_rate(level).as_bps(),
            "sizes": ladder.levels()[level].frames().iter().map(|frame| frame.size).collect::<Vec<_>>(),
        })
    };
    json!({
        "codec": ladder.codec().map(|codec| codec.to_string()),
        "size": ladder.levels()[0].picture_size(),
        "frame_rate": (ladder.frame_rate().numerator, ladder.frame_rate().denominator),
        "frames": frames,
        "duration_s": ladder.duration().as_secs_f64(),
        "types": ladder.levels()[0].frames().iter().map(|frame| frame.kind.to_string()).collect::<String>(),
        "switch_points": (0..frames).filter(|&frame| ladder.is_switch_point(frame)).collect::<Vec<_>>(),
        "levels": (0..ladder.level_count()).map(level).collect::<Vec<_>>(),
    })
}

fn planned(schedule: &Schedule) -> Value {
    json!({
        "startup_s": schedule.settings().startup.as_secs_f64(),
        "pre_send_until_s": schedule.pre_send_until().map(|until| until.as_secs_f64()),
        "client_buffer_bytes": schedule.client_buffer().as_bytes(),
        "levels": schedule.levels().iter().map(planned_level).collect::<Vec<_>>(),
    })
}

fn planned_level(plan: &LevelPlan) -> Value {
    json!({
        "client_buffer_bytes": plan.client_buffer.as_bytes(),
        "peak_bps": plan.profile.peak_rate().as_bps(),
        "end_s": plan.profile.end(),
        "steps": steps(&plan.profile),
        "base_steps": steps(&plan.base),
        "base_end_s": plan.base.end(),
        "occupancy": occupancy(&plan.occupancy),
        "base_occupancy": occupancy(&plan.base_occupancy),
    })
}

/// Start in seconds, bytes sent by then, rate in bit/s.
fn steps(profile: &Profile) -> Vec<(f64, f64, u64)> {
    profile.steps().iter().map(|step| (step.start, step.sent, step.bit_rate().as_bps())).collect()
}

fn occupancy(buffer: &Occupancy) -> Value {
    json!({
        "most_bytes": buffer.max.bytes,
        "most_at_s": buffer.max.time,
        "least_bytes": buffer.min.bytes,
        "least_at_s": buffer.min.time,
        "first_underflow_s": buffer.first_underflow,
    })
}

fn seconds(value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|error| refused(format!("{value} s: {error}")))
}

fn refused(error: impl ToString) -> PyErr {
    LadderError::new_err(error.to_string())
}

fn of_file(error: StreamingFileError, path: &Path) -> PyErr {
    match error {
        StreamingFileError::Io(error) => failed(&error, path),
        StreamingFileError::OtherFormat(_) => NotAStreamingFile::new_err(format!("{}: {error}", path.display())),
        error => refused(format!("{}: {error}", path.display())),
    }
}

fn failed(error: &std::io::Error, path: &Path) -> PyErr {
    PyOSError::new_err((error.raw_os_error(), error.to_string(), path.to_owned()))
}
