//! One reader for every codec.

use crate::access_unit::{AccessUnit, AccessUnitError, Framing};

use crate::codec::Codec;
use crate::profile::UnitReader;

/// Reads access units in decode order.
///
/// Contract: give it what came out of band with [`configure`](Self::configure), then every access unit with
/// [`read`](Self::read); after a discontinuity call [`reset`](Self::reset). Each call of `read` counts one unit,
/// whether it could be read or not, so that a caller's own count stays in step with [`AccessUnit::number`]; the count
/// goes on after a reset. Where fields come one by one, a [`FrameAssembler`](super::FrameAssembler) makes frames of them. Memory is bounded by what the codecs allow a decoder to hold, whatever arrives.
///
/// ```
/// use framewire_media::access_unit::{AccessUnitReader, Codec, Framing, KeyKind};
///
/// let mut reader = AccessUnitReader::new(Codec::MpegVideo, Framing::ByteStream)?;
/// // A group header (closed), the header of an I picture, and the start of its first slice.
/// let unit = [0, 0, 1, 0xb8, 0, 8, 0, 0x40, 0, 0, 1, 0, 0, 0x0f, 0xff, 0xf8, 0, 0, 1, 1, 0x12];
/// let frame = reader.read(&unit)?;
/// assert_eq!((frame.number, frame.key), (0, Some(KeyKind::Closed)));
/// # Ok::<(), framewire_media::access_unit::AccessUnitError>(())
/// ```
#[derive(Debug)]
pub struct AccessUnitReader {
    codec: Codec,
    framing: Framing,
    reader: Box<dyn UnitReader>,
    /// Units given to it so far.
    count: u64,
}

impl AccessUnitReader {
    /// A reader at the start of a stream.
    ///
    /// # Errors
    /// [`AccessUnitError::BadConfiguration`] when the codec is never framed like this: lengths have 1 to 4 bytes, and
    /// only H.264 and H.265 have them.
    pub fn new(codec: Codec, framing: Framing) -> Result<Self, AccessUnitError> {
        check_framing(codec, framing)?;
        Ok(Self { codec, framing, reader: (codec.profile().reader)(framing), count: 0 })
    }

    /// Takes headers that came out of band: an `AVCDecoderConfigurationRecord` or `HEVCDecoderConfigurationRecord`
    /// (ISO/IEC 14496-15, 5.3.3.1 and 8.3.3.1), which also states the size of the lengths; parameter sets behind start
    /// codes; the sequence header of MPEG video; the headers above the video object planes of MPEG-4 part 2; an
    /// `AV1CodecConfigurationRecord` (AV1 in ISOBMFF, 2.3.3) or open bitstream units.
    ///
    /// # Errors
    /// [`AccessUnitError::BadConfiguration`] when it is none of these. What was well formed before the fault is kept.
    pub fn configure(&mut self, codec_data: &[u8]) -> Result<(), AccessUnitError> {
        self.reader.configure(codec_data)
    }

    /// Reads the next unit in decode order.
    ///
    /// # Errors
    /// When no picture is found in it or a header of it cannot be read. It is counted nevertheless.
    pub fn read(&mut self, unit: &[u8]) -> Result<AccessUnit, AccessUnitError> {
        let number = self.count;
        self.count += 1;
        self.reader.read(number, unit)
    }

    /// Forgets every unit read: what follows does not continue what came before. Parameter sets stay in force.
    pub fn reset(&mut self) {
        self.reader.reset();
    }

    /// The codec that it reads.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// The framing that it was made for.
    pub fn framing(&self) -> Framing {
        self.framing
    }
}

fn check_framing(codec: Codec, framing: Framing) -> Result<(), AccessUnitError> {
    let Framing::LengthPrefixed(bytes) = framing else { return Ok(()) };
    let reason = match (codec.may_have_lengths(), bytes) {
        (true, 1..=4) => return Ok(()),
        (true, _) => format!("NAL unit lengths of {bytes} bytes; 1 to 4 are allowed"),
        (false, _) => "only H.264 and H.265 have NAL units behind their lengths".to_owned(),
    };
    Err(AccessUnitError::BadConfiguration { reason })
}
