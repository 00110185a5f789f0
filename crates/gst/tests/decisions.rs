//! The element decides as the library does on the same input.

use crate::common;
use std::collections::BTreeSet;

use common::movie::MPEG2;
use common::{Stepper, buffer, number_of};
use framewire_transport::QueueKind;
use framewire_transport::decisions::{self, Outcome, Step, TABLE};
use framewire_transport::ifd::IfdPolicy;
use framewire_units::Seed;

/// A sequence header without a picture: it is never dropped, and in the gate it stands for a writer that is busy.
const BUSY: [u8; 12] = [0, 0, 1, 0xb3, 0x2d, 0x02, 0x40, 0x23, 0x0e, 0xa6, 0x23, 0x80];

/// What decides in the element.
fn properties(queue: QueueKind) -> String {
    match queue {
        QueueKind::Ifd(IfdPolicy::Basic) => "mode=ifd".to_owned(),
        QueueKind::Ifd(IfdPolicy::Optimised) => "mode=ifd-optimised".to_owned(),
        QueueKind::Dependency(limits) => {
            let time = limits.time.map_or(0, |time| time.as_nanos());
            let bytes = limits.bytes.map_or(0, |bytes| bytes.as_bytes());
            let frames = limits.frames.unwrap_or(0);
            format!("mode=dependency max-size-time={time} max-size-bytes={bytes} max-size-buffers={frames}")
        }
        other => panic!("the element has no mode for {other:?}"),
    }
}

/// Plays a written sequence against the element; the writer is a gate that lets one buffer go at each `/`.
fn play(queue: QueueKind, steps: Vec<Step>) -> (Vec<u32>, Vec<(u32, String)>) {
    let mut stepper = Stepper::new(&format!("{} post-drop-messages=true", properties(queue)), MPEG2);
    stepper.harness.push(buffer(0, BUSY.to_vec())).unwrap();
    let mut came = 1;
    stepper.gate.wait_for(came);
    for step in steps {
        match step {
            Step::Offer(frame) => {
                let buffer = buffer(1 + frame.id as usize, frame.bytes.to_vec());
                stepper.harness.push(buffer).expect("it takes every frame");
            }
            Step::Take if stepper.stat("current-level-buffers") > 0 => {
                stepper.gate.step();
                came += 1;
                stepper.gate.wait_for(came);
            }
            Step::Take => {}
        }
    }
    stepper.harness.push_event(gst::event::Eos::new());
    stepper.gate.open();
    let left = stepper.stat("accepted") - stepper.stat("dropped");
    common::wait_until("all that was accepted", || stepper.gate.went() == left);
    let taken = stepper.gate.came().into_iter().skip(1).map(|pts| number_of(pts) as u32 - 1).collect();
    (taken, stepper.drops().into_iter().map(|(number, rule)| (number as u32 - 1, rule)).collect())
}

fn check(queue: QueueKind, text: &str) -> Outcome {
    let steps = decisions::steps(text).expect("a written sequence");
    let library = decisions::play(queue, steps.clone());
    let given_up = library.given_up.iter().map(|&(frame, rule)| (frame, rule.to_owned())).collect();
    assert_eq!(play(queue, steps), (library.taken.clone(), given_up), "{queue:?}: {text}");
    library
}

#[test]
fn the_decision_table_holds_in_the_element() {
    for decision in TABLE {
        let outcome = check(decision.queue, decision.steps);
        assert_eq!((&*outcome.taken, &*outcome.given_up), (decision.taken, decision.given_up), "{}", decision.steps);
    }
    let kinds: BTreeSet<_> = TABLE.iter().map(|decision| properties(decision.queue)).collect();
    assert!(kinds.len() >= 3, "the table has lines for every mode: {kinds:?}");
}

#[test]
fn element_and_library_decide_alike_on_random_sequences() {
    let limits = framewire_transport::Limits { frames: Some(6), bytes: None, time: None };
    let kinds = [
        QueueKind::Ifd(IfdPolicy::Basic),
        QueueKind::Ifd(IfdPolicy::Optimised),
        QueueKind::Dependency(limits),
        QueueKind::Dependency(framewire_transport::Limits::of_time(8 * decisions::FRAME_DURATION)),
    ];
    for (place, queue) in (0..).zip(kinds) {
        let mut rules = BTreeSet::new();
        for sequence in 0..40 {
            let mut random = Seed(20_261_120).stream("elements decide alike", &[place, sequence]);
            // From a writer that keeps up to one that takes one frame in four.
            let pace = 1 + random.next_inclusive(3);
            // No broken link, and no open group at the start: headers show that references are gone, and not which.
            let letters = ['I', 'C', 'I', 'P', 'P', 'P', 'B', 'B', 'B', 'B', 'B', 'B'];
            let rest: String = (0..80)
                .map(|_| match random.next_inclusive(pace) {
                    0 => '/',
                    _ => letters[random.next_inclusive(letters.len() as u32 - 1) as usize],
                })
                .collect();
            let text = format!("C{rest}");
            rules.extend(check(queue, &text).given_up.into_iter().map(|(_, rule)| rule));
        }
        // The sequences come by many rules, or equality means little.
        assert!(rules.len() >= 3, "{queue:?}: {rules:?}");
    }
}
