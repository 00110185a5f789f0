//! Which pictures of H.264 a decoder shows, and in which order, where frames are missing.
//!
//! The rule is FFmpeg's (libavcodec 5.1: `h264_field_start` and `h264_select_output_picture`), as it was seen to behave: a
//! decoder holds pictures back until there are more than the stream says may have to be reordered, and then shows the
//! first of them by picture order count. What comes too late for its place is passed over; what is placed before pictures
//! that were held back is shown before them. With a picture that is placed before the latest sixteen of all that came since
//! it last made up a frame, the order begins anew, as with one that begins a coded video sequence.

/// A picture on its way to be shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picture {
    /// Number in decode order.
    pub frame: u32,
    /// The picture order count that the decoder derives for it.
    pub place: i64,
    /// It begins a coded video sequence: all before it are shown first.
    pub begins_sequence: bool,
    /// The decoder makes up frames before it, as numbers are missing in a stream that may have no gaps: it forgets the places
    /// of the pictures before.
    pub follows_made_up: bool,
    /// The decoder makes up one in its lists, when it has taken the place of the picture: it forgets that, too.
    pub lists_made_up: bool,
    /// How many pictures the decoder holds back.
    pub reordered: usize,
    /// Number in display order.
    pub display: u32,
    /// It is as it was sent: nothing that it refers to is missing.
    pub is_right: bool,
}

/// Places of which a decoder keeps the latest: FFmpeg's `MAX_DELAYED_PIC_COUNT`.
const LATEST_PLACES: usize = 16;

/// The latest places of the pictures since the order last began, or frames were made up.
#[derive(Debug, Default)]
struct LatestPlaces {
    /// Ascending, but that the first of all stands where the earliest does.
    places: [Option<i64>; LATEST_PLACES],
}

impl LatestPlaces {
    /// Takes the next picture in decode order. True where it comes before all of these: the order begins with it.
    fn take(&mut self, place: i64, forgets: bool) -> bool {
        if forgets {
            self.places = Default::default();
        }
        let later = self.places.iter().position(|&other| other.is_some_and(|other| place < other));
        match later.unwrap_or(LATEST_PLACES) {
            0 => {
                *self = Self::default();
                self.places[0] = Some(place);
                true
            }
            at => {
                self.places[..at].rotate_left(1);
                self.places[at - 1] = Some(place);
                false
            }
        }
    }
}

/// What a decoder holds back, and what it has shown.
#[derive(Debug, Default)]
pub(super) struct OutputOrder {
    held: Vec<Picture>,
    latest: LatestPlaces,
    /// It never becomes smaller.
    depth: usize,
    /// The place of the picture shown last; `None` where the next may have any.
    last_place: Option<i64>,
    /// The last number in display order of the right pictures shown.
    last_display: Option<u32>,
}

impl OutputOrder {
    /// Takes the next picture that reaches the decoder, in decode order. Gives the picture, now or of before, that turns out
    /// not to be shown, or to be shown behind one that belongs behind it.
    pub(crate) fn take(&mut self, picture: Picture) -> Option<Picture> {
        let begins_anew = self.latest.take(picture.place, picture.begins_sequence || picture.follows_made_up);
        if picture.lists_made_up {
            self.latest = LatestPlaces::default();
        }
        self.held.push(Picture { begins_sequence: picture.begins_sequence || begins_anew, ..picture });
        self.depth = self.depth.max(picture.reordered);
        if self.depth == 0 && self.held[0].begins_sequence {
            self.last_place = None;
        }
        let first = self.first();
        let is_too_late = self.last_place.is_some_and(|last| self.held[first].place < last);
        if is_too_late {
            return Some(self.held.remove(first));
        }
        if self.held.len() <= self.depth {
            return None;
        }
        let picture = self.held.remove(first);
        let is_last_of_sequence = first == 0 && self.held.first().is_some_and(|next| next.begins_sequence);
        self.last_place = (!is_last_of_sequence).then_some(picture.place);
        self.show(picture)
    }

