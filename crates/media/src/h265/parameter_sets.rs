//! Sequence and picture parameter sets (ITU-T H.265, 7.3.2.2 and 7.3.2.3), as far as slice headers need them.

use crate::bits::BadField;
use crate::h265::reference_set::ShortTermSet;
use crate::nal::RbspReader;
use crate::nal_parameters::{self, Cropping, ParameterSet, ceil_log2, default_active, skip_signal_description};
use crate::picture::FrameRate;

/// The largest side of any level is Sqrt(MaxLumaPs * 8) = 16,888 samples (A.4.1, level 6.2; 7.2 has 33,776).
const MAX_SIDE: u32 = 33_776;

/// A long-term reference picture that a slice may choose by its number (7.4.3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongTermCandidate {
    pub(crate) order_low_bits: u32,
    pub(crate) used: bool,
}

/// A sequence parameter set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SequenceParameterSet {
    pub(crate) id: u32,
    /// `sps_max_sub_layers_minus1`: the highest `TemporalId`.
    pub(crate) highest_temporal_layer: u8,
    /// 0 for monochrome, and for separate colour planes (`ChromaArrayType`).
    pub(crate) chroma_array_type: u32,
    pub(crate) separate_colour_planes: bool,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Bits of `slice_segment_address`: Ceil(Log2(`PicSizeInCtbsY`)).
    pub(crate) address_bits: u32,
    /// `log2_max_pic_order_cnt_lsb_minus4` + 4.
    pub(crate) order_bits: u32,
    /// `sps_max_num_reorder_pics` of the highest sub-layer.
    pub(crate) reordered: u8,
    pub(crate) has_sample_adaptive_offset: bool,
    pub(crate) short_term_sets: Vec<ShortTermSet>,
    /// `None` where slices have no long-term reference pictures.
    pub(crate) long_term_candidates: Option<Vec<LongTermCandidate>>,
    pub(crate) has_temporal_mvp: bool,
    /// `frame_field_info_present_flag`: picture timing messages distinguish fields from frames.
    pub(crate) has_field_info: bool,
    /// From the VUI: one tick is one picture, unless pictures are doubled (E.3.1).
    pub(crate) frame_rate: Option<FrameRate>,
    /// False when the source is said to be interlaced, and not progressive.
    pub(crate) progressive: bool,
}

impl ParameterSet for SequenceParameterSet {
    const NAME: &str = "sequence parameter set";

    fn id(&self) -> u32 {
        self.id
    }

    fn read(reader: &mut RbspReader) -> Result<Self, BadField> {
        let _video_parameter_set = reader.bits(4)?;
        let highest_temporal_layer = match reader.bits(3)? {
            7 => return Err(BadField { name: "sps_max_sub_layers_minus1", value: Some(7) }),
            layer => layer,
        };
        let _temporal_id_nesting = reader.flag()?;
        let is_interlaced = profile_tier_level(reader, highest_temporal_layer)?;
        let id = reader.ue_at_most("sps_seq_parameter_set_id", 15)?;
        let chroma_format = reader.ue_at_most("chroma_format_idc", 3)?;
        let separate_colour_planes = chroma_format == 3 && reader.flag()?;
        let mut side = |name| match reader.ue_at_most(name, MAX_SIDE)? {
            0 => Err(BadField { name, value: Some(0) }),
            side => Ok(side),
        };
        let (width, height) = (side("pic_width_in_luma_samples")?, side("pic_height_in_luma_samples")?);
        let chroma_array_type = if separate_colour_planes { 0 } else { chroma_format };
        let cropping = Cropping::parse(reader, chroma_array_type, 1)?;
        let (cropped_width, cropped_height) = cropping.of("conf_win_offset", width, height)?;
        // bit depths
        reader.skip_codes(2)?;
        let order_bits = reader.ue_at_most("log2_max_pic_order_cnt_lsb_minus4", 12)? + 4;
        let reordered = reordered(reader, highest_temporal_layer)?;
        let block_bits = reader.ue_at_most("log2_min_luma_coding_block_size_minus3", 3)?
            + 3
            + reader.ue_at_most("log2_diff_max_min_luma_coding_block_size", 3)?;
        reader.skip_codes(4)?;
        if reader.flag()? && reader.flag()? {
            skip_scaling_lists(reader)?;
        }
        let _asymmetric_motion_partitions = reader.flag()?;
        let has_sample_adaptive_offset = reader.flag()?;
        if reader.flag()? {
            let _bit_depths = reader.bits(8)?;
            reader.skip_codes(2)?;
            let _loop_filter_disabled = reader.flag()?;
        }
        let short_term_sets = ShortTermSet::parse_all(reader)?;
        let long_term_candidates = long_term_candidates(reader, order_bits)?;
        let has_temporal_mvp = reader.flag()?;
        let _strong_intra_smoothing = reader.flag()?;
        let usability = if reader.flag()? { Usability::parse(reader)? } else { Usability::default() };
        let blocks = width.div_ceil(1 << block_bits) * height.div_ceil(1 << block_bits);
        Ok(Self {
            id,
            highest_temporal_layer: highest_temporal_layer as u8,
            chroma_array_type,
            separate_colour_planes,
            width: cropped_width,
            height: cropped_height,
            address_bits: ceil_log2(blocks),
            order_bits,
            reordered,
            has_sample_adaptive_offset,
            short_term_sets,
            long_term_candidates,
            has_temporal_mvp,
            frame_rate: usability.frame_rate,
            has_field_info: usability.has_field_info,
            progressive: !is_interlaced,
        })
    }
}

