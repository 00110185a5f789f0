//! Streams of constant rate in the buffers of the standard's decoder ([`crate::support::t_std`]): made-up ones of known sizes, of
//! FFmpeg's encoders, and wrong ones, which it refuses by the buffer.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test against other programs runs them")]

use framewire_units::{Bitrate, DataSize, Duration};
use framewire_wire::mpeg_ts::{
    ConstantPacketizer, Frame, Layout, Multiplexer, PACKET_LENGTH, Program, Rate, Settings, StreamType, Unit, UnitError,
};

use crate::support::programs::are_there;
use crate::support::t_std::{Buffers, Faults, judge};
use crate::transport_streams::{demultiplex, ffmpeg};

const VIDEO: u16 = 0x100;
const SOUND: u16 = 0x101;

/// A unit with the track, and when it is decoded and presented.
struct Given {
    track: usize,
    decode: u64,
    presentation: u64,
    random_access: bool,
    bytes: Vec<u8>,
}

/// A stream at a constant rate, `delay` in milliseconds.
fn multiplex(types: [StreamType; 2], units: &[Given], rate: u64, delay: u64) -> Result<Vec<u8>, UnitError> {
    let program = Program::of_video(types[0]).with_track(types[1]);
    let plain = Settings::new(program, Layout::Continuous);
    let (rate, delay) = (Rate::Constant(Bitrate::from_bps(rate)), Duration::from_millis(delay));
    let mut multiplexer = Multiplexer::new(Settings { rate, delay, ..plain }).unwrap();
    let mut out = Vec::new();
    for Given { track, decode, presentation, random_access, bytes } in units {
        let (track, decode, presentation, random_access) = (*track, *decode, *presentation, *random_access);
        multiplexer.put(&Unit { track, bytes, presentation, decode, duration: 0, random_access }, &mut out)?;
    }
    multiplexer.finish(&mut out);
    Ok(out)
}

/// The lowest rate in steps of 2 % that is not refused.
fn just_enough(types: [StreamType; 2], units: &[Given]) -> u64 {
    let size: usize = units.iter().map(|unit| unit.bytes.len()).sum();
    let last = units.iter().map(|unit| unit.decode).max().unwrap();
    let mut rate = size as u64 * 8 * 90_000 / last;
    while multiplex(types, units, rate, 700).is_err() {
        rate += rate / 50;
    }
    rate
}

/// Two seconds: frames of `ticks`, an I frame of 40 kB every half second and others of 3 to 8 kB, in fields where `per_picture`
/// is 2, and sound of 128 kbit/s.
fn made_up(types: [StreamType; 2], ticks: u64, vbv: u16) -> Vec<Given> {
    let (size, sample_ticks): (usize, u64) = if types[1] == StreamType::AacAdts { (341, 1_920) } else { (384, 2_160) };
    let frame = |number: u64| {
        let random_access = number.is_multiple_of(12);
        let head = if random_access { headers(types[0], vbv) } else { vec![0, 0, 1, 0x01] };
        let size = if random_access { 40_000 } else { 3_000 + number as usize * 977 % 5_000 };
        let decode = number * ticks;
        let presentation = decode + ticks * [1, 3, 0, 0][number as usize % 4];
        Given { track: 0, decode, presentation, random_access, bytes: padded(head, size) }
    };
    let sound = |number: u64| {
        let decode = number * sample_ticks;
        // ADTS: channel_configuration 2.
        Given {
            track: 1,
            decode,
            presentation: decode,
            random_access: true,
            bytes: padded(vec![0xFF, 0xF1, 0x4C, 0x80], size),
        }
    };
    let mut units: Vec<Given> = (0..180_000 / ticks).map(frame).chain((0..180_000 / sample_ticks).map(sound)).collect();
    units.sort_by_key(|unit| unit.decode);
    units
}

fn padded(mut head: Vec<u8>, size: usize) -> Vec<u8> {
    head.resize(size, 0x55);
    head
}

/// What says the level: main of MPEG-2 with a VBV buffer of so many times 16,384 bits, 3.0 of H.264.
fn headers(stream_type: StreamType, vbv: u16) -> Vec<u8> {
    match stream_type {
        StreamType::H264 => vec![0, 0, 1, 0x67, 77, 0, 30, 0x80, 0, 0, 1, 0x65],
        _ => {
            let [high, low] = (0x2000 | vbv << 3).to_be_bytes();
            vec![0, 0, 1, 0xB3, 0x2D, 0x02, 0x40, 0x33, 0x24, 0x9F, high, low, 0, 0, 1, 0xB5, 0x14, 0x8A, 0, 1, 0, 0]
        }
    }
}

fn buffers(video: StreamType, stream: &[u8]) -> [(u16, Buffers); 2] {
    let video = if video == StreamType::H264 { Buffers::of_h264(stream) } else { Buffers::of_mpeg2(stream) };
    [(VIDEO, video), (SOUND, Buffers::of_audio())]
}

