//! The uncompressed header of a frame (5.9.2), down to what it refers to.

use crate::av1::obu::Layer;
use crate::av1::sequence::{FrameIdBits, SequenceHeader};
use crate::av1::short_signaling;
use crate::bits::{BadField, BitReader};

/// `NUM_REF_FRAMES`: frames that a decoder keeps to refer to (section 3).
pub(crate) const SLOTS: usize = 8;

/// `REFS_PER_FRAME`: how many of them one frame names (section 3).
pub(crate) const REFERENCES: usize = 7;

/// Every slot, as `refresh_frame_flags`.
pub(crate) const ALL_SLOTS: u32 = (1 << SLOTS) - 1;

/// `frame_type` (6.8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameType {
    Key,
    Inter,
    IntraOnly,
    Switch,
}

impl FrameType {
    /// `FrameIsIntra`.
    pub(crate) fn is_intra(self) -> bool {
        matches!(self, Self::Key | Self::IntraOnly)
    }
}

/// A slot that a frame refers to, and the number that the frame in it must have, where frames have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) slot: usize,
    pub(crate) frame_id: Option<u32>,
}

/// A frame that is coded here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodedFrame {
    pub(crate) frame_type: FrameType,
    pub(crate) is_shown: bool,
    pub(crate) frame_id: Option<u32>,
    pub(crate) order_hint: u32,
    /// `refresh_frame_flags`: the slots that it goes into.
    pub(crate) refreshed: u32,
    /// The order hints that the frames in the slots must have, where the header repeats them.
    pub(crate) slot_hints: Option<[u32; SLOTS]>,
    /// Empty of intra frames.
    pub(crate) references: Vec<Reference>,
    /// Width and height in pixels; `None` of others than intra frames, which may have that of a reference.
    pub(crate) size: Option<(u16, u16)>,
}

/// What a frame header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FrameHeader {
    /// `show_existing_frame`: the frame in this slot is shown.
    ShowExisting(usize),
    Coded(CodedFrame),
}

impl FrameHeader {
    /// Reads a header. `slot_hints` are the order hints of what is in the slots.
    pub(crate) fn parse(
        payload: &[u8],
        layer: Layer,
        sequence: &SequenceHeader,
        slot_hints: &[u32; SLOTS],
    ) -> Result<Self, BadField> {
        let mut reader = BitReader::new(payload);
        if !sequence.is_still && reader.flag_of("show_existing_frame")? {
            return Ok(Self::ShowExisting(reader.field("frame_to_show_map_idx", 3)? as usize));
        }
        coded_frame(&mut reader, layer, sequence, slot_hints).map(Self::Coded)
    }
}

/// The flags at the start of the header.
struct Flags {
    frame_type: FrameType,
    is_shown: bool,
    error_resilient: bool,
}

fn flags(reader: &mut BitReader, sequence: &SequenceHeader) -> Result<Flags, BadField> {
    if sequence.is_still {
        return Ok(Flags { frame_type: FrameType::Key, is_shown: true, error_resilient: true });
    }
    let frame_type = match reader.field("frame_type", 2)? {
        0 => FrameType::Key,
        1 => FrameType::Inter,
        2 => FrameType::IntraOnly,
        _ => FrameType::Switch,
    };
    let is_shown = reader.flag_of("show_frame")?;
    match is_shown {
        true => sequence.skip_presentation_time(reader)?,
        false => _ = reader.flag_of("showable_frame")?,
    }
    let error_resilient = match frame_type {
        FrameType::Switch => true,
        FrameType::Key if is_shown => true,
        _ => reader.flag_of("error_resilient_mode")?,
    };
    Ok(Flags { frame_type, is_shown, error_resilient })
}

fn coded_frame(
    reader: &mut BitReader,
    layer: Layer,
    sequence: &SequenceHeader,
    slot_hints: &[u32; SLOTS],
) -> Result<CodedFrame, BadField> {
    let Flags { frame_type, is_shown, error_resilient } = flags(reader, sequence)?;
    let begins_anew = frame_type == FrameType::Key && is_shown;
    let _disable_cdf_update = reader.flag_of("disable_cdf_update")?;
    let has_screen_content_tools = match sequence.screen_content_tools {
        Some(fixed) => fixed,
        None => reader.flag_of("allow_screen_content_tools")?,
    };
    if has_screen_content_tools && sequence.integer_motion.is_none() {
        let _force_integer_motion = reader.flag_of("force_integer_mv")?;
    }
    let frame_id = sequence.frame_ids.map(|bits| reader.field("current_frame_id", bits.whole)).transpose()?;
    let has_own_size = match frame_type {
        FrameType::Switch => true,
        _ => !sequence.is_still && reader.flag_of("frame_size_override_flag")?,
    };
    let order_hint = reader.field("order_hint", sequence.order_hint_bits)?;
    if !frame_type.is_intra() && !error_resilient {
        let _primary_ref_frame = reader.field("primary_ref_frame", 3)?;
    }
    sequence.skip_removal_times(reader, layer)?;
    let refreshed = match frame_type {
        FrameType::Switch => ALL_SLOTS,
        _ if begins_anew => ALL_SLOTS,
        _ => reader.field("refresh_frame_flags", SLOTS)?,
    };
    let names_slots = !frame_type.is_intra() || refreshed != ALL_SLOTS;
    let mut repeated_hints = None;
    if names_slots && error_resilient && sequence.order_hint_bits > 0 {
        let mut hints = [0; SLOTS];
        for hint in &mut hints {
            *hint = reader.field("ref_order_hint", sequence.order_hint_bits)?;
        }
        repeated_hints = Some(hints);
    }
    let (references, size) = match frame_type.is_intra() {
        true if has_own_size => (Vec::new(), sequence.read_size(reader).ok()),
        true => (Vec::new(), Some(sequence.size)),
        false => {
            let hints = repeated_hints.as_ref().unwrap_or(slot_hints);
            (references(reader, sequence, frame_id, order_hint, hints)?, None)
        }
    };
    let slot_hints = repeated_hints;
    Ok(CodedFrame { frame_type, is_shown, frame_id, order_hint, refreshed, slot_hints, references, size })
}

fn references(
    reader: &mut BitReader,
    sequence: &SequenceHeader,
    frame_id: Option<u32>,
    order_hint: u32,
    slot_hints: &[u32; SLOTS],
) -> Result<Vec<Reference>, BadField> {
    let derived = match sequence.order_hint_bits > 0 && reader.flag_of("frame_refs_short_signaling")? {
        true => {
            let last = reader.field("last_frame_idx", 3)? as usize;
            let golden = reader.field("gold_frame_idx", 3)? as usize;
            Some(short_signaling::slots(last, golden, order_hint, slot_hints, sequence.order_hint_bits))
        }
        false => None,
    };
    let mut reference = |place: usize| {
        let slot = match derived {
            Some(slots) => slots[place],
            None => reader.field("ref_frame_idx", 3)? as usize,
        };
        let expected = sequence.frame_ids.zip(frame_id).map(|(bits, current)| expected_id(reader, bits, current));
        Ok(Reference { slot, frame_id: expected.transpose()? })
    };
    (0..REFERENCES).map(&mut reference).collect()
}

/// `expectedFrameId`.
fn expected_id(reader: &mut BitReader, bits: FrameIdBits, current: u32) -> Result<u32, BadField> {
    let difference = reader.field("delta_frame_id_minus_1", bits.difference)? + 1;
    Ok(current.wrapping_sub(difference) & ((1 << bits.whole) - 1))
}
