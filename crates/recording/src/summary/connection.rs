//! What a TCP connection, or several, went through, by the samples of its state.

use framewire_units::Duration;
use serde::Serialize;

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

/// The samples of a flow so far, which come in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ConnectionTotals {
    retransmissions: Total,
    timeouts: Total,
    /// Milliseconds, and of how many samples.
    round_trips: (f64, u64),
}

impl ConnectionTotals {
    /// Adds a sample. Before the first round trip was measured, the smoothed round-trip time is zero; such a sample takes
    /// no part in its mean.
    pub(crate) fn take(&mut self, sample: &FlowSample) {
        self.retransmissions.take(sample.connection, sample.retransmissions);
        self.timeouts.take(sample.connection, sample.timeouts);
        if let Some(round_trip) = sample.srtt.filter(|srtt| !srtt.is_zero()) {
            self.round_trips.0 += milliseconds(round_trip);
            self.round_trips.1 += 1;
        }
    }

    /// What they come to.
    pub(crate) fn connection(&self) -> Connection {
        let (sum, count) = self.round_trips;
        Connection {
            retransmissions: self.retransmissions.sum(),
            timeouts: self.timeouts.sum(),
            srtt_mean_ms: (count > 0).then(|| sum / count as f64),
        }
    }
}

/// The last value of a counter that runs from the start, by connection: first that of a flow which is a single one.
#[derive(Clone, Debug, Default, PartialEq)]
struct Total(Vec<Option<u32>>);

impl Total {
    fn take(&mut self, connection: Option<u8>, count: Option<u32>) {
        if count.is_some() {
            let place = connection.map_or(0, |number| 1 + usize::from(number));
            if self.0.len() <= place {
                self.0.resize(place + 1, None);
            }
            self.0[place] = count;
        }
    }

    /// Of all connections together; `None` where nothing was counted.
    fn sum(&self) -> Option<u32> {
        self.0.iter().copied().flatten().reduce(u32::saturating_add)
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
