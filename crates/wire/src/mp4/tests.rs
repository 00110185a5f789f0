//! Files that are written and read again, and what is refused of others.

use bytes::Bytes;
use framewire_units::{DataSize, Timestamp};
use proptest::prelude::*;

use super::*;

const PICTURE: Shape = Shape::Picture { width: 352, height: 288 };
const SOUND: Shape = Shape::Sound { channels: 2, sample_rate: 48_000, pre_skip: 0 };

/// A file of these access units in this order, and what it was made of.
fn file(tracks: &[(Coding, Shape, &[Bytes])], order: &[usize]) -> Vec<u8> {
    let made: Vec<Track> = tracks
        .iter()
        .map(|(coding, shape, units)| {
            let mut track = Track::new(*coding, *shape, 12_800, 0);
            for (unit, number) in units.iter().zip(0..) {
                track.push(unit, 512 * number, 0, number % 3 == 0).unwrap();
            }
            track
        })
        .collect();
    let layout = Layout::new(&made, order.iter().copied()).unwrap();
    let (mut file, mut next) = (layout.index().to_vec(), vec![0; tracks.len()]);
    for &track in order {
        let (coding, _, units) = tracks[track];
        file.extend(sample(coding, &units[next[track]]).unwrap());
        next[track] += 1;
    }
    assert_eq!(file.len() as u64, layout.length());
    file
}

/// What comes out of a file in pieces of this length.
fn read(file: &[u8], piece: usize) -> (Vec<(usize, bool, Bytes)>, Option<IndexError>) {
    let mut demultiplexer = Demultiplexer::new(DataSize::from_bytes(1 << 20));
    let mut units = Vec::new();
    for (piece, number) in file.chunks(piece).zip(0..) {
        demultiplexer.handle_bytes(Timestamp::from_secs(number), piece);
        units.extend(std::iter::from_fn(|| demultiplexer.poll_unit()));
    }
    demultiplexer.finish(Timestamp::MAX);
    units.extend(std::iter::from_fn(|| demultiplexer.poll_unit()));
    let units = units.into_iter().map(|unit| (unit.track, unit.complete, unit.bytes)).collect();
    (units, demultiplexer.poll_fault())
}

