//! A movie from one machine to another: both ends, and the run that is made of them.

use std::path::{Path, PathBuf};

use framewire_endpoint::random_session;
use framewire_media::access_unit::Codec;
use framewire_real::{ClientOptions, DescribedStreams, Event, RealError, ReceiveOptions, Received, SendOptions, Sent};
use framewire_sim::Cancel;
use framewire_units::{DataSize, Duration, Seed};
use framewire_wire::rtsp::Account;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::endpoint::{address, failure, refusal, tell};
use crate::interruption::interruptible;
use crate::scenario::ParsedScenario;
use crate::simulation::LoadedMovie;

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(send_movie, module)?)?;
    module.add_function(wrap_pyfunction!(receive_movie, module)?)?;
    module.add_function(wrap_pyfunction!(ask_movie, module)?)?;
    module.add_function(wrap_pyfunction!(join_sides, module)?)
}

/// Sends the movie of a scenario of one flow to a peer, and fills the directory, which exists, with what was recorded.
/// `listener` is called with `"event"` and JSON. Returns what came of it, as JSON; Ctrl-C ends it with its result.
#[pyfunction]
#[pyo3(signature = (scenario, movie, directory, listener, *, peer, patience_s, delay_s = 0.0, sdp = None))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
fn send_movie(
    py: Python<'_>,
    scenario: &Bound<'_, ParsedScenario>,
    movie: &Bound<'_, LoadedMovie>,
    directory: PathBuf,
    listener: Py<PyAny>,
    peer: &str,
    patience_s: f64,
    delay_s: f64,
    sdp: Option<PathBuf>,
) -> PyResult<String> {
    let session = random_session().map_err(failure)?;
    let options = SendOptions {
        peer: address("peer", peer)?,
        patience: time("patience", patience_s)?,
        delay: Duration::try_from_secs_f64(delay_s).map_err(|_| refusal(format!("a delay of {delay_s} s")))?,
        directory,
        seed: Seed(random_session().map_err(failure)?),
        session,
        description: sdp,
    };
    let (scenario, content) = (&scenario.get().0, &movie.get().content);
    let (sent, interruption) = interruptible(py, &Cancel::new(), |cancel| {
        let mut said = |event: &Event| tell(&listener, &event.to_json());
        framewire_real::send(scenario, content, &options, &|| cancel.is_raised(), &mut said)
    });
    conclude(py, sent.map(|sent| of_sent(&sent)), interruption)
}

/// Receives one stream at an address, and fills the directory, which exists, with what was recorded. As `send_movie`.
#[pyfunction]
#[pyo3(signature = (directory, listener, *, at, transport, codec, patience_s, silence_s, most, sdp = None, passes_damaged = false, reports = true))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
fn receive_movie(
    py: Python<'_>,
    directory: PathBuf,
    listener: Py<PyAny>,
    at: &str,
    transport: &str,
    codec: Option<&str>,
    patience_s: f64,
    silence_s: f64,
    most: &str,
    sdp: Option<&str>,
    passes_damaged: bool,
    reports: bool,
) -> PyResult<String> {
    let most: DataSize =
        most.parse().map_err(|error| refusal(format!("at most \"{most}\" may come: {error}; as 16 GB")))?;
    let options = ReceiveOptions {
        address: address("listening", at)?,
        transport: transport.parse().map_err(refusal)?,
        codec: codec.map(codec_named).transpose()?,
        description: sdp.map(described).transpose()?,
        passes_damaged,
        reports,
        patience: time("patience", patience_s)?,
        silence: time("silence", silence_s)?,
        most,
        directory,
    };
    let (received, interruption) = interruptible(py, &Cancel::new(), |cancel| {
        let mut said = |event: &Event| tell(&listener, &event.to_json());
        framewire_real::receive(&options, &|| cancel.is_raised(), &mut said)
    });
    conclude(py, received.map(|received| of_received(&received)), interruption)
}

