//! What the standard's decoder holds of a track: the buffers of its model, the T-STD (2.4.2.3, 2.14.3.1), as far as they say
//! when a packet may be sent.

use std::collections::VecDeque;

use super::clock::SYSTEM_CLOCK;
use super::packet::PACKET_LENGTH;
use super::stream_type::StreamType;

/// Bytes of a transport buffer (TBS_n, 2.4.2.3).
const TRANSPORT_BUFFER: u64 = 512;

/// Longest stay of data other than H.264 and H.265 (2.4.2.6; 2.14.3.1 has 10 s, beyond every delay that is allowed here).
const LONGEST_STAY: u64 = SYSTEM_CLOCK;

/// Leak rate of the transport buffer in bit/s, and bytes of what is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub leak: u64,
    pub buffer: u64,
}

/// Audio of one or two channels (Rx_n and BS_n, 2.4.2.3).
const AUDIO: Sizes = Sizes { leak: 2_000_000, buffer: 3_584 };

/// MPEG-2 by the level of profile_and_level_indication: bit/s and bits of the VBV of the main profile (ISO/IEC 13818-2, tables
/// 8-13 and 8-14).
const MPEG2_LEVELS: [(u8, u64, u64); 4] =
    [(10, 4_000_000, 475_136), (8, 15_000_000, 1_835_008), (6, 60_000_000, 7_340_032), (4, 80_000_000, 9_781_248)];

/// H.264 by level_idc: MaxBR and MaxCPB (ISO/IEC 14496-10, table A-1). Level 1b is 9, or 11, which is taken for the smaller.
const H264_LEVELS: [(u8, u64, u64); 17] = [
    (9, 128, 350),
    (10, 64, 175),
    (11, 128, 350),
    (12, 384, 1_000),
    (13, 768, 2_000),
    (20, 2_000, 2_000),
    (21, 4_000, 4_000),
    (22, 4_000, 4_000),
    (30, 10_000, 10_000),
    (31, 14_000, 14_000),
    (32, 20_000, 20_000),
    (40, 20_000, 25_000),
    (41, 50_000, 62_500),
    (42, 50_000, 62_500),
    (50, 135_000, 135_000),
    (51, 240_000, 240_000),
    (52, 240_000, 240_000),
];

/// Bits in a unit of those (2.14.3.1).
const H264_FACTOR: u64 = 1_200;

impl Sizes {
    /// What the beginning of a unit says; `None` where it says nothing, or the standard has no such buffers here.
    ///
    /// Video is let in at the rate at which it leaves for the elementary stream's buffer (Rbx_n), not at the higher one of the
    /// transport buffer, so that what is between the two need not be counted.
    pub(super) fn of(stream_type: StreamType, unit: &[u8]) -> Option<Self> {
        match stream_type {
            StreamType::Mpeg1Audio | StreamType::Mpeg2Audio => Some(AUDIO),
            StreamType::AacAdts => Some(of_aac(unit)),
            StreamType::Mpeg2Video => of_mpeg2(unit),
            StreamType::H264 => of_h264(unit),
            StreamType::Mpeg1Video | StreamType::Mpeg4Part2 | StreamType::H265 => None,
        }
    }
}

/// AAC by its channels (2.4.2.3), which channel_configuration of the ADTS header tells (ISO/IEC 13818-7, table 42).
fn of_aac(unit: &[u8]) -> Sizes {
    let configuration = match unit {
        [_, _, third, fourth, ..] => (third & 1) << 2 | fourth >> 6,
        _ => 0,
    };
    match configuration {
        0..=2 => AUDIO,
        _ => Sizes { leak: 5_529_600, buffer: 8_976 },
    }
}

/// The level stands in the sequence extension; of High-1440 and High the sequence header has rate and buffer (2.4.2.3).
fn of_mpeg2(unit: &[u8]) -> Option<Sizes> {
    let header = behind(unit, |code| code == 0xB3)?;
    let extension = behind(header, |code| code == 0xB5)?;
    let &[first, second, ..] = extension else { return None };
    let level = second >> 4;
    let (_, rate, bits) = MPEG2_LEVELS.into_iter().find(|one| first >> 4 == 1 && one.0 == level)?;
    if level >= 8 {
        return Some(Sizes { leak: rate, buffer: bits / 8 });
    }
    let &[_, _, _, _, a, b, c, d, ..] = header else { return None };
    let word = u64::from(u32::from_be_bytes([a, b, c, d]));
    let (coded, vbv) = ((word >> 14) * 400, (word >> 3 & 0x3FF) * 2_048);
    (coded > 0 && vbv > 0).then(|| Sizes { leak: rate.min(coded), buffer: vbv.min(bits / 8) })
}

