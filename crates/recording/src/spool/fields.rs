//! Records as bytes: field by field, little-endian. The bytes are read by the process that wrote them and no other.

use std::num::NonZeroU32;

use framewire_media::held_references::ReferenceMarks;
use framewire_media::picture_order::{Entry, OutputRule, PictureNumbers, PictureOrder, Renumbering};
use framewire_units::{Bitrate, Duration, Timestamp};

use crate::ledger::{Arrival, Crossing, Delay, Fate, FrameRow, InOrder, RootCause, Verdict};
use crate::record::{
    DatagramReceived, DatagramSent, FlowSample, FrameEvent, FrameEventKind, FrameFacts, HandedOn, LossPlace,
    PacketRecord, ReleaseRecord, StreamRead,
};

/// What can be kept in a [`Spool`](super::Spool).
pub trait Spooled: Sized {
    /// Appends it.
    fn write(&self, output: &mut Output<'_>);

    /// Takes one, as [`write`](Self::write) wrote it, from the front.
    fn read(input: &mut Input<'_>) -> Self;
}

/// Bytes in the making. Texts of the program's own are written as numbers.
#[derive(Debug)]
pub struct Output<'a> {
    bytes: Vec<u8>,
    names: &'a mut Vec<&'static str>,
}

impl<'a> Output<'a> {
    pub(super) fn new(names: &'a mut Vec<&'static str>) -> Self {
        Self { bytes: Vec::new(), names }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bytes to be read.
#[derive(Debug)]
pub struct Input<'a> {
    bytes: &'a [u8],
    names: &'a [&'static str],
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8], names: &'a [&'static str]) -> Self {
        Self { bytes, names }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.bytes.split_first_chunk().expect("invariant: a block holds whole records");
        self.bytes = rest;
        *taken
    }
}

macro_rules! numbers {
    ($($number:ty),*) => { $(
        impl Spooled for $number {
            fn write(&self, output: &mut Output<'_>) {
                output.bytes.extend_from_slice(&self.to_le_bytes());
            }
            fn read(input: &mut Input<'_>) -> Self {
                Self::from_le_bytes(input.take())
            }
        }
    )* };
}

numbers!(u8, u16, u32, u64, i64);

impl Spooled for bool {
    fn write(&self, output: &mut Output<'_>) {
        u8::from(*self).write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        u8::read(input) != 0
    }
}

impl Spooled for Timestamp {
    fn write(&self, output: &mut Output<'_>) {
        self.as_nanos().write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        Self::from_nanos(u64::read(input))
    }
}

impl Spooled for Duration {
    fn write(&self, output: &mut Output<'_>) {
        (self.as_secs(), self.subsec_nanos()).write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        let (seconds, nanos) = Spooled::read(input);
        Self::new(seconds, nanos)
    }
}

impl Spooled for Bitrate {
    fn write(&self, output: &mut Output<'_>) {
        self.as_bps().write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        Self::from_bps(u64::read(input))
    }
}

/// There are a dozen of them: protocols, hops, causes.
impl Spooled for &'static str {
    fn write(&self, output: &mut Output<'_>) {
        let known = output.names.iter().position(|name| name == self);
        let number = known.unwrap_or_else(|| {
            output.names.push(self);
            output.names.len() - 1
        });
        u16::try_from(number).expect("invariant: the program has few names").write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        input.names[usize::from(u16::read(input))]
    }
}

/// What there are a few of, each by its place in the list of all.
macro_rules! listed {
    ($($kind:ty),*) => { $(
        impl Spooled for $kind {
            fn write(&self, output: &mut Output<'_>) {
                let number = Self::ALL.iter().position(|one| one == self).expect("invariant: all are listed");
                (number as u8).write(output);
            }
            fn read(input: &mut Input<'_>) -> Self {
                Self::ALL[usize::from(u8::read(input))]
            }
        }
    )* };
}

listed!(LossPlace, Fate);

impl Spooled for char {
    fn write(&self, output: &mut Output<'_>) {
        u32::from(*self).write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        Self::from_u32(u32::read(input)).expect("invariant: it was written as one")
    }
}

impl Spooled for NonZeroU32 {
    fn write(&self, output: &mut Output<'_>) {
        self.get().write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        Self::new(u32::read(input)).expect("invariant: it was written as one")
    }
}

impl Spooled for Verdict {
    fn write(&self, output: &mut Output<'_>) {
        match *self {
            Self::Dropped(at, place, cause) => (true, at, (place, cause)).write(output),
            Self::Delivered(at, hop) => (false, at, hop).write(output),
        }
    }

    fn read(input: &mut Input<'_>) -> Self {
        let (is_dropped, at) = Spooled::read(input);
        if is_dropped {
            return Self::Dropped(at, Spooled::read(input), Spooled::read(input));
        }
        Self::Delivered(at, Spooled::read(input))
    }
}

/// A text that is not the program's own.
impl Spooled for String {
    fn write(&self, output: &mut Output<'_>) {
        (self.len() as u32).write(output);
        output.bytes.extend_from_slice(self.as_bytes());
    }

    fn read(input: &mut Input<'_>) -> Self {
        let length = u32::read(input) as usize;
        let (text, rest) = input.bytes.split_at(length);
        input.bytes = rest;
        Self::from_utf8(text.to_vec()).expect("invariant: it was written as one")
    }
}

