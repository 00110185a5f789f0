//! Motion JPEG: one JPEG image after the other, none of which refers to another. Clauses are those of ITU-T T.81
//! (ISO/IEC 10918-1).

use std::io;

use memchr::memchr;

use crate::access_unit::{AccessUnit, AccessUnitError, Codec, FramePart, KeyKind};
use crate::codec::{Profile, UnitReader};
use crate::error::ScanError;
use crate::headers::BadField;
use crate::index::{Frame, FrameRate, PictureStructure, PictureType, SequenceHeader};
use crate::movie::Indexer;
use crate::order::DisplayOrder;
use crate::recovery::Recovery;
use crate::scanner::{CodedFrame, Damage, ScanSummary, StreamScanner};
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

/// What the next byte is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Outside of an image, or in the data of a scan.
    Data,
    /// Behind 0xff there.
    DataMarker,
    /// Where a marker has to begin.
    Marker,
    /// The second byte of a marker.
    SecondByte,
    /// The length of a segment.
    Length { second: u8 },
    /// So many bytes of a segment are left.
    Segment { second: u8, left: usize },
}

/// Finds images: from a start of image outside of the segments of another, which may hold small ones, to the next.
#[derive(Debug)]
struct JpegScanner {
    place: Place,
    offset: u64,
    /// The beginning of the segment that is read.
    segment: [u8; SIZE_BYTES],
    kept: usize,
    open: Option<CodedFrame>,
    /// The image has a frame header.
    has_header: bool,
    size: Option<Size>,
    first_frame: Option<u64>,
    damage: Damage,
}

impl Default for JpegScanner {
    fn default() -> Self {
        Self {
            place: Place::Data,
            offset: 0,
            segment: [0; SIZE_BYTES],
            kept: 0,
            open: None,
            has_header: false,
            size: None,
            first_frame: None,
            damage: Damage::default(),
        }
    }
}

impl JpegScanner {
    fn take(&mut self, byte: u8, sink: &mut dyn FnMut(CodedFrame)) {
        self.place = match (self.place, byte) {
            (Place::Data | Place::Marker, 0xff) => match self.place {
                Place::Data => Place::DataMarker,
                _ => Place::SecondByte,
            },
            (Place::Data | Place::Marker, _) => Place::Data,
            (Place::DataMarker, 0xff) => Place::DataMarker,
            (Place::SecondByte, 0xff) => Place::SecondByte,
            // Stuffed, or a restart between two parts of a scan.
            (Place::DataMarker, 0 | marker::RESTART_0..=marker::RESTART_7) => Place::Data,
            (Place::DataMarker | Place::SecondByte, marker::START_OF_IMAGE) => {
                self.begin_image(sink);
                Place::Marker
            }
            (Place::DataMarker | Place::SecondByte, marker::END_OF_IMAGE) => Place::Data,
            (Place::DataMarker, _) if self.open.is_none() => Place::Data,
            (Place::DataMarker | Place::SecondByte, second) if stands_alone(second) => Place::Marker,
            (Place::DataMarker | Place::SecondByte, second) => {
                self.kept = 0;
                Place::Length { second }
            }
            (Place::Length { second }, _) => self.take_length(second, byte),
            (Place::Segment { second, left }, _) => self.take_segment(second, left, byte),
        };
        self.offset += 1;
    }

    fn begin_image(&mut self, sink: &mut dyn FnMut(CodedFrame)) {
        let start = self.offset - 1;
        self.end_image(start, sink);
        self.first_frame.get_or_insert(start);
        self.has_header = false;
        self.open = Some(CodedFrame {
            offset: start,
            size: 0,
            kind: PictureType::I,
            temporal_reference: 0,
            structure: PictureStructure::Frame,
            gop_header: None,
            after_sequence_end: false,
            shown_fields: 2,
        });
    }

