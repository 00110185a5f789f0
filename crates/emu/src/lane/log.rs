//! The log of a lane: one entry per packet.

use std::borrow::Cow;

use framewire_link::{HopRecord, NodeId, PacketId};
use framewire_recording::WriteError;
use framewire_recording::spool::{Records, Spool};
use framewire_units::{Duration, Timestamp};

use super::headers::Headers;
use crate::writer_queue::{Consumer, Producer, hand_over};

/// Packets that a lane keeps in its log: more than five minutes at 100,000 packets per second. What exceeds it is
/// still carried, and counted as not logged.
pub(crate) const LOGGED_AT_MOST: u64 = 32_000_000;

/// When something was to happen and when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The time of the model.
    pub intended: Timestamp,
    /// When the kernel had taken it.
    pub actual: Timestamp,
}

impl Release {
    /// Nanoseconds from the intended moment to the actual one.
    pub fn error_nanos(&self) -> i64 {
        self.actual.nanos_since(self.intended)
    }
}

/// Everything known of one packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketLog {
    /// Its number in the lane, counted from 0 in the order in which packets were seen.
    pub id: PacketId,
    /// Where it came from: gives its direction.
    pub from: NodeId,
    /// When it left its host: the kernel's stamp, or with a local bottleneck the moment when it was read from the
    /// sender's device.
    pub arrived: Timestamp,
    /// Bytes of the IP datagram.
    pub size: u32,
    /// Protocol, ports, sequence number, payload.
    pub headers: Headers,
    /// The verdict of every hop, in order.
    pub hops: Vec<HopRecord>,
    /// Its arrival at the other host: `None` when it was dropped or still under way at the end.
    pub delivered: Option<Release>,
    /// The moment when the sender's own device let go of it; only with a local bottleneck.
    pub released: Option<Release>,
    /// Transmissions that the sniffer captured; 0 also without a sniffer.
    pub sniffed: u16,
}

/// Every packet of a lane, by its number. They are on the disk but for the newest few thousand, and are read in order.
#[derive(Clone, Debug, Default)]
pub struct PacketLogs {
    spool: Spool<PacketLog>,
    origin: Duration,
}

impl PacketLogs {
    /// Number of packets.
    pub fn len(&self) -> usize {
        self.spool.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.spool.is_empty()
    }

    /// The packets in order. Where the disk does not give them back they end early, and [`failure`](Self::failure) says
    /// so.
    pub fn iter(&self) -> Logged<'_> {
        Logged { records: self.spool.iter(), origin: self.origin }
    }

    /// What the disk refused so far; `None` when everything is there, and was there when it was read.
    pub fn failure(&self) -> Option<WriteError> {
        self.spool.failure()
    }

    /// The same packets with their times counted from `origin`.
    pub fn counted_from(self, origin: Duration) -> Self {
        Self { origin: self.origin + origin, ..self }
    }
}

impl From<Spool<PacketLog>> for PacketLogs {
    fn from(spool: Spool<PacketLog>) -> Self {
        Self { spool, origin: Duration::ZERO }
    }
}

/// Those that follow what lanes log while they do.
pub struct LogFollower {
    consumer: Consumer<Vec<PacketLogs>>,
    ended: bool,
}

/// What a lane is given so that its log can be followed.
pub struct Followed {
    producer: Producer<Vec<PacketLogs>>,
}

impl Followed {
    /// Hands over the next packets.
    pub fn tell(&self, packets: PacketLogs) {
        self.producer.add(|waiting| waiting.push(packets));
    }
}

/// Both ends of following a lane's log.
pub fn follow_log() -> (Followed, LogFollower) {
    let (producer, consumer) = hand_over();
    (Followed { producer }, LogFollower { consumer, ended: false })
}

impl LogFollower {
    /// Waits for the next packets, and gives them in order: as they get to the disk, and at the end of the lane the
    /// rest. `None` when it has ended.
    pub fn next_packets(&mut self) -> Option<Vec<PacketLogs>> {
        if self.ended {
            return None;
        }
        let (packets, ended) = self.consumer.take();
        self.ended = ended;
        Some(packets)
    }
}

impl<'a> IntoIterator for &'a PacketLogs {
    type Item = Cow<'a, PacketLog>;
    type IntoIter = Logged<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The packets of [`PacketLogs`] in order.
#[derive(Debug)]
pub struct Logged<'a> {
    records: Records<'a, PacketLog>,
    origin: Duration,
}

impl<'a> Iterator for Logged<'a> {
    type Item = Cow<'a, PacketLog>;

    fn next(&mut self) -> Option<Self::Item> {
        let packet = self.records.next()?;
        if self.origin.is_zero() {
            return Some(packet);
        }
        Some(Cow::Owned(packet.into_owned().counted_from(self.origin)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use framewire_link::{Hop, Outcome, Rates};
    use framewire_units::DataSize;

    use super::*;

    /// A packet from the sender that left its host `number` microseconds after the origin and nothing is known of yet.
    pub(crate) fn packet(number: u64) -> PacketLog {
        PacketLog {
            id: PacketId(number),
            from: NodeId::SENDER,
            arrived: Timestamp::from_micros(number),
            size: 100,
            headers: Headers::parse(&[]),
            hops: Vec::new(),
            delivered: None,
            released: None,
            sniffed: 0,
        }
    }

    /// A verdict of a packet.
    pub(crate) fn hop(packet: u64) -> HopRecord {
        HopRecord {
            packet: PacketId(packet),
            hop: Hop::Wire,
            size: DataSize::from_bytes(100),
            enqueued: Timestamp::from_micros(packet),
            clamped: false,
            started: None,
            finished: Timestamp::from_micros(packet + 1),
            transmissions: Rates::new(),
            marked: false,
            outcome: Outcome::Delivered,
        }
    }
}
