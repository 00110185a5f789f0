//! The multiplexer's streams, looked at packet by packet, and what the demultiplexer makes of them.

use framewire_units::{Bitrate, DataSize, Timestamp};

use super::clock::{TIMESTAMP_CLOCK, TIMESTAMP_WRAP};
use super::*;

#[path = "tests_loss.rs"]
mod loss;
#[path = "tests_rate.rs"]
mod rate;

/// Ticks of a frame at 25 per second.
pub(super) const FRAME: u64 = TIMESTAMP_CLOCK / 25;

pub(super) const LARGEST: DataSize = DataSize::from_bytes(1_000_000);

/// A frame of so many bytes, which differs from others.
pub(super) fn frame(number: usize, size: usize) -> Vec<u8> {
    let mut noise = number as u32 | 1;
    let mut byte = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 24) as u8 | 2
    };
    [0, 0, 1, 0x41].into_iter().chain(std::iter::repeat_with(&mut byte)).take(size.max(5)).collect()
}

/// Frames of these sizes at 25 per second, whose times go back and forth as those of B frames do.
pub(super) fn frames(sizes: &[usize]) -> Vec<Vec<u8>> {
    sizes.iter().enumerate().map(|(number, &size)| frame(number, size)).collect()
}

pub(super) fn unit(number: usize, bytes: &[u8], origin: u64) -> Unit<'_> {
    let decode = origin + number as u64 * FRAME;
    let presentation = decode + FRAME * [1, 3, 0, 0][number % 4];
    Unit { track: 0, bytes, presentation, decode, duration: FRAME, random_access: number.is_multiple_of(8) }
}

/// The packets of each frame.
pub(super) fn multiplex(settings: Settings, frames: &[Vec<u8>], origin: u64) -> Vec<Vec<u8>> {
    let mut multiplexer = Multiplexer::new(settings).unwrap();
    let put = |(number, frame): (usize, &Vec<u8>)| {
        let mut out = Vec::new();
        multiplexer.put(&unit(number, frame, origin), &mut out).unwrap();
        assert_eq!(out.len() % PACKET_LENGTH, 0);
        out
    };
    let mut stream: Vec<Vec<u8>> = frames.iter().enumerate().map(put).collect();
    multiplexer.finish(stream.last_mut().unwrap());
    stream
}

pub(super) fn settings(stream_type: StreamType, layout: Layout) -> Settings {
    Settings::new(Program::of_video(stream_type), layout)
}

pub(super) fn constant(stream_type: StreamType, rate: u64) -> Settings {
    Settings { rate: Rate::Constant(Bitrate::from_bps(rate)), ..settings(stream_type, Layout::Continuous) }
}

pub(super) fn packets(stream: &[u8]) -> impl Iterator<Item = Packet<'_>> {
    let (packets, rest) = stream.as_chunks::<PACKET_LENGTH>();
    assert!(rest.is_empty());
    packets.iter().map(|packet| Packet::parse(packet).unwrap())
}

pub(super) fn units(demultiplexer: &mut Demultiplexer) -> Vec<ReceivedUnit> {
    std::iter::from_fn(|| demultiplexer.poll_unit()).collect()
}

