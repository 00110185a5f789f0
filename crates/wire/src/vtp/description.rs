use framewire_units::{Bitrate, DataSize, Duration};

use super::authentication::Cookie;
use super::error::{PacketError, check_length, check_reserved};
use super::header::{HEADER_LENGTH, Header, PacketType, u16_at, u32_at, u64_at};
use super::opening::COOKIE_LENGTH;
use super::video::MAX_PAYLOAD;

/// Levels that a description has room for.
pub const MAX_LEVELS: usize = 255;

const FRAMES_AT: usize = COOKIE_LENGTH;
const DURATION_AT: usize = FRAMES_AT + 4;
const BUFFER_AT: usize = DURATION_AT + 8;
const PAYLOAD_AT: usize = BUFFER_AT + 8;
const ACK_EVERY_AT: usize = PAYLOAD_AT + 2;
const LEVELS_AT: usize = ACK_EVERY_AT + 2;
const RATES_AT: usize = LEVELS_AT + 1;
const AUDIO_LENGTH: usize = 16;

/// The server's answer to a request: what the movie is and what the client needs to receive it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The session of the request.
    pub session: u64,
    /// To be returned in the start, from the address that this came to.
    pub cookie: Cookie,
    /// Number of frames.
    pub frames: u32,
    /// Media time at which the last frame has been shown.
    pub duration: Duration,
    /// b_min of equation 5: the buffer that the sending plan asks of the client.
    pub buffer: DataSize,
    /// Bytes of video that a packet has at most.
    pub payload: u16,
    /// k: every k-th packet asks for a control packet.
    pub ack_every: u16,
    /// Mean rate of each level, lowest first, of its video.
    pub rates: Vec<Bitrate>,
    /// The audio beside the video; a description without is as long as before there was any.
    pub audio: Option<AudioDescription>,
}

/// What a description says of the audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioDescription {
    /// 1 MPEG audio layer II, 2 layer III, 3 AAC in ADTS frames.
    pub codec: u8,
    /// Channels: 1 to 8.
    pub channels: u8,
    /// Samples per second and channel, at least 1.
    pub sample_rate: u32,
    /// Packets of audio: at least 1.
    pub packets: u32,
    /// Mean rate.
    pub rate: Bitrate,
}

impl AudioDescription {
    fn parse(bytes: &[u8]) -> Result<Self, PacketError> {
        check_reserved(u64::from(u16_at(bytes, 2)))?;
        let (sample_rate, packets) = (u32_at(bytes, 4), u32_at(bytes, 8));
        let rate = Bitrate::from_bps(u64::from(u32_at(bytes, 12)));
        let parsed = Self { codec: bytes[0], channels: bytes[1], sample_rate, packets, rate };
        let fields = [
            ("audio codec", u64::from(parsed.codec), 1..=3, "1 to 3"),
            ("audio channels", u64::from(parsed.channels), 1..=8, "1 to 8"),
            ("audio sample rate", u64::from(sample_rate), 1..=u64::MAX, "at least 1"),
            ("audio packets", u64::from(packets), 1..=u64::MAX, "at least 1"),
        ];
        for (field, value, range, allowed) in fields {
            if !range.contains(&value) {
                return Err(PacketError::Field { field, value, allowed });
            }
        }
        Ok(parsed)
    }

    fn emit(&self, out: &mut Vec<u8>) {
        out.extend([self.codec, self.channels, 0, 0]);
        out.extend(self.sample_rate.to_be_bytes());
        out.extend(self.packets.to_be_bytes());
        out.extend(u32::try_from(self.rate.as_bps()).unwrap_or(u32::MAX).to_be_bytes());
    }
}

impl Description {
    pub(super) fn parse(header: &Header, body: &[u8]) -> Result<Self, PacketError> {
        let (packet, length) = ("description", HEADER_LENGTH + body.len());
        let Some(&levels) = body.get(LEVELS_AT) else {
            return Err(PacketError::Length { packet, length, expected: HEADER_LENGTH + RATES_AT });
        };
        let audio_at = RATES_AT + 4 * usize::from(levels);
        let audio_length = header.size.as_bytes();
        if ![0, AUDIO_LENGTH as u64].contains(&audio_length) {
            return Err(PacketError::Field {
                field: "size of the audio's description",
                value: audio_length,
                allowed: "0 or 16",
            });
        }
        let has_audio = audio_length > 0;
        check_length(packet, length, HEADER_LENGTH + audio_at + audio_length as usize)?;
        let mut cookie = [0; COOKIE_LENGTH];
        cookie.copy_from_slice(&body[..COOKIE_LENGTH]);
        let parsed = Self {
            session: header.session,
            cookie: Cookie(cookie),
            frames: u32_at(body, FRAMES_AT),
            duration: Duration::from_nanos(u64_at(body, DURATION_AT)),
            buffer: DataSize::from_bytes(u64_at(body, BUFFER_AT)),
            payload: u16_at(body, PAYLOAD_AT),
            ack_every: u16_at(body, ACK_EVERY_AT),
            rates: body[RATES_AT..audio_at]
                .chunks_exact(4)
                .map(|rate| Bitrate::from_bps(u64::from(u32_at(rate, 0))))
                .collect(),
            audio: if has_audio { Some(AudioDescription::parse(&body[audio_at..])?) } else { None },
        };
        let fields = [
            ("levels", u64::from(levels), 1, MAX_LEVELS as u64, "1 to 255"),
            ("payload", u64::from(parsed.payload), 1, MAX_PAYLOAD as u64, "1 to 65,447"),
            ("packets per ack request", u64::from(parsed.ack_every), 1, u64::MAX, "at least 1"),
            ("frames", u64::from(parsed.frames), 1, u64::MAX, "at least 1"),
        ];
        for (field, value, least, most, allowed) in fields {
            if value < least || value > most {
                return Err(PacketError::Field { field, value, allowed });
            }
        }
        Ok(parsed)
    }

    /// Appends the packet to `out`. Rates beyond 32 bits are written as the largest.
    ///
    /// # Panics
    /// With more than [`MAX_LEVELS`] levels.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let levels = u8::try_from(self.rates.len()).expect("invariant: a description has at most 255 levels");
        let size = DataSize::from_bytes(self.audio.map_or(0, |_| AUDIO_LENGTH as u64));
        Header { size, ..Header::plain(PacketType::Description, self.session, 0) }.emit(out);
        out.extend(self.cookie.0);
        out.extend(self.frames.to_be_bytes());
        out.extend(u64::try_from(self.duration.as_nanos()).unwrap_or(u64::MAX).to_be_bytes());
        out.extend(self.buffer.as_bytes().to_be_bytes());
        out.extend(self.payload.to_be_bytes());
        out.extend(self.ack_every.to_be_bytes());
        out.push(levels);
        for rate in &self.rates {
            out.extend(u32::try_from(rate.as_bps()).unwrap_or(u32::MAX).to_be_bytes());
        }
        if let Some(audio) = &self.audio {
            audio.emit(out);
        }
    }
}
