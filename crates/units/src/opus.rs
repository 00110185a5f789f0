//! The first bytes of a packet of Opus (RFC 6716, section 3): how long it plays.

use std::error::Error;
use std::fmt;

/// Rate of Opus's clock in hertz, whatever was coded (RFC 6716, 2; RFC 7587, 4.1; RFC 7845, 4).
pub const OPUS_CLOCK_RATE: u32 = 48_000;

/// The longest packet: 120 ms (section 3.2.5, requirement R5).
const LONGEST: u32 = OPUS_CLOCK_RATE * 12 / 100;

/// What is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoOpusPacket;

impl fmt::Display for NoOpusPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no packet of Opus: it has at least a byte, and plays for 120 ms at most")
    }
}

impl Error for NoOpusPacket {}

/// What the table-of-contents byte says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpusPacket {
    /// How long it plays, in ticks of 48 kHz.
    pub ticks: u32,
    /// Two channels are coded in it.
    pub is_stereo: bool,
}

impl OpusPacket {
    /// Reads the byte, and behind it the number of frames where it is arbitrary (code 3).
    ///
    /// # Errors
    /// When there is none, or the packet plays for no time or longer than 120 ms.
    pub fn parse(packet: &[u8]) -> Result<Self, NoOpusPacket> {
        let (&first, rest) = packet.split_first().ok_or(NoOpusPacket)?;
        let (configuration, code) = (first >> 3, first & 3);
        // Table 2: SILK of 10, 20, 40 and 60 ms, hybrid of 10 and 20, CELT of 2.5, 5, 10 and 20; in 400ths of a second.
        let length = match configuration {
            0..=11 => [4, 8, 16, 24][usize::from(configuration & 3)],
            12..=15 => [4, 8][usize::from(configuration & 1)],
            _ => [1, 2, 4, 8][usize::from(configuration & 3)],
        };
        let frames = match code {
            0 => 1,
            1 | 2 => 2,
            // M in the lower six bits (section 3.2.5).
            _ => u32::from(rest.first().ok_or(NoOpusPacket)? & 0x3F),
        };
        let ticks = frames * length * (OPUS_CLOCK_RATE / 400);
        if ticks == 0 || ticks > LONGEST {
            return Err(NoOpusPacket);
        }
        Ok(Self { ticks, is_stereo: first & 4 != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_those_of_table_2() {
        let milliseconds = |packet: &[u8]| OpusPacket::parse(packet).map(|packet| packet.ticks / 48);
        assert_eq!(milliseconds(&[0]), Ok(10));
        assert_eq!(milliseconds(&[11 << 3]), Ok(60));
        assert_eq!(milliseconds(&[12 << 3]), Ok(10));
        assert_eq!(milliseconds(&[15 << 3 | 1]), Ok(40), "two frames of 20 ms");
        assert_eq!(OpusPacket::parse(&[16 << 3]).unwrap().ticks, 120, "2.5 ms");
        assert_eq!(milliseconds(&[31 << 3 | 3, 6]), Ok(120));
        for packet in [&[][..], &[3], &[31 << 3 | 3, 0], &[31 << 3 | 3, 7], &[3 << 3 | 3, 3]] {
            assert_eq!(OpusPacket::parse(packet), Err(NoOpusPacket), "{packet:?}");
        }
    }
}