#[test]
fn frames_of_every_codec_come_back_with_their_times_over_every_wrap() {
    for stream_type in StreamType::ALL.into_iter().filter(|one| one.is_video()) {
        for layout in [Layout::Continuous, Layout::Datagrams(7), Layout::Datagrams(3)] {
            // The clock wraps within the stream, and so do the time stamps.
            let origin = TIMESTAMP_WRAP - 40 * FRAME;
            let sizes: Vec<usize> = (0..80).map(|number| 1 + number * number * 17).collect();
            let frames = frames(&sizes);
            let stream = multiplex(settings(stream_type, layout), &frames, origin);
            let mut demultiplexer = Demultiplexer::new(None, LARGEST);
            for (number, packets) in stream.iter().enumerate() {
                demultiplexer.handle_datagram(Timestamp::from_millis(number as u64), packets);
                let [received] = units(&mut demultiplexer).try_into().expect("it ends with its last packet");
                let sent = unit(number, &frames[number], origin);
                assert!(received.complete && received.missing.is_none());
                assert_eq!(received.bytes, frames[number]);
                assert_eq!(received.presentation, Some(sent.presentation + 63_000));
                assert_eq!(received.decode, Some(sent.decode + 63_000));
                assert_eq!(received.random_access, sent.random_access);
                assert_eq!(received.last_arrival, Timestamp::from_millis(number as u64));
            }
            assert_eq!(demultiplexer.poll_fault(), None);
            let Counters { missing, unknown, duplicates, .. } = demultiplexer.counters();
            assert_eq!((missing, unknown, duplicates), (0, 0, 0));
        }
    }
}

#[test]
fn tracks_of_audio_stand_beside_the_video() {
    let program =
        Program::of_video(StreamType::Mpeg2Video).with_track(StreamType::Mpeg1Audio).with_track(StreamType::AacAdts);
    let mut multiplexer = Multiplexer::new(Settings::new(program, Layout::Continuous)).unwrap();
    let mut stream = Vec::new();
    for number in 0..20 {
        let video = frame(number, 5_000);
        multiplexer.put(&unit(number, &video, 0), &mut stream).unwrap();
        for track in [1, 2] {
            let audio = vec![track as u8; 417];
            let time = number as u64 * FRAME;
            let packet =
                Unit { track, bytes: &audio, presentation: time, decode: time, duration: FRAME, random_access: true };
            multiplexer.put(&packet, &mut stream).unwrap();
        }
    }
    let mut demultiplexer = Demultiplexer::new(None, LARGEST);
    demultiplexer.handle_bytes(Timestamp::ZERO, &stream);
    demultiplexer.finish(Timestamp::ZERO);
    let units = units(&mut demultiplexer);
    for track in demultiplexer.program().unwrap().tracks.clone() {
        let of_track: Vec<_> = units.iter().filter(|unit| unit.track == track).collect();
        assert_eq!(of_track.len(), 20);
        assert!(of_track.iter().all(|unit| unit.complete));
    }
    let ids: std::collections::BTreeSet<_> = packets(&stream)
        .filter(|packet| packet.unit_start && packet.pid > 0xFF)
        .map(|p| (p.pid, p.payload.unwrap()[3]))
        .collect();
    assert_eq!(
        ids.into_iter().filter(|(pid, _)| *pid < 0x1000).collect::<Vec<_>>(),
        [(0x100, 0xE0), (0x101, 0xC0), (0x102, 0xC1)]
    );
}

#[test]
fn another_reader_finds_a_delimiter_before_the_frame_and_ours_does_not() {
    let frames = frames(&[300, 300]);
    let without = Settings { descriptions: false, ..settings(StreamType::H264, Layout::Continuous) };
    let stream = multiplex(without, &frames, 0).concat();
    let mut demultiplexer = Demultiplexer::new(None, LARGEST);
    demultiplexer.handle_datagram(Timestamp::ZERO, &stream);
    let expected = frames.iter().map(|frame| [&[0, 0, 0, 1, 9, 0xF0][..], frame].concat());
    assert!(units(&mut demultiplexer).iter().map(|unit| unit.bytes.to_vec()).eq(expected));
}

