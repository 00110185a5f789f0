//! The reader of access units on MPEG-1 and MPEG-2 video, beside the frame index of the same streams.

use crate::support;
use framewire_media::access_unit::{AccessUnit, AccessUnitError, AccessUnitReader, Codec, FramePart, Framing, KeyKind};
use framewire_media::{Movie, PictureType};
use support::{Parity, Picture, Stream, lab_group};

fn reader() -> AccessUnitReader {
    AccessUnitReader::new(Codec::MpegVideo, Framing::ByteStream).unwrap()
}

/// Every frame of a stream, read as a unit of its own.
fn read_frames(stream: &[u8]) -> (Movie, Vec<AccessUnit>) {
    let movie = Movie::parse(stream.to_vec().into()).unwrap();
    let mut reader = reader();
    let units = (0..movie.index.frames.len()).map(|frame| reader.read(&movie.frame_bytes(frame)).unwrap()).collect();
    (movie, units)
}

/// Both readers see the same kinds, headers and, but for broken links, references.
fn assert_as_indexed(stream: &[u8]) -> Vec<AccessUnit> {
    let (movie, units) = read_frames(stream);
    for (unit, frame) in units.iter().zip(&movie.index.frames) {
        assert_eq!(unit.number, u64::from(frame.decode_index));
        assert_eq!((unit.kind, unit.gop_header), (frame.kind, frame.gop_header));
        assert_eq!(unit.display_order, Some(i64::from(frame.temporal_reference)));
        assert_eq!(unit.referenced, frame.kind != PictureType::B);
        let references: Vec<u64> = frame.references.iter().map(|&other| other.into()).collect();
        if !unit.missing_reference {
            assert_eq!(unit.references, references, "frame {}", frame.decode_index);
        }
    }
    units
}

#[test]
fn groups_open_closed_and_broken() {
    let stream = lab_group(lab_group(Stream::default(), true), false);
    let broken = stream.sequence().gop(false, true).pictures("I2 B0 B1 P5 B3 B4").bytes;
    let units = assert_as_indexed(&broken);
    let keys: Vec<_> = units.iter().filter_map(|unit| unit.key.map(|key| (unit.number, key))).collect();
    assert_eq!(keys, [(0, KeyKind::Closed), (13, KeyKind::Open), (28, KeyKind::BrokenLink)]);
    let leading: Vec<_> = units.iter().filter(|unit| unit.leading).map(|unit| unit.number).collect();
    assert_eq!(leading, [14, 15, 29, 30]);
    let missing: Vec<_> = units.iter().filter(|unit| unit.missing_reference).map(|unit| unit.number).collect();
    assert_eq!(missing, [29, 30], "what they refer to is gone");
    assert_eq!(units[14].references, [10, 13], "an open group refers to the one before");
}

#[test]
fn a_stream_joined_at_an_open_group_lacks_what_came_before() {
    let stream = Stream::default().sequence().gop(false, false).pictures("I2 B0 B1 P5 B3 I6 B7").bytes;
    let units = assert_as_indexed(&stream);
    let missing: Vec<_> = units.iter().map(|unit| unit.missing_reference).collect();
    assert_eq!(missing, [false, true, true, false, false, false, false]);
    assert_eq!(units[5].key, Some(KeyKind::Open), "an I picture without a group header");
}

#[test]
fn nothing_is_known_after_a_reset() {
    let (movie, _) = read_frames(&lab_group(Stream::default(), true).bytes);
    let mut reader = reader();
    reader.read(&movie.frame_bytes(0)).unwrap();
    reader.reset();
    let unit = reader.read(&movie.frame_bytes(1)).unwrap();
    assert_eq!((unit.number, unit.references.len(), unit.missing_reference), (1, 0, true));
}

