//! A movie, and how a frame index is made from its bytes.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};

use crate::codec::Codec;
use crate::error::{OpenError, ScanError};
use crate::identify::identify;
use crate::index::{Frame, FrameIndex};
use crate::order::DisplayOrder;
use crate::picture::{FrameRate, PictureStructure, SequenceHeader};
use crate::scanner::{CodedFrame, ScanSummary, Scanner};
use crate::source::Source;
use crate::start_code;
use crate::streaming_file::{MAX_FRAME, ReadAt, Version};

/// How many frames a movie may have: 46 hours at 25 Hz. Bounds the memory for a hostile stream.
pub(crate) const MAX_FRAMES: usize = 1 << 22;

/// Up to this size a movie is kept in memory; a longer one is read frame by frame.
const IN_MEMORY: u64 = 1 << 26;

/// How much is read at a time.
const CHUNK: usize = 1 << 20;

/// Within so many bytes the first picture begins, or there is none: what is no movie is not read to its end.
pub(crate) const SEARCHED: u64 = 1 << 22;

/// An elementary stream of one of the codecs, and its frame index.
#[derive(Clone)]
pub struct Movie {
    stream: Source,
    size: u64,
    changed: Arc<OnceLock<MovieChanged>>,
    /// What its file was when it was opened.
    version: Option<Version>,
    /// Its frames, shared by all who send the movie.
    pub index: Arc<FrameIndex>,
}

/// A movie's file was cut short, was written to, or cannot be read any more, since it was opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file changed while it was in use: {0}")]
pub struct MovieChanged(String);

impl fmt::Debug for Movie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Movie").field("size", &self.size).field("index", &self.index).finish_non_exhaustive()
    }
}

impl Movie {
    /// Finds the frames of a stream.
    ///
    /// # Errors
    /// As [`FrameIndex::scan`].
    pub fn parse(bytes: Bytes) -> Result<Self, ScanError> {
        Self::parse_at(bytes, None)
    }

    /// As [`parse`](Self::parse), with the frame rate of a stream that does not state its own.
    ///
    /// # Errors
    /// As [`FrameIndex::scan`].
    pub fn parse_at(bytes: Bytes, frame_rate: Option<FrameRate>) -> Result<Self, ScanError> {
        let (index, _) = FrameIndex::read(&bytes, frame_rate).map_err(of_memory)?;
        Ok(Self {
            size: bytes.len() as u64,
            stream: Source::Memory(bytes),
            changed: Arc::default(),
            version: None,
            index: Arc::new(index),
        })
    }

    /// Finds the frames of a file, which stays open: one of over 64 MiB is not kept in memory, and every frame is read
    /// when it is asked for. It must not change meanwhile; [`check`](Self::check) says whether it did.
    ///
    /// # Errors
    /// As [`FrameIndex::scan`], and when the file cannot be read.
    pub fn open(file: impl ReadAt + 'static) -> Result<Self, OpenError> {
        let size = file.length()?;
        if size <= IN_MEMORY {
            let mut bytes = vec![0; size as usize];
            file.read_exact_at(&mut bytes, 0)?;
            return Ok(Self::parse(bytes.into())?);
        }
        // Before it is read, so that nothing that is written meanwhile is missed.
        let version = file.version()?;
        let (index, _) = FrameIndex::read(&file, None)?;
        let index = Arc::new(index);
        Ok(Self { stream: Source::Read(Arc::new(file)), size, changed: Arc::default(), version, index })
    }

    /// Bytes of the whole stream.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The whole stream; that of a movie in memory is not copied, another is read into memory.
    ///
    /// Where it cannot be read any more, it is zeros, as a frame.
    pub fn to_bytes(&self) -> Bytes {
        self.range(|| "the stream".to_owned(), 0, self.size)
    }

    /// The bytes of frame `decode_index`, with the headers before its picture; of a movie in memory a reference, not a
    /// copy.
    ///
    /// Where the file was cut short, or cannot be read any more, since it was opened, it is so many zeros, and
    /// [`check`](Self::check) reports it: a sender that has no frame to send has nothing better to do.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn frame_bytes(&self, decode_index: usize) -> Bytes {
        let frame = &self.index.frames[decode_index];
        self.range(|| format!("frame {decode_index}"), frame.offset, frame.size.into())
    }

    /// Whether all that was asked of this movie, or of a copy of it, could be read, and its file is what it was when it was
    /// opened: one that was written to may have another content at the same length. To be asked when it has been used.
    ///
    /// # Errors
    /// When its file changed meanwhile; what could not be read first is named.
    pub fn check(&self) -> Result<(), MovieChanged> {
        if let Some(changed) = self.changed.get() {
            return Err(changed.clone());
        }
        match self.stream.version() {
            Ok(version) if version == self.version => Ok(()),
            Ok(_) => Err(MovieChanged("it was written to".to_owned())),
            Err(error) => Err(MovieChanged(error.to_string())),
        }
    }

    fn range(&self, what: impl Fn() -> String, start: u64, size: u64) -> Bytes {
        self.stream.range(start, size).unwrap_or_else(|error| {
            self.changed.get_or_init(|| MovieChanged(format!("{} cannot be read: {error}", what())));
            BytesMut::zeroed(size as usize).freeze()
        })
    }
}