#[test]
fn a_known_program_needs_no_tables_and_others_are_counted() {
    let program = Program::of_video(StreamType::H265);
    let frames = frames(&[2_000, 100]);
    let mut stream = multiplex(settings(StreamType::H265, Layout::Continuous), &frames, 0).concat();
    drop(stream.drain(..2 * PACKET_LENGTH));
    let other = Program::of_video(StreamType::H264);
    let other = Program { tracks: vec![Track { pid: 0x200, ..other.tracks[0] }], clock_pid: 0x200, ..other };
    stream.extend(multiplex(Settings::new(other, Layout::Continuous), &frames[1..], 0).concat());
    packet::emit_null(&mut stream);
    let mut demultiplexer = Demultiplexer::of_program(program, LARGEST);
    demultiplexer.handle_datagram(Timestamp::ZERO, &stream);
    assert_eq!(units(&mut demultiplexer).len(), 2);
    let Counters { unknown, null, .. } = demultiplexer.counters();
    assert_eq!((unknown, null), (1, 1));
}

#[test]
fn settings_that_cannot_be_are_refused_in_words() {
    let refused = |settings: Settings| Multiplexer::new(settings).unwrap_err().to_string();
    let good = settings(StreamType::H264, Layout::Continuous);
    let audio = Settings { program: Program::of_video(StreamType::AacAdts), ..good.clone() };
    assert_eq!(refused(audio), SettingsError::Clock.to_string());
    let crowded = (0..16).fold(good.program.clone(), |program, _| program.with_track(StreamType::AacAdts));
    assert_eq!(refused(Settings { program: crowded, ..good.clone() }), "17 tracks: at most 16 are carried");
    let same = Program { map_pid: 0x100, ..good.program.clone() };
    assert_eq!(refused(Settings { program: same, ..good.clone() }), "packet identifier 0x0100 is given twice");
    let low = Program { map_pid: 3, ..good.program.clone() };
    assert_eq!(
        refused(Settings { program: low, ..good.clone() }),
        "packet identifier 0x0003 is out of range: 0x0010 to 0x1ffe is allowed"
    );
    let datagram = |packets| settings(StreamType::H264, Layout::Datagrams(packets));
    assert_eq!(refused(datagram(8)), "8 packets per datagram is out of range: 3 to 7 is allowed");
    assert_eq!(refused(datagram(2)), "2 packets per datagram is out of range: 3 to 7 is allowed");
    assert_eq!(
        refused(constant(StreamType::H264, 100_000)),
        "a rate of 100 kbit/s is too low: at least 200 kbit/s is needed"
    );

    let mut multiplexer = Multiplexer::new(good).unwrap();
    let mut refused = |track, bytes| {
        let unit = Unit { track, bytes, ..unit(0, &[], 0) };
        multiplexer.put(&unit, &mut Vec::new()).unwrap_err().to_string()
    };
    assert_eq!(refused(1, &[0, 0, 1, 9]), "track 1 of a program of 1");
    assert_eq!(refused(0, &[]), "an access unit has at least one byte");
    assert_eq!(refused(0, &[1, 2, 3]), UnitError::NoStartCode.to_string());
}

