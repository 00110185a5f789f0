//! The parameter sets of a stream of NAL units: those in force, what is the same in those of H.264 and H.265, and why a slice
//! header that names them was not read.

use std::collections::BTreeMap;

use crate::access_unit::AccessUnitError;
use crate::bits::BadField;
use crate::nal::RbspReader;

/// `aspect_ratio_idc` that a width and a height follow (table E-1 of H.264, E.1 of H.265).
const EXTENDED_SAR: u32 = 255;

/// A sequence or picture parameter set of H.264 or H.265.
pub(crate) trait ParameterSet: Sized {
    /// What an error calls it.
    const NAME: &str;

    /// Its identifier.
    fn id(&self) -> u32;

    /// Reads one. The standard bounds the identifier, and so do errors here.
    fn read(reader: &mut RbspReader) -> Result<Self, BadField>;

    /// The same of what follows the header of a NAL unit.
    fn parse(payload: &[u8]) -> Result<Self, BadField> {
        Self::read(&mut RbspReader::new(payload))
    }
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

/// Takes `count` parameter sets of a decoder's configuration, each behind its length in two bytes, and returns what follows;
/// `None` where one is cut off.
pub(crate) fn take_listed(
    mut rest: &[u8],
    count: u16,
    mut take: impl FnMut(&[u8]) -> Result<(), AccessUnitError>,
) -> Option<Result<&[u8], AccessUnitError>> {
    for _ in 0..count {
        let (length, after) = rest.split_first_chunk()?;
        let (nal, after) = after.split_at_checked(u16::from_be_bytes(*length).into())?;
        if let Err(error) = take(nal) {
            return Some(Err(error));
        }
        rest = after;
    }
    Some(Ok(rest))
}

/// What is cut off of a coded picture's sides before it is shown (7.4.2.1.1 of H.264, 7.4.3.2.1 of H.265), in luma samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cropping {
    horizontal: u32,
    vertical: u32,
}

impl Cropping {
    /// Reads the flag and the four offsets. A chroma sample of `chroma_array_type` is their unit, vertically for each of
    /// `rows`: two where frames may be coded as fields.
    pub(crate) fn parse(reader: &mut RbspReader, chroma_array_type: u32, rows: u32) -> Result<Self, BadField> {
        if !reader.flag()? {
            return Ok(Self::default());
        }
        let mut both = || Ok(reader.ue()?.saturating_add(reader.ue()?));
        let (horizontal, vertical) = (both()?, both()?);
        let unit_x = if matches!(chroma_array_type, 1 | 2) { 2 } else { 1 };
        let unit_y = if chroma_array_type == 1 { 2 } else { 1 };
        let (horizontal, vertical) = (horizontal.saturating_mul(unit_x), vertical.saturating_mul(unit_y * rows));
        Ok(Self { horizontal, vertical })
    }

    /// The width and height that are left; `field` is what an error calls the offsets.
    pub(crate) fn of(self, field: &'static str, width: u32, height: u32) -> Result<(u32, u32), BadField> {
        let left = |side: u32, cut: u32| {
            side.checked_sub(cut).filter(|side| *side > 0).ok_or(BadField { name: field, value: Some(cut) })
        };
        Ok((left(width, self.horizontal)?, left(height, self.vertical)?))
    }
}

/// Passes over what `vui_parameters()` begins with in either standard: aspect ratio, overscan, signal type and the places of
/// chroma samples (E.1.1 of H.264, E.2.1 of H.265).
pub(crate) fn skip_signal_description(reader: &mut RbspReader) -> Result<(), BadField> {
    if reader.flag()? && reader.bits(8)? == EXTENDED_SAR {
        reader.skip_bits(32)?;
    }
    if reader.flag()? {
        let _overscan_appropriate = reader.flag()?;
    }
    if reader.flag()? {
        let _video_format_and_range = reader.bits(4)?;
        if reader.flag()? {
            let _colour_description = reader.bits(24)?;
        }
    }
    if reader.flag()? {
        // chroma sample locations
        reader.skip_codes(2)?;
    }
    Ok(())
}

/// Reads `num_ref_idx_l0_default_active_minus1` and that of list 1, of at most `most`: how many entries each list has where a
/// slice does not say.
pub(crate) fn default_active(reader: &mut RbspReader, most: u32) -> Result<[usize; 2], BadField> {
    let mut entries = |field| reader.ue_at_most(field, most).map(|minus1| minus1 as usize + 1);
    Ok([entries("num_ref_idx_l0_default_active_minus1")?, entries("num_ref_idx_l1_default_active_minus1")?])
}

/// Ceil(Log2(`count`)).
pub(crate) fn ceil_log2(count: u32) -> u32 {
    u32::BITS - count.saturating_sub(1).leading_zeros()
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
