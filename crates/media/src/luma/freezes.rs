//! What freezes cost: pictures against those that stand in their places, in one walk through a movie.

use std::collections::BTreeMap;

use super::squared_difference;

/// Sums the squared differences of pairs of pictures: one that should stand in a slot, and the one of an earlier slot, or
/// an empty screen, that does.
///
/// It is given the pictures in display order ([`take`](Self::take)), all or those that pairs name. A picture is held as
/// long as it stands somewhere, never a movie.
#[derive(Debug)]
pub struct FreezeSums {
    pixels: usize,
    /// By slot: its pairs, as the number of each and the slot of the picture that stands there.
    pairs: BTreeMap<u32, Vec<(usize, Option<u32>)>>,
    /// By slot: the last in whose place its picture stands.
    stands_until: BTreeMap<u32, u32>,
    held: BTreeMap<u32, Vec<u8>>,
    empty: Vec<u8>,
    sums: Vec<Option<u64>>,
}

impl FreezeSums {
    /// For pictures of so many pixels, and pairs of a slot and the slot of the picture that stands there; `None` is an
    /// empty screen, of a luma that is given.
    pub fn new(pixels: usize, empty: u8, pairs: impl IntoIterator<Item = (u32, Option<u32>)>) -> Self {
        let mut by_slot: BTreeMap<u32, Vec<(usize, Option<u32>)>> = BTreeMap::new();
        let mut stands_until: BTreeMap<u32, u32> = BTreeMap::new();
        let mut count = 0;
        for (slot, source) in pairs {
            by_slot.entry(slot).or_default().push((count, source));
            count += 1;
            if let Some(source) = source {
                let until = stands_until.entry(source).or_default();
                *until = slot.max(*until);
            }
        }
        let empty = vec![empty; pixels];
        Self { pixels, pairs: by_slot, stands_until, held: BTreeMap::new(), empty, sums: vec![None; count] }
    }

    /// Takes the next picture: that of a slot. One of another size is not compared.
    pub fn take(&mut self, slot: u32, picture: &[u8]) {
        if picture.len() != self.pixels {
            return;
        }
        let mut known: BTreeMap<Option<u32>, u64> = BTreeMap::new(); // several flows often show the same picture
        for &(number, source) in self.pairs.get(&slot).into_iter().flatten() {
            let stands = match source {
                None => Some(&self.empty),
                Some(source) => self.held.get(&source),
            };
            self.sums[number] =
                stands.map(|stands| *known.entry(source).or_insert_with(|| squared_difference(picture, stands)));
        }
        self.held.retain(|source, _| self.stands_until[source] > slot);
        if self.stands_until.get(&slot).is_some_and(|&until| until > slot) {
            self.held.insert(slot, picture.to_vec());
        }
    }

    /// The sums in the order of the pairs; `None` where one of the two pictures did not come, or came too late.
    pub fn sums(&self) -> &[Option<u64>] {
        &self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLACK: u8 = 16;

    fn walk(pairs: &[(u32, Option<u32>)], slots: &[u32]) -> Vec<Option<u64>> {
        let mut sums = FreezeSums::new(2, BLACK, pairs.iter().copied());
        for &slot in slots {
            sums.take(slot, &[BLACK + slot as u8; 2]);
            assert!(sums.held.len() <= 2, "no more than the pairs still ask for");
        }
        sums.sums().to_vec()
    }

    #[test]
    fn each_pair_is_compared_with_what_stands_there() {
        let pairs = [(0, None), (1, Some(0)), (2, Some(0)), (2, None), (5, Some(3)), (2, Some(0))];
        assert_eq!(
            walk(&pairs, &[0, 1, 2, 3, 4, 5]),
            [Some(0), Some(2), Some(2 * 4), Some(2 * 4), Some(2 * 4), Some(2 * 4)]
        );
        assert_eq!(
            walk(&pairs, &[0, 1, 2, 3, 5]),
            walk(&pairs, &[0, 1, 2, 3, 4, 5]),
            "what no pair names need not come"
        );
    }

    #[test]
    fn what_did_not_come_is_not_compared() {
        assert_eq!(walk(&[(1, Some(0)), (2, Some(1)), (3, None)], &[1, 2]), [None, Some(2), None]);
        let mut sums = FreezeSums::new(2, BLACK, [(0, None)]);
        sums.take(0, &[1, 2, 3]);
        assert_eq!(sums.sums(), [None]);
    }
}
