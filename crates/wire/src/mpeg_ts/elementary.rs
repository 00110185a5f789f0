//! The packets of one track, put together to access units.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use bytes::{Bytes, BytesMut};
use framewire_units::{DataSize, Timestamp};

use super::clock::Unwrapper;
use super::continuity::{Continuity, Step};
use super::description::Description;
use super::packet::{PACKET_LENGTH, Packet};
use super::pes::PesHeader;
use super::received::{Counters, Fault, ReceivedUnit};
use super::tables::Track;

/// Where what comes out of packets goes.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub units: VecDeque<ReceivedUnit>,
    pub faults: VecDeque<Fault>,
    pub counters: Counters,
}

/// When a packet arrived, and in which datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Came {
    pub at: Timestamp,
    /// As its carrier numbers it; 0 in a stream of bytes.
    pub datagram: u64,
}

/// Puts the access units of a track together.
#[derive(Debug)]
pub(super) struct ElementaryStream {
    track: Track,
    largest: usize,
    continuity: Continuity,
    /// Number of the next packet.
    next: u64,
    /// What is missing directly before the next packet.
    lost: Option<RangeInclusive<u64>>,
    open: Option<OpenUnit>,
    /// Bytes of the open unit, and its header as long as that has not come whole.
    bytes: BytesMut,
    times: Unwrapper,
    /// That the track is scrambled was said.
    told_scrambled: bool,
}

#[derive(Debug)]
struct OpenUnit {
    header: Option<PesHeader>,
    description: Option<Description>,
    random_access: bool,
    whole: bool,
    /// How many bytes there were when packets were missing that may have been its own: whether they were says its description.
    doubtful: Option<usize>,
    sequences: RangeInclusive<u64>,
    missing: Option<RangeInclusive<u64>>,
    datagrams: RangeInclusive<u64>,
    first_arrival: Timestamp,
    last_arrival: Timestamp,
}

impl OpenUnit {
    /// Bytes of the unit behind its header, where that is known.
    fn length(&self) -> Option<usize> {
        let described = self.description.map(|description| description.length());
        self.header?.payload.or(described)
    }
}

impl ElementaryStream {
    pub(super) fn new(track: Track, largest: DataSize) -> Self {
        Self {
            track,
            largest: usize::try_from(largest.as_bytes()).unwrap_or(usize::MAX),
            continuity: Continuity::default(),
            next: 0,
            lost: None,
            open: None,
            bytes: BytesMut::new(),
            times: Unwrapper::of_timestamps(),
            told_scrambled: false,
        }
    }

    pub(super) fn track(&self) -> Track {
        self.track
    }

    /// Takes a packet of the track.
    pub(super) fn take(&mut self, came: Came, raw: &[u8; PACKET_LENGTH], packet: &Packet<'_>, out: &mut Output) {
        let Some(payload) = packet.payload else { return };
        match self.continuity.step(raw, packet) {
            Step::Duplicate => {
                out.counters.duplicates += 1;
                return;
            }
            Step::Next => {}
            Step::Missing(count) => {
                out.counters.missing += count;
                self.lose(self.next..=self.next + count - 1);
                self.next += count;
            }
        }
        let number = self.next;
        self.next += 1;
        if packet.scrambling != 0 {
            out.counters.scrambled += 1;
            self.refuse_scrambled(number, out);
            return;
        }
        if packet.unit_start {
            self.end(false, out);
        }
        self.open_at(number, came, packet);
        self.append(number, came, payload, out);
    }

    /// The stream is over. What is left is whole where `ended` says that nothing is missing behind it.
    pub(super) fn flush(&mut self, ended: bool, out: &mut Output) {
        if !ended && let Some(open) = &mut self.open {
            open.whole = false;
        }
        self.end(true, out);
        self.lost = None;
        self.continuity = Continuity::default();
    }

    /// Packets are missing before the next one, it is not known how many, and perhaps none of this track. A unit that is described
    /// shows at its end whether any was its own, also where the continuity counter does not.
    pub(super) fn lose_some(&mut self) {
        let Some(open) = self.open.as_mut().filter(|open| open.whole) else { return };
        open.whole = open.description.is_some();
        open.doubtful.get_or_insert(if open.header.is_some() { self.bytes.len() } else { 0 });
    }

    fn lose(&mut self, lost: RangeInclusive<u64>) {
        if let Some(open) = &mut self.open {
            open.whole = false;
            open.missing = span(open.missing.take(), lost.clone());
        }
        self.lost = span(self.lost.take(), lost);
    }

