//! Serving adaptive streams over this kernel's sockets.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;

use framewire_adaptive::datagram::Drops;
use framewire_adaptive::rate_control::RateControl;
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::vtp::Estimate;
use framewire_endpoint::{
    EndpointError, FileService, NotServed, Served, Serving, SessionsWithoutFeedback, random_secret,
};
use framewire_sim::Cancel;
use framewire_units::DataSize;
use framewire_wire::vtp::{Key, Title};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::host_events::{of_host, of_no_feedback};
use crate::interruption::interruptible;
use crate::ladder::NotAStreamingFile;

create_exception!(_native, EndpointFailure, PyRuntimeError, "A server or a client could not do its work.");
create_exception!(_native, EndpointRefusal, PyValueError, "A file, a title, a key or an address was refused.");

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("EndpointFailure", module.py().get_type::<EndpointFailure>())?;
    module.add("EndpointRefusal", module.py().get_type::<EndpointRefusal>())?;
    module.add("CONTROLLERS", RateControl::ALL.map(RateControl::as_str))?;
    module.add("ESTIMATES", Estimate::NAMES)?;
    module.add_function(wrap_pyfunction!(serve_stream, module)?)?;
    module.add_function(wrap_pyfunction!(crate::viewing::view_stream, module)?)
}

/// Serves a streaming file to any number of clients until interrupted, or until `sessions` have ended. `listener` is called
/// with a kind and JSON: `"listening"` once, then `"event"`. Returns what came of it, as JSON.
#[pyfunction]
#[pyo3(signature = (path, listener, *, title, data, control, controller, ack_every, estimate, estimate_header, key, clients, sessions))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
fn serve_stream(
    py: Python<'_>,
    path: PathBuf,
    listener: Py<PyAny>,
    title: &str,
    data: &str,
    control: &str,
    controller: &str,
    ack_every: u16,
    estimate: &str,
    estimate_header: Option<u16>,
    key: Option<Vec<u8>>,
    clients: usize,
    sessions: Option<u64>,
) -> PyResult<String> {
    let controller: RateControl = controller.parse().map_err(refusal)?;
    let header = estimate_header.map(|bytes| DataSize::from_bytes(bytes.into()));
    let estimate = Estimate::named(estimate, header).map_err(refusal)?;
    let server = ServerSettings {
        ack_every,
        key: shared_key(key)?,
        repeats: controller.repeats(),
        ..ServerSettings::paper(title_of(title)?, random_secret().map_err(failure)?)
    };
    let service = FileService { server, rate_control: controller, estimate, clients };
    let served = service.open(&path).map_err(|error| {
        let said = format!("{}: {error}", path.display());
        match error {
            NotServed::OtherFormat(_) => NotAStreamingFile::new_err(said),
            NotServed::Refused(_) => refusal(said),
        }
    })?;
    let serving = Serving::open(served.host, address("data", data)?, address("control", control)?).map_err(failure)?;
    let addresses = serving.addresses().map_err(failure)?;
    let audio = served.audio.map(|audio| audio.to_string());
    let listening = json!({ "audio": audio, "data": addresses[0].to_string(), "control": addresses[1].to_string() });
    listener.call1(py, ("listening", listening.to_string()))?;
    let (served, interruption) = interruptible(py, &Cancel::new(), |cancel| {
        let without_feedback = RefCell::new(SessionsWithoutFeedback::new(controller));
        serving.run_and_watch(
            sessions,
            || cancel.is_raised(),
            |now, event, host| {
                without_feedback.borrow_mut().handle(now, event);
                tell(&listener, &of_host(now, event, host));
            },
            |now, host| {
                if let Some(session) = without_feedback.borrow_mut().poll(now, host) {
                    tell(&listener, &of_no_feedback(now, session, host));
                }
            },
        )
    });
    conclude(py, served.map(|served| of_served(&served)), interruption)
}

pub(crate) fn title_of(text: &str) -> PyResult<Title> {
    Title::new(text).ok_or_else(|| refusal(format!("title \"{text}\": at most 255 bytes are allowed")))
}

pub(crate) fn shared_key(bytes: Option<Vec<u8>>) -> PyResult<Option<Key>> {
    let Some(bytes) = bytes else { return Ok(None) };
    let key = Key::new(&bytes)
        .ok_or_else(|| refusal(format!("the key has {} bytes, at least 16 are needed", bytes.len())))?;
    Ok(Some(key))
}

pub(crate) fn address(which: &str, text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| {
        refusal(format!("{which} address \"{text}\": an IP address and a port are needed, as 127.0.0.1:5004"))
    })
}

pub(crate) fn failure(reason: impl ToString) -> PyErr {
    EndpointFailure::new_err(reason.to_string())
}

pub(crate) fn refusal(reason: impl ToString) -> PyErr {
    EndpointRefusal::new_err(reason.to_string())
}

/// What a listener in Python raises does not stop the stream; the interpreter reports it.
pub(crate) fn tell(listener: &Py<PyAny>, event: &Value) {
    Python::attach(|py| {
        if let Err(raised) = listener.call1(py, ("event", event.to_string())) {
            raised.write_unraisable(py, None);
        }
    });
}

/// What came of it, also when Ctrl-C ended it: that stands in it. What else a handler of signals raises, is raised.
pub(crate) fn conclude(
    py: Python<'_>,
    result: Result<Value, EndpointError>,
    interruption: Option<PyErr>,
) -> PyResult<String> {
    let mut document = result.map_err(failure)?;
    document["interrupted"] = interruption.is_some().into();
    match interruption {
        Some(raised) if !raised.is_instance_of::<PyKeyboardInterrupt>(py) => Err(raised),
        _ => Ok(document.to_string()),
    }
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

pub(crate) fn of_drops(drops: &Drops) -> Value {
    drops.iter().map(|(reason, count)| (format!("{reason:?}"), count.into())).collect::<serde_json::Map<_, _>>().into()
}