/// Reads `profile_tier_level( 1, highest_layer )` (7.3.3): whether the source is interlaced.
fn profile_tier_level(reader: &mut RbspReader, highest_layer: u32) -> Result<bool, BadField> {
    const BEFORE_SOURCE: u32 = 2 + 1 + 5 + 32;
    const AFTER_SOURCE: u32 = 2 + 43 + 1;
    const PROFILE: u32 = BEFORE_SOURCE + 2 + AFTER_SOURCE;
    const LEVEL: u32 = 8;
    reader.skip_bits(BEFORE_SOURCE)?;
    let (is_progressive, is_interlaced) = (reader.flag()?, reader.flag()?);
    reader.skip_bits(AFTER_SOURCE + LEVEL)?;
    let present = (0..highest_layer).map(|_| Ok([reader.flag()?, reader.flag()?])).collect::<Result<Vec<_>, _>>()?;
    if highest_layer > 0 {
        reader.skip_bits(2 * (8 - highest_layer))?;
    }
    for [profile, level] in present {
        reader.skip_bits(if profile { PROFILE } else { 0 } + if level { LEVEL } else { 0 })?;
    }
    Ok(is_interlaced && !is_progressive)
}

/// What the highest sub-layer needs: `sps_max_num_reorder_pics`, of which there are as many as layers are described. It
/// stands between `sps_max_dec_pic_buffering_minus1` and `sps_max_latency_increase_plus1`, by which FFmpeg 5.1 and
/// libde265 1.0.11 show nothing sooner (C.5.2.2 does).
fn reordered(reader: &mut RbspReader, highest_layer: u32) -> Result<u8, BadField> {
    /// One less than `MaxDpbSize`, which is 16 at most (A.4.2).
    const MOST: u32 = 15;
    let described = if reader.flag()? { highest_layer + 1 } else { 1 };
    let mut reordered = 0;
    for _ in 0..described {
        let _buffered = reader.ue()?;
        reordered = reader.ue()?;
        let _latency = reader.ue()?;
    }
    Ok(reordered.min(MOST) as u8)
}

/// Passes over `scaling_list_data()` (7.3.4).
fn skip_scaling_lists(reader: &mut RbspReader) -> Result<(), BadField> {
    for size in 0..4 {
        let matrices = if size == 3 { 2 } else { 6 };
        for _ in 0..matrices {
            let is_coded = reader.flag()?;
            let has_direct_coefficient = size > 1;
            let codes = match is_coded {
                false => 1,
                true => 64.min(1 << (4 + 2 * size)) + u32::from(has_direct_coefficient),
            };
            reader.skip_codes(codes)?;
        }
    }
    Ok(())
}

