//! Slice headers (ITU-T H.264, 7.3.3), up to the marking of reference pictures.

use crate::bits::BadField;
use crate::h264::parameter_sets::{ParameterSets, PictureOrder, PictureParameterSet, SequenceParameterSet};
use crate::nal::RbspReader;
use crate::nal_parameters::SliceError;
use crate::picture::PictureType;

/// `nal_unit_type` (table 7-1).
pub(crate) mod nal_type {
    pub(crate) const SLICE: u8 = 1;
    pub(crate) const SLICE_PARTITION_A: u8 = 2;
    pub(crate) const IDR_SLICE: u8 = 5;
    pub(crate) const SEI: u8 = 6;
    pub(crate) const SEQUENCE_PARAMETER_SET: u8 = 7;
    pub(crate) const PICTURE_PARAMETER_SET: u8 = 8;
    pub(crate) const ACCESS_UNIT_DELIMITER: u8 = 9;
    pub(crate) const PREFIX: u8 = 14;
    pub(crate) const SUBSET_SEQUENCE_PARAMETER_SET: u8 = 15;
    pub(crate) const LAST_RESERVED_BEFORE_PICTURE: u8 = 18;
    pub(crate) const AUXILIARY_SLICE: u8 = 19;
    pub(crate) const SLICE_EXTENSION: u8 = 20;
    pub(crate) const DEPTH_SLICE_EXTENSION: u8 = 21;
}

/// Which fields of a frame a picture holds, or a marking is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fields(u8);

impl Fields {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const TOP: Self = Self(1);
    pub(crate) const BOTTOM: Self = Self(2);
    pub(crate) const BOTH: Self = Self(3);

    pub(crate) fn is_single(self) -> bool {
        matches!(self, Self::TOP | Self::BOTTOM)
    }

    pub(crate) fn any(self) -> bool {
        self != Self::NONE
    }

    pub(crate) fn holds(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(crate) fn others(self) -> Self {
        Self::BOTH.without(self)
    }
}

/// A command of `ref_pic_list_modification()` (table 7-7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Modification {
    /// `abs_diff_pic_num_minus1` + 1, subtracted.
    Subtract(i64),
    /// `abs_diff_pic_num_minus1` + 1, added.
    Add(i64),
    /// `long_term_pic_num`.
    LongTerm(i64),
}

/// A `memory_management_control_operation` (table 7-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// 1: `difference_of_pic_nums_minus1` + 1.
    UnmarkShortTerm(i64),
    /// 2: `long_term_pic_num`.
    UnmarkLongTerm(i64),
    /// 3: `difference_of_pic_nums_minus1` + 1, `long_term_frame_idx`.
    ShortToLongTerm(i64, u32),
    /// 4: `max_long_term_frame_idx_plus1`.
    LimitLongTerm(u32),
    /// 5.
    UnmarkAll,
    /// 6: `long_term_frame_idx`.
    CurrentToLongTerm(u32),
}

/// How reference pictures are marked after this picture (8.2.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Marking {
    SlidingWindow,
    Idr { long_term: bool },
    Operations(Vec<Operation>),
}

impl Marking {
    /// With operation 5 it ends the coded video sequence as an IDR picture does.
    pub(crate) fn unmarks_all(&self) -> bool {
        matches!(self, Self::Operations(operations) if operations.contains(&Operation::UnmarkAll))
    }
}

/// What the slices of one picture have in common, and separates pictures (7.4.1.2.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PictureHeader {
    pub(crate) picture_parameter_set: u32,
    pub(crate) frame_num: u32,
    pub(crate) fields: Fields,
    /// `nal_ref_idc` is not 0.
    pub(crate) is_reference: bool,
    /// `idr_pic_id` of an IDR picture.
    pub(crate) idr: Option<u32>,
    pub(crate) order_low_bits: u32,
    pub(crate) delta_order_bottom: i32,
    pub(crate) delta_order: [i32; 2],
}

impl PictureHeader {
    /// Whether a slice with header `other` belongs to the same primary coded picture (7.4.1.2.4).
    pub(crate) fn is_same_picture(&self, other: &Self) -> bool {
        self == other
    }

