//! The packets that are in the network at this moment.

use std::collections::VecDeque;

use bytes::Bytes;
use framewire_link::{NodeId, PacketId};

use crate::kernel::nfqueue::HeldId;

/// A packet under way.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// The Ethernet frame to deliver.
    pub(crate) frame: Bytes,
    /// The host that sent it.
    pub(crate) from: NodeId,
    /// Its number in the sender's packet queue, while the kernel still holds it there.
    pub(crate) gate: Option<HeldId>,
    /// A release from the gate is due at a time that the model named.
    pub(crate) release_due: bool,
    /// The copy has been delivered or dropped.
    pub(crate) done: bool,
}

/// Packets by number. Numbers are given in order, so it is a window over them: its ends are the oldest packet under
/// way and the newest.
#[derive(Debug, Default)]
pub(crate) struct HeldPackets {
    first: u64,
    window: VecDeque<Option<Held>>,
}

impl HeldPackets {
    /// Adds a packet and returns its number.
    pub(crate) fn insert(&mut self, held: Held) -> PacketId {
        let id = PacketId(self.first + self.window.len() as u64);
        self.window.push_back(Some(held));
        id
    }

    /// Number of the oldest packet under way; of the next to come where there is none.
    pub(crate) fn oldest(&self) -> u64 {
        self.first
    }

    /// Length of the window.
    pub(crate) fn len(&self) -> usize {
        self.window.len()
    }

    pub(crate) fn get_mut(&mut self, id: PacketId) -> Option<&mut Held> {
        let offset = id.0.checked_sub(self.first)?;
        self.window.get_mut(usize::try_from(offset).ok()?)?.as_mut()
    }

    /// Forgets a packet once its copy has gone its way and the kernel no longer holds the original. Returns whether it did.
    pub(crate) fn forget_if_finished(&mut self, id: PacketId) -> bool {
        let finished = self.get_mut(id).is_some_and(|held| held.done && held.gate.is_none());
        if finished && let Some(slot) = self.window.get_mut((id.0 - self.first) as usize) {
            *slot = None;
        }
        while let Some(None) = self.window.front() {
            self.window.pop_front();
            self.first += 1;
        }
        finished
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(gate: Option<HeldId>) -> Held {
        Held { frame: Bytes::new(), from: NodeId::SENDER, gate, release_due: false, done: false }
    }

    #[test]
    fn the_window_follows_the_packets_under_way() {
        let mut packets = HeldPackets::default();
        let ids: Vec<_> = (0..3).map(|number| packets.insert(held(Some(number)))).collect();
        packets.get_mut(ids[1]).unwrap().done = true;
        packets.forget_if_finished(ids[1]);
        assert!(packets.get_mut(ids[1]).is_some(), "the kernel still holds it");
        for &id in &ids[..2] {
            let packet = packets.get_mut(id).unwrap();
            packet.done = true;
            packet.gate = None;
            packets.forget_if_finished(id);
        }
        assert!(packets.get_mut(ids[0]).is_none() && packets.get_mut(ids[1]).is_none());
        assert_eq!(packets.len(), 1);
        assert_eq!(packets.insert(held(None)), PacketId(3));
        assert!(packets.get_mut(ids[2]).is_some());
    }
}
