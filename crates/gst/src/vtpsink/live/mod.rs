//! Levels that are encoded while they are sent: a stream on each request pad, aligned frame by frame, in a window of
//! whole groups of pictures from which clients are served.
//!
//! Whether the streams are one movie, what of them can be sent and at which rates is decided by `framewire_adaptive::live`;
//! this file reads buffers. The element's pads stand in `pads`.

mod pads;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use framewire_adaptive::live::{Alignment, LevelFrame, Limits, LiveSource, Misaligned, Names, Taken, WindowState};
use framewire_media::access_unit::{Codec, Framing};
use framewire_units::Duration;

use crate::codec::{Stream, Unusable};
use crate::frames::{BufferError, FrameReader, PrecedingHeaders, Reading};

pub(super) use pads::{number_of, template};

/// What levels and their limits are called here.
const PADS: Names = Names { level: "pad sink_", time: "max-size-time", bytes: "max-size-bytes" };

/// Why the levels cannot be served any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// What caps state of a pad, or that none came.
    Caps { pad: u32, reason: String },
    /// The levels are not one movie.
    Misaligned(Misaligned),
    /// The bytes of a buffer are of no use.
    Data { pad: u32, reason: &'static str },
    /// A level was taken away.
    Released { pad: u32 },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caps { pad, reason } => write!(f, "pad sink_{pad}: {reason}"),
            Self::Misaligned(misaligned) => f.write_str(&misaligned.words(&PADS)),
            Self::Data { pad, reason } => write!(f, "pad sink_{pad}: {reason}"),
            Self::Released { pad } => {
                write!(f, "pad sink_{pad} was released while its level is streamed: levels are all there to the end")
            }
        }
    }
}

impl From<Misaligned> for Refusal {
    fn from(misaligned: Misaligned) -> Self {
        Self::Misaligned(misaligned)
    }
}

/// What a buffer brought about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// There is more to send.
    pub more: bool,
    /// Frames of a group that was longer than the window: a key frame would end that.
    pub given_up: Option<usize>,
}

/// What is known of the levels.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveState {
    pub window: WindowState,
    /// Frames, of all levels, before they were together.
    pub skipped: u64,
    /// Frames and bytes that wait for other levels.
    pub waiting: (usize, u64),
}

/// The levels as they come in.
pub(super) struct Live {
    source: Arc<LiveSource>,
    alignment: Alignment,
    inputs: BTreeMap<u32, Input>,
    /// It cannot go on, and why is reported.
    refused: bool,
}

#[derive(Default)]
struct Input {
    reader: Option<FrameReader>,
    movie: Option<Movie>,
    segment: Option<gst::FormattedSegment<gst::ClockTime>>,
    /// Headers that came without a picture: they travel with the next one.
    headers: PrecedingHeaders,
}

/// What levels have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Movie {
    codec: Codec,
    size: Option<(i32, i32)>,
    rate: Option<gst::Fraction>,
}

impl Live {
    /// Levels by the numbers of their pads.
    pub(crate) fn new(pads: impl IntoIterator<Item = u32>, payload: u16, limits: Limits) -> Self {
        let source = Arc::new(LiveSource::new(payload, limits));
        let (alignment, inputs) = (Alignment::new(limits), BTreeMap::new());
        let mut live = Self { source, alignment, inputs, refused: false };
        for pad in pads {
            live.add(pad);
        }
        live
    }

    /// Another level. False when it comes too late.
    pub(crate) fn add(&mut self, pad: u32) -> bool {
        let is_in_time = self.alignment.add(pad);
        if is_in_time {
            self.inputs.insert(pad, Input::default());
        }
        is_in_time
    }

    /// A level less.
    ///
    /// # Errors
    /// When it is being streamed.
    pub(crate) fn remove(&mut self, pad: u32) -> Result<(), Refusal> {
        let was_there = self.inputs.remove(&pad).is_some();
        if self.alignment.remove(pad) || !was_there { Ok(()) } else { Err(Refusal::Released { pad }) }
    }

