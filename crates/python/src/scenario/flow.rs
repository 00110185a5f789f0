//! Flows of a scenario for Python: what every flow has, and a class for each family. Quantities are numbers in units that
//! their names say.

use framewire_scenario::{self as scenario, FlowKind, Text};
use framewire_units::Bitrate;
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Flow>()?;
    module.add_class::<DatagramFlow>()?;
    module.add_class::<StreamFlow>()?;
    module.add_class::<AdaptiveFlow>()?;
    module.add_class::<BulkFlow>()?;
    module.add_class::<ExternalFlow>()
}

/// What every flow has.
#[pyclass(frozen, subclass, get_all, module = "framewire._native")]
struct Flow {
    name: String,
    transport: &'static str,
    station: u8,
    mtu: u16,
    device_queue: u32,
    /// Of its connections, or the default of its applications' hosts; `None` over datagrams.
    congestion: Option<String>,
}

#[pymethods]
impl Flow {
    fn __repr__(&self) -> String {
        format!("Flow({:?}, {})", self.name, self.transport)
    }
}

/// The movie in datagrams.
#[pyclass(frozen, get_all, extends = Flow, module = "framewire._native")]
struct DatagramFlow {
    packets: &'static str,
    /// `none`, `frame-interval` or a time, as the file writes it.
    spread: String,
    damaged: &'static str,
    rtcp: Option<&'static str>,
    send_buffer: Option<u64>,
    pacing: Option<&'static str>,
    /// In bit/s.
    ts_rate: Option<u64>,
}

/// The movie as a stream of bytes.
#[pyclass(frozen, get_all, extends = Flow, module = "framewire._native")]
struct StreamFlow {
    rtcp: Option<&'static str>,
    send_buffer: Option<u64>,
    unsent_limit: Option<u64>,
    pacing: Option<&'static str>,
    /// In bit/s.
    ts_rate: Option<u64>,
}

/// Levels of a ladder, in datagrams.
#[pyclass(frozen, get_all, extends = Flow, module = "framewire._native")]
struct AdaptiveFlow {
    send_buffer: Option<u64>,
    start_s: f64,
    start_within_s: Option<f64>,
    ack_every: u16,
}

/// TCP connections that always have data.
#[pyclass(frozen, get_all, extends = Flow, module = "framewire._native")]
struct BulkFlow {
    send_buffer: Option<u64>,
    unsent_limit: Option<u64>,
    start_s: f64,
    start_within_s: Option<f64>,
    stop_s: Option<f64>,
    connections: u8,
}

/// What applications send.
#[pyclass(frozen, extends = Flow, module = "framewire._native")]
struct ExternalFlow;

/// A flow, of its family's class.
pub(super) fn of(py: Python<'_>, flow: &scenario::Flow) -> PyResult<Py<PyAny>> {
    let send_buffer = flow.send_buffer().map(|size| size.as_bytes());
    let start_within_s = flow.start_within().map(|within| within.as_secs_f64());
    let unsent_limit = flow.tcp().and_then(|tcp| tcp.unsent_limit).map(|size| size.as_bytes());
    let every = PyClassInitializer::from(Flow {
        name: flow.name.clone(),
        transport: flow.transport().as_str(),
        station: flow.station,
        mtu: flow.mtu,
        device_queue: flow.device_queue,
        congestion: flow.congestion().map(str::to_owned),
    });
    Ok(match &flow.kind {
        FlowKind::Datagram(own) => {
            let own = DatagramFlow {
                packets: own.packets.as_str(),
                spread: own.spread.show(),
                damaged: own.damaged.as_str(),
                rtcp: own.rtcp.map(|rtcp| rtcp.as_str()),
                send_buffer,
                pacing: own.pacing.map(|pacing| pacing.as_str()),
                ts_rate: own.ts_rate.map(Bitrate::as_bps),
            };
            Py::new(py, every.add_subclass(own))?.into_any()
        }
        FlowKind::Stream(own) => {
            let (rtcp, pacing) = (own.rtcp.map(|rtcp| rtcp.as_str()), own.pacing.map(|pacing| pacing.as_str()));
            let ts_rate = own.ts_rate.map(Bitrate::as_bps);
            Py::new(py, every.add_subclass(StreamFlow { rtcp, send_buffer, unsent_limit, pacing, ts_rate }))?.into_any()
        }
        FlowKind::Adaptive(own) => {
            let start_s = own.start.as_secs_f64();
            let own = AdaptiveFlow { send_buffer, start_s, start_within_s, ack_every: own.ack_every };
            Py::new(py, every.add_subclass(own))?.into_any()
        }
        FlowKind::Bulk(own) => {
            let own = BulkFlow {
                send_buffer,
                unsent_limit,
                start_s: own.start.as_secs_f64(),
                start_within_s,
                stop_s: own.stop.map(|stop| stop.as_secs_f64()),
                connections: own.connections,
            };
            Py::new(py, every.add_subclass(own))?.into_any()
        }
        FlowKind::External(_) => Py::new(py, every.add_subclass(ExternalFlow))?.into_any(),
    })
}
