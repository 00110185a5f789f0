//! Video frames of AVI files (Microsoft, "AVI RIFF File Reference", and the OpenDML extensions 1.02), one per chunk.
//!
//! A chunk without bytes says that the encoder left a frame out, which an elementary stream would not tell. Indexes are
//! not read: chunks are taken in the order in which they stand.

mod riff;

use std::fmt;
use std::ops::Range;

use bytes::Bytes;

use crate::avi::riff::{Chunk, chunks, four};
use crate::index::FrameRate;

/// Why bytes are not an AVI file with video.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AviError {
    /// The first bytes are not those of AVI.
    #[error("not an AVI file: it does not begin with RIFF and AVI")]
    NotAvi,
    /// A chunk goes on after the end of the file, or of the chunk around it.
    #[error(
        "the AVI file is cut off or damaged: chunk \"{chunk}\" at byte {offset} says {size} bytes, {left} are left"
    )]
    CutOff {
        /// Name of the chunk.
        chunk: FourCc,
        /// Where it starts.
        offset: usize,
        /// What its header says.
        size: u64,
        /// Bytes that there are.
        left: usize,
    },
    /// No stream of video.
    #[error("the AVI file holds no video: none of its {streams} stream headers says \"vids\"")]
    NoVideo {
        /// Stream headers that it has.
        streams: usize,
    },
    /// A field has a value that cannot be.
    #[error("the AVI file's {field} is {value}")]
    BadField {
        /// The field, as the format's description calls it.
        field: &'static str,
        /// What it is, in words.
        value: String,
    },
    /// A header for video, and no chunk of it.
    #[error("the AVI file holds no frame of its video stream {stream}")]
    NoFrame {
        /// The stream's number.
        stream: usize,
    },
    /// More chunks than memory is planned for.
    #[error("more than {limit} frames in the AVI file")]
    TooManyFrames {
        /// How many are allowed.
        limit: usize,
    },
}

/// Four characters that name a chunk or a codec.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FourCc(pub [u8; 4]);

impl fmt::Display for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.escape_ascii().fmt(f)
    }
}

impl fmt::Debug for FourCc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FourCc({self})")
    }
}

/// The first video stream of an AVI file.
#[derive(Clone, Debug)]
pub struct Avi {
    /// What it is coded in (`biCompression`).
    pub codec: FourCc,
    /// Frames per second (`dwRate` / `dwScale`).
    pub frame_rate: FrameRate,
    /// Width in pixels.
    pub width: u16,
    /// Height in pixels.
    pub height: u16,
    /// What stands behind the bitmap header: headers of the codec, where they are not in the stream.
    pub codec_data: Bytes,
    bytes: Bytes,
    frames: Vec<Range<usize>>,
}

impl Avi {
    /// Finds the video frames of a file.
    ///
    /// # Errors
    /// When it is no AVI file, is cut off, or has no video.
    pub fn parse(bytes: Bytes) -> Result<Self, AviError> {
        if !Self::is_one(&bytes) {
            return Err(AviError::NotAvi);
        }
        let mut stream = None;
        let mut frames = Vec::new();
        // OpenDML: a long file goes on in further RIFF chunks, of the form AVIX.
        for riff in chunks(&bytes, 0..bytes.len()) {
            let riff = riff?;
            if riff.name.0 != *b"RIFF" {
                continue;
            }
            for part in chunks(&bytes, riff.list_content()) {
                let part = part?;
                match part.list_type(&bytes) {
                    Some(b"hdrl") if stream.is_none() => stream = Some(video_stream(&bytes, part)?),
                    Some(b"movi") => {
                        let Some(stream) = &stream else { continue };
                        take_frames(&bytes, part, &stream.chunk_names(), &mut frames)?;
                    }
                    _ => {}
                }
            }
        }
        let Some(stream) = stream else { return Err(AviError::NoVideo { streams: 0 }) };
        if frames.is_empty() {
            return Err(AviError::NoFrame { stream: stream.number });
        }
        let Stream { codec, frame_rate, width, height, codec_data, .. } = stream;
        Ok(Self { codec, frame_rate, width, height, codec_data: bytes.slice(codec_data), bytes, frames })
    }

    /// Whether a file begins as AVI files do.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.len() >= 12 && bytes.starts_with(b"RIFF") && bytes[8..12] == *b"AVI "
    }

    /// Frames that it holds, with those that were left out (of no bytes).
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// The bytes of a frame, in decode order; a reference, not a copy.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn frame_bytes(&self, frame: usize) -> Bytes {
        self.bytes.slice(self.frames[frame].clone())
    }

    /// The whole file.
    pub(crate) fn whole(&self) -> Bytes {
        self.bytes.clone()
    }

    /// Where the bytes of a frame stand in the file.
    pub(crate) fn range(&self, frame: usize) -> Range<usize> {
        self.frames[frame].clone()
    }
}

