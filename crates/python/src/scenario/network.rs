//! The network of a scenario for Python. Quantities are numbers in units that their names say; where a name says none, the
//! quantity stands as the file writes it, for people to read.

use framewire_link::{Interval, LossConfig};
use framewire_scenario::{self as scenario, Text};
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Network>()?;
    module.add_class::<PathNetwork>()?;
    module.add_class::<WiredLink>()?;
    module.add_class::<Cell>()?;
    module.add_class::<Wifi>()?;
    module.add_class::<Wire>()?;
    module.add_class::<BurstLoss>()
}

/// What lies between sender and receiver.
#[pyclass(frozen, module = "framewire._native")]
pub(super) struct Network(pub(super) scenario::Network);

#[pymethods]
impl Network {
    #[getter]
    fn kind(&self) -> &'static str {
        match &self.0 {
            scenario::Network::Path(path) => path.kind.as_str(),
            scenario::Network::Graph(graph) => graph.kind.as_str(),
        }
    }

    /// The short form between a sender and a receiver; `None` for a graph.
    #[getter]
    fn path(&self) -> Option<PathNetwork> {
        self.0.as_path().map(|path| PathNetwork {
            bottleneck: path.bottleneck.as_str(),
            wifi: path.wifi.as_ref().map(Wifi::from),
            wire: Wire::from(&path.wire),
        })
    }

    /// The nodes of a graph, in the order of their names; none of a short form.
    #[getter]
    fn nodes(&self) -> Vec<String> {
        self.0.as_graph().map(|graph| graph.nodes().into_iter().map(str::to_owned).collect()).unwrap_or_default()
    }

    /// The wired links of a graph, by name.
    #[getter]
    fn wired(&self) -> Vec<WiredLink> {
        let link = |(name, link): (&str, &scenario::WiredLink)| WiredLink {
            name: name.to_owned(),
            between: link.between.clone().into(),
            forward: Wire::from(&link.forward.wire),
            backward: Wire::from(&link.backward.wire),
        };
        self.0.as_graph().map(|graph| graph.wired().map(link).collect()).unwrap_or_default()
    }

    /// The wireless cells of a graph, by name.
    #[getter]
    fn cells(&self) -> Vec<Cell> {
        let cell = |(name, cell): (&str, &scenario::Cell)| Cell {
            name: name.to_owned(),
            access_point: cell.access_point.clone(),
            stations: cell.stations.clone(),
            wifi: Wifi::from(&cell.wifi),
        };
        self.0.as_graph().map(|graph| graph.cells().map(cell).collect()).unwrap_or_default()
    }

    /// Recordings of links, by path.
    #[getter]
    fn traces(&self) -> Vec<String> {
        self.0.wires().into_iter().filter_map(|(_, wire)| wire.trace.clone()).collect()
    }
}

/// A network between a sender and a receiver.
#[pyclass(frozen, get_all, module = "framewire._native")]
struct PathNetwork {
    bottleneck: &'static str,
    wifi: Option<Wifi>,
    wire: Wire,
}

/// A wired link of a graph.
#[pyclass(frozen, get_all, module = "framewire._native")]
struct WiredLink {
    name: String,
    between: (String, String),
    forward: Wire,
    backward: Wire,
}

/// A wireless cell of a graph.
#[pyclass(frozen, get_all, module = "framewire._native")]
struct Cell {
    name: String,
    access_point: String,
    stations: Vec<String>,
    wifi: Wifi,
}

impl From<&scenario::Wifi> for Wifi {
    fn from(wifi: &scenario::Wifi) -> Self {
        Self {
            standard: wifi.standard.as_str(),
            rate: wifi.rate.show(),
            retry: wifi.retry,
            queue: wifi.queue.show(),
            queue_discipline: wifi.queue_discipline.as_str(),
            contenders: wifi.contenders,
            oven: wifi.oven.as_ref().map(|oven| intervals(&oven.on)).unwrap_or_default(),
        }
    }
}

impl From<&scenario::Wire> for Wire {
    fn from(wire: &scenario::Wire) -> Self {
        Self {
            rate: wire.rate.as_ref().map(Text::show),
            rate_bps: wire.rate.map(|rate| rate.as_bps()),
            trace: wire.trace.clone(),
            delay: wire.delay.show(),
            jitter: wire.jitter.show(),
            jitter_s: wire.jitter.as_secs_f64(),
            queue: wire.queue.show(),
            queue_discipline: wire.queue_discipline.as_str(),
            outages: intervals(&wire.outages),
            loss: Loss::from(&wire.loss),
        }
    }
}

/// One hop of IEEE 802.11.
#[pyclass(frozen, get_all, module = "framewire._native")]
#[derive(Clone)]
struct Wifi {
    standard: &'static str,
    rate: String,
    retry: u8,
    queue: String,
    queue_discipline: &'static str,
    contenders: u16,
    /// When a microwave oven is on.
    oven: Vec<(f64, f64)>,
}

/// The wire behind the access point, or the link itself.
#[pyclass(frozen, get_all, module = "framewire._native")]
#[derive(Clone)]
struct Wire {
    rate: Option<String>,
    rate_bps: Option<u64>,
    trace: Option<String>,
    delay: String,
    jitter: String,
    jitter_s: f64,
    queue: String,
    queue_discipline: &'static str,
    outages: Vec<(f64, f64)>,
    loss: Loss,
}

/// The probability that a packet is lost, or bursts of losses.
#[derive(Clone, IntoPyObject)]
enum Loss {
    Random(f64),
    Bursts(BurstLoss),
}

impl From<&LossConfig> for Loss {
    fn from(loss: &LossConfig) -> Self {
        match loss {
            LossConfig::None => Self::Random(0.0),
            LossConfig::Bernoulli(probability) => Self::Random(probability.get()),
            LossConfig::GilbertElliott(chain) => Self::Bursts(BurstLoss {
                good_to_bad: chain.good_to_bad.get(),
                bad_to_good: chain.bad_to_good.get(),
                loss_good: chain.loss_good.get(),
                loss_bad: chain.loss_bad.get(),
            }),
        }
    }
}

/// Probabilities of a chain of two states (Gilbert 1960, Elliott 1963).
#[pyclass(frozen, get_all, module = "framewire._native")]
#[derive(Clone)]
struct BurstLoss {
    good_to_bad: f64,
    bad_to_good: f64,
    loss_good: f64,
    loss_bad: f64,
}

/// Beginnings and ends in seconds of the run.
fn intervals(intervals: &[Interval]) -> Vec<(f64, f64)> {
    intervals.iter().map(|interval| (interval.start.as_secs_f64(), interval.end.as_secs_f64())).collect()
}
