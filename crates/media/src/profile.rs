//! What a codec brings with it: an entry in its folder.

use std::fmt::Debug;

use crate::access_unit::{AccessUnit, AccessUnitError, Framing};
use crate::order::Indexer;
use crate::scanner::StreamScanner;

/// What is particular to a codec, in the words of others and in bytes.
pub(crate) struct Profile {
    /// What its users call it.
    pub(crate) name: &'static str,
    /// Suffix of a file with the elementary stream, as FFmpeg's readers know it.
    pub(crate) file_suffix: &'static str,
    /// FFmpeg's name of such files, as its option `-f` takes it.
    pub(crate) ffmpeg_format: &'static str,
    /// FFmpeg's names of the codec.
    pub(crate) ffmpeg_names: &'static [&'static str],
    /// Codes in AVI files, in capitals.
    pub(crate) four_character_codes: &'static [&'static [u8; 4]],
    /// Its number in streaming files (docs/ladder.md, Header); never given to another.
    pub(crate) streaming_file_code: u8,
    /// GStreamer's parser of it.
    pub(crate) gstreamer_parser: &'static str,
    /// GStreamer's caps of a byte stream of it, wherever the parser could also give it another form; of MPEG video, whether it
    /// is MPEG-2.
    pub(crate) gstreamer_caps: fn(mpeg2: bool) -> &'static str,
    /// Whether units may stand behind their lengths ([`Framing::LengthPrefixed`]).
    pub(crate) may_have_lengths: bool,
    /// Of what stands between start codes: whether it holds what decoding begins with, as a sequence header or a parameter
    /// set; `None` of a codec without start codes.
    pub(crate) holds_sequence: Option<fn(&[u8]) -> bool>,
    /// Of what stands between start codes: whether a frame cannot be decoded intact without it, as a picture header or a
    /// slice; `None` of a codec without start codes.
    pub(crate) holds_picture_data: Option<fn(&[u8]) -> bool>,
    /// Its reader of access units at the start of a stream.
    pub(crate) reader: fn(Framing) -> Box<dyn UnitReader>,
    /// What finds the access units of a byte stream; `None` where streams are not scanned.
    pub(crate) scanner: Option<fn() -> Box<dyn StreamScanner>>,
    /// What makes the frame index of what the scanner finds: display order, groups, references.
    pub(crate) indexer: fn() -> Box<dyn Indexer>,
    /// Whether the beginning of a byte stream shows that it is one of this codec.
    pub(crate) recognises: fn(&[u8]) -> bool,
}

/// Reads the access units of one codec; see [`AccessUnitReader`](crate::access_unit::AccessUnitReader).
pub(crate) trait UnitReader: Debug + Send + Sync {
    /// Takes headers that came out of band.
    fn configure(&mut self, codec_data: &[u8]) -> Result<(), AccessUnitError>;
    /// Reads the next unit in decode order, which has this number.
    fn read(&mut self, number: u64, unit: &[u8]) -> Result<AccessUnit, AccessUnitError>;
    /// The same as far as it can be read, and how many coded video sequences have begun: display order starts anew with each.
    fn read_in_sequence(&mut self, number: u64, unit: &[u8]) -> (Option<AccessUnit>, u64) {
        (self.read(number, unit).ok(), 0)
    }
    /// Forgets every unit read.
    fn reset(&mut self);
}

/// What was read of unit `number`, or what is wrong with it.
pub(crate) fn whole(
    (read, error): (Option<AccessUnit>, Option<AccessUnitError>),
    number: u64,
    unit: &[u8],
) -> Result<AccessUnit, AccessUnitError> {
    match error {
        Some(error) => Err(error),
        None => read.ok_or(AccessUnitError::NoPicture { number, length: unit.len() }),
    }
}
