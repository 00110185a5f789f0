use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::ladder::{Ladder, Level};

const RATE: FrameRate = FrameRate { numerator: 24_000, denominator: 1_001 };

fn ladder_of(sizes: &[&[u32]]) -> Ladder {
    Ladder::new(sizes.iter().map(|sizes| Level::of_sizes(RATE, 3, sizes).unwrap()).collect()).unwrap()
}

fn small() -> Ladder {
    ladder_of(&[&[200, 20, 30, 64], &[300, 65, 63, 1_000]])
}

fn small_plan() -> StoredPlan {
    let step = |millis, kbps| PlanStep { start: Duration::from_millis(millis), rate: Bitrate::from_kbps(kbps) };
    StoredPlan {
        client_buffer: DataSize::from_bytes(1_234),
        startup: Duration::from_secs(1),
        levels: vec![vec![step(0, 100), step(50, 200)], vec![step(0, 300), step(100, 400), step(120, 0)]],
    }
}

fn written(ladder: &Ladder, plan: Option<&StoredPlan>, payload: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = write(ladder, plan, payload, &mut bytes).unwrap();
    assert_eq!(length, bytes.len() as u64);
    bytes
}

fn open(bytes: &[u8]) -> Result<StreamingFile<Bytes>, StreamingFileError> {
    StreamingFile::open(Bytes::copy_from_slice(bytes))
}

fn open_and_verify(bytes: &[u8]) -> Result<(), StreamingFileError> {
    open(bytes)?.verify()
}

