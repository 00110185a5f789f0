//! What a decoder of AAC must know beforehand: `AudioSpecificConfig` (ISO/IEC 14496-3, 1.6.2.1).

use super::StreamDescription;

/// Sample rates by their index (ISO/IEC 14496-3, table 1.18).
const SAMPLE_RATES: [u32; 13] =
    [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350];

/// Audio object types of spectral band replication and parametric stereo, behind which the one of the core follows (table 1.17).
const EXTENSIONS: [u32; 2] = [5, 29];

/// What the headers of ADTS say of all frames of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Config {
    /// Audio object type, 1 to 4: what fits into two bits, less one.
    object_type: u8,
    /// Index of the sample rate.
    rate: u8,
    /// Channel configuration, 1 to 7.
    channels: u8,
}

impl Config {
    /// `None` where a number has no meaning, or none that ADTS can say.
    pub(super) fn new(object_type: u8, rate: u8, channels: u8) -> Option<Self> {
        let is_known =
            (1..=4).contains(&object_type) && usize::from(rate) < SAMPLE_RATES.len() && (1..=7).contains(&channels);
        is_known.then_some(Self { object_type, rate, channels })
    }

    /// That of a description.
    ///
    /// # Errors
    /// When it lacks a configuration, or has one that frames of ADTS cannot have; in words.
    pub(super) fn of(description: &StreamDescription) -> Result<Self, String> {
        let text = description.parameter("config").ok_or("a description of AAC without its parameter config")?;
        let digit = |place: usize| text.as_bytes().get(place).and_then(|digit| char::from(*digit).to_digit(16));
        let bits = (0..8).fold(0, |bits, place| bits << 4 | digit(place).unwrap_or(0));
        let refused = |what: &str| format!("config={text}: {what}");
        if !(4..=64).contains(&text.len()) || (0..text.len()).any(|place| digit(place).is_none()) {
            return Err(refused("no AudioSpecificConfig in hexadecimal digits"));
        }
        // audioObjectType, samplingFrequencyIndex, channelConfiguration.
        let (object_type, rate, channels) = (bits >> 27, bits >> 23 & 15, bits >> 19 & 15);
        // Of an extension, the index of its own sample rate and the object type of the core.
        let (object_type, rest) = match EXTENSIONS.contains(&object_type) {
            true if bits >> 15 & 15 == 15 => return Err(refused("a sample rate without an index is not received")),
            true => (bits >> 10 & 31, bits << 22),
            false => (object_type, bits << 13),
        };
        if rest >> 31 == 1 {
            return Err(refused("access units of 960 samples are not received"));
        }
        Self::new(object_type as u8, rate as u8, channels as u8).ok_or_else(|| {
            refused("AAC Main, LC, SSR or LTP with an index for its sample rate and 1 to 8 channels is received")
        })
    }

    /// `AudioSpecificConfig`, and behind it `GASpecificConfig` with all its flags 0 (4.4.1).
    pub(super) fn specific(self) -> [u8; 2] {
        let bits = u16::from(self.object_type) << 11 | u16::from(self.rate) << 7 | u16::from(self.channels) << 3;
        bits.to_be_bytes()
    }

    pub(super) fn object_type(self) -> u8 {
        self.object_type
    }

    pub(super) fn rate_index(self) -> u8 {
        self.rate
    }

    pub(super) fn channels(self) -> u8 {
        self.channels
    }

    /// In hertz.
    pub(super) fn sample_rate(self) -> u32 {
        SAMPLE_RATES[usize::from(self.rate)]
    }

    /// Table 1.19: the last configuration is eight.
    pub(super) fn channel_count(self) -> u8 {
        if self.channels == 7 { 8 } else { self.channels }
    }
}
