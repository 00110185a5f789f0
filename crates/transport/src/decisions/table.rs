//! The lines of the decision table.

use super::Decision;
use crate::ifd::IfdPolicy;
use crate::limits::Limits;
use crate::queue::QueueKind;

const fn basic(steps: &'static str, taken: &'static [u32], given_up: &'static [(u32, &'static str)]) -> Decision {
    Decision { queue: QueueKind::Ifd(IfdPolicy::Basic), steps, taken, given_up }
}

const fn optimised(steps: &'static str, taken: &'static [u32], given_up: &'static [(u32, &'static str)]) -> Decision {
    Decision { queue: QueueKind::Ifd(IfdPolicy::Optimised), steps, taken, given_up }
}

/// With room for four frames.
const fn dependency(steps: &'static str, taken: &'static [u32], given_up: &'static [(u32, &'static str)]) -> Decision {
    let limits = Limits { frames: Some(4), bytes: None, time: None };
    Decision { queue: QueueKind::Dependency(limits), steps, taken, given_up }
}

const I_BY_I: &str = "ifd: waiting I overwritten by the next I";
const P_BY_I: &str = "ifd: waiting P overwritten by the next I";
const B_BY_I: &str = "ifd: waiting B overwritten by an I";
const B_BY_P: &str = "ifd: waiting B overwritten by a P";
const P_AT_I: &str = "ifd: P while an I waits";
const P_AT_P: &str = "ifd: P while a P waits";
const B_LATE: &str = "ifd: B while a frame waits";
const P_DISTURBED: &str = "ifd: P of a disturbed group";
const B_DISTURBED: &str = "ifd: B of a disturbed group";
const B_LEADING: &str = "ifd: leading B after a disturbed group";
const B_BROKEN: &str = "ifd: leading B of a broken link";

const WAITED_TOO_LONG: &str = "dependency: waited too long, and the stream goes on without it";
const GONE: &str = "dependency: what it refers to was given up";
const LEADING: &str = "dependency: leading frame, what it refers to is not in the stream";
const OLD_GROUP: &str = "dependency: end of an old group, a newer key frame waits";
const CUT: &str = "dependency: limit reached, the group is given up to its end";

/// What becomes of written sequences.
pub const TABLE: &[Decision] = &[
    // Figure 1.1 of the thesis, line by line.
    basic("I/ P/ B/", &[0, 1, 2], &[]),
    basic("II", &[1], &[(0, I_BY_I)]),
    basic("PI", &[1], &[(0, P_BY_I)]),
    basic("BI", &[1], &[(0, B_BY_I)]),
    basic("BP", &[1], &[(0, B_BY_P)]),
    basic("IP", &[0], &[(1, P_AT_I)]),
    basic("PP", &[0], &[(1, P_AT_P)]),
    basic("IB", &[0], &[(1, B_LATE)]),
    basic("BB", &[0], &[(1, B_LATE)]),
    // Unlike the optimised policy, it sends what cannot be decoded.
    basic("IP/ P/ B/", &[0, 2, 3], &[(1, P_AT_I)]),
    // The rest of a disturbed group is given up.
    optimised("I/ P/ B/ B/ P/", &[0, 1, 2, 3, 4], &[]),
    optimised("IP/ B/ P/", &[0], &[(1, P_AT_I), (2, B_DISTURBED), (3, P_DISTURBED)]),
    optimised("I/ PP/ B/ I/", &[0, 1, 4], &[(2, P_AT_P), (3, B_DISTURBED)]),
    // B pictures given up disturb nothing.
    optimised("I/ P/ BB/ P/", &[0, 1, 2, 4], &[(3, B_LATE)]),
    // The P of the first group is lost: B pictures after the I are given up, those after the next P are not.
    optimised("IP/ I/ B/ P/ B/", &[0, 2, 4, 5], &[(1, P_AT_I), (3, B_LEADING)]),
    // A waiting P overwritten by an I disturbs its group as well (open in the figures).
    optimised("I/ PI/ B/ P/ B/", &[0, 2, 4, 5], &[(1, P_BY_I), (3, B_LEADING)]),
    // I over I: the whole group before is lost (open in the figures).
    optimised("I P B I/ B/ P/ B/", &[3, 5, 6], &[(1, P_AT_I), (2, B_DISTURBED), (0, I_BY_I), (4, B_LEADING)]),
    // I over I without a P between: no flag was set in the figures, and the leading B would be sent.
    optimised("I I/ B/", &[1], &[(0, I_BY_I), (2, B_LEADING)]),
    // A waiting B overwritten by an I disturbs nothing.
    optimised("I/ P/ BI/ B/", &[0, 1, 3, 4], &[(2, B_BY_I)]),
    // A group without a P: in the figures the flag of the first group would outlive the second.
    optimised("IP/ I/ B/ I/ B/", &[0, 2, 4, 5], &[(1, P_AT_I), (3, B_LEADING)]),
    // Closed groups keep their leading B pictures, broken links lose them.
    optimised("IP/ C/ B/ P/", &[0, 2, 3, 4], &[(1, P_AT_I)]),
    optimised("I/ PC/ B/", &[0, 2, 3], &[(1, P_BY_I)]),
    optimised("II/ C/ B/", &[1, 2, 3], &[(0, I_BY_I)]),
    optimised("I/ K/ B/ B/ P/ B/", &[0, 1, 4, 5], &[(2, B_BROKEN), (3, B_BROKEN)]),
    optimised("IP/ K/ B/ I/ B/", &[0, 2, 4, 5], &[(1, P_AT_I), (3, B_BROKEN)]),
    // With room, nothing is given up.
    dependency("I/ P/ B/ B/ P/ B/ B/", &[0, 1, 2, 3, 4, 5, 6], &[]),
    dependency("I P B B P", &[0, 1, 2, 3, 4], &[]),
    // The oldest B goes when four frames wait from it on, so that the P frames keep their places.
    dependency("I P B B P B", &[0, 1, 3, 4, 5], &[(2, WAITED_TOO_LONG)]),
    dependency("I/ P B B P B P", &[0, 1, 4, 5, 6], &[(2, WAITED_TOO_LONG), (3, WAITED_TOO_LONG)]),
    // No B is left: the newest P goes, and its group to the end, until a newer key frame waits.
    dependency("I/ P P P P P B P", &[0, 1, 2, 3, 4], &[(5, CUT), (6, GONE), (7, GONE)]),
    // A newer key frame waits, and more than half of the room is taken: the older group ends there. Leading frames of
    // an open group need the group before, those of a closed one do not.
    dependency("I/ P P I", &[0, 3], &[(1, OLD_GROUP), (2, OLD_GROUP)]),
    dependency("I/ P P / I/", &[0, 1, 2, 3], &[]),
    dependency("I/ P P I B P B", &[0, 3, 5, 6], &[(1, OLD_GROUP), (2, OLD_GROUP), (4, GONE)]),
    dependency("I/ P P C B P B", &[0, 3, 4, 5, 6], &[(1, OLD_GROUP), (2, OLD_GROUP)]),
    // A key frame is given up only for a newer one.
    dependency("I I I", &[1, 2], &[(0, OLD_GROUP)]),
    dependency("I P P P P P", &[0, 1, 2, 3, 4], &[(5, CUT)]),
    // Leading frames after a broken link.
    dependency("I/ P/ K/ B/ P/ B/", &[0, 1, 2, 4, 5], &[(3, LEADING)]),
];