    /// The same of all that is still held back: nothing more comes.
    pub(crate) fn finish(&mut self) -> Vec<Picture> {
        let mut misplaced = vec![];
        while !self.held.is_empty() {
            let picture = self.held.remove(self.first());
            misplaced.extend(self.show(picture));
        }
        misplaced
    }

    /// The picture to be shown first of those before the next beginning.
    fn first(&self) -> usize {
        let next = self.held.iter().skip(1).position(|picture| picture.begins_sequence);
        let end = next.map_or(self.held.len(), |behind| behind + 1);
        (0..end).min_by_key(|&number| self.held[number].place).expect("one is held")
    }

    fn show(&mut self, picture: Picture) -> Option<Picture> {
        if self.last_display.is_some_and(|last| picture.display < last) {
            return Some(picture);
        }
        if picture.is_right {
            self.last_display = Some(picture.display);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The frames that are not shown in order, of pictures with these places in display order; the display order of the
    /// whole movie is that of `display`.
    fn misplaced(reordered: usize, pictures: &[(i64, u32)]) -> Vec<u32> {
        let mut order = OutputOrder::default();
        let pictures = (0..).zip(pictures).map(|(frame, &(place, display))| Picture {
            frame,
            place,
            begins_sequence: place == 0,
            follows_made_up: false,
            lists_made_up: false,
            reordered,
            display,
            is_right: true,
        });
        let mut misplaced: Vec<_> = pictures.filter_map(|picture| order.take(picture)).collect();
        misplaced.extend(order.finish());
        misplaced.iter().map(|picture| picture.frame).collect()
    }

    #[test]
    fn pictures_in_order_are_shown() {
        assert_eq!(misplaced(2, &[(0, 0), (8, 4), (4, 2), (2, 1), (6, 3), (16, 8), (12, 6)]), []);
        assert_eq!(misplaced(0, &[(0, 0), (2, 1), (4, 2), (0, 3), (2, 4)]), []);
    }

    #[test]
    fn what_is_placed_before_the_picture_shown_last_is_passed_over() {
        // Behind the gap places are 32 too early: 48 is taken for 16, 52 for 20, and those of 54 on catch up.
        assert_eq!(misplaced(0, &[(0, 0), (20, 10), (16, 24), (18, 25), (20, 26), (22, 27)]), [2, 3]);
    }

    #[test]
    fn what_was_held_back_comes_behind_pictures_that_are_placed_before_it() {
        // 20 is held back when the gap comes; 18, which is shown first, belongs behind it.
        assert_eq!(misplaced(1, &[(0, 0), (16, 8), (20, 10), (18, 25), (22, 27), (24, 28)]), [2]);
    }

    #[test]
    fn a_sequence_ends_what_was_held_back() {
        assert_eq!(misplaced(2, &[(0, 0), (8, 4), (4, 2), (0, 5), (8, 9), (4, 7)]), []);
    }

    #[test]
    fn order_begins_anew_with_a_picture_before_the_latest_sixteen() {
        let behind = |first: i64| {
            let before = (0..20).map(|frame| (2 * i64::from(frame), frame));
            let behind = (0..5).map(|frame| (first + 2 * i64::from(frame), 40 + frame));
            misplaced(0, &before.chain(behind).collect::<Vec<_>>())
        };
        // The latest sixteen are those of 8 to 38.
        assert_eq!(behind(6), [0; 0]);
        assert_eq!(behind(8), [20, 21, 22, 23, 24]);
        assert_eq!(behind(32), [20, 21, 22]);
    }

    #[test]
    fn a_picture_that_is_damaged_moves_none_behind_it() {
        let mut order = OutputOrder::default();
        let picture = |frame: u32, place: i64, display: u32, is_right: bool| Picture {
            frame,
            place,
            begins_sequence: frame == 0,
            follows_made_up: false,
            lists_made_up: false,
            reordered: 1,
            display,
            is_right,
        };
        let taken = [picture(0, 0, 0, true), picture(1, 20, 10, true), picture(2, 18, 25, false)];
        assert!(taken.into_iter().all(|picture| order.take(picture).is_none()));
        assert!(order.finish().is_empty());
    }
}
