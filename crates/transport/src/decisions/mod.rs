//! Decisions as written sequences: what a frame queue does with a stream and a writer, in one line.
//!
//! `"I/ P/ BB/"` offers an I frame, which the writer takes at once, then a P frame, which it takes as well, then two B
//! frames before it takes the next. [`TABLE`] holds such lines with what becomes of every frame. The library is tested
//! against it, and so is every element built over it: the same input, the same decisions.

use framewire_media::PictureType;
use framewire_media::access_unit::KeyKind;
use framewire_units::Duration;

use crate::access_unit;
use crate::frame::{Dependencies, OutgoingFrame};
use crate::queue::{FrameQueue, QueueKind};

mod table;

pub use table::TABLE;

/// How long every frame of a written sequence lasts.
pub const FRAME_DURATION: Duration = Duration::from_millis(40);

/// One step of a written sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A frame is offered. Its bytes are an access unit of MPEG-2 whose headers say the same as its fields.
    Offer(OutgoingFrame),
    /// The writer takes the next frame, if one waits.
    Take,
}

/// A letter that is not in the notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a step: I (open group), C (closed group), K (broken link), P, B and / are")]
pub struct UnknownStep(pub char);

/// Reads a written sequence: `I`, `C` and `K` begin an open group, a closed one, and one with a broken link, `P` and
/// `B` are what they are in MPEG-2, and `/` lets the writer take a frame. White space means nothing.
///
/// # Errors
/// When there is another letter.
pub fn steps(text: &str) -> Result<Vec<Step>, UnknownStep> {
    let mut stream = Stream::default();
    let letters = text.chars().filter(|letter| !letter.is_whitespace());
    letters
        .map(|letter| match letter {
            '/' => Ok(Step::Take),
            letter => stream.frame(letter).map(Step::Offer).ok_or(UnknownStep(letter)),
        })
        .collect()
}

/// What became of the frames of a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Numbers of the frames that the writer took, in order; at the end it takes all that waits.
    pub taken: Vec<u32>,
    /// Numbers of the frames given up, in the order of the decisions, with the rules.
    pub given_up: Vec<(u32, &'static str)>,
}

/// Plays a sequence against a new queue.
pub fn play(kind: QueueKind, steps: Vec<Step>) -> Outcome {
    let mut queue = FrameQueue::new(kind);
    let mut outcome = Outcome::default();
    for step in steps {
        match step {
            Step::Take => outcome.taken.extend(queue.take().map(|frame| frame.id)),
            Step::Offer(frame) => {
                let discards = queue.offer(frame).into_iter();
                outcome.given_up.extend(discards.map(|discard| (discard.frame.id, discard.rule)));
            }
        }
    }
    while let Some(frame) = queue.take() {
        outcome.taken.push(frame.id);
    }
    outcome
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The queue.
    pub queue: QueueKind,
    /// The sequence, in the notation of [`steps`].
    pub steps: &'static str,
    /// As [`Outcome::taken`].
    pub taken: &'static [u32],
    /// As [`Outcome::given_up`].
    pub given_up: &'static [(u32, &'static str)],
}

/// A stream of MPEG-2 frames in decode order.
#[derive(Default)]
struct Stream {
    next: u32,
    /// The last two I or P frames.
    anchors: [Option<u32>; 2],
    /// How the present group began, until the first P frame in it.
    leading_to: Option<KeyKind>,
    /// Frames since the group's beginning.
    in_group: u16,
}

impl Stream {
    fn frame(&mut self, letter: char) -> Option<OutgoingFrame> {
        let (kind, key) = match letter {
            'I' => (PictureType::I, Some(KeyKind::Open)),
            'C' => (PictureType::I, Some(KeyKind::Closed)),
            'K' => (PictureType::I, Some(KeyKind::BrokenLink)),
            'P' => (PictureType::P, None),
            'B' => (PictureType::B, None),
            _ => return None,
        };
        let id = self.next;
        self.next += 1;
        self.in_group = if key.is_some() { 0 } else { self.in_group + 1 };
        Some(OutgoingFrame {
            id,
            kind,
            dependencies: self.dependencies(id, kind, key),
            duration: FRAME_DURATION,
            rtp_timestamp: id * 3_600,
            decode_timestamp: id * 3_600,
            bytes: access_unit::mpeg2(kind, key, self.in_group, 200, id as u8 | 0x80),
        })
    }

    /// ISO/IEC 13818-2, 6.1.1.3, 6.1.1.6 and 6.3.8.
    fn dependencies(&mut self, id: u32, kind: PictureType, key: Option<KeyKind>) -> Dependencies {
        let [before_last, last] = self.anchors;
        let is_anchor = kind != PictureType::B;
        if is_anchor {
            self.anchors = [last, Some(id)];
            self.leading_to = key;
        }
        let leading = !is_anchor && self.leading_to.is_some();
        let references = match kind {
            PictureType::I | PictureType::D => vec![],
            PictureType::P => last.into_iter().collect(),
            PictureType::B if leading && self.leading_to == Some(KeyKind::Closed) => last.into_iter().collect(),
            PictureType::B => before_last.into_iter().chain(last).collect(),
        };
        let missing_reference = leading && self.leading_to == Some(KeyKind::BrokenLink);
        let (temporal_layer, references) = (0, Some(references));
        Dependencies {
            key,
            leading,
            referenced: is_anchor,
            temporal_layer,
            references,
            missing_reference,
            ..Dependencies::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decision_of_the_table_is_made() {
        let mut wrong = vec![];
        for decision in TABLE {
            let outcome = play(decision.queue, steps(decision.steps).unwrap());
            if outcome.taken != decision.taken || outcome.given_up != decision.given_up {
                wrong.push(format!("{}: {outcome:?}", decision.steps));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn other_letters_are_refused() {
        assert_eq!(steps("I/ X"), Err(UnknownStep('X')));
    }
}
