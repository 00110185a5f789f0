//! A network that stands before the run's origin, so that applications can start and connect.

use std::collections::VecDeque;

use framewire_link::{HopRecord, NetworkEvent, NodeId, Packet};
use framewire_units::{Duration, Timestamp};

use crate::lane::log::{PacketLog, Release};
use crate::lane::record::LaneRecord;
use crate::model::{LinkModel, crossed_wire};

/// A link model that begins at `origin`. What comes before is carried after a fixed delay, without a rate, a queue or a
/// loss: a connection that is opened then measures about the round trip that it will have. The model itself counts from
/// the origin, so that its schedules and draws are those of a run without a warm-up.
#[derive(Debug)]
pub struct WarmUp<M> {
    model: M,
    origin: Duration,
    delay: Duration,
    events: VecDeque<NetworkEvent>,
}

impl<M: LinkModel> WarmUp<M> {
    /// `model` from `origin` on, and before that a one-way `delay`.
    pub fn new(model: M, origin: Duration, delay: Duration) -> Self {
        Self { model, origin, delay, events: VecDeque::new() }
    }

    fn on_models_clock(&self, at: Timestamp) -> Timestamp {
        before(at, self.origin)
    }

    fn carry(&mut self, at: Timestamp, packet: Packet) {
        let arrival = at + self.delay;
        self.events.push_back(NetworkEvent::Released { packet: packet.id, at });
        self.events.push_back(crossed_wire(packet, at, arrival));
        self.events.push_back(NetworkEvent::Deliver { packet, at: arrival });
    }
}

impl<M: LinkModel> LinkModel for WarmUp<M> {
    fn handle_packet(&mut self, now: Timestamp, at: Timestamp, from: NodeId, packet: Packet) {
        if at < Timestamp::ZERO + self.origin {
            return self.carry(at, packet);
        }
        let (now, at) = (self.on_models_clock(now), self.on_models_clock(at));
        self.model.handle_packet(now, at, from, packet);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        if now >= Timestamp::ZERO + self.origin {
            self.model.handle_timeout(self.on_models_clock(now));
        }
    }

    fn poll_event(&mut self) -> Option<NetworkEvent> {
        let moved = |event| move_event(event, |at| at + self.origin);
        self.events.pop_front().or_else(|| self.model.poll_event().map(moved))
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        self.model.next_timeout().map(|at| at + self.origin)
    }
}

fn move_event(event: NetworkEvent, to: impl Fn(Timestamp) -> Timestamp) -> NetworkEvent {
    match event {
        NetworkEvent::Deliver { packet, at } => NetworkEvent::Deliver { packet, at: to(at) },
        NetworkEvent::Released { packet, at } => NetworkEvent::Released { packet, at: to(at) },
        NetworkEvent::Hop { record, last } => NetworkEvent::Hop { record: move_hop(record, to), last },
        NetworkEvent::Sniffed(mut frame) => {
            frame.at = to(frame.at);
            NetworkEvent::Sniffed(frame)
        }
    }
}

fn move_hop(hop: HopRecord, to: impl Fn(Timestamp) -> Timestamp) -> HopRecord {
    HopRecord { enqueued: to(hop.enqueued), started: hop.started.map(&to), finished: to(hop.finished), ..hop }
}

/// `at` counted from `origin`; what was before is at zero.
fn before(at: Timestamp, origin: Duration) -> Timestamp {
    Timestamp::ZERO + at.saturating_since(Timestamp::ZERO + origin)
}

impl LaneRecord {
    /// The same record with its times counted from `origin`; what happened before has time zero.
    pub fn counted_from(mut self, origin: Duration) -> Self {
        self.packets = self.packets.counted_from(origin);
        self.accuracy.worst_at = self.accuracy.worst_at.map(|at| before(at, origin));
        self
    }
}

impl PacketLog {
    /// The same with its times counted from `origin`.
    pub(crate) fn counted_from(self, origin: Duration) -> Self {
        let to = |at| before(at, origin);
        let release = |release: Release| Release { intended: to(release.intended), actual: to(release.actual) };
        Self {
            arrived: to(self.arrived),
            delivered: self.delivered.map(release),
            released: self.released.map(release),
            hops: self.hops.into_iter().map(|hop| move_hop(hop, to)).collect(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use framewire_link::PacketId;
    use framewire_units::{Bitrate, DataSize};

    use super::*;
    use crate::model::RateAndDelay;

    fn ms(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn deliveries(model: &mut impl LinkModel, times: &[u64]) -> Vec<(u64, Timestamp)> {
        let mut delivered = Vec::new();
        for (number, &at) in times.iter().enumerate() {
            let packet = Packet::new(PacketId(number as u64), DataSize::from_bytes(1_500));
            model.handle_packet(ms(at), ms(at), NodeId::SENDER, packet);
            while let Some(event) = model.poll_event() {
                if let NetworkEvent::Deliver { packet, at, .. } = event {
                    delivered.push((packet.id.0, at));
                }
            }
        }
        delivered
    }

    #[test]
    fn before_the_origin_a_packet_takes_the_delay_and_after_it_what_the_model_says() {
        let model = || RateAndDelay::new(Bitrate::from_mbps(1), Duration::from_millis(10));
        let origin = Duration::from_secs(3);
        let mut warm = WarmUp::new(model(), origin, Duration::from_millis(10));
        // Two at once before: no queue. Two at once after: 12 ms each at 1 Mbit/s.
        let delivered = deliveries(&mut warm, &[100, 100, 3_000, 3_000]);
        let expected = [(0, ms(110)), (1, ms(110)), (2, ms(3_022)), (3, ms(3_034))];
        assert_eq!(delivered, expected);
        let alone = deliveries(&mut model(), &[0, 0]);
        let moved: Vec<Timestamp> = alone.iter().map(|&(_, at)| at + origin).collect();
        assert_eq!(moved, [expected[2].1, expected[3].1], "as without a warm-up");
    }

    #[test]
    fn every_packet_has_one_last_record_before_the_origin_and_after_it() {
        let model = RateAndDelay::new(Bitrate::from_mbps(1), Duration::from_millis(10));
        let mut warm = WarmUp::new(model, Duration::from_secs(3), Duration::from_millis(10));
        let mut last = Vec::new();
        for (number, at) in [0, 2_999, 3_000, 3_001].into_iter().enumerate() {
            for (from, id) in [(NodeId::SENDER, 2 * number), (NodeId::RECEIVER, 2 * number + 1)] {
                let packet = Packet::new(PacketId(id as u64), DataSize::from_bytes(1_500));
                warm.handle_packet(ms(at), ms(at), from, packet);
            }
            while let Some(event) = warm.poll_event() {
                if let NetworkEvent::Hop { record, last: is_last } = event {
                    assert!(!last.contains(&record.packet.0), "{record:?} after the last");
                    last.extend(is_last.then_some(record.packet.0));
                }
            }
        }
        assert!(last.into_iter().eq(0..8));
    }
}
