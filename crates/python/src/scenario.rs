//! The scenario file.

use std::path::PathBuf;

use framewire_media::access_unit::Codec;
use framewire_scenario::{Origin, Scenario, Transport, json_schema};
use framewire_units::{Bitrate, Duration, Timestamp, parse_duration};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

create_exception!(
    _native,
    ScenarioError,
    PyValueError,
    "A scenario was refused; the text names key, value and what is allowed."
);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_function(wrap_pyfunction!(resolve_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(check_toml, module)?)?;
    module.add_function(wrap_pyfunction!(meant_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(needs_simulation, module)?)?;
    module.add_function(wrap_pyfunction!(check_simulated, module)?)?;
    module.add_function(wrap_pyfunction!(check_network, module)?)?;
    module.add_function(wrap_pyfunction!(codec_refusal, module)?)?;
    module.add_function(wrap_pyfunction!(trace_rates, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_schema, module)?)?;
    module.add_function(wrap_pyfunction!(transports, module)?)
}

/// Reads a scenario and returns its resolved form as TOML and as JSON.
#[pyfunction]
#[pyo3(signature = (text, overrides = Vec::new(), *, json = false, name = None, directory = None, movie_duration_s = None))]
fn resolve_scenario(
    text: &str,
    overrides: Vec<(String, String)>,
    json: bool,
    name: Option<&str>,
    directory: Option<PathBuf>,
    movie_duration_s: Option<f64>,
) -> PyResult<(String, String)> {
    let movie_duration = movie_duration_s
        .map(|seconds| Duration::try_from_secs_f64(seconds).map_err(|error| ScenarioError::new_err(error.to_string())))
        .transpose()?;
    let origin = Origin { name, directory: directory.as_deref(), movie_duration };
    let parse = if json { Scenario::parse_json_from } else { Scenario::parse_from };
    let scenario = parse(text, &overrides, origin).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    let json = serde_json::to_string(&scenario).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Ok((scenario.to_toml(), json))
}

/// Refuses a text that is not TOML, or nested so deeply that another reader would run out of memory over it.
#[pyfunction]
fn check_toml(text: &str) -> PyResult<()> {
    framewire_scenario::check_toml(text).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// What a text was meant to be that is no `rate` or no `duration`: `6 Mbit/s` of `6 Mbps`.
#[pyfunction]
fn meant_quantity(text: &str, quantity: &str) -> Option<String> {
    let refused = if quantity == "rate" { text.parse::<Bitrate>().err() } else { parse_duration(text).err() };
    refused.and_then(|error| error.meant().map(str::to_owned))
}

/// What of a resolved scenario (JSON) only the simulated world has, in a sentence; nothing when any world can run it.
#[pyfunction]
fn needs_simulation(scenario: &str) -> PyResult<Option<String>> {
    let scenario: Scenario =
        serde_json::from_str(scenario).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Ok(scenario.needs_simulation())
}

/// Refuses a resolved scenario (JSON) whose network cannot be in any world: a missing recording, for instance.
#[pyfunction]
fn check_network(scenario: &str) -> PyResult<()> {
    let scenario: Scenario =
        serde_json::from_str(scenario).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    framewire_sim::check_network(&scenario).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// Why the first of these flows, each a name and a transport, cannot send a movie of a codec, by FFmpeg's name of it;
/// `None` where all can, and of a codec that is none of the lab's.
#[pyfunction]
fn codec_refusal(codec: &str, flows: Vec<(String, String)>) -> PyResult<Option<String>> {
    let codec = match codec {
        "mpeg1video" | "mpeg2video" => Codec::MpegVideo,
        "h264" => Codec::H264,
        "hevc" => Codec::H265,
        _ => return Ok(None),
    };
    for (flow, transport) in flows {
        let unknown = || ScenarioError::new_err(format!("flow {flow}: no transport \"{transport}\""));
        if let Transport::Movie(kind) = Transport::named(&transport).ok_or_else(unknown)?
            && let Err(reason) = kind.check_codec(codec)
        {
            return Ok(Some(format!("flow {flow}: {reason}")));
        }
    }
    Ok(None)
}

/// What the recording of a link (`network.wire.trace`) can carry in each of the first seconds, in bit/s.
#[pyfunction]
fn trace_rates(path: &str, seconds: u32) -> PyResult<Vec<u64>> {
    let trace = framewire_sim::read_trace(path).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    let at = |second: u32| Timestamp::from_millis(u64::from(second) * 1_000);
    let rates = (0..seconds).filter_map(|second| trace.rate_between(at(second), at(second.saturating_add(1))));
    Ok(rates.map(|rate| rate.as_bps()).collect())
}

/// Refuses a resolved scenario (JSON) that the simulated world cannot run.
#[pyfunction]
fn check_simulated(scenario: &str) -> PyResult<()> {
    let scenario: Scenario =
        serde_json::from_str(scenario).map_err(|error| ScenarioError::new_err(error.to_string()))?;
    framewire_sim::check_scenario(&scenario).map_err(|error| ScenarioError::new_err(error.to_string()))
}

/// A transport: what it is, its parts, its settings, and whether it has an entry of its own.
type TransportRow = ((&'static str, &'static str, &'static str), Option<Parts>, Settings, bool);
/// Queue, format, session and socket, and what it does when the socket is full.
type Parts = (&'static str, &'static str, &'static str, &'static str, Option<&'static str>);
/// Send buffer in bytes, device queue in packets, unsent limit in bytes.
type Settings = (Option<u64>, u32, Option<u64>);

/// All transports: name, family (`datagram`, `stream`, `adaptive`, `bulk` or `external`) and what each does; the parts of
/// those of the movie; default settings.
#[pyfunction]
fn transports() -> Vec<TransportRow> {
    let row = |one: Transport| {
        let parts = one.parts().map(|parts| {
            let overflow = parts.socket.overflow().map(|overflow| overflow.as_str());
            let socket = parts.socket.socket().as_str();
            (parts.queue.as_str(), parts.format.as_str(), parts.session.as_str(), socket, overflow)
        });
        let settings = one.settings();
        let settings = (
            settings.send_buffer.map(|size| size.as_bytes()),
            settings.device_queue,
            settings.unsent_limit.map(|size| size.as_bytes()),
        );
        ((one.as_str(), one.family().as_str(), one.summary()), parts, settings, Transport::ALL.contains(&one))
    };
    Transport::every().map(row).collect()
}

/// The JSON schema of the scenario file.
#[pyfunction]
fn scenario_schema() -> String {
    json_schema().to_string()
}