#[test]
fn fields_that_come_one_by_one_make_frames() {
    let field = |kind, reference, second: bool| {
        let parity = if second { Parity::Bottom } else { Parity::Top };
        Picture::field(kind, reference, parity, second)
    };
    let picture = |kind, reference, second| Stream::default().picture(field(kind, reference, second)).bytes;
    let units = [
        Stream::default().sequence().gop(true, false).picture(field(PictureType::I, 0, false)).bytes,
        picture(PictureType::P, 0, true),
        picture(PictureType::P, 2, false),
        picture(PictureType::P, 2, true),
        picture(PictureType::B, 1, false),
        picture(PictureType::B, 1, true),
    ];
    let mut reader = reader();
    let units: Vec<_> = units.iter().map(|unit| reader.read(unit).unwrap()).collect();
    let references: Vec<_> = units.iter().map(|unit| unit.references.clone()).collect();
    let expected: [&[u64]; 6] = [&[], &[], &[0], &[0], &[0, 2], &[0, 2]];
    assert_eq!(references, expected, "to frames, by their first fields");
    assert_eq!(units.iter().map(|unit| unit.number).collect::<Vec<_>>(), [0, 0, 2, 2, 4, 4]);
    let [first, second] = [FramePart::FirstField, FramePart::SecondField];
    assert_eq!(units.iter().map(|unit| unit.part).collect::<Vec<_>>(), [first, second].repeat(3));
    let keys: Vec<_> = units.iter().map(|unit| unit.key).collect();
    assert_eq!(keys, [Some(KeyKind::Closed), None, None, None, None, None]);
}

#[test]
fn fields_of_one_unit_make_a_frame() {
    let field = |kind, parity, second| Picture::field(kind, 0, parity, second);
    let (first, second) = (field(PictureType::I, Parity::Top, false), field(PictureType::P, Parity::Bottom, true));
    let stream = Stream::default().sequence().gop(true, false).picture(first).picture(second).bytes;
    let mut reader = reader();
    let unit = reader.read(&stream).unwrap();
    assert_eq!((unit.kind, unit.key, unit.references.len()), (PictureType::I, Some(KeyKind::Closed), 0));
    let next = Stream::default().picture(Picture::field(PictureType::P, 1, Parity::Top, false)).bytes;
    assert_eq!(reader.read(&next).unwrap().references, [0]);
}

#[test]
fn what_is_no_picture_is_told_and_counted() {
    let mut reader = reader();
    let headers = Stream::default().sequence().bytes;
    assert_eq!(reader.read(&headers), Err(AccessUnitError::NoPicture { number: 0, length: headers.len() }));
    let forbidden = [0, 0, 1, 0, 0, 0, 0, 0];
    assert!(matches!(reader.read(&forbidden), Err(AccessUnitError::BadHeader { number: 1, .. })));
    assert_eq!(reader.read(&Stream::default().pictures("I0").bytes).unwrap().number, 2);
    assert_eq!(reader.configure(&headers), Ok(()));
    assert!(reader.configure(b"avcC").unwrap_err().to_string().starts_with("codec configuration: sequence header"));
}

#[test]
fn framings_that_a_codec_has_not_are_refused() {
    for (codec, bytes) in [(Codec::MpegVideo, 4), (Codec::H264, 0), (Codec::H265, 5)] {
        let error = AccessUnitReader::new(codec, Framing::LengthPrefixed(bytes)).unwrap_err();
        assert!(matches!(error, AccessUnitError::BadConfiguration { .. }), "{error}");
    }
}

#[test]
fn recorded_streams() {
    let Some(folder) = support::generated_streams() else { return };
    let read = |name: &str| assert_as_indexed(&std::fs::read(folder.join(name)).unwrap());
    let keys = |units: &[AccessUnit], kind| units.iter().filter(|unit| unit.key == Some(kind)).count();
    let closed = read("m2v_720x576p25_closed_gop.m2v");
    assert!(keys(&closed, KeyKind::Closed) > 3 && closed.iter().all(|unit| !unit.leading));
    let open = read("m2v_720x576p25_open_gop.m2v");
    assert_eq!((keys(&open, KeyKind::Closed), keys(&open, KeyKind::Open)), (1, 6));
    assert!(open.iter().all(|unit| !unit.missing_reference));
    let broken = read("m2v_720x576p25_open_gop_broken_link_gop3_gop5.m2v");
    assert_eq!(keys(&broken, KeyKind::BrokenLink), 2);
    assert!(broken.iter().all(|unit| !unit.missing_reference || unit.leading));
    assert!(broken.iter().any(|unit| unit.missing_reference));
}
