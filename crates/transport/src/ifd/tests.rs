//! Row by row, then against independent models over random operation sequences. What single sequences come to is in
//! the table of `decisions`.

use bytes::Bytes;
use framewire_media::PictureType;
use framewire_media::access_unit::KeyKind;
use framewire_units::Duration;
use proptest::prelude::*;

use super::table::{GroupKind, TABLE};
use super::*;
use crate::decisions::{play, steps};
use crate::frame::Dependencies;
use crate::queue::QueueKind;

fn frame(id: u32, kind: PictureType) -> OutgoingFrame {
    OutgoingFrame {
        id,
        kind,
        dependencies: Dependencies::default(),
        duration: Duration::from_millis(40),
        rtp_timestamp: id * 3_600,
        decode_timestamp: id * 3_600,
        bytes: Bytes::from_static(b"frame"),
    }
}

const INCOMING: [Incoming; 5] = [
    Incoming::I(GroupKind::Open),
    Incoming::I(GroupKind::Closed),
    Incoming::I(GroupKind::BrokenLink),
    Incoming::P,
    Incoming::B,
];
const WAITING: [Waiting; 4] = [Waiting::Empty, Waiting::I, Waiting::P, Waiting::B];
const LEADING: [LeadingB; 3] = [LeadingB::Decodable, LeadingB::ReferenceDropped, LeadingB::BrokenLink];

#[test]
fn the_optimised_policy_sends_nothing_that_refers_to_what_was_flushed() {
    for (policy, flushed, sent) in [
        (IfdPolicy::Optimised, PictureType::I, false),
        (IfdPolicy::Optimised, PictureType::P, false),
        (IfdPolicy::Optimised, PictureType::B, true),
        (IfdPolicy::Basic, PictureType::I, true),
    ] {
        let mut queue = IfdQueue::new(policy);
        queue.offer(frame(0, PictureType::I));
        queue.take();
        queue.offer(frame(1, flushed));
        assert_eq!(queue.flush().map(|frame| frame.id), Some(1));
        assert_eq!(queue.offer(frame(2, PictureType::P)).is_none(), sent, "{policy:?}, {flushed}");
        assert_eq!(queue.state().disturbed, !sent, "{policy:?}, {flushed}");
    }
}

/// Every combination of what the table looks at.
fn every_case() -> impl Iterator<Item = (Incoming, Waiting, GroupState)> {
    INCOMING.into_iter().flat_map(|incoming| {
        WAITING.into_iter().flat_map(move |waiting| {
            [false, true].into_iter().flat_map(move |disturbed| {
                LEADING.into_iter().map(move |leading| (incoming, waiting, GroupState { disturbed, leading }))
            })
        })
    })
}

#[test]
fn exactly_one_row_covers_every_case() {
    let mut used = vec![0; TABLE.len()];
    for (incoming, waiting, state) in every_case() {
        let rows: Vec<_> = (0..TABLE.len()).filter(|&n| TABLE[n].matches(incoming, waiting, state)).collect();
        assert_eq!(rows.len(), 1, "{incoming:?} {waiting:?} {state:?}: rows {rows:?}");
        used[rows[0]] += 1;
    }
    assert!(used.iter().all(|&count| count > 0), "rows that never apply: {used:?}");
}

#[test]
fn actions_fit_what_waits_and_have_a_rule_when_a_frame_is_given_up() {
    for row in TABLE {
        let empty = row.waiting.contains(&Waiting::Empty);
        match row.action {
            Action::Store => assert!(row.waiting == [Waiting::Empty] && row.rule.is_empty(), "{row:?}"),
            Action::Replace => assert!(!empty && row.rule.starts_with("ifd: "), "{row:?}"),
            Action::Drop => assert!(row.rule.starts_with("ifd: "), "{row:?}"),
        }
    }
}

#[test]
fn without_flags_the_optimised_policy_acts_as_the_basic_one() {
    for (incoming, waiting, state) in every_case().filter(|(_, _, state)| *state == GroupState::default()) {
        let kind = match incoming {
            Incoming::I(_) => PictureType::I,
            Incoming::P => PictureType::P,
            Incoming::B => PictureType::B,
        };
        let row = table::lookup(incoming, waiting, state);
        assert_eq!((row.action, row.rule), basic(waiting, kind), "{incoming:?} {waiting:?}");
    }
}

#[test]
fn nothing_that_waits_at_the_end_is_lost() {
    for policy in [IfdPolicy::Basic, IfdPolicy::Optimised] {
        for last in ["I", "I/ P", "I/ P/ B"] {
            let outcome = play(QueueKind::Ifd(policy), steps(last).unwrap());
            assert_eq!(outcome.taken.len(), last.split('/').count(), "{policy:?} {last}");
            assert!(outcome.given_up.is_empty(), "{policy:?} {last}");
        }
    }
}

/// Figure 1.1, line by line, on letters.
#[expect(clippy::if_same_then_else, reason = "as the figure has it")]
fn figure_1_1(waiting: &mut Option<(u32, char)>, current: (u32, char)) -> Option<u32> {
    if waiting.is_none() {
        *waiting = Some(current);
        return None;
    }
    let held = waiting.expect("not empty");
    if current.1 == 'I' {
        *waiting = Some(current);
        Some(held.0)
    } else if current.1 == 'B' {
        Some(current.0)
    } else if held.1 == 'I' || held.1 == 'P' {
        Some(current.0)
    } else {
        *waiting = Some(current);
        Some(held.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Offer(char),
    Take,
}

/// Streams that an encoder can make (every group starts with an I), with takes in between.
fn offers_and_takes() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Offer('I')),
        1 => Just(Step::Offer('C')),
        1 => Just(Step::Offer('K')),
        4 => Just(Step::Offer('P')),
        8 => Just(Step::Offer('B')),
        8 => Just(Step::Take),
    ];
    prop::collection::vec(step, 0..200)
}