    /// Whether a picture with header `second` is the second field of the frame whose first field has this header
    /// (3.30 and 3.31: complementary field pairs).
    pub(crate) fn is_completed_by(&self, second: &Self) -> bool {
        self.fields.is_single()
            && second.fields == self.fields.others()
            && second.frame_num == self.frame_num
            && second.idr.is_none()
            && (self.is_reference == second.is_reference || self.idr.is_none())
    }
}

/// A slice header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SliceHeader {
    pub(crate) picture: PictureHeader,
    pub(crate) lists: ListHeader,
    pub(crate) marking: Marking,
    /// Part of a redundant coded picture, which a decoder does not need.
    pub(crate) is_redundant: bool,
}

/// What decides the reference picture lists of a slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListHeader {
    pub(crate) kind: PictureType,
    /// Entries of each list that the slice may use.
    pub(crate) active: [usize; 2],
    pub(crate) modifications: [Vec<Modification>; 2],
}

impl ListHeader {
    /// How many reference picture lists a slice of its type has.
    pub(crate) fn count(&self) -> usize {
        match self.kind {
            PictureType::P => 1,
            PictureType::B => 2,
            PictureType::I | PictureType::D => 0,
        }
    }
}

/// Commands of a modification or marking that are read: a list has at most 32 entries, and there are as many fields.
const MAX_COMMANDS: usize = 66;

impl SliceHeader {
    /// Reads a NAL unit of a type that holds a slice header.
    pub(crate) fn parse(nal: &[u8], sets: &ParameterSets) -> Result<Self, SliceError> {
        let (&nal_header, payload) = nal.split_first().ok_or(BadField { name: "nal_unit_header", value: None })?;
        let mut reader = RbspReader::new(payload);
        let reader = &mut reader;
        let _first_mb_in_slice = reader.ue()?;
        let slice_type = reader.ue_at_most("slice_type", 9)?;
        let kind = match slice_type % 5 {
            0 | 3 => PictureType::P,
            1 => PictureType::B,
            _ => PictureType::I,
        };
        if nal_header & 0x1f == nal_type::IDR_SLICE && kind != PictureType::I {
            return Err(BadField { name: "slice_type of an IDR picture", value: Some(slice_type) }.into());
        }
        let id = reader.ue_at_most("pic_parameter_set_id", 255)?;
        let picture_set = sets.picture(id)?;
        let sequence = sets.sequence(picture_set.sequence)?;
        let picture = picture_header(reader, nal_header, sequence, picture_set)?;
        let is_redundant = picture_set.redundant_pictures && reader.ue_at_most("redundant_pic_cnt", 127)? > 0;
        let lists = list_header(reader, kind, picture_set)?;
        skip_weights(reader, &lists, sequence, picture_set)?;
        let marking =
            if picture.is_reference { marking(reader, picture.idr.is_some())? } else { Marking::SlidingWindow };
        Ok(Self { picture, lists, marking, is_redundant })
    }
}

fn picture_header(
    reader: &mut RbspReader,
    nal_header: u8,
    sequence: &SequenceParameterSet,
    picture_set: &PictureParameterSet,
) -> Result<PictureHeader, BadField> {
    if sequence.separate_colour_planes {
        let _colour_plane_id = reader.bits(2)?;
    }
    let frame_num = reader.bits(sequence.frame_num_bits)?;
    let fields = match !sequence.frames_only && reader.flag()? {
        false => Fields::BOTH,
        true => [Fields::TOP, Fields::BOTTOM][usize::from(reader.flag()?)],
    };
    let is_idr = nal_header & 0x1f == nal_type::IDR_SLICE;
    let idr = if is_idr { Some(reader.ue_at_most("idr_pic_id", 65_535)?) } else { None };
    let (mut order_low_bits, mut delta_order_bottom, mut delta_order) = (0, 0, [0; 2]);
    let has_bottom_delta = picture_set.bottom_field_order_present && fields == Fields::BOTH;
    match sequence.picture_order {
        PictureOrder::LowBits { bits } => {
            order_low_bits = reader.bits(bits)?;
            if has_bottom_delta {
                delta_order_bottom = reader.se()?;
            }
        }
        PictureOrder::Expected { delta_always_zero: false, .. } => {
            delta_order[0] = reader.se()?;
            if has_bottom_delta {
                delta_order[1] = reader.se()?;
            }
        }
        PictureOrder::Expected { .. } | PictureOrder::Decoding => {}
    }
    Ok(PictureHeader {
        picture_parameter_set: picture_set.id,
        frame_num,
        fields,
        is_reference: nal_header >> 5 & 3 != 0,
        idr,
        order_low_bits,
        delta_order_bottom,
        delta_order,
    })
}

