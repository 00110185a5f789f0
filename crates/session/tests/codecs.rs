//! Movies of H.264 and H.265 over the transports: streams carry them, RTP as RFC 2250 has it does not.

use std::path::PathBuf;

use framewire_media::Movie;
use framewire_scenario::Scenario;
use framewire_session::{FlowSetup, SendingPlan};
use framewire_units::Timestamp;

const MOVIES: [(&str, &str); 2] =
    [("h264_640x360p24_open_gop_recovery_point.h264", "H.264"), ("hevc_640x360p24_open_gop_cra_rasl.h265", "H.265")];

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
    FlowSetup::of_movie(&scenario.flows[0], SendingPlan::new(movie.clone(), Timestamp::ZERO), 1).expect("it sends it")
}

#[test]
fn datagram_transports_refuse_them_by_name() {
    for (name, codec) in MOVIES {
        let Some(movie) = movie(name) else { return };
        let FlowSetup::Datagram(setup) = setup("udp", &movie) else { panic!("udp sends datagrams") };
        let error = setup.sender().map(drop).unwrap_err().to_string();
        assert!(error.contains("udp sends RTP as RFC 2250 has it") && error.contains(codec), "{error}");
    }
}

/// What the receiver finds is what was sent, frame by frame, also when every third frame that nothing refers to is
/// left out.
#[test]
fn receivers_of_streams_find_their_frames() {
    for (name, _) in MOVIES {
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
