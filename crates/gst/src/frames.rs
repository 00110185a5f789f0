//! Buffers as frames: what each refers to and how long it lasts, without a copy of its data. Where fields come one by
//! one, two buffers are a frame.

mod held;
mod preceding_headers;

use framewire_media::access_unit::{
    AccessUnit, AccessUnitError, AccessUnitReader, AssembledFrame, Codec, FrameAssembler, FramePart, Framing, KeyKind,
};
use framewire_media::timing::{GroupOrder, Pace, Times};
use framewire_media::{PictureType, StreamHeaders};
use framewire_transport::frame::{Dependencies, OutgoingFrame};
use framewire_transport::live::Numbering;
use framewire_units::Duration;
use framewire_wire::{rtp, rtp_payload};
use gst::prelude::*;

use crate::codec::Stream;
pub(crate) use held::Held;
use held::{inserted, sum};
pub(crate) use preceding_headers::{BufferError, PrecedingHeaders};

/// What a buffer is.
#[derive(Clone, Debug)]
pub(crate) enum Reading {
    /// A frame that may be dropped.
    Frame {
        /// The frame.
        frame: OutgoingFrame<Held>,
        /// Set when its headers could not be read; it then goes by the flags of its buffer.
        problem: Option<AccessUnitError>,
    },
    /// Headers without a picture, or a stream that is never dropped.
    Kept(Held),
}

/// What became whole with a buffer: nothing with the first field of a frame, and with what follows a field whose second
/// one did not come, the field as well.
pub(crate) type Readings = std::iter::Flatten<std::array::IntoIter<Option<Reading>, 2>>;

fn one(reading: Reading) -> Readings {
    [Some(reading), None].into_iter().flatten()
}

/// A buffer with an access unit, or one field.
#[derive(Clone, Debug)]
struct Piece {
    buffer: gst::Buffer,
    id: u32,
    /// How much further in time the stream is with it.
    step: Option<gst::ClockTime>,
    shown: Duration,
}

/// Reads the buffers of one stream, in order.
#[derive(Debug)]
pub(crate) struct FrameReader {
    source: Source,
    format: Option<(Codec, Framing)>,
    assembler: FrameAssembler<Piece>,
    /// Frames read, and buffers that are none, of every stream that the element has seen.
    buffers: u64,
    /// Key frames among them.
    groups: u64,
    numbering: Numbering,
    frame_duration: Option<gst::ClockTime>,
    order: GroupOrder,
    pace: Pace,
    /// The longest that a field waited for the second one of its frame, in time of the stream.
    field_wait: gst::ClockTime,
}

#[derive(Debug)]
enum Source {
    AccessUnits(Box<AccessUnitReader>, Option<StreamHeaders>),
    Flags,
    Whole,
}

impl FrameReader {
    /// A reader for the stream that caps describe. `before` is the reader that it replaces: ids go on from there. The
    /// error, if any, says what of the configuration could not be used; without a reader frames go by their flags.
    pub(crate) fn new(caps: &gst::CapsRef, stream: &Stream, before: Option<&Self>) -> (Self, Option<AccessUnitError>) {
        let (source, problem) = match stream {
            Stream::AccessUnits { codec, framing, configuration } => match AccessUnitReader::new(*codec, *framing) {
                Ok(mut reader) => {
                    let map = configuration.as_ref().and_then(|configuration| configuration.map_readable().ok());
                    // Where lengths stand before NAL units, the headers stand in the caps.
                    let mut headers = StreamHeaders::of(*codec).filter(|_| *framing == Framing::ByteStream);
                    if let (Some(headers), Some(map)) = (&mut headers, &map) {
                        headers.know(map);
                    }
                    let problem = map.and_then(|map| reader.configure(&map).err());
                    (Source::AccessUnits(Box::new(reader), headers), problem)
                }
                Err(problem) => (Source::Flags, Some(problem)),
            },
            Stream::Flags => (Source::Flags, None),
            Stream::Whole => (Source::Whole, None),
        };
        let format = match stream {
            Stream::AccessUnits { codec, framing, .. } => Some((*codec, *framing)),
            Stream::Flags | Stream::Whole => None,
        };
        let reader = Self {
            source,
            format,
            assembler: FrameAssembler::default(),
            buffers: before.map_or(0, |before| before.buffers),
            groups: before.map_or(0, |before| before.groups),
            numbering: Numbering::after(before.map(|before| &before.numbering)),
            frame_duration: frame_duration(caps),
            order: GroupOrder::default(),
            pace: Pace::default(),
            field_wait: before.map_or(gst::ClockTime::ZERO, |before| before.field_wait),
        };
        (reader, problem)
    }

