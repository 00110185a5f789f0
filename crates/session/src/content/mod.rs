//! Which frames of a movie are in an elementary stream, recognised by their content.
//!
//! An application of the user's own says nothing of frames: what it gives out is bytes. They are cut at start codes, and
//! each unit that carries picture data is compared with those of the movie. A frame is there when all its units stand
//! one after the other, whole; headers that a pipeline may repeat or leave out do not matter, nor does the number of
//! zero bytes before a start code; nor do the numbers in the slice headers of H.264 that a queue changed from an open key
//! frame on. After a loss, matching goes on at the next unit that begins a frame.
//!
//! Of still pictures several open key frames may differ in their numbers only, and with other numbers each of them may be
//! any of the others. Then the stream is followed in every such way at once, until what comes fits in one only, or in
//! one with fewer gaps.

mod index;
mod numbers;
#[cfg(test)]
mod tests;
mod track;
mod units;

use std::collections::BTreeMap;
use std::sync::Arc;

use framewire_media::Movie;
use framewire_media::access_unit::Codec;
use framewire_media::picture_order::Renumbering;
use framewire_recording::record::FrameFound;
use framewire_units::Timestamp;

use self::index::ContentIndex;
use self::numbers::OpenKeys;
use self::track::{Found, Track};
use self::units::{Unit, UnitCutter};

/// In how many ways a stream is followed at most: more than a minute of groups of a second that were given up at once.
const MOST_TRACKS: usize = 64;

/// For how many frames at most, so that what is remembered of each way is bounded: of pictures that stay as they are for
/// longer, the way with the fewest gaps counts, or the first.
const UNDECIDED: usize = 2_000;

/// What was found in a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContentLog {
    /// Frames of which something was found, in decode order.
    pub frames: Vec<FrameFound>,
    /// When the first byte came.
    pub first_byte: Option<Timestamp>,
    /// Bytes of the stream.
    pub bytes: u64,
    /// Units with picture data that belong to no frame that could be named.
    pub foreign_units: u64,
    /// What was added to the numbers of frames that came whole, where they were changed; to picture order counts, of as
    /// many as their low bits distinguish.
    pub renumbered: BTreeMap<u32, Renumbering>,
}

/// Finds the frames of a movie in a stream.
///
/// Contract: [`handle_bytes`](Self::handle_bytes) with the stream in chunks of any size, then
/// [`finish`](Self::finish). Frames are taken in decode order: of several with the same content, the first that has not
/// come counts, and one that comes again is foreign. Memory is bounded by the movie's.
#[derive(Debug)]
pub struct ContentMatcher {
    cutter: UnitCutter,
    matching: Matching,
    first_byte: Option<Timestamp>,
    bytes: u64,
}

/// What streams of a movie are compared with: all of it has to be read for that.
#[derive(Debug)]
pub(crate) struct MovieContent {
    codec: Codec,
    index: ContentIndex,
    keys: OpenKeys,
}

impl MovieContent {
    /// `None` for a codec whose streams have no start codes.
    pub(crate) fn of(movie: &Movie) -> Option<Self> {
        let codec = movie.index.sequence.codec;
        codec.has_start_codes().then(|| Self { codec, index: ContentIndex::of(movie), keys: OpenKeys::of(movie) })
    }
}

#[derive(Debug)]
struct Matching {
    movie: Arc<MovieContent>,
    /// What was found until there was more than one way.
    settled: Found,
    /// The ways in which the stream can be understood, those with the fewest gaps first; at least one.
    tracks: Vec<Track>,
}

impl ContentMatcher {
    /// A matcher at the start of a stream of the movie's codec; `None` for one whose streams have no start codes.
    pub fn new(movie: &Movie) -> Option<Self> {
        MovieContent::of(movie).map(|movie| Self::of(Arc::new(movie)))
    }

    /// A matcher at the start of a stream of this movie, which was read before.
    pub(crate) fn of(movie: Arc<MovieContent>) -> Self {
        let cutter = UnitCutter::new(movie.codec);
        let matching = Matching { movie, settled: Found::default(), tracks: vec![Track::default()] };
        Self { cutter, matching, first_byte: None, bytes: 0 }
    }