/// Asks a server of HTTP or RTSP for a movie, and fills the directory, which exists, with what was recorded. As `send_movie`.
#[pyfunction]
#[pyo3(signature = (directory, listener, *, is_rtsp, over_udp, at, host, path, account, patience_s, silence_s, most))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
fn ask_movie(
    py: Python<'_>,
    directory: PathBuf,
    listener: Py<PyAny>,
    is_rtsp: bool,
    over_udp: bool,
    at: &str,
    host: String,
    path: String,
    account: Option<(String, String)>,
    patience_s: f64,
    silence_s: f64,
    most: &str,
) -> PyResult<String> {
    let most = most.parse().map_err(|error| refusal(format!("at most \"{most}\" may come: {error}; as 16 GB")))?;
    let options = ClientOptions {
        address: address("the server's", at)?,
        is_rtsp,
        over_udp,
        host,
        path,
        account: account.map(|(user, password)| Account { user, password }),
        patience: time("patience", patience_s)?,
        silence: time("silence", silence_s)?,
        most,
        directory,
    };
    let (received, interruption) = interruptible(py, &Cancel::new(), |cancel| {
        let mut said = |event: &Event| tell(&listener, &event.to_json());
        framewire_real::receive_from_server(&options, &|| cancel.is_raised(), &mut said)
    });
    conclude(py, received.map(|received| of_received(&received)), interruption)
}

/// Makes a run of the directories of a sender and of a receiver, in a third one, which exists. Returns what came of it, as
/// JSON.
#[pyfunction]
fn join_sides(py: Python<'_>, sender: PathBuf, receiver: PathBuf, directory: PathBuf) -> PyResult<String> {
    let joined = py.detach(|| framewire_real::join(&sender, &receiver, &directory)).map_err(exception)?;
    let document = json!({
        "status": joined.status,
        "failure": joined.failure,
        "clock_error_s": joined.clock_error_s,
        "summary": joined.summary,
    });
    Ok(document.to_string())
}

pub(crate) fn time(which: &str, seconds: f64) -> PyResult<Duration> {
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| refusal(format!("{which} of {seconds} s: a time above zero is needed")))
}

/// The session description of another program's streams.
fn described(text: &str) -> PyResult<DescribedStreams> {
    let unusable = |reason| refusal(format!("the session description is of no use: {reason}"));
    framewire_real::described_streams(text).map_err(unusable)
}

/// A codec by the suffix of its files, or by FFmpeg's name of it.
fn codec_named(name: &str) -> PyResult<Codec> {
    let of_suffix = Codec::ALL.iter().copied().find(|codec| codec.file_suffix() == name);
    of_suffix.or_else(|| Codec::of_ffmpeg(name)).ok_or_else(|| {
        let names: Vec<&str> = Codec::ALL.iter().map(|codec| codec.file_suffix()).collect();
        refusal(format!("codec \"{name}\": one of {} is needed, or FFmpeg's name of one", names.join(", ")))
    })
}

fn exception(error: RealError) -> PyErr {
    match error {
        RealError::Input(reason) => refusal(reason),
        RealError::Failed(reason) => failure(reason),
        RealError::Stopped => PyKeyboardInterrupt::new_err(()),
        RealError::Write(error) => PyOSError::new_err((error.code, error.reason, error.file)),
    }
}

/// What came of an end, also when Ctrl-C ended it. What else a handler of signals raises, is raised.
pub(crate) fn conclude(
    py: Python<'_>,
    result: Result<Value, RealError>,
    interruption: Option<PyErr>,
) -> PyResult<String> {
    match interruption {
        Some(raised) if !raised.is_instance_of::<PyKeyboardInterrupt>(py) => Err(raised),
        _ => result.map(|document| document.to_string()).map_err(exception),
    }
}

fn of_sent(sent: &Sent) -> Value {
    json!({
        "status": sent.status,
        "ended_by": sent.ended_by,
        "failure": sent.failure,
        "offered": sent.frames.0,
        "dropped": sent.frames.1,
        "clock_error_s": sent.clock_error_s,
        "unreachable": sent.unreachable,
        "refused_reports": sent.refused_reports,
    })
}

fn of_received(received: &Received) -> Value {
    let frame_rate = received.announcement.frame_rate;
    let movie: &Path = &received.movie;
    json!({
        "status": received.status,
        "ended_by": received.ended_by,
        "failure": received.failure,
        "whole": received.frames.0,
        "dropped": received.frames.1,
        "bytes": received.bytes,
        "movie": movie.file_name().map(|name| name.to_string_lossy().into_owned()),
        "codec": received.announcement.codec.to_string(),
        "ffmpeg_format": received.announcement.codec.ffmpeg_format(),
        "frames_per_second": frame_rate.map(|rate| f64::from(rate.numerator) / f64::from(rate.denominator)),
        "of_others": received.of_others,
        "rejected": received.rejected,
    })
}
