//! What has come to each receiver, looked at in equal steps of time. Nothing in a run depends on it.

use framewire_recording::record::RateSample;
use framewire_units::{Duration, Timestamp};

/// Totals of the flows of one network, and what was sampled of them.
pub(crate) struct RateRecorder {
    interval: Duration,
    next: Timestamp,
    /// When it looked last.
    looked: Option<Timestamp>,
    /// IP bytes that came to the receiver's host, by flow and connection.
    packet_bytes: Vec<Vec<u64>>,
    samples: Vec<Vec<RateSample>>,
}

impl RateRecorder {
    /// Looks each `interval`, which is above zero, from the origin on at so many flows.
    pub(crate) fn new(interval: Duration, flows: usize) -> Self {
        let none = || vec![vec![]; flows];
        Self { interval, next: Timestamp::ZERO, looked: None, packet_bytes: none(), samples: vec![vec![]; flows] }
    }

    /// When it looks next.
    pub(crate) fn next(&self) -> Timestamp {
        self.next
    }

    /// A packet of a flow's connection came to the receiver's host.
    pub(crate) fn handle_packet(&mut self, flow: usize, connection: u8, bytes: u64) {
        let connections = &mut self.packet_bytes[flow];
        let place = usize::from(connection);
        if connections.len() <= place {
            connections.resize(place + 1, 0);
        }
        connections[place] += bytes;
    }

    /// Takes what a flow says of its connections at a time.
    pub(crate) fn take(&mut self, flow: usize, connections: Vec<RateSample>) {
        let counted = &self.packet_bytes[flow];
        let of = |(place, sample)| {
            let received_packet_bytes = counted.get::<usize>(place).copied().unwrap_or_default();
            RateSample { received_packet_bytes, ..sample }
        };
        self.samples[flow].extend(connections.into_iter().enumerate().map(of));
    }

    /// True when it was looked at `now`.
    pub(crate) fn has_looked(&self, now: Timestamp) -> bool {
        self.looked == Some(now)
    }

    /// It was looked at `now`.
    pub(crate) fn advance(&mut self, now: Timestamp) {
        self.looked = Some(now);
        while self.next <= now {
            self.next += self.interval;
        }
    }

    /// What was sampled of each flow.
    pub(crate) fn into_samples(self) -> Vec<Vec<RateSample>> {
        self.samples
    }
}
