//! Headers of MPEG-4 part 2, as far as dropping needs them. Clauses are those of ISO/IEC 14496-2:2004.

use crate::bits::{BadField, BitReader};
use crate::picture::{GopHeader, PictureType, TimeCode};

/// Values of start codes (table 6-3).
pub(crate) mod value {
    pub(crate) const VIDEO_OBJECT_LAYER_FIRST: u8 = 0x20;
    pub(crate) const VIDEO_OBJECT_LAYER_LAST: u8 = 0x2f;
    pub(crate) const VISUAL_OBJECT_SEQUENCE: u8 = 0xb0;
    pub(crate) const VISUAL_OBJECT_SEQUENCE_END: u8 = 0xb1;
    pub(crate) const USER_DATA: u8 = 0xb2;
    pub(crate) const GROUP_OF_VOP: u8 = 0xb3;
    pub(crate) const VISUAL_OBJECT: u8 = 0xb5;
    pub(crate) const VOP: u8 = 0xb6;
}

/// Whether a start code's value is that of a video object layer.
pub(crate) fn is_layer(value: u8) -> bool {
    (value::VIDEO_OBJECT_LAYER_FIRST..=value::VIDEO_OBJECT_LAYER_LAST).contains(&value)
}

/// Whether it is one of a header that may stand before the first VOP: of an object, a layer, the sequence, user data.
pub(crate) fn is_header(value: u8) -> bool {
    value <= value::VIDEO_OBJECT_LAYER_LAST
        || matches!(value, value::VISUAL_OBJECT_SEQUENCE | value::USER_DATA | value::VISUAL_OBJECT)
}

/// `aspect_ratio_info` that a width and a height follow (table 6-12).
const EXTENDED_PAR: u32 = 15;

/// `video_object_type_indication` of the Simple object type (table 6-10), which has no B-VOPs (table 9-1).
const SIMPLE_OBJECT_TYPE: u32 = 1;

/// `video_object_layer_shape` (table 6-14).
const SHAPE_RECTANGULAR: u32 = 0;
const SHAPE_GRAYSCALE: u32 = 3;

/// Bits of `vbv_parameters`, from `first_half_bit_rate` to its last marker (6.2.3).
const VBV_PARAMETER_BITS: [usize; 6] = [16, 16, 16, 3, 12, 16];

/// What holds where no header says otherwise (6.3.2, `visual_object_verid`).
pub(crate) const DEFAULT_VERSION: u32 = 1;

/// No VOP may come so long after the one before it: an hour, more than any stream stands still. Beyond it, ones are
/// damage.
const MOST_SECONDS: u32 = 3600;

/// The version of the standard that a `VisualObject()` names (6.2.2).
pub(crate) fn visual_object_version(payload: &[u8]) -> Result<u32, BadField> {
    let mut reader = BitReader::new(payload);
    match reader.flag_of("is_visual_object_identifier")? {
        true => reader.field("visual_object_verid", 4),
        false => Ok(DEFAULT_VERSION),
    }
}

/// What a `VideoObjectLayer()` says of all its VOPs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VideoObjectLayer {
    /// Ticks in a second (`vop_time_increment_resolution`).
    pub(crate) resolution: u32,
    /// Ticks of each VOP, where all have the same (`fixed_vop_time_increment`).
    pub(crate) fixed_increment: Option<u32>,
    /// It promises that no B-VOP comes, by `low_delay` or by its object type.
    pub(crate) low_delay: bool,
    /// Width and height in pixels; zeros where it is cut off before them, or of another shape than a rectangle.
    pub(crate) size: (u16, u16),
    /// Its frames may be interlaced; false where it is cut off before that.
    pub(crate) interlaced: bool,
}

impl VideoObjectLayer {
    /// Reads a layer (6.2.3). `version` is that of the visual object.
    pub(crate) fn parse(payload: &[u8], version: u32) -> Result<Self, BadField> {
        let mut reader = BitReader::new(payload);
        let _random_accessible = reader.flag_of("random_accessible_vol")?;
        let object_type = reader.field("video_object_type_indication", 8)?;
        let version = match reader.flag_of("is_object_layer_identifier")? {
            true => reader.field("video_object_layer_verid and priority", 4 + 3)? >> 3,
            false => version,
        };
        if reader.field("aspect_ratio_info", 4)? == EXTENDED_PAR {
            let _width_and_height = reader.field("par_width and par_height", 8 + 8)?;
        }
        let stated_low_delay = match reader.flag_of("vol_control_parameters")? {
            true => Some(control_parameters(&mut reader)?),
            false => None,
        };
        let shape = reader.field("video_object_layer_shape", 2)?;
        if shape == SHAPE_GRAYSCALE && version != DEFAULT_VERSION {
            let _extension = reader.field("video_object_layer_shape_extension", 4)?;
        }
        let _marker = reader.flag_of("marker_bit")?;
        let resolution = reader.field("vop_time_increment_resolution", 16)?;
        if resolution == 0 {
            return Err(BadField { name: "vop_time_increment_resolution", value: Some(0) });
        }
        let low_delay = stated_low_delay.unwrap_or(object_type == SIMPLE_OBJECT_TYPE);
        let mut layer = Self { resolution, fixed_increment: None, low_delay, size: (0, 0), interlaced: false };
        let is_rectangular = shape == SHAPE_RECTANGULAR;
        if layer.read_increment(&mut reader).is_ok() && is_rectangular && layer.read_size(&mut reader).is_ok() {
            layer.interlaced = reader.field("marker_bit and interlaced", 1 + 1).is_ok_and(|bits| bits & 1 == 1);
        }
        Ok(layer)
    }

