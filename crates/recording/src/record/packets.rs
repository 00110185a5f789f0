//! Records of datagrams, reads and packets on the link.

use framewire_units::{Bitrate, Timestamp};

use super::frames::LossPlace;

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
    pub dropped: Option<(LossPlace, &'static str)>,
    /// The hop's queue saw congestion and marked it (Congestion Experienced, RFC 3168).
    pub marked: bool,
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
