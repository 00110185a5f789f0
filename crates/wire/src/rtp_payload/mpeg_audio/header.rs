//! Of the header of a frame, what says how long the frame is (ISO/IEC 11172-3, 2.4.1.3 and 2.4.2.3; 13818-3, 2.4.2.3).

use super::CLOCK_RATE;

/// Length of the header.
pub(super) const LENGTH: usize = 4;

/// kbit/s of MPEG-1 by layer, I first, from index 1 on.
const RATES: [[u32; 14]; 3] = [
    [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
];

/// The same at the lower sample rates: of layer I, and of the two others.
const LOW_RATES: [[u32; 14]; 2] = [
    [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];

/// Hertz of MPEG-1; MPEG-2 has half of them, and what decoders call MPEG-2.5 a quarter.
const SAMPLE_RATES: [u32; 3] = [44_100, 48_000, 32_000];

/// Bytes that are no frame, or one whose length its header does not say (free format).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no frame of MPEG audio that says how long it is")]
pub(super) struct NoFrame;

/// How long a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// In bytes, with its header.
    pub(super) length: usize,
    /// In ticks of 90 kHz.
    pub(super) ticks: u32,
}

impl FrameHeader {
    /// Reads the header at the beginning of a frame, which may be cut off behind it.
    pub(super) fn parse(frame: &[u8]) -> Result<Self, NoFrame> {
        let &[first, second, third, _] = frame.first_chunk::<LENGTH>().ok_or(NoFrame)?;
        // Layer 0 is that of ADTS.
        let layer = match second >> 1 & 3 {
            3 => 1,
            2 => 2,
            1 => 3,
            _ => return Err(NoFrame),
        };
        let divisor = match second >> 3 & 3 {
            3 => 1,
            2 => 2,
            0 => 4,
            _ => return Err(NoFrame),
        };
        let rates = if divisor == 1 { &RATES[layer - 1] } else { &LOW_RATES[usize::from(layer > 1)] };
        let rate = usize::from(third >> 4).checked_sub(1).and_then(|index| rates.get(index));
        let sample_rate = SAMPLE_RATES.get(usize::from(third >> 2 & 3)).map(|rate| rate / divisor);
        let (Some(kbps), Some(sample_rate), true) = (rate, sample_rate, first == 0xFF && second >> 5 == 7) else {
            return Err(NoFrame);
        };
        // A slot has four bytes in layer I, and one in the others.
        let (samples, slot) = match (layer, divisor) {
            (1, _) => (384, 4),
            (3, 2..) => (576, 1),
            _ => (1_152, 1),
        };
        let slots = samples / 8 / slot * kbps * 1_000 / sample_rate + u32::from(third >> 1 & 1);
        Ok(Self { length: (slots * slot) as usize, ticks: (samples * CLOCK_RATE + sample_rate / 2) / sample_rate })
    }
}
