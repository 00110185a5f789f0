//! Raw records of one flow, as the worlds and the session collect them. The ledger is made of them.

use framewire_media::picture_order::PictureOrder;
use framewire_units::{Bitrate, Duration, Timestamp};

use crate::run::WriteError;
use crate::samples::Samples;
use crate::spool::Spool;
use crate::tables::WrittenAhead;

/// What the ledger must know of a frame of the movie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameFacts {
    /// The track that it is of: 0 for video.
    pub track: u8,
    /// `'I'`, `'P'` or `'B'`; `'A'` of sound.
    pub kind: char,
    /// Bytes.
    pub size: u32,
    /// The level of the ladder that it was sent from, or would have been; `None` for a movie that has none, and for a frame
    /// that the stream never came to.
    pub level: Option<u8>,
    /// Group of pictures, from 0.
    pub gop: u32,
    /// Number in display order, from 0.
    pub display_index: u32,
    /// S_i: when the frame clock offers it.
    pub due: Timestamp,
    /// When it is shown, counted from the first frame shown.
    pub display_time: Duration,
    /// Numbers (in decode order) of the frames it cannot be decoded without.
    pub references: Vec<u32>,
    /// True when it also refers to something that is not in the movie, as the leading frames of its start or of a broken
    /// link.
    pub missing_reference: bool,
    /// What a decoder derives its place in display order from; `None` where that does not follow from the pictures
    /// before it (MPEG video, AV1).
    pub picture_order: Option<PictureOrder>,
    /// The latest frame that began a gradual refresh which has ended where this one is shown: what was lost before that
    /// one does no harm to it.
    pub recovers_from: Option<u32>,
    /// What the header of the group of pictures that comes with it says: the time code, counted from the stream's first.
    pub group_time: Option<Duration>,
}

/// The five places of the thesis at which a frame can be lost (its figure 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Dropped on purpose by the sending pipeline.
    SenderPipeline,
    /// The sender's socket or device queue had no room.
    SenderSocket,
    /// Lost on the link.
    Link,
    /// The queue of a node in between had no room.
    IntermediateQueue,
    /// Discarded by the receiving pipeline, because it was incomplete.
    ReceiverPipeline,
}

impl Place {
    /// All places, in the order in which a frame passes them.
    pub(crate) const ALL: [Self; 5] =
        [Self::SenderPipeline, Self::SenderSocket, Self::Link, Self::IntermediateQueue, Self::ReceiverPipeline];

    /// Its name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::SenderPipeline => "sender-pipeline",
            Self::SenderSocket => "sender-socket",
            Self::Link => "link",
            Self::IntermediateQueue => "intermediate-queue",
            Self::ReceiverPipeline => "receiver-pipeline",
        }
    }
}

/// One thing that happened to a frame at the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameEvent {
    /// Number of the frame in decode order.
    pub frame: u32,
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: FrameEventKind,
}

/// What happened to a frame at the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameEventKind {
    /// Given to the transport.
    Offered,
    /// Taken into the transport's queue.
    Queued,
    /// Its first byte entered the socket.
    FirstByte,
    /// It was made to begin a coded video sequence before it was sent, because of what was given up before it.
    BeginsSequence,
    /// Its last byte entered the socket.
    LastByte,
    /// It, or the rest of it, was given up.
    Discarded {
        /// Where.
        place: Place,
        /// The rule or event.
        rule: String,
    },
}

/// One datagram offered to the sender's socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramSent {
    /// RTP sequence number, extended from 0, or that of an adaptive stream.
    pub sequence: u64,
    /// Number of the frame in decode order; `None` of what is no video, as packets of audio.
    pub frame: Option<u32>,
    /// Which part of the frame it carries, where a part may be sent again under another number; `None`: one of its own.
    pub part: Option<u16>,
    /// UDP payload in bytes.
    pub size: u32,
    /// Of these, bytes of headers, as of RTP and its payload format: the rest is of the frame.
    pub headers: u16,
    /// When.
    pub at: Timestamp,
    /// False when it was dropped at the socket or not sent because of a rule.
    pub sent: bool,
}

/// Where the sequence numbers of sound begin that has packets of RTP for itself: these are numbered by themselves, and records of
/// a flow know each of its packets by one number. Beyond all others: packets, and 120 days of a clock of 27 MHz.
pub const FIRST_OF_SOUND: u64 = 1 << 48;