    /// What clients are served from.
    pub(crate) fn source(&self) -> &Arc<LiveSource> {
        &self.source
    }

    /// Nothing more is taken, as something was refused.
    pub(crate) fn refuse(&mut self) {
        self.refused = true;
    }

    /// Whether something was refused.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    pub(crate) fn state(&self) -> LiveState {
        LiveState { window: self.source.state(), skipped: self.alignment.skipped(), waiting: self.alignment.waiting() }
    }

    /// New caps of a level. The string, if any, says what of them could not be used.
    ///
    /// # Errors
    /// When they are no level of this movie.
    pub(crate) fn caps(&mut self, pad: u32, caps: &gst::CapsRef) -> Result<Option<String>, Refusal> {
        self.release_field(pad)?;
        let refused = |reason: String| Refusal::Caps { pad, reason };
        let stream = Stream::of(caps).map_err(|Unusable { reason }| refused(reason))?;
        let movie = Movie::of(caps, &stream).map_err(refused)?;
        let differs = |(&other, input): (&u32, &Input)| Some((other, input.movie.filter(|known| *known != movie)?));
        if let Some((other, known)) = self.inputs.iter().filter(|&(&other, _)| other != pad).find_map(differs) {
            return Err(refused(format!("{movie}, and pad sink_{other} has {known}: levels of a movie have the same")));
        }
        let Some(input) = self.inputs.get_mut(&pad) else { return Ok(None) };
        if let Some(known) = input.movie.filter(|known| *known != movie) {
            return Err(refused(format!("{known} became {movie}: clients cannot be told of that in a session")));
        }
        let (reader, problem) = FrameReader::new(caps, &stream, input.reader.as_ref());
        (input.reader, input.movie) = (Some(reader), Some(movie));
        if let Some(interval) = movie.interval() {
            self.source.set_interval(interval);
        }
        Ok(problem.map(|problem| problem.to_string()))
    }

    /// A new segment of a level.
    pub(crate) fn segment(&mut self, pad: u32, segment: &gst::Segment) {
        if let Some(input) = self.inputs.get_mut(&pad) {
            input.segment = segment.downcast_ref().cloned();
            if let Some(reader) = &mut input.reader {
                reader.begin_segment();
            }
        }
    }

    /// A buffer of a level.
    ///
    /// # Errors
    /// When the levels cannot be served any further.
    pub(crate) fn buffer(&mut self, pad: u32, buffer: gst::Buffer) -> Result<Progress, Refusal> {
        let Some(input) = self.inputs.get_mut(&pad) else { return Ok(Progress::default()) };
        let frames = input.read(pad, buffer)?;
        self.push(pad, frames)
    }

    fn push(&mut self, pad: u32, frames: Vec<LevelFrame>) -> Result<Progress, Refusal> {
        let mut progress = Progress::default();
        for frame in frames {
            for row in self.alignment.push(pad, frame)? {
                match self.source.push(row) {
                    Taken::GroupComplete => progress.more = true,
                    Taken::GivenUp { frames } => progress.given_up = Some(frames),
                    Taken::Kept | Taken::Skipped => {}
                }
            }
        }
        Ok(progress)
    }

    /// Lets go of a first field whose second one does not come.
    fn release_field(&mut self, pad: u32) -> Result<(), Refusal> {
        let Some(input) = self.inputs.get_mut(&pad) else { return Ok(()) };
        let frames = input.release(pad)?;
        self.push(pad, frames).map(drop)
    }

    /// A level ends. True when all have.
    ///
    /// # Errors
    /// When another one has gone on.
    pub(crate) fn end(&mut self, pad: u32) -> Result<bool, Refusal> {
        self.release_field(pad)?;
        let is_over = self.alignment.end(pad)?;
        if is_over {
            self.source.end();
        }
        Ok(is_over)
    }

    /// A level was flushed: all have to find each other again. True when a group ended by that.
    pub(crate) fn flush(&mut self, pad: u32) -> bool {
        if let Some(input) = self.inputs.get_mut(&pad) {
            if let Some(reader) = &mut input.reader {
                reader.reset();
            }
            input.segment = None;
            input.headers.take();
        }
        self.alignment.begin_again();
        self.source.end_group()
    }
}