    /// Forgets what came before, as after a flush. Ids go on.
    pub(crate) fn reset(&mut self) {
        if let Source::AccessUnits(reader, _) = &mut self.source {
            reader.reset();
        }
        self.assembler.reset();
        self.begin_segment();
    }

    /// The times before and after this have nothing to do with each other.
    pub(crate) fn begin_segment(&mut self) {
        self.pace.reset();
    }

    /// True when so many frames were read that ids should [begin again](Self::begin_again) as soon as nothing waits.
    pub(crate) fn is_long(&self) -> bool {
        self.numbering.is_long() && !self.assembler.holds_field()
    }

    /// Lets ids begin again with the next frame. What refers to frames before it then misses them.
    pub(crate) fn begin_again(&mut self) {
        self.numbering.begin_again();
    }

    /// Reads the next buffer. A key frame of a byte stream that lacks headers which came before gets them. The first
    /// field of a frame is held until the second one comes: what is given up is a whole frame. Headers that come in
    /// between are given at once, and so stand before the frame.
    pub(crate) fn read(&mut self, buffer: gst::Buffer) -> Readings {
        let step = self.pace.next(buffer.dts_or_pts().map(Duration::from)).map(clock_time);
        let id = self.numbering.take();
        let mut insertion = None;
        let unit = match &mut self.source {
            Source::Whole => return one(self.kept(buffer)),
            Source::Flags if buffer.flags().contains(gst::BufferFlags::HEADER) => return one(self.kept(buffer)),
            Source::Flags => None,
            Source::AccessUnits(reader, headers) => match buffer.map_readable() {
                Ok(map) => {
                    let unit = reader.read(&map);
                    insertion = headers.as_mut().and_then(|headers| headers.read(&map, &unit));
                    Some(unit)
                }
                Err(_) => None,
            },
        };
        let shown = self.shown(&buffer, unit.as_ref().and_then(|unit| unit.as_ref().ok()));
        let buffer = match insertion.map(|insertion| inserted(&buffer, insertion)) {
            Some(Ok(complete)) => complete,
            // A buffer that cannot be shared goes as it came.
            Some(Err(_)) | None => buffer,
        };
        let piece = Piece { buffer, id, step, shown };
        let readings = match unit {
            Some(Ok(unit)) => self.assembler.take(unit, piece).map(|frame| frame.map(|frame| self.assembled(frame))),
            Some(Err(AccessUnitError::NoPicture { .. })) => [Some(self.kept(piece.buffer)), None],
            other => {
                let before = self.release();
                let (kind, dependencies) = by_flags(&piece.buffer);
                let frame = self.frame(kind, dependencies, piece, None);
                [before, Some(Reading::Frame { frame, problem: other.and_then(Result::err) })]
            }
        };
        readings.into_iter().flatten()
    }

    /// The first field that is held, as a frame: what comes next does not complete it.
    pub(crate) fn release(&mut self) -> Option<Reading> {
        self.assembler.release().map(|frame| self.assembled(frame))
    }

    /// The longest that a field was held so far, in time of the stream: zero where frames come whole.
    pub(crate) fn field_wait(&self) -> gst::ClockTime {
        self.field_wait
    }

    fn assembled(&mut self, AssembledFrame { unit, first, second }: AssembledFrame<Piece>) -> Reading {
        if let Some(second) = &second {
            let half = self.frame_duration.map(|duration| duration / 2);
            let wait = second.step.or(first.buffer.duration()).or(half);
            self.field_wait = self.field_wait.max(wait.unwrap_or(gst::ClockTime::ZERO));
        }
        let (kind, dependencies) = (unit.kind, self.dependencies(unit));
        Reading::Frame { frame: self.frame(kind, dependencies, first, second), problem: None }
    }

    fn kept(&mut self, buffer: gst::Buffer) -> Reading {
        let lasts = nanos(buffer.duration().or(self.frame_duration));
        Reading::Kept(Held {
            buffer,
            second_field: None,
            number: self.next_number(),
            group: self.groups,
            lasts,
            format: self.format,
        })
    }

    fn frame(
        &mut self,
        kind: PictureType,
        dependencies: Dependencies,
        first: Piece,
        second: Option<Piece>,
    ) -> OutgoingFrame<Held> {
        self.groups += u64::from(dependencies.key.is_some());
        let step = sum(first.step, second.as_ref().and_then(|second| second.step));
        let mut held = Held {
            buffer: first.buffer,
            second_field: second.map(|second| second.buffer),
            number: self.next_number(),
            group: self.groups,
            lasts: Duration::ZERO,
            format: self.format,
        };
        let lasts = held.duration().or(self.frame_duration);
        held.lasts = nanos(lasts);
        OutgoingFrame {
            id: first.id,
            kind,
            dependencies,
            // By its time stamps, else as long as it lasts.
            duration: nanos(step.or(lasts)),
            rtp_timestamp: rtp::timestamp(first.shown, rtp_payload::CLOCK_RATE),
            decode_timestamp: rtp::timestamp(first.shown, rtp_payload::CLOCK_RATE),
            bytes: held,
        }
    }

