//! What enters and leaves the halves of a transport.

use bytes::Bytes;
use framewire_media::picture_order::Renumbering;
use framewire_units::{DataSize, Timestamp};

/// Where on this host a frame or datagram was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SenderPlace {
    /// Dropped on purpose, by a rule of the sending pipeline.
    Pipeline,
    /// The socket or the device queue had no room.
    Socket,
}

/// What a sending half did; drained with `poll_event` after every input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// The frame entered the sending half's queue.
    Queued {
        /// Frame number in decode order.
        frame: u32,
        /// When.
        at: Timestamp,
    },
    /// The first byte of the frame entered the socket.
    FirstByte {
        /// Frame number in decode order.
        frame: u32,
        /// When.
        at: Timestamp,
    },
    /// The frame was made to begin a coded video sequence before it was sent, because of what was given up before it.
    BeginsSequence {
        /// Frame number in decode order.
        frame: u32,
        /// When.
        at: Timestamp,
    },
    /// The numbers in the frame's headers were changed before it was sent, because of what was given up before it or
    /// before a frame that it refers to.
    Renumbered {
        /// Frame number in decode order.
        frame: u32,
        /// When.
        at: Timestamp,
        /// By how much.
        by: Renumbering,
        /// Its size in bytes as it is sent.
        size: u64,
    },
    /// A packet of RTP is in the stream, whose session reports what was sent (RFC 3550, section 6.4.1).
    Packet {
        /// When.
        at: Timestamp,
        /// Its time stamp.
        timestamp: u32,
        /// Bytes of its payload.
        octets: u32,
        /// It has sound.
        is_sound: bool,
    },
    /// The last byte of the frame entered the socket. On a stream, frames leave in the order of these events.
    LastByte {
        /// Frame number in decode order.
        frame: u32,
        /// When.
        at: Timestamp,
        /// Bytes of the stream up to its end; `None` over datagrams.
        end: Option<u64>,
    },
    /// The frame, or what was left of it, was given up.
    Discarded {
        /// Frame number in decode order.
        frame: u32,
        /// When.
        at: Timestamp,
        /// Where.
        place: SenderPlace,
        /// The rule that decided, for instance `"ifd: B while a frame waits"`.
        rule: &'static str,
    },
    /// Packets of a transport stream of constant rate entered the socket.
    Stuffing {
        /// Bytes of null packets; none where all was of use.
        bytes: DataSize,
        /// Bytes of all of them.
        of: DataSize,
    },
    /// One datagram was offered to the socket.
    Datagram {
        /// Frame number in decode order; `None` of one that holds the place of frames in a stream of constant rate.
        frame: Option<u32>,
        /// Number of the datagram: RTP sequence number, extended to 64 bits from the first one sent as 0; of a transport
        /// stream without RTP its clock reference, in ticks of 27 MHz.
        sequence: u64,
        /// UDP payload in bytes.
        size: u32,
        /// Of these, bytes of headers: the rest is of the frame.
        headers: u16,
        /// When.
        at: Timestamp,
        /// False when the socket dropped it, or when it was not sent because of a rule.
        sent: bool,
    },
}

/// What a receiving half saw; drained with `poll_event` after every input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiverEvent {
    /// A datagram of the flow arrived.
    Datagram {
        /// Number of the datagram, as its sender gave it.
        sequence: u64,
        /// UDP payload in bytes.
        size: u32,
        /// When.
        at: Timestamp,
    },
    /// Bytes of the stream were read.
    Read {
        /// Bytes read since the start.
        total: u64,
        /// When.
        at: Timestamp,
    },
    /// A frame ended, whole or not. Frames come in the order in which they were sent.
    Frame {
        /// The track that it is of: 0 for video.
        track: u8,
        /// RTP time stamp; `None` on a byte stream, where frames are identified by their order.
        rtp_timestamp: Option<u32>,
        /// When its last byte arrived.
        at: Timestamp,
        /// False when a packet of it is missing: the receiver discards it, unless it hands on what came up to that.
        complete: bool,
        /// Of a frame that was discarded though all of it may have come: the sequence number of its last packet. Packets
        /// before its first one are missing, and nothing shows whether they were its own.
        discarded: Option<u64>,
        /// Of a frame that is not whole and is handed on all the same: the sequence number of the first of its packets.
        handed_on: Option<u64>,
        /// The frame as received; when not complete what is handed on of it, else nothing.
        bytes: Bytes,
    },
    /// Something arrived that is not of this flow or not well formed, and was ignored.
    Rejected {
        /// When.
        at: Timestamp,
        /// What was wrong.
        reason: String,
    },
}
