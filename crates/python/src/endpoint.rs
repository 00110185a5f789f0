//! Serving and viewing adaptive streams over this kernel's sockets.

use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use framewire_adaptive::better::{BetterController, BetterSettings};
use framewire_adaptive::binomial::{Binomial, BinomialSettings};
use framewire_adaptive::client::{Client, ClientEvent, ClientSettings, PlayerSettings, ReportKind};
use framewire_adaptive::controller::Controller;
use framewire_adaptive::datagram::Drops;
use framewire_adaptive::fixed::FixedRate;
use framewire_adaptive::frame_plan::FramePlan;
use framewire_adaptive::host::{Host, HostEvent, MakeController};
use framewire_adaptive::rap::Rap;
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::stored::FileSource;
use framewire_adaptive::tfrc::{ReceiverSettings, SegmentSize, SenderSettings, TfrcController};
use framewire_adaptive::vtp::{VtpController, VtpSettings};
use framewire_endpoint::{EndpointError, Served, Serving, Viewed, Viewing, random_secret, random_session};
use framewire_media::streaming_file::StreamingFile;
use framewire_units::{DataSize, Timestamp};
use framewire_wire::vtp::{Key, Title};
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::interruption::interruptible;

create_exception!(_native, EndpointFailure, PyRuntimeError, "A server or a client could not do its work.");

/// Controllers by name, and what each is.
const CONTROLLERS: [&str; 7] = ["vtp", "better", "tfrc", "rap", "sqrt", "aimd", "fixed"];

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EndpointFailure", module.py().get_type::<EndpointFailure>())?;
    module.add("CONTROLLERS", CONTROLLERS)?;
    module.add_function(wrap_pyfunction!(serve_stream, module)?)?;
    module.add_function(wrap_pyfunction!(view_stream, module)?)
}

/// Serves a streaming file to any number of clients until interrupted, or until `sessions` have ended. `told` is called
/// with a kind and JSON: `"listening"` once, then `"event"`. Returns what came of it, as JSON.
#[pyfunction]
#[pyo3(signature = (path, told, *, title, data, control, controller, ack_every, key, clients, sessions))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
fn serve_stream(
    py: Python<'_>,
    path: PathBuf,
    told: Py<PyAny>,
    title: &str,
    data: &str,
    control: &str,
    controller: &str,
    ack_every: u16,
    key: Option<Vec<u8>>,
    clients: usize,
    sessions: Option<u64>,
) -> PyResult<String> {
    let file = File::open(&path).map_err(|error| failure(format!("{}: {error}", path.display())))?;
    let file = StreamingFile::open(file).map_err(|error| failure(format!("{}: {error}", path.display())))?;
    let payload = u16::try_from(file.payload()).map_err(|_| failure("the packets of the file are too large"))?;
    let settings = ServerSettings {
        ack_every,
        key: shared_key(key)?,
        buffer: file.plan().client_buffer,
        payload,
        // The paper's server sends nothing again.
        repeats: controller == "better",
        ..ServerSettings::paper(title_of(title)?, random_secret().map_err(failure)?)
    };
    let plan = Arc::new(FramePlan::of_file(&file));
    let make = maker(controller, DataSize::from_bytes(payload.into()), &plan)?;
    let host = Host::new(Arc::new(FileSource::new(file)), plan, make, settings, clients).map_err(failure)?;
    let serving = Serving::open(host, address("data", data)?, address("control", control)?).map_err(failure)?;
    let addresses = serving.addresses().map_err(failure)?;
    let listening = json!({ "data": addresses[0].to_string(), "control": addresses[1].to_string() });
    told.call1(py, ("listening", listening.to_string()))?;
    let (served, interruption) = interruptible(py, |cancel| {
        serving.run(sessions, || cancel.is_raised(), |now, event, host| tell(&told, &of_host(now, event, host)))
    });
    conclude(served.map(|served| of_served(&served)), interruption)
}