    fn end_image(&mut self, end: u64, sink: &mut dyn FnMut(CodedFrame)) {
        if let Some(mut frame) = self.open.take() {
            frame.size = end - frame.offset;
            self.damage.bad_headers += u64::from(!self.has_header);
            sink(frame);
        }
    }

    fn take_length(&mut self, second: u8, byte: u8) -> Place {
        self.segment[self.kept] = byte;
        self.kept += 1;
        if self.kept < 2 {
            return Place::Length { second };
        }
        let length = usize::from(u16::from_be_bytes([self.segment[0], self.segment[1]]));
        match length.checked_sub(2) {
            None => {
                self.damage.bad_headers += 1;
                Place::Data
            }
            Some(left) => self.after_byte(second, left),
        }
    }

    fn take_segment(&mut self, second: u8, left: usize, byte: u8) -> Place {
        if self.kept < SIZE_BYTES {
            self.segment[self.kept] = byte;
            self.kept += 1;
            if self.kept == SIZE_BYTES && is_start_of_frame(second) {
                self.take_header();
            }
        }
        self.after_byte(second, left - 1)
    }

    fn take_header(&mut self) {
        match size_of(&self.segment) {
            Ok(size) => {
                self.has_header = true;
                self.size.get_or_insert(size);
            }
            Err(_) => self.damage.bad_headers += 1,
        }
    }

    fn after_byte(&self, second: u8, left: usize) -> Place {
        match (left, second) {
            (0, marker::START_OF_SCAN) => Place::Data,
            (0, _) => Place::Marker,
            _ => Place::Segment { second, left },
        }
    }
}

impl StreamScanner for JpegScanner {
    fn feed(&mut self, mut chunk: &[u8], sink: &mut dyn FnMut(CodedFrame)) {
        while let Some((&byte, rest)) = chunk.split_first() {
            if matches!(self.place, Place::Data) && byte != 0xff {
                // Nothing of it matters up to the next marker.
                let skipped = memchr(0xff, chunk).unwrap_or(chunk.len());
                self.offset += skipped as u64;
                chunk = &chunk[skipped..];
                continue;
            }
            self.take(byte, sink);
            chunk = rest;
        }
    }

    fn finish(
        mut self: Box<Self>,
        frame_rate: Option<FrameRate>,
        sink: &mut dyn FnMut(CodedFrame),
    ) -> Result<ScanSummary, ScanError> {
        let length = self.offset;
        self.end_image(length, sink);
        let codec = Codec::MotionJpeg;
        let (Some(size), Some(first_frame)) = (self.size, self.first_frame) else {
            return Err(if length == 0 { ScanError::Empty } else { ScanError::NoAccessUnit { codec, length } });
        };
        let frame_rate = frame_rate.ok_or(ScanError::NoFrameRate { codec })?;
        let Size { width, height } = size;
        let sequence =
            SequenceHeader { codec, width, height, frame_rate, bit_rate: None, mpeg2: false, progressive: true };
        Ok(ScanSummary {
            sequence,
            states_frame_rate: false,
            length,
            damage: Damage { leading_bytes: first_frame, ..self.damage },
        })
    }

    fn last_frame(&self) -> Option<u64> {
        self.open.as_ref().filter(|_| self.has_header).map(|frame| frame.offset)
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::access_unit::{AccessUnitReader, Framing};
    use crate::scanner::Scanner;

    const RATE: FrameRate = FrameRate { numerator: 25, denominator: 1 };

    /// An image of 24x16 with a small image in an application segment, a restart, and a stuffed byte.
    fn image() -> Vec<u8> {
        let thumbnail = [0xff, 0xd8, 0xff, 0xd9];
        let application = [&[0xff, 0xe1, 0, 6][..], &thumbnail].concat();
        let frame = [0xff, 0xc0, 0, 11, 8, 0, 16, 0, 24, 1, 1, 0x11, 0];
        let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0x12, 0xff, 0, 0x34, 0xff, 0xd0, 0x56, 0xff, 0xd9];
        [&[0xff, 0xd8][..], &application, &frame, &scan].concat()
    }

