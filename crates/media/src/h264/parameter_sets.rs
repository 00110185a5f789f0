//! Sequence and picture parameter sets (ITU-T H.264, 7.3.2.1 and 7.3.2.2), as far as slice headers need them.

use crate::bits::BadField;
use crate::nal::RbspReader;
use crate::nal_parameters::{self, Cropping, ParameterSet, ceil_log2, default_active, skip_signal_description};
use crate::picture::FrameRate;

/// Profiles whose sequence parameter sets state the chroma format (7.3.2.1.1).
const PROFILES_WITH_CHROMA_FORMAT: [u32; 13] = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135];

/// How picture order counts are derived (8.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PictureOrder {
    /// Type 0: the low bits are in the slice header.
    LowBits { bits: u32 },
    /// Type 1: expected differences from frame to frame.
    Expected {
        delta_always_zero: bool,
        offset_for_non_ref_pic: i32,
        offset_for_top_to_bottom_field: i32,
        offset_for_ref_frame: Vec<i32>,
    },
    /// Type 2: the order of decoding.
    Decoding,
}

impl PictureOrder {
    /// The steps between the counts of reference frames differ, so that their cycle has its phase by `frame_num` (8.2.1.2).
    pub(crate) fn steps_differ(&self) -> bool {
        match self {
            Self::Expected { offset_for_ref_frame: steps, .. } => steps.windows(2).any(|two| two[0] != two[1]),
            Self::LowBits { .. } | Self::Decoding => false,
        }
    }
}

/// A sequence parameter set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SequenceParameterSet {
    pub(crate) id: u32,
    /// 0 for monochrome, and for separate colour planes (`ChromaArrayType`).
    pub(crate) chroma_array_type: u32,
    pub(crate) separate_colour_planes: bool,
    /// `log2_max_frame_num_minus4` + 4.
    pub(crate) frame_num_bits: u32,
    pub(crate) picture_order: PictureOrder,
    pub(crate) max_reference_frames: usize,
    /// `gaps_in_frame_num_value_allowed_flag`.
    pub(crate) gaps_allowed: bool,
    pub(crate) frames_only: bool,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// From the VUI: two ticks make a frame (E.2.1).
    pub(crate) frame_rate: Option<FrameRate>,
    /// From the VUI: `max_num_reorder_frames` (E.2.1).
    pub(crate) reordered: Option<u8>,
}

impl ParameterSet for SequenceParameterSet {
    const NAME: &str = "sequence parameter set";

    fn id(&self) -> u32 {
        self.id
    }

    fn read(reader: &mut RbspReader) -> Result<Self, BadField> {
        let Beginning {
            id,
            chroma_format,
            separate_colour_planes,
            frame_num_bits,
            picture_order,
            max_reference_frames,
        } = Beginning::parse(reader)?;
        let gaps_allowed = reader.flag()?;
        let width = (reader.ue_at_most("pic_width_in_mbs_minus1", MAX_SIDE_IN_MACROBLOCKS)? + 1) * 16;
        let map_units = reader.ue_at_most("pic_height_in_map_units_minus1", MAX_SIDE_IN_MACROBLOCKS)? + 1;
        let frames_only = reader.flag()?;
        let _mb_adaptive_frame_field = !frames_only && reader.flag()?;
        let _direct_8x8_inference = reader.flag()?;
        let chroma_array_type = if separate_colour_planes { 0 } else { chroma_format };
        let rows_per_map_unit = if frames_only { 1 } else { 2 };
        let cropping = Cropping::parse(reader, chroma_array_type, rows_per_map_unit)?;
        let (width, height) = cropping.of("frame_cropping", width, map_units * rows_per_map_unit * 16)?;
        let usability = if reader.flag()? { Usability::parse(reader)? } else { Usability::default() };
        Ok(Self {
            id,
            chroma_array_type,
            separate_colour_planes,
            frame_num_bits,
            picture_order,
            max_reference_frames,
            gaps_allowed,
            frames_only,
            width,
            height,
            frame_rate: usability.frame_rate,
            reordered: usability.reordered,
        })
    }
}

/// What stands before `gaps_in_frame_num_value_allowed_flag`.
struct Beginning {
    id: u32,
    chroma_format: u32,
    separate_colour_planes: bool,
    frame_num_bits: u32,
    picture_order: PictureOrder,
    max_reference_frames: usize,
}

