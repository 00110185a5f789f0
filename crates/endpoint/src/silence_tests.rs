use framewire_wire::vtp::{Reason, VideoHeader};

use super::*;
use crate::testing::{arrival, described_with_audio, description, packet};

const BEGAN: Timestamp = Timestamp::from_secs(100);
const NO_ANSWER: Silence = Silence::NoAnswer { waited: Duration::from_secs(3) };
const NO_FEEDBACK: Silence = Silence::NoFeedback { waited: Duration::from_secs(5) };

fn after(millis: u64) -> Timestamp {
    BEGAN + Duration::from_millis(millis)
}

/// What is returned in 20 s of looking ten times a second, and when: in milliseconds after the beginning.
fn told(watch: &mut SilenceWatch) -> Vec<(u64, Silence)> {
    let looks = (0..=200).map(|tenth| tenth * 100);
    looks.filter_map(|millis| Some((millis, watch.poll(after(millis))?))).collect()
}

/// A session of so many levels, in which these packets come: each with its time in milliseconds.
fn session(levels: usize, packets: &[(u64, VideoHeader)]) -> Vec<(u64, Silence)> {
    let mut watch = SilenceWatch::new(BEGAN);
    watch.handle(after(50), &ClientEvent::Described(description(levels)));
    packets.iter().for_each(|(millis, header)| watch.handle(after(*millis), &arrival(*header)));
    told(&mut watch)
}

#[test]
fn silence_is_told_once_and_not_too_early() {
    let mut watch = SilenceWatch::new(BEGAN);
    assert_eq!(watch.poll(BEGAN), None);
    assert_eq!(watch.poll(after(3_000) - Duration::from_nanos(1)), None);
    assert_eq!(watch.poll(after(3_000)), Some(NO_ANSWER));
    assert_eq!(told(&mut watch), [], "once");
}

#[test]
fn any_answer_ends_the_silence() {
    let answers =
        [ClientEvent::Described(description(2)), described_with_audio(1), ClientEvent::Ended(Reason::UnknownTitle)];
    for answer in answers {
        let mut watch = SilenceWatch::new(BEGAN);
        assert_eq!(watch.poll(after(2_900)), None);
        watch.handle(after(2_950), &answer);
        assert_eq!(told(&mut watch), [], "{answer:?}");
    }
}

#[test]
fn reports_that_are_not_used_are_told_once_after_five_seconds_of_packets() {
    let deaf = packet(0, Duration::ZERO);
    assert_eq!(session(2, &[(1_000, deaf)]), [(6_000, NO_FEEDBACK)]);
    // From the first packet on.
    assert_eq!(session(2, &[(1_000, deaf), (4_000, deaf)]), [(6_000, NO_FEEDBACK)]);
    let mut watch = SilenceWatch::new(BEGAN);
    watch.handle(after(0), &ClientEvent::Described(description(2)));
    watch.handle(after(1_000), &arrival(deaf));
    assert_eq!(watch.poll(after(6_000) - Duration::from_nanos(1)), None);
    assert_eq!(watch.poll(after(6_000)), Some(NO_FEEDBACK));
}

#[test]
fn a_server_with_a_round_trip_hears() {
    let (deaf, hears) = (packet(0, Duration::ZERO), packet(0, Duration::from_micros(1)));
    assert_eq!(session(2, &[(1_000, deaf), (5_900, hears)]), []);
    assert_eq!(session(2, &[(1_000, hears), (1_100, deaf)]), [], "it does not forget");
}

/// `fixed` sends it and uses no reports; and none could raise it.
#[test]
fn at_the_top_level_nobody_needs_to_be_heard() {
    let at = |level| packet(level, Duration::ZERO);
    assert_eq!(session(1, &[(1_000, at(0))]), []);
    assert_eq!(session(3, &[(1_000, at(2)), (2_000, at(2))]), []);
    assert_eq!(session(3, &[(1_000, at(1))]), [(6_000, NO_FEEDBACK)]);
    assert_eq!(session(3, &[(1_000, at(2)), (2_000, at(1))]), [(6_000, NO_FEEDBACK)]);
    assert_eq!(session(3, &[(1_000, at(1)), (2_000, at(2))]), [(6_000, NO_FEEDBACK)], "once below is enough");
}

/// Audio is of no level: its packets say 0.
#[test]
fn audio_is_not_below_the_top_level() {
    let audio = VideoHeader { audio: true, ..packet(0, Duration::ZERO) };
    let top = packet(1, Duration::ZERO);
    assert_eq!(session(2, &[(1_000, audio), (1_100, top)]), []);
    // But that it comes says since when reports were expected.
    assert_eq!(session(2, &[(1_000, audio), (3_000, packet(0, Duration::ZERO))]), [(6_000, NO_FEEDBACK)]);
}