impl Input {
    /// The frames that are whole with a buffer; none of headers, which go with the next.
    fn read(&mut self, pad: u32, buffer: gst::Buffer) -> Result<Vec<LevelFrame>, Refusal> {
        let Some(reader) = &mut self.reader else {
            return Err(Refusal::Caps { pad, reason: Unusable::without_caps().reason });
        };
        let readings = reader.read(buffer);
        self.frames(pad, readings)
    }

    /// The first field that is held, as a frame.
    fn release(&mut self, pad: u32) -> Result<Vec<LevelFrame>, Refusal> {
        let held = self.reader.as_mut().and_then(FrameReader::release);
        self.frames(pad, held)
    }

    fn frames(&mut self, pad: u32, readings: impl IntoIterator<Item = Reading>) -> Result<Vec<LevelFrame>, Refusal> {
        let refusal = |error: BufferError| Refusal::Data { pad, reason: error.reason() };
        let mut frames = vec![];
        for reading in readings {
            match reading {
                Reading::Kept(held) => self.headers.keep(&held.buffer).map_err(refusal)?,
                Reading::Frame { frame, .. } => {
                    let time = frame.bytes.buffer.pts().or(frame.bytes.buffer.dts());
                    let running = match &self.segment {
                        Some(segment) => time.and_then(|time| running_time(segment, time)),
                        None => time,
                    };
                    let bytes = self.headers.before(&frame.bytes).map_err(refusal)?;
                    let key = frame.dependencies.key;
                    frames.push(LevelFrame { time: running.map(Duration::from), key, bytes });
                }
            }
        }
        Ok(frames)
    }
}

/// Frames that are decoded before the segment begins have none.
fn running_time(segment: &gst::FormattedSegment<gst::ClockTime>, time: gst::ClockTime) -> Option<gst::ClockTime> {
    match segment.to_running_time_full(time)? {
        gst::Signed::Positive(time) => Some(time),
        gst::Signed::Negative(_) => None,
    }
}

impl Movie {
    fn of(caps: &gst::CapsRef, stream: &Stream) -> Result<Self, String> {
        let name = || caps.structure(0).map_or("caps", |structure| structure.name().as_str());
        let codec = match stream {
            Stream::AccessUnits { codec, framing: Framing::LengthPrefixed(_), .. } => {
                let parser = if *codec == Codec::H264 { "h264parse" } else { "h265parse" };
                return Err(format!(
                    "{} with lengths before its NAL units is no byte stream: put {parser} before this element, which \
                     then chooses stream-format=byte-stream",
                    name()
                ));
            }
            Stream::AccessUnits { codec: codec @ (Codec::Mpeg4Part2 | Codec::H264 | Codec::H265), .. } => *codec,
            Stream::AccessUnits { .. } | Stream::Flags | Stream::Whole => {
                return Err(format!("{}: levels are MPEG-4 part 2, H.264 or H.265", name()));
            }
        };
        let structure = caps.structure(0);
        let number = |field| structure.and_then(|structure| structure.get::<i32>(field).ok());
        let rate = structure.and_then(|structure| structure.get::<gst::Fraction>("framerate").ok());
        Ok(Self { codec, size: number("width").zip(number("height")), rate: rate.filter(|rate| rate.numer() > 0) })
    }

    fn interval(&self) -> Option<Duration> {
        let rate = self.rate?;
        let (frames, seconds) = (u32::try_from(rate.numer()).ok()?, u32::try_from(rate.denom()).ok()?);
        (frames > 0).then(|| Duration::from_secs(seconds.into()) / frames)
    }
}

impl fmt::Display for Movie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.codec)?;
        if let Some((width, height)) = self.size {
            write!(f, " of {width}x{height}")?;
        }
        self.rate.map_or(Ok(()), |rate| write!(f, " at {}/{} frames per second", rate.numer(), rate.denom()))
    }
}
