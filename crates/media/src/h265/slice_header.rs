//! Slice segment headers (ITU-T H.265, 7.3.6), up to the modification of reference picture lists.

use crate::bits::BadField;
use crate::h265::parameter_sets::{ParameterSets, PictureParameterSet, SequenceParameterSet};
use crate::h265::reference_set::ShortTermSet;
use crate::nal::RbspReader;
use crate::nal_parameters::{SliceError, ceil_log2};
use crate::picture::PictureType;

/// `nal_unit_type` (table 7-1).
pub(crate) mod nal_type {
    /// Below, even types are sub-layer non-reference pictures.
    pub(crate) const FIRST_RESERVED_AFTER_LEADING: u8 = 16;
    pub(crate) const RADL_N: u8 = 6;
    pub(crate) const RADL_R: u8 = 7;
    pub(crate) const RASL_N: u8 = 8;
    pub(crate) const RASL_R: u8 = 9;
    pub(crate) const BLA_W_LP: u8 = 16;
    pub(crate) const BLA_N_LP: u8 = 18;
    pub(crate) const IDR_W_RADL: u8 = 19;
    pub(crate) const IDR_N_LP: u8 = 20;
    pub(crate) const CRA: u8 = 21;
    pub(crate) const LAST_INTRA_RANDOM_ACCESS: u8 = 23;
    pub(crate) const VIDEO_PARAMETER_SET: u8 = 32;
    pub(crate) const SEQUENCE_PARAMETER_SET: u8 = 33;
    pub(crate) const PICTURE_PARAMETER_SET: u8 = 34;
    pub(crate) const ACCESS_UNIT_DELIMITER: u8 = 35;
    pub(crate) const END_OF_SEQUENCE: u8 = 36;
    pub(crate) const END_OF_BITSTREAM: u8 = 37;
    pub(crate) const PREFIX_SEI: u8 = 39;
    pub(crate) const FIRST_RESERVED_BEFORE_PICTURE: u8 = 41;
    pub(crate) const LAST_RESERVED_BEFORE_PICTURE: u8 = 44;
    pub(crate) const FIRST_UNSPECIFIED_BEFORE_PICTURE: u8 = 48;
    pub(crate) const LAST_UNSPECIFIED_BEFORE_PICTURE: u8 = 55;
}

/// `nal_unit_header()` (7.3.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NalHeader {
    pub(crate) nal_type: u8,
    pub(crate) layer: u8,
    pub(crate) temporal_layer: u8,
}

impl NalHeader {
    /// The header of a NAL unit, and what follows it. `None` when it is cut off or forbidden.
    pub(crate) fn split(nal: &[u8]) -> Option<(Self, &[u8])> {
        let (&[first, second], payload) = nal.split_first_chunk()?;
        let nal_type = first >> 1 & 0x3f;
        let layer = (first & 1) << 5 | second >> 3;
        let temporal_layer = (second & 7).checked_sub(1)?;
        Some((Self { nal_type, layer, temporal_layer }, payload))
    }

    /// A slice segment of a type that is in use, in the base layer.
    pub(crate) fn is_slice(self) -> bool {
        self.layer == 0
            && (self.nal_type <= nal_type::RASL_R || (nal_type::BLA_W_LP..=nal_type::CRA).contains(&self.nal_type))
    }

    pub(crate) fn is_intra_random_access(self) -> bool {
        (nal_type::BLA_W_LP..=nal_type::LAST_INTRA_RANDOM_ACCESS).contains(&self.nal_type)
    }

    pub(crate) fn is_idr(self) -> bool {
        matches!(self.nal_type, nal_type::IDR_W_RADL | nal_type::IDR_N_LP)
    }

    pub(crate) fn is_bla(self) -> bool {
        (nal_type::BLA_W_LP..=nal_type::BLA_N_LP).contains(&self.nal_type)
    }

    pub(crate) fn is_rasl(self) -> bool {
        matches!(self.nal_type, nal_type::RASL_N | nal_type::RASL_R)
    }

    pub(crate) fn is_radl(self) -> bool {
        matches!(self.nal_type, nal_type::RADL_N | nal_type::RADL_R)
    }

    /// No picture of the same sub-layer refers to it (3.161).
    pub(crate) fn is_sub_layer_non_reference(self) -> bool {
        self.nal_type < nal_type::FIRST_RESERVED_AFTER_LEADING && self.nal_type.is_multiple_of(2)
    }
}

/// A long-term reference picture of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongTermPicture {
    pub(crate) order_low_bits: u32,
    /// How many times the low bits wrapped between it and the current picture, where that is stated
    /// (`DeltaPocMsbCycleLt`).
    pub(crate) wraps: Option<i64>,
    /// `UsedByCurrPicLt`.
    pub(crate) used: bool,
}

/// The reference pictures of a picture, and the low bits of its own order count. Empty for IDR pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PictureReferences {
    pub(crate) order_low_bits: u32,
    pub(crate) short_term: ShortTermSet,
    pub(crate) long_term: Vec<LongTermPicture>,
}

impl PictureReferences {
    /// `NumPicTotalCurr` (7-55).
    fn used(&self) -> usize {
        let short_term = self.short_term.before.iter().chain(&self.short_term.after);
        short_term.filter(|picture| picture.used).count() + self.long_term.iter().filter(|picture| picture.used).count()
    }
}

/// What decides the reference picture lists of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListHeader {
    pub(crate) kind: PictureType,
    /// Entries that the slice may use, list by list; 0 where it has no such list.
    pub(crate) active: [usize; 2],
    /// `list_entry`: positions in the initial list, where it is modified.
    pub(crate) modified: [Option<Vec<usize>>; 2],
}

