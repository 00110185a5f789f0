//! What frames of a sender begin with.

use std::marker::PhantomData;

use super::byte_stream::nal_units;
use super::{Class, NalCodec, Role};

/// What frames of a sender begin with, by the class of their pictures, as far as frames came with their beginnings.
///
/// After a loss a frame has its beginning where it begins with an access unit delimiter (7.4.1.2.3 of H.264, 7.4.2.4.4 of
/// H.265), or as all frames of its class that came with their beginnings: with a type of NAL unit that never stood twice
/// before the first slice of one, so that none of it can be missing, or with the first slice itself. Where some frames of
/// the class began with a slice and others with something before it, a frame that begins with a slice does not show
/// whether that is missing.
///
/// The first key picture of a stream has parameter sets before it whatever the sender's habit is: it is what key pictures
/// begin with only until the next one came.
///
/// Two fields may be one access unit, of which each begins as a frame does: the frame has to hold both, unless the sender
/// was seen to send frames of one picture and none of two.
///
/// What a sender does for the first time directly after a loss is not foreseen: a frame without what it put there would be
/// taken for whole.
#[derive(Clone, Debug)]
pub(in crate::rtp_payload) struct Beginnings<C> {
    key: Habit,
    intra: Habit,
    inter: Habit,
    /// Whether frames of several pictures were seen; `None` before the first frame.
    pairs: Option<bool>,
    codec: PhantomData<C>,
}

/// Of one class, sets of types of NAL units as bits. All first slices count as one type.
#[derive(Clone, Copy, Debug, Default)]
struct Habit {
    /// What frames began with.
    first: u64,
    /// What stood before the first slice more than once.
    repeated: u64,
    /// It is that of one frame.
    is_of_one: bool,
}

/// How a frame begins.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    /// The bit of the first NAL unit.
    first: u64,
    role: Role,
    class: Class,
    repeated: u64,
    /// How many pictures begin in it.
    pictures: usize,
}

impl<C> Default for Beginnings<C> {
    fn default() -> Self {
        let habit = Habit::default();
        Self { key: habit, intra: habit, inter: habit, pairs: None, codec: PhantomData }
    }
}

impl<C: NalCodec> Beginnings<C> {
    /// A frame came with its beginning, and all of it if it is whole.
    pub(super) fn learn(&mut self, frame: &[u8], is_whole: bool) {
        let Some(beginning) = Beginning::of::<C>(frame) else { return };
        let is_pair = beginning.pictures > 1;
        if is_pair || is_whole {
            self.pairs = Some(is_pair || self.pairs == Some(true));
        }
        let habit = self.habit_mut(beginning.class);
        if habit.is_of_one && beginning.class == Class::KeyPicture {
            *habit = Habit::default();
        }
        habit.is_of_one = habit.first == 0;
        habit.first |= beginning.first;
        habit.repeated |= beginning.repeated;
    }

    /// Whether a frame, before which something is missing, has its beginning.
    pub(super) fn has_beginning(&self, frame: &[u8]) -> bool {
        let Some(beginning) = Beginning::of::<C>(frame) else { return false };
        let habit = self.habit(beginning.class);
        let as_ever = habit.first == beginning.first && habit.repeated & beginning.first == 0;
        let begins = match beginning.role {
            Role::Delimiter => true,
            Role::Before | Role::FirstSlice(_) => as_ever,
            Role::Slice | Role::Other => false,
        };
        begins && (beginning.pictures > 1 || self.pairs == Some(false))
    }

    fn habit(&self, class: Class) -> Habit {
        match class {
            Class::KeyPicture => self.key,
            Class::Intra => self.intra,
            Class::Inter => self.inter,
        }
    }

    fn habit_mut(&mut self, class: Class) -> &mut Habit {
        match class {
            Class::KeyPicture => &mut self.key,
            Class::Intra => &mut self.intra,
            Class::Inter => &mut self.inter,
        }
    }
}

impl Beginning {
    /// `None` for bytes without the first slice of a picture.
    fn of<C: NalCodec>(frame: &[u8]) -> Option<Self> {
        let mut units = nal_units(frame).filter(|(_, nal)| !nal.is_empty());
        let (_, first) = units.next()?;
        let (mut seen, mut repeated, mut current) = (0, 0, first);
        let class = loop {
            if let Role::FirstSlice(class) = C::role(current) {
                break class;
            }
            repeated |= seen & bit::<C>(current);
            seen |= bit::<C>(current);
            current = units.next()?.1;
        };
        let others = units.filter(|(_, nal)| matches!(C::role(nal), Role::FirstSlice(_))).count();
        Some(Self { first: bit::<C>(first), role: C::role(first), class, repeated, pictures: 1 + others })
    }
}

/// The type of a NAL unit that is not empty, as a bit. No NAL unit that is carried is of type 63.
fn bit<C: NalCodec>(nal: &[u8]) -> u64 {
    const FIRST_SLICE: u8 = 63;
    let unit_type = if let Role::FirstSlice(_) = C::role(nal) { FIRST_SLICE } else { C::unit_type(nal[0]) };
    1 << unit_type
}