    fn next_number(&mut self) -> u64 {
        let number = self.buffers;
        self.buffers += 1;
        number
    }

    /// When the frame is shown. A parser of MPEG video may know decode times only; then the frame's number in its group
    /// tells.
    fn shown(&mut self, buffer: &gst::BufferRef, unit: Option<&AccessUnit>) -> Duration {
        let is_mpeg = matches!(&self.source, Source::AccessUnits(reader, _) if reader.codec() == Codec::MpegVideo);
        // A second field has the place of its frame.
        let place = unit.filter(|unit| is_mpeg && unit.part != FramePart::SecondField).and_then(|unit| {
            if unit.gop_header.is_some() {
                self.order.begin_group();
            }
            let reference = u16::try_from(unit.display_order?).ok()?;
            Some(self.order.place(unit.kind, reference))
        });
        let nanos = |time: gst::ClockTime| i64::try_from(time.nseconds()).unwrap_or(i64::MAX);
        let later = place
            .zip(self.frame_duration)
            .map_or(0, |(place, duration)| (place.shown - place.sent).saturating_mul(nanos(duration)));
        let shown = buffer.pts().map(nanos).or_else(|| Some(nanos(buffer.dts()?).saturating_add(later)));
        Duration::from_nanos(u64::try_from(shown.unwrap_or(0)).unwrap_or(0))
    }

    fn dependencies(&self, unit: AccessUnit) -> Dependencies {
        let references: Vec<u32> = unit.references.iter().filter_map(|&unit| self.numbering.id_of(unit)).collect();
        Dependencies {
            key: unit.key,
            leading: unit.leading,
            referenced: unit.referenced,
            temporal_layer: unit.temporal_layer,
            missing_reference: unit.missing_reference || references.len() < unit.references.len(),
            picture_order: unit.picture_order,
            begins_recovery: unit.recovery.begins(),
            recovers_from: unit.recovery.since(unit.number).and_then(|unit| self.numbering.id_of(unit)),
            references: Some(references),
            ..Dependencies::default()
        }
    }
}

/// What a buffer says of its times.
pub(crate) fn times(buffer: &gst::BufferRef) -> Times {
    Times {
        pts: buffer.pts().map(Duration::from),
        dts: buffer.dts().map(Duration::from),
        duration: buffer.duration().map(Duration::from),
    }
}

/// As GStreamer counts time: the longest that it can express is 584 years.
pub(crate) fn clock_time(time: Duration) -> gst::ClockTime {
    gst::ClockTime::try_from(time).unwrap_or(gst::ClockTime::MAX)
}

fn nanos(time: Option<gst::ClockTime>) -> Duration {
    Duration::from_nanos(time.map_or(0, gst::ClockTime::nseconds))
}

/// Whether an event ends the frame before it: a second field that comes behind it belongs to another frame. What is
/// only announced in between (tags, for instance) does not.
pub(crate) fn ends_frame(kind: gst::EventType) -> bool {
    matches!(
        kind,
        gst::EventType::StreamStart
            | gst::EventType::Caps
            | gst::EventType::Segment
            | gst::EventType::SegmentDone
            | gst::EventType::StreamGroupDone
            | gst::EventType::Gap
            | gst::EventType::Eos
    )
}

/// What the flags of a buffer say of its frame.
pub(crate) fn by_flags(buffer: &gst::BufferRef) -> (PictureType, Dependencies) {
    let flags = buffer.flags();
    let kind = if !flags.contains(gst::BufferFlags::DELTA_UNIT) {
        PictureType::I
    } else if flags.contains(gst::BufferFlags::DROPPABLE) {
        PictureType::B
    } else {
        PictureType::P
    };
    let key = (kind == PictureType::I).then_some(KeyKind::Closed);
    let references = key.map(|_| vec![]);
    let dependencies = Dependencies { key, referenced: kind != PictureType::B, references, ..Dependencies::default() };
    (kind, dependencies)
}

/// One frame at the rate that caps give; `None` for a variable rate, which they write as 0/1.
fn frame_duration(caps: &gst::CapsRef) -> Option<gst::ClockTime> {
    let rate = caps.structure(0)?.get::<gst::Fraction>("framerate").ok()?;
    let (frames, seconds) = (u64::try_from(rate.numer()).ok()?, u64::try_from(rate.denom()).ok()?);
    // Division by zero is a panic in GStreamer.
    if frames == 0 {
        return None;
    }
    gst::ClockTime::SECOND.mul_div_round(seconds, frames)
}
