//! Buffers as frames: what each refers to and how long it lasts, without a copy of its data. Where fields come one by
//! one, two buffers are a frame.

mod numbering;
mod pace;

use framewire_media::PictureType;
use framewire_media::access_unit::{
    AccessUnit, AccessUnitError, AccessUnitReader, AssembledFrame, Codec, FrameAssembler, FramePart, Framing, KeyKind,
};
use framewire_media::picture_order::{self, PictureNumbers, Renumbering};
use framewire_transport::frame::{Dependencies, OutgoingFrame, Payload};
use framewire_units::Duration;
use framewire_wire::{mpeg_video, rtp};
use gst::glib;
use gst::prelude::*;

use crate::codec::Stream;
use crate::group_order::GroupOrder;
use crate::headers::{Headers, Insertion};
use numbering::Numbering;
use pace::Pace;

/// A frame on its way through a frame queue, or a buffer that is never dropped. The queue looks at its size only.
#[derive(Clone, Debug)]
pub struct Held {
    /// The buffer, as it came.
    pub buffer: gst::Buffer,
    /// The buffer of its second field, where fields come one by one.
    pub second_field: Option<gst::Buffer>,
    /// How many frames, and buffers that are none, came before it, since the element started.
    pub number: u64,
    /// How many key frames came before it, or with it.
    pub group: u64,
    /// How long it lasts by itself, as its buffers say, or else the caps; zero where neither does. Its place in a
    /// stream may be longer: [`OutgoingFrame::duration`] is how much further the stream is with it.
    pub lasts: Duration,
    /// How the parts of an access unit are told apart; `None` of what is not read.
    pub framing: Option<Framing>,
}

impl Held {
    /// Its buffers, in order.
    pub fn buffers(&self) -> impl Iterator<Item = &gst::Buffer> {
        std::iter::once(&self.buffer).chain(&self.second_field)
    }

    /// How long it lasts, as its buffers say.
    pub fn duration(&self) -> Option<gst::ClockTime> {
        sum(self.buffer.duration(), self.second_field.as_ref().and_then(|buffer| buffer.duration()))
    }

    /// The time that a frame adds to those that wait. The first of them adds no more than it lasts: nothing waits for
    /// the time before it, which may have been a long pause.
    pub fn time_behind(&self, nothing_waits: bool, duration: Duration) -> Duration {
        if nothing_waits { duration.min(self.lasts) } else { duration }
    }
}

impl Payload for Held {
    fn size(&self) -> u64 {
        self.buffers().map(|buffer| buffer.size() as u64).sum()
    }

    fn begin_sequence(&mut self) {
        let Some(framing) = self.framing else { return };
        if let Some(changed) = changed(&self.buffer, |unit| picture_order::begin_sequence(unit, framing)) {
            self.buffer = changed;
        }
    }

    fn renumber(&mut self, numbers: PictureNumbers, by: Renumbering) -> bool {
        let Some(framing) = self.framing else { return false };
        let renumbered = |buffer| changed(buffer, |unit| picture_order::renumber(unit, framing, numbers, by));
        let second_field = self.second_field.as_ref().map(renumbered);
        match (renumbered(&self.buffer), second_field) {
            (Some(buffer), None) => self.buffer = buffer,
            (Some(buffer), Some(Some(second_field))) => {
                (self.buffer, self.second_field) = (buffer, Some(second_field));
            }
            _ => return false,
        }
        true
    }
}

