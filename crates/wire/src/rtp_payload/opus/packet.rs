//! The first bytes of a packet of Opus (RFC 6716, section 3).

use super::CLOCK_RATE;

/// The longest packet: 120 ms (section 3.2.5, requirement R5).
const LONGEST: u32 = CLOCK_RATE * 12 / 100;

/// What is no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no packet of Opus: it has at least a byte, and plays for 120 ms at most")]
pub(super) struct NoPacket;

/// What the table-of-contents byte says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// How long it plays, in ticks of 48 kHz.
    pub(super) ticks: u32,
    pub(super) is_stereo: bool,
}

impl Packet {
    /// Reads the byte, and behind it the number of frames where it is arbitrary (code 3).
    pub(super) fn parse(packet: &[u8]) -> Result<Self, NoPacket> {
        let (&first, rest) = packet.split_first().ok_or(NoPacket)?;
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
            _ => u32::from(rest.first().ok_or(NoPacket)? & 0x3F),
        };
        let ticks = frames * length * (CLOCK_RATE / 400);
        if ticks == 0 || ticks > LONGEST {
            return Err(NoPacket);
        }
        Ok(Self { ticks, is_stereo: first & 4 != 0 })
    }
}
