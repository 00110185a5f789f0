use framewire_units::Duration;
use framewire_wire::vtp::Description;

use super::*;
use crate::testing::{audio, description, frame};

/// The beginning of an MPEG-2 key frame: a sequence header, and nothing that is read here behind it.
const SEQUENCE: &[u8] = &[0, 0, 1, 0xb3, 0x0a, 0x00, 0x60, 0x13];

fn viewed(events: &[ClientEvent]) -> ClientOutcome {
    let mut tally = Tally::default();
    events.iter().for_each(|event| tally.handle(event));
    tally.conclude(ClientState::default(), Reason::EndOfMovie, false)
}

#[test]
fn frames_count_at_their_level_and_bytes_of_all() {
    let described = ClientEvent::Described(description(3));
    let viewed = viewed(&[described, frame(0, false, b"12345"), audio(b"not a frame"), frame(2, false, b"1234567")]);
    assert_eq!((viewed.frames_by_level, viewed.written), (vec![1, 0, 1], 12));
    assert_eq!((viewed.ended, viewed.codec), (Reason::EndOfMovie, None));
    assert_eq!(viewed.frames_per_second, Some(25.0));
}

#[test]
fn the_first_key_frame_that_tells_says_how_video_is_coded() {
    let codec = |events: &[ClientEvent]| viewed(events).codec;
    assert_eq!(codec(&[frame(0, true, SEQUENCE)]), Some(Codec::MpegVideo));
    assert_eq!(codec(&[frame(0, false, SEQUENCE)]), None, "others bring no headers");
    assert_eq!(codec(&[frame(0, true, b"no headers"), frame(0, true, SEQUENCE)]), Some(Codec::MpegVideo));
    assert_eq!(codec(&[frame(0, true, SEQUENCE), frame(0, true, b"no headers")]), Some(Codec::MpegVideo));
}

#[test]
fn a_movie_that_is_not_described_or_has_no_duration_has_no_frame_rate() {
    assert_eq!(viewed(&[]).frames_per_second, None);
    let still = ClientEvent::Described(Description { duration: Duration::ZERO, ..description(1) });
    assert_eq!(viewed(&[still]).frames_per_second, None);
}