/// One datagram that the receiver got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramReceived {
    /// RTP sequence number, extended from 0, or that of an adaptive stream.
    pub sequence: u64,
    /// UDP payload in bytes.
    pub size: u32,
    /// When.
    pub at: Timestamp,
    /// False when the receiver had no use for it any more: the frame that it is a part of was given up. Of a part that came
    /// twice, the copy that came first is the one that is kept.
    pub kept: bool,
}

/// What a receiver handed on of a frame that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedOn {
    /// Sequence number of the first of its datagrams.
    pub sequence: u64,
    /// Bytes of the frame, up to its first gap.
    pub bytes: u32,
}

/// One read from the receiver's byte stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamRead {
    /// Bytes read since the start.
    pub total: u64,
    /// When.
    pub at: Timestamp,
}

/// A frame of which something was found, by its content, in what the receiver's application gave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameFound {
    /// Number of the frame in decode order.
    pub frame: u32,
    /// When its last byte came; `None` when it did not come whole.
    pub whole_at: Option<Timestamp>,
    /// Bytes that came, of a frame that did not come whole.
    pub bytes: u64,
}

/// What the receiver's application gave out: the elementary stream, searched for the movie's frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundStream {
    /// Frames, in decode order.
    pub frames: Vec<FrameFound>,
    /// When its first byte came.
    pub first_byte: Option<Timestamp>,
}

/// A report of one end of a flow to the other (RTCP, RFC 3550, section 6.4), and what was so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RtcpRecord {
    /// The track whose packets it is about: 0 for video.
    pub track: u8,
    /// True from sender to receiver.
    pub from_sender: bool,
    /// When it was sent.
    pub sent: Timestamp,
    /// When it came to the other end; `None`: never.
    pub arrived: Option<Timestamp>,
    /// UDP payload in bytes.
    pub size: u32,
    /// It sends BYE.
    pub bye: bool,
    /// Of a sender: packets that it has sent.
    pub packets: Option<u32>,
    /// Bytes of payload in them.
    pub octets: Option<u32>,
    /// Of a receiver: the share of packets lost since its report before, as it says it.
    pub fraction_lost: Option<f64>,
    /// Packets lost so far, as it says it.
    pub lost: Option<i32>,
    /// The highest sequence number that came.
    pub highest_sequence: Option<u32>,
    /// The interarrival jitter, as it says it.
    pub jitter: Option<Duration>,
    /// The round trip that the sender takes from it when it comes.
    pub round_trip: Option<Duration>,
    /// Of the numbers since the report before, the share that had not come when it was sent.
    pub true_fraction_lost: Option<f64>,
    /// Of the numbers from the stream's first to the highest, those that had not come when it was sent.
    pub true_lost: Option<u64>,
    /// How long the sender's report that it answers, and it itself, were under way.
    pub true_round_trip: Option<Duration>,
}

/// One packet's life on one hop, as the link model gave its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// Number of the packet in the run.
    pub packet: u64,
    /// True from sender to receiver.
    pub forward: bool,
    /// `"udp"`, `"tcp"` or `"other"`.
    pub protocol: &'static str,
    /// IP bytes.
    pub size: u32,
    /// RTP sequence number extended from 0, that of a video packet of an adaptive stream, or TCP sequence number relative
    /// to the first.
    pub sequence: Option<u64>,
    /// Bytes above UDP or TCP.
    pub payload: u32,
    /// `"sender-device"`, `"access-point"`, `"bottleneck"` or `"wire"`.
    pub hop: &'static str,
    /// When it entered the hop's queue.
    pub enqueued: Timestamp,
    /// When its first transmission began.
    pub started: Option<Timestamp>,
    /// Arrival at the other end of the hop, or the moment of the drop.
    pub finished: Timestamp,
    /// Rate of every transmission, in order.
    pub transmissions: Vec<Bitrate>,
    /// `None` when delivered; otherwise the place and the cause (`"retry limit"`, `"queue full"`, ...).
    pub dropped: Option<(Place, &'static str)>,
    /// Its arrival was seen late and moved to the model's present.
    pub clamped: bool,
    /// Transmissions that the sniffer captured; `None` without a sniffer.
    pub sniffed: Option<u16>,
}

impl PacketRecord {
    /// True where its sequence number is that of a datagram of the sender's log, which says whose frame it carries.
    pub fn tells_its_frame(&self) -> bool {
        self.forward && self.protocol == "udp"
    }

