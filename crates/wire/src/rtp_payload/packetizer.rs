//! From access units to RTP datagrams.

use bytes::{Bytes, BytesMut};
use framewire_units::DataSize;

use super::packets::{Packets, Written};
use super::{FrameError, Packer, PacketRule, PayloadFormat, StreamOrigin};
use crate::rtp::{self, RtpHeader};

/// Headers of IPv4 without options (RFC 791) and UDP (RFC 768).
const IP_AND_UDP: u64 = 20 + 8;

/// The largest IPv4 packet (RFC 791, section 3.1).
const LARGEST_MTU: u64 = 65_535;

/// One RTP packet, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Sequence number, extended to 64 bits from the first packet of the stream as 0.
    pub sequence: u64,
    /// The UDP payload.
    pub bytes: Bytes,
    /// Bytes of it that are not of the access unit: the headers of RTP (RFC 3550, section 5.1) and of its payload format.
    pub headers: u16,
}

impl Datagram {
    /// Size of the UDP payload.
    pub fn size(&self) -> DataSize {
        DataSize::from_bytes(self.bytes.len() as u64)
    }
}

/// Cuts access units into RTP packets, as a [`PayloadFormat`] has them.
///
/// Call [`packetize`](Self::packetize) with one access unit after the other, in decode order. The packets of a call
/// carry its time stamp, of video the last one the marker (RFC 2250, section 3.3; RFC 6184, section 5.1; RFC 7798, section
/// 4.1). Of sound several access units may be given at once, one behind the other: they fill packets, each with the time
/// stamp of the first one in it.
/// Sequence numbers go on from call to call; a frame that is refused uses none.
#[derive(Clone, Debug)]
pub struct Packetizer {
    packer: Box<dyn Packer>,
    origin: StreamOrigin,
    initial_timestamp: u32,
    payload_type: u8,
    /// The marker is on the last packet of every frame; else the format says which packets have one.
    marks_ends: bool,
    next_sequence: u64,
    packets: Packets,
}

impl Packetizer {
    /// A packetizer for one stream.
    ///
    /// `mtu` is the largest IP packet in bytes, of which IPv4 and UDP take 28; under [`PacketRule::Thesis`] packets
    /// are smaller where the MTU is larger than those of the thesis.
    ///
    /// # Errors
    /// When the MTU leaves no room for what the format does not cut, or is larger than an IP packet can be; when the
    /// format does not know the rule.
    pub fn new(
        format: &PayloadFormat,
        rule: PacketRule,
        mtu: DataSize,
        origin: StreamOrigin,
    ) -> Result<Self, ConfigError> {
        let smallest = IP_AND_UDP + (rtp::HEADER_LENGTH + format.smallest_payload) as u64;
        if !(smallest..=LARGEST_MTU).contains(&mtu.as_bytes()) {
            return Err(ConfigError::Mtu { mtu, smallest });
        }
        format.check_rule(rule)?;
        let largest_datagram = usize::try_from(mtu.as_bytes() - IP_AND_UDP).expect("invariant: an MTU is small");
        Ok(Self {
            packer: (format.packer)(rule, largest_datagram - rtp::HEADER_LENGTH),
            origin,
            initial_timestamp: 0,
            payload_type: format.payload_type,
            marks_ends: format.marks_ends(),
            next_sequence: 0,
            packets: Packets::default(),
        })
    }

    /// The same with another payload type than the format's own.
    ///
    /// # Errors
    /// When it is over 127.
    pub fn with_payload_type(self, payload_type: u8) -> Result<Self, ConfigError> {
        if payload_type > 0x7F {
            return Err(ConfigError::PayloadType(payload_type));
        }
        Ok(Self { payload_type, ..self })
    }

    /// The same whose time stamps begin with this one instead of 0. A sender draws it (RFC 3550, section 5.1: the initial value SHOULD be
    /// random, as for the sequence number).
    #[must_use]
    pub fn with_initial_timestamp(self, initial_timestamp: u32) -> Self {
        Self { initial_timestamp, ..self }
    }

    /// The same whose first packet has this sequence number, for one of several receivers.
    #[must_use]
    pub fn with_initial_sequence(self, initial_sequence: u16) -> Self {
        Self { origin: StreamOrigin { initial_sequence, ..self.origin }, ..self }
    }

    /// Sequence number of the next packet, extended to 64 bits from the first packet of the stream as 0.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// The sequence number that the next packet has (RFC 3550, section 5.1).
    pub fn next_number(&self) -> u16 {
        self.origin.initial_sequence.wrapping_add(self.next_sequence as u16)
    }

    /// The packets of one access unit: a frame or a pair of fields, with the headers before it; or packets of sound.
    ///
    /// `rtp_timestamp` is the presentation time in the clock of the stream, of video 90 kHz, which the packets carry behind the
    /// [initial one](Self::with_initial_timestamp). One allocation holds all packets of the frame.
    ///
    /// # Errors
    /// When the bytes are not an access unit that the format packs.
    pub fn packetize(&mut self, frame: &[u8], rtp_timestamp: u32) -> Result<Vec<Datagram>, FrameError> {
        self.packets.clear();
        self.packer.pack(frame, &mut self.packets)?;
        let (first, origin, payload_type) = (self.next_sequence, self.origin, self.payload_type);
        let (marks_ends, timestamp) = (self.marks_ends, self.initial_timestamp.wrapping_add(rtp_timestamp));
        let (count, packets) = self.packets.drain();
        let emit = |(index, (mut packet, written)): (usize, (BytesMut, Written))| {
            let sequence = first + index as u64;
            let header = RtpHeader {
                marker: if marks_ends { index + 1 == count } else { written.marker },
                payload_type,
                sequence_number: origin.initial_sequence.wrapping_add(sequence as u16),
                timestamp: timestamp.wrapping_add(written.ticks),
                ssrc: origin.ssrc,
            };
            header.emit([&[], &[]], &mut packet[..rtp::HEADER_LENGTH]);
            let headers = u16::try_from(written.headers).expect("invariant: a packet fits into one of IP");
            Datagram { sequence, bytes: packet.freeze(), headers }
        };
        let datagrams: Vec<_> = packets.enumerate().map(emit).collect();
        self.next_sequence += datagrams.len() as u64;
        Ok(datagrams)
    }
}

/// A packetizer that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The MTU is out of range.
    #[error("an MTU of {mtu} is out of range: {smallest} B to {LARGEST_MTU} B is allowed")]
    Mtu {
        /// What was asked for.
        mtu: DataSize,
        /// The smallest one in bytes.
        smallest: u64,
    },
    /// The format does not know the rule.
    #[error("packets = \"{rule}\": {reason}")]
    Rule {
        /// What was asked for.
        rule: PacketRule,
        /// Why.
        reason: &'static str,
    },
    /// The payload type does not fit its field.
    #[error("payload type {0} is out of range: 0 to 127 is allowed")]
    PayloadType(u8),
}
