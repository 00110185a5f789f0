//! The sessions in the writer, and what became of those that left.

use std::collections::VecDeque;

use framewire_sockets::TcpInfo;
use framewire_transport::frame::OutgoingFrame;
use framewire_transport::live::{self, GroupWatch, LostGroup, Placed};
use framewire_transport::queue::{Discard, Level};
use framewire_units::DataSize;

/// Frames on their way through a writer, with what the application gave: sending halves know frames by their number only.
#[derive(Debug)]
pub(super) struct Tally<P> {
    inside: VecDeque<OutgoingFrame<P>>,
    groups: GroupWatch,
    pub counts: live::Tally,
}

impl<P> Default for Tally<P> {
    fn default() -> Self {
        Self { inside: VecDeque::new(), groups: GroupWatch::default(), counts: live::Tally::default() }
    }
}

impl<P: Placed> Tally<P> {
    /// A frame comes in.
    pub(super) fn enter(&mut self, frame: OutgoingFrame<P>) {
        self.counts.accepted.add(frame.bytes.size());
        self.groups.offered(&frame);
        self.inside.push_back(frame);
    }

    /// A frame was written whole.
    pub(super) fn sent(&mut self, id: u32) {
        if let Some(frame) = self.leave(id) {
            self.counts.sent.add(frame.bytes.size());
        }
    }

    /// A frame was given up. Tells also when its group was lost by that.
    pub(super) fn dropped(&mut self, id: u32, rule: &'static str) -> Option<(Discard<P>, Option<LostGroup>)> {
        let discard = Discard { frame: self.leave(id)?, rule };
        self.counts.dropped(&discard);
        let lost = self.groups.given_up(&discard.frame);
        self.counts.groups_lost += u64::from(lost.is_some());
        Some((discard, lost))
    }

    /// Those that are neither written nor given up.
    pub(super) fn inside(&self) -> live::Count {
        let mut count = live::Count::default();
        self.inside.iter().for_each(|frame| count.add(frame.bytes.size()));
        count
    }

    fn leave(&mut self, id: u32) -> Option<OutgoingFrame<P>> {
        let at = self.inside.iter().position(|frame| frame.id == id)?;
        self.inside.remove(at)
    }
}

/// Everything that is reported of a writer at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Frames.
    pub counts: live::Tally,
    /// What waits in the decision queue.
    pub level: Level,
    /// Connections that stood.
    pub connections: u64,
    /// True while one stands.
    pub connected: bool,
    /// Bytes that the kernel has and the network has not.
    pub unsent: Option<DataSize>,
    /// The TCP connection, and its congestion control.
    pub tcp: Option<(TcpInfo, String)>,
}