/// A buffer with other bytes; `None` where there are none, or where it cannot be shared.
fn changed(buffer: &gst::Buffer, change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Option<gst::Buffer> {
    let bytes = buffer.map_readable().ok().and_then(|map| change(&map))?;
    let mut whole = gst::Buffer::from_mut_slice(bytes);
    buffer.copy_into(whole.make_mut(), all_but_memory(), ..).ok()?;
    Some(whole)
}

/// What a buffer is.
#[derive(Clone, Debug)]
pub enum Reading {
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
pub type Readings = std::iter::Flatten<std::array::IntoIter<Option<Reading>, 2>>;

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
pub struct FrameReader {
    source: Source,
    framing: Option<Framing>,
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
    AccessUnits(Box<AccessUnitReader>, Option<Headers>),
    Flags,
    Whole,
}

impl FrameReader {
    /// A reader for the stream that caps describe. `before` is the reader that it replaces: ids go on from there. The
    /// error, if any, says what of the configuration could not be used; without a reader frames go by their flags.
    pub fn new(caps: &gst::CapsRef, stream: &Stream, before: Option<&Self>) -> (Self, Option<AccessUnitError>) {
        let (source, problem) = match stream {
            Stream::AccessUnits { codec, framing, configuration } => match AccessUnitReader::new(*codec, *framing) {
                Ok(mut reader) => {
                    let map = configuration.as_ref().and_then(|configuration| configuration.map_readable().ok());
                    // Where lengths stand before NAL units, the headers stand in the caps.
                    let mut headers = Headers::of(*codec).filter(|_| *framing == Framing::ByteStream);
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
        let next_id = before.map_or(0, |before| before.numbering.next_id);
        let framing = match stream {
            Stream::AccessUnits { framing, .. } => Some(*framing),
            Stream::Flags | Stream::Whole => None,
        };
        let reader = Self {
            source,
            framing,
            assembler: FrameAssembler::default(),
            buffers: before.map_or(0, |before| before.buffers),
            groups: before.map_or(0, |before| before.groups),
            numbering: Numbering { next_id, first_id: next_id, first_unit: 0 },
            frame_duration: frame_duration(caps),
            order: GroupOrder::default(),
            pace: Pace::default(),
            field_wait: before.map_or(gst::ClockTime::ZERO, |before| before.field_wait),
        };
        (reader, problem)
    }

    /// True when no buffer of this stream is ever dropped.
    pub fn is_whole(&self) -> bool {
        matches!(self.source, Source::Whole)
    }

    /// Forgets what came before, as after a flush. Ids go on.
    pub fn reset(&mut self) {
        if let Source::AccessUnits(reader, _) = &mut self.source {
            reader.reset();
        }
        self.assembler.reset();
        self.begin_segment();
    }

    /// The times before and after this have nothing to do with each other.
    pub fn begin_segment(&mut self) {
        self.pace.reset();
    }

    /// True when so many frames were read that ids should [begin again](Self::begin_again) as soon as nothing waits.
    pub fn is_long(&self) -> bool {
        self.numbering.next_id >= numbering::RENUMBER_FROM && !self.assembler.holds_field()
    }

    /// Lets ids begin again with the next frame. What refers to frames before it then misses them.
    pub fn begin_again(&mut self) {
        self.numbering.begin_again();
    }

    /// Reads the next buffer. A key frame of a byte stream that lacks headers which came before gets them. The first
    /// field of a frame is held until the second one comes: what is given up is a whole frame. Headers that come in
    /// between are given at once, and so stand before the frame.
    pub fn read(&mut self, buffer: gst::Buffer) -> Readings {
        let step = self.pace.next(buffer.dts_or_pts());
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
    pub fn release(&mut self) -> Option<Reading> {
        self.assembler.release().map(|frame| self.assembled(frame))
    }

    /// The longest that a field was held so far, in time of the stream: zero where frames come whole.
    pub fn field_wait(&self) -> gst::ClockTime {
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
            framing: self.framing,
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
            framing: self.framing,
        };
        let lasts = held.duration().or(self.frame_duration);
        held.lasts = nanos(lasts);
        OutgoingFrame {
            id: first.id,
            kind,
            dependencies,
            // By its time stamps, else as long as it lasts.
            duration: nanos(step.or(lasts)),
            rtp_timestamp: rtp::timestamp(first.shown, mpeg_video::CLOCK_RATE),
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

/// Of both fields, as far as it is known.
fn sum(first: Option<gst::ClockTime>, second: Option<gst::ClockTime>) -> Option<gst::ClockTime> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.saturating_add(second)),
        (first, second) => first.or(second),
    }
}

fn nanos(time: Option<gst::ClockTime>) -> Duration {
    Duration::from_nanos(time.map_or(0, gst::ClockTime::nseconds))
}

/// Whether an event ends the frame before it: a second field that comes behind it belongs to another frame. What is
/// only told in between (tags, for instance) does not.
pub fn ends_frame(kind: gst::EventType) -> bool {
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

/// A buffer with bytes in its middle. Its data is shared, not copied.
fn inserted(buffer: &gst::BufferRef, Insertion { at, bytes }: Insertion) -> Result<gst::Buffer, glib::BoolError> {
    let mut whole = gst::Buffer::new();
    let into = whole.make_mut();
    buffer.copy_into(into, all_but_memory(), ..)?;
    if at > 0 {
        buffer.copy_into(into, gst::BufferCopyFlags::MEMORY, ..at)?;
    }
    into.append_memory(gst::Memory::from_slice(bytes));
    if at < buffer.size() {
        buffer.copy_into(into, gst::BufferCopyFlags::MEMORY, at..)?;
    }
    Ok(whole)
}

fn all_but_memory() -> gst::BufferCopyFlags {
    gst::BufferCopyFlags::all() - gst::BufferCopyFlags::MEMORY - gst::BufferCopyFlags::DEEP
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_inserted_anywhere_and_nothing_else_changes() {
        gst::init().expect("GStreamer starts");
        let mut buffer = gst::Buffer::from_slice([1_u8, 2, 3, 4]);
        let fields = buffer.make_mut();
        fields.set_pts(gst::ClockTime::from_mseconds(7));
        fields.set_duration(gst::ClockTime::from_mseconds(40));
        fields.set_flags(gst::BufferFlags::DELTA_UNIT);
        for (at, expected) in [(0, [9, 8, 1, 2, 3, 4]), (2, [1, 2, 9, 8, 3, 4]), (4, [1, 2, 3, 4, 9, 8])] {
            let whole = inserted(&buffer, Insertion { at, bytes: vec![9, 8] }).unwrap();
            assert_eq!(whole.map_readable().unwrap().as_slice(), expected);
            assert_eq!((whole.pts(), whole.duration()), (buffer.pts(), buffer.duration()));
            assert!(whole.flags().contains(gst::BufferFlags::DELTA_UNIT));
        }
    }
}
