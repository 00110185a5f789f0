//! What a TCP connection, or several, went through, by the samples of its state.

use std::collections::BTreeMap;

use framewire_units::Duration;
use serde::Serialize;

use super::statistics::mean;
use crate::record::FlowSample;

/// Totals and means of a connection; `None` for what was not measured, and all of it on datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Connection {
    /// Packets that were sent again.
    pub retransmissions: Option<u32>,
    /// Retransmission timeouts that expired (RFC 6298, section 5).
    pub timeouts: Option<u32>,
    /// Mean over the samples of the smoothed round-trip time (RFC 6298), in milliseconds.
    pub srtt_mean_ms: Option<f64>,
}

impl Connection {
    /// Sums up the samples of a flow, which are in order of time. Before the first round trip was measured, the
    /// smoothed round-trip time is zero; such samples take no part in its mean.
    pub fn of(samples: &[FlowSample]) -> Self {
        let measured = samples.iter().filter_map(|sample| sample.srtt).filter(|srtt| !srtt.is_zero());
        let srtts: Vec<f64> = measured.map(milliseconds).collect();
        Self {
            retransmissions: total(samples, |sample| sample.retransmissions),
            timeouts: total(samples, |sample| sample.timeouts),
            srtt_mean_ms: mean(&srtts),
        }
    }
}

/// The last value of a counter that runs from the start, of all connections together.
fn total(samples: &[FlowSample], counter: impl Fn(&FlowSample) -> Option<u32>) -> Option<u32> {
    let mut last = BTreeMap::new();
    for sample in samples {
        if let Some(count) = counter(sample) {
            last.insert(sample.connection, count);
        }
    }
    (!last.is_empty()).then(|| last.into_values().fold(0, u32::saturating_add))
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
