use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::audio::{AudioCodec, MAX_PACKET};
use crate::streaming_file::header::{VERSION, VERSION_WITH_AUDIO};
use crate::streaming_file::{MAX_FRAME, PAYLOADS};

/// Why a streaming file cannot be read or written.
#[derive(Debug, Error)]
pub enum StreamingFileError {
    /// The first bytes are those of something else.
    #[error("not a streaming file: its first eight bytes are {0:02x?} (`framewire movie ladder` makes one)")]
    OtherFormat(Vec<u8>),
    /// A version that did not exist when this was written.
    #[error("a streaming file of version {version}; versions {VERSION} and {VERSION_WITH_AUDIO} can be read")]
    UnknownVersion {
        /// Its version.
        version: u16,
    },
    /// The file ends too early, or goes on.
    #[error("the streaming file should have {stated} bytes and has {length}: it is {}", if length < stated { "cut off" } else { "damaged" })]
    Length {
        /// As it has to be.
        stated: u64,
        /// As it is.
        length: u64,
    },
    /// A checksum that is not that of the bytes.
    #[error("the streaming file's {part} is damaged: its checksum is {stated:08x} and should be {computed:08x}")]
    Checksum {
        /// Header or index.
        part: &'static str,
        /// In the file.
        stated: u32,
        /// Of the bytes.
        computed: u32,
    },
    /// A value that cannot be.
    #[error("the streaming file's {field} is {value}: {allowed} is allowed")]
    BadField {
        /// The field, as in the description of the layout.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What is allowed.
        allowed: String,
    },
    /// A frame whose records are not as written.
    #[error("frame {frame} of level {level} is damaged: {reason}")]
    DamagedFrame {
        /// The frame.
        frame: u32,
        /// The level.
        level: u32,
        /// What is wrong.
        reason: &'static str,
    },
    /// Audio whose records are not as written.
    #[error("the audio before frame {frame} is damaged at byte {offset}: its {field} is {value}, {allowed} is allowed")]
    DamagedAudio {
        /// The frame.
        frame: u32,
        /// Where in the file.
        offset: u64,
        /// The field, as in the description of the layout.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What is allowed.
        allowed: String,
    },
    /// A packet of audio that does not fit into a packet.
    #[error(
        "packet {packet} of the audio has {size} bytes; packets of {payload} are to be written (up to {MAX_PACKET} are ever needed)"
    )]
    AudioTooLarge {
        /// Its number.
        packet: usize,
        /// Its bytes.
        size: usize,
        /// Bytes that a packet may have.
        payload: u32,
    },
    /// Audio in a codec that ladders do not have.
    #[error("the audio is {0}: a ladder has MPEG audio of layers II and III, or AAC")]
    AudioCodec(AudioCodec),
    /// Audio that goes on behind the movie.
    #[error("packet {packet} of the audio begins {} ns after the first frame, and the movie has ended by {} ns: it has to be cut", .time.as_nanos(), .end.as_nanos())]
    AudioTooLong {
        /// Its number.
        packet: usize,
        /// When it begins to play.
        time: Duration,
        /// When the movie ends.
        end: Duration,
    },
    /// A payload that cannot be sent.
    #[error("packets with {0} bytes of video: {start} to {end} are allowed", start = PAYLOADS.start(), end = PAYLOADS.end())]
    Payload(u32),
    /// A frame that is too large.
    #[error("frame {frame} of level {level} has {size} bytes; up to {MAX_FRAME} are allowed")]
    FrameTooLarge {
        /// The frame.
        frame: usize,
        /// The level.
        level: usize,
        /// Its bytes.
        size: u32,
    },
    /// A movie whose times do not fit.
    #[error("the movie is {seconds} s long; a time stamp can say 4,294,967 s at most")]
    TooLong {
        /// Its duration.
        seconds: u64,
    },
    /// A plan for other levels, or with steps that do not ascend.
    #[error("the plan does not fit: {0}")]
    Plan(String),
    /// The file cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}
