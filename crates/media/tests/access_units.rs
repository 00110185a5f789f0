//! The readers of H.264 and H.265 access units: framings, joining in the middle, losses upstream, hostile bytes.

use crate::support;
use framewire_media::PictureType;
use framewire_media::access_unit::{AccessUnit, AccessUnitError, AccessUnitReader, Codec, Framing, KeyKind};
use proptest::prelude::*;
use support::ffmpeg;
use support::hostile::check_any;

/// A real stream cut into access units.
#[derive(Clone)]
struct Recorded {
    codec: Codec,
    units: Vec<Vec<u8>>,
}

fn recorded(name: &str) -> Option<Recorded> {
    let path = support::generated_streams().filter(|_| ffmpeg::is_there())?.join(name);
    let codec = if name.ends_with("h265") { Codec::H265 } else { Codec::H264 };
    let stream = std::fs::read(&path).unwrap();
    let packets = ffmpeg::packets(&path, if codec == Codec::H265 { "hevc" } else { "h264" });
    let units = packets.iter().map(|&(offset, size)| stream[offset..offset + size].to_vec()).collect();
    Some(Recorded { codec, units })
}

const OPEN_H264: &str = "h264_640x360p24_open_gop_recovery_point.h264";
const OPEN_H265: &str = "hevc_640x360p24_open_gop_cra_rasl.h265";

fn reader(codec: Codec) -> AccessUnitReader {
    AccessUnitReader::new(codec, Framing::ByteStream).unwrap()
}

fn read_all(recorded: &Recorded) -> Vec<AccessUnit> {
    let mut reader = reader(recorded.codec);
    recorded.units.iter().map(|unit| reader.read(unit).unwrap()).collect()
}

/// The NAL units of a unit behind start codes.
fn nals(unit: &[u8]) -> Vec<Vec<u8>> {
    let starts: Vec<_> = unit.windows(3).enumerate().filter(|(_, code)| *code == [0, 0, 1]).map(|(at, _)| at).collect();
    let ends = starts.iter().skip(1).copied().chain([unit.len()]);
    let cut = |(start, end): (&usize, usize)| {
        let nal = &unit[start + 3..end];
        let length = nal.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
        nal[..length].to_vec()
    };
    starts.iter().zip(ends).map(cut).collect()
}

fn nal_type(codec: Codec, nal: &[u8]) -> u8 {
    if codec == Codec::H264 { nal[0] & 0x1f } else { nal[0] >> 1 & 0x3f }
}

/// The stream as ISO/IEC 14496-15 stores it: parameter sets out of band, NAL units behind lengths.
fn stored(recorded: &Recorded, bytes_of_length: usize) -> (Vec<u8>, Vec<Vec<u8>>) {
    let codec = recorded.codec;
    let is_set = |nal: &Vec<u8>| match codec {
        Codec::H264 => matches!(nal_type(codec, nal), 7 | 8),
        _ => matches!(nal_type(codec, nal), 32..=34),
    };
    let with_length = |nal: &[u8], bytes: usize| {
        let length = (nal.len() as u32).to_be_bytes();
        [&length[4 - bytes..], nal].concat()
    };
    let sets: Vec<_> = nals(&recorded.units[0]).into_iter().filter(is_set).collect();
    let of_type = |wanted: u8| -> Vec<_> {
        sets.iter().filter(|nal| nal_type(codec, nal) == wanted).map(|nal| with_length(nal, 2)).collect()
    };
    let length_size = bytes_of_length as u8 - 1;
    let mut record = match codec {
        Codec::H264 => vec![1, 100, 0, 30, 0xfc | length_size],
        _ => [&[1u8; 21][..], &[length_size]].concat(),
    };
    if codec == Codec::H264 {
        for (reserved, wanted) in [(0xe0, 7), (0, 8)] {
            let sets = of_type(wanted);
            record.push(reserved | sets.len() as u8);
            record.extend(sets.concat());
        }
    } else {
        record.push(3);
        for wanted in 32..=34 {
            let sets = of_type(wanted);
            record.extend([wanted, 0, sets.len() as u8]);
            record.extend(sets.concat());
        }
    }
    let sample = |unit: &Vec<u8>| {
        let nals = nals(unit).into_iter().filter(|nal| !is_set(nal));
        nals.flat_map(|nal| with_length(&nal, bytes_of_length)).collect()
    };
    (record, recorded.units.iter().map(sample).collect())
}

