//! What a demultiplexer gives out.

use std::ops::RangeInclusive;

use bytes::Bytes;
use framewire_units::{DataSize, Timestamp};

use super::packet::PacketError;
use super::pes::PesError;
use super::section::SectionError;
use super::tables::Track;

/// One access unit as it was received: what a PES packet carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedUnit {
    /// Which track it is of.
    pub track: Track,
    /// When it is presented, in ticks of 90 kHz that go on beyond their wrap; `None` where the packet with the header did
    /// not arrive, or has no time.
    pub presentation: Option<u64>,
    /// When it is decoded.
    pub decode: Option<u64>,
    /// Decoding can begin here, as the stream says.
    pub random_access: bool,
    /// True when the unit is whole.
    pub complete: bool,
    /// The unit; empty when not complete. What the multiplexer of this crate puts before a frame is not in it.
    pub bytes: Bytes,
    /// Of a unit that is not complete, what came of it before the first packet that is missing; empty where that is its first
    /// one, where it is not known what is missing, and of units that were refused.
    pub beginning: Bytes,
    /// Numbers of the first and the last packet of it that arrived: the continuity counter of the track, extended from
    /// the first one that arrived as 0 by the fewest packets that can be missing.
    pub sequences: RangeInclusive<u64>,
    /// Numbers from the first to the last packet that is known to be missing and belongs, or may belong, to this unit.
    pub missing: Option<RangeInclusive<u64>>,
    /// Numbers of the first and the last datagram with packets of it, as its carrier says; 0 in a stream of bytes.
    pub datagrams: RangeInclusive<u64>,
    /// When the first of its packets arrived.
    pub first_arrival: Timestamp,
    /// When the last of its packets arrived.
    pub last_arrival: Timestamp,
}

/// What was wrong with what arrived; the demultiplexer goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A datagram that is not made of whole packets.
    #[error("a datagram of {0} is not a number of transport packets of 188 bytes")]
    Datagram(DataSize),
    /// Bytes in which no packets are found.
    #[error("{0} bytes without the sync byte of a transport packet every 188 were passed over")]
    Unsynchronised(usize),
    /// A packet that is none.
    #[error(transparent)]
    Packet(#[from] PacketError),
    /// A packet of the program that is scrambled.
    #[error("packets of packet identifier {pid:#06x} are scrambled, and there is no key here")]
    Scrambled {
        /// Packet identifier.
        pid: u16,
    },
    /// A section that is none.
    #[error("packet identifier {pid:#06x}: {error}")]
    Section {
        /// Packet identifier.
        pid: u16,
        /// What is wrong.
        error: SectionError,
    },
    /// A PES packet that is none of an access unit.
    #[error("packet identifier {pid:#06x}: {error}")]
    Pes {
        /// Packet identifier.
        pid: u16,
        /// What is wrong.
        error: PesError,
    },
    /// A unit grew beyond the limit.
    #[error("packet identifier {pid:#06x}: an access unit grows beyond {limit}")]
    TooLarge {
        /// Packet identifier.
        pid: u16,
        /// The limit.
        limit: DataSize,
    },
}

/// What arrived, counted in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets.
    pub packets: u64,
    /// Of these, packets without content.
    pub null: u64,
    /// Packets of identifiers that are not of the program.
    pub unknown: u64,
    /// Packets that came twice (2.4.3.3).
    pub duplicates: u64,
    /// Packets with a wrong bit, by transport_error_indicator.
    pub damaged: u64,
    /// Packets that are scrambled.
    pub scrambled: u64,
    /// Packets that are missing, by the continuity counters: at least so many.
    pub missing: u64,
}
