use framewire_wire::vtp::MissingRange;
use proptest::prelude::*;

use super::*;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

const ROUND_TRIP: Duration = Duration::from_millis(100);

/// Packet `sequence` of a stream of one packet a frame, a key frame each ten, 40 ms apart, sent 10 ms apart.
fn packet(sequence: u32) -> Remembered {
    let key = sequence.is_multiple_of(10);
    Remembered {
        sequence,
        frame: sequence,
        index: 0,
        level: 1,
        rank: if key { Rank::Key } else { Rank::Other },
        media_time: Duration::from_millis(40) * sequence,
        sent: at(10 * u64::from(sequence)),
    }
}

fn repeats(packets: std::ops::Range<u32>) -> Repeats {
    let mut repeats = Repeats::default();
    repeats.agree();
    packets.for_each(|sequence| repeats.remember(packet(sequence)));
    repeats
}

/// A list: one more than the newest, the player's place in milliseconds, and (back, count).
fn missing(next: u32, shown_ms: i64, ranges: &[(u16, u16)]) -> Missing {
    let ranges = ranges.iter().map(|&(back, count)| MissingRange { back, count }).collect();
    Missing { session: 1, report: 0, next, shown: shown_ms.saturating_mul(1_000_000), ranges }
}

fn all(repeats: &mut Repeats, now: Timestamp) -> Vec<u32> {
    std::iter::from_fn(|| repeats.next(now, ROUND_TRIP)).map(|packet| packet.sequence).collect()
}

#[test]
fn key_frames_first_then_what_is_shown_first_and_each_once() {
    let mut repeats = repeats(0..40);
    let list = missing(31, -1_000, &[(28, 2), (11, 1), (6, 1), (1, 1)]);
    repeats.handle_missing(at(400), &list, ROUND_TRIP, false).unwrap();
    assert_eq!(all(&mut repeats, at(400)), [20, 30, 3, 4, 25]);
    repeats.handle_missing(at(900), &list, ROUND_TRIP, false).unwrap();
    assert_eq!(all(&mut repeats, at(900)), []);
    assert_eq!(repeats.counts().named, 5);
}

/// Until the client's offer comes, no more is kept than may be asked for soon after.
#[test]
fn what_left_shortly_before_the_offer_can_be_named_too() {
    for (before, after, known) in [(40, 0, 40), (64, 0, 64), (300, 0, 64), (300, 100, 164), (300, 2_000, 1_024)] {
        let mut repeats = Repeats::default();
        (0..before).for_each(|sequence| repeats.remember(packet(sequence)));
        repeats.agree();
        (before..before + after).for_each(|sequence| repeats.remember(packet(sequence)));
        let sent = before + after;
        let all = u16::try_from(sent.min(1_024)).unwrap();
        repeats.handle_missing(at(1_000), &missing(sent, -1_000, &[(all, all)]), ROUND_TRIP, false).unwrap();
        assert_eq!(repeats.counts().named, known, "{before} before and {after} after");
    }
}

#[test]
fn what_cannot_be_in_time_is_not_repeated() {
    // Packet 20 is shown at 800 ms of the movie, 21 at 840.
    let list = |shown| missing(22, shown, &[(2, 2)]);
    for (shown, waited, expected) in
        [(680, 0, vec![20, 21]), (681, 0, vec![21]), (680, 40, vec![21]), (721, 0, vec![]), (680, 41, vec![])]
    {
        let mut repeats = repeats(0..22);
        repeats.handle_missing(at(1_000), &list(shown), ROUND_TRIP, false).unwrap();
        assert_eq!(all(&mut repeats, at(1_000 + waited)), expected, "shown {shown} ms, {waited} ms ago");
        assert_eq!(repeats.counts().too_late, 2 - expected.len() as u64);
    }
}

#[test]
fn a_repeat_that_is_lost_is_named_by_its_own_number() {
    let mut repeats = repeats(0..5);
    repeats.handle_missing(at(100), &missing(5, -1_000, &[(3, 1)]), ROUND_TRIP, false).unwrap();
    let first = repeats.next(at(100), ROUND_TRIP).unwrap();
    repeats.remember(Remembered { sequence: 5, ..first });
    repeats.remember(packet(6));
    repeats.handle_missing(at(300), &missing(7, -800, &[(5, 1), (2, 1)]), ROUND_TRIP, false).unwrap();
    let again = repeats.next(at(300), ROUND_TRIP).unwrap();
    assert_eq!((again.sequence, again.frame), (5, 2));
    assert!(repeats.is_empty());
}