impl Beginning {
    fn parse(reader: &mut RbspReader) -> Result<Self, BadField> {
        let profile = reader.bits(8)?;
        let _constraints_and_level = reader.bits(16)?;
        let id = reader.ue_at_most("seq_parameter_set_id", 31)?;
        let (mut chroma_format, mut separate_colour_planes) = (1, false);
        if PROFILES_WITH_CHROMA_FORMAT.contains(&profile) {
            chroma_format = reader.ue_at_most("chroma_format_idc", 3)?;
            separate_colour_planes = chroma_format == 3 && reader.flag()?;
            reader.skip_codes(2)?;
            let _qpprime_y_zero_transform_bypass = reader.flag()?;
            if reader.flag()? {
                skip_scaling_matrix(reader, if chroma_format == 3 { 12 } else { 8 })?;
            }
        }
        let frame_num_bits = reader.ue_at_most("log2_max_frame_num_minus4", 12)? + 4;
        let picture_order = picture_order(reader)?;
        // MaxDpbFrames is at most 16 (A.3.1).
        let max_reference_frames = reader.ue_at_most("max_num_ref_frames", 16)? as usize;
        Ok(Self { id, chroma_format, separate_colour_planes, frame_num_bits, picture_order, max_reference_frames })
    }
}

/// Where `gaps_in_frame_num_value_allowed_flag` stands in a sequence parameter set, behind the header of its NAL unit: its
/// byte, and its bit as a mask. `None` where the set is cut off or malformed before it, and of streams whose `frame_num`
/// cannot be moved: those whose steps between picture order counts [differ](PictureOrder::steps_differ).
pub(crate) fn gaps_allowed_flag(payload: &[u8]) -> Option<(usize, u8)> {
    let mut reader = RbspReader::new(payload);
    let beginning = Beginning::parse(&mut reader).ok()?;
    reader.flag().ok()?;
    if beginning.picture_order.steps_differ() {
        return None;
    }
    Some(reader.last_bit_of(payload))
}

impl SequenceParameterSet {
    /// How many picture order counts are distinguished: `MaxPicOrderCntLsb` where they are derived from low bits, and
    /// two for each `frame_num` where they follow that.
    pub(crate) fn order_turn(&self) -> Option<i64> {
        match self.picture_order {
            PictureOrder::LowBits { bits } => Some(1 << bits),
            PictureOrder::Decoding => Some(2 * i64::from(self.max_frame_num())),
            PictureOrder::Expected { .. } => None,
        }
    }

    /// `MaxFrameNum` (7-10).
    pub(crate) fn max_frame_num(&self) -> u32 {
        1 << self.frame_num_bits
    }
}

/// The largest side of any level is Sqrt(MaxFS * 8) = 1055 macroblocks (A.3.1, level 6.2).
const MAX_SIDE_IN_MACROBLOCKS: u32 = 1055;

fn picture_order(reader: &mut RbspReader) -> Result<PictureOrder, BadField> {
    Ok(match reader.ue_at_most("pic_order_cnt_type", 2)? {
        0 => PictureOrder::LowBits { bits: reader.ue_at_most("log2_max_pic_order_cnt_lsb_minus4", 12)? + 4 },
        1 => PictureOrder::Expected {
            delta_always_zero: reader.flag()?,
            offset_for_non_ref_pic: reader.se()?,
            offset_for_top_to_bottom_field: reader.se()?,
            offset_for_ref_frame: {
                let count = reader.ue_at_most("num_ref_frames_in_pic_order_cnt_cycle", 255)?;
                (0..count).map(|_| reader.se()).collect::<Result<_, _>>()?
            },
        },
        _ => PictureOrder::Decoding,
    })
}

/// Passes over `count` scaling lists, each behind a flag (7.3.2.1.1.1).
fn skip_scaling_matrix(reader: &mut RbspReader, count: u32) -> Result<(), BadField> {
    for list in 0..count {
        if reader.flag()? {
            let size = if list < 6 { 16 } else { 64 };
            let (mut last, mut next) = (8i32, 8i32);
            for _ in 0..size {
                if next != 0 {
                    next = last.wrapping_add(reader.se()?).rem_euclid(256);
                }
                last = if next == 0 { last } else { next };
            }
        }
    }
    Ok(())
}

/// What `vui_parameters()` (E.1.1) says of the order and the rate of frames.
#[derive(Default)]
struct Usability {
    frame_rate: Option<FrameRate>,
    reordered: Option<u8>,
}

impl Usability {
    fn parse(reader: &mut RbspReader) -> Result<Self, BadField> {
        let frame_rate = frame_rate(reader)?;
        // A set that is cut off behind what slices and clocks need is used without the rest.
        Ok(Self { frame_rate, reordered: reordered(reader).unwrap_or(None) })
    }
}

