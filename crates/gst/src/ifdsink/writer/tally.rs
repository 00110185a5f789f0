//! Who is in the writer, and what became of those who left.

use std::collections::VecDeque;

use framewire_sockets::TcpInfo;
use framewire_transport::frame::{OutgoingFrame, Payload};
use framewire_transport::queue::{Discard, Level};
use framewire_units::DataSize;

use crate::frames::Held;
use crate::groups::{GroupWatch, LostGroup};
use crate::stats;

/// Frames on their way through a writer, with their buffers: sending halves know frames by their number only.
#[derive(Debug, Default)]
pub(super) struct Tally {
    inside: VecDeque<OutgoingFrame<Held>>,
    groups: GroupWatch,
    pub counts: stats::Tally,
}

impl Tally {
    /// A frame comes in.
    pub fn enter(&mut self, frame: OutgoingFrame<Held>) {
        self.counts.accepted.add(frame.bytes.size());
        self.groups.offered(&frame);
        self.inside.push_back(frame);
    }

    /// A frame was written whole.
    pub fn sent(&mut self, id: u32) {
        if let Some(frame) = self.leave(id) {
            self.counts.sent.add(frame.bytes.size());
        }
    }

    /// A frame was given up. Tells also when its group was lost by that.
    pub fn dropped(&mut self, id: u32, rule: &'static str) -> Option<(Discard<Held>, Option<LostGroup>)> {
        let discard = Discard { frame: self.leave(id)?, rule };
        self.counts.dropped(&discard);
        let lost = self.groups.given_up(&discard.frame);
        self.counts.groups_lost += u64::from(lost.is_some());
        Some((discard, lost))
    }

    /// Those that are neither written nor given up.
    pub fn inside(&self) -> stats::Count {
        let mut count = stats::Count::default();
        self.inside.iter().for_each(|frame| count.add(frame.bytes.size()));
        count
    }

    fn leave(&mut self, id: u32) -> Option<OutgoingFrame<Held>> {
        let at = self.inside.iter().position(|frame| frame.id == id)?;
        self.inside.remove(at)
    }
}

/// Everything that is told of a writer at one moment.
#[derive(Clone, Debug)]
pub(in super::super) struct Snapshot {
    /// Frames.
    pub counts: stats::Tally,
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

impl Snapshot {
    /// Name of the structure.
    pub const NAME: &'static str = "application/x-framewire-sink-stats";

    /// The `stats` property. What is not known is not in it.
    pub fn structure(&self) -> gst::Structure {
        let mut structure = self.counts.structure(self.level);
        structure.set_name(Self::NAME);
        structure.set("connected", self.connected);
        structure.set("connections", self.connections);
        if let Some(unsent) = self.unsent {
            structure.set("unsent-bytes", unsent.as_bytes());
        }
        if let Some((info, congestion)) = &self.tcp {
            set_tcp(&mut structure, info, congestion);
        }
        structure
    }
}

/// What the kernel says of the connection (tcp(7), `TCP_INFO`).
fn set_tcp(structure: &mut gst::Structure, info: &TcpInfo, congestion: &str) {
    let nanos = |duration: std::time::Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    structure.set("congestion", congestion);
    structure.set("cwnd", info.cwnd_packets);
    if let Some(ssthresh) = info.ssthresh_packets {
        structure.set("ssthresh", ssthresh);
    }
    structure.set("srtt", nanos(info.srtt));
    structure.set("rttvar", nanos(info.rttvar));
    if let Some(min_rtt) = info.min_rtt {
        structure.set("min-rtt", nanos(min_rtt));
    }
    structure.set("unacked", info.unacked_packets);
    structure.set("retransmissions", info.total_retransmissions);
    structure.set("mss", info.mss);
    if let Some(rate) = info.delivery_rate {
        structure.set("delivery-rate", rate.as_bps());
    }
}