    /// A scrambled packet is as good as missing.
    fn refuse_scrambled(&mut self, number: u64, out: &mut Output) {
        self.lose(number..=number);
        if !std::mem::replace(&mut self.told_scrambled, true) {
            out.faults.push_back(Fault::Scrambled { pid: self.track.pid });
        }
    }

    /// Opens a unit where none is open: one whose beginning is missing where the packet does not begin it.
    fn open_at(&mut self, number: u64, came: Came, packet: &Packet<'_>) {
        let lost = self.lost.take();
        if self.open.is_some() {
            return;
        }
        let adaptation = packet.adaptation.unwrap_or_default();
        self.bytes.clear();
        self.open = Some(OpenUnit {
            header: None,
            description: adaptation.private.filter(|_| packet.unit_start).and_then(Description::parse),
            random_access: packet.unit_start && adaptation.random_access,
            whole: packet.unit_start,
            doubtful: None,
            sequences: number..=number,
            missing: lost.filter(|_| !packet.unit_start),
            datagrams: came.datagram..=came.datagram,
            first_arrival: came.at,
            last_arrival: came.at,
        });
    }

    fn append(&mut self, number: u64, came: Came, payload: &[u8], out: &mut Output) {
        let Some(open) = &mut self.open else { return };
        open.sequences = *open.sequences.start()..=number;
        open.datagrams = *open.datagrams.start()..=came.datagram;
        open.last_arrival = open.last_arrival.max(came.at);
        if !open.whole {
            return;
        }
        self.bytes.extend_from_slice(payload);
        if open.header.is_none() {
            match PesHeader::parse(&self.bytes) {
                Ok(None) => return,
                Ok(Some(header)) => {
                    drop(self.bytes.split_to(header.length));
                    open.header = Some(header);
                    // What is known to come need not be moved when it does.
                    let expected = open.length().unwrap_or(0).min(self.largest);
                    self.bytes.reserve(expected.saturating_sub(self.bytes.len()));
                }
                Err(error) => {
                    open.whole = false;
                    out.faults.push_back(Fault::Pes { pid: self.track.pid, error });
                    return;
                }
            }
        }
        let length = open.length();
        if self.bytes.len() > self.largest {
            open.whole = false;
            self.bytes.clear();
            let limit = DataSize::from_bytes(self.largest as u64);
            out.faults.push_back(Fault::TooLarge { pid: self.track.pid, limit });
        } else if length.is_some_and(|length| self.bytes.len() >= length) {
            self.end(true, out);
        }
    }

    /// Ends the open unit. Where its length is not known, its end is where the next one begins; `at_end` where its length
    /// was reached, or the stream ends.
    fn end(&mut self, at_end: bool, out: &mut Output) {
        let Some(mut open) = self.open.take() else { return };
        let header = open.header;
        let has_length = match open.length() {
            Some(length) => at_end && self.bytes.len() == length,
            None => true,
        };
        let is_described = open.description.is_none_or(|description| description.is_of(&self.bytes));
        let complete = open.whole && header.is_some() && has_length && is_described;
        if let Some(certain) = open.doubtful.filter(|_| !complete) {
            open.whole = false;
            self.bytes.truncate(certain);
        }
        let inserted = open.description.map_or(0, |description| usize::from(description.inserted));
        // Where nothing is known to be missing, and yet it is not what its sender described, it may have a gap anywhere.
        let is_beginning = !complete && !open.whole && header.is_some() && self.bytes.len() > inserted;
        let (bytes, beginning) = match (complete, is_beginning) {
            (true, _) => (self.bytes.split().freeze().slice(inserted..), Bytes::new()),
            (_, true) => (Bytes::new(), self.bytes.split().freeze().slice(inserted..)),
            _ => (Bytes::new(), Bytes::new()),
        };
        let presentation = header.and_then(|header| header.presentation).map(|time| self.times.unwrap(time));
        let decode = header.and_then(|header| header.decode).map(|time| self.times.unwrap(time));
        out.units.push_back(ReceivedUnit {
            track: self.track,
            presentation,
            decode,
            random_access: open.random_access,
            complete,
            bytes,
            beginning,
            sequences: open.sequences,
            missing: open.missing,
            datagrams: open.datagrams,
            first_arrival: open.first_arrival,
            last_arrival: open.last_arrival,
        });
    }
}

/// From the start of the earlier range to the end of the later one.
fn span(earlier: Option<RangeInclusive<u64>>, later: RangeInclusive<u64>) -> Option<RangeInclusive<u64>> {
    Some(earlier.map_or(*later.start(), |earlier| *earlier.start())..=*later.end())
}
