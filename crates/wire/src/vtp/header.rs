use framewire_units::{DataSize, Duration, Timestamp};

use super::error::{PacketError, check_reserved};

/// The version that every packet begins with.
pub const VERSION: u8 = 1;

/// Bytes of the header that all packets share.
pub const HEADER_LENGTH: usize = 36;

/// TYPE of figure 5: what a packet is, and of a video packet whether it asks for a control packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketType {
    /// Video that asks for nothing.
    Video,
    /// Video that asks the receiver for a control packet.
    VideoAckRequest,
    /// A control packet: the header of the video packet that asked for it, filled in.
    Control,
    /// The client asks for a movie, on either socket.
    Request,
    /// The server describes the movie and hands out a cookie.
    Description,
    /// The client returns the cookie: start.
    Start,
    /// Either side ends the session.
    Teardown,
    /// Feedback of another controller's receiver.
    Report,
    /// What the client can beyond the paper, and what of it the session has.
    Offer,
    /// The client names packets that did not arrive.
    Missing,
}

impl PacketType {
    const ALL: [Self; 10] = [
        Self::Video,
        Self::VideoAckRequest,
        Self::Control,
        Self::Request,
        Self::Description,
        Self::Start,
        Self::Teardown,
        Self::Report,
        Self::Offer,
        Self::Missing,
    ];

    /// The number on the wire.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The type with this number.
    ///
    /// # Errors
    /// [`PacketError::Type`] when there is none.
    pub fn from_code(code: u8) -> Result<Self, PacketError> {
        Self::ALL.get(usize::from(code)).copied().ok_or(PacketError::Type(code))
    }
}

/// The header of figure 5, the same in both directions ("symmetric"), so that the receiver answers a request by
/// copying it and filling in two fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// TYPE.
    pub packet_type: PacketType,
    /// Names the session; drawn by the client (not in the paper, whose server has one client).
    pub session: u64,
    /// Sequence number: of video packets consecutive from 0, modulo 2^32.
    pub sequence: u32,
    /// When the sender sent it, on the sender's clock.
    pub sender_time: Timestamp,
    /// When it arrived, on the receiver's clock; zero in what the sender sends.
    pub receiver_time: Timestamp,
    /// SIZE: bytes of video in this packet; in a control packet, bytes of video received since the last one;
    /// in a description, bytes that it has on audio.
    pub size: DataSize,
}

impl Header {
    /// Reads the header and returns it with what follows.
    ///
    /// # Errors
    /// When the datagram is shorter, has another version or an unknown type, or its fields have impossible values.
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), PacketError> {
        let Some((header, rest)) = datagram.split_first_chunk::<HEADER_LENGTH>() else {
            return Err(PacketError::Length { packet: "packet", length: datagram.len(), expected: HEADER_LENGTH });
        };
        if header[0] != VERSION {
            return Err(PacketError::Version(header[0]));
        }
        let packet_type = PacketType::from_code(header[1])?;
        check_reserved(u64::from(u16_at(header, 2)))?;
        let parsed = Self {
            packet_type,
            session: u64_at(header, 4),
            sequence: u32_at(header, 12),
            sender_time: time_at(header, 16)?,
            receiver_time: time_at(header, 24)?,
            size: DataSize::from_bytes(u64::from(u32_at(header, 32))),
        };
        parsed.check_unused()?;
        Ok((parsed, rest))
    }

    /// Fields that mean nothing in a packet of this type are zero.
    fn check_unused(&self) -> Result<(), PacketError> {
        use PacketType::{Control, Description, Missing, Report, Video, VideoAckRequest};
        let unused = match self.packet_type {
            Control => 0,
            Video | VideoAckRequest => self.receiver_time.as_nanos(),
            Report | Missing => self.sender_time.as_nanos() | self.receiver_time.as_nanos() | self.size.as_bytes(),
            _ => {
                // A description says here how much it says of audio.
                let size = if self.packet_type == Description { 0 } else { self.size.as_bytes() };
                let numbers = u64::from(self.sequence) | size;
                self.sender_time.as_nanos() | self.receiver_time.as_nanos() | numbers
            }
        };
        check_reserved(unused)
    }

    /// A header that says nothing but what the packet is and whose.
    pub(super) fn plain(packet_type: PacketType, session: u64, sequence: u32) -> Self {
        let (sender_time, receiver_time) = (Timestamp::ZERO, Timestamp::ZERO);
        Self { packet_type, session, sequence, sender_time, receiver_time, size: DataSize::ZERO }
    }

    /// Appends the header to `out`. A size beyond 32 bits is written as the largest.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend([VERSION, self.packet_type.code(), 0, 0]);
        out.extend(self.session.to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        emit_time(self.sender_time, out);
        emit_time(self.receiver_time, out);
        out.extend(u32::try_from(self.size.as_bytes()).unwrap_or(u32::MAX).to_be_bytes());
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// A time stamp as two fields, seconds and nanoseconds (the paper says two fields and not which).
pub(super) fn emit_time(time: Timestamp, out: &mut Vec<u8>) {
    let seconds = u32::try_from(time.as_nanos() / NANOS_PER_SECOND).unwrap_or(u32::MAX);
    let nanos = (time.as_nanos() % NANOS_PER_SECOND) as u32;
    out.extend(seconds.to_be_bytes());
    out.extend(nanos.to_be_bytes());
}

pub(super) fn time_at(bytes: &[u8], at: usize) -> Result<Timestamp, PacketError> {
    let (seconds, nanos) = (u32_at(bytes, at), u32_at(bytes, at + 4));
    if u64::from(nanos) >= NANOS_PER_SECOND {
        return Err(PacketError::Field {
            field: "nanoseconds of a time stamp",
            value: u64::from(nanos),
            allowed: "0 to 999,999,999",
        });
    }
    Ok(Timestamp::from_secs(u64::from(seconds)) + Duration::from_nanos(u64::from(nanos)))
}

/// The number at a place that the caller has checked to exist.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}
