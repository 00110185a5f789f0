//! What is counted of a lane's packets, in one pass over them.

#[cfg(test)]
use std::borrow::Borrow;

use framewire_link::NodeId;
use framewire_units::Timestamp;

use super::distribution::Values;
use super::log::{PacketLog, Release};
use super::record::{Accuracy, Evidence, Fidelity, TOLERATED_LATENESS, doubts};
use crate::kernel::schedule::Scheduling;

/// Counts of all packets.
#[derive(Default)]
pub(crate) struct Tally {
    forward: Direction,
    backward: Direction,
    release_errors: Values,
    device_release_errors: Values,
    late: u64,
    worst: Option<Release>,
    clamped: u64,
}

/// Counts of one direction.
#[derive(Default)]
struct Direction {
    seen: u64,
    requested: Values,
    achieved: Values,
    first: Option<Release>,
    last: Option<Release>,
    /// Bytes of all that were delivered but the first.
    bytes: u64,
}

impl Tally {
    /// Counts packets, which come in their order.
    #[cfg(test)]
    pub(crate) fn of<P: Borrow<PacketLog>>(packets: impl IntoIterator<Item = P>) -> Self {
        let mut tally = Self::default();
        packets.into_iter().for_each(|packet| tally.add(packet.borrow()));
        tally
    }

    /// Counts the next packet.
    pub(crate) fn add(&mut self, packet: &PacketLog) {
        self.clamped += packet.hops.iter().filter(|hop| hop.clamped).count() as u64;
        if let Some(release) = packet.released {
            self.device_release_errors.push(release.error_nanos());
        }
        let direction = if packet.from == NodeId::SENDER { &mut self.forward } else { &mut self.backward };
        direction.seen += 1;
        let Some(release) = packet.delivered else { return };
        direction.add(packet, release);
        let error = release.error_nanos();
        self.release_errors.push(error);
        self.late += u64::from(error > TOLERATED_LATENESS.as_nanos() as i64);
        if self.worst.is_none_or(|worst| error >= worst.error_nanos()) {
            self.worst = Some(release);
        }
    }

    /// Adds to the evidence what the lane saw itself.
    pub(crate) fn count_into(&self, evidence: &mut Evidence) {
        let counts = |direction: &Direction| (direction.seen, direction.requested.len());
        (evidence.forward_seen, evidence.forward_delivered) = counts(&self.forward);
        (evidence.backward_seen, evidence.backward_delivered) = counts(&self.backward);
    }

    /// The proof of accuracy from the log and the evidence.
    pub(crate) fn assess(&self, evidence: &Evidence, scheduling: Scheduling, pump_threads: usize) -> Accuracy {
        let mut accuracy = Accuracy {
            release_error: self.release_errors.distribution(),
            late: self.late,
            worst_at: self.worst.map(|release| release.intended),
            device_release_error: self.device_release_errors.distribution(),
            forward: self.forward.fidelity(),
            backward: self.backward.fidelity(),
            clamped: self.clamped,
            lost_outside_model: evidence.lost_outside_model(),
            scheduling,
            pump_threads,
            disturbed: None,
        };
        accuracy.disturbed = doubts(&accuracy, evidence);
        accuracy
    }
}

impl Direction {
    fn add(&mut self, packet: &PacketLog, release: Release) {
        self.requested.push(release.intended.nanos_since(packet.arrived));
        self.achieved.push(release.actual.nanos_since(packet.arrived));
        if self.first.is_none() {
            self.first = Some(release);
        } else {
            self.bytes += u64::from(packet.size);
        }
        self.last = Some(release);
    }

    fn fidelity(&self) -> Fidelity {
        Fidelity {
            rate_requested_bps: self.rate(|release| release.intended),
            rate_achieved_bps: self.rate(|release| release.actual),
            delay_requested: self.requested.distribution(),
            delay_achieved: self.achieved.distribution(),
        }
    }

    /// Bits of all packets but the first over the time from the first delivery to the last.
    fn rate(&self, of: impl Fn(&Release) -> Timestamp) -> Option<u64> {
        let time = of(self.last.as_ref()?).nanos_since(of(self.first.as_ref()?));
        let rate = (time > 0).then(|| u128::from(self.bytes) * 8_000_000_000 / time.cast_unsigned() as u128)?;
        u64::try_from(rate).ok()
    }
}