/// A stream that ends inside a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutShort {
    /// The picture's frame, in decode order.
    pub frame: u32,
    /// Rows of macroblocks that it should have.
    pub rows: u32,
    /// The last row of which a slice is there; 0 when there is none.
    pub last_row: u32,
}

impl Movie {
    /// Whether the stream ends inside its last picture: some of its rows of macroblocks have no slice. Every row of a
    /// picture of MPEG-2 begins with one (ISO/IEC 13818-2, 6.1.2.2: the restricted slice structure of its profiles).
    ///
    /// A cut inside the very last slice is not seen, and MPEG-1, field pictures and pictures of over 2,800 lines (whose
    /// slices need an extension to state their row) are not judged.
    pub fn cut_short(&self) -> Option<CutShort> {
        let sequence = &self.index.sequence;
        let last = self.index.frames.last()?;
        if !sequence.mpeg2 || last.structure != PictureStructure::Frame || sequence.height > 2_800 {
            return None;
        }
        // An interlaced sequence has an even number of rows per field (ISO/IEC 13818-2, 6.3.3).
        let height = u32::from(sequence.height);
        let rows = if sequence.progressive { height.div_ceil(16) } else { 2 * height.div_ceil(32) };
        let bytes = self.frame_bytes(self.index.frames.len() - 1);
        let slices = bytes.windows(4).filter(|code| code[..3] == [0, 0, 1] && (0x01..=0xAF).contains(&code[3]));
        let last_row = slices.map(|code| u32::from(code[3])).max().unwrap_or(0);
        (last_row < rows).then_some(CutShort { frame: last.decode_index, rows, last_row })
    }
}

impl FrameIndex {
    /// Finds the frames of an elementary stream.
    ///
    /// Codecs are recognised by what their streams begin with, and MPEG video is what is left. Bytes before the first valid
    /// sequence header belong to no frame: the first frame's offset is their number.
    /// Damage is passed over; [`scan_with_summary`](Self::scan_with_summary) also returns what it was.
    ///
    /// # Errors
    /// When the stream is empty, is something else (which is named where it can be recognised), has no valid
    /// sequence header, no frame rate, no picture, a frame of 4 GiB or more, or more than 4,194,304 frames.
    pub fn scan(stream: &[u8]) -> Result<Self, ScanError> {
        Self::scan_with_summary(stream).map(|(index, _)| index)
    }

    /// As [`scan`](Self::scan), with what was wrong with the stream.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn scan_with_summary(stream: &[u8]) -> Result<(Self, ScanSummary), ScanError> {
        Self::read(&stream, None).map_err(of_memory)
    }

    /// Finds the frames of a stream that is read piece by piece; `frame_rate` is that of a stream that does not state its
    /// own.
    ///
    /// # Errors
    /// As [`scan`](Self::scan), and when it cannot be read.
    pub fn read(source: &impl ReadAt, frame_rate: Option<FrameRate>) -> Result<(Self, ScanSummary), OpenError> {
        let mut frames = Vec::new();
        let (summary, order) = read_frames(source, frame_rate, &mut |frame| {
            frames.push(frame);
            Ok(())
        })?;
        order.fill(&mut frames, summary.sequence.frame_rate);
        Ok((Self { sequence: summary.sequence, frames }, summary))
    }
}

/// Gives every access unit to `take` as it is found, in decode order, without its place in display order and its times:
/// these are known in the end. As [`FrameIndex::read`] besides.
pub(crate) fn read_frames(
    source: &impl ReadAt,
    frame_rate: Option<FrameRate>,
    take: &mut dyn FnMut(Frame) -> io::Result<()>,
) -> Result<(ScanSummary, DisplayOrder), OpenError> {
    let head = head_of(source)?;
    let codec = Codec::of_stream(&head).unwrap_or(Codec::MpegVideo);
    let guess = identify(&head);
    if let Some((format, offset)) = guess.filter(|(format, _)| !format.is_only_a_guess()) {
        return Err(ScanError::OtherFormat { format, offset }.into());
    }
    drop(head);
    coded_frames(source, codec, frame_rate, take).map_err(|error| match (error, guess) {
        (
            OpenError::Scan(ScanError::NotMpegVideo { .. } | ScanError::InvalidSequence { .. }),
            Some((format, offset)),
        ) => ScanError::OtherFormat { format, offset }.into(),
        (error, _) => error,
    })
}

