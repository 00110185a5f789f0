//! Where images of a Motion JPEG stream begin and end.

use memchr::memchr;

use super::{SIZE_BYTES, Size, is_start_of_frame, marker, size_of, stands_alone};
use crate::codec::Codec;
use crate::error::ScanError;
use crate::picture::{FrameRate, PictureType};
use crate::scanner::{CodedFrame, Damage, ScanSummary, Stated, StreamScanner, Tiling};

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
pub(super) struct JpegScanner {
    place: Place,
    offset: u64,
    /// The beginning of the segment that is read.
    segment: [u8; SIZE_BYTES],
    kept: usize,
    frames: Tiling,
    /// The image has a frame header.
    has_header: bool,
    size: Option<Size>,
    damage: Damage,
}

impl Default for JpegScanner {
    fn default() -> Self {
        Self {
            place: Place::Data,
            offset: 0,
            segment: [0; SIZE_BYTES],
            kept: 0,
            frames: Tiling::default(),
            has_header: false,
            size: None,
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
            (Place::DataMarker, _) if self.frames.open().is_none() => Place::Data,
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
        self.check_image();
        self.has_header = false;
        self.frames.begin(CodedFrame::begun_at(self.offset - 1, PictureType::I), sink);
    }

    /// Counts an image that ends without a frame header.
    fn check_image(&mut self) {
        self.damage.bad_headers += u64::from(self.frames.open().is_some() && !self.has_header);
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

    fn end(&mut self, sink: &mut dyn FnMut(CodedFrame)) {
        self.check_image();
        self.frames.end(self.offset, sink);
    }

    fn summary(&self, frame_rate: Option<FrameRate>) -> Result<ScanSummary, ScanError> {
        let stated = self.size.map(|Size { width, height }| Stated {
            width: width.into(),
            height: height.into(),
            frame_rate: None,
            progressive: true,
        });
        self.frames.summary(Codec::MotionJpeg, stated, self.offset, frame_rate, self.damage)
    }

    fn last_frame(&self) -> Option<u64> {
        self.frames.open().filter(|_| self.has_header).map(|frame| frame.offset)
    }
}