/// Active entries and modifications of the reference picture lists (7.3.3 and 7.3.3.1).
fn list_header(
    reader: &mut RbspReader,
    kind: PictureType,
    picture_set: &PictureParameterSet,
) -> Result<ListHeader, BadField> {
    let mut lists = ListHeader { kind, active: [0; 2], modifications: [vec![], vec![]] };
    if kind == PictureType::B {
        let _direct_spatial_mv_pred = reader.flag()?;
    }
    let count = lists.count();
    let is_overridden = count > 0 && reader.flag()?;
    for list in 0..count {
        lists.active[list] = match is_overridden {
            true => reader.ue_at_most("num_ref_idx_active_minus1", 31)? as usize + 1,
            false => picture_set.default_active[list],
        };
    }
    for modifications in &mut lists.modifications[..count] {
        if reader.flag()? {
            *modifications = list_modifications(reader)?;
        }
    }
    Ok(lists)
}

fn list_modifications(reader: &mut RbspReader) -> Result<Vec<Modification>, BadField> {
    let mut modifications = Vec::new();
    loop {
        let command = reader.ue_at_most("modification_of_pic_nums_idc", 3)?;
        if command == 3 {
            return Ok(modifications);
        }
        let number = i64::from(reader.ue()?);
        modifications.push(match command {
            0 => Modification::Subtract(number + 1),
            1 => Modification::Add(number + 1),
            _ => Modification::LongTerm(number),
        });
        if modifications.len() > MAX_COMMANDS {
            return Err(BadField { name: "modification_of_pic_nums_idc", value: Some(command) });
        }
    }
}

/// Passes over `pred_weight_table()` (7.3.3.2), where there is one.
fn skip_weights(
    reader: &mut RbspReader,
    lists: &ListHeader,
    sequence: &SequenceParameterSet,
    picture_set: &PictureParameterSet,
) -> Result<(), BadField> {
    let has_weights = match lists.kind {
        PictureType::P => picture_set.weighted_prediction,
        PictureType::B => picture_set.weighted_biprediction == 1,
        PictureType::I | PictureType::D => false,
    };
    if !has_weights {
        return Ok(());
    }
    let has_chroma = sequence.chroma_array_type != 0;
    // log2 weight denominators
    reader.skip_codes(1 + u32::from(has_chroma))?;
    for _ in 0..lists.active[..lists.count()].iter().sum() {
        if reader.flag()? {
            reader.skip_codes(2)?;
        }
        if has_chroma && reader.flag()? {
            reader.skip_codes(4)?;
        }
    }
    Ok(())
}

/// `dec_ref_pic_marking()` (7.3.3.3).
fn marking(reader: &mut RbspReader, is_idr: bool) -> Result<Marking, BadField> {
    if is_idr {
        let _no_output_of_prior_pics = reader.flag()?;
        return Ok(Marking::Idr { long_term: reader.flag()? });
    }
    if !reader.flag()? {
        return Ok(Marking::SlidingWindow);
    }
    let mut operations = Vec::new();
    loop {
        let code = reader.ue_at_most("memory_management_control_operation", 6)?;
        operations.push(match code {
            0 => return Ok(Marking::Operations(operations)),
            1 => Operation::UnmarkShortTerm(i64::from(reader.ue()?) + 1),
            2 => Operation::UnmarkLongTerm(reader.ue()?.into()),
            3 => Operation::ShortToLongTerm(i64::from(reader.ue()?) + 1, reader.ue()?),
            4 => Operation::LimitLongTerm(reader.ue()?),
            5 => Operation::UnmarkAll,
            _ => Operation::CurrentToLongTerm(reader.ue()?),
        });
        if operations.len() > MAX_COMMANDS {
            return Err(BadField { name: "memory_management_control_operation", value: Some(code) });
        }
    }
}