fn of_h264(unit: &[u8]) -> Option<Sizes> {
    let &[_, _, level, ..] = behind(unit, |code| code & 0x1F == 7)? else { return None };
    let (_, rate, bits) = H264_LEVELS.into_iter().find(|one| one.0 == level)?;
    Some(Sizes { leak: rate * H264_FACTOR, buffer: bits * H264_FACTOR / 8 })
}

/// What follows the first start code of a kind.
fn behind(bytes: &[u8], is_meant: impl Fn(u8) -> bool) -> Option<&[u8]> {
    let at = memchr::memmem::find_iter(bytes, &[0, 0, 1])
        .find(|at| bytes.get(at + 3).is_some_and(|&code| is_meant(code)))?;
    bytes.get(at + 4..)
}

/// The buffers of a track while it is sent. Times are in ticks of the system clock, and go forward.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    sizes: Option<Sizes>,
    stream_type: StreamType,
    /// In the transport buffer, in bits times ticks per second, at a time.
    transport: u64,
    at: u64,
    /// Bytes that were sent, and when they are decoded.
    sent: VecDeque<(u64, u64)>,
    total: u64,
}

impl Buffers {
    pub(super) fn new(stream_type: StreamType) -> Self {
        Self { sizes: None, stream_type, transport: 0, at: 0, sent: VecDeque::new(), total: 0 }
    }

    /// Learns from a unit what it says of the buffers.
    pub(super) fn learn(&mut self, unit: &[u8]) {
        self.sizes = Sizes::of(self.stream_type, unit).or(self.sizes);
    }

    /// Whether a packet of what is decoded at `due` has room now. It leaves some for a clock reference behind it.
    pub(super) fn has_room(&mut self, now: u64, due: u64) -> bool {
        self.pass(now);
        let may_stay = matches!(self.stream_type, StreamType::H264 | StreamType::H265);
        if !may_stay && due > now + LONGEST_STAY {
            return false;
        }
        let Some(sizes) = self.sizes else { return true };
        let spare = (TRANSPORT_BUFFER - 2 * PACKET_LENGTH as u64) * 8 * SYSTEM_CLOCK;
        self.transport <= spare && self.total + PACKET_LENGTH as u64 <= sizes.buffer
    }

    /// A packet was sent, with so many bytes of what is decoded at `due`.
    pub(super) fn send(&mut self, now: u64, due: u64, bytes: u64) {
        self.pass(now);
        self.transport += PACKET_LENGTH as u64 * 8 * SYSTEM_CLOCK;
        self.total += bytes;
        match self.sent.back_mut() {
            Some(last) if last.0 == due => last.1 += bytes,
            _ => self.sent.push_back((due, bytes)),
        }
    }

    fn pass(&mut self, now: u64) {
        let leak = self.sizes.map_or(u64::MAX, |sizes| sizes.leak);
        self.transport = self.transport.saturating_sub((now - self.at).saturating_mul(leak));
        self.at = now;
        while let Some(&(due, bytes)) = self.sent.front()
            && due <= now
        {
            self.sent.pop_front();
            self.total -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_level_and_of_the_channels() {
        let of = Sizes::of;
        let mpeg2 = |level: u8| {
            // 6 Mbit/s and a VBV buffer of 56 * 2,048 bytes.
            let [a, b, c, d] = (15_000_u32 << 14 | 1 << 13 | 56 << 3).to_be_bytes();
            let header = [0, 0, 1, 0xB3, 0x2D, 0x02, 0x40, 0x33, a, b, c, d];
            of(StreamType::Mpeg2Video, &[&header[..], &[0, 0, 1, 0xB5, 0x14, level << 4 | 0xA]].concat())
        };
        assert_eq!(mpeg2(10), Some(Sizes { leak: 4_000_000, buffer: 59_392 }));
        assert_eq!(mpeg2(8), Some(Sizes { leak: 15_000_000, buffer: 229_376 }));
        assert_eq!(mpeg2(4), Some(Sizes { leak: 6_000_000, buffer: 114_688 }), "by the sequence header");
        assert_eq!(mpeg2(9), None, "reserved");
        let h264 = |level| of(StreamType::H264, &[0, 0, 0, 1, 9, 0xF0, 0, 0, 1, 0x67, 77, 0, level]);
        assert_eq!(h264(31), Some(Sizes { leak: 16_800_000, buffer: 2_100_000 }));
        assert_eq!(h264(99), None);
        assert_eq!(of(StreamType::H264, &[0, 0, 1, 0x41, 77, 0, 31]), None, "no parameter set");
        assert_eq!(of(StreamType::AacAdts, &[0xFF, 0xF1, 0x4C, 0x80]), Some(AUDIO));
        assert_eq!(of(StreamType::AacAdts, &[0xFF, 0xF1, 0x4D, 0x80]).map(|sizes| sizes.buffer), Some(8_976));
        assert_eq!(of(StreamType::Mpeg1Audio, &[]), Some(AUDIO));
    }
}