impl Spooled for FrameEventKind {
    fn write(&self, output: &mut Output<'_>) {
        let number: u8 = match self {
            Self::Offered => 0,
            Self::Queued => 1,
            Self::FirstByte => 2,
            Self::BeginsSequence => 3,
            Self::LastByte => 4,
            Self::Discarded { .. } => 5,
        };
        number.write(output);
        if let Self::Discarded { place, rule } = self {
            place.write(output);
            rule.write(output);
        }
    }

    fn read(input: &mut Input<'_>) -> Self {
        match u8::read(input) {
            0 => Self::Offered,
            1 => Self::Queued,
            2 => Self::FirstByte,
            3 => Self::BeginsSequence,
            4 => Self::LastByte,
            _ => Self::Discarded { place: Spooled::read(input), rule: Spooled::read(input) },
        }
    }
}

impl Spooled for OutputRule {
    fn write(&self, output: &mut Output<'_>) {
        match *self {
            Self::H264 { reordered, entry } => (true, entry, reordered).write(output),
            Self::H265 { reordered, entry, keeps } => (false, entry, (reordered, keeps)).write(output),
        }
    }

    fn read(input: &mut Input<'_>) -> Self {
        let (is_h264, entry) = Spooled::read(input);
        if is_h264 {
            return Self::H264 { reordered: Spooled::read(input), entry };
        }
        let (reordered, keeps) = Spooled::read(input);
        Self::H265 { reordered, entry, keeps }
    }
}

impl Spooled for Entry {
    fn write(&self, output: &mut Output<'_>) {
        (*self as u8).write(output);
    }

    fn read(input: &mut Input<'_>) -> Self {
        match u8::read(input) {
            0 => Self::Closed,
            1 => Self::Open,
            2 => Self::SkippedReference,
            3 => Self::Skipped,
            _ => Self::Inside,
        }
    }
}

impl<T: Spooled> Spooled for Option<T> {
    fn write(&self, output: &mut Output<'_>) {
        self.is_some().write(output);
        if let Some(value) = self {
            value.write(output);
        }
    }

    fn read(input: &mut Input<'_>) -> Self {
        bool::read(input).then(|| T::read(input))
    }
}

impl<T: Spooled> Spooled for Vec<T> {
    fn write(&self, output: &mut Output<'_>) {
        (self.len() as u32).write(output);
        self.iter().for_each(|value| value.write(output));
    }

    fn read(input: &mut Input<'_>) -> Self {
        (0..u32::read(input)).map(|_| T::read(input)).collect()
    }
}

macro_rules! tuples {
    ($(($($part:ident),*))*) => { $(
        impl<$($part: Spooled),*> Spooled for ($($part,)*) {
            fn write(&self, output: &mut Output<'_>) {
                #[allow(non_snake_case, reason = "a type's name serves for its value")]
                let ($($part,)*) = self;
                $($part.write(output);)*
            }
            fn read(input: &mut Input<'_>) -> Self {
                ($($part::read(input),)*)
            }
        }
    )* };
}

tuples!((A, B)(A, B, C));

/// A record is its fields, in this order.
macro_rules! records {
    ($($record:ident { $($field:ident),* $(,)? })*) => { $(
        impl Spooled for $record {
            fn write(&self, output: &mut Output<'_>) {
                // Without `..`: a new field that is not listed here does not compile.
                let Self { $($field),* } = self;
                $($field.write(output);)*
            }
            fn read(input: &mut Input<'_>) -> Self {
                Self { $($field: Spooled::read(input)),* }
            }
        }
    )* };
}

records! {
    PacketRecord {
        packet, forward, protocol, size, sequence, payload, hop, enqueued, started, finished, transmissions, dropped,
        marked, clamped, sniffed,
    }
    FlowSample {
        at, connection, cwnd_packets, ssthresh_packets, srtt, rttvar, in_flight_packets, unsent_bytes, queued_bytes,
        delivery_rate, retransmissions, timeouts, received_bytes, sending_rate, estimate, level,
    }
    ReleaseRecord { packet, intended, actual }
    FrameFacts {
        track, kind, size, level, gop, display_index, due, display_time, references, missing_reference, picture_order,
        recovers_from, group_time,
    }
    PictureOrder {
        count, turn, follows_frame_num, is_base, begins_sequence, can_begin_sequence, numbers, output, marks,
    }
    ReferenceMarks { max_frames, by_order, unmarks, gaps_allowed, listed, named }
    PictureNumbers { frame_num, frame_num_bits, order_bits, frames_only, separate_colour_planes, restarts, recovers }
    Renumbering { frame_num, order }
    FrameEvent { frame, at, what }
    DatagramSent { sequence, frame, part, size, headers, at, sent }
    DatagramReceived { sequence, size, at, kept }
    StreamRead { total, at }
    Crossing { frame, part, sequence, bytes, sent, arrival, verdict, discarded, handed_on }
    HandedOn { sequence, bytes }
    Arrival { at, kept }
    InOrder { arrival, frame, relative, latency, place, group_time }
    Delay { frame, latency, jitter }
    RootCause { place, cause }
    FrameRow {
        track, frame, display, kind, gop, size, level, display_time, due, offered, queued, first_byte, last_byte, arrival,
        arrival_relative, latency_nanos, jitter_nanos, packets, packets_lost, bytes_shed, bytes_received, complete, decodable, ready,
        deadline, fate, root_cause, discarded_at, missing_reference, handed_on,
    }
}