/// The header of an independent slice segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SliceHeader {
    pub(crate) is_first: bool,
    pub(crate) sequence: u32,
    pub(crate) references: PictureReferences,
    pub(crate) lists: ListHeader,
}

impl SliceHeader {
    /// Reads a slice segment. `None` for a dependent one, which has the header of the one before.
    pub(crate) fn parse(header: NalHeader, payload: &[u8], sets: &ParameterSets) -> Result<Option<Self>, SliceError> {
        let mut reader = RbspReader::new(payload);
        let reader = &mut reader;
        let is_first = reader.flag()?;
        if header.is_intra_random_access() {
            let _no_output_of_prior_pics = reader.flag()?;
        }
        let id = reader.ue_at_most("slice_pic_parameter_set_id", 63)?;
        let picture_set = sets.picture(id)?;
        let sequence = sets.sequence(picture_set.sequence)?;
        if !is_first {
            let is_dependent = picture_set.has_dependent_slice_segments && reader.flag()?;
            let _slice_segment_address = reader.bits(sequence.address_bits)?;
            if is_dependent {
                return Ok(None);
            }
        }
        reader.skip_bits(picture_set.extra_slice_header_bits)?;
        let kind = match reader.ue_at_most("slice_type", 2)? {
            value @ (0 | 1) if header.is_intra_random_access() => {
                return Err(BadField { name: "slice_type of an IRAP picture", value: Some(value) }.into());
            }
            0 => PictureType::B,
            1 => PictureType::P,
            _ => PictureType::I,
        };
        if picture_set.has_output_flag {
            let _pic_output = reader.flag()?;
        }
        if sequence.separate_colour_planes {
            let _colour_plane_id = reader.bits(2)?;
        }
        let references =
            if header.is_idr() { PictureReferences::default() } else { picture_references(reader, sequence)? };
        if sequence.has_sample_adaptive_offset {
            let _luma = reader.flag()?;
            let _chroma = sequence.chroma_array_type != 0 && reader.flag()?;
        }
        let lists = list_header(reader, kind, picture_set, references.used())?;
        Ok(Some(Self { is_first, sequence: id, references, lists }))
    }
}

fn picture_references(reader: &mut RbspReader, sequence: &SequenceParameterSet) -> Result<PictureReferences, BadField> {
    let order_low_bits = reader.bits(sequence.order_bits)?;
    let sets = &sequence.short_term_sets;
    let short_term = if !reader.flag()? {
        ShortTermSet::parse(reader, sets, true)?
    } else {
        let index = reader.bits(ceil_log2(sets.len() as u32))?;
        let bad = BadField { name: "short_term_ref_pic_set_idx", value: Some(index) };
        sets.get(index as usize).ok_or(bad)?.clone()
    };
    let long_term = long_term(reader, sequence)?;
    if sequence.has_temporal_mvp {
        let _slice_temporal_mvp_enabled = reader.flag()?;
    }
    Ok(PictureReferences { order_low_bits, short_term, long_term })
}

/// The long-term reference pictures of a slice (7-52 to 7-54).
fn long_term(reader: &mut RbspReader, sequence: &SequenceParameterSet) -> Result<Vec<LongTermPicture>, BadField> {
    let Some(candidates) = &sequence.long_term_candidates else { return Ok(vec![]) };
    let from_sequence =
        if candidates.is_empty() { 0 } else { reader.ue_at_most("num_long_term_sps", candidates.len() as u32)? };
    let own = reader.ue_at_most("num_long_term_pics", 32)?;
    let mut pictures = Vec::new();
    let mut wraps = 0;
    for number in 0..from_sequence + own {
        let (order_low_bits, used) = if number < from_sequence {
            let index = reader.bits(ceil_log2(candidates.len() as u32))?;
            let bad = BadField { name: "lt_idx_sps", value: Some(index) };
            let candidate = candidates.get(index as usize).ok_or(bad)?;
            (candidate.order_low_bits, candidate.used)
        } else {
            (reader.bits(sequence.order_bits)?, reader.flag()?)
        };
        // Each list counts from the picture before, and each begins anew (7-52).
        if number == 0 || number == from_sequence {
            wraps = 0;
        }
        let is_present = reader.flag()?;
        wraps += if is_present { i64::from(reader.ue()?) } else { 0 };
        pictures.push(LongTermPicture { order_low_bits, wraps: is_present.then_some(wraps), used });
    }
    Ok(pictures)
}

fn list_header(
    reader: &mut RbspReader,
    kind: PictureType,
    picture_set: &PictureParameterSet,
    used: usize,
) -> Result<ListHeader, BadField> {
    let mut lists = ListHeader { kind, active: [0; 2], modified: [None, None] };
    let count = match kind {
        PictureType::P => 1,
        PictureType::B => 2,
        PictureType::I | PictureType::D => return Ok(lists),
    };
    let is_overridden = reader.flag()?;
    for list in 0..count {
        lists.active[list] = match is_overridden {
            true => reader.ue_at_most("num_ref_idx_active_minus1", 14)? as usize + 1,
            false => picture_set.default_active[list],
        };
    }
    if picture_set.has_list_modification && used > 1 {
        for list in 0..count {
            if reader.flag()? {
                let bits = ceil_log2(used as u32);
                let entries = (0..lists.active[list]).map(|_| reader.bits(bits).map(|entry| entry as usize));
                lists.modified[list] = Some(entries.collect::<Result<_, _>>()?);
            }
        }
    }
    Ok(lists)
}
