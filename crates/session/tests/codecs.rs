//! Movies of H.264 and H.265 over the transports, and what none of the packets is for.

use std::path::PathBuf;

use crate::h264;
use crate::one_channel::OneChannel;
use framewire_media::audio::{AudioCodec, AudioFormat, AudioPacket, AudioTrack};
use framewire_media::{FrameRate, Movie};
use framewire_scenario::Scenario;
use framewire_session::half::Half;
use framewire_session::{FlowSetup, RtpSeed, SendingPlan, Sound};
use framewire_transport::socket::{SocketError, StreamSocket};
use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::mpeg_ts::Demultiplexer;

const MOVIES: [&str; 2] = ["h264_640x360p24_open_gop_recovery_point.h264", "hevc_640x360p24_open_gop_cra_rasl.h265"];

fn movie(name: &str) -> Option<Movie> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let folder = std::env::var_os("FRAMEWIRE_TEST_DATA").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let path = folder.join("es/generated").join(name);
    if !path.is_file() {
        eprintln!("skipped: no {}", path.display());
        return None;
    }
    Some(Movie::parse(std::fs::read(path).expect("it is a file").into()).expect("it is a movie"))
}

fn setup(transport: &str, movie: &Movie) -> FlowSetup {
    let scenario = Scenario::parse(&format!("[[flow]]\ntransport = \"{transport}\""), &[]).expect("it is well formed");
    FlowSetup::of_movie(&scenario.flows[0], SendingPlan::new(movie.clone(), Timestamp::ZERO), RtpSeed::default())
        .expect("it sends it")
}

fn refusal(transport: &str, more: &str, movie: &Movie) -> String {
    let text = format!("[[flow]]\ntransport = \"{transport}\"\n{more}");
    let scenario = Scenario::parse(&text, &[]).expect("it is well formed");
    let plan = SendingPlan::new(movie.clone(), Timestamp::ZERO);
    FlowSetup::of_movie(&scenario.flows[0], plan, RtpSeed::default()).map(drop).unwrap_err().to_string()
}

#[test]
fn the_packets_of_the_thesis_are_not_of_them() {
    for name in MOVIES {
        let Some(movie) = movie(name) else { return };
        let error = refusal("udp", "packets = \"thesis\"", &movie);
        assert!(error.contains("flow udp: packets = \"thesis\"") && error.contains("\"slices\""), "{error}");
    }
}

/// A frame of a codec that RTP does not carry here is refused by name.
#[test]
fn packets_carry_no_motion_jpeg() {
    let image = [0xFF, 0xD8, 0xFF, 0xC0, 0, 11, 8, 0, 16, 0, 16, 1, 1, 0x11, 0, 0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 7];
    let image = [&image[..], &[0xFF, 0xD9]].concat();
    let rate = Some(FrameRate { numerator: 25, denominator: 1 });
    let movie = Movie::parse_at([&image[..], &image].concat().into(), rate).expect("it is a movie");
    for transport in ["udp", "rtp+tcp"] {
        let error = refusal(transport, "", &movie);
        let carried = "H.264 (RFC 6184), H.265 (RFC 7798) and AV1 (AOMedia's RTP Payload Format For AV1); the movie is Motion JPEG";
        assert!(error.contains(&format!("{transport} sends RTP")) && error.contains(carried), "{error}");
    }
}

/// What the receiver finds is what was sent, frame by frame, also when every third frame that nothing refers to is
/// left out.
#[test]
fn receivers_of_streams_find_their_frames() {
    for name in MOVIES {
        let Some(movie) = movie(name) else { return };
        let FlowSetup::Stream(setup) = setup("tcp", &movie) else { panic!("tcp sends a stream") };
        let left_out = |number: usize| number.is_multiple_of(3) && !movie.index.frames[number].referenced;
        for without in [false, true] {
            let sent: Vec<_> = (0..movie.index.frames.len()).filter(|number| !(without && left_out(*number))).collect();
            let bytes: Vec<u8> = sent.iter().flat_map(|&number| movie.frame_bytes(number)).collect();
            let mut receiver = setup.receiver();
            let mut received = Vec::new();
            for chunk in bytes.chunks(1448) {
                receiver.handle_input(Timestamp::ZERO, chunk);
                received.extend(std::iter::from_fn(|| receiver.poll_frame()));
            }
            receiver.handle_end(Timestamp::ZERO);
            received.extend(std::iter::from_fn(|| receiver.poll_frame()));
            let expected: Vec<_> = sent.iter().map(|&number| movie.frame_bytes(number)).collect();
            assert!(received == expected, "{name}: {} frames of {}", received.len(), expected.len());
            assert!(without == (sent.len() < movie.index.frames.len()), "{name}: nothing was left out");
        }
    }
}