fn unit(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// Of MPEG audio anything may stand in a sample.
fn sound(count: u8) -> Vec<Bytes> {
    (0..count).map(|number| vec![number; usize::from(number) + 1].into()).collect()
}

/// A picture of H.264 at baseline profile, with parameter sets where it is the first.
fn picture(number: u8) -> Bytes {
    let sets: &[u8] = if number == 0 { &[0, 0, 0, 1, 0x67, 66, 0, 30, 1, 0, 0, 0, 1, 0x68, 0xCE] } else { &[] };
    let code: &[u8] = if number == 0 { &[0, 0, 1] } else { &[0, 0, 0, 1] };
    [sets, code, &[0x65, number + 1], &[0, 0, 1, 0x65, 9]].concat().into()
}

#[test]
fn samples_come_out_in_their_order_each_with_the_piece_that_has_its_last_byte() {
    let pictures: Vec<Bytes> = (0..4).map(picture).collect();
    let packets = sound(5);
    let tracks = [(Coding::H264, PICTURE, &pictures[..]), (Coding::Mpeg1Audio, SOUND, &packets[..])];
    let order = [1, 0, 1, 1, 0, 0, 1, 1, 0];
    let file = file(&tracks, &order);
    let mut next = [0, 0];
    let expected: Vec<_> = order
        .iter()
        .map(|&track| {
            next[track] += 1;
            (track, true, tracks[track].2[next[track] - 1].clone())
        })
        .collect();
    for piece in [1, 7, 100, file.len()] {
        assert_eq!(read(&file, piece), (expected.clone(), None), "{piece}");
    }
    // Without its last byte the last picture is not whole; without its last sample nothing is known of it.
    let (cut, fault) = read(&file[..file.len() - 1], 10);
    assert_eq!((cut.last(), fault), (Some(&(0, false, Bytes::new())), None));
    let size = sample(Coding::H264, &pictures[3]).unwrap().len();
    assert_eq!(read(&file[..file.len() - size], 10).0.len(), expected.len() - 1);
    let mut demultiplexer = Demultiplexer::new(DataSize::from_bytes(1 << 20));
    demultiplexer.handle_bytes(Timestamp::ZERO, &file[..file.len() - 1]);
    demultiplexer.handle_bytes(Timestamp::from_secs(9), &file[file.len() - 1..]);
    let arrivals: Vec<_> = std::iter::from_fn(|| demultiplexer.poll_unit()).map(|unit| unit.arrival).collect();
    assert_eq!((arrivals[7], arrivals[8]), (Timestamp::ZERO, Timestamp::from_secs(9)));
}

#[test]
fn what_cannot_stand_in_a_file_is_told() {
    let pushed = |coding, bytes: &[u8]| Track::new(coding, PICTURE, 25, 0).push(bytes, 0, 0, true);
    assert_eq!(pushed(Coding::H264, b"picture"), Err(SampleError::NoStartCode));
    assert_eq!(pushed(Coding::Aac, &[0xFF, 0xF1, 0, 0, 0, 0, 0]), Err(SampleError::NoHeader));
    assert_eq!(pushed(Coding::H264, &[0, 0, 1, 0x67, 66, 0, 0, 1, 0x68, 7]), Err(SampleError::ParameterSets));
    let mut without = Track::new(Coding::H265, PICTURE, 25, 0);
    without.push(&[0, 0, 1, 0x26, 1, 0x80], 0, 0, true).unwrap();
    assert_eq!(Layout::new(&[without], [0].into_iter()).unwrap_err(), SampleError::NoParameterSets);
    let empty = Track::new(Coding::Mpeg2Video, PICTURE, 25, 0);
    assert_eq!(Layout::new(&[empty], [].into_iter()).unwrap_err(), SampleError::Empty);
}

#[test]
fn aac_goes_without_its_headers_and_comes_out_with_them() {
    // Low complexity, 48 kHz, stereo: a packet of 13 bytes (ISO/IEC 14496-3, 1.A.2.2), and the same with a check.
    let packet = unit(&[0xFF, 0xF1, 0x4C, 0x80, 0x01, 0xBF, 0xFC, 1, 2, 3, 4, 5, 6]);
    let checked = unit(&[0xFF, 0xF0, 0x4C, 0x80, 0x01, 0xFF, 0xFC, 7, 7, 1, 2, 3, 4, 5, 6]);
    let file = file(&[(Coding::Aac, SOUND, &[packet.clone(), checked])], &[0, 0]);
    assert_eq!(read(&file, 50), (vec![(0, true, packet.clone()), (0, true, packet)], None));
}

#[test]
fn what_the_index_says_of_opus_is_known_unless_its_channels_have_a_table() {
    let mono = Shape::Sound { channels: 1, sample_rate: 44_100, pre_skip: 312 };
    let good = file(&[(Coding::Opus, mono, &sound(2))], &[0, 0]);
    let found = good.windows(4).position(|window| window == b"dOps").unwrap() + 4;
    let said = |changes: &[(usize, u8)]| {
        let mut file = good.clone();
        for &(at, value) in changes {
            file[found + at] = value;
        }
        let mut demultiplexer = Demultiplexer::new(DataSize::from_bytes(1 << 20));
        demultiplexer.handle_bytes(Timestamp::ZERO, &file);
        assert_eq!((demultiplexer.poll_fault(), demultiplexer.tracks()[0].coding), (None, Coding::Opus));
        demultiplexer.tracks()[0].shape()
    };
    assert_eq!(said(&[]), Some(mono));
    assert_eq!(said(&[(1, 2), (2, 0), (3, 0)]), Some(Shape::Sound { channels: 2, sample_rate: 44_100, pre_skip: 0 }));
    for (at, value) in [(0, 1), (1, 0), (1, 3), (10, 1)] {
        assert_eq!(said(&[(at, value)]), None, "byte {at} is {value}");
    }
    let short = |size: u8| {
        let mut file = good.clone();
        file[found - 5] = size;
        read(&file, 16).1.unwrap().to_string()
    };
    assert_eq!(short(8 + 10), "box \"dOps\" is cut off");
    let others = file(&[(Coding::Mpeg1Audio, SOUND, &sound(1))], &[0]);
    let mut demultiplexer = Demultiplexer::new(DataSize::from_bytes(1 << 20));
    demultiplexer.handle_bytes(Timestamp::ZERO, &others);
    assert_eq!(demultiplexer.tracks()[0].shape(), None);
}

#[test]
fn files_that_are_not_read_are_refused_by_what_they_are() {
    let refused = |file: &[u8]| read(file, 16).1.unwrap().to_string();
    let boxed = |kind: &[u8; 4], inner: &[u8]| [&(inner.len() as u32 + 8).to_be_bytes()[..], kind, inner].concat();
    assert!(refused(b"RIFF....AVI ").starts_with("not an MP4 file"));
    let begin = boxed(b"ftyp", b"isom\0\0\0\0");
    let with = |more: &[u8]| refused(&[&begin[..], more].concat());
    assert!(with(&boxed(b"mdat", b"samples")).starts_with("the index (moov) stands behind"));
    assert!(with(&boxed(b"moof", b"")).starts_with("a fragment (moof) stands before the index"));
    assert_eq!(with(&boxed(b"free", b"")), "there is no box \"moov\" in box \"the file\"");
    assert_eq!(with(&boxed(b"moov", b"")), "there is no track of video or sound");
    assert_eq!(with(&boxed(b"moov", &boxed(b"mvex", b""))), "there is no track of video or sound");
    assert_eq!(with(&boxed(b"moov", &boxed(b"trak", b""))), "there is no box \"mdia\" in box \"trak\"");
    assert_eq!(with(&boxed(b"moov", b"\0\0\0\x09trak")), "box \"moov\" is cut off");
    assert!(with(&[0, 0, 0, 1, b'm', b'o', b'o', b'v', 0, 0, 0, 9, 0, 0, 0, 0]).starts_with("bytes of the index"));
    let good = file(&[(Coding::Mpeg1Audio, SOUND, &sound(3))], &[0, 0, 0]);
    let changed = |kind: &[u8; 4], at: usize, value: u32| {
        let mut file = good.clone();
        let found = file.windows(4).position(|window| window == kind).unwrap() + 4 + at;
        file[found..found + 4].copy_from_slice(&value.to_be_bytes());
        refused(&file)
    };
    assert_eq!(changed(b"stsz", 8, 4 << 20 | 1), "samples: more than 4194304");
    assert_eq!(changed(b"stsz", 8, 4 << 20), "box \"stsz\" is cut off");
    assert_eq!(
        changed(b"stsz", 8, 2),
        "the tables of a track do not fit each other: chunks have more samples than there are"
    );
    assert_eq!(changed(b"stsz", 12, 0), "the tables of a track do not fit each other: a sample is empty");
    assert_eq!(
        changed(b"stsc", 12, 2),
        "the tables of a track do not fit each other: there are more samples than chunks have"
    );
    assert_eq!(
        changed(b"stsc", 12, u32::MAX),
        "the tables of a track do not fit each other: chunks have more samples than there are"
    );
    assert_eq!(
        changed(b"stsc", 8, 2),
        "the tables of a track do not fit each other: numbers of chunks do not ascend from 1"
    );
    assert_eq!(changed(b"stco", 8, 3), "samples overlap, or stand before the end of the index");
    assert_eq!(changed(b"stco", 4, u32::MAX), "box \"stco\" is cut off");
    assert_eq!(changed(b"stsd", 12, u32::from_be_bytes(*b"ac-3")), "samples of \"ac-3\" are not read");
    let encrypted = "its samples are encrypted (DRM, \"enca\"), and there is no key for them";
    assert_eq!(changed(b"stsd", 12, u32::from_be_bytes(*b"enca")), encrypted);
    let another = "its samples are of more than one sample description, of which the first is read";
    assert_eq!(changed(b"stsc", 16, 2), another);
}

/// The same file with another word at a place behind the last box of a kind.
fn changed_last(file: &[u8], kind: &[u8; 4], at: usize, word: &[u8; 4]) -> Vec<u8> {
    let mut file = file.to_vec();
    let found = file.windows(4).rposition(|window| window == kind).unwrap() + 4 + at;
    file[found..found + 4].copy_from_slice(word);
    file
}

/// What is told of the tracks of a file.
fn tracks_of(file: &[u8]) -> (Vec<Coding>, Vec<LeftOut>) {
    let mut demultiplexer = Demultiplexer::new(DataSize::from_bytes(1 << 20));
    demultiplexer.handle_bytes(Timestamp::ZERO, file);
    (demultiplexer.tracks().iter().map(|track| track.coding).collect(), demultiplexer.left_out().to_vec())
}

#[test]
fn a_track_that_is_not_read_is_left_out_and_the_picture_goes_on() {
    let pictures: Vec<Bytes> = (0..3).map(picture).collect();
    let packets = sound(3);
    let tracks = [(Coding::H264, PICTURE, &pictures[..]), (Coding::Mpeg1Audio, SOUND, &packets[..])];
    let order = [0, 1, 0, 1, 1, 0];
    for (good, has_sizes) in [(file(&tracks, &order), true), (fragmented(&tracks, &order).0, false)] {
        let (all, fault) = read(&good, 20);
        assert_eq!((all.len(), fault, tracks_of(&good).1), (6, None, vec![]));
        let pictures: Vec<_> = all.into_iter().filter(|(track, ..)| *track == 0).collect();
        let entry = |entry: &[u8; 4]| (b"stsd", 12, *entry);
        let mut changes = vec![
            (entry(b"ac-3"), IndexError::Entry("ac-3".to_owned())),
            (entry(b"enca"), IndexError::Encrypted("enca".to_owned())),
        ];
        if has_sizes {
            changes.push(((b"stsc", 16, [0, 0, 0, 2]), IndexError::Descriptions));
        }
        for ((kind, at, word), why) in changes {
            let changed = changed_last(&good, kind, at, &word);
            assert_eq!(read(&changed, 20), (pictures.clone(), None), "{why}");
            let left_out = LeftOut { is_video: false, why: Some(why) };
            assert_eq!(tracks_of(&changed), (vec![Coding::H264], vec![left_out]));
        }
        // The picture is what the file is for.
        let at = good.windows(4).position(|window| window == b"stsd").unwrap() + 16;
        let mut changed = good.clone();
        changed[at..at + 4].copy_from_slice(b"encv");
        assert_eq!(read(&changed, 20), (vec![], Some(IndexError::Encrypted("encv".to_owned()))));
    }
}

#[test]
fn of_two_tracks_of_sound_the_first_that_can_be_is_read() {
    let (pictures, one, other) = ([picture(0), picture(1)], sound(2), sound(4));
    let tracks = [
        (Coding::Mpeg1Audio, SOUND, &one[..]),
        (Coding::H264, PICTURE, &pictures[..]),
        (Coding::Mpeg1Audio, SOUND, &other[..]),
    ];
    let order = [0, 1, 2, 2, 0, 1, 2, 2];
    let come = |track: usize, units: &[Bytes]| units.iter().map(|unit| (track, true, unit.clone())).collect::<Vec<_>>();
    let of_track = |file: &[u8], track| {
        let (units, fault) = read(file, 30);
        assert_eq!(fault, None);
        units.into_iter().filter(|(own, ..)| *own == track).collect::<Vec<_>>()
    };
    for good in [file(&tracks, &order), fragmented(&tracks, &order).0] {
        assert_eq!((of_track(&good, 0), of_track(&good, 1)), (come(0, &one), come(1, &pictures)));
        let behind = LeftOut { is_video: false, why: None };
        assert_eq!(tracks_of(&good), (vec![Coding::Mpeg1Audio, Coding::H264], vec![behind]));
        let at = good.windows(4).position(|window| window == b"stsd").unwrap() + 16;
        let mut changed = good.clone();
        changed[at..at + 4].copy_from_slice(b"ac-3");
        assert_eq!((of_track(&changed, 0), of_track(&changed, 1)), (come(0, &pictures), come(1, &other)));
        let first = LeftOut { is_video: false, why: Some(IndexError::Entry("ac-3".to_owned())) };
        assert_eq!(tracks_of(&changed), (vec![Coding::H264, Coding::Mpeg1Audio], vec![first]));
    }
}

/// A file whose picture begins in the clear: an entry for that, and one for what follows, which is encrypted.
#[test]
fn what_is_encrypted_behind_a_clear_beginning_is_refused_by_its_entries() {
    let pictures = [picture(0), picture(1)];
    let good = fragmented(&[(Coding::H264, PICTURE, &pictures[..])], &[0, 0]).0;
    let entry = good.windows(4).position(|window| window == b"stsd").unwrap() + 12;
    let word = |at: usize| u32::from_be_bytes(*good[at..].first_chunk().unwrap());
    let length = word(entry);
    let mut second = good[entry..entry + length as usize].to_vec();
    second[4..8].copy_from_slice(b"encv");
    let mut file = [&good[..entry + length as usize], &second, &good[entry + length as usize..]].concat();
    for kind in [b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd"] {
        let at = good.windows(4).position(|window| window == kind).unwrap() - 4;
        file[at..at + 4].copy_from_slice(&(word(at) + length).to_be_bytes());
    }
    let begin = &file[..good.windows(4).position(|window| window == b"moof").unwrap() - 4 + length as usize];
    assert_eq!(read(begin, 9), (vec![], Some(IndexError::Encrypted("encv".to_owned()))), "before its first sample");
    let at = file.windows(4).position(|window| window == b"encv").unwrap();
    file[at..at + 4].copy_from_slice(b"avc3");
    assert_eq!(read(&file, 9), (pictures.iter().map(|unit| (0, true, unit.clone())).collect(), None));
    // Samples of the second entry, which may be of another shape, are not taken for those of the first.
    let defaults = changed_last(&file, b"trex", 8, &[0, 0, 0, 2]);
    assert_eq!(read(&defaults, 9), (vec![], Some(IndexError::Descriptions)));
}

/// A file in fragments of these access units in this order, and where in it each fragment begins.
fn fragmented(tracks: &[(Coding, Shape, &[Bytes])], order: &[usize]) -> (Vec<u8>, Vec<usize>) {
    let begun = tracks.iter().map(|(coding, shape, units)| {
        let mut track = Track::new(*coding, *shape, 12_800, 0);
        track.push(&units[0], 0, 0, true).unwrap();
        track
    });
    let mut fragmenter = Fragmenter::new(begun.collect()).unwrap();
    let (mut file, mut next, mut begins) = (fragmenter.index().to_vec(), vec![0; tracks.len()], Vec::new());
    for &track in order {
        let number = next[track];
        next[track] += 1;
        let time = SampleTime { decode: 512 * number as u64, composition: 0, duration: 512 };
        begins.push(file.len());
        file.extend(fragmenter.fragment(track, &tracks[track].2[number], time, number % 3 == 0).unwrap());
    }
    (file, begins)
}

#[test]
fn fragments_are_read_and_any_of_them_can_be_left_out() {
    let pictures: Vec<Bytes> = (0..4).map(picture).collect();
    let packets = sound(3);
    let tracks = [(Coding::H264, PICTURE, &pictures[..]), (Coding::Mpeg1Audio, SOUND, &packets[..])];
    let order = [0, 1, 0, 1, 1, 0, 0];
    let (file, begins) = fragmented(&tracks, &order);
    let mut next = [0, 0];
    let expected: Vec<_> = order
        .map(|track| {
            next[track] += 1;
            (track, true, tracks[track].2[next[track] - 1].clone())
        })
        .into();
    for piece in [1, 7, 100, file.len()] {
        assert_eq!(read(&file, piece), (expected.clone(), None), "{piece}");
    }
    for left_out in 1..order.len() {
        let end = begins.get(left_out + 1).copied().unwrap_or(file.len());
        let rest = [&file[..begins[left_out]], &file[end..]].concat();
        let mut fewer = expected.clone();
        fewer.remove(left_out);
        assert_eq!(read(&rest, 50), (fewer, None), "{left_out}");
    }
    // Cut off, the last is not whole; between two fragments nothing is missing.
    let (cut, fault) = read(&file[..file.len() - 1], 9);
    assert_eq!((cut.last(), cut.len(), fault), (Some(&(0, false, Bytes::new())), 7, None));
    assert_eq!(read(&file[..begins[6]], 9), (expected[..6].to_vec(), None));
    assert_eq!(read(&file[..begins[6] + 30], 9), (expected[..6].to_vec(), None));
}

#[test]
fn fragments_that_make_no_sense_are_refused() {
    let packets = sound(3);
    let (good, begins) = fragmented(&[(Coding::Mpeg1Audio, SOUND, &packets[..])], &[0, 0, 0]);
    let changed = |kind: &[u8; 4], at: usize, value: u32| {
        let mut file = good.clone();
        let found = file.windows(4).position(|window| window == kind).unwrap() + 4 + at;
        file[found..found + 4].copy_from_slice(&value.to_be_bytes());
        read(&file, 16)
    };
    let refused = |kind, at, value| changed(kind, at, value).1.unwrap().to_string();
    assert_eq!(refused(b"trun", 4, 2), "box \"trun\" is cut off");
    assert_eq!(refused(b"trun", 8, 4), "samples overlap, or stand before the end of the index");
    assert_eq!(refused(b"trun", 16, 0), "the tables of a track do not fit each other: a sample is empty");
    // Many samples that take no room in the index: nothing is said of any.
    let flags = 1;
    assert!(refused(b"trun", 0, flags).contains("a sample is empty"), "no size is said anywhere");
    let (kind, at, most) = (b"trun", 4, u32::MAX);
    let mut file = good.clone();
    let found = file.windows(4).position(|window| window == kind).unwrap() + 4;
    file[found..found + 4].copy_from_slice(&flags.to_be_bytes());
    file[found + at..found + at + 4].copy_from_slice(&most.to_be_bytes());
    assert_eq!(read(&file, 16).1.unwrap().to_string(), "samples of a run without sizes: more than 65536");
    // A sample behind the data of its fragment: the next fragment comes first.
    let reason = refused(b"trun", 8, 10_000);
    assert_eq!(reason, "the tables of a track do not fit each other: samples of a fragment are not where it says");
    // Of a track that the index does not have there are no samples.
    let (units, fault) = changed(b"tfhd", 4, 7);
    assert_eq!((units.len(), fault), (2, None));
    let between = [&good[..begins[1]], b"\0\0\0\x08moov", &good[begins[1]..]].concat();
    let reason = read(&between, 16).1.unwrap().to_string();
    assert_eq!(reason, "the file is in fragments (moof), and a box \"moov\" stands between them");
    let huge = [&good[..begins[1]], b"\0\x20\0\0moof"].concat();
    assert_eq!(read(&huge, 16).1.unwrap().to_string(), "bytes of the index: more than 1048576");
}

proptest! {
    #[test]
    fn what_is_written_is_read_again_however_it_is_cut(
        units in prop::collection::vec((0usize..3, prop::collection::vec(1u8..255, 1..40)), 1..60),
        piece in 1usize..200,
    ) {
        // Each track begins with a unit that has what a decoder needs.
        let first = [picture(0), unit(&[0, 0, 1, 0xB3, 1, 2, 0, 0, 1, 0, 9]), unit(&[1])];
        let mut tracks = first.map(|first| vec![first]);
        let mut order = vec![0, 1, 2];
        for (track, bytes) in units {
            let unit = if track == 0 { [&[0, 0, 0, 1][..], &bytes].concat() } else { bytes };
            tracks[track].push(unit.into());
            order.push(track);
        }
        let [video, other, sound] = &tracks;
        let tracks = [
            (Coding::H264, PICTURE, &video[..]),
            (Coding::Mpeg2Video, PICTURE, &other[..]),
            (Coding::Mpeg2Audio, SOUND, &sound[..]),
        ];
        for file in [file(&tracks, &order), fragmented(&tracks, &order).0] {
            let (units, fault) = read(&file, piece);
            prop_assert_eq!(fault, None);
            // The second track of video is left out.
            for (track, (_, _, expected)) in [tracks[0], tracks[2]].into_iter().enumerate() {
                let came = units.iter().filter(|(own, complete, _)| *own == track && *complete);
                let came: Vec<_> = came.map(|(_, _, bytes)| bytes.clone()).collect();
                prop_assert!(came == expected, "track {}", track);
            }
        }
    }
}
