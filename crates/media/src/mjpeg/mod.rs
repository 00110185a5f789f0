//! Motion JPEG: one JPEG image after the other, none of which refers to another. Clauses are those of ITU-T T.81
//! (ISO/IEC 10918-1).

mod scanner;
#[cfg(test)]
mod tests;

use std::io;

use self::scanner::JpegScanner;
use crate::access_unit::{AccessUnit, AccessUnitError, FramePart, KeyKind};
use crate::bits::BadField;
use crate::index::Frame;
use crate::order::{DisplayOrder, Indexer};
use crate::picture::PictureType;
use crate::profile::{Profile, UnitReader};
use crate::recovery::Recovery;
use crate::scanner::CodedFrame;
use crate::streaming_file::ReadAt;

/// Motion JPEG.
pub(crate) const PROFILE: Profile = Profile {
    name: "Motion JPEG",
    file_suffix: "mjpeg",
    ffmpeg_format: "mjpeg",
    ffmpeg_names: &["mjpeg"],
    four_character_codes: &[b"MJPG"],
    streaming_file_code: 6,
    gstreamer_parser: "jpegparse",
    gstreamer_caps: |_| "image/jpeg",
    may_have_lengths: false,
    // A JPEG image has markers, and no start codes.
    holds_sequence: None,
    holds_picture_data: None,
    reader: |_| Box::new(Reader),
    scanner: Some(|| Box::new(JpegScanner::default())),
    indexer: || Box::new(ImageIndexer::default()),
    recognises: |head| head.starts_with(&[0xff, marker::START_OF_IMAGE, 0xff]),
};

/// Second bytes of markers (table B.1). The first is 0xff.
mod marker {
    pub(super) const TEMPORARY: u8 = 0x01;
    /// Start of frame, baseline; up to 0xcf but for three.
    pub(super) const START_OF_FRAME_0: u8 = 0xc0;
    pub(super) const DEFINE_HUFFMAN_TABLES: u8 = 0xc4;
    pub(super) const RESERVED_JPG: u8 = 0xc8;
    pub(super) const DEFINE_ARITHMETIC_CONDITIONING: u8 = 0xcc;
    pub(super) const START_OF_FRAME_15: u8 = 0xcf;
    pub(super) const RESTART_0: u8 = 0xd0;
    pub(super) const RESTART_7: u8 = 0xd7;
    pub(super) const START_OF_IMAGE: u8 = 0xd8;
    pub(super) const END_OF_IMAGE: u8 = 0xd9;
    pub(super) const START_OF_SCAN: u8 = 0xda;
}

/// Whether it begins a frame header (B.2.2).
fn is_start_of_frame(second: u8) -> bool {
    use marker::{
        DEFINE_ARITHMETIC_CONDITIONING, DEFINE_HUFFMAN_TABLES, RESERVED_JPG, START_OF_FRAME_0, START_OF_FRAME_15,
    };
    (START_OF_FRAME_0..=START_OF_FRAME_15).contains(&second)
        && ![DEFINE_HUFFMAN_TABLES, RESERVED_JPG, DEFINE_ARITHMETIC_CONDITIONING].contains(&second)
}

/// Whether nothing follows a marker that belongs to it (B.1.1.3).
fn stands_alone(second: u8) -> bool {
    second == marker::TEMPORARY || (marker::RESTART_0..=marker::END_OF_IMAGE).contains(&second)
}

/// Size of the image in samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    width: u16,
    height: u16,
}

/// Bytes of a frame header up to the number of lines and of samples per line: length, precision, Y, X (B.2.2).
const SIZE_BYTES: usize = 7;

fn size_of(segment: &[u8; SIZE_BYTES]) -> Result<Size, BadField> {
    let number = |at: usize| u16::from_be_bytes([segment[at], segment[at + 1]]);
    // Y may be 0, when the DNL segment behind the first scan has it.
    match number(5) {
        0 => Err(BadField { name: "number of samples per line (X)", value: Some(0) }),
        width => Ok(Size { width, height: number(3) }),
    }
}

/// The frame header of an image, before its first scan.
fn frame_header(image: &[u8]) -> Result<Option<Size>, BadField> {
    let mut at = 2;
    while let [0xff, second, ..] = image.get(at..).unwrap_or_default() {
        match *second {
            // Any marker may have further such bytes before it (B.1.1.2).
            0xff => at += 1,
            marker::START_OF_SCAN => break,
            second if stands_alone(second) => at += 2,
            second => {
                let segment = &image[at + 2..];
                if is_start_of_frame(second) {
                    let start = segment.first_chunk().ok_or(BadField { name: "frame header", value: None })?;
                    return size_of(start).map(Some);
                }
                let length = segment.first_chunk().map_or(0, |&length| usize::from(u16::from_be_bytes(length)));
                if length < 2 {
                    return Err(BadField { name: "marker segment length", value: None });
                }
                at += 2 + length;
            }
        }
    }
    Ok(None)
}

/// Reads one image after the other: it has nothing to remember.
#[derive(Debug)]
struct Reader;

impl UnitReader for Reader {
    /// Tables for abbreviated images (B.5).
    fn configure(&mut self, codec_data: &[u8]) -> Result<(), AccessUnitError> {
        if codec_data.starts_with(&[0xff, marker::START_OF_IMAGE]) {
            return Ok(());
        }
        Err(AccessUnitError::bad_configuration("no start of image (FF D8) before its tables"))
    }

    fn read(&mut self, number: u64, unit: &[u8]) -> Result<AccessUnit, AccessUnitError> {
        let no_picture = AccessUnitError::NoPicture { number, length: unit.len() };
        if !unit.starts_with(&[0xff, marker::START_OF_IMAGE]) {
            return Err(no_picture);
        }
        frame_header(unit).map_err(|field| AccessUnitError::bad_header(number, field))?.ok_or(no_picture)?;
        Ok(AccessUnit {
            number,
            part: FramePart::Whole,
            kind: PictureType::I,
            key: Some(KeyKind::Closed),
            leading: false,
            referenced: false,
            temporal_layer: 0,
            references: vec![],
            missing_reference: false,
            display_order: i64::try_from(number).ok(),
            picture_order: None,
            recovery: Recovery::default(),
            gop_header: None,
        })
    }

    fn reset(&mut self) {}
}

/// Images are shown in turn, each a group of its own.
#[derive(Default)]
struct ImageIndexer {
    images: u32,
}

impl Indexer for ImageIndexer {
    fn take(&mut self, frame: &mut Frame, _coded: &CodedFrame, _source: &dyn ReadAt) -> io::Result<()> {
        frame.key = Some(KeyKind::Closed);
        frame.referenced = false;
        frame.gop = frame.decode_index;
        self.images += 1;
        Ok(())
    }

    fn order(self: Box<Self>) -> DisplayOrder {
        DisplayOrder::of_decoding(self.images)
    }
}
