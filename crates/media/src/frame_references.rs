//! The frames that a frame refers to, in little memory: an index has one list for every frame of a movie.

use std::fmt;
use std::ops::Deref;

/// How many stand in place. FFmpeg's encoders of H.264 and H.265 refer to at most so many by default, MPEG video to two.
const IN_PLACE: usize = 5;

/// Decode indices of frames, ascending. It is read as a slice.
#[derive(Clone)]
pub struct References(Kept);

#[derive(Clone)]
enum Kept {
    InPlace(u8, [u32; IN_PLACE]),
    Apart(Box<[u32]>),
}

impl Default for References {
    fn default() -> Self {
        Self(Kept::InPlace(0, [0; IN_PLACE]))
    }
}

impl Deref for References {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match &self.0 {
            Kept::InPlace(count, numbers) => &numbers[..usize::from(*count)],
            Kept::Apart(numbers) => numbers,
        }
    }
}

impl From<&[u32]> for References {
    fn from(numbers: &[u32]) -> Self {
        if numbers.len() > IN_PLACE {
            return Self(Kept::Apart(numbers.into()));
        }
        let mut in_place = [0; IN_PLACE];
        in_place[..numbers.len()].copy_from_slice(numbers);
        Self(Kept::InPlace(numbers.len() as u8, in_place))
    }
}

impl FromIterator<u32> for References {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Self {
        numbers.into_iter().collect::<Vec<_>>().as_slice().into()
    }
}

impl PartialEq for References {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl Eq for References {}

impl fmt::Debug for References {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_is_kept_and_few_take_no_memory_of_their_own() {
        for count in 0..40 {
            let numbers: Vec<u32> = (0..count).map(|number| number * 7).collect();
            let references: References = numbers.iter().copied().collect();
            assert_eq!(references[..], numbers[..]);
            assert_eq!(matches!(references.0, Kept::InPlace(..)), count <= 5);
            assert_eq!(references, References::from(&numbers[..]));
            assert_eq!(format!("{references:?}"), format!("{numbers:?}"));
        }
        assert_eq!((size_of::<References>(), References::default().len()), (24, 0));
    }
}
