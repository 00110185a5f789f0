//! The scenario file.

mod flow;
mod movie;
mod network;

use std::collections::BTreeMap;
use std::path::PathBuf;

use framewire_adaptive::rate_control::RateControl;
use framewire_media::Scanner;
use framewire_media::access_unit::Codec;
use framewire_media::audio::{AudioCodec, AudioFormat};
use framewire_scenario::{self as scenario, Origin, Scenario, Transport, json_schema};
use framewire_sim::check_codec;
use framewire_units::{Bitrate, Duration, Timestamp, parse_duration};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use self::movie::{Movie, Playout};
use self::network::Network;

create_exception!(
    _native,
    ScenarioError,
    PyValueError,
    "A scenario was refused; the text names key, value and what is allowed."
);

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add_class::<ParsedScenario>()?;
    let former = RateControl::FORMER_NAMES.map(|(former, now)| (former, now.as_str()));
    module.add("FORMER_NAMES", BTreeMap::from(former))?;
    flow::register(module)?;
    network::register(module)?;
    movie::register(module)?;
    module.add_function(wrap_pyfunction!(resolved_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(check_toml, module)?)?;
    module.add_function(wrap_pyfunction!(meant_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(nearest, module)?)?;
    module.add_function(wrap_pyfunction!(trace_rates, module)?)?;
    module.add_function(wrap_pyfunction!(trace_mean_rate, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_schema, module)?)?;
    module.add_function(wrap_pyfunction!(canonical_transport, module)?)?;
    module.add_function(wrap_pyfunction!(transports, module)?)
}

/// A scenario in its resolved form: read once, and then handed from one step of a run to the next.
#[pyclass(frozen, eq, name = "Scenario", module = "framewire._native")]
#[derive(Clone, PartialEq)]
pub(crate) struct ParsedScenario(pub(crate) Scenario);

#[pymethods]
impl ParsedScenario {
    /// Reads a text, in TOML or in JSON, and lays overrides over it.
    #[staticmethod]
    #[pyo3(signature = (text, overrides = Vec::new(), *, json = false, name = None, directory = None, movie_duration_s = None))]
    fn read(
        text: &str,
        overrides: Vec<(String, String)>,
        json: bool,
        name: Option<&str>,
        directory: Option<PathBuf>,
        movie_duration_s: Option<f64>,
    ) -> PyResult<Self> {
        let movie_duration = movie_duration_s.map(duration).transpose()?;
        let origin = Origin { name, directory: directory.as_deref(), movie_duration };
        let parse = if json { Scenario::parse_json_from } else { Scenario::parse_from };
        parse(text, &overrides, origin).map(Self).map_err(refusal)
    }

    /// The resolved form as TOML.
    fn toml(&self) -> String {
        self.0.to_toml()
    }

    /// The resolved form as JSON, as the emulator reads it.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.0).map_err(refusal)
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// `side-by-side` or `together`.
    #[getter]
    fn layout(&self) -> &'static str {
        self.0.layout.as_str()
    }

    /// When a run is ended at the latest.
    #[getter]
    fn limit_s(&self) -> Option<f64> {
        self.0.limit.map(|limit| limit.as_secs_f64())
    }

    /// What is streamed.
    #[getter]
    fn movie(&self) -> Movie {
        Movie(self.0.movie.clone())
    }

    /// What lies between sender and receiver.
    #[getter]
    fn network(&self) -> Network {
        Network(self.0.network.clone())
    }

    /// The player at the receiver.
    #[getter]
    fn playout(&self) -> Playout {
        Playout(self.0.playout)
    }

    /// The flows in order, each of the class of its family.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.0.flows.iter().map(|flow| flow::of(py, flow)).collect()
    }

    /// The names of flows of datagrams that cannot differ with this bottleneck, those that do the same beside each other.
    fn equivalent_flows(&self) -> Vec<Vec<&str>> {
        self.0.equivalent_flows()
    }

    /// Why a flow that sends the movie cannot send it in this codec, by FFmpeg's name of it; `None` where all can, and of a
    /// codec that is none of the lab's.
    fn codec_refusal(&self, codec: &str) -> Option<String> {
        let codec = Codec::of_ffmpeg(codec).filter(|&codec| Scanner::of(codec).is_some())?;
        check_codec(&self.0, codec).err()
    }

    /// The same of sound in this codec, by FFmpeg's name of it.
    fn sound_refusal(&self, codec: &str) -> Option<String> {
        let codec = AudioCodec::ALL.into_iter().find(|known| known.name() == codec)?;
        let format = AudioFormat { codec, sample_rate: 48_000, channels: 2, pre_skip: 0 };
        let kinds = self.0.flows.iter().filter_map(|flow| match flow.transport() {
            Transport::Movie(kind) => Some(kind),
            _ => None,
        });
        kinds.filter_map(|kind| kind.check_sound(format).err()).next()
    }

    /// What decides what a run brings beside its movie, as JSON: names do not, and of the recording of a link not its path
    /// but its digest, which is given by path.
    #[allow(clippy::needless_pass_by_value, reason = "PyO3 extracts it")]
    fn identity(&self, trace_digests: BTreeMap<String, String>) -> PyResult<String> {
        serde_json::to_string(&self.0.identity(&trace_digests)).map_err(refusal)
    }

    /// Whether a flow sends the movie.
    #[getter]
    fn streams_movie(&self) -> bool {
        self.0.streams_movie()
    }

    /// What only the simulated world has, in a sentence; nothing when any world can run it.
    #[getter]
    fn needs_simulation(&self) -> Option<String> {
        self.0.needs_simulation()
    }

    /// The same when the length of the movie, or of a longer ladder, is known.
    fn lasting(&self, movie_duration_s: f64) -> PyResult<Self> {
        self.0.clone().lasting(duration(movie_duration_s)?).map(Self).map_err(refusal)
    }

    /// The same with another seed.
    fn seeded(&self, seed: u64) -> PyResult<Self> {
        self.0.clone().seeded(seed).map(Self).map_err(refusal)
    }

    /// Refuses a network that cannot be in any world: a missing recording, for instance.
    fn check_network(&self) -> PyResult<()> {
        framewire_sim::check_network(&self.0).map_err(refusal)
    }

    /// Refuses what the simulated world cannot run.
    fn check_simulated(&self) -> PyResult<()> {
        framewire_sim::check_scenario(&self.0).map_err(refusal)
    }

    /// It travels between processes as its resolved form.
    fn __reduce__(&self, py: Python<'_>) -> PyResult<(Py<PyAny>, (String,))> {
        // Pickle looks for the module's own function.
        let read = py.import("framewire._native")?.getattr("resolved_scenario")?;
        Ok((read.unbind(), (self.json()?,)))
    }

    fn __repr__(&self) -> String {
        let flows: Vec<&str> = self.0.flows.iter().map(|flow| flow.name.as_str()).collect();
        format!("Scenario({:?}, flows {})", self.0.name, flows.join(", "))
    }
}

