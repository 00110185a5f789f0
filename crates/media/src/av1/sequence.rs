//! The sequence header (5.5), as far as frame headers need it.

use crate::av1::obu::Layer;
use crate::bits::{BadField, BitReader};
use crate::picture::FrameRate;

/// `SELECT_SCREEN_CONTENT_TOOLS` and `SELECT_INTEGER_MV` (section 3): each frame states it.
const SELECT: u32 = 2;

/// An operating point: which layers it decodes, and what its decoder model adds to frame headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OperatingPoint {
    /// `operating_point_idc`.
    layers: u32,
    has_decoder_model: bool,
}

/// Lengths of what the decoder model adds to frame headers, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DecoderModel {
    buffer_delay_bits: usize,
    removal_time_bits: usize,
    presentation_time_bits: usize,
}

/// Lengths of frame numbers, in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameIdBits {
    pub(crate) difference: usize,
    pub(crate) whole: usize,
}

/// What frame headers leave unsaid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SequenceHeader {
    /// `reduced_still_picture_header`.
    pub(crate) is_still: bool,
    equal_picture_interval: bool,
    decoder_model: Option<DecoderModel>,
    operating_points: Vec<OperatingPoint>,
    pub(crate) frame_ids: Option<FrameIdBits>,
    /// `seq_force_screen_content_tools` and `seq_force_integer_mv`, where frames do not state it.
    pub(crate) screen_content_tools: Option<bool>,
    pub(crate) integer_motion: Option<bool>,
    /// `OrderHintBits`; 0 where there are none.
    pub(crate) order_hint_bits: usize,
    /// Largest width and height of a frame in pixels; 65,535 of 65,536.
    pub(crate) size: (u16, u16),
    /// Bits of a frame's own width and height.
    size_bits: (usize, usize),
    /// Where all frames are shown equally long, and how long is said.
    pub(crate) frame_rate: Option<FrameRate>,
}

impl SequenceHeader {
    pub(crate) fn parse(payload: &[u8]) -> Result<Self, BadField> {
        let mut reader = BitReader::new(payload);
        let reader = &mut reader;
        let _profile = reader.field("seq_profile", 3)?;
        let _still_picture = reader.flag_of("still_picture")?;
        let is_still = reader.flag_of("reduced_still_picture_header")?;
        let mut header = Self {
            is_still,
            equal_picture_interval: false,
            decoder_model: None,
            operating_points: Vec::new(),
            frame_ids: None,
            screen_content_tools: None,
            integer_motion: None,
            order_hint_bits: 0,
            size: (0, 0),
            size_bits: (0, 0),
            frame_rate: None,
        };
        match is_still {
            true => _ = reader.field("seq_level_idx", 5)?,
            false => header.read_operating_points(reader)?,
        }
        let width_bits = reader.field("frame_width_bits_minus_1", 4)? as usize + 1;
        let height_bits = reader.field("frame_height_bits_minus_1", 4)? as usize + 1;
        header.size_bits = (width_bits, height_bits);
        header.size = header.read_size(reader)?;
        if !is_still && reader.flag_of("frame_id_numbers_present_flag")? {
            let difference = reader.field("delta_frame_id_length_minus_2", 4)? as usize + 2;
            let whole = reader.field("additional_frame_id_length_minus_1", 3)? as usize + 1 + difference;
            header.frame_ids = Some(FrameIdBits { difference, whole });
        }
        // use_128x128_superblock, enable_filter_intra, enable_intra_edge_filter
        let _tools = reader.field("use_128x128_superblock", 3)?;
        if !is_still {
            header.read_tools(reader)?;
        }
        Ok(header)
    }

    fn read_operating_points(&mut self, reader: &mut BitReader) -> Result<(), BadField> {
        if reader.flag_of("timing_info_present_flag")? {
            let tick = u64::from(reader.field("num_units_in_display_tick", 32)?);
            let scale = u64::from(reader.field("time_scale", 32)?);
            self.equal_picture_interval = reader.flag_of("equal_picture_interval")?;
            if self.equal_picture_interval {
                let ticks = u64::from(uvlc("num_ticks_per_picture_minus_1", reader)?) + 1;
                self.frame_rate = tick.checked_mul(ticks).and_then(|ticks| FrameRate::reduced(scale, ticks));
            }
            if reader.flag_of("decoder_model_info_present_flag")? {
                self.decoder_model = Some(decoder_model(reader)?);
            }
        }
        let has_display_delay = reader.flag_of("initial_display_delay_present_flag")?;
        let count = reader.field("operating_points_cnt_minus_1", 5)? + 1;
        for _ in 0..count {
            let point = self.read_operating_point(reader, has_display_delay)?;
            self.operating_points.push(point);
        }
        Ok(())
    }

