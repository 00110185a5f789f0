//! Which packets a cell has not said all of: what became of a frame its station knows later than where the frame went.

use std::collections::BTreeMap;

use crate::verdict::PacketId;

/// By packet, what is still to come.
#[derive(Debug, Default)]
pub(super) struct OpenRecords {
    packets: BTreeMap<PacketId, Open>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// Records that cells still owe.
    owed: u32,
    /// The packet was delivered or dropped.
    ended: bool,
}

impl OpenRecords {
    /// A packet goes into a cell, which owes a record of it.
    pub(super) fn add(&mut self, packet: PacketId) {
        self.packets.entry(packet).or_default().owed += 1;
    }

    /// A packet was delivered or dropped; whether no cell owes a record of it.
    #[inline]
    pub(super) fn end(&mut self, packet: PacketId) -> bool {
        if self.packets.is_empty() {
            return true;
        }
        match self.packets.get_mut(&packet) {
            None => true,
            Some(open) => {
                open.ended = true;
                false
            }
        }
    }

    /// A cell gives its record of a packet; whether that is the last.
    pub(super) fn close(&mut self, packet: PacketId) -> bool {
        let Some(open) = self.packets.get_mut(&packet) else { return false };
        open.owed -= 1;
        let Open { owed, ended } = *open;
        if owed == 0 {
            self.packets.remove(&packet);
        }
        owed == 0 && ended
    }
}
