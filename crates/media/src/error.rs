use std::io;

use thiserror::Error;

use crate::codec::Codec;
use crate::identify::OtherFormat;
use crate::streaming_file::MAX_FRAME;

/// Why a file is not a movie.
#[derive(Debug, Error)]
pub enum OpenError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is none.
    #[error(transparent)]
    Scan(#[from] ScanError),
}

/// Why bytes are not a movie.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScanError {
    /// There is not one byte.
    #[error("the stream is empty: an elementary stream of {} is needed", Codec::of_movies())]
    Empty,
    /// The first bytes are those of something else.
    #[error(
        "not an elementary stream of {} that can be read: byte {offset} looks like {format} \
         (`framewire movie make` transcodes what ffmpeg can read)",
        Codec::of_movies()
    )]
    OtherFormat {
        /// What it looks like.
        format: OtherFormat,
        /// Where the bytes that identify it are.
        offset: u64,
    },
    /// No sequence header anywhere.
    #[error("not MPEG video: no sequence header (00 00 01 B3) in {length} bytes")]
    NotMpegVideo {
        /// Bytes searched.
        length: u64,
    },
    /// There are sequence headers, but none that makes sense.
    #[error("the sequence header at byte {offset} is not valid: {field} is {}", value.map_or("cut off".to_owned(), |value| value.to_string()))]
    InvalidSequence {
        /// Where the first of them starts.
        offset: u64,
        /// The field at fault, as ISO/IEC 13818-2 calls it.
        field: &'static str,
        /// Its value, unless it is cut off.
        value: Option<u32>,
    },
    /// A sequence header, but no picture with a slice after it.
    #[error("no picture after the sequence header at byte {offset} ({length} bytes were searched)")]
    NoPicture {
        /// Where the first valid sequence header starts.
        offset: u64,
        /// Bytes searched.
        length: u64,
    },
    /// It is of a codec by its headers, but no picture uses them.
    #[error("no picture in {length} bytes of {codec}: none with its headers before it")]
    NoAccessUnit {
        /// The codec.
        codec: Codec,
        /// Bytes searched.
        length: u64,
    },
    /// The stream does not state its frame rate.
    #[error(
        "the {codec} stream does not tell its frame rate (headers of most codecs may have it, and need not); state it: \
         movie.frame_rate of a scenario, or --frame-rate"
    )]
    NoFrameRate {
        /// The codec.
        codec: Codec,
    },
    /// An access unit is larger than the frame index can say.
    #[error("the frame at byte {offset} is {size} bytes long or longer; up to {MAX_FRAME} are allowed")]
    FrameTooLarge {
        /// Where it starts.
        offset: u64,
        /// Its size in bytes.
        size: u64,
    },
    /// More access units than memory is planned for.
    #[error("more than {limit} frames: the stream must be cut before byte {offset}")]
    TooManyFrames {
        /// How many are allowed.
        limit: usize,
        /// Where the first one too many starts.
        offset: u64,
    },
}
