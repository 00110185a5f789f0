use bytes::Bytes;
use framewire_units::DataSize;
use proptest::prelude::*;

use super::*;
use crate::audio::{AudioCodec, AudioFormat, AudioTrack};
use crate::ladder::{Ladder, Level};

const RATE: FrameRate = FrameRate { numerator: 25, denominator: 1 };
const FORMAT: AudioFormat = AudioFormat { codec: AudioCodec::Mp3, sample_rate: 48_000, channels: 2, pre_skip: 0 };

fn ladder(frames: usize) -> Ladder {
    let level = |size: u32| Level::of_sizes(RATE, 3, &vec![size; frames]).unwrap();
    Ladder::new(vec![level(70), level(200)]).unwrap()
}

/// Packets of 24 ms with sizes: of a frame of 40 ms, one or two.
fn track(sizes: &[u32]) -> AudioTrack {
    let packets = (0_u32..).zip(sizes).map(|(number, &size)| AudioPacket {
        time: Duration::from_millis(24) * number,
        duration: Duration::from_millis(24),
        bytes: vec![number as u8; size as usize].into(),
    });
    AudioTrack::new(FORMAT, packets.collect()).unwrap()
}

fn written(ladder: &Ladder, audio: Option<&AudioTrack>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let length = write_with_audio(ladder, audio, None, 64, &mut bytes).unwrap();
    assert_eq!(length, bytes.len() as u64);
    bytes
}

fn open(bytes: &[u8]) -> Result<StreamingFile<Bytes>, StreamingFileError> {
    StreamingFile::open(Bytes::copy_from_slice(bytes))
}

/// Right checksums of header and index, and of the audio of the first frame.
fn seal(bytes: &mut [u8], audio: std::ops::Range<usize>) {
    let index = u64::from_be_bytes(bytes[40..48].try_into().unwrap()) as usize;
    let sum = crc32fast::hash(&bytes[audio]);
    bytes[index + 28..index + 32].copy_from_slice(&sum.to_be_bytes());
    for (start, end) in [(0, HEADER), (index, bytes.len())] {
        let sum = crc32fast::hash(&bytes[start..end - 4]);
        bytes[end - 4..end].copy_from_slice(&sum.to_be_bytes());
    }
}

/// 72 bytes, two levels without a plan, the audio and the checksum.
const HEADER: usize = 72 + 2 * 12 + 20 + 4;

#[test]
fn the_layout_to_the_byte() {
    let bytes = written(&ladder(3), Some(&track(&[5, 6, 7])));
    let hex = |range: std::ops::Range<usize>| {
        bytes[range].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((hex(8..10), hex(36..40)), ("00 02".to_owned(), "00 00 00 78".to_owned()));
    assert_eq!(hex(96..116), "02 02 00 00 00 00 bb 80 00 00 00 03 00 00 00 00 00 00 00 12");
    // Frame 0 lasts until 40 ms: packets 0 and 1, at 0 and 24 ms.
    assert_eq!(hex(120..145), "00 00 00 00 00 00 00 00 01 6e 36 00 00 00 00 00 00 00 00 05 00 00 00 00 00");
    assert_eq!(hex(145..171), "00 00 00 00 01 6e 36 00 01 6e 36 00 00 00 00 01 00 00 00 06 01 01 01 01 01 01");
    assert_eq!(hex(171..179), "00 00 00 00 00 00 00 00", "the first record of video: time stamp, sequence number");
    let index = bytes.len() - 4 - 3 * (16 + 16 + 2 * 8);
    assert_eq!(
        hex(index..index + 28),
        "00 00 00 00 00 00 00 78 00 00 00 00 49 01 00 00 00 00 00 00 00 00 00 02 00 00 00 0b"
    );
    assert_eq!(bytes[index + 28..index + 32], crc32fast::hash(&bytes[120..171]).to_be_bytes());
    assert_eq!(hex(index + 64..index + 76), "00 00 00 02 00 00 00 01 00 00 00 07", "frame 1: packet 2");
}

#[test]
fn without_audio_nothing_changes() {
    let mut before = Vec::new();
    write(&ladder(3), None, 64, &mut before).unwrap();
    assert_eq!(written(&ladder(3), None), before);
    let file = open(&before).unwrap();
    assert_eq!((file.audio(), file.audio_rate(), file.audio_of(2)), (None, Bitrate::default(), 0..0));
    assert_eq!(file.audio_packets(1).unwrap(), []);
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let whole = written(&ladder(3), Some(&track(&[5, 6, 7])));
    open(&whole).unwrap().verify().unwrap();
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << bit;
            assert!(open(&flipped).and_then(|file| file.verify()).is_err(), "bit {bit} of byte {at}");
        }
        assert!(open(&whole[..at]).is_err(), "cut to {at}");
    }
}

