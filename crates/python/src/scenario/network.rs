//! The network of a scenario for Python. Quantities are numbers in units that their names say; where a name says none, the
//! quantity stands as the file writes it, for people to read.

use framewire_link::{Interval, LossConfig};
use framewire_scenario::{self as scenario, Text};
use pyo3::prelude::*;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Network>()?;
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
        self.0.kind.as_str()
    }

    #[getter]
    fn bottleneck(&self) -> &'static str {
        self.0.bottleneck.as_str()
    }

    /// The wireless hop, where there is one.
    #[getter]
    fn wifi(&self) -> Option<Wifi> {
        self.0.wifi.as_ref().map(|wifi| Wifi {
            standard: wifi.standard.as_str(),
            rate: wifi.rate.show(),
            retry: wifi.retry,
            queue: wifi.queue.show(),
            queue_discipline: wifi.queue_discipline.as_str(),
            contenders: wifi.contenders,
            oven: wifi.oven.as_ref().map(|oven| intervals(&oven.on)).unwrap_or_default(),
        })
    }

    #[getter]
    fn wire(&self) -> Wire {
        let wire = &self.0.wire;
        Wire {
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
