//! Video frames of AVI files (Microsoft, "AVI RIFF File Reference", and the OpenDML extensions 1.02), one per chunk.
//!
//! A chunk without bytes says that the encoder left a frame out, which an elementary stream would not show. Indexes are
//! not read: chunks are taken in the order in which they stand.

mod riff;

use std::fmt;
use std::io;
use std::ops::Range;

use bytes::Bytes;

use crate::avi::riff::{Chunk, chunks, four};
use crate::picture::FrameRate;
use crate::source::Source;
use crate::streaming_file::ReadAt;

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
        offset: u64,
        /// What its header says.
        size: u64,
        /// Bytes that there are.
        left: u64,
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
    /// More behind the bitmap header than any codec needs.
    #[error("the AVI file's headers of the codec are {size} bytes; at most {limit} are allowed")]
    LongCodecData {
        /// Bytes behind the bitmap header.
        size: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Read(String),
    /// More chunks than memory is planned for.
    #[error("more than {limit} frames in the AVI file")]
    TooManyFrames {
        /// How many are allowed.
        limit: usize,
    },
}

impl From<io::Error> for AviError {
    fn from(error: io::Error) -> Self {
        Self::Read(error.to_string())
    }
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
    source: Source,
    frames: Vec<Range<u64>>,
}

impl Avi {
    /// Finds the video frames of a file in memory.
    ///
    /// # Errors
    /// When it is no AVI file, is cut off, or has no video.
    pub fn parse(bytes: Bytes) -> Result<Self, AviError> {
        Self::read(Source::Memory(bytes))
    }

    /// Finds the video frames of a file, of which no more than the headers is read.
    pub(crate) fn read(source: Source) -> Result<Self, AviError> {
        let length = source.length()?;
        if !Self::is_one(&source.range(0, length.min(BEGINNING as u64))?) {
            return Err(AviError::NotAvi);
        }
        let mut stream = None;
        let mut frames = Vec::new();
        // OpenDML: a long file goes on in further RIFF chunks, of the form AVIX.
        for riff in chunks(&source, 0..length) {
            let riff = riff?;
            if riff.name.0 != *b"RIFF" {
                continue;
            }
            for part in chunks(&source, riff.list_content()) {
                let part = part?;
                match part.list_type(&source)?.as_ref() {
                    Some(b"hdrl") if stream.is_none() => stream = Some(video_stream(&source, part)?),
                    Some(b"movi") => {
                        let Some(stream) = &stream else { continue };
                        take_frames(&source, part, &stream.chunk_names(), &mut frames)?;
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
        let size = codec_data.end - codec_data.start;
        if size > LONGEST_CODEC_DATA {
            return Err(AviError::LongCodecData { size, limit: LONGEST_CODEC_DATA });
        }
        let codec_data = source.range(codec_data.start, size)?;
        Ok(Self { codec, frame_rate, width, height, codec_data, source, frames })
    }

    /// Whether a file begins as AVI files do.
    pub(crate) fn is_one(bytes: &[u8]) -> bool {
        bytes.len() >= BEGINNING && bytes.starts_with(b"RIFF") && bytes[8..12] == *b"AVI "
    }

    /// Frames that it holds, with those that were left out (of no bytes).
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    /// The bytes of a frame, in decode order; of a file in memory a reference, not a copy.
    ///
    /// # Errors
    /// When they cannot be read.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn frame_bytes(&self, frame: usize) -> io::Result<Bytes> {
        let Range { start, end } = self.frames[frame];
        self.source.range(start, end - start)
    }

    /// The whole file.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Where the bytes of each frame stand in the file.
    pub(crate) fn ranges(&self) -> &[Range<u64>] {
        &self.frames
    }
}

/// Bytes that identify an AVI file.
const BEGINNING: usize = 12;

/// Headers of a codec are short, some dozens of bytes. What is longer than this is something else, and is
/// not read into memory.
const LONGEST_CODEC_DATA: u64 = 1 << 16;

/// As many frames as a movie may have.
const MAX_FRAMES: usize = crate::movie::MAX_FRAMES;

struct Stream {
    number: usize,
    codec: FourCc,
    frame_rate: FrameRate,
    width: u16,
    height: u16,
    codec_data: Range<u64>,
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
fn video_stream(source: &impl ReadAt, headers: Chunk) -> Result<Stream, AviError> {
    let mut number = 0;
    for list in chunks(source, headers.list_content()) {
        let list = list?;
        if list.list_type(source)? != Some(*b"strl") {
            continue;
        }
        let (mut header, mut format) = (None, None);
        for chunk in chunks(source, list.list_content()) {
            let chunk = chunk?;
            match &chunk.name.0 {
                b"strh" => header = Some(chunk.content()),
                b"strf" => format = Some(chunk.content()),
                _ => {}
            }
        }
        if let (Some(header), Some(format)) = (header, format)
            && four(source, &header, 0)? == Some(*b"vids")
        {
            return stream(source, number, header, format);
        }
        number += 1;
    }
    Err(AviError::NoVideo { streams: number })
}

/// `AVISTREAMHEADER` and `BITMAPINFOHEADER`.
fn stream(source: &impl ReadAt, number: usize, header: Range<u64>, format: Range<u64>) -> Result<Stream, AviError> {
    const SCALE: u64 = 20;
    const RATE: u64 = 24;
    const WIDTH: u64 = 4;
    const HEIGHT: u64 = 8;
    const COMPRESSION: u64 = 16;
    const BITMAP_HEADER: u64 = 40;
    // Stream numbers have two digits.
    const MAX_STREAMS: usize = 100;

    if number >= MAX_STREAMS {
        return Err(bad("number of the video stream", number));
    }
    let field = |range: &Range<u64>, at, name| {
        let value = four(source, range, at)?.map(u32::from_le_bytes);
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
    source: &impl ReadAt,
    list: Chunk,
    names: &[[u8; 4]; 2],
    frames: &mut Vec<Range<u64>>,
) -> Result<(), AviError> {
    for chunk in chunks(source, list.list_content()) {
        let chunk = chunk?;
        if chunk.list_type(source)? == Some(*b"rec ") {
            for chunk in chunks(source, chunk.list_content()) {
                take_frame(chunk?, names, frames)?;
            }
        } else {
            take_frame(chunk, names, frames)?;
        }
    }
    Ok(())
}

fn take_frame(chunk: Chunk, names: &[[u8; 4]; 2], frames: &mut Vec<Range<u64>>) -> Result<(), AviError> {
    if !names.contains(&chunk.name.0) {
        return Ok(());
    }
    if frames.len() == MAX_FRAMES {
        return Err(AviError::TooManyFrames { limit: MAX_FRAMES });
    }
    frames.push(chunk.content());
    Ok(())
}