#[test]
fn the_stream_of_another_multiplexer_is_known_by_its_tables_and_numbered_as_it_comes() {
    let audio = Track { pid: 0x80, stream_type: StreamType::Mpeg1Audio };
    let video = Track { pid: 0x90, stream_type: StreamType::Mpeg2Video };
    let program = |tracks: [Track; 2]| Program { number: 7, map_pid: 0x70, clock_pid: 0x90, tracks: tracks.to_vec() };
    for tracks in [[audio, video], [video, audio]] {
        assert_eq!([0x90, 0x80, 0x91].map(|pid| program(tracks).track_number(pid)), [Some(0), Some(1), None]);
    }
    // Of several the first ones: a second language is none of the sound, and another view none of the video.
    let others = [audio, Track { pid: 0x81, ..audio }, video, Track { pid: 0x91, ..video }];
    let several = Program { tracks: others.to_vec(), ..program([audio, video]) };
    assert_eq!([0x80, 0x81, 0x90, 0x91].map(|pid| several.track_number(pid)), [Some(1), None, Some(0), None]);
    let program = program([video, audio]);
    let frames = frames(&[3_000, 900, 1_200]);
    let mut multiplexer = Multiplexer::new(Settings::new(program, Layout::Datagrams(7))).unwrap();
    let mut depacketizer = Depacketizer::of_any(LARGEST);
    let (mut datagrams, mut sequences, mut came) = (0, Vec::new(), Vec::new());
    for (number, bytes) in frames.iter().enumerate() {
        let mut out = Vec::new();
        multiplexer.put(&unit(number, bytes, 0), &mut out).unwrap();
        let time = number as u64 * FRAME + FRAME / 2;
        let sound = Unit { track: 1, presentation: time, decode: time, ..unit(number, b"sound", 0) };
        multiplexer.put(&sound, &mut out).unwrap();
        for datagram in out.chunks(7 * PACKET_LENGTH) {
            datagrams += 1;
            depacketizer.handle_datagram(Timestamp::from_millis(datagrams), datagram).unwrap();
            sequences.extend(std::iter::from_fn(|| depacketizer.poll_arrival()).map(|one| one.outcome.unwrap()));
            came.extend(std::iter::from_fn(|| depacketizer.poll_frame()));
        }
    }
    depacketizer.flush();
    came.extend(std::iter::from_fn(|| depacketizer.poll_frame()));
    assert_eq!(sequences, (0..datagrams).collect::<Vec<u64>>());
    let of = |track: u8| came.iter().filter(move |frame| frame.track == track && frame.complete);
    assert!(of(0).map(|frame| &frame.bytes[..]).eq(frames.iter().map(|frame| &frame[..])), "the video is track 0");
    assert_eq!(of(1).count(), 3);
    assert!(depacketizer.handle_datagram(Timestamp::ZERO, b"no packets").is_err());
}

#[test]
fn every_stream_begins_with_its_tables_also_one_that_begins_with_sound() {
    let program = Program::of_video(StreamType::H264).with_track(StreamType::Mpeg1Audio);
    let (map_pid, tracks) = (program.map_pid, [program.tracks[0], program.tracks[1]]);
    let rates = [
        Rate::Variable(Layout::Continuous),
        Rate::Variable(Layout::Datagrams(3)),
        Rate::Variable(Layout::Datagrams(7)),
        Rate::Constant(Bitrate::from_mbps(4)),
    ];
    for (rate, begins_with_sound) in rates.into_iter().flat_map(|rate| [(rate, true), (rate, false)]) {
        let settings = Settings { rate, ..Settings::new(program.clone(), Layout::Continuous) };
        let mut multiplexer = Multiplexer::new(settings).unwrap();
        let (mut out, picture) = (Vec::new(), frame(0, 3_000));
        // Four packets of sound of 700 bytes, of which the stream may begin with the first.
        let sounds: Vec<Vec<u8>> = (0..4).map(|number| vec![number + 1; 700]).collect();
        let time = |number: usize| number as u64 * FRAME / 2 + u64::from(!begins_with_sound);
        let put_sound = |number: usize, multiplexer: &mut Multiplexer, out: &mut Vec<u8>| {
            let bytes = &sounds[number];
            let presentation = FRAME + time(number);
            let sound = Unit { track: 1, presentation, decode: presentation, ..unit(number, bytes, 0) };
            multiplexer.put(&sound, out).unwrap();
        };
        (0..2).filter(|_| begins_with_sound).for_each(|number| put_sound(number, &mut multiplexer, &mut out));
        multiplexer.put(&unit(0, &picture, FRAME), &mut out).unwrap();
        let rest = if begins_with_sound { 2 } else { 0 };
        (rest..4).for_each(|number| put_sound(number, &mut multiplexer, &mut out));
        multiplexer.finish(&mut out);
        let pids = out.chunks(PACKET_LENGTH).map(|packet| Packet::parse(packet.try_into().unwrap()).unwrap().pid);
        assert_eq!(pids.take(2).collect::<Vec<_>>(), [0, map_pid], "{rate:?}: PAT and PMT");
        let mut demultiplexer = Demultiplexer::new(None, LARGEST);
        demultiplexer.handle_bytes(Timestamp::ZERO, &out);
        demultiplexer.finish(Timestamp::ZERO);
        let came: Vec<_> = std::iter::from_fn(|| demultiplexer.poll_unit()).collect();
        let of = |track: usize| came.iter().filter(move |unit| unit.track == tracks[track]).map(|unit| &unit.bytes[..]);
        assert!(of(1).eq(sounds.iter().map(|sound| &sound[..])), "{rate:?}: all of the sound");
        assert!(of(0).eq([&picture[..]]), "{rate:?}");
    }
}

