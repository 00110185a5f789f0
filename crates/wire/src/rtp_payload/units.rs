//! From packets in order to access units of sound: a payload has whole ones, or a part of one that says how long it is.

use std::collections::VecDeque;
use std::fmt;
use std::ops::RangeInclusive;

use bytes::{Bytes, BytesMut};
use framewire_units::DataSize;

use super::received::{Fragment, PacketsOfFrame, ReceivedFrame};

/// What a payload has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contents<'a> {
    /// Access units that are whole, in order; at least one.
    Whole(Vec<&'a [u8]>),
    /// A part of one.
    Part(Part<'a>),
}

/// A part of an access unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    /// Bytes of all of it, where this part says so.
    pub size: Option<usize>,
    /// Where in it the part begins, where the format says so. What does not say it is known to be whole by its size.
    pub offset: Option<usize>,
    /// The bytes.
    pub data: &'a [u8],
}

/// Reads the payloads of a format of sound.
pub(crate) trait UnitReader: fmt::Debug + Send {
    /// What a payload has.
    ///
    /// # Errors
    /// For what is not of the format, in words. The packet is then as if it had not arrived.
    fn read<'a>(&self, payload: &'a [u8]) -> Result<Contents<'a>, String>;

    /// Whether the marker says that a payload has the last part of its access unit.
    fn marker_ends(&self) -> bool;

    /// How long an access unit plays, in ticks of the stream's clock.
    fn ticks(&self, unit: &[u8]) -> u32;

    /// The access unit as an elementary stream has it.
    fn finished(&self, unit: Bytes) -> Bytes {
        unit
    }
}

/// Puts access units of sound together.
#[derive(Debug)]
pub(super) struct Units {
    reader: Box<dyn UnitReader>,
    largest: usize,
    open: Option<OpenUnit>,
    bytes: BytesMut,
}

#[derive(Debug)]
struct OpenUnit {
    packets: PacketsOfFrame,
    size: Option<usize>,
    whole: bool,
}

impl Units {
    pub(super) fn new(reader: Box<dyn UnitReader>, largest: DataSize) -> Self {
        let largest = usize::try_from(largest.as_bytes()).unwrap_or(usize::MAX);
        Self { reader, largest, open: None, bytes: BytesMut::new() }
    }

    /// A payload that is well formed; or, in words, why it is none.
    pub(super) fn open<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], String> {
        self.reader.read(payload).map(|_| payload)
    }

    /// Adds the next packet; `lost` are the sequence numbers directly before it that were given up.
    pub(super) fn add(
        &mut self,
        sequence: u64,
        fragment: &Fragment<'_>,
        lost: Option<RangeInclusive<u64>>,
        ready: &mut VecDeque<ReceivedFrame>,
    ) {
        let Ok(contents) = self.reader.read(fragment.media) else { return };
        match contents {
            Contents::Whole(units) => {
                ready.extend(self.abandon(lost));
                self.take_whole(sequence, fragment, &units, ready);
            }
            Contents::Part(part) => {
                let goes_on = self.open.as_ref().is_some_and(|open| open.packets.timestamp == fragment.timestamp)
                    && part.offset != Some(0);
                if !goes_on {
                    ready.extend(self.abandon(lost.clone()));
                    self.begin(sequence, fragment, &part, lost);
                } else if let Some(lost) = lost {
                    self.note_missing(lost);
                }
                self.append(sequence, fragment, &part);
                let ends = fragment.marker && self.reader.marker_ends();
                ready.extend(self.finish(ends));
            }
        }
    }

    /// Ends the open unit, if there is one; `lost` is what is missing behind it.
    pub(super) fn abandon(&mut self, lost: Option<RangeInclusive<u64>>) -> Option<ReceivedFrame> {
        if let Some(lost) = lost {
            self.note_missing(lost);
        }
        self.open.as_mut()?.whole = false;
        self.end()
    }

    fn take_whole(&self, sequence: u64, fragment: &Fragment<'_>, units: &[&[u8]], ready: &mut VecDeque<ReceivedFrame>) {
        let mut timestamp = fragment.timestamp;
        for &unit in units {
            let ticks = self.reader.ticks(unit);
            let bytes = self.reader.finished(Bytes::copy_from_slice(unit));
            let complete = bytes.len() <= self.largest;
            let of_unit = Fragment { timestamp, ..*fragment };
            ready.push_back(PacketsOfFrame::new(sequence, &of_unit).into_frame(complete.then_some(bytes)));
            timestamp = timestamp.wrapping_add(ticks);
        }
    }

    fn begin(&mut self, sequence: u64, fragment: &Fragment<'_>, part: &Part<'_>, lost: Option<RangeInclusive<u64>>) {
        self.bytes.clear();
        let begins = part.offset.is_none_or(|offset| offset == 0);
        let mut packets = PacketsOfFrame::new(sequence, fragment);
        // Where the format does not say that nothing is missing before, the size will.
        if let Some(lost) = lost.filter(|_| part.offset != Some(0)) {
            packets.note_missing(lost);
        }
        self.open = Some(OpenUnit { packets, size: part.size, whole: begins });
    }

    fn note_missing(&mut self, lost: RangeInclusive<u64>) {
        let Some(open) = &mut self.open else { return };
        open.whole = false;
        open.packets.note_missing(lost);
    }

    fn append(&mut self, sequence: u64, fragment: &Fragment<'_>, part: &Part<'_>) {
        let Some(open) = &mut self.open else { return };
        open.packets.add(sequence, fragment);
        let fits = part.offset.is_none_or(|offset| offset == self.bytes.len())
            && part.size.is_none_or(|size| open.size == Some(size))
            && self.bytes.len() + part.data.len() <= self.largest;
        open.whole &= fits;
        if open.whole {
            self.bytes.extend_from_slice(part.data);
        }
    }

    /// Ends the open unit where it is full, or where this part is its last one.
    fn finish(&mut self, is_last: bool) -> Option<ReceivedFrame> {
        let open = self.open.as_mut()?;
        let is_full = open.size.is_some_and(|size| self.bytes.len() >= size);
        if !is_full && !is_last {
            return None;
        }
        open.whole &= open.size == Some(self.bytes.len());
        self.end()
    }

    fn end(&mut self) -> Option<ReceivedFrame> {
        let mut open = self.open.take()?;
        if open.whole {
            open.packets.miss_nothing();
        }
        let whole = open.whole.then(|| self.reader.finished(self.bytes.split().freeze()));
        Some(open.packets.into_frame(whole.filter(|bytes| bytes.len() <= self.largest)))
    }
}