/// As many frames as a movie may have.
const MAX_FRAMES: usize = crate::movie::MAX_FRAMES;

struct Stream {
    number: usize,
    codec: FourCc,
    frame_rate: FrameRate,
    width: u16,
    height: u16,
    codec_data: Range<usize>,
}

impl Stream {
    /// Chunks of compressed and of uncompressed frames; encoders use both names.
    fn chunk_names(&self) -> [[u8; 4]; 2] {
        let tens = b'0' + (self.number / 10) as u8;
        let ones = b'0' + (self.number % 10) as u8;
        [[tens, ones, b'd', b'c'], [tens, ones, b'd', b'b']]
    }
}

/// The first video stream that a header list names.
fn video_stream(bytes: &[u8], headers: Chunk) -> Result<Stream, AviError> {
    let mut number = 0;
    for list in chunks(bytes, headers.list_content()) {
        let list = list?;
        if list.list_type(bytes) != Some(b"strl") {
            continue;
        }
        let (mut header, mut format) = (None, None);
        for chunk in chunks(bytes, list.list_content()) {
            let chunk = chunk?;
            match &chunk.name.0 {
                b"strh" => header = Some(chunk.content()),
                b"strf" => format = Some(chunk.content()),
                _ => {}
            }
        }
        if let (Some(header), Some(format)) = (header, format)
            && four(bytes, &header, 0) == Some(*b"vids")
        {
            return stream(bytes, number, header, format);
        }
        number += 1;
    }
    Err(AviError::NoVideo { streams: number })
}

/// `AVISTREAMHEADER` and `BITMAPINFOHEADER`.
fn stream(bytes: &[u8], number: usize, header: Range<usize>, format: Range<usize>) -> Result<Stream, AviError> {
    const SCALE: usize = 20;
    const RATE: usize = 24;
    const WIDTH: usize = 4;
    const HEIGHT: usize = 8;
    const COMPRESSION: usize = 16;
    const BITMAP_HEADER: usize = 40;
    // Stream numbers have two digits.
    const MAX_STREAMS: usize = 100;

    if number >= MAX_STREAMS {
        return Err(bad("number of the video stream", number));
    }
    let field = |range: &Range<usize>, at, name| {
        let value = four(bytes, range, at).map(u32::from_le_bytes);
        value.ok_or_else(|| AviError::BadField { field: name, value: "cut off".to_owned() })
    };
    let (scale, rate) = (field(&header, SCALE, "dwScale")?, field(&header, RATE, "dwRate")?);
    let frame_rate = FrameRate::reduced(rate.into(), scale.into())
        .ok_or_else(|| bad("frame rate (dwRate/dwScale)", format_args!("{rate}/{scale}")))?;
    let width = field(&format, WIDTH, "biWidth")?;
    // Negative for pictures that are stored from top to bottom.
    let height = (field(&format, HEIGHT, "biHeight")? as i32).unsigned_abs();
    let codec = field(&format, COMPRESSION, "biCompression")?;
    Ok(Stream {
        number,
        codec: FourCc(codec.to_le_bytes()),
        frame_rate,
        width: u16::try_from(width).map_err(|_| bad("biWidth", width))?,
        height: u16::try_from(height).map_err(|_| bad("biHeight", height))?,
        codec_data: (format.start + BITMAP_HEADER).min(format.end)..format.end,
    })
}

fn bad(field: &'static str, value: impl fmt::Display) -> AviError {
    AviError::BadField { field, value: value.to_string() }
}

/// Chunks of the stream in a `movi` list, or in the `rec ` lists in it.
fn take_frames(
    bytes: &[u8],
    list: Chunk,
    names: &[[u8; 4]; 2],
    frames: &mut Vec<Range<usize>>,
) -> Result<(), AviError> {
    for chunk in chunks(bytes, list.list_content()) {
        let chunk = chunk?;
        if chunk.list_type(bytes) == Some(b"rec ") {
            for chunk in chunks(bytes, chunk.list_content()) {
                take_frame(chunk?, names, frames)?;
            }
        } else {
            take_frame(chunk, names, frames)?;
        }
    }
    Ok(())
}

fn take_frame(chunk: Chunk, names: &[[u8; 4]; 2], frames: &mut Vec<Range<usize>>) -> Result<(), AviError> {
    if !names.contains(&chunk.name.0) {
        return Ok(());
    }
    if frames.len() == MAX_FRAMES {
        return Err(AviError::TooManyFrames { limit: MAX_FRAMES });
    }
    frames.push(chunk.content());
    Ok(())
}