/// Receives a stream until it ends or is interrupted, into a file where `path` is given. `told` is called with
/// `"event"` and JSON. Returns what came of it, as JSON.
#[pyfunction]
#[pyo3(signature = (path, told, *, title, data, control, tfrc, repeats, key))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
fn view_stream(
    py: Python<'_>,
    path: Option<PathBuf>,
    told: Py<PyAny>,
    title: &str,
    data: &str,
    control: &str,
    tfrc: bool,
    repeats: bool,
    key: Option<Vec<u8>>,
) -> PyResult<String> {
    let settings = ClientSettings {
        key: shared_key(key)?,
        reports: if tfrc { ReportKind::Tfrc(ReceiverSettings::default()) } else { ReportKind::Control },
        player: repeats.then(PlayerSettings::default),
        ..ClientSettings::paper(title_of(title)?, random_session().map_err(failure)?)
    };
    let viewing = Viewing::open(Client::new(settings), address("data", data)?, address("control", control)?);
    let viewing = viewing.map_err(failure)?;
    let sink = sink(path.as_deref())?;
    let (viewed, interruption) = interruptible(py, |cancel| {
        viewing.run(
            sink,
            || cancel.is_raised(),
            |now, event| {
                if let Some(text) = of_client(now, event) {
                    tell(&told, &text);
                }
            },
        )
    });
    conclude(viewed.map(|viewed| of_viewed(&viewed)), interruption)
}

fn sink(path: Option<&Path>) -> PyResult<Box<dyn std::io::Write + Send>> {
    let Some(path) = path else { return Ok(Box::new(std::io::sink())) };
    let file = File::create(path).map_err(|error| failure(format!("{}: {error}", path.display())))?;
    Ok(Box::new(BufWriter::new(file)))
}

fn maker(name: &str, payload: DataSize, plan: &Arc<FramePlan>) -> PyResult<MakeController> {
    let unknown = || failure(format!("controller \"{name}\" does not exist; {} do", CONTROLLERS.join(", ")));
    let binomial = |settings: BinomialSettings| -> MakeController {
        Box::new(move || Box::new(Binomial::new(settings).expect("invariant: these settings are the library's own")))
    };
    Ok(match name {
        "vtp" => Box::new(|| {
            let controller = VtpController::new(VtpSettings::paper());
            Box::new(controller.expect("invariant: these settings are the library's own")) as Box<dyn Controller>
        }),
        "better" => {
            let plan = plan.clone();
            Box::new(move || {
                let controller = BetterController::new(BetterSettings::default(), Some(plan.clone()));
                Box::new(controller.expect("invariant: these settings are the library's own"))
            })
        }
        "tfrc" => {
            let settings = SenderSettings { segment: SegmentSize::Nominal(payload), ..SenderSettings::default() };
            Box::new(move || Box::new(TfrcController::new(settings)))
        }
        "rap" => Box::new(move || Box::new(Rap::new(payload, true))),
        "sqrt" => binomial(BinomialSettings { payload, ..BinomialSettings::SQRT }),
        "aimd" => binomial(BinomialSettings { payload, ..BinomialSettings::AIMD }),
        "fixed" => Box::new(|| Box::new(FixedRate::new())),
        _ => return Err(unknown()),
    })
}

fn title_of(text: &str) -> PyResult<Title> {
    Title::new(text).ok_or_else(|| failure(format!("title \"{text}\": at most 255 bytes are allowed")))
}

fn shared_key(bytes: Option<Vec<u8>>) -> PyResult<Option<Key>> {
    let Some(bytes) = bytes else { return Ok(None) };
    let key = Key::new(&bytes)
        .ok_or_else(|| failure(format!("the key has {} bytes, at least 16 are needed", bytes.len())))?;
    Ok(Some(key))
}

fn address(which: &str, text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| {
        failure(format!("{which} address \"{text}\": an IP address and a port are needed, as 127.0.0.1:5004"))
    })
}