fn long_term_candidates(reader: &mut RbspReader, order_bits: u32) -> Result<Option<Vec<LongTermCandidate>>, BadField> {
    if !reader.flag()? {
        return Ok(None);
    }
    let count = reader.ue_at_most("num_long_term_ref_pics_sps", 32)?;
    let candidate = |_| Ok(LongTermCandidate { order_low_bits: reader.bits(order_bits)?, used: reader.flag()? });
    (0..count).map(candidate).collect::<Result<_, _>>().map(Some)
}

/// What is read of `vui_parameters()` (E.2.1).
#[derive(Clone, Copy, Debug, Default)]
struct Usability {
    /// `frame_field_info_present_flag`.
    has_field_info: bool,
    frame_rate: Option<FrameRate>,
}

impl Usability {
    fn parse(reader: &mut RbspReader) -> Result<Self, BadField> {
        skip_signal_description(reader)?;
        let _neutral_chroma_and_field_sequence = reader.bits(2)?;
        let has_field_info = reader.flag()?;
        if reader.flag()? {
            // default display window
            reader.skip_codes(4)?;
        }
        if !reader.flag()? {
            return Ok(Self { has_field_info, frame_rate: None });
        }
        let (ticks_unit, time_scale) = (reader.bits(32)?, reader.bits(32)?);
        Ok(Self { has_field_info, frame_rate: FrameRate::reduced(time_scale.into(), ticks_unit.into()) })
    }
}

/// A picture parameter set, up to what slice headers need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PictureParameterSet {
    pub(crate) id: u32,
    pub(crate) sequence: u32,
    pub(crate) has_dependent_slice_segments: bool,
    pub(crate) has_output_flag: bool,
    pub(crate) extra_slice_header_bits: u32,
    /// `num_ref_idx_l0_default_active_minus1` + 1, and the same of list 1.
    pub(crate) default_active: [usize; 2],
    pub(crate) has_list_modification: bool,
}

impl ParameterSet for PictureParameterSet {
    const NAME: &str = "picture parameter set";

    fn id(&self) -> u32 {
        self.id
    }

    fn read(reader: &mut RbspReader) -> Result<Self, BadField> {
        let id = reader.ue_at_most("pps_pic_parameter_set_id", 63)?;
        let sequence = reader.ue_at_most("pps_seq_parameter_set_id", 15)?;
        let has_dependent_slice_segments = reader.flag()?;
        let has_output_flag = reader.flag()?;
        let extra_slice_header_bits = reader.bits(3)?;
        let _sign_data_hiding_and_cabac_init = reader.bits(2)?;
        let default_active = default_active(reader, 14)?;
        // init qp
        reader.skip_codes(1)?;
        let _constrained_intra_and_transform_skip = reader.bits(2)?;
        if reader.flag()? {
            // diff cu qp delta depth
            reader.skip_codes(1)?;
        }
        // chroma qp offsets
        reader.skip_codes(2)?;
        // pps_slice_chroma_qp_offsets_present_flag to transquant_bypass_enabled_flag
        let _flags = reader.bits(4)?;
        let has_tiles = reader.flag()?;
        let _entropy_coding_sync = reader.flag()?;
        if has_tiles {
            skip_tiles(reader)?;
        }
        let _loop_filter_across_slices = reader.flag()?;
        if reader.flag()? {
            let _override_enabled = reader.flag()?;
            if !reader.flag()? {
                // offsets
                reader.skip_codes(2)?;
            }
        }
        if reader.flag()? {
            skip_scaling_lists(reader)?;
        }
        let has_list_modification = reader.flag()?;
        Ok(Self {
            id,
            sequence,
            has_dependent_slice_segments,
            has_output_flag,
            extra_slice_header_bits,
            default_active,
            has_list_modification,
        })
    }
}

fn skip_tiles(reader: &mut RbspReader) -> Result<(), BadField> {
    // At most 20 columns and 22 rows (A.4.1); of level 7 and on a few more.
    let columns = reader.ue_at_most("num_tile_columns_minus1", 255)?;
    let rows = reader.ue_at_most("num_tile_rows_minus1", 255)?;
    if !reader.flag()? {
        reader.skip_codes(columns + rows)?;
    }
    let _loop_filter_across_tiles = reader.flag()?;
    Ok(())
}

/// The parameter sets in force, by identifier: at most 16 and 64.
pub(crate) type ParameterSets = nal_parameters::ParameterSets<SequenceParameterSet, PictureParameterSet>;
