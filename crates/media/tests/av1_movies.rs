//! Movies of AV1: temporal units beside ffprobe, in any chunks, and by hand.

use crate::support;
use framewire_media::access_unit::{AccessUnitReader, Codec, Framing};
use framewire_media::{CodedFrame, FrameIndex, FrameRate, Movie, ScanError, Scanner};
use proptest::prelude::*;
use support::{av1, ffmpeg};

const RATE: Option<FrameRate> = Some(FrameRate { numerator: 25, denominator: 1 });

fn scan(bytes: &[u8], chunk: usize) -> Vec<CodedFrame> {
    let (mut scanner, mut frames) = (Scanner::of(Codec::Av1).unwrap(), vec![]);
    bytes.chunks(chunk).for_each(|chunk| scanner.feed(chunk, &mut |frame| frames.push(frame)));
    _ = scanner.finish(&mut |frame| frames.push(frame));
    frames
}

#[test]
fn temporal_units_are_those_of_the_encoders() {
    for (name, path) in av1::encoded() {
        let stream = std::fs::read(path).unwrap();
        let movie = Movie::parse_at(stream.clone().into(), RATE).unwrap();
        let FrameIndex { sequence, frames } = &*movie.index;
        assert_eq!((sequence.codec, sequence.width, sequence.height), (Codec::Av1, 176, 144), "{name}");
        let units = av1::units(&stream);
        assert_eq!(frames.len(), units.len(), "{name}");
        // One picture of each is shown, when it has come.
        assert_eq!(ffmpeg::decode(&stream, "obu", &format!("movie-{name}")).len(), frames.len(), "{name}");
        let mut reader = AccessUnitReader::new(Codec::Av1, Framing::ByteStream).unwrap();
        for (number, (frame, unit)) in frames.iter().zip(&units).enumerate() {
            assert_eq!((&movie.frame_bytes(number)[..], frame.display_index), (&unit[..], number as u32), "{name}");
            let read = reader.read(unit).unwrap();
            let references: Vec<_> = read.references.iter().map(|&other| other as u32).collect();
            assert_eq!((&frame.references[..], frame.key, frame.kind), (&references[..], read.key, read.kind));
        }
        assert!(frames[0].key.is_some() && frames.iter().all(|frame| !frame.missing_reference), "{name}");
    }
}

#[test]
fn the_rate_is_what_the_sequence_header_says() {
    let Some((_, path)) = av1::encoded().first() else { return };
    let stream = std::fs::read(path).unwrap();
    // libaom states none, and FFmpeg's filter writes one.
    assert_eq!(FrameIndex::scan(&stream), Err(ScanError::NoFrameRate { codec: Codec::Av1 }));
    for (rate, ticks, stated) in [("30000/1001", 1, (30_000, 1_001)), ("50", 2, (25, 1))] {
        let filter = format!("av1_metadata=tick_rate={rate}:num_ticks_per_picture={ticks}");
        let timed = ffmpeg::scratch("movie-timed.obu");
        let copied = std::process::Command::new("ffmpeg")
            .args(["-nostdin", "-v", "error", "-y", "-i"])
            .arg(path)
            .args(["-c", "copy", "-bsf:v", &filter, "-f", "obu"])
            .arg(&timed)
            .status();
        assert!(copied.unwrap().success());
        let index = FrameIndex::scan(&std::fs::read(timed).unwrap()).unwrap();
        assert_eq!((index.sequence.frame_rate.numerator, index.sequence.frame_rate.denominator), stated);
        assert_eq!(index.frames.len(), scan(&stream, 1 << 16).len());
    }
}

#[test]
fn behind_what_is_no_unit_the_next_delimiter_is_found() {
    let Some((_, path)) = av1::encoded().first() else { return };
    let units = av1::units(&std::fs::read(path).unwrap());
    let whole = units.concat();
    let damaged = [&units[0][..], &[0xff, 0x12, 0x12, 0x80], &units[1..4].concat()].concat();
    let sizes: Vec<u64> = scan(&damaged, 7).iter().map(|frame| frame.size).collect();
    let expected = [units[0].len() + 4, units[1].len(), units[2].len(), units[3].len()];
    assert_eq!(sizes, expected.map(|size| size as u64));
    // What no frame follows belongs to the one before.
    let behind = [&whole[..], &[0x12, 0, 0x7a, 2, 9, 9, 0x12, 0]].concat();
    let (index, _) = FrameIndex::read(&behind.as_slice(), RATE).unwrap();
    assert_eq!(index.frames.len(), units.len());
    assert_eq!(index.frames.iter().map(|frame| u64::from(frame.size)).sum::<u64>(), behind.len() as u64);
    let cut = FrameIndex::read(&&whole[..whole.len() - 3], RATE).unwrap().0;
    assert_eq!(cut.frames.len(), units.len(), "the last is cut off");
    assert!(cut.frames.last().unwrap().missing_reference && !cut.frames[1].missing_reference);
}

#[test]
fn what_is_no_movie_is_named() {
    let nothing = [0x12, 0, 0x12, 0, 0x7a, 1, 9];
    assert_eq!(FrameIndex::scan(&nothing), Err(ScanError::NoAccessUnit { codec: Codec::Av1, length: 7 }));
    let Some((_, path)) = av1::encoded().first() else { return };
    let units = av1::units(&std::fs::read(path).unwrap());
    let late = units[1..4].concat();
    assert!(matches!(FrameIndex::scan(&late), Err(ScanError::NoAccessUnit { .. })), "no sequence header");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn chunks_make_no_difference(chunk in 1usize..200, cut in 1usize..4000, flip in any::<(usize, u8)>()) {
        let Some((_, path)) = av1::encoded().first() else { return Ok(()) };
        let mut bytes = std::fs::read(path).unwrap();
        bytes.truncate(20_000);
        bytes.truncate(bytes.len() - cut);
        let place = flip.0 % bytes.len();
        bytes[place] ^= flip.1;
        prop_assert_eq!(scan(&bytes, chunk), scan(&bytes, bytes.len()));
    }
}
