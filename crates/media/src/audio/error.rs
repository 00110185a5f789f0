use thiserror::Error;

use crate::audio::AudioFormat;

/// Why bytes or packets are no track of audio.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AudioError {
    /// There is not one frame.
    #[error("no audio: not one frame of MPEG audio (layer II or III) of AAC (ADTS), or of Opus (Ogg)")]
    Empty,
    /// A value that cannot be.
    #[error("the audio's {field} is {value}: {allowed} is allowed")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What is allowed.
        allowed: String,
    },
    /// No frame stands where one has to.
    #[error(
        "no frame of audio at byte {offset}: its {field} is {value}, {allowed} is allowed (MPEG audio of layer II or III, \
         AAC in ADTS frames, or Opus in Ogg)"
    )]
    Frame {
        /// Where.
        offset: u64,
        /// The field of the frame's header.
        field: &'static str,
        /// Its value.
        value: u32,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The stream ends within a frame.
    #[error("the audio is cut off: the frame at byte {offset} needs {needed} bytes, {left} are left")]
    CutOff {
        /// Where the frame begins.
        offset: u64,
        /// Its bytes.
        needed: usize,
        /// What there is.
        left: usize,
    },
    /// What begins as Ogg is not Opus in Ogg as it is read here.
    #[error("no Opus in Ogg, at byte {offset}: {reason}")]
    Ogg {
        /// Where the page begins.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// A frame that is not as those before.
    #[error("the audio changes at byte {offset}: {format}, and before {first}; one format is needed")]
    Changed {
        /// Where.
        offset: u64,
        /// As it is there.
        format: AudioFormat,
        /// As it was before.
        first: AudioFormat,
    },
}
