//! What travels between two endpoints.

use framewire_units::{DataSize, Ecn, Timestamp};

/// Bytes of an IPv4 header (RFC 791, section 3.1) and a TCP header (RFC 9293, section 3.1) without options.
pub const IP_AND_TCP_HEADERS: u64 = 40;
/// Bytes of the timestamps option (RFC 7323, section 3.2) with the padding that every implementation gives it
/// (appendix A of the same).
pub(crate) const TIMESTAMPS_OPTION: u64 = 12;
/// Bytes that a SYN carries beside the timestamps: MSS (RFC 9293, 3.7.1), window scale (RFC 7323, 2.2) and
/// SACK-permitted (RFC 2018, 2), padded.
pub(crate) const SYN_OPTIONS: u64 = 8;

/// Bytes of the largest IPv4 packet (RFC 791, section 3.1).
const LARGEST_PACKET: u32 = 65_535;
/// The largest window that scaling can express (RFC 7323, section 2.3).
const LARGEST_WINDOW: u64 = 65_535 << 14;
/// At 100 Gbit/s, sequence numbers get here after ten years.
const NUMBER_LIMIT: u64 = 1 << 62;

/// Control bits (RFC 9293, section 3.1; RFC 3168, section 6.1 and RFC 9768, section 3.1 for those of ECN).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// Opens the connection; takes one sequence number.
    pub syn: bool,
    /// The acknowledgement number counts.
    pub ack: bool,
    /// The stream ends here; takes one sequence number.
    pub fin: bool,
    /// ECN echo.
    pub ece: bool,
    /// Congestion window reduced.
    pub cwr: bool,
    /// Accurate ECN (RFC 9768, section 3.1): a SYN asks for it; later it is the first bit of the counter of marks.
    pub ae: bool,
    /// A SYN's option: selective acknowledgements are understood (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// A SYN's option: the sender scales its window (RFC 7323, section 2.2).
    pub window_scale: bool,
    /// The sender's application has handed over what it had so far (RFC 9293, section 3.9.1.2): set on the last
    /// segment of a write. Receivers delay acknowledgements less after it.
    pub push: bool,
}

impl Flags {
    /// The three bits that accurate ECN has: ACE (RFC 9768, section 3.2.2).
    pub(crate) fn ace(self) -> u8 {
        (u8::from(self.ae) << 2) | (u8::from(self.cwr) << 1) | u8::from(self.ece)
    }

    /// With these three bits.
    pub(crate) fn with_ace(self, bits: u8) -> Self {
        Self { ae: bits & 4 != 0, cwr: bits & 2 != 0, ece: bits & 1 != 0, ..self }
    }
}

/// The timestamps option (RFC 7323, section 3). The clock is the sender's, as Linux has it: one tick per millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampsOption {
    /// TSval, in milliseconds.
    pub value: u64,
    /// TSecr, in milliseconds.
    pub echo: u64,
}

/// A run of bytes that arrived out of order: `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// First number.
    pub start: u64,
    /// First number after it.
    pub end: u64,
}

/// The SACK option (RFC 2018, section 3): at most three blocks beside timestamps. A first block below the
/// acknowledgement number, or inside the second block, reports a duplicate (RFC 2883, section 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [SackBlock; 3],
    length: u8,
}

impl SackBlocks {
    /// Adds a block; what does not fit is left out.
    pub fn push(&mut self, block: SackBlock) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.length)) {
            *slot = block;
            self.length += 1;
        }
    }

    /// The blocks, most recent first.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.length)]
    }

    /// Puts the blocks in the order of their first numbers.
    pub fn sort(&mut self) {
        self.blocks[..usize::from(self.length)].sort_unstable_by_key(|block| (block.start, block.end));
    }

    /// True without blocks.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

/// One TCP segment. Copying it is cheap, and nothing in it is allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of its first byte. The SYN has number 0, the stream begins at 1.
    pub sequence: u64,
    /// Payload bytes.
    pub payload: u32,
    /// The next number that its sender expects; counts where `flags.ack` is set.
    pub acknowledgement: u64,
    /// Control bits.
    pub flags: Flags,
    /// Receive window in bytes, after scaling (RFC 7323, section 2).
    pub window: u64,
    /// Maximum segment size of a SYN (RFC 9293, section 3.7.1): payload with an option-less header.
    pub maximum_segment: Option<u32>,
    /// Timestamps, where both sides use them.
    pub timestamps: Option<TimestampsOption>,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
    /// The IP header's ECN field.
    pub ecn: Ecn,
    /// True for bytes that were sent before; for logs only.
    pub retransmission: bool,
    /// When it left its endpoint; for logs only.
    pub sent: Timestamp,
}

impl Segment {
    /// Size of the IP packet.
    pub fn packet_size(&self) -> DataSize {
        let timestamps = if self.timestamps.is_some() { TIMESTAMPS_OPTION } else { 0 };
        let syn = if self.flags.syn { SYN_OPTIONS } else { 0 };
        let sack = match self.sack.as_slice().len() as u64 {
            0 => 0,
            // RFC 2018, section 3: kind, length and eight bytes per block, after two bytes of padding.
            blocks => 4 + 8 * blocks,
        };
        DataSize::from_bytes(IP_AND_TCP_HEADERS + timestamps + syn + sack + u64::from(self.payload))
    }

    /// Sequence numbers that it takes: payload, SYN and FIN.
    pub(crate) fn sequence_length(&self) -> u64 {
        u64::from(self.payload) + u64::from(self.flags.syn) + u64::from(self.flags.fin)
    }

    /// First sequence number after it.
    pub fn end(&self) -> u64 {
        self.sequence.saturating_add(self.sequence_length())
    }

    /// Whether a connection can have such a segment: no packet is longer (RFC 791, section 3.1), no window larger
    /// (RFC 7323, section 2.3), and no number as far from its start.
    pub(crate) fn is_possible(&self) -> bool {
        let times = self.timestamps.map_or([0; 2], |timestamps| [timestamps.value, timestamps.echo]);
        let blocks = self.sack.as_slice().iter().flat_map(|block| [block.start, block.end]);
        let mut numbers = [self.sequence, self.acknowledgement].into_iter().chain(times).chain(blocks);
        self.payload <= LARGEST_PACKET && self.window <= LARGEST_WINDOW && numbers.all(|number| number < NUMBER_LIMIT)
    }
}
