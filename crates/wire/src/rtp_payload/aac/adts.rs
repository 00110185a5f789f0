//! The header of an ADTS frame (ISO/IEC 14496-3, 1.A.2.2).

use super::config::Config;

/// Length of the header, without a cyclic redundancy check.
pub(super) const HEADER: usize = 7;

/// Of the check behind it.
const CHECK: usize = 2;

/// `adts_buffer_fullness` of a stream of variable rate (1.A.2.2.2).
const VARIABLE_RATE: u32 = 0x7FF;

/// The largest frame: `aac_frame_length` has 13 bits.
pub(super) const LARGEST_FRAME: usize = (1 << 13) - 1;

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AdtsError {
    /// There is no header.
    #[error("no ADTS frame: 0xFFF and layer 0 begin one")]
    Sync,
    /// A number of the header has no meaning.
    #[error("an ADTS frame with a profile, a sample rate or channels that RTP cannot say")]
    Config,
    /// Several access units, whose ends only decoding shows.
    #[error("an ADTS frame with several raw data blocks, which have to be in frames of their own")]
    Blocks,
    /// Its length is that of no frame, or goes beyond the bytes.
    #[error("an ADTS frame of {length} bytes where {left} are left")]
    Length {
        /// By the header.
        length: usize,
        /// From the header on.
        left: usize,
    },
}

/// A frame taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AdtsFrame<'a> {
    pub(super) config: Config,
    /// The access unit: one raw data block.
    pub(super) unit: &'a [u8],
}

impl<'a> AdtsFrame<'a> {
    /// Splits the first frame off.
    pub(super) fn split(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), AdtsError> {
        let header: &[u8; HEADER] = bytes.first_chunk().ok_or(AdtsError::Sync)?;
        let numbers = header.map(usize::from);
        if numbers[0] != 0xFF || numbers[1] & 0xF6 != 0xF0 {
            return Err(AdtsError::Sync);
        }
        let (profile, rate) = (header[2] >> 6, header[2] >> 2 & 15);
        let channels = (header[2] & 1) << 2 | header[3] >> 6;
        let config = Config::new(profile + 1, rate, channels).ok_or(AdtsError::Config)?;
        if header[6] & 3 != 0 {
            return Err(AdtsError::Blocks);
        }
        let length = (numbers[3] & 3) << 11 | numbers[4] << 3 | numbers[5] >> 5;
        let of_header = if numbers[1] & 1 == 1 { HEADER } else { HEADER + CHECK };
        if length <= of_header || length > bytes.len() {
            return Err(AdtsError::Length { length, left: bytes.len() });
        }
        let (frame, rest) = bytes.split_at(length);
        Ok((Self { config, unit: &frame[of_header..] }, rest))
    }
}

/// The header of an access unit of so many bytes, of a stream of variable rate; `None` where it cannot say them.
pub(super) fn header(config: Config, unit: usize) -> Option<[u8; HEADER]> {
    let length = u32::try_from(HEADER + unit).ok().filter(|&length| length as usize <= LARGEST_FRAME)?;
    let channels = u32::from(config.channels());
    // Sync word, ID 0 (MPEG-4), layer 0, protection_absent 1; then profile, sample rate, private bit 0.
    let first = 0xFFF1_0000 | u32::from(config.object_type() - 1) << 14 | u32::from(config.rate_index()) << 10;
    let first = first | (channels >> 2) << 8 | (channels & 3) << 6 | length >> 11;
    let last = (length & 0x7FF) << 21 | VARIABLE_RATE << 10;
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&first.to_be_bytes());
    header[4..].copy_from_slice(&last.to_be_bytes()[..3]);
    Some(header)
}