    fn read_operating_point(
        &self,
        reader: &mut BitReader,
        has_display_delay: bool,
    ) -> Result<OperatingPoint, BadField> {
        const HIGHEST_LEVEL_WITHOUT_TIER: u32 = 7;
        let layers = reader.field("operating_point_idc", 12)?;
        if reader.field("seq_level_idx", 5)? > HIGHEST_LEVEL_WITHOUT_TIER {
            let _tier = reader.flag_of("seq_tier")?;
        }
        let mut has_decoder_model = false;
        if let Some(model) = self.decoder_model {
            has_decoder_model = reader.flag_of("decoder_model_present_for_this_op")?;
            if has_decoder_model {
                let _decoder = reader.field("decoder_buffer_delay", model.buffer_delay_bits)?;
                let _encoder = reader.field("encoder_buffer_delay", model.buffer_delay_bits)?;
                let _low_delay = reader.flag_of("low_delay_mode_flag")?;
            }
        }
        if has_display_delay && reader.flag_of("initial_display_delay_present_for_this_op")? {
            let _delay = reader.field("initial_display_delay_minus_1", 4)?;
        }
        Ok(OperatingPoint { layers, has_decoder_model })
    }

    /// From `enable_interintra_compound` to `order_hint_bits_minus_1`. What follows is for decoders only.
    fn read_tools(&mut self, reader: &mut BitReader) -> Result<(), BadField> {
        // enable_interintra_compound, enable_masked_compound, enable_warped_motion, enable_dual_filter
        let _tools = reader.field("enable_interintra_compound", 4)?;
        let has_order_hints = reader.flag_of("enable_order_hint")?;
        if has_order_hints {
            let _jnt_comp_and_ref_frame_mvs = reader.field("enable_jnt_comp", 2)?;
        }
        let forced = |is_chosen: bool, reader: &mut BitReader, name| match is_chosen {
            true => Ok(SELECT),
            false => reader.field(name, 1),
        };
        let chosen = reader.flag_of("seq_choose_screen_content_tools")?;
        let screen_content_tools = forced(chosen, reader, "seq_force_screen_content_tools")?;
        let integer_motion = match screen_content_tools {
            0 => SELECT,
            _ => {
                let chosen = reader.flag_of("seq_choose_integer_mv")?;
                forced(chosen, reader, "seq_force_integer_mv")?
            }
        };
        let fixed = |value: u32| (value != SELECT).then_some(value == 1);
        self.screen_content_tools = fixed(screen_content_tools);
        self.integer_motion = fixed(integer_motion);
        if has_order_hints {
            self.order_hint_bits = reader.field("order_hint_bits_minus_1", 3)? as usize + 1;
        }
        Ok(())
    }

    /// Reads the largest size, or that of a frame (5.9.5).
    pub(crate) fn read_size(&self, reader: &mut BitReader) -> Result<(u16, u16), BadField> {
        let mut pixels = |name, bits| {
            let less_one = reader.field(name, bits)?;
            Ok(u16::try_from(less_one + 1).unwrap_or(u16::MAX))
        };
        Ok((pixels("frame_width_minus_1", self.size_bits.0)?, pixels("frame_height_minus_1", self.size_bits.1)?))
    }

    /// Passes over `temporal_point_info()` where there is one (5.9.31).
    pub(crate) fn skip_presentation_time(&self, reader: &mut BitReader) -> Result<(), BadField> {
        match self.decoder_model {
            Some(model) if !self.equal_picture_interval => {
                reader.field("frame_presentation_time", model.presentation_time_bits).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Passes over the `buffer_removal_time` of every operating point that a frame of this layer belongs to (5.9.2).
    pub(crate) fn skip_removal_times(&self, reader: &mut BitReader, layer: Layer) -> Result<(), BadField> {
        const FIRST_SPATIAL_BIT: u8 = 8;
        let Some(model) = self.decoder_model else { return Ok(()) };
        if !reader.flag_of("buffer_removal_time_present_flag")? {
            return Ok(());
        }
        let decodes = |layers: u32| {
            let has = |bit: u8| layers >> bit & 1 == 1;
            layers == 0 || (has(layer.temporal) && has(layer.spatial + FIRST_SPATIAL_BIT))
        };
        let mut points = self.operating_points.iter().filter(|point| point.has_decoder_model && decodes(point.layers));
        points.try_for_each(|_| reader.field("buffer_removal_time", model.removal_time_bits).map(drop))
    }
}

fn decoder_model(reader: &mut BitReader) -> Result<DecoderModel, BadField> {
    let buffer_delay_bits = reader.field("buffer_delay_length_minus_1", 5)? as usize + 1;
    let _tick = reader.field("num_units_in_decoding_tick", 32)?;
    let removal_time_bits = reader.field("buffer_removal_time_length_minus_1", 5)? as usize + 1;
    let presentation_time_bits = reader.field("frame_presentation_time_length_minus_1", 5)? as usize + 1;
    Ok(DecoderModel { buffer_delay_bits, removal_time_bits, presentation_time_bits })
}

/// A uvlc() (4.10.3).
fn uvlc(name: &'static str, reader: &mut BitReader) -> Result<u32, BadField> {
    let mut zeros = 0;
    while !reader.flag_of(name)? {
        zeros += 1;
    }
    match zeros {
        0..32 => reader.field(name, zeros).map(|value| value + ((1 << zeros) - 1)),
        _ => Ok(u32::MAX),
    }
}
