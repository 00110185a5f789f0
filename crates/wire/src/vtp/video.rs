use framewire_units::{DataSize, Duration, Timestamp};

use super::error::{PacketError, check_length, check_reserved};
use super::header::{HEADER_LENGTH, Header, PacketType, u16_at, u32_at, u64_at};

/// Bytes before the video in a video packet.
pub const VIDEO_HEADER_LENGTH: usize = HEADER_LENGTH + RECORD_LENGTH;

/// Bytes of video that a packet carries at most: the rest of the largest UDP datagram over IPv4.
pub const MAX_PAYLOAD: usize = 65_507 - VIDEO_HEADER_LENGTH;

const RECORD_LENGTH: usize = 24;
const LAST_OF_FRAME: u8 = 1;
const KEY_FRAME: u8 = 2;
const REPEAT: u8 = 4;
const AUDIO: u8 = 8;

/// Everything in a video packet but the video: the header of figure 5 and what of the record of figure 7 the client
/// needs (the second level field and the nominal rate are left out).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VideoHeader {
    /// TYPE: whether the packet asks for a control packet.
    pub ack_request: bool,
    /// The session.
    pub session: u64,
    /// Sequence number, from 0, modulo 2^32; new for every packet that leaves.
    pub sequence: u32,
    /// When the packet left, on the sender's clock.
    pub sender_time: Timestamp,
    /// SIZE: bytes of video in the packet.
    pub size: DataSize,
    /// The frame, from 0.
    pub frame: u32,
    /// Index of the packet within the frame, from 0.
    pub index: u16,
    /// The level that the frame is sent at.
    pub level: u8,
    /// Whether this is the last packet of the frame.
    pub last: bool,
    /// Whether the frame is an I frame.
    pub key: bool,
    /// Play-out time of the frame.
    pub media_time: Duration,
    /// The sender's estimate of the round-trip time, to the microsecond; zero before there is one
    /// (RFC 5348, section 3.2.1, requires it; VTP itself has no use for it).
    pub round_trip: Duration,
    /// The packet carries again what this one carried; only in sessions that agreed on
    /// [`Features::REPEATS`](super::Features::REPEATS).
    pub repeats: Option<u32>,
    /// The packet carries a packet of audio: `frame` is its number, and it is the only packet of it; only in sessions
    /// whose description has audio.
    pub audio: bool,
}

impl VideoHeader {
    pub(super) fn parse<'a>(header: &Header, body: &'a [u8]) -> Result<(Self, &'a [u8]), PacketError> {
        let (packet, length) = ("video packet", HEADER_LENGTH + body.len());
        let Some((record, video)) = body.split_first_chunk::<RECORD_LENGTH>() else {
            return Err(PacketError::Length { packet, length, expected: VIDEO_HEADER_LENGTH });
        };
        check_length(packet, length, VIDEO_HEADER_LENGTH.saturating_add(header.size.as_bytes() as usize))?;
        let flags = record[7];
        check_reserved(u64::from(flags & !(LAST_OF_FRAME | KEY_FRAME | REPEAT | AUDIO)))?;
        let audio = flags & AUDIO != 0;
        if audio {
            // The index, the level, and flags that have no meaning for audio.
            check_reserved(u64::from(u16_at(record, 4)) | u64::from(record[6]) | u64::from(flags & KEY_FRAME))?;
            check_reserved(u64::from(flags & LAST_OF_FRAME ^ LAST_OF_FRAME))?;
        }
        let repeats = (flags & REPEAT != 0).then(|| u32_at(record, 20));
        if repeats.is_none() {
            check_reserved(u64::from(u32_at(record, 20)))?;
        }
        let parsed = Self {
            ack_request: header.packet_type == PacketType::VideoAckRequest,
            session: header.session,
            sequence: header.sequence,
            sender_time: header.sender_time,
            size: header.size,
            frame: u32_at(record, 0),
            index: u16_at(record, 4),
            level: record[6],
            last: flags & LAST_OF_FRAME != 0,
            key: flags & KEY_FRAME != 0,
            media_time: Duration::from_nanos(u64_at(record, 8)),
            round_trip: Duration::from_micros(u64::from(u32_at(record, 16))),
            repeats,
            audio,
        };
        Ok((parsed, video))
    }

    /// Appends the packet with its video to `out`; SIZE is the length of the video.
    ///
    /// # Panics
    /// When the video is longer than [`MAX_PAYLOAD`].
    pub fn emit(&self, video: &[u8], out: &mut Vec<u8>) {
        assert!(video.len() <= MAX_PAYLOAD, "{} bytes of video in a packet", video.len());
        let header = Header {
            packet_type: if self.ack_request { PacketType::VideoAckRequest } else { PacketType::Video },
            session: self.session,
            sequence: self.sequence,
            sender_time: self.sender_time,
            receiver_time: Timestamp::ZERO,
            size: DataSize::from_bytes(video.len() as u64),
        };
        out.reserve(VIDEO_HEADER_LENGTH + video.len());
        header.emit(out);
        out.extend(self.frame.to_be_bytes());
        out.extend(self.index.to_be_bytes());
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(self.last, LAST_OF_FRAME) | flag(self.key, KEY_FRAME);
        out.extend([self.level, flags | flag(self.repeats.is_some(), REPEAT) | flag(self.audio, AUDIO)]);
        out.extend(u64::try_from(self.media_time.as_nanos()).unwrap_or(u64::MAX).to_be_bytes());
        out.extend(u32::try_from(self.round_trip.as_micros()).unwrap_or(u32::MAX).to_be_bytes());
        out.extend(self.repeats.unwrap_or(0).to_be_bytes());
        out.extend(video);
    }
}
