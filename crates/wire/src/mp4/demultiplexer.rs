//! Access units out of a file, as it comes.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};
use framewire_units::{DataSize, Timestamp};

use super::boxes::{Contents, HEADER, Kind, name};
use super::coding::ReadTrack;
use super::fragments::{self, Defaults, MOST_FRAGMENT_BYTES};
use super::index::{self, IndexError, LeftOut, MOST_INDEX_BYTES, Placed};

/// An access unit as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Which track of the file it is of, counted from 0 among those that are read.
    pub track: usize,
    /// True when it is whole.
    pub complete: bool,
    /// The unit; empty when not complete.
    pub bytes: Bytes,
    /// When its last byte came.
    pub arrival: Timestamp,
}

/// Reads a file from its first byte on, and gives out its access units in the order in which they stand.
///
/// Contract: [`handle_bytes`](Self::handle_bytes) with the file in pieces of any size, at the end [`finish`](Self::finish); drain
/// [`poll_unit`](Self::poll_unit) after each. What is wrong with the file is told by [`poll_fault`](Self::poll_fault), once: after
/// that nothing more comes. What it holds is bounded: an index, or one access unit.
#[derive(Debug)]
pub struct Demultiplexer {
    largest_unit: usize,
    place: Place,
    /// Bytes that came and were not used yet; at the beginning of it stands byte `offset` of the file.
    buffer: BytesMut,
    offset: u64,
    tracks: Vec<ReadTrack>,
    left_out: Vec<LeftOut>,
    /// Those of the index, or of the last fragment.
    samples: std::vec::IntoIter<Placed>,
    /// Of a file in fragments, what those do not say.
    fragments: Option<Vec<Defaults>>,
    units: VecDeque<Unit>,
    fault: Option<IndexError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the header of a box; nothing of the index has come.
    Box,
    /// In a box that is passed over up to this byte of the file.
    Skipping(u64),
    /// Before the rest of the index, or of that of a fragment, of which the header has so many bytes, and all of it so many.
    Index(usize, usize),
    /// Among the samples of the index, up to this byte of the file: of a file in fragments, the end of the box that has them.
    Samples(u64),
    /// There is a fault, or the file has ended.
    Over,
}

impl Demultiplexer {
    /// A reader at the beginning of a file. Larger access units than that are not complete.
    pub fn new(largest_unit: DataSize) -> Self {
        Self {
            largest_unit: usize::try_from(largest_unit.as_bytes()).unwrap_or(usize::MAX),
            place: Place::Box,
            buffer: BytesMut::new(),
            offset: 0,
            tracks: Vec::new(),
            left_out: Vec::new(),
            samples: Vec::new().into_iter(),
            fragments: None,
            units: VecDeque::new(),
            fault: None,
        }
    }