#[test]
fn damage_is_named_with_its_place_and_leaves_the_rest() {
    let whole = written(&ladder(3), Some(&track(&[5, 6, 7])));
    let refused = |at: usize, value: &[u8]| {
        let mut bytes = whole.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        seal(&mut bytes, 120..171);
        let file = open(&bytes).unwrap();
        assert!(file.audio_packets(1).is_ok() && file.packets(0, 0).is_ok() && file.verify().is_err());
        file.audio_packets(0).unwrap_err().to_string()
    };
    let start = |at| format!("the audio before frame 0 is damaged at byte {at}: its ");
    assert_eq!(refused(124, &[3]), start(120) + "time is 50331648, 0 to 39999999 is allowed");
    assert_eq!(refused(145, &[0; 8]), start(145) + "time is 0, 1 to 39999999 is allowed");
    assert_eq!(refused(128, &[255]), start(128) + "duration is 4285412864, 1 to 1000000000 is allowed");
    assert_eq!(refused(135, &[9]), start(132) + "number is 9, 0 is allowed");
    assert_eq!(refused(139, &[11]), start(136) + "size is 11, 1 to 10 is allowed");
    let mut bytes = whole.clone();
    bytes[141] ^= 1;
    let changed = open(&bytes).unwrap().audio_packets(0).unwrap_err().to_string();
    assert!(changed.starts_with(&(start(120) + "checksum is ")), "{changed}");
}

#[test]
fn what_is_not_allowed_is_refused() {
    let refused =
        |audio: &AudioTrack| write_with_audio(&ladder(3), Some(audio), None, 64, std::io::sink()).unwrap_err();
    let large = refused(&track(&[64, 65])).to_string();
    assert!(large.starts_with("packet 1 of the audio has 65 bytes; packets of 64"), "{large}");
    // Three frames end at 120 ms, packet 5 begins then.
    assert!(write_with_audio(&ladder(3), Some(&track(&[1; 5])), None, 64, std::io::sink()).is_ok());
    let long = refused(&track(&[1; 6])).to_string();
    assert!(long.starts_with("packet 5 of the audio begins 120000000 ns"), "{long}");
}

proptest! {
    #[test]
    fn every_track_comes_back(sizes in prop::collection::vec(1_u32..=64, 1..60), spare in 0_usize..5) {
        let frames = sizes.len() * 24 / 40 + 1 + spare;
        let (ladder, track) = (ladder(frames), track(&sizes));
        let file = open(&written(&ladder, Some(&track))).unwrap();
        file.verify().unwrap();
        let described = AudioDescription { format: FORMAT, packets: sizes.len() as u32, size: track.size() };
        prop_assert_eq!(file.audio(), Some(described));
        let mut packets = Vec::new();
        for frame in 0..frames {
            let here = file.audio_packets(frame).unwrap();
            prop_assert_eq!(file.audio_of(frame), packets.len() as u32..(packets.len() + here.len()) as u32);
            let times = RATE.time_of(frame as u64)..RATE.time_of(frame as u64 + 1);
            prop_assert!(here.iter().all(|packet| times.contains(&packet.time)));
            packets.extend(here);
            prop_assert_eq!(file.frame_bytes(1, frame).unwrap(), ladder.frame_bytes(1, frame).unwrap());
        }
        prop_assert_eq!(&packets[..], track.packets());
    }

    #[test]
    fn lies_with_right_checksums_are_no_danger(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), part in 0..3,
    ) {
        let mut bytes = written(&ladder(3), Some(&track(&[5, 6, 7])));
        let index = bytes.len() - 4 - 3 * 48;
        let range = [0..HEADER, 120..171, index..bytes.len()][part as usize].clone();
        for (at, value) in changes {
            bytes[range.start + at.index(range.len())] = value;
        }
        seal_at(&mut bytes, index);
        if let Ok(file) = open(&bytes) {
            _ = file.verify();
            let read = |frame| file.audio_packets(frame).map_or(0, |packets| packets.len());
            let heard: usize = (0..file.frame_count()).map(read).sum();
            prop_assert!(heard as u32 <= file.audio().map_or(0, |audio| audio.packets));
            let size: DataSize = file.audio().map_or(DataSize::ZERO, |audio| audio.size);
            prop_assert!(size.as_bytes() <= bytes.len() as u64);
        }
    }
}

/// As [`seal`], with the index where it was written whatever the header says.
fn seal_at(bytes: &mut [u8], index: usize) {
    let stated: [u8; 8] = bytes[40..48].try_into().unwrap();
    bytes[40..48].copy_from_slice(&(index as u64).to_be_bytes());
    seal(bytes, 120..171);
    bytes[40..48].copy_from_slice(&stated);
    let sum = crc32fast::hash(&bytes[..HEADER - 4]);
    bytes[HEADER - 4..HEADER].copy_from_slice(&sum.to_be_bytes());
}