    /// Takes the next bytes of the stream, which came at `now`.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.first_byte.get_or_insert(now);
        }
        self.bytes += bytes.len() as u64;
        let matching = &mut self.matching;
        self.cutter.feed(now, bytes, &mut |unit| matching.take(unit));
    }

    /// Frames found whole so far. A frame is known to be whole when the next start code, or the end, has come.
    pub fn whole_frames(&self) -> u32 {
        let undecided = self.matching.tracks.first().map_or(0, |track| track.found.whole.len());
        (self.matching.settled.whole.len() + undecided) as u32
    }

    /// Ends the stream.
    pub fn finish(mut self) -> ContentLog {
        let mut matching = self.matching;
        self.cutter.finish(&mut |unit| matching.take(unit));
        let found = matching.into_found();
        let renumbered = found.whole.iter().filter(|(.., by)| !by.is_none());
        ContentLog {
            foreign_units: found.foreign_units,
            renumbered: renumbered.map(|&(frame, _, by)| (frame, by)).collect(),
            frames: frames(&found),
            first_byte: self.first_byte,
            bytes: self.bytes,
        }
    }
}

impl Matching {
    fn take(&mut self, unit: &Unit<'_>) {
        let mut ways: Vec<(bool, Track)> = Vec::with_capacity(self.tracks.len());
        let is_alone = self.tracks.len() == 1;
        for mut track in std::mem::take(&mut self.tracks) {
            let reading = track.read(unit, &self.movie.keys, &self.movie.index);
            let at = ways.len();
            if reading.is_open {
                let room = MOST_TRACKS.saturating_sub(at);
                for key in
                    self.movie.keys.like(unit.bytes(), track.next).filter(|key| key.change != reading.change).take(room)
                {
                    if is_alone {
                        self.settled.append(std::mem::take(&mut track.found));
                    }
                    let mut other = track.clone();
                    let fits = other.take_key(unit, key, &self.movie.index);
                    ways.push((fits, other));
                }
            }
            let fits = track.take(unit, &reading, &self.movie.index);
            ways.insert(at, (fits, track));
        }
        self.keep(ways);
    }

    /// Keeps the ways in which the unit fits, if there are any, and of those that go on alike the one with fewer gaps.
    fn keep(&mut self, mut ways: Vec<(bool, Track)>) {
        if ways.len() > 1 {
            if ways.iter().any(|(fits, _)| *fits) {
                ways.retain(|(fits, _)| *fits);
            }
            ways.sort_by_key(|(_, track)| track.gaps);
        }
        for (_, track) in ways {
            if self.tracks.len() < MOST_TRACKS && !self.tracks.iter().any(|kept| kept.is_like(&track)) {
                self.tracks.push(track);
            }
        }
        if self.tracks.first().is_some_and(|track| track.found.whole.len() > UNDECIDED) {
            self.tracks.truncate(1);
        }
    }

    /// What was found, in the way with the fewest gaps: one at the end counts as well.
    fn into_found(mut self) -> Found {
        let frames = self.movie.index.frames();
        let gaps = |track: &Track| track.gaps + u32::from(track.next != frames);
        if let Some(mut track) = self.tracks.into_iter().min_by_key(gaps) {
            track.end_run();
            self.settled.append(track.found);
        }
        self.settled
    }
}

/// The frames of which something was found, in decode order.
fn frames(found: &Found) -> Vec<FrameFound> {
    let whole = found.whole.iter().map(|&(frame, at, _)| FrameFound { frame, whole_at: Some(at), bytes: 0 });
    let is_whole = |frame: u32| found.whole.binary_search_by_key(&frame, |&(frame, ..)| frame).is_ok();
    let parts = found.parts.iter().filter(|(frame, _)| !is_whole(**frame));
    let parts = parts.map(|(&frame, &bytes)| FrameFound { frame, whole_at: None, bytes });
    let mut frames: Vec<FrameFound> = whole.chain(parts).collect();
    frames.sort_by_key(|found| found.frame);
    frames
}