#[test]
fn at_the_end_what_follows_the_newest_is_missing_once_it_is_old() {
    let mut repeats = repeats(0..8);
    // 5 left at 50 ms, 6 at 60, 7 at 70.
    repeats.handle_missing(at(185), &missing(5, -1_000, &[]), ROUND_TRIP, false).unwrap();
    assert!(repeats.is_empty(), "the movie goes on");
    repeats.handle_missing(at(185), &missing(5, -1_000, &[]), ROUND_TRIP, true).unwrap();
    assert_eq!(all(&mut repeats, at(185)), [5, 6]);
}

#[test]
fn hostile_lists_are_refused_and_floods_cost_nothing() {
    let mut repeats = repeats(0..1_500);
    let refused =
        |repeats: &mut Repeats, next| repeats.handle_missing(at(0), &missing(next, 0, &[]), ROUND_TRIP, false);
    assert_eq!(refused(&mut repeats, 1_501), Err(DropReason::Inconsistent), "beyond what was sent");
    let mut young = self::repeats(0..5);
    let mut back = |next, back| young.handle_missing(at(0), &missing(next, 0, &[(back, 1)]), ROUND_TRIP, false);
    assert_eq!(back(3, 4), Err(DropReason::Inconsistent), "before the first packet");
    assert_eq!(back(u32::MAX, 1), Err(DropReason::Inconsistent), "nothing was sent by then");
    assert_eq!(back(3, 3), Ok(()), "the first packet");
    assert_eq!(young.counts().named, 1);
    assert_eq!(refused(&mut Repeats::default(), 0), Err(DropReason::Unexpected), "not agreed on");
    assert_eq!(refused(&mut self::repeats(0..0), 0), Err(DropReason::Inconsistent), "nothing was sent");
    let list = missing(1_500, i64::MIN, &[(1_024, 1_024)]);
    let flood = (0..100).map(|_| repeats.handle_missing(at(1_000), &list, ROUND_TRIP, false).is_ok());
    assert_eq!(flood.filter(|&admitted| admitted).count(), 20);
    assert_eq!(repeats.handle_missing(at(1_007), &list, ROUND_TRIP, false), Err(DropReason::TooMany));
    assert_eq!(repeats.handle_missing(at(1_008), &list, ROUND_TRIP, false), Ok(()));
    assert_eq!(repeats.counts().named, 1_024, "each once");
    assert_eq!(repeats.sent.len(), REMEMBERED);
}

/// Sound is small and missed most: it does not wait for the key frames, whichever was lost first.
#[test]
fn audio_is_repeated_before_key_frames() {
    for audio in [3, 17] {
        let mut repeats = repeats(0..0);
        for sequence in 0..20 {
            let rank = if sequence == audio { Rank::Audio } else { packet(sequence).rank };
            repeats.remember(Remembered { rank, ..packet(sequence) });
        }
        repeats.handle_missing(at(200), &missing(20, -1_000, &[(20, 20)]), ROUND_TRIP, false).unwrap();
        assert_eq!(all(&mut repeats, at(200))[..4], [audio, 0, 10, 1]);
    }
}

proptest! {
    /// Any lists at any times: bounded, nothing repeated twice, nothing that was not sent, and nothing too late.
    #[test]
    fn nothing_is_sent_more_than_twice(
        steps in proptest::collection::vec(
            (0u64..60_000, 0u32..400, any::<i64>(), proptest::collection::vec((1u16..300, 1u16..300), 0..4), any::<bool>()),
            0..60,
        ),
        wrap in any::<bool>(),
    ) {
        let base = if wrap { u32::MAX - 50 } else { 0 };
        let mut repeats = repeats(0..0);
        let mut next = base;
        let mut repeated = std::collections::BTreeSet::new();
        for (millis, packets, shown, ranges, is_over) in steps {
            for _ in 0..packets % 40 {
                repeats.remember(Remembered { sequence: next, ..packet(next.wrapping_sub(base)) });
                next = next.wrapping_add(1);
            }
            let ranges = ranges.into_iter().map(|(back, count)| MissingRange { back, count: count.min(back) }).collect();
            let list = Missing { session: 1, report: 0, next: next.wrapping_sub(packets), shown, ranges };
            let _ = repeats.handle_missing(at(millis), &list, ROUND_TRIP, is_over);
            while let Some(packet) = repeats.next(at(millis), ROUND_TRIP) {
                prop_assert!(repeated.insert(packet.sequence) && packet.sequence.wrapping_sub(base) < next.wrapping_sub(base));
            }
            prop_assert!(repeats.sent.len() <= REMEMBERED && repeats.wanted.len() <= REMEMBERED);
        }
    }
}
