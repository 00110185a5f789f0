//! What a TCP connection, or several, went through, by the samples of its state.

use std::collections::BTreeMap;

use framewire_units::Duration;
use serde::Serialize;

use super::statistics::mean;
use crate::record::FlowSample;
use crate::spool::Spool;

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
    pub fn of(samples: &Spool<FlowSample>) -> Self {
        let (mut retransmissions, mut timeouts) = (Total::default(), Total::default());
        let measured = samples.iter().filter_map(|sample| {
            retransmissions.take(sample.connection, sample.retransmissions);
            timeouts.take(sample.connection, sample.timeouts);
            sample.srtt.filter(|srtt| !srtt.is_zero())
        });
        let srtt_mean_ms = mean(measured.map(milliseconds));
        Self { retransmissions: retransmissions.sum(), timeouts: timeouts.sum(), srtt_mean_ms }
    }
}

/// The last value of a counter that runs from the start, by connection.
#[derive(Debug, Default)]
struct Total(BTreeMap<Option<u8>, u32>);

impl Total {
    fn take(&mut self, connection: Option<u8>, count: Option<u32>) {
        if let Some(count) = count {
            self.0.insert(connection, count);
        }
    }

    /// Of all connections together; `None` where nothing was counted.
    fn sum(self) -> Option<u32> {
        (!self.0.is_empty()).then(|| self.0.into_values().fold(0, u32::saturating_add))
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