/// Reads the resolved form of a scenario, in JSON.
#[pyfunction]
fn resolved_scenario(json: &str) -> PyResult<ParsedScenario> {
    Scenario::parse_json_from(json, &[], Origin::default()).map(ParsedScenario).map_err(refusal)
}

fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds).map_err(refusal)
}

fn refusal(error: impl std::fmt::Display) -> PyErr {
    ScenarioError::new_err(error.to_string())
}

/// Refuses a text that is not TOML, or nested so deeply that another reader would run out of memory over it.
#[pyfunction]
fn check_toml(text: &str) -> PyResult<()> {
    framewire_scenario::check_toml(text).map_err(refusal)
}

/// What a text was meant to be that is no `rate` or no `duration`: `6 Mbit/s` of `6 Mbps`.
#[pyfunction]
fn meant_quantity(text: &str, quantity: &str) -> Option<String> {
    let refused = if quantity == "rate" { text.parse::<Bitrate>().err() } else { parse_duration(text).err() };
    refused.and_then(|error| error.meant().map(str::to_owned))
}

/// What the recording of a link (`network.wire.trace`) can carry in each of the first seconds, in bit/s.
#[pyfunction]
fn trace_rates(path: &str, seconds: u32) -> PyResult<Vec<u64>> {
    let trace = framewire_sim::read_trace("network.wire.trace", path).map_err(refusal)?;
    let at = |second: u32| Timestamp::from_millis(u64::from(second) * 1_000);
    let rates = (0..seconds).filter_map(|second| trace.rate_between(at(second), at(second.saturating_add(1))));
    Ok(rates.map(|rate| rate.as_bps()).collect())
}

/// The mean rate of the recording of a link, in bit/s.
#[pyfunction]
fn trace_mean_rate(path: &str) -> PyResult<u64> {
    let trace = framewire_sim::read_trace("network.wire.trace", path)
        .map_err(|error| ScenarioError::new_err(error.to_string()))?;
    Ok(trace.mean_rate().as_bps())
}

/// A transport: its name and another one, what it is, its parts, its settings, and whether it has an entry of its own.
type TransportRow = ((&'static str, Option<&'static str>, &'static str, &'static str), Option<Parts>, Settings, bool);
/// Queue, format, session and socket, what it does when the socket is full, and whether its receiver asks for what is sent.
type Parts = (&'static str, &'static str, &'static str, &'static str, Option<&'static str>, bool);
/// Send buffer in bytes, device queue in packets, unsent limit in bytes.
type Settings = (Option<u64>, u32, Option<u64>);

/// The known word that may have been meant by one that is none; `None` where none is near enough.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "PyO3 extracts it")]
fn nearest(word: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    framewire_scenario::nearest(word, &known).map(str::to_owned)
}

/// What a transport is called in the table, by any of its names (`rtp` is `udp-blocking`); `None` where none is called so.
#[pyfunction]
fn canonical_transport(name: &str) -> Option<&'static str> {
    Transport::of_name(name).ok().map(Transport::as_str)
}

/// All transports: name, another one, family (`datagram`, `stream`, `adaptive`, `bulk` or `external`) and what each does; its parts,
/// which all have but `external`; default settings.
#[pyfunction]
fn transports() -> Vec<TransportRow> {
    let row = |one: Transport| {
        let of = |parts: scenario::Parts| {
            let scenario::Parts { queue, format, session, socket, overflow, asks } = parts;
            (queue, format, session, socket, overflow, asks)
        };
        let parts = one.parts().map(of);
        let settings = one.settings();
        let settings = (
            settings.send_buffer.map(|size| size.as_bytes()),
            settings.device_queue,
            settings.unsent_limit.map(|size| size.as_bytes()),
        );
        (
            (one.as_str(), one.also_called(), one.family().as_str(), one.summary()),
            parts,
            settings,
            Transport::ALL.contains(&one),
        )
    };
    Transport::every().map(row).collect()
}

/// The JSON schema of the scenario file.
#[pyfunction]
fn scenario_schema() -> String {
    json_schema().to_string()
}