    type Found = Vec<(u64, u64)>;

    fn scanned(stream: &[u8], piece: usize) -> (Found, Result<ScanSummary, ScanError>) {
        let mut scanner = Scanner::of(Codec::MotionJpeg).unwrap();
        let mut found = vec![];
        let mut sink = |frame: CodedFrame| found.push((frame.offset, frame.size));
        stream.chunks(piece).for_each(|chunk| scanner.feed(chunk, &mut sink));
        let summary = scanner.finish_at(Some(RATE), &mut sink);
        (found, summary)
    }

    #[test]
    fn images_are_found_whatever_stands_in_their_segments_and_however_they_are_cut() {
        let image = image();
        let size = image.len() as u64;
        let stream = [&[1, 2, 3][..], &image, &image, &image[..size as usize - 2], &image, b"tail"].concat();
        let expected = vec![(3, size), (3 + size, size), (3 + 2 * size, size - 2), (1 + 3 * size, size + 4)];
        for piece in 1..=stream.len() {
            let (found, summary) = scanned(&stream, piece);
            let summary = summary.unwrap();
            assert_eq!(found, expected, "pieces of {piece}");
            assert_eq!((summary.sequence.width, summary.sequence.height), (24, 16));
            assert_eq!(
                (summary.length, summary.damage),
                (stream.len() as u64, Damage { leading_bytes: 3, ..Damage::default() })
            );
        }
    }

    #[test]
    fn a_unit_is_a_key_frame_that_nothing_refers_to() {
        let mut reader = AccessUnitReader::new(Codec::MotionJpeg, Framing::ByteStream).unwrap();
        let image = image();
        let unit = reader.read(&image).unwrap();
        assert_eq!((unit.kind, unit.key, unit.referenced), (PictureType::I, Some(KeyKind::Closed), false));
        assert_eq!(unit.references, []);
        assert!(matches!(reader.read(&image[2..]), Err(AccessUnitError::NoPicture { number: 1, .. })));
        assert!(matches!(reader.read(&[0xff, 0xd8, 0xff, 0xd9]), Err(AccessUnitError::NoPicture { number: 2, .. })));
        let error = reader.read(&image[..16]).unwrap_err().to_string();
        assert!(error.contains("access unit 3: frame header is cut off"), "{error}");
        assert_eq!(reader.read(&image).unwrap().number, 4);
    }

    #[test]
    fn what_has_no_image_or_no_rate_is_refused() {
        assert_eq!(scanned(&[], 1).1, Err(ScanError::Empty));
        let nothing = ScanError::NoAccessUnit { codec: Codec::MotionJpeg, length: 4 };
        assert_eq!(scanned(&[0xff, 0xd8, 0xff, 0xd9], 2).1, Err(nothing));
        let mut scanner = Scanner::of(Codec::MotionJpeg).unwrap();
        scanner.feed(&image(), &mut |_| {});
        assert_eq!(scanner.finish(&mut |_| {}), Err(ScanError::NoFrameRate { codec: Codec::MotionJpeg }));
    }

    proptest! {
        /// Frames tile the stream from the first of them to its end.
        #[test]
        fn frames_tile_any_stream(bytes in prop::collection::vec(prop_oneof![Just(0xff), Just(0xd8), any::<u8>()], 0..300),
                                  piece in 1usize..40) {
            let (found, _) = scanned(&bytes, piece);
            prop_assert_eq!(&found, &scanned(&bytes, bytes.len().max(1)).0);
            let mut end = found.first().map_or(bytes.len() as u64, |first| first.0);
            for (offset, size) in found {
                prop_assert_eq!(offset, end);
                end += size;
            }
            prop_assert_eq!(end, bytes.len() as u64);
        }
    }
}
