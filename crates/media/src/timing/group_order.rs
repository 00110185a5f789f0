//! Where a frame stands in its group of pictures in transport order, derived from temporal references alone.

use crate::PictureType;

/// Temporal references count modulo 1,024 (ISO/IEC 13818-2, 6.3.9).
const MODULUS: i64 = 1_024;

/// Places of frames in their groups, as a receiver can derive them that sees only what arrived.
///
/// A B frame is sent right after the I or P frame that is shown after it, so it stands one place behind where it is
/// shown. An I or P frame takes the place after the one that was shown before it: after the I or P frame before it, when
/// that arrived. When more lies between the two than ever lay between two of which everything arrived, one in the middle
/// was lost, and the frame is taken to come as far ahead of its B frames as others do.
#[derive(Clone, Debug, Default)]
pub struct GroupOrder {
    /// The last I or P frame of the group: where it is shown, and its place.
    anchor: Option<Anchor>,
    /// The largest step between I and P frames of which all B frames arrived, in this group.
    largest_here: Option<i64>,
    /// The same in the groups before it.
    largest_step: Option<i64>,
    /// Added to temporal references since they began to count again.
    wrapped: i64,
}

#[derive(Clone, Copy, Debug)]
struct Anchor {
    shown: i64,
    place: i64,
    /// From the I or P frame shown before it.
    step: i64,
    /// Frames between the two that arrived.
    between: i64,
}

/// Where a frame stands in its group, both counted in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPlace {
    /// In transport order.
    pub sent: i64,
    /// In display order.
    pub shown: i64,
}

impl GroupOrder {
    /// A group header came.
    pub fn begin_group(&mut self) {
        self.end_group();
        self.wrapped = 0;
    }

    /// Takes the next frame.
    pub fn place(&mut self, kind: PictureType, temporal_reference: u16) -> GroupPlace {
        let shown = self.unwrap(kind, temporal_reference.into());
        match (kind, &mut self.anchor) {
            (PictureType::B, anchor) => {
                if let Some(anchor) = anchor.as_mut().filter(|anchor| shown < anchor.shown) {
                    anchor.between += 1;
                }
                GroupPlace { sent: shown + 1, shown }
            }
            // The second field of a frame.
            (_, Some(anchor)) if anchor.shown == shown => GroupPlace { sent: anchor.place, shown },
            _ => self.place_anchor(kind, shown),
        }
    }

    fn place_anchor(&mut self, kind: PictureType, shown: i64) -> GroupPlace {
        // A group that goes on at a lower number is another one, which has lost its header.
        match self.anchor {
            Some(anchor) if anchor.shown > shown => self.end_group(),
            _ => self.verify_step(),
        }
        let before = self.anchor.map(|anchor| anchor.shown);
        let step = shown - before.unwrap_or(-1);
        let usual = (shown + 1 - self.largest_step.unwrap_or(step)).max(0);
        let sent = match before {
            None if kind == PictureType::I => 0,
            Some(before) if self.largest_step.is_none_or(|largest| step <= largest) => before + 1,
            _ => usual,
        };
        self.anchor = Some(Anchor { shown, place: sent, step, between: 0 });
        GroupPlace { sent, shown }
    }

    fn end_group(&mut self) {
        self.verify_step();
        self.largest_step = self.largest_step.max(self.largest_here.take());
        self.anchor = None;
    }

    /// Remembers the step to the last I or P frame when everything in between has arrived.
    fn verify_step(&mut self) {
        if let Some(Anchor { step, between, .. }) = self.anchor
            && between == step - 1
        {
            self.largest_here = self.largest_here.max(Some(step));
        }
    }

    fn unwrap(&mut self, kind: PictureType, temporal_reference: i64) -> i64 {
        let shown = temporal_reference + self.wrapped;
        let Some(anchor) = self.anchor else { return shown };
        if kind != PictureType::I && anchor.shown - shown > MODULUS / 2 {
            self.wrapped += MODULUS;
            return shown + MODULUS;
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::PictureType::{B, I, P};
    use super::*;

    /// Places in transport order of frames, a new group with each I frame that is marked.
    fn sent(frames: &[(PictureType, u16, bool)]) -> Vec<i64> {
        let mut order = GroupOrder::default();
        let place = |&(kind, reference, header): &(PictureType, u16, bool)| {
            if header {
                order.begin_group();
            }
            order.place(kind, reference).sent
        };
        frames.iter().map(place).collect()
    }

    fn open_group(length: u16) -> Vec<(PictureType, u16, bool)> {
        let mut frames = vec![(I, 2, true), (B, 0, false), (B, 1, false)];
        for anchor in (5..length).step_by(3) {
            frames.extend([(P, anchor, false), (B, anchor - 2, false), (B, anchor - 1, false)]);
        }
        frames
    }

    #[test]
    fn whole_groups_count_up_whatever_their_structure() {
        let two_open = [open_group(15), open_group(15)].concat();
        assert_eq!(sent(&two_open), (0..15).chain(0..15).collect::<Vec<_>>());
        let closed =
            [(I, 0, true), (P, 3, false), (B, 1, false), (B, 2, false), (P, 4, false), (P, 6, false), (B, 5, false)];
        assert_eq!(sent(&closed), [0, 1, 2, 3, 4, 5, 6]);
        let no_b = [(I, 0, true), (P, 1, false), (P, 2, false)];
        assert_eq!(sent(&no_b), [0, 1, 2]);
    }

    #[test]
    fn lost_frames_leave_gaps() {
        for structure in [open_group(15), (0..15).map(|n| (if n == 0 { I } else { P }, n, n == 0)).collect()] {
            for lost in 1..structure.len() {
                let mut second = structure.clone();
                let gone = second.remove(lost);
                let expected: Vec<i64> = (0..15).chain((0..15).filter(|&place| place != lost as i64)).collect();
                assert_eq!(sent(&[structure.clone(), second].concat()), expected, "without {gone:?}");
            }
        }
    }

    #[test]
    fn a_group_without_its_header_has_the_places_of_the_nth_frame() {
        let mut frames = open_group(15);
        frames.extend(open_group(15).into_iter().skip(3));
        assert_eq!(sent(&frames), (0..15).chain(3..15).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_that_begin_again_within_a_group_go_on() {
        let frames: Vec<_> = (0..2_500u16).map(|n| (if n == 0 { I } else { P }, n % 1_024, n == 0)).collect();
        assert_eq!(sent(&frames), (0..2_500).collect::<Vec<_>>());
    }

    #[test]
    fn the_fields_of_a_frame_share_a_place() {
        assert_eq!(sent(&[(I, 0, true), (P, 0, false), (P, 1, false), (P, 1, false)]), [0, 0, 1, 1]);
    }
}