    /// Takes the next bytes of the file.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        if self.place == Place::Over {
            return;
        }
        self.buffer.extend_from_slice(bytes);
        if let Err(error) = self.read(now) {
            self.fault = Some(error);
            self.end();
        }
    }

    /// The file has ended: what is still missing is given up.
    pub fn finish(&mut self, now: Timestamp) {
        match self.place {
            Place::Samples(_) => {
                let came = self.offset + self.buffer.len() as u64;
                let begun = self.samples.as_slice().first().filter(|sample| sample.offset < came);
                let lost = begun.map(|sample| incomplete(sample, now));
                self.units.extend(lost);
            }
            // The stream ends between fragments, or was cut off there.
            Place::Box | Place::Skipping(_) | Place::Index(..) if self.fragments.is_some() => {}
            Place::Over => {}
            // Nothing came at all: a stream that was cut off before it began says nothing of what it is.
            Place::Box if self.offset == 0 && self.buffer.is_empty() => {}
            Place::Box | Place::Skipping(_) | Place::Index(..) => {
                self.fault = Some(IndexError::Missing("moov".to_owned(), "the file".to_owned()));
            }
        }
        self.end();
    }

    /// The next access unit.
    pub fn poll_unit(&mut self) -> Option<Unit> {
        self.units.pop_front()
    }

    /// What is wrong with the file.
    pub fn poll_fault(&mut self) -> Option<IndexError> {
        self.fault.take()
    }

    /// The tracks that are read, the first of video and the first of sound that can be; none before the index has come.
    pub fn tracks(&self) -> &[ReadTrack] {
        &self.tracks
    }

    /// Other tracks of video and of sound; at most 16 are told of.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Bytes that are held.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn end(&mut self) {
        self.place = Place::Over;
        self.buffer.clear();
    }

    fn read(&mut self, now: Timestamp) -> Result<(), IndexError> {
        loop {
            let goes_on = match self.place {
                Place::Over => false,
                Place::Box => self.read_box()?,
                Place::Skipping(end) => {
                    self.advance_to(end);
                    let is_there = self.offset == end;
                    if is_there {
                        self.place = Place::Box;
                    }
                    is_there
                }
                Place::Index(header, length) if self.buffer.len() >= length => {
                    let index = self.buffer.split_to(length).freeze();
                    self.read_index(&index, header)?;
                    self.place = if self.fragments.is_some() { Place::Box } else { Place::Samples(u64::MAX) };
                    true
                }
                Place::Index(..) => false,
                Place::Samples(end) => self.read_sample(now, end),
            };
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// The index of the file or of a fragment, whose header has so many bytes.
    fn read_index(&mut self, bytes: &[u8], header: usize) -> Result<(), IndexError> {
        let (at, length) = (self.offset, bytes.len() as u64);
        self.offset += length;
        if !self.samples.as_slice().is_empty() {
            return Err(IndexError::Tables("samples of a fragment are not where it says"));
        }
        let samples = match &mut self.fragments {
            Some(defaults) => {
                let fragment = Contents::new(*b"moof", &bytes[header..]);
                fragments::read(fragment, (at, length), &self.tracks, defaults)?
            }
            None => {
                let index = index::read(Contents::new(*b"moov", &bytes[header..]))?;
                (self.tracks, self.left_out, self.fragments) = (index.tracks, index.left_out, index.fragments);
                index.samples
            }
        };
        if samples.first().is_some_and(|first| first.offset < self.offset) {
            return Err(IndexError::Overlap);
        }
        self.samples = samples.into_iter();
        Ok(())
    }

    /// The header of a box before an index: false where it is not there whole.
    fn read_box(&mut self) -> Result<bool, IndexError> {
        let Some(header) = self.buffer.first_chunk::<HEADER>() else { return Ok(false) };
        let [a, b, c, d, kind @ ..] = *header;
        let (short, kind): (u32, Kind) = (u32::from_be_bytes([a, b, c, d]), kind);
        // The first box says what the file is (ISO/IEC 14496-12, 4.3); QuickTime may leave it out.
        if self.offset == 0 && !matches!(&kind, b"ftyp" | b"moov" | b"styp") {
            return Err(IndexError::NoFile(name(kind)));
        }
        let is_index = match (&kind, &self.fragments) {
            (b"moov", None) | (b"moof", Some(_)) => true,
            (_, Some(_)) => fragments::is_between(kind).map(|()| false)?,
            (b"mdat", None) => return Err(IndexError::Behind),
            (b"moof", None) => return Err(IndexError::FragmentFirst),
            (_, None) => false,
        };
        let most = if self.fragments.is_some() { MOST_FRAGMENT_BYTES } else { MOST_INDEX_BYTES };
        let (header, length) = match short {
            1 => match self.buffer.get(HEADER..2 * HEADER) {
                Some(long) => (2 * HEADER, u64::from_be_bytes(*long.first_chunk().expect("invariant: eight bytes"))),
                None => return Ok(false),
            },
            // It goes on to the end of the file (4.2), so that no samples follow.
            0 if self.fragments.is_some() => (HEADER, u64::MAX - self.offset),
            0 => return Err(IndexError::Missing("mdat".to_owned(), "the file".to_owned())),
            short => (HEADER, short.into()),
        };
        if length < header as u64 {
            return Err(IndexError::Short(name(kind)));
        }
        let end = self.offset.checked_add(length).ok_or_else(|| IndexError::Short(name(kind)))?;
        self.place = match (is_index, usize::try_from(length)) {
            (true, Ok(length)) if length <= most => Place::Index(header, length),
            (true, _) => return Err(IndexError::TooMuch { what: "bytes of the index", most }),
            (false, _) if kind == *b"mdat" => Place::Samples(end),
            (false, _) => Place::Skipping(end),
        };
        Ok(true)
    }

    /// The next sample of those up to this byte of the file: false where it is not there whole.
    fn read_sample(&mut self, now: Timestamp, last: u64) -> bool {
        let next = self.samples.as_slice().first().copied();
        let Some(sample) = next.filter(|sample| sample.offset < last) else {
            // What stands behind the last sample is passed over.
            self.advance_to(last);
            let is_there = self.offset == last;
            if is_there {
                self.place = Place::Box;
            }
            return is_there;
        };
        self.advance_to(sample.offset);
        let size = sample.size as usize;
        let end = sample.offset + u64::from(sample.size);
        if size > self.largest_unit {
            self.advance_to(end);
            if self.offset < end {
                return false;
            }
            self.units.push_back(incomplete(&sample, now));
        } else {
            if self.offset != sample.offset || self.buffer.len() < size {
                return false;
            }
            let bytes = self.buffer.split_to(size).freeze();
            self.offset = end;
            let unit = self.tracks[usize::from(sample.track)].unit(&bytes, sample.wants_headers);
            self.units.push_back(match unit {
                Some(bytes) => Unit { track: sample.track.into(), complete: true, bytes, arrival: now },
                None => incomplete(&sample, now),
            });
        }
        self.samples.next();
        true
    }

    /// Passes over what stands before this byte of the file, as far as it is there.
    fn advance_to(&mut self, offset: u64) {
        let ahead = usize::try_from(offset.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let ahead = ahead.min(self.buffer.len());
        self.buffer.advance(ahead);
        self.offset += ahead as u64;
    }
}

fn incomplete(sample: &Placed, arrival: Timestamp) -> Unit {
    Unit { track: sample.track.into(), complete: false, bytes: Bytes::new(), arrival }
}
