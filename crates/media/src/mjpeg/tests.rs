//! Images are found and read whatever pieces they come in.

use proptest::prelude::*;

use super::*;
use crate::access_unit::{AccessUnitReader, Framing};
use crate::codec::Codec;
use crate::error::ScanError;
use crate::picture::FrameRate;
use crate::scanner::{Damage, ScanSummary, Scanner};

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
