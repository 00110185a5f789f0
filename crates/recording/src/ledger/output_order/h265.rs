//! The rule of H.265 is FFmpeg's (libavcodec 5.1: `hevc_frame_start`, `ff_hevc_set_new_ref` and `ff_hevc_output_frame`), and
//! libde265 1.0.11 shows pictures in the same order. None is passed over, but RASL pictures placed before the picture with
//! which decoding began, and, by FFmpeg alone, those that come to a place which another picture of the same sequence has: one
//! that is held back, or kept for reference. A sequence that begins ends what is held back of the one before. Neither shows a
//! picture sooner for a full buffer or its latency (C.5.2.2).

use framewire_media::picture_order::{Entry, kept_distances};

use super::{OutputOrder, Picture};

/// What a decoder of H.265 goes by.
#[derive(Debug, Default)]
pub(super) struct State {
    skipped_until: SkippedUntil,
    /// Places of the latest picture and of those that are kept with it, in its sequence.
    kept: Vec<i64>,
}

/// Up to where RASL pictures of H.265 are skipped (FFmpeg's `max_ra`): to the picture with which decoding began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SkippedUntil {
    /// Decoding has not begun: all of them.
    #[default]
    Beginning,
    Place(i64),
    /// It began with an IDR picture, or a reference picture among them has come from behind it: none is skipped.
    Passed,
}

impl SkippedUntil {
    /// Takes the next picture. True where it is skipped.
    fn skips(&mut self, entry: Entry, begins_sequence: bool, place: i64) -> bool {
        let begins = begins_sequence || *self == Self::Beginning;
        let is_before = match *self {
            Self::Beginning => true,
            Self::Place(until) => place <= until,
            Self::Passed => false,
        };
        match entry {
            Entry::Closed if begins => *self = Self::Passed,
            Entry::Open if begins => *self = Self::Place(place),
            Entry::SkippedReference if !is_before => *self = Self::Passed,
            _ => {}
        }
        is_before && matches!(entry, Entry::Skipped | Entry::SkippedReference)
    }
}

impl OutputOrder {
    pub(super) fn leaves_out_h265(&mut self, entry: Entry, begins_sequence: bool, place: i64) -> bool {
        self.h265.skipped_until.skips(entry, begins_sequence, place) || !begins_sequence && self.repeats(place)
    }

    fn repeats(&self, place: i64) -> bool {
        let sequence = self.held.iter().rposition(|picture| picture.begins_sequence).unwrap_or(0);
        self.h265.kept.contains(&place) || self.held[sequence..].iter().any(|held| held.place == place)
    }

    pub(super) fn take_h265(&mut self, picture: Picture, reordered: u8, keeps: u64) -> Vec<Picture> {
        self.h265.kept = kept_distances(keeps).chain([0]).map(|distance| picture.place + distance).collect();
        self.held.push(picture);
        let is_of_earlier = self.held.iter().skip(1).any(|picture| picture.begins_sequence);
        if !is_of_earlier && self.held.len() <= reordered.into() {
            return vec![];
        }
        let picture = self.held.remove(self.first());
        Vec::from_iter(self.show(picture))
    }
}
