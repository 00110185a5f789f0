//! The rule of H.264 is FFmpeg's (libavcodec 5.1: `h264_field_start` and `h264_select_output_frame`), as it was seen to
//! behave. What comes too late for its place is passed over. With a picture that is placed before the latest sixteen of all
//! that came since it last made up a frame, the order begins anew, as with one that begins a coded video sequence. Nothing is
//! shown before a key frame has been, or was decoded as an IDR picture.
//!
//! Where the stream does not state how many pictures may have to be reordered, the order of those that came tells it. Players
//! that read streams by libavformat look at the first pictures for that before they show any (`has_decode_delay_been_guessed`):
//! so the ledger does.

use framewire_media::picture_order::{COUNTS_OF_A_FRAME, Entry, OutputRule};

use super::{OutputOrder, Picture};

/// Places of which a decoder keeps the latest: FFmpeg's `H264_MAX_DPB_FRAMES`.
const LATEST_PLACES: usize = 16;

/// What a decoder of H.264 goes by.
#[derive(Debug, Default)]
pub(super) struct State {
    latest: LatestPlaces,
    /// How many pictures it holds back. It never becomes smaller.
    depth: usize,
    /// The place of the picture shown last; `None` where the next may have any.
    last_place: Option<i64>,
    /// Decoding began with a key frame that is no IDR picture and has not been shown yet, nor any other that recovers.
    awaits_recovery: bool,
    has_recovered: bool,
    /// Pictures shown so far.
    shown: usize,
    probe: Probe,
}

impl State {
    /// Whether what is decoded now is shown, whatever it is.
    fn is_shown(&self) -> bool {
        self.has_recovered || !self.awaits_recovery
    }
}

/// The first pictures of a stream, by which it is found out how many have to be reordered.
#[derive(Debug, Default)]
struct Probe {
    is_over: bool,
    pictures: Vec<Picture>,
    /// What shows them meanwhile.
    order: Option<Box<OutputOrder>>,
}

/// Pictures that are looked at at most: some five seconds (`max_analyze_duration`).
const MAX_PROBED: usize = 128;

impl Probe {
    /// Takes the next picture. True when enough have come to know.
    fn is_enough_with(&mut self, picture: Picture) -> bool {
        let order = self.order.get_or_insert_with(|| {
            let mut order = Box::<OutputOrder>::default();
            order.h264.probe.is_over = true;
            order
        });
        order.take_h264(picture, None);
        self.pictures.push(picture);
        let State { depth, shown, .. } = order.h264;
        let wanted = match depth {
            0..3 => 7,
            3 => 18,
            _ => 20,
        };
        shown >= wanted || self.pictures.len() == MAX_PROBED
    }
}

/// The latest places of the pictures since the order last began, or frames were made up.
#[derive(Debug, Default)]
struct LatestPlaces {
    /// Ascending, but that the first of all stands where the earliest does.
    places: [Option<i64>; LATEST_PLACES],
}

impl LatestPlaces {
    /// Takes the next picture in decode order. Gives how many of these are later: where all are, the order begins with it.
    fn take(&mut self, place: i64, forgets: bool) -> usize {
        if forgets {
            self.places = Default::default();
        }
        let later = self.places.iter().position(|&other| other.is_some_and(|other| place < other));
        let at = later.unwrap_or(LATEST_PLACES);
        match at {
            0 => {
                *self = Self::default();
                self.places[0] = Some(place);
            }
            at => {
                self.places[..at].rotate_left(1);
                self.places[at - 1] = Some(place);
            }
        }
        LATEST_PLACES - at
    }

    /// A picture is missing between the last two, which is to come.
    fn leaps(&self) -> bool {
        matches!(self.places, [.., Some(before), Some(last)] if last - before > COUNTS_OF_A_FRAME)
    }
}

impl OutputOrder {
    pub(super) fn take_h264(&mut self, picture: Picture, stated: Option<u8>) -> Vec<Picture> {
        if self.h264.probe.is_over {
            return Vec::from_iter(self.take_probed_h264(picture, stated));
        }
        match stated {
            Some(_) => {
                let mut misplaced = self.end_probe();
                misplaced.extend(self.take_probed_h264(picture, stated));
                misplaced
            }
            None if self.h264.probe.is_enough_with(picture) => self.end_probe(),
            None => vec![],
        }
    }

    /// Shows the pictures that were looked at.
    pub(super) fn end_probe(&mut self) -> Vec<Picture> {
        let Probe { pictures, order, .. } =
            std::mem::replace(&mut self.h264.probe, Probe { is_over: true, ..Probe::default() });
        self.h264.depth = order.map_or(0, |order| order.h264.depth);
        pictures.into_iter().filter_map(|picture| self.take_probed_h264(picture, None)).collect()
    }

    fn take_probed_h264(&mut self, picture: Picture, stated: Option<u8>) -> Option<Picture> {
        let state = &mut self.h264;
        let later = state.latest.take(picture.place, picture.begins_sequence || picture.follows_made_up);
        let begins_anew = later == LATEST_PLACES;
        let needed = match stated {
            Some(reordered) => reordered.into(),
            None if begins_anew => 0,
            None => later.max(usize::from(picture.is_b || state.latest.leaps())),
        };
        state.depth = state.depth.max(needed);
        if picture.lists_made_up {
            state.latest = LatestPlaces::default();
        }
        match picture.rule.entry() {
            Entry::Closed => state.has_recovered = true,
            entry => state.awaits_recovery |= entry == Entry::Open,
        }
        self.held.push(Picture {
            begins_sequence: picture.begins_sequence || begins_anew,
            recovers: picture.recovers || state.is_shown(),
            ..picture
        });
        if state.depth == 0 && self.held[0].begins_sequence {
            state.last_place = None;
        }
        let (first, depth) = (self.first(), self.h264.depth);
        let is_too_late = self.h264.last_place.is_some_and(|last| self.held[first].place < last);
        if is_too_late {
            return Some(self.held.remove(first));
        }
        if self.held.len() <= depth {
            return None;
        }
        let picture = self.held.remove(first);
        let is_last_of_sequence = first == 0 && self.held.first().is_some_and(|next| next.begins_sequence);
        self.h264.last_place = (!is_last_of_sequence).then_some(picture.place);
        self.h264.has_recovered |= picture.recovers && self.h264.awaits_recovery;
        if !self.h264.is_shown() {
            return Some(picture);
        }
        self.h264.shown += 1;
        self.show(picture)
    }

    /// Whether nothing is shown of this picture and those behind it when nothing more comes: it was decoded before a key
    /// frame had been shown.
    pub(super) fn ends_with(&self, picture: &Picture) -> bool {
        matches!(picture.rule, OutputRule::H264 { .. }) && !picture.recovers
    }
}