const PAIRS: [[StreamType; 2]; 2] =
    [[StreamType::Mpeg2Video, StreamType::Mpeg1Audio], [StreamType::H264, StreamType::AacAdts]];

#[test]
fn made_up_streams_of_every_rate_keep_to_the_buffers_of_the_standards_decoder() {
    for types in PAIRS {
        // 25 and 30000/1001 frames, and 50 fields, in a second.
        for ticks in [3_600, 3_003, 1_800] {
            let units = made_up(types, ticks, 112);
            let least = just_enough(types, &units);
            for rate in [least, 2 * least, 10 * least, 48_000_000] {
                let stream = multiplex(types, &units, rate, 700).unwrap();
                let faults = judge(&stream, &buffers(types[0], &headers(types[0], 112)));
                assert_eq!(faults, Faults::new(), "{types:?}, {ticks} ticks, {rate} bit/s, least {least}");
            }
        }
    }
}

/// The same stream as it is sent: each unit is known from its decoding time on, in datagrams or in pieces.
fn as_sent(types: [StreamType; 2], units: &[Given], rate: u64, in_datagrams: bool) -> Vec<u8> {
    let program = Program::of_video(types[0]).with_track(types[1]);
    let rate = Bitrate::from_bps(rate);
    let stream = match in_datagrams {
        true => ConstantPacketizer::new(program, rate, DataSize::from_bytes(1_500), None),
        false => ConstantPacketizer::continuous(program, rate),
    };
    let mut stream = stream.unwrap();
    let mut out = Vec::new();
    for (number, Given { track, decode, presentation, random_access, bytes }) in (0..).zip(units) {
        let at = Duration::from_nanos(decode * 1_000_000_000 / 90_000);
        while stream.next_due().is_some_and(|due| due < at) {
            out.extend(stream.next_group().bytes);
        }
        let (presentation, decode, duration) = (*presentation as u32, *decode as u32, Duration::ZERO);
        let (track, random_access) = (*track, *random_access);
        stream.handle_frame(&Frame { track, bytes, presentation, decode, duration, random_access }, number).unwrap();
    }
    while stream.waiting() > DataSize::ZERO {
        out.extend(stream.next_group().bytes);
    }
    out
}

#[test]
fn streams_that_are_made_as_they_are_sent_keep_to_the_same_buffers() {
    for (types, in_datagrams) in PAIRS.into_iter().flat_map(|types| [(types, true), (types, false)]) {
        let units = made_up(types, 3_600, 112);
        let least = just_enough(types, &units) * 11 / 10;
        for rate in [least, 12_000_000] {
            let stream = as_sent(types, &units, rate, in_datagrams);
            let faults = judge(&stream, &buffers(types[0], &headers(types[0], 112)));
            assert_eq!(faults, Faults::new(), "{types:?}, {rate} bit/s, datagrams: {in_datagrams}");
        }
    }
}

#[test]
fn sound_of_six_channels_has_buffers_of_its_own() {
    let types = PAIRS[1];
    let mut units = made_up(types, 3_600, 0);
    for unit in units.iter_mut().filter(|unit| unit.track == 1) {
        unit.bytes = padded(vec![0xFF, 0xF1, 0x4D, 0x80], 1_200);
    }
    let stream = multiplex(types, &units, 10_000_000, 700).unwrap();
    let video = Buffers::of_h264(&headers(types[0], 0));
    assert_eq!(judge(&stream, &[(VIDEO, video), (SOUND, Buffers::of_surround())]), Faults::new());
    let as_stereo: Vec<String> = judge(&stream, &[(VIDEO, video), (SOUND, Buffers::of_audio())]).into_keys().collect();
    assert_eq!(as_stereo, ["B of 0x101 overflows", "TB of 0x101 overflows"]);
}

#[test]
fn what_ffmpeg_encodes_keeps_to_the_buffers_of_the_standards_decoder() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let mpeg2 = "-c:v mpeg2video -b:v 3M -maxrate 3M -bufsize 1500k -bf 2 -c:a mp2 -b:a 192k";
    let h264 = "-c:v libx264 -preset ultrafast -b:v 3M -maxrate 3M -bufsize 1500k -level 3.0 -bf 2 -c:a aac -b:a 128k";
    for (types, options) in PAIRS.into_iter().zip([mpeg2, h264]) {
        for frames in ["25", "30000/1001"] {
            let theirs = encode(options, frames, "0");
            let (units, _) = demultiplex(&theirs);
            let origin = units.iter().filter_map(|unit| unit.decode).min().unwrap();
            let mut given: Vec<Given> = units
                .into_iter()
                .map(|unit| Given {
                    track: usize::from(!unit.track.stream_type.is_video()),
                    decode: unit.decode.unwrap() - origin,
                    presentation: unit.presentation.unwrap() - origin,
                    random_access: unit.random_access,
                    bytes: unit.bytes.to_vec(),
                })
                .collect();
            given.sort_by_key(|unit| unit.decode);
            let video: Vec<u8> =
                given.iter().filter(|unit| unit.track == 0).flat_map(|unit| unit.bytes.clone()).collect();
            let buffers = buffers(types[0], &video);
            // The rates of the encoders, by which the buffer of the video is filled, and 7 % for headers, tables and clock.
            let least = 3_200_000 * 107 / 100;
            for rate in [least, 2 * least, 10 * least, 48_000_000] {
                let stream = multiplex(types, &given, rate, 700).unwrap();
                assert_eq!(judge(&stream, &buffers), Faults::new(), "{types:?}, {frames}, {rate} bit/s, least {least}");
            }
            // FFmpeg does not keep to it: sound comes as early as video.
            let faults = judge(&encode(options, frames, "6M"), &buffers);
            println!("FFmpeg's multiplexer at 6 Mbit/s, {types:?}, {frames}: {faults:?}");
            assert!(!faults.keys().any(|fault| fault.contains("underflows")), "{faults:?}");
        }
    }
}