/// The timing information, and what stands before it.
fn frame_rate(reader: &mut RbspReader) -> Result<Option<FrameRate>, BadField> {
    skip_signal_description(reader)?;
    if !reader.flag()? {
        return Ok(None);
    }
    let (ticks_unit, time_scale) = (reader.bits(32)?, reader.bits(32)?);
    let _fixed_frame_rate = reader.flag();
    Ok(FrameRate::reduced(u64::from(time_scale), 2 * u64::from(ticks_unit)))
}

/// `max_num_reorder_frames`, and what stands between the timing information and it.
fn reordered(reader: &mut RbspReader) -> Result<Option<u8>, BadField> {
    let mut has_hypothetical_decoder = false;
    for _of_nal_units_or_slices in 0..2 {
        if reader.flag()? {
            has_hypothetical_decoder = true;
            skip_hypothetical_decoder(reader)?;
        }
    }
    let _low_delay = has_hypothetical_decoder && reader.flag()?;
    let _picture_structure_present = reader.flag()?;
    if !reader.flag()? {
        return Ok(None);
    }
    let _motion_vectors_over_boundaries = reader.flag()?;
    // max_bytes_per_pic_denom, max_bits_per_mb_denom, log2_max_mv_length_horizontal and _vertical
    reader.skip_codes(4)?;
    // MaxDpbFrames is at most 16 (A.3.1).
    Ok(Some(reader.ue_at_most("max_num_reorder_frames", 16)? as u8))
}

/// Passes over `hrd_parameters()` (E.1.2).
fn skip_hypothetical_decoder(reader: &mut RbspReader) -> Result<(), BadField> {
    let buffers = reader.ue_at_most("cpb_cnt_minus1", 31)? + 1;
    let _scales = reader.bits(8)?;
    for _ in 0..buffers {
        reader.skip_codes(2)?;
        let _constant_rate = reader.flag()?;
    }
    // The lengths of delays and of the time offset.
    reader.bits(20).map(drop)
}

/// A picture parameter set, up to what slice headers need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PictureParameterSet {
    pub(crate) id: u32,
    pub(crate) sequence: u32,
    pub(crate) bottom_field_order_present: bool,
    /// `num_ref_idx_l0_default_active_minus1` + 1, and the same of list 1.
    pub(crate) default_active: [usize; 2],
    pub(crate) weighted_prediction: bool,
    /// `weighted_bipred_idc`: 1 has weights in the slice header.
    pub(crate) weighted_biprediction: u32,
    pub(crate) redundant_pictures: bool,
}

impl ParameterSet for PictureParameterSet {
    const NAME: &str = "picture parameter set";

    fn id(&self) -> u32 {
        self.id
    }

    fn read(reader: &mut RbspReader) -> Result<Self, BadField> {
        let id = reader.ue_at_most("pic_parameter_set_id", 255)?;
        let sequence = reader.ue_at_most("seq_parameter_set_id", 31)?;
        let _entropy_coding_mode = reader.flag()?;
        let bottom_field_order_present = reader.flag()?;
        skip_slice_groups(reader)?;
        let default_active = default_active(reader, 31)?;
        let weighted_prediction = reader.flag()?;
        let weighted_biprediction = reader.bits(2)?;
        // pic_init_qp_minus26, pic_init_qs_minus26, chroma_qp_index_offset
        reader.skip_codes(3)?;
        let _deblocking_control_and_constrained_intra = reader.bits(2)?;
        let redundant_pictures = reader.flag()?;
        Ok(Self {
            id,
            sequence,
            bottom_field_order_present,
            default_active,
            weighted_prediction,
            weighted_biprediction,
            redundant_pictures,
        })
    }
}

/// Passes over the slice groups of flexible macroblock ordering (7.3.2.2).
fn skip_slice_groups(reader: &mut RbspReader) -> Result<(), BadField> {
    let groups = reader.ue_at_most("num_slice_groups_minus1", 7)? + 1;
    if groups == 1 {
        return Ok(());
    }
    match reader.ue_at_most("slice_group_map_type", 6)? {
        0 => reader.skip_codes(groups),
        2 => reader.skip_codes(2 * (groups - 1)),
        3..=5 => reader.flag().and_then(|_| reader.skip_codes(1)),
        6 => {
            let units = reader.ue_at_most("pic_size_in_map_units_minus1", MAX_SIDE_IN_MACROBLOCKS.pow(2))? + 1;
            (0..units).try_for_each(|_| reader.bits(ceil_log2(groups)).map(drop))
        }
        _ => Ok(()),
    }
}

/// The parameter sets in force, by identifier: at most 32 and 256.
pub(crate) type ParameterSets = nal_parameters::ParameterSets<SequenceParameterSet, PictureParameterSet>;