/// Right checksums for whatever the header and the index say.
fn seal(bytes: &mut [u8]) {
    let number = |bytes: &[u8], at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let header_length = number(bytes, 36);
    let index = number(bytes, 44);
    for (start, end) in [(0, header_length), (index, bytes.len())] {
        if end <= bytes.len() && start + 4 <= end {
            let sum = crc32fast::hash(&bytes[start..end - 4]);
            bytes[end - 4..end].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

#[test]
fn the_layout_to_the_byte() {
    let bytes = written(&small(), Some(&small_plan()), 64);
    let hex = |range: std::ops::Range<usize>| {
        bytes[range].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(hex(0..12), "89 56 54 50 0d 0a 1a 0a 00 01 00 02");
    assert_eq!(hex(12..40), "00 00 00 04 00 00 5d c0 00 00 03 e9 00 00 00 40 00 00 00 00 00 00 00 00 00 00 00 a0");
    assert_eq!(bytes[48..56], (bytes.len() as u64).to_be_bytes());
    assert_eq!(hex(56..72), "00 00 00 00 00 00 04 d2 00 00 00 00 3b 9a ca 00");
    // 72 bytes, two levels of 12, five steps of 12, a checksum.
    assert_eq!(72 + 2 * 12 + 5 * 12 + 4, 0xa0);
    assert_eq!(hex(72..96), "00 00 00 00 00 00 01 3a 00 00 00 02 00 00 00 00 00 00 00 00 00 01 86 a0");
    // The first frame at level 0: 200 bytes in four packets. The last one has 8 bytes.
    assert_eq!(
        hex(160..190),
        "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 40 00 00 00 00 00 01 86 a0 00 00 00 00 00 01"
    );
    let last = 160 + 3 * (30 + 64);
    assert_eq!(
        hex(last..last + 30),
        "00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 08 00 00 00 00 00 01 86 a0 01 00 00 00 00 01"
    );
    // Then the same frame at level 1, and after its 300 bytes in five packets frame 1 at level 0: 41.7 ms, 20 bytes.
    let second = last + 30 + 8 + 5 * 30 + 300;
    assert_eq!(
        hex(second..second + 30),
        "00 00 00 2a 00 00 00 00 00 00 00 01 00 00 00 14 00 00 00 00 00 01 86 a0 01 00 00 00 00 00"
    );
    let index = bytes.len() - 4 - 4 * (16 + 2 * 8);
    assert_eq!(bytes[40..48], (index as u64).to_be_bytes());
    assert_eq!(hex(index..index + 20), "00 00 00 00 00 00 00 a0 00 00 00 00 49 01 00 00 00 00 00 c8");
}

#[test]
fn what_is_written_is_read() {
    let (ladder, plan) = (small(), small_plan());
    let file = open(&written(&ladder, Some(&plan), 64)).unwrap();
    assert_eq!((file.level_count(), file.frame_count(), file.frame_rate(), file.payload()), (2, 4, RATE, 64));
    assert_eq!((file.plan(), file.codec()), (&plan, None));
    assert_eq!([0, 1].map(|level| file.mean_rate(level)), [0, 1].map(|level| ladder.mean_rate(level)));
    assert_eq!((0..4).filter(|&frame| file.is_switch_point(frame)).collect::<Vec<_>>(), [0, 3]);
    let packets = file.packets(1, 1).unwrap();
    assert_eq!((packets.count(), file.packet_count(1, 1)), (2, 2));
    assert_eq!([0, 1].map(|packet| packets.data(packet).len()), [64, 1]);
    let header = packets.header(1);
    assert_eq!((header.sequence, header.frame_done, header.rate), (1, 1, 300_000));
    file.verify().unwrap();
}

/// A file of which a wrong bit is read from some moment on.
struct Ageing {
    bytes: Bytes,
    damaged: AtomicBool,
    version: Option<Version>,
}

impl ReadAt for Ageing {
    fn length(&self) -> io::Result<u64> {
        self.bytes.length()
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.bytes.read_exact_at(buffer, offset)?;
        if self.damaged.load(Ordering::Relaxed) {
            buffer[0] ^= 1;
        }
        Ok(())
    }

    fn version(&self) -> io::Result<Option<Version>> {
        Ok(self.version)
    }
}

#[test]
fn what_does_not_change_is_checked_once_and_all_else_whenever_it_is_read() {
    let bytes = Bytes::from(written(&small(), Some(&small_plan()), 64));
    let is_checked = |version, verify: bool| {
        let source = Arc::new(Ageing { bytes: bytes.clone(), damaged: AtomicBool::new(false), version });
        let file = StreamingFile::open(Arc::clone(&source)).unwrap();
        if verify {
            file.verify().unwrap();
        }
        source.damaged.store(true, Ordering::Relaxed);
        file.packets(1, 1).is_err()
    };
    let version = Some(Version { length: bytes.len() as u64, modified: None });
    assert!(is_checked(None, false) && is_checked(version, false) && is_checked(version, true));
    assert!(!is_checked(None, true), "all was checked, and it does not change");
}

#[test]
fn bytes_in_memory_are_given_as_they_are_and_none_beyond_their_end() {
    let bytes = Bytes::from_static(b"0123456789");
    let part = bytes.bytes_at(3, 4).unwrap();
    assert_eq!((&part[..], part.as_ptr()), (&b"3456"[..], bytes[3..].as_ptr()), "no copy");
    assert_eq!((&b"0123456789"[..]).bytes_at(3, 4).unwrap(), part);
    assert_eq!(bytes.bytes_at(10, 0).unwrap(), "");
    for (offset, length) in [(0, 11), (10, 1), (11, 0), (u64::MAX, 1), (1, usize::MAX)] {
        assert!(bytes.bytes_at(offset, length).is_err(), "{length} bytes at {offset}");
    }
}

/// 50 bytes at 400 kbit/s, 450 at 3,600, and the rest at 800: the rate is that of the step in which the first byte is sent. The
/// whole plan is over before frame 1 is due.
#[test]
fn a_record_has_the_rate_of_its_own_bytes() {
    let step = |millis, kbps| PlanStep { start: Duration::from_millis(millis), rate: Bitrate::from_kbps(kbps) };
    let steps = vec![step(0, 400), step(1, 3_600), step(2, 800), step(40, 0)];
    let plan = StoredPlan { levels: vec![steps], ..StoredPlan::default() };
    let file = open(&written(&ladder_of(&[&[50, 449, 1, 2, 400]]), Some(&plan), 64)).unwrap();
    let rates = |frame: usize| {
        let packets = file.packets(0, frame).unwrap();
        (0..packets.count()).map(|packet| packets.header(packet).rate / 1_000).collect::<Vec<_>>()
    };
    assert_eq!((rates(0), rates(1)), (vec![400], vec![3_600; 8]));
    assert_eq!((rates(2), rates(3), rates(4)), (vec![3_600], vec![800], vec![800; 7]));
    assert!(file.packets(0, 0).is_ok() && file.verify().is_ok());
    assert_eq!(StoredPlan::default().rates_of(3, [7, 7].into_iter()), [Bitrate::default(); 2]);
}

/// The rates in bit/s of frames of these sizes, by a plan of one level with these steps: a start in ms and a rate.
fn rates(steps: &[(u64, u64)], sizes: &[u32]) -> Vec<u64> {
    let step = |&(millis, bps)| PlanStep { start: Duration::from_millis(millis), rate: Bitrate::from_bps(bps) };
    let plan = StoredPlan { levels: vec![steps.iter().map(step).collect()], ..StoredPlan::default() };
    plan.rates_of(0, sizes.iter().copied()).into_iter().map(Bitrate::as_bps).collect()
}

#[test]
fn a_plan_goes_on_after_a_pause() {
    let plan = [(0, 8_000), (1_000, 0), (2_000, 16_000), (3_000, 0)];
    assert_eq!(rates(&plan, &[500; 6]), [8_000, 8_000, 16_000, 16_000, 16_000, 16_000]);
    assert_eq!(rates(&[(0, 0), (1_000, 8_000)], &[500; 2]), [8_000; 2]);
    assert_eq!(rates(&[(0, 0)], &[500; 2]), [0; 2]);
}

#[test]
fn a_plan_has_the_rate_of_its_step_and_none_after_its_end() {
    let plan = small_plan();
    let rate = |at: u64| plan.rate_at(1, Duration::from_millis(at)).as_bps() / 1_000;
    assert_eq!([0, 99, 100, 119, 120, 900].map(rate), [300, 300, 400, 400, 0, 0]);
    assert_eq!(StoredPlan::default().rate_at(0, Duration::ZERO), Bitrate::default());
}

#[test]
fn every_flipped_bit_is_noticed() {
    let whole = written(&small(), Some(&small_plan()), 64);
    open_and_verify(&whole).unwrap();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            assert!(open_and_verify(&flipped).is_err(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn a_damaged_frame_leaves_the_others() {
    let mut bytes = written(&small(), None, 64);
    let file = open(&bytes).unwrap();
    let at = file.frame(1).offset as usize + 30;
    bytes[at] ^= 1;
    let file = open(&bytes).unwrap();
    let refused = file.packets(0, 1).unwrap_err().to_string();
    assert_eq!(refused, "frame 1 of level 0 is damaged: the checksum of its records is another one");
    assert!(file.packets(1, 1).is_ok() && file.packets(0, 2).is_ok() && file.verify().is_err());
}

/// The bytes of the records of a frame of [`small`] at a level, in packets of 64 bytes, and of its checksum in the index.
fn places_of(bytes: &[u8], level: usize, frame: usize) -> (std::ops::Range<usize>, std::ops::Range<usize>) {
    let file = open(bytes).unwrap();
    let length = |level| file.frame_size(level, frame) as usize + file.packet_count(level, frame) as usize * 30;
    let start = file.frame(frame).offset as usize + (0..level).map(length).sum::<usize>();
    let index = u32::from_be_bytes(bytes[44..48].try_into().unwrap()) as usize;
    let sum = index + frame * 32 + 16 + level * 8 + 4;
    (start..start + length(level), sum..sum + 4)
}

/// All checksums are right, and a header of the first, a middle or the last packet is not that of the frame.
#[test]
fn a_record_that_contradicts_the_index_is_refused() {
    let whole = written(&small(), Some(&small_plan()), 64);
    let (records, sum) = places_of(&whole, 1, 0);
    let with = |places: &[usize]| {
        let mut bytes = whole.clone();
        places.iter().for_each(|&at| bytes[records.start + at] ^= 1);
        let right = crc32fast::hash(&bytes[records.clone()]);
        bytes[sum.clone()].copy_from_slice(&right.to_be_bytes());
        seal(&mut bytes);
        let file = open(&bytes).unwrap();
        assert!(file.packets(0, 0).is_ok() && file.packets(1, 1).is_ok());
        file.packets(1, 0).map(drop).map_err(|error| error.to_string())
    };
    let refused = "frame 0 of level 1 is damaged: a record contradicts the index".to_owned();
    for at in [0, 94, 4 * 94].into_iter().flat_map(|packet| packet..packet + 30) {
        assert_eq!(with(&[at]), Err(refused.clone()), "byte {at}");
    }
    assert_eq!(with(&[30]), Ok(()), "video");
    assert_eq!(
        with(&[0, 94, 188, 282, 376].map(|packet| packet + 23)),
        Ok(()),
        "another rate, the same in all packets"
    );
}

#[test]
fn every_cut_and_every_surplus_is_noticed() {
    let whole = written(&small(), Some(&small_plan()), 64);
    for length in 0..whole.len() {
        assert!(open_and_verify(&whole[..length]).is_err(), "cut to {length}");
    }
    let cut = open(&whole[..whole.len() - 1]).unwrap_err().to_string();
    assert!(cut.ends_with("it is cut off"), "{cut}");
    let longer = open(&[&whole[..], b"x"].concat()).unwrap_err();
    assert!(matches!(longer, StreamingFileError::Length { .. }), "{longer}");
}

#[test]
fn other_versions_and_files_are_named() {
    let mut bytes = written(&small(), None, 64);
    bytes[9] = 3;
    let refused = open(&bytes).unwrap_err().to_string();
    assert_eq!(refused, "a streaming file of version 3; versions 1 and 2 can be read");
    assert!(matches!(open(b"RIFF....AVI "), Err(StreamingFileError::OtherFormat(_))));
    assert!(matches!(open(b""), Err(StreamingFileError::OtherFormat(_))));
    assert!(matches!(open(&MAGIC_AND_NO_MORE), Err(StreamingFileError::Length { .. })));
}

const MAGIC_AND_NO_MORE: [u8; 8] = header::MAGIC;

#[test]
fn what_cannot_be_written() {
    let ladder = small();
    let refused = |plan: Option<&StoredPlan>, payload| write(&ladder, plan, payload, std::io::sink()).unwrap_err();
    assert!(matches!(refused(None, 63), StreamingFileError::Payload(63)));
    assert!(matches!(refused(None, 65_001), StreamingFileError::Payload(65_001)));
    let fewer = StoredPlan { levels: vec![vec![]], ..small_plan() };
    assert!(matches!(refused(Some(&fewer), 64), StreamingFileError::Plan(_)));
    let mut unsorted = small_plan();
    unsorted.levels[0].reverse();
    assert!(matches!(refused(Some(&unsorted), 64), StreamingFileError::Plan(_)));
    let slow = Level::of_sizes(FrameRate { numerator: 1, denominator: 3_000_000 }, 1, &[5, 5]).unwrap();
    let slow = Ladder::new(vec![slow]).unwrap();
    let refused = write(&slow, None, 64, std::io::sink()).unwrap_err();
    assert!(matches!(refused, StreamingFileError::TooLong { seconds: 6_000_000 }), "{refused}");
}

/// The checksums are right: only the values are none that a writer writes.
#[test]
fn the_first_frame_refers_to_none() {
    let bytes = written(&small(), None, 64);
    let index = u32::from_be_bytes(bytes[44..48].try_into().unwrap()) as usize;
    let with = |frame: usize, kind: u8, key: u8| {
        let mut bytes = bytes.clone();
        bytes[index + frame * 32 + 12..][..2].copy_from_slice(&[kind, key]);
        seal(&mut bytes);
        open(&bytes).map(|file| file.frame(frame).kind)
    };
    assert_eq!(with(0, b'D', 1).unwrap(), PictureType::D);
    for kind in *b"PB" {
        let refused = with(0, kind, 1).unwrap_err().to_string();
        let expected = format!("type of the first frame is {kind}: I (73) or D (68) is allowed");
        assert!(refused.ends_with(&expected), "{refused}");
        assert!(with(1, kind, 0).is_ok());
    }
    let refused = with(0, b'I', 0).unwrap_err().to_string();
    assert!(refused.ends_with("key of a frame is 0: 1 to 3 is allowed"), "{refused}");
    let refused = with(2, b'X', 0).unwrap_err().to_string();
    assert!(refused.contains("frame type is 88"), "{refused}");
}

fn any_ladder() -> impl Strategy<Value = Ladder> {
    (1_usize..20, 1_usize..4).prop_flat_map(|(frames, levels)| {
        let sizes = prop::collection::vec(1_u32..700, frames);
        prop::collection::vec(sizes, levels).prop_map(|mut levels| {
            levels.sort_by_key(|sizes| sizes.iter().sum::<u32>());
            // Each level larger than the one below.
            for (number, sizes) in levels.iter_mut().enumerate() {
                sizes[0] += 20_000 * number as u32;
            }
            let levels: Vec<&[u32]> = levels.iter().map(Vec::as_slice).collect();
            ladder_of(&levels)
        })
    })
}

proptest! {
    #[test]
    fn every_ladder_comes_back(ladder in any_ladder(), payload in 64_u32..2_000) {
        let file = open(&written(&ladder, None, payload)).unwrap();
        file.verify().unwrap();
        prop_assert_eq!((file.level_count(), file.frame_count()), (ladder.level_count(), ladder.frame_count()));
        for frame in 0..ladder.frame_count() {
            for level in 0..ladder.level_count() {
                let original = ladder.frame(level, frame);
                prop_assert_eq!(file.frame_bytes(level, frame).unwrap(), ladder.frame_bytes(level, frame).unwrap());
                prop_assert_eq!(file.frame_size(level, frame), original.size);
                prop_assert_eq!(file.frame(frame).key, original.key);
                prop_assert_eq!(file.display_time(frame), ladder.display_time(frame));
            }
        }
    }

    #[test]
    fn lies_with_right_checksums_are_no_danger(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), in_index in any::<bool>(),
    ) {
        let mut bytes = written(&small(), Some(&small_plan()), 64);
        let index = u32::from_be_bytes(bytes[44..48].try_into().unwrap()) as usize;
        let range = if in_index { index..bytes.len() } else { 0..164 };
        for (at, value) in changes {
            bytes[range.start + at.index(range.len())] = value;
        }
        seal(&mut bytes);
        if let Ok(file) = open(&bytes) {
            _ = file.verify();
            (0..file.frame_count()).for_each(|frame| _ = file.display_time(frame));
        }
    }
}
