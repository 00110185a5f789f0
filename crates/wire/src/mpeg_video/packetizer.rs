//! From access units to RTP datagrams.

use bytes::{Bytes, BytesMut};
use framewire_units::DataSize;

use super::access_unit::{AccessUnit, FrameError};
use super::cutter::{Cut, Cutter, OVERHEAD, Surplus};
use super::header::HeaderRepr;
use super::new_header::NewHeaderDetector;
use super::{LARGEST_STREAM_HEADER, PacketRule};
use crate::rtp::RtpHeader;

/// Headers of IPv4 without options (RFC 791) and UDP (RFC 768).
const IP_AND_UDP: u64 = 20 + 8;

/// The largest IPv4 packet (RFC 791, section 3.1).
const LARGEST_MTU: u64 = 65_535;
const SMALLEST_MTU: u64 = IP_AND_UDP + (OVERHEAD + LARGEST_STREAM_HEADER) as u64;

/// One RTP packet, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Sequence number, extended to 64 bits from the first packet of the stream as 0.
    pub sequence: u64,
    /// The UDP payload.
    pub bytes: Bytes,
}

impl Datagram {
    /// Bytes before the video: the headers of RTP (RFC 3550, section 5.1) and of its payload format (RFC 2250, section 3.4).
    pub const HEADERS: u16 = OVERHEAD as u16;

    /// Size of the UDP payload.
    pub fn size(&self) -> DataSize {
        DataSize::from_bytes(self.bytes.len() as u64)
    }
}

/// Cuts access units into RTP packets (RFC 2250, section 3).
///
/// Call [`packetize`](Self::packetize) with one access unit after the other, in decode order. The packets of a call
/// carry its time stamp, the last one the marker. Sequence numbers go on from call to call; a frame that is refused
/// uses none.
#[derive(Clone, Debug)]
pub struct Packetizer {
    rule: PacketRule,
    largest_video: usize,
    ssrc: u32,
    initial_sequence: u16,
    payload_type: u8,
    next_sequence: u64,
    access_unit: AccessUnit,
    cuts: Vec<Cut>,
    surplus: Surplus,
    new_header: NewHeaderDetector,
}

impl Packetizer {
    /// A packetizer for one stream.
    ///
    /// `mtu` is the largest IP packet in bytes, of which IPv4 and UDP take 28; under [`PacketRule::Thesis`] packets
    /// are smaller where the MTU is larger than those of the thesis. `payload_type` is
    /// [`PAYLOAD_TYPE`](super::PAYLOAD_TYPE) or a dynamic one.
    ///
    /// # Errors
    /// When the MTU leaves no room for the largest header of a stream (RFC 2250, section 3.1), or is larger than an
    /// IP packet can be; when the payload type is over 127.
    pub fn new(
        rule: PacketRule,
        mtu: DataSize,
        ssrc: u32,
        initial_sequence: u16,
        payload_type: u8,
    ) -> Result<Self, ConfigError> {
        if !(SMALLEST_MTU..=LARGEST_MTU).contains(&mtu.as_bytes()) {
            return Err(ConfigError::Mtu(mtu));
        }
        if payload_type > 0x7F {
            return Err(ConfigError::PayloadType(payload_type));
        }
        let largest_datagram = usize::try_from(mtu.as_bytes() - IP_AND_UDP).expect("invariant: an MTU is small");
        Ok(Self {
            rule,
            largest_video: largest_datagram.min(rule.largest_datagram()) - OVERHEAD,
            ssrc,
            initial_sequence,
            payload_type,
            next_sequence: 0,
            access_unit: AccessUnit::default(),
            cuts: Vec::new(),
            surplus: Surplus::default(),
            new_header: NewHeaderDetector::default(),
        })
    }

    /// Sequence number of the next packet, extended to 64 bits from the first packet of the stream as 0.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// The packets of one access unit: a frame or a pair of fields, with the headers before it.
    ///
    /// `rtp_timestamp` is the presentation time in the 90 kHz clock. One allocation holds all packets of the frame.
    ///
    /// # Errors
    /// When the bytes are not an access unit that starts with its headers.
    pub fn packetize(&mut self, frame: &[u8], rtp_timestamp: u32) -> Result<Vec<Datagram>, FrameError> {
        self.access_unit.read(frame)?;
        self.new_header.read(frame, &self.access_unit);
        self.cuts.clear();
        Cutter::new(self.rule, self.largest_video, &mut self.surplus, &mut self.cuts).cut(&self.access_unit.units);
        let mut memory = BytesMut::zeroed(frame.len() + self.cuts.len() * OVERHEAD);
        let last = self.cuts.len() - 1;
        let emit = |(index, cut): (usize, &Cut)| {
            let video = &frame[cut.start..cut.end];
            let mut packet = memory.split_to(OVERHEAD + video.len());
            let sequence = self.next_sequence + index as u64;
            let rtp_header = RtpHeader {
                marker: index == last,
                payload_type: self.payload_type,
                sequence_number: self.initial_sequence.wrapping_add(sequence as u16),
                timestamp: rtp_timestamp,
                ssrc: self.ssrc,
            };
            rtp_header.emit([&self.mpeg_header(cut).emit(), video], &mut packet);
            Datagram { sequence, bytes: packet.freeze() }
        };
        let datagrams: Vec<_> = self.cuts.iter().enumerate().map(emit).collect();
        self.next_sequence += datagrams.len() as u64;
        Ok(datagrams)
    }

    fn mpeg_header(&self, cut: &Cut) -> HeaderRepr {
        let picture = &self.access_unit.pictures[cut.picture];
        HeaderRepr {
            temporal_reference: picture.temporal_reference,
            new_picture_header: picture.mpeg2.then(|| self.new_header.is_new(cut.picture)),
            sequence_header_present: cut.sequence_header,
            beginning_of_slice: cut.begins_slice,
            end_of_slice: cut.ends_slice,
            picture_type: picture.kind,
            motion_vector_codes: picture.motion_vector_codes,
        }
    }
}

/// A packetizer that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The MTU is out of range.
    #[error("an MTU of {0} is out of range: {SMALLEST_MTU} B to {LARGEST_MTU} B is allowed")]
    Mtu(DataSize),
    /// The payload type does not fit its field.
    #[error("payload type {0} is out of range: 0 to 127 is allowed")]
    PayloadType(u8),
}
