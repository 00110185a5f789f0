//! From payloads to access units: whether one of which something may be missing has its beginning.

use super::{INTRA, SEQUENCE, VOP, first_code};
use crate::rtp_payload::Joiner;
use crate::start_code::{self, start_codes};

/// Joins payloads.
#[derive(Clone, Debug, Default)]
pub(super) struct Mpeg4Joiner {
    habit: Habit,
}

/// What this sender does with the headers before pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Habit {
    #[default]
    Unknown,
    /// It has sent an I-VOP without any, and never one.
    Bare,
    /// They are in the packet in which the picture begins.
    Together,
    /// At least once they were in one of their own.
    Apart,
}

impl Joiner for Mpeg4Joiner {
    fn open<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], String> {
        Ok(payload)
    }

    fn begin(&mut self, video: &[u8], is_first: bool) -> bool {
        let Some(code) = first_code(video) else { return false };
        if code != VOP {
            let together = start_codes(video).any(|(_, code)| code == VOP);
            self.habit = if together && self.habit != Habit::Apart { Habit::Together } else { Habit::Apart };
        } else if is_first && self.habit == Habit::Unknown && is_intra(video) {
            self.habit = Habit::Bare;
        }
        true
    }

    /// The header of a sequence can only be a beginning. Before others, and before pictures, there may have been packets of
    /// nothing but headers, by the sender's habit; hardly before a picture that refers to others.
    fn has_beginning(&self, bytes: &[u8]) -> bool {
        match (first_code(bytes), self.habit) {
            (None, _) => false,
            (Some(SEQUENCE), _) | (Some(_), Habit::Together) | (Some(VOP), Habit::Bare) => true,
            (Some(VOP), Habit::Unknown | Habit::Apart) => !is_intra(bytes),
            (Some(_), Habit::Unknown | Habit::Bare | Habit::Apart) => false,
        }
    }
}

/// `vop_coding_type` (ISO/IEC 14496-2, 6.2.5) of a picture.
fn is_intra(vop: &[u8]) -> bool {
    vop.get(start_code::LENGTH).is_some_and(|byte| byte >> 6 == INTRA)
}
