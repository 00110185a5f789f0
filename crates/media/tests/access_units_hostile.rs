//! The readers of MPEG-4 part 2 and AV1 on bytes of any kind, and on real streams that are damaged.

use crate::support;
use std::path::PathBuf;

use framewire_media::access_unit::{Codec, Framing};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use support::hostile::check_any;
use support::{av1, ffmpeg};

/// Real streams in units; of MPEG-4 part 2 the first bytes, with all headers.
fn streams(codec: Codec) -> Vec<Vec<Vec<u8>>> {
    const HEAD: usize = 200;
    let head = |unit: &[u8]| unit[..unit.len().min(HEAD)].to_vec();
    if codec == Codec::Av1 {
        let units = |path: &PathBuf| av1::units(&std::fs::read(path).unwrap());
        return av1::encoded().iter().map(|(_, path)| units(path)).collect();
    }
    if !ffmpeg::has_encoder("mpeg4") {
        return Vec::new();
    }
    let test = std::thread::current().name().unwrap_or("test").to_owned();
    let path = ffmpeg::encode(
        &format!("{test}-hostile.m4v"),
        "testsrc2=s=176x144:r=25:d=2",
        "-c:v mpeg4 -pix_fmt yuv420p -g 12 -bf 2 -f m4v",
    );
    let stream = std::fs::read(&path).unwrap();
    let packets = ffmpeg::packets(&path, "m4v");
    vec![packets.iter().map(|&(offset, size)| head(&stream[offset..offset + size])).collect()]
}

/// Pieces that look like headers of either codec.
fn hostile_units() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let tail = prop::collection::vec(any::<u8>(), 0..24);
    let start_code = (prop::sample::select(vec![0x00, 0x20, 0xb0, 0xb2, 0xb3, 0xb5, 0xb6]), tail.clone())
        .prop_map(|(value, tail)| [&[0, 0, 1, value][..], &tail].concat());
    let obu = (prop::sample::select(vec![1u8, 2, 3, 4, 6, 7, 15]), any::<[bool; 2]>(), tail.clone()).prop_map(
        |(obu_type, [has_extension, has_size], tail)| {
            let mut bytes = vec![obu_type << 3 | u8::from(has_extension) << 2 | u8::from(has_size) << 1];
            bytes.extend(has_extension.then_some(0x28));
            bytes.extend(has_size.then_some(tail.len() as u8));
            [bytes, tail].concat()
        },
    );
    let unit = prop::collection::vec(prop_oneof![tail, start_code, obu], 0..6).prop_map(|pieces| pieces.concat());
    prop::collection::vec(unit, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_are_taken(units in hostile_units()) {
        for codec in [Codec::Mpeg4Part2, Codec::Av1] {
            check_any(codec, Framing::ByteStream, &units, &units[0]);
        }
    }
}

#[test]
fn a_key_frame_behind_a_vop_that_is_not_coded_refers_to_nothing() {
    let intra = [0, 0, 1, 0xb6, 0x10, 0, 0];
    let layer_and_intra = [&[0, 0, 1, 0x20, 0, 64, 204, 129, 72, 0][..], &intra].concat();
    let not_coded_then_intra = [&[0, 0, 1, 0xb6, 0xe0, 0, 48][..], &[0, 0, 1, 0xb6, 0x20, 0, 88]].concat();
    let units = [layer_and_intra, intra.to_vec(), not_coded_then_intra];
    check_any(Codec::Mpeg4Part2, Framing::ByteStream, &units, &units[0]);
}

/// Bits flipped in headers, units cut short, doubled and left out.
#[test]
fn damaged_streams_are_taken() {
    for codec in [Codec::Mpeg4Part2, Codec::Av1] {
        for units in streams(codec) {
            let place = any::<Index>;
            let flips = prop::collection::vec((place(), 0..40usize, 0..8u8), 0..40);
            let moves = prop::collection::vec((place(), place(), 0..3u8), 0..10);
            let mut runner = TestRunner::new(ProptestConfig::with_cases(60));
            runner
                .run(&(flips, moves), |(flips, moves)| {
                    let mut damaged = units.clone();
                    for (unit, at, bit) in flips {
                        let unit = unit.index(damaged.len());
                        if let Some(byte) = damaged[unit].get_mut(at) {
                            *byte ^= 1 << bit;
                        }
                    }
                    for (unit, other, what) in moves {
                        let (unit, other) = (unit.index(damaged.len()), other.index(damaged.len()));
                        match what {
                            0 => _ = damaged.remove(unit),
                            1 => damaged.insert(unit, damaged[other].clone()),
                            _ => damaged[unit].truncate(other),
                        }
                    }
                    check_any(codec, Framing::ByteStream, &damaged, &units[0]);
                    Ok(())
                })
                .unwrap();
        }
    }
}
