//! The records of a list that are in memory.

use super::BLOCK;

/// Records of the first piece of a list.
const FIRST: usize = 64;

/// Records in order, in pieces of at most [`BLOCK`] of them. A list that grows gets another piece and copies nothing: what
/// a run records is written once and read once.
#[derive(Clone, Debug)]
pub(super) struct Recent<T> {
    /// None of them is empty but the only one.
    pieces: Vec<Vec<T>>,
    length: usize,
}

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { pieces: Vec::new(), length: 0 }
    }
}

impl<T> Recent<T> {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn push(&mut self, record: T) {
        self.length += 1;
        match self.pieces.last_mut() {
            Some(piece) if piece.len() < piece.capacity().min(BLOCK) => piece.push(record),
            _ => {
                let mut piece = Vec::with_capacity(self.length.clamp(FIRST, BLOCK));
                piece.push(record);
                self.pieces.push(piece);
            }
        }
    }

    /// The pieces in order, none of which is empty.
    pub(super) fn pieces(&self) -> impl DoubleEndedIterator<Item = &[T]> {
        self.pieces.iter().map(Vec::as_slice).filter(|piece| !piece.is_empty())
    }

    pub(super) fn iter(&self) -> Iter<'_, T> {
        self.pieces.iter().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.pieces.iter_mut().flatten()
    }

    /// Forgets all records, and the memory of all but a piece.
    pub(super) fn clear(&mut self) {
        self.length = 0;
        let last = self.pieces.pop();
        self.pieces.clear();
        self.pieces.extend(last.map(|mut piece| {
            piece.clear();
            piece
        }));
    }

    /// All records in one piece.
    #[cfg(test)]
    pub(super) fn as_vec(&mut self) -> &mut Vec<T> {
        let all: Vec<T> = std::mem::take(&mut self.pieces).into_iter().flatten().collect();
        self.pieces.push(all);
        &mut self.pieces[0]
    }

    /// The number of records was changed through [`as_vec`](Self::as_vec).
    #[cfg(test)]
    pub(super) fn count(&mut self) {
        self.length = self.pieces.iter().map(Vec::len).sum();
    }
}

impl<T> IntoIterator for Recent<T> {
    type Item = T;
    type IntoIter = std::iter::Flatten<std::vec::IntoIter<Vec<T>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.pieces.into_iter().flatten()
    }
}

/// The records in order.
pub(super) type Iter<'a, T> = std::iter::Flatten<std::slice::Iter<'a, Vec<T>>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_grow_to_a_block_and_keep_the_order() {
        let mut recent = Recent::default();
        for number in 0..3 * BLOCK {
            recent.push(number);
        }
        assert_eq!(recent.len(), 3 * BLOCK);
        assert!(recent.iter().copied().eq(0..3 * BLOCK));
        let lengths: Vec<usize> = recent.pieces().map(<[usize]>::len).collect();
        assert!(lengths.len() > 4 && lengths.iter().all(|&length| (FIRST..=BLOCK).contains(&length)), "{lengths:?}");
        assert!(recent.pieces.iter().all(|piece| piece.capacity() <= BLOCK));
        recent.iter_mut().for_each(|number| *number += 1);
        assert!(recent.clone().into_iter().eq(1..=3 * BLOCK));
        recent.clear();
        assert_eq!((recent.len(), recent.iter().count(), recent.pieces().count()), (0, 0, 0));
        assert!(recent.pieces.len() <= 1, "the memory of a piece");
        recent.push(7);
        assert!(recent.into_iter().eq([7]));
    }
}