fn failure(reason: impl ToString) -> PyErr {
    EndpointFailure::new_err(reason.to_string())
}

/// What a listener in Python raises does not stop the stream; the interpreter reports it.
fn tell(told: &Py<PyAny>, event: &Value) {
    Python::attach(|py| {
        if let Err(raised) = told.call1(py, ("event", event.to_string())) {
            raised.write_unraisable(py, None);
        }
    });
}

fn conclude(result: Result<Value, EndpointError>, interruption: Option<PyErr>) -> PyResult<String> {
    let value = result.map_err(failure)?;
    match interruption {
        Some(raised) => Err(raised),
        None => Ok(value.to_string()),
    }
}

fn of_host(now: Timestamp, event: &HostEvent, host: &Host) -> Value {
    let state = host.state(event.session).map(|state| {
        json!({
            "rate_bps": state.controller.rate.as_bps(),
            "estimate_bps": state.controller.estimate.map(|estimate| estimate.as_bps()),
            "round_trip_s": state.controller.round_trip.map(|time| time.as_secs_f64()),
            "frame": state.frame,
            "packets": state.packets,
            "repeated": state.repeats.repeated,
        })
    });
    json!({
        "at_s": now.as_secs_f64(),
        "session": event.session,
        "event": format!("{:?}", event.event),
        "sessions": host.sessions(),
        "state": state,
    })
}

fn of_client(now: Timestamp, event: &ClientEvent) -> Option<Value> {
    let at_s = now.as_secs_f64();
    Some(match event {
        ClientEvent::FrameComplete(frame) => json!({
            "at_s": at_s, "event": "frame", "frame": frame.frame, "level": frame.level, "key": frame.key,
            "bytes": frame.bytes.len(), "arrived_s": frame.arrived.as_secs_f64(),
            "media_time_s": frame.media_time.as_secs_f64(),
        }),
        ClientEvent::FramesLost { first, count } => {
            json!({ "at_s": at_s, "event": "lost", "frame": first, "count": count })
        }
        ClientEvent::LevelChanged { frame, from, to } => {
            json!({ "at_s": at_s, "event": "level", "frame": frame, "from": from, "to": to })
        }
        ClientEvent::Described(description) => json!({
            "at_s": at_s, "event": "described", "frames": description.frames,
            "duration_s": description.duration.as_secs_f64(), "client_buffer": description.buffer.as_bytes(),
            "rates_bps": description.rates.iter().map(|rate| rate.as_bps()).collect::<Vec<_>>(),
        }),
        ClientEvent::Ended(reason) => json!({ "at_s": at_s, "event": "ended", "reason": format!("{reason:?}") }),
        ClientEvent::Packet { .. } => return None,
    })
}

fn of_served(served: &Served) -> Value {
    let late = |per_mille| served.lateness.quantile(per_mille).map(|time| time.as_secs_f64());
    json!({
        "sessions": served.sessions,
        "drops": of_drops(&served.drops),
        "lateness_s": { "p50": late(500), "p99": late(990), "max": served.lateness.most().as_secs_f64() },
        "departures": served.lateness.count(),
    })
}

fn of_viewed(viewed: &Viewed) -> Value {
    json!({
        "ended": format!("{:?}", viewed.ended),
        "frames": viewed.state.frames_complete,
        "frames_lost": viewed.state.frames_lost,
        "frames_by_level": viewed.frames_by_level,
        "packets": viewed.state.packets,
        "packets_missing": viewed.state.missing,
        "packets_repeated": viewed.state.repeated,
        "bytes": viewed.written,
        "drops": of_drops(&viewed.state.drops),
    })
}

fn of_drops(drops: &Drops) -> Value {
    drops.iter().map(|(reason, count)| (format!("{reason:?}"), count.into())).collect::<serde_json::Map<_, _>>().into()
}
