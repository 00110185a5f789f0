//! The parameter sets of a stream of NAL units, and why a slice header that names them was not read.

use std::collections::BTreeMap;

use crate::access_unit::AccessUnitError;
use crate::headers::BadField;

/// A sequence or picture parameter set of H.264 or H.265.
pub(crate) trait ParameterSet: Sized {
    /// What an error calls it.
    const NAME: &str;

    /// Its identifier.
    fn id(&self) -> u32;

    /// Reads one, behind the header of its NAL unit. The standard bounds the identifier, and so do errors here.
    fn parse(payload: &[u8]) -> Result<Self, BadField>;
}

/// The parameter sets in force, by identifier.
#[derive(Clone, Debug)]
pub(crate) struct ParameterSets<S, P> {
    sequences: BTreeMap<u32, S>,
    pictures: BTreeMap<u32, P>,
}

impl<S, P> Default for ParameterSets<S, P> {
    fn default() -> Self {
        Self { sequences: BTreeMap::new(), pictures: BTreeMap::new() }
    }
}

impl<S: ParameterSet, P: ParameterSet> ParameterSets<S, P> {
    /// Takes a sequence parameter set; one that cannot be read leaves the one before in force.
    pub(crate) fn take_sequence(&mut self, payload: &[u8]) -> Result<(), BadField> {
        take(&mut self.sequences, payload)
    }

    /// The same for a picture parameter set.
    pub(crate) fn take_picture(&mut self, payload: &[u8]) -> Result<(), BadField> {
        take(&mut self.pictures, payload)
    }

    pub(crate) fn sequence(&self, id: u32) -> Result<&S, SliceError> {
        find(&self.sequences, id)
    }

    pub(crate) fn picture(&self, id: u32) -> Result<&P, SliceError> {
        find(&self.pictures, id)
    }
}

fn take<T: ParameterSet>(sets: &mut BTreeMap<u32, T>, payload: &[u8]) -> Result<(), BadField> {
    let set = T::parse(payload)?;
    sets.insert(set.id(), set);
    Ok(())
}

fn find<T: ParameterSet>(sets: &BTreeMap<u32, T>, id: u32) -> Result<&T, SliceError> {
    sets.get(&id).ok_or(SliceError::Missing { parameter_set: T::NAME, id })
}

/// Why a slice header was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SliceError {
    /// A field of it is wrong.
    Bad(BadField),
    /// A parameter set that it names has not come.
    Missing {
        /// Which kind.
        parameter_set: &'static str,
        /// Its identifier.
        id: u32,
    },
}

impl SliceError {
    /// As the error of access unit `number`.
    pub(crate) fn of_unit(self, number: u64) -> AccessUnitError {
        match self {
            Self::Bad(field) => AccessUnitError::bad_header(number, field),
            Self::Missing { parameter_set, id } => AccessUnitError::MissingParameterSet { number, parameter_set, id },
        }
    }
}

impl From<BadField> for SliceError {
    fn from(field: BadField) -> Self {
        Self::Bad(field)
    }
}
