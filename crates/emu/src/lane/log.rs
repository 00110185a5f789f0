//! The log of a lane: one entry per packet, kept in blocks so that growth never moves what is there.

use framewire_link::{HopRecord, PacketId, Port};
use framewire_units::Timestamp;

use super::headers::Headers;

/// Packets that a lane keeps in its log: more than five minutes at 100,000 packets per second. What exceeds it is
/// still carried, and counted as not logged.
pub(crate) const LOGGED_AT_MOST: u64 = 32_000_000;

/// When something was to happen and when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// When the model says.
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
    /// Where it came from: tells its direction.
    pub from: Port,
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

/// A list that grows without ever moving its elements.
#[derive(Debug)]
pub(crate) struct Blocks<T> {
    blocks: Vec<Vec<T>>,
    length: u64,
}

const BLOCK: usize = 4_096;

impl<T> Blocks<T> {
    pub(crate) fn new() -> Self {
        Self { blocks: Vec::new(), length: 0 }
    }

    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    pub(crate) fn push(&mut self, element: T) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(element),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(element);
                self.blocks.push(block);
            }
        }
        self.length += 1;
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        let number = usize::try_from(number).ok()?;
        self.blocks.get_mut(number / BLOCK)?.get_mut(number % BLOCK)
    }

    pub(crate) fn into_vec(self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.length as usize);
        all.extend(self.blocks.into_iter().flatten());
        all
    }
}

/// Puts the verdicts of hops beside the packets that they are of.
pub(crate) fn assemble(packets: Blocks<PacketLog>, hops: Blocks<HopRecord>) -> Vec<PacketLog> {
    let mut packets = packets.into_vec();
    for hop in hops.blocks.into_iter().flatten() {
        if let Some(packet) = usize::try_from(hop.packet.0).ok().and_then(|number| packets.get_mut(number)) {
            packet.hops.push(hop);
        }
    }
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found_by_their_number() {
        let mut list = Blocks::new();
        for number in 0..10_000u64 {
            list.push(number);
        }
        assert_eq!(list.len(), 10_000);
        assert_eq!(list.get_mut(4_095), Some(&mut 4_095));
        assert_eq!(list.get_mut(4_096), Some(&mut 4_096));
        assert_eq!(list.get_mut(10_000), None);
        assert!(list.into_vec().into_iter().eq(0..10_000));
    }
}