fn frame_of(id: u32, letter: char) -> OutgoingFrame {
    let kind = match letter {
        'P' => PictureType::P,
        'B' => PictureType::B,
        _ => PictureType::I,
    };
    let key = match letter {
        'C' => Some(KeyKind::Closed),
        'K' => Some(KeyKind::BrokenLink),
        'I' => Some(KeyKind::Open),
        _ => None,
    };
    OutgoingFrame { dependencies: Dependencies { key, ..Dependencies::default() }, ..frame(id, kind) }
}

/// What became of every frame of a random sequence.
#[derive(Debug)]
struct Outcome {
    letters: Vec<char>,
    taken: Vec<u32>,
    discards: Vec<Discard>,
    waiting: Option<u32>,
}

fn run(policy: IfdPolicy, steps: &[Step]) -> Outcome {
    let mut queue = IfdQueue::new(policy);
    let mut outcome = Outcome { letters: vec![], taken: vec![], discards: vec![], waiting: None };
    for step in steps {
        match *step {
            Step::Take => outcome.taken.extend(queue.take().map(|frame| frame.id)),
            Step::Offer(letter) => {
                let id = outcome.letters.len() as u32;
                outcome.letters.push(letter);
                outcome.discards.extend(queue.offer(frame_of(id, letter)));
            }
        }
    }
    outcome.waiting = queue.waiting().map(|frame| frame.id);
    outcome
}

/// What each frame refers to, from the standard's definitions and without any flag: a P to the I or P before it, a B
/// to the last two of them, but a leading B of a closed group only to its I, and one of a broken link also to a
/// picture that does not exist.
fn references(letters: &[char]) -> Vec<Vec<Option<u32>>> {
    let mut all = vec![];
    for (id, letter) in letters.iter().enumerate() {
        let mut anchors = (0..id).rev().filter(|&n| letters[n] != 'B').map(|n| n as u32);
        let (last, before) = (anchors.next(), anchors.next());
        all.push(match letter {
            'P' => last.map(Some).into_iter().collect(),
            'B' => match last.map(|n| letters[n as usize]) {
                Some('C') => vec![last],
                Some('K') => vec![last, None],
                _ => last.into_iter().chain(before).map(Some).collect(),
            },
            _ => vec![],
        });
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn basic_equals_the_figure(steps in offers_and_takes()) {
        let outcome = run(IfdPolicy::Basic, &steps);
        let (mut waiting, mut taken, mut discarded, mut id) = (None, vec![], vec![], 0);
        for step in &steps {
            match *step {
                Step::Take => taken.extend(waiting.take().map(|(frame, _): (u32, char)| frame)),
                Step::Offer(letter) => {
                    let letter = if matches!(letter, 'C' | 'K') { 'I' } else { letter };
                    discarded.extend(figure_1_1(&mut waiting, (id, letter)));
                    id += 1;
                }
            }
        }
        prop_assert_eq!(outcome.taken, taken);
        prop_assert_eq!(outcome.discards.iter().map(|discard| discard.frame.id).collect::<Vec<_>>(), discarded);
        prop_assert_eq!(outcome.waiting, waiting.map(|(frame, _)| frame));
    }

    #[test]
    fn every_frame_has_one_fate_and_order_is_kept(steps in offers_and_takes(), optimised: bool) {
        let policy = if optimised { IfdPolicy::Optimised } else { IfdPolicy::Basic };
        let outcome = run(policy, &steps);
        prop_assert!(outcome.taken.is_sorted());
        let mut fates = outcome.taken.clone();
        fates.extend(outcome.discards.iter().map(|discard| discard.frame.id));
        fates.extend(outcome.waiting);
        fates.sort_unstable();
        prop_assert_eq!(fates, (0..outcome.letters.len() as u32).collect::<Vec<_>>());
    }

    #[test]
    fn an_i_is_given_up_only_for_an_i(steps in offers_and_takes(), optimised: bool) {
        let policy = if optimised { IfdPolicy::Optimised } else { IfdPolicy::Basic };
        let outcome = run(policy, &steps);
        for discard in &outcome.discards {
            let letter = outcome.letters[discard.frame.id as usize];
            let is_group_start = !matches!(letter, 'P' | 'B');
            prop_assert_eq!(is_group_start, discard.rule == table::I_OVERWRITTEN, "{:?}", discard);
        }
    }

    #[test]
    fn optimised_sends_nothing_whose_reference_was_given_up(steps in offers_and_takes()) {
        let outcome = run(IfdPolicy::Optimised, &steps);
        let references = references(&outcome.letters);
        let given_up = |frame: u32| outcome.discards.iter().any(|discard| discard.frame.id == frame);
        for &frame in outcome.taken.iter().chain(&outcome.waiting) {
            for reference in &references[frame as usize] {
                let there = reference.is_some_and(|reference| !given_up(reference));
                prop_assert!(there, "frame {} was sent without {:?}", frame, reference);
            }
        }
    }

    #[test]
    fn optimised_gives_up_for_its_references_only_what_misses_one(steps in offers_and_takes()) {
        let outcome = run(IfdPolicy::Optimised, &steps);
        let references = references(&outcome.letters);
        let given_up = |frame: u32| outcome.discards.iter().any(|discard| discard.frame.id == frame);
        for discard in &outcome.discards {
            if ["disturbed", "broken link"].iter().any(|word| discard.rule.contains(word)) {
                let missing = references[discard.frame.id as usize].iter();
                let missing = missing.filter(|reference| reference.is_none_or(given_up)).count();
                prop_assert!(missing > 0, "frame {} was given up for nothing: {}", discard.frame.id, discard.rule);
            }
        }
    }
}