/// Two seconds of video and sound, by FFmpeg, at a rate of the multiplex where that is not 0.
fn encode(options: &str, frames: &str, rate: &str) -> Vec<u8> {
    let video = format!("testsrc2=size=720x480:rate={frames}:duration=2,noise=alls=8:allf=t");
    let source = ["-f", "lavfi", "-i", &video, "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000:duration=2"];
    let options: Vec<&str> = ["-pix_fmt yuv420p -g 12 -ac 2", options, "-pes_payload_size 0"]
        .into_iter()
        .flat_map(|options| options.split(' '))
        .collect();
    let multiplex = if rate == "0" { vec![] } else { vec!["-muxrate", rate] };
    ffmpeg(&[&source[..], &options, &multiplex, &["-f", "mpegts", "-"]].concat())
}

/// A made-up stream at 10 Mbit/s and the places of its packets of sound and of those without content.
fn places() -> (Vec<[u8; PACKET_LENGTH]>, Vec<usize>, Vec<usize>) {
    let stream = multiplex(PAIRS[0], &made_up(PAIRS[0], 3_600, 112), 10_000_000, 700).unwrap();
    let packets = stream.as_chunks::<PACKET_LENGTH>().0.to_vec();
    let of = |pid: u16| {
        let is_of = |at: &usize| (u16::from(packets[*at][1] & 0x1F) << 8 | u16::from(packets[*at][2])) == pid;
        (0..packets.len()).filter(is_of).collect::<Vec<usize>>()
    };
    let (sound, empty) = (of(SOUND), of(0x1FFF));
    (packets, sound, empty)
}

/// The faults when the packets of sound stand where packets without content were, at least so many apart.
fn judge_moved(gap: usize, to: impl Fn(usize, &[usize]) -> Option<usize>) -> Vec<String> {
    let (mut packets, sound, empty) = places();
    let mut free = empty.clone();
    for at in sound {
        let Some(place) = to(at, &free) else { continue };
        free.retain(|&one| one >= place + gap);
        packets.swap(at, place);
    }
    let faults = judge(&packets.concat(), &buffers(PAIRS[0][0], &headers(PAIRS[0][0], 112)));
    faults.into_keys().collect()
}

#[test]
fn streams_that_are_wrong_are_refused_by_the_buffer() {
    // Packets in 10 ms.
    let time = 66;
    assert_eq!(judge_moved(1, |_, _| None), [""; 0], "as it is");
    let early =
        judge_moved(8, |at, free| free.iter().copied().find(|&one| one + 40 * time > at).filter(|&one| one < at));
    assert_eq!(early, ["B of 0x101 overflows"], "0.4 s earlier");
    let late = judge_moved(8, |at, free| free.iter().copied().find(|&one| one > at + 40 * time));
    assert!(late.contains(&"B of 0x101 underflows".to_owned()), "0.4 s later: {late:?}");
    let burst = judge_moved(1, |at, free| {
        free.iter().copied().find(|&one| one > at / (5 * time) * 5 * time).filter(|&one| one < at)
    });
    assert!(burst.contains(&"TB of 0x101 overflows".to_owned()), "what is of 50 ms at once: {burst:?}");
    let units = made_up(PAIRS[0], 3_600, 2);
    let stream = multiplex(PAIRS[0], &units, 10_000_000, 700).unwrap();
    let small: Vec<String> = judge(&stream, &buffers(PAIRS[0][0], &headers(PAIRS[0][0], 2))).into_keys().collect();
    assert!(small.contains(&"EB of 0x100 underflows".to_owned()), "I frames of 40 kB in a buffer of 4 kB: {small:?}");
    let long = multiplex(PAIRS[0], &made_up(PAIRS[0], 3_600, 112), 10_000_000, 1_500).unwrap();
    let faults = judge(&long, &buffers(PAIRS[0][0], &headers(PAIRS[0][0], 112)));
    assert_eq!(faults, Faults::new(), "a delay of 1.5 s: nothing is sent sooner than 1 s before");
}