    /// Reads from the marker after the resolution.
    fn read_increment(&mut self, reader: &mut BitReader) -> Result<(), BadField> {
        let _marker = reader.flag_of("marker_bit")?;
        if reader.flag_of("fixed_vop_rate")? {
            let increment = reader.field("fixed_vop_time_increment", self.increment_bits())?;
            self.fixed_increment = Some(increment).filter(|&increment| increment > 0);
        }
        Ok(())
    }

    /// Reads from the marker before the width to the height.
    fn read_size(&mut self, reader: &mut BitReader) -> Result<(), BadField> {
        let mut field = || {
            let _marker = reader.flag_of("marker_bit")?;
            reader.field("video_object_layer_width", 13).map(|pixels| pixels as u16)
        };
        self.size = (field()?, field()?);
        Ok(())
    }

    /// Bits of `vop_time_increment`: as many as its largest value, one tick less than a second, needs, and one at
    /// least (6.3.5).
    fn increment_bits(self) -> usize {
        (u32::BITS - (self.resolution - 1).leading_zeros()).max(1) as usize
    }
}

/// Reads what follows `vol_control_parameters`, and gives `low_delay`.
fn control_parameters(reader: &mut BitReader) -> Result<bool, BadField> {
    let _chroma_format = reader.field("chroma_format", 2)?;
    let low_delay = reader.flag_of("low_delay")?;
    if reader.flag_of("vbv_parameters")? {
        VBV_PARAMETER_BITS.iter().try_for_each(|&bits| reader.field("vbv_parameters", bits).map(drop))?;
    }
    Ok(low_delay)
}

/// Reads a `Group_of_VideoObjectPlane()` (6.2.4). Its time code counts no pictures.
pub(crate) fn group_of_vop(payload: &[u8]) -> Result<GopHeader, BadField> {
    let mut reader = BitReader::new(payload);
    let mut time_code = |bits| reader.field("time_code", bits).map(|value| value as u8);
    let (hours, minutes) = (time_code(5)?, time_code(6)?);
    let _marker = time_code(1)?;
    let seconds = time_code(6)?;
    Ok(GopHeader {
        time_code: TimeCode { drop_frame: false, hours, minutes, seconds, pictures: 0 },
        closed: reader.flag_of("closed_gov")?,
        broken_link: reader.flag_of("broken_link")?,
    })
}

/// The start of a `VideoObjectPlane()` (6.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VopHeader {
    /// Coding type. One that is predicted from a sprite, or by global motion, counts as P.
    pub(crate) kind: PictureType,
    /// Seconds since the one that `modulo_time_base` counts from.
    pub(crate) seconds: u32,
    /// Ticks since the start of the second.
    pub(crate) increment: u32,
    /// False when nothing follows, and the VOP before it is shown again.
    pub(crate) coded: bool,
}

impl VopHeader {
    pub(crate) fn parse(payload: &[u8], layer: VideoObjectLayer) -> Result<Self, BadField> {
        let mut reader = BitReader::new(payload);
        // Table 6-20.
        let kind = match reader.field("vop_coding_type", 2)? {
            0 => PictureType::I,
            2 => PictureType::B,
            _ => PictureType::P,
        };
        let mut seconds = 0;
        while reader.flag_of("modulo_time_base")? {
            seconds += 1;
            if seconds > MOST_SECONDS {
                return Err(BadField { name: "modulo_time_base", value: Some(seconds) });
            }
        }
        let _marker = reader.flag_of("marker_bit")?;
        let increment = reader.field("vop_time_increment", layer.increment_bits())?;
        if increment >= layer.resolution {
            return Err(BadField { name: "vop_time_increment", value: Some(increment) });
        }
        let _marker = reader.flag_of("marker_bit")?;
        Ok(Self { kind, seconds, increment, coded: reader.flag_of("vop_coded")? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(resolution: u32) -> VideoObjectLayer {
        VideoObjectLayer { resolution, fixed_increment: None, low_delay: false, size: (0, 0), interlaced: false }
    }

    #[test]
    fn increments_have_the_bits_that_they_need() {
        let bits = |resolution| layer(resolution).increment_bits();
        assert_eq!([1, 2, 3, 16, 17, 25, 30_000, 65_535].map(bits), [1, 1, 2, 4, 5, 5, 15, 16]);
    }

    #[test]
    fn an_endless_time_base_is_told() {
        let layer = layer(25);
        let endless = VopHeader::parse(&[0xff; 600], layer);
        assert_eq!(endless, Err(BadField { name: "modulo_time_base", value: Some(MOST_SECONDS + 1) }));
        let cut = VopHeader::parse(&[0xff; 6], layer);
        assert_eq!(cut, Err(BadField { name: "modulo_time_base", value: None }));
    }
}