/// Takes everything.
#[derive(Default)]
struct Stream(Vec<u8>);

impl StreamSocket for Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SocketError> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn unsent(&mut self) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn finish(&mut self) -> Result<(), SocketError> {
        Ok(())
    }
}

/// ISO/IEC 13818-1, 2.4.3.7: with B frames the others are presented later, so that these are not before their decoding. No later
/// than needed: some frame is presented when it is decoded.
#[test]
fn frames_of_a_transport_stream_are_presented_no_sooner_than_decoded() {
    for name in MOVIES {
        let Some(movie) = movie(name) else { return };
        let FlowSetup::Stream(setup) = setup("ts+tcp", &movie) else { panic!("ts+tcp sends a stream") };
        let mut stream = Stream::default();
        setup.sender().drive(Timestamp::MAX, &mut OneChannel::Stream(&mut stream)).expect("it takes everything");
        let mut demultiplexer = Demultiplexer::new(None, DataSize::from_bytes(4 << 20));
        demultiplexer.handle_bytes(Timestamp::ZERO, &stream.0);
        demultiplexer.finish(Timestamp::ZERO);
        let units: Vec<_> = std::iter::from_fn(|| demultiplexer.poll_unit()).collect();
        assert_eq!(units.len(), movie.index.frames.len(), "{name}");
        let later = units.iter().map(|unit| unit.presentation.unwrap() as i64 - unit.decode.unwrap() as i64);
        // Times of 24 frames per second are no whole ticks.
        assert!(matches!(later.clone().min(), Some(0 | 1)), "{name}");
        assert!(later.max() > Some(3_000), "{name}: it has B frames");
    }
}

/// RFC 7587, 4.2: a packet of Opus is not cut. One that is larger than a packet of RTP is known before anything is sent; a file takes it.
#[test]
fn sound_that_does_not_fit_into_a_packet_is_refused_by_the_mtu() {
    let movie = h264::movie(&h264::frames(5, 5, h264::PLAIN, |number| number));
    let with_sound = |transport: &str, largest: usize| {
        let packet = |(size, millis)| AudioPacket {
            time: Duration::from_millis(millis),
            duration: Duration::from_millis(20),
            // CELT, full band, 20 ms, stereo, one frame (RFC 6716, section 3.1).
            bytes: vec![31 << 3 | 4; size].into(),
        };
        let format = AudioFormat { codec: AudioCodec::Opus, sample_rate: 48_000, channels: 2, pre_skip: 312 };
        let track = AudioTrack::new(format, [(100, 0), (largest, 20), (50, 40)].map(packet).to_vec());
        let sound = Sound::new(track.expect("a track"), 0).expect("it is beside the movie");
        let text = format!("[[flow]]\ntransport = \"{transport}\"\nmtu = 576");
        let scenario = Scenario::parse(&text, &[]).expect("it is well formed");
        let plan = SendingPlan::new(movie.clone(), Timestamp::ZERO).with_sound(&sound);
        FlowSetup::of_movie(&scenario.flows[0], plan, RtpSeed::default()).map(drop).map_err(|error| error.to_string())
    };
    for transport in ["udp", "rtp+tcp", "rtsp", "rtsp+udp+dependency"] {
        // 40 bytes are headers of IPv4, UDP and RTP.
        assert_eq!(with_sound(transport, 536), Ok(()), "{transport}");
        let error = with_sound(transport, 537).unwrap_err();
        let told = "mtu = 576: the largest packet of its sound: a packet of Opus of 537 bytes, which RTP does not cut, in a payload of 536";
        assert!(error.contains(&format!("flow {transport}")) && error.contains(told), "{error}");
    }
    assert_eq!(with_sound("http", 1_275), Ok(()), "samples of a file have any size");
}