/// Why bytes in memory are no movie.
pub(crate) fn of_memory(error: OpenError) -> ScanError {
    match error {
        OpenError::Scan(error) => error,
        OpenError::Io(error) => unreachable!("invariant: bytes in memory can be read: {error}"),
    }
}

/// The frame rate that a stream states in its headers before the first picture, or in the times of its first frames.
///
/// # Errors
/// When it cannot be read.
pub fn stated_frame_rate(source: &impl ReadAt) -> io::Result<Option<FrameRate>> {
    Ok(stated(&head_of(source)?).map(|sequence| sequence.frame_rate))
}

/// The codec of an elementary stream, by its beginning; `None` where nothing shows one.
///
/// # Errors
/// When it cannot be read.
pub fn codec_of(source: &impl ReadAt) -> io::Result<Option<Codec>> {
    let head = head_of(source)?;
    let has_sequence =
        || start_code::parts(&head).any(|part| part.first() == Some(&start_code::value::SEQUENCE_HEADER));
    Ok(Codec::of_stream(&head).or_else(|| has_sequence().then_some(Codec::MpegVideo)))
}

fn stated(head: &[u8]) -> Option<SequenceHeader> {
    let mut scanner = Scanner::of(Codec::of_stream(head).unwrap_or(Codec::MpegVideo))?;
    scanner.feed(head, &mut |_| {});
    scanner.finish(&mut |_| {}).ok().map(|summary| summary.sequence)
}

/// The beginning of a stream, or all of it.
pub(crate) fn head_of(source: &impl ReadAt) -> io::Result<Vec<u8>> {
    let mut head = vec![0; source.length()?.min(SEARCHED) as usize];
    source.read_exact_at(&mut head, 0)?;
    Ok(head)
}

/// Reads piece by piece and gives each to `take`, with how much was read by then, until that says no. Returns how much
/// was read.
pub(crate) fn for_each_chunk(source: &impl ReadAt, mut take: impl FnMut(&[u8], u64) -> bool) -> io::Result<u64> {
    let length = source.length()?;
    let mut chunk = vec![0; length.min(CHUNK as u64) as usize];
    let (mut read, mut goes_on) = (0, true);
    while read < length && goes_on {
        let next = &mut chunk[..(length - read).min(CHUNK as u64) as usize];
        source.read_exact_at(next, read)?;
        read += next.len() as u64;
        goes_on = take(next, read);
    }
    Ok(read)
}

/// Every access unit, as the scanner finds it. What is no movie is refused where that is known.
fn coded_frames(
    source: &impl ReadAt,
    codec: Codec,
    frame_rate: Option<FrameRate>,
    take: &mut dyn FnMut(Frame) -> io::Result<()>,
) -> Result<(ScanSummary, DisplayOrder), OpenError> {
    let (mut indexer, mut count) = ((codec.profile().indexer)(), 0);
    let mut next = |coded: &CodedFrame| -> Result<(), OpenError> {
        if count == MAX_FRAMES {
            return Err(ScanError::TooManyFrames { limit: MAX_FRAMES, offset: coded.offset }.into());
        }
        if coded.size > MAX_FRAME.into() {
            return Err(ScanError::FrameTooLarge { offset: coded.offset, size: coded.size }.into());
        }
        let mut frame = Frame::of(count, coded);
        indexer.take(&mut frame, coded, source)?;
        count += 1;
        Ok(take(frame)?)
    };
    let mut refused = None;
    let mut sink = |coded: CodedFrame| {
        if refused.is_none() {
            refused = next(&coded).err();
        }
        refused.is_some()
    };
    let mut scanner = Scanner::of(codec).expect("invariant: streams of a codec that is recognised are scanned");
    for_each_chunk(source, |chunk, read| {
        let mut stop = false;
        scanner.feed(chunk, &mut |frame| stop |= sink(frame));
        let goes_on = match scanner.last_frame() {
            None => read < SEARCHED,
            Some(begin) => read - begin <= u64::from(MAX_FRAME) + CHUNK as u64,
        };
        goes_on && !stop
    })?;
    let summary = scanner.finish_at(frame_rate, &mut |frame| _ = sink(frame));
    match refused {
        Some(error) => Err(error),
        None => Ok((summary?, indexer.order())),
    }
}