#[test]
fn framing_makes_no_difference() {
    for name in [OPEN_H264, OPEN_H265] {
        let Some(recorded) = recorded(name) else { return };
        let expected = read_all(&recorded);
        let (record, samples) = stored(&recorded, 3);
        // The record says how long the lengths are; what the framing said before does not matter.
        let mut reader = AccessUnitReader::new(recorded.codec, Framing::LengthPrefixed(4)).unwrap();
        let first = reader.read(&samples[0]).unwrap_err();
        assert!(!first.to_string().is_empty());
        reader.configure(&record).unwrap();
        for (sample, expected) in samples.iter().zip(&expected) {
            let unit = reader.read(sample).unwrap();
            let offset = |references: &[u64]| references.iter().map(|other| other + 1).collect::<Vec<_>>();
            let expected = AccessUnit {
                number: expected.number + 1,
                references: offset(&expected.references),
                ..expected.clone()
            };
            assert_eq!(unit, expected, "{name}");
        }
        for end in 0..record.len() {
            let mut reader = AccessUnitReader::new(recorded.codec, Framing::LengthPrefixed(4)).unwrap();
            let error = reader.configure(&record[..end]).unwrap_err();
            assert!(matches!(error, AccessUnitError::BadConfiguration { .. }), "{end}: {error}");
        }
        let mut reader = AccessUnitReader::new(recorded.codec, Framing::LengthPrefixed(4)).unwrap();
        reader.configure(&recorded.units[0]).unwrap();
    }
}

#[test]
fn slices_without_parameter_sets_say_which_they_lack() {
    for name in [OPEN_H264, OPEN_H265] {
        let Some(recorded) = recorded(name) else { return };
        let last_nal = nals(&recorded.units[0]).pop().unwrap();
        let unit = [&[0, 0, 1][..], &last_nal].concat();
        let error = reader(recorded.codec).read(&unit).unwrap_err();
        assert_eq!(error.to_string(), "access unit 0: picture parameter set 0 has not come", "{name}");
        let mut reader = reader(recorded.codec);
        assert_eq!(reader.read(&[]), Err(AccessUnitError::NoPicture { number: 0, length: 0 }));
        assert_eq!(reader.read(&recorded.units[0]).unwrap().number, 1, "units are counted that cannot be read");
    }
}

/// A stream joined at an open key: what is shown before it is lost, and nothing else is.
#[test]
fn joined_at_an_open_key() {
    for (name, reset) in [(OPEN_H264, false), (OPEN_H264, true), (OPEN_H265, false), (OPEN_H265, true)] {
        let Some(recorded) = recorded(name) else { return };
        let whole = read_all(&recorded);
        let joined = whole.iter().position(|unit| unit.key == Some(KeyKind::Open)).expect("an open key");
        let mut reader = reader(recorded.codec);
        // Joined fresh, or after a discontinuity; both with the parameter sets.
        if reset {
            recorded.units[..joined / 2].iter().for_each(|unit| drop(reader.read(unit).unwrap()));
            reader.reset();
        } else {
            reader.configure(&recorded.units[0]).unwrap();
        }
        let mut leading = 0;
        for (unit, known) in recorded.units[joined..].iter().zip(&whole[joined..]) {
            let unit = reader.read(unit).unwrap();
            let needs_older = known.references.iter().any(|&other| other < joined as u64);
            leading += u32::from(known.leading);
            assert_eq!(unit.missing_reference, needs_older, "{name}: {known:?}");
            assert!(!needs_older || known.leading, "{name}: {known:?}");
            assert_eq!((unit.kind, unit.key, unit.leading), (known.kind, known.key, known.leading));
        }
        assert!(leading > 0, "{name}: no leading picture");
    }
}