    /// True on the hop where transmissions are counted: towards the receiver the sender's own device, or the access
    /// point where that stands behind the wire. A packet passes one of them.
    pub(crate) fn counts_transmissions(&self) -> bool {
        self.forward && matches!(self.hop, "sender-device" | "access-point")
    }
}

/// A sample of a flow's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowSample {
    /// When.
    pub at: Timestamp,
    /// Number of the connection, from 0, where a flow is several; `None` for a flow of one.
    pub connection: Option<u8>,
    /// Congestion window in packets.
    pub cwnd_packets: Option<u32>,
    /// Slow-start threshold in packets.
    pub ssthresh_packets: Option<u32>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Round-trip time variation.
    pub rttvar: Option<Duration>,
    /// Packets sent and not acknowledged.
    pub in_flight_packets: Option<u32>,
    /// Bytes in the socket that were not yet given to the network.
    pub unsent_bytes: Option<u64>,
    /// Bytes in the socket in all.
    pub queued_bytes: Option<u64>,
    /// The kernel's estimate of the delivery rate.
    pub delivery_rate: Option<Bitrate>,
    /// Retransmissions since the start.
    pub retransmissions: Option<u32>,
    /// Retransmission timeouts that expired since the start.
    pub timeouts: Option<u32>,
    /// What the receiving application of a bulk connection has got since the start.
    pub received_bytes: Option<u64>,
    /// The rate at which an adaptive stream is sent: bytes of video, without headers.
    pub sending_rate: Option<Bitrate>,
    /// What its controller holds the bandwidth for.
    pub estimate: Option<Bitrate>,
    /// The level that its packets are taken from.
    pub level: Option<u8>,
}

/// What has come of a flow, or of one of its connections, by a time, and how fast an adaptive stream is sent then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateSample {
    /// When.
    pub at: Timestamp,
    /// Number of the connection, from 0, where a flow is several; `None` for a flow of one.
    pub connection: Option<u8>,
    /// What the receiving application has got since the start: payload of a connection in order, or video and audio of an
    /// adaptive stream. `None` for a movie's transport.
    pub received_bytes: Option<u64>,
    /// Bytes of the IP packets that came to the receiver's host since the start.
    pub received_packet_bytes: u64,
    /// The rate at which an adaptive stream is sent: bytes of video, without headers.
    pub sending_rate: Option<Bitrate>,
    /// What its controller holds the bandwidth for.
    pub estimate: Option<Bitrate>,
    /// What the plan of its lowest level asks for where the stream is.
    pub lowest_plan: Option<Bitrate>,
    /// The same of its highest level.
    pub highest_plan: Option<Bitrate>,
    /// The level that its packets are taken from.
    pub level: Option<u8>,
    /// Smoothed round-trip time of its controller.
    pub round_trip: Option<Duration>,
    /// Loss event rate reported to its controller, 0 to 1.
    pub loss_event_rate: Option<f64>,
}

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

/// Packets by their number of transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransmissionCounts {
    /// Packets that were sent 1, 2, 3, 4, and 5 or more times.
    pub packets: [u64; 5],
    /// Transmissions in all.
    pub total: u64,
}

impl TransmissionCounts {
    /// Adds a packet with so many transmissions; one that was never sent does not count.
    pub fn add(&mut self, transmissions: usize) {
        if transmissions > 0 {
            self.packets[transmissions.min(5) - 1] += 1;
            self.total += transmissions as u64;
        }
    }
}

/// What was counted of the packets that the sender's device, or the access point, sent towards the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirCounts {
    /// How often they were sent.
    pub transmissions: TransmissionCounts,
    /// How often the sniffer captured them; `None` without a sniffer.
    pub sniffed: Option<TransmissionCounts>,
}

impl AirCounts {
    /// Adds what became of a packet on a hop, where its transmissions are counted there.
    pub fn add(&mut self, packet: &PacketRecord) {
        if packet.counts_transmissions() {
            self.transmissions.add(packet.transmissions.len());
            if let Some(sniffed) = packet.sniffed {
                self.sniffed.get_or_insert_default().add(sniffed.into());
            }
        }
    }
}

/// One packet released by the emulated network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseRecord {
    /// Number of the packet in the run.
    pub packet: u64,
    /// When the model says it arrives.
    pub intended: Timestamp,
    /// When it was written to the receiving side.
    pub actual: Timestamp,
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
