//! Reference frames by their order hints, where a frame names two of seven only (7.8, "set frame refs process").

use crate::av1::frame_header::{REFERENCES, SLOTS};

/// Places in `ref_frame_idx`, counted from `LAST_FRAME` (6.10.24).
const LAST: usize = 0;
const LAST2: usize = 1;
const LAST3: usize = 2;
const GOLDEN: usize = 3;
const BACKWARD: usize = 4;
const ALTERNATE2: usize = 5;
const ALTERNATE: usize = 6;

/// How far `hint` stands after `other` in display order (5.9.3, `get_relative_dist`), of hints of `bits` bits.
pub(crate) fn distance(hint: i64, other: i64, bits: usize) -> i64 {
    let half = 1i64 << (bits - 1);
    (hint - other + half).rem_euclid(2 * half) - half
}

/// The slots that the frame with `order_hint` refers to. `bits` is at least 1.
pub(crate) fn slots(
    last: usize,
    golden: usize,
    order_hint: u32,
    slot_hints: &[u32; SLOTS],
    bits: usize,
) -> [usize; REFERENCES] {
    let distances = slot_hints.map(|hint| distance(hint.into(), order_hint.into(), bits));
    let mut search = Search { distances, used: [false; SLOTS], found: [None; REFERENCES] };
    search.take(LAST, Some(last));
    search.take(GOLDEN, Some(golden));
    search.take(ALTERNATE, search.latest(Search::is_backward));
    search.take(BACKWARD, search.earliest_backward());
    search.take(ALTERNATE2, search.earliest_backward());
    for place in [LAST2, LAST3, BACKWARD, ALTERNATE2, ALTERNATE] {
        if search.found[place].is_none() {
            search.take(place, search.latest(|search, slot| !search.is_backward(slot)));
        }
    }
    let earliest = (0..SLOTS).min_by_key(|&slot| distances[slot]).unwrap_or(0);
    search.found.map(|slot| slot.unwrap_or(earliest))
}

struct Search {
    /// How far the frame in each slot is shown after the current one.
    distances: [i64; SLOTS],
    used: [bool; SLOTS],
    found: [Option<usize>; REFERENCES],
}

impl Search {
    fn take(&mut self, place: usize, slot: Option<usize>) {
        if let Some(slot) = slot {
            self.found[place] = Some(slot);
            self.used[slot] = true;
        }
    }

    fn is_backward(&self, slot: usize) -> bool {
        self.distances[slot] >= 0
    }

    /// Of equals, the last slot.
    fn latest(&self, is_wanted: impl Fn(&Self, usize) -> bool) -> Option<usize> {
        let candidates = (0..SLOTS).filter(|&slot| !self.used[slot] && is_wanted(self, slot));
        candidates.max_by_key(|&slot| self.distances[slot])
    }

    /// Of equals, the first slot.
    fn earliest_backward(&self) -> Option<usize> {
        let candidates = (0..SLOTS).filter(|&slot| !self.used[slot] && self.is_backward(slot));
        candidates.min_by_key(|&slot| self.distances[slot])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_hints_wrap() {
        assert_eq!((distance(1, 127, 7), distance(127, 1, 7), distance(64, 0, 7)), (2, -2, -64));
    }

    #[test]
    fn slots_are_found_by_display_order() {
        // Slots 0 to 7 are shown at these times; the frame itself at 20.
        let hints = [10, 12, 14, 16, 18, 24, 28, 32];
        let found = slots(4, 0, 20, &hints, 7);
        // 18 by name, 16 and 14 as the latest before it, 10 by name; 24, 28 and 32 after it.
        assert_eq!(found, [4, 3, 2, 0, 5, 6, 7]);
        // Nothing is shown after it: the latest before it that are not used, then the earliest.
        let found = slots(7, 6, 40, &hints, 7);
        assert_eq!(found, [7, 5, 4, 6, 3, 2, 1]);
        // One frame in all slots: named twice, then the last of the others, and at the end the first of all.
        let found = slots(0, 0, 2, &[1; SLOTS], 7);
        assert_eq!(found, [0, 7, 6, 0, 5, 4, 3]);
    }
}
