//! Where a stream can go on after its connection broke.

use framewire_media::access_unit::KeyKind;

use crate::frame::Dependencies;

const BEFORE_KEY_FRAME: &str = "ifdsink: reconnected, waits for a key frame";
const LEADING: &str = "ifdsink: reconnected, refers to what the receiver never had";

/// What a receiver that has just connected can decode: everything from the next key frame on, but for frames shown
/// before it that may refer to what came before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// The receiver has everything.
    #[default]
    Everything,
    /// It needs a key frame.
    AtKeyFrame,
    /// It has the key frame of an open group, and nothing from before it.
    AfterOpenKeyFrame,
}

impl Resume {
    /// Begins with the next key frame.
    pub fn at_key_frame() -> Self {
        Self::AtKeyFrame
    }

    /// Why the next frame is of no use to the receiver; `None` when it is.
    pub fn refuses(&mut self, frame: &Dependencies) -> Option<&'static str> {
        *self = match (*self, frame.key) {
            (Self::Everything, _) | (_, Some(KeyKind::Closed)) => Self::Everything,
            (Self::AtKeyFrame, None) => return Some(BEFORE_KEY_FRAME),
            (Self::AtKeyFrame, Some(_)) => Self::AfterOpenKeyFrame,
            (Self::AfterOpenKeyFrame, None) if frame.leading => return Some(LEADING),
            (Self::AfterOpenKeyFrame, None) => Self::AfterOpenKeyFrame,
            // By the second key frame, all that its leading frames refer to was sent.
            (Self::AfterOpenKeyFrame, Some(_)) => Self::Everything,
        };
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(frames: &[(Option<KeyKind>, bool)]) -> Vec<bool> {
        let mut resume = Resume::at_key_frame();
        let frame =
            |&(key, leading): &(Option<KeyKind>, bool)| Dependencies { key, leading, ..Dependencies::default() };
        frames.iter().map(|each| resume.refuses(&frame(each)).is_some()).collect()
    }

    #[test]
    fn an_open_group_goes_on_without_its_leading_frames() {
        let (open, leading, other) = ((Some(KeyKind::Open), false), (None, true), (None, false));
        let frames = [other, leading, open, leading, leading, other, open, leading, other];
        assert_eq!(refused(&frames), [true, true, false, true, true, false, false, false, false]);
    }

    #[test]
    fn a_closed_group_goes_on_with_everything() {
        let frames = [(None, false), (Some(KeyKind::Closed), false), (None, true), (None, false)];
        assert_eq!(refused(&frames), [true, false, false, false]);
    }

    #[test]
    fn a_stream_that_never_broke_is_sent_as_it_comes() {
        assert_eq!(Resume::default().refuses(&Dependencies::default()), None);
    }
}