/// Units that are lost upstream are missed by those that refer to them. Of H.265 by no other; of H.264 a B picture may
/// also be held for incomplete while the lost frame would be held, because its picture order count is not known.
fn assert_losses_are_told(recorded: &Recorded, lost: usize) {
    let whole = read_all(recorded);
    let mut reader = reader(recorded.codec);
    reader.configure(&recorded.units[0]).unwrap();
    for (number, unit) in recorded.units.iter().enumerate().filter(|(number, _)| *number != lost) {
        let unit = reader.read(unit).unwrap();
        let refers_to_lost = whole[number].references.contains(&(lost as u64));
        let is_uncertain =
            recorded.codec == Codec::H264 && unit.kind == PictureType::B && (lost..lost + 12).contains(&number);
        let is_told = unit.missing_reference == refers_to_lost || (is_uncertain && !refers_to_lost);
        assert!(is_told, "without {lost}: {:?} {unit:?}", whole[number]);
    }
}

#[test]
fn losses_upstream_are_told() {
    for name in
        [OPEN_H264, OPEN_H265, "hevc_640x360p24_closed_gop_idr.h265", "h264_640x360p24_intra_refresh_4slices.h264"]
    {
        let Some(recorded) = recorded(name) else { return };
        let referenced: Vec<_> =
            read_all(&recorded).iter().filter(|unit| unit.referenced).map(|unit| unit.number).collect();
        for lost in referenced.chunks(7).map(|chunk| chunk[chunk.len() / 2] as usize).filter(|&lost| lost > 0) {
            assert_losses_are_told(&recorded, lost);
        }
    }
}

/// Units rich in NAL units of types that are read, made of parts of real ones.
fn hostile_units(parts: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..24),
        prop::sample::select(vec![0x01, 0x21, 0x41, 0x65, 0x67, 0x68, 0x06, 0x02, 0x26, 0x2a, 0x42, 0x44, 0x10, 0x12])
            .prop_flat_map(|header| {
                prop::collection::vec(any::<u8>(), 1..40)
                    .prop_map(move |rest| [&[0, 0, 1, header, 1][..], &rest].concat())
            }),
        prop::sample::select(parts),
    ];
    let unit = prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat());
    prop::collection::vec(unit, 1..20)
}

/// The first bytes of the NAL units of a real stream, behind start codes; a made-up one where there is none.
fn parts(name: &str) -> Vec<Vec<u8>> {
    let Some(recorded) = recorded(name) else { return vec![vec![0, 0, 1, 0x65, 0x88]] };
    let nals = recorded.units.iter().take(30).flat_map(|unit| nals(unit));
    nals.map(|nal| [&[0, 0, 1][..], &nal[..nal.len().min(200)]].concat()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 1..12)) {
        for codec in [Codec::H264, Codec::H265] {
            for framing in [Framing::ByteStream, Framing::LengthPrefixed(1), Framing::LengthPrefixed(4)] {
                check_any(codec, framing, &bytes, &bytes[0]);
            }
        }
    }

}

#[test]
fn units_of_hostile_parts_are_taken() {
    for (name, codec) in [(OPEN_H264, Codec::H264), (OPEN_H265, Codec::H265)] {
        let parts = parts(name);
        let configuration = parts.iter().take(6).flatten().copied().collect::<Vec<_>>();
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
        runner
            .run(&hostile_units(parts), |units| {
                check_any(codec, Framing::ByteStream, &units, &configuration);
                Ok(())
            })
            .unwrap();
    }
}

/// Bits flipped in the headers of a real stream.
#[test]
fn damaged_streams_are_taken() {
    for name in [OPEN_H264, OPEN_H265, "h264_640x360p24_intra_refresh_4slices.h264"] {
        let Some(recorded) = recorded(name) else { return };
        let heads: Vec<Vec<u8>> = recorded.units.iter().map(|unit| unit[..unit.len().min(300)].to_vec()).collect();
        let flips = prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..8u8), 1..60);
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(60));
        runner
            .run(&flips, |flips| {
                let mut units = heads.clone();
                for (unit, place, bit) in flips {
                    let unit = unit.get(&units).clone();
                    let at = place.index(unit.len());
                    let damaged = units.iter_mut().find(|other| **other == unit).unwrap();
                    damaged[at] ^= 1 << bit;
                }
                check_any(recorded.codec, Framing::ByteStream, &units, &heads[0]);
                Ok(())
            })
            .unwrap();
    }
}
