//! Everything recorded of one flow.

use framewire_units::Timestamp;

use super::frames::{FoundStream, FrameEvent, FrameFacts};
use super::packets::{AirCounts, DatagramReceived, DatagramSent, HandedOn, PacketRecord, ReleaseRecord, StreamRead};
use super::rtcp::RtcpRecord;
use crate::run::WriteError;
use crate::samples::Samples;
use crate::spool::Spool;
use crate::tables::WrittenAhead;

/// What a bulk flow carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkTotals {
    /// When it began.
    pub start: Timestamp,
    /// When it ended, or the run did.
    pub end: Timestamp,
    /// Bytes that the receiving application got by then, all connections together.
    pub received: u64,
}

/// What entered the sender's socket of a transport stream of constant rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stuffing {
    /// Bytes of null packets, which fill it up.
    pub bytes: u64,
    /// Bytes of all its packets.
    pub of: u64,
}

/// How a flow ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FlowStatus {
    /// The whole movie was offered and the stream ended.
    #[default]
    Complete,
    /// It was stopped before.
    Partial,
    /// It broke; the text says how.
    Failed(String),
}

impl FlowStatus {
    /// Its name in the tables.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed(_) => "failed",
        }
    }
}

/// Everything recorded of one flow.
#[derive(Clone, Debug, Default)]
pub struct FlowLog {
    /// Name of the flow.
    pub flow: String,
    /// Name of its transport.
    pub transport: String,
    /// How it ended.
    pub status: FlowStatus,
    /// The movie's frames, in decode order, and behind them the packets of its sound; empty for a bulk flow.
    pub frames: Spool<FrameFacts>,
    /// What happened at the sender, in order.
    pub frame_events: Spool<FrameEvent>,
    /// Datagrams offered to the socket, in order of sequence number; empty on a byte stream.
    pub datagrams_sent: Spool<DatagramSent>,
    /// Datagrams received, in order of arrival; empty on a byte stream.
    pub datagrams_received: Spool<DatagramReceived>,
    /// Sequence numbers of the last datagrams of frames that the receiver discarded because it could not tell whether their
    /// first was missing, in ascending order.
    pub discarded: Spool<u64>,
    /// Of frames that are not whole, what the receiver handed on, in ascending order.
    pub handed_on: Spool<HandedOn>,
    /// Reads of the byte stream, in order; empty on datagrams.
    pub stream_reads: Spool<StreamRead>,
    /// Where in the byte stream each frame ends that was written to its end, in the order of these events: with what its
    /// packets have beside it. Empty on datagrams, and where the stream is nothing but frames.
    pub frame_ends: Vec<u64>,
    /// How much of a transport stream of constant rate entered the sender's socket; `None` of others.
    pub stuffing: Option<Stuffing>,
    /// What a bulk flow carried; `None` for others.
    pub bulk: Option<BulkTotals>,
    /// What the receiver's application gave out; `None` with the lab's own receivers, which say what they got.
    pub found: Option<FoundStream>,
    /// Reports that its ends sent each other; empty where it has no RTCP.
    pub rtcp: Vec<RtcpRecord>,
    /// Link verdicts.
    pub packets: Spool<PacketRecord>,
    /// Samples of the flow's state.
    pub samples: Samples,
    /// Releases of the emulated network.
    pub releases: Spool<ReleaseRecord>,
    /// Transmissions, where they were counted as they happened; `None`: `packets` has them all.
    pub air: Option<AirCounts>,
    /// The tables of packets and of releases, where they were made as they happened: then `packets` has those only that
    /// the ledger asks for.
    pub ahead: Option<PacketsAhead>,
}

/// What was made of a flow's packets while the run went on.
#[derive(Clone, Debug, Default)]
pub struct PacketsAhead {
    /// Their tables.
    pub tables: WrittenAhead,
    /// Payload that reached the receiver's host, each datagram and each segment once, in bytes.
    pub delivered: u64,
    /// Packets of the flow's network that were not looked at, because the run was to end at once: its last ones. What
    /// would be counted of all packets is not known then.
    pub left_out: u64,
}

impl FlowLog {
    /// What the disk refused of these records; `None` when all of them are there, and were when they were read.
    pub(crate) fn failure(&self) -> Option<WriteError> {
        let of_network = [self.packets.failure(), self.samples.failure(), self.releases.failure()];
        let of_sender = [self.frames.failure(), self.frame_events.failure(), self.datagrams_sent.failure()];
        let of_receiver = [self.datagrams_received.failure(), self.stream_reads.failure()];
        let of_tables = [self.ahead.as_ref().and_then(|ahead| ahead.tables.failure())];
        of_network.into_iter().chain(of_sender).chain(of_receiver).chain(of_tables).flatten().next()
    }

    /// True where packets were not looked at.
    pub(crate) fn lacks_packets(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| ahead.left_out > 0)
    }
}
