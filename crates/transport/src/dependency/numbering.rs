//! Numbers in the headers of pictures, made to go on behind what was given up (ITU-T H.264).
//!
//! A decoder derives from `frame_num` how many reference frames are missing, and makes up frames in their place
//! (8.2.5.2); by the low bits of picture order counts it knows the place of a picture within half a turn of them only
//! (8.2.1.1). Behind a gap both mislead it. The pictures from an open key frame on refer to none before it, but for
//! those that are shown before it, if its recovery point is exact (D.2.8). Where these go as well, the numbers of all
//! others may be moved by the same: what they refer to, and what they mark, is coded as differences (7.4.3.1, 7.4.3.3).
//! It holds until the next IDR picture, or one with memory management operation 5, where numbers begin anew.
//!
//! What is given up behind the key frame is a gap: the frames on both its sides may be referred to together, by differences
//! that count those between them (8.2.4.1), so that their numbers have to stay. The parameter sets that are sent allow it
//! (`gaps_in_frame_num_value_allowed_flag`, 7.4.2.1.1): a decoder that does not conceal losses would stop there. They do so
//! from the first one on, as a parameter set may change with an IDR picture only (7.4.1.2.1). Frames that a decoder infers
//! in a gap (8.2.5.2) take the places of those that were given up, in the sliding window too: what the encoder still had
//! behind them, the decoder has.
//!
//! A picture that begins a gradual refresh (`refresh.rs`) is like such a key frame: what it and those behind it still
//! refer to before it, they do not need. Pictures that are shown before it may follow it, though: it leaves them room.
//!
//! A difference that goes back behind the key frame names another picture than it did, if any: one that was sent before
//! the key frame as well. An operation may so end the use of a picture that the encoder kept, or of none, and a list may
//! hold a picture that the encoder did not mean. Neither changes a picture that is sent: none refers to what was before the
//! key frame, whatever its lists hold. What is kept too long goes with the sliding window (8.2.5.3), and
//! where pictures have commands instead, with the decoder's own limit or the next IDR picture.

use framewire_media::access_unit::KeyKind;
use framewire_media::picture_order::{PictureOrder, ReceivedOrder, Renumbering};

use crate::frame::Dependencies;

/// What a decoder knows of the pictures that reach it, by their numbers as they are sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    order: ReceivedOrder,
    /// `PrevRefFrameNum` (7.4.3); `None` before the first picture.
    frame_num: Option<u16>,
    /// What is added to the numbers of pictures now.
    by: Renumbering,
    /// How many picture order counts a picture left free at most, for those that follow it and are shown before it.
    room: i64,
    /// The last frame.
    last: Option<u32>,
}

/// A frame's own order, unless it was made to begin a sequence.
fn order_of(dependencies: &Dependencies) -> Option<PictureOrder> {
    let order = dependencies.picture_order?;
    Some(if dependencies.begins_sequence { order.beginning_sequence() } else { order })
}

/// Whether numbers begin anew with a frame, and not behind it.
fn begins_anew(order: PictureOrder) -> bool {
    order.begins_sequence && !order.numbers.is_some_and(|numbers| numbers.restarts)
}

/// Whether the numbers of a frame, and those of the frames behind it, can be made to go on from any others.
pub(super) fn can_go_on(dependencies: &Dependencies) -> bool {
    let Some(order) = dependencies.picture_order.filter(|order| !order.begins_sequence) else { return false };
    let is_open = matches!(dependencies.key, Some(KeyKind::Open | KeyKind::BrokenLink));
    order.numbers.is_some_and(|numbers| is_open && numbers.recovers || dependencies.begins_recovery)
}

impl Line {
    /// The last frame that was taken.
    pub(super) fn last(&self) -> Option<u32> {
        self.last
    }

    /// Whether a decoder would show the frame in its place if it came next.
    pub(super) fn places(&self, dependencies: &Dependencies) -> bool {
        order_of(dependencies).is_none_or(|order| self.order.places(order.renumbered(self.by)))
    }

    /// What is to be added to the numbers of the next frame.
    pub(super) fn renumbering(&self, dependencies: &Dependencies) -> Renumbering {
        match order_of(dependencies) {
            Some(order) if order.numbers.is_none() || begins_anew(order) => Renumbering::default(),
            Some(order) if dependencies.goes_on => {
                let room = if dependencies.begins_recovery { self.room } else { 0 };
                self.going_on(order, room)
            }
            Some(_) => self.by,
            None => Renumbering::default(),
        }
    }

    /// The next frame, with the numbers that it is to have.
    pub(super) fn take_next(&mut self, id: u32, dependencies: &Dependencies) {
        self.take(id, dependencies, self.renumbering(dependencies));
    }

    /// The next frame, to whose numbers `by` was added.
    pub(super) fn take(&mut self, id: u32, dependencies: &Dependencies, by: Renumbering) {
        self.last = Some(id);
        let Some(order) = order_of(dependencies) else { return };
        let restarts = order.numbers.is_some_and(|numbers| numbers.restarts);
        if begins_anew(order) || dependencies.goes_on {
            self.by = by;
        }
        let sent = order.renumbered(by);
        self.room = self.room.max(self.left_free(sent));
        self.order.take(sent);
        // Of a picture that nothing refers to it is that of the next reference picture, also behind a gap.
        let behind = |number: u16| if dependencies.referenced { number } else { number.wrapping_sub(1) };
        self.frame_num = sent.numbers.map(|numbers| behind(numbers.frame_num));
        if restarts {
            (self.by, self.frame_num) = (Renumbering::default(), Some(0));
        }
    }

    /// How many counts a picture leaves free behind those that came. More than half a turn cannot be recognised.
    fn left_free(&self, picture: PictureOrder) -> i64 {
        let next = self.order.next_count().filter(|_| !picture.begins_sequence);
        let free = next.map_or(0, |next| picture.count.saturating_sub(next));
        let most = picture.turn.map_or(0, |turn| i64::from(turn.get()) / 2 - 2);
        if free <= most { free } else { 0 }
    }

    /// What makes a picture the one behind all that were sent, with so much room before it.
    fn going_on(&self, picture: PictureOrder, room: i64) -> Renumbering {
        let frame_num = self.frame_num.zip(picture.numbers);
        let count = self.order.next_count().filter(|_| picture.turn.is_some() && !picture.follows_frame_num);
        Renumbering {
            frame_num: frame_num.map_or(0, |(before, numbers)| numbers.to_frame_num(before.wrapping_add(1))),
            order: count.map_or(0, |count| count.saturating_add(room).saturating_sub(picture.count)),
        }
    }
}

#[cfg(test)]
#[path = "numbering_tests.rs"]
mod tests;