/// Access units as encoders make them of 4K: parameter sets that change, a pair of fields with a delimiter before each, many
/// slices, and up to 7 MB.
#[test]
fn units_of_4k_with_slices_fields_and_parameter_sets_that_change_come_back() {
    const KEPT: DataSize = DataSize::from_bytes(8 << 20);
    let coded = |sets: u8, fields: usize, size: usize| {
        let field = |number: usize| {
            let sets = [[0, 0, 0, 1, 0x67, sets], [0, 0, 0, 1, 0x68, sets]].concat();
            let slice = [&[0, 0, 1, 0x65, number as u8][..], &vec![0x55; size / fields / 68]].concat();
            let sets = if number == 0 { &sets[..] } else { &[] };
            [&[0, 0, 0, 1, 9, 0x10], sets, &slice.repeat(68)].concat()
        };
        (0..fields).flat_map(field).collect::<Vec<u8>>()
    };
    let frames = [coded(1, 2, 7_000_000), coded(2, 1, 70_000), coded(3, 2, 700_000)];
    for layout in [Layout::Continuous, Layout::Datagrams(7)] {
        let stream = multiplex(settings(StreamType::H264, layout), &frames, 0).concat();
        let mut demultiplexer = Demultiplexer::new(None, KEPT);
        stream.chunks(60_000).for_each(|bytes| demultiplexer.handle_bytes(Timestamp::ZERO, bytes));
        demultiplexer.finish(Timestamp::ZERO);
        let units = units(&mut demultiplexer);
        assert!(units.iter().all(|unit| unit.complete) && units.iter().map(|unit| &unit.bytes[..]).eq(&frames));
    }
}

/// The stream of another multiplexer whose clock leaps ahead, goes back and begins anew: each unit has the times that it says.
#[test]
fn times_that_jump_or_go_back_are_those_of_their_units() {
    let frames = frames(&[3_000, 900, 1_200, 4_000]);
    let origins = [TIMESTAMP_WRAP / 2, 90_000, TIMESTAMP_WRAP - 2 * FRAME, 90_000];
    let mut depacketizer = Depacketizer::of_any(LARGEST);
    let mut came = Vec::new();
    for origin in origins {
        for datagrams in multiplex(settings(StreamType::H264, Layout::Datagrams(7)), &frames, origin) {
            for datagram in datagrams.chunks(7 * PACKET_LENGTH) {
                depacketizer.handle_datagram(Timestamp::ZERO, datagram).unwrap();
                came.extend(std::iter::from_fn(|| depacketizer.poll_frame()));
            }
        }
    }
    depacketizer.flush();
    came.extend(std::iter::from_fn(|| depacketizer.poll_frame()));
    assert!(came.iter().all(|frame| frame.complete));
    let expected = origins.iter().flat_map(|&origin| (0..4).map(move |number| (origin, number)));
    let expected = expected.map(|(origin, number)| ((unit(number, &[], origin).presentation + 63_000) as u32, number));
    let expected: Vec<_> = expected.map(|(time, number)| (time, &frames[number][..])).collect();
    assert_eq!(came.iter().map(|frame| (frame.rtp_timestamp, &frame.bytes[..])).collect::<Vec<_>>(), expected);
}
