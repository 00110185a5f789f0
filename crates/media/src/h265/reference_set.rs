//! Short-term reference picture sets (ITU-T H.265, 7.3.7 and 7.4.8).

use crate::bits::BadField;
use crate::nal::RbspReader;

/// No decoder holds more pictures: `sps_max_dec_pic_buffering_minus1` is at most 15 (A.4.2).
const MAX_PICTURES: usize = 16;

/// One picture of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortTermPicture {
    /// Its picture order count less that of the current picture (`DeltaPocS0`, `DeltaPocS1`).
    pub(crate) delta: i64,
    /// `used_by_curr_pic`: otherwise it is only kept for later pictures.
    pub(crate) used: bool,
}

/// The short-term reference pictures that a picture and those after it may refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShortTermSet {
    /// Those shown before the current picture, nearest first.
    pub(crate) before: Vec<ShortTermPicture>,
    /// Those shown after it, nearest first.
    pub(crate) after: Vec<ShortTermPicture>,
}

impl ShortTermSet {
    /// `DeltaPocS0` and `DeltaPocS1`.
    pub(crate) fn deltas(&self) -> impl Iterator<Item = i64> {
        self.before.iter().chain(&self.after).map(|picture| picture.delta)
    }

    /// All sets of a sequence parameter set.
    pub(crate) fn parse_all(reader: &mut RbspReader) -> Result<Vec<Self>, BadField> {
        let count = reader.ue_at_most("num_short_term_ref_pic_sets", 64)?;
        let mut sets = Vec::new();
        for _ in 0..count {
            let set = Self::parse(reader, &sets, false)?;
            sets.push(set);
        }
        Ok(sets)
    }

    /// `st_ref_pic_set( sets.len() )`: of a sequence parameter set, or, `in_slice`, of a slice header.
    pub(crate) fn parse(reader: &mut RbspReader, sets: &[Self], in_slice: bool) -> Result<Self, BadField> {
        if !sets.is_empty() && reader.flag()? {
            Self::parse_predicted(reader, sets, in_slice)
        } else {
            Self::parse_explicit(reader)
        }
    }

    fn parse_explicit(reader: &mut RbspReader) -> Result<Self, BadField> {
        let before = reader.ue_at_most("num_negative_pics", MAX_PICTURES as u32)?;
        let after = reader.ue_at_most("num_positive_pics", MAX_PICTURES as u32)?;
        let mut pictures = |count: u32, sign: i64| {
            let mut delta = 0;
            let mut picture = |_| {
                delta += sign * (i64::from(reader.ue_at_most("delta_poc_minus1", 0x7fff)?) + 1);
                Ok(ShortTermPicture { delta, used: reader.flag()? })
            };
            (0..count).map(&mut picture).collect::<Result<Vec<_>, BadField>>()
        };
        Ok(Self { before: pictures(before, -1)?, after: pictures(after, 1)? })
    }

    /// Predicted from another set (7-61, 7-62).
    fn parse_predicted(reader: &mut RbspReader, sets: &[Self], in_slice: bool) -> Result<Self, BadField> {
        let back =
            if in_slice { reader.ue_at_most("delta_idx_minus1", sets.len() as u32 - 1)? as usize + 1 } else { 1 };
        let source = &sets[sets.len() - back];
        let is_negative = reader.flag()?;
        let distance = i64::from(reader.ue_at_most("abs_delta_rps_minus1", 0x7fff)?) + 1;
        let shift = if is_negative { -distance } else { distance };
        // The pictures of the source in its order, and then the picture that it belonged to.
        let deltas = source.before.iter().chain(&source.after).map(|picture| picture.delta).chain([0]);
        let mut pictures = Vec::new();
        for delta in deltas {
            let used = reader.flag()?;
            let is_taken = used || reader.flag()?;
            if is_taken {
                pictures.push(ShortTermPicture { delta: delta + shift, used });
            }
        }
        let side = |is_of_side: fn(i64) -> bool| {
            let mut pictures: Vec<_> = pictures.iter().copied().filter(|picture| is_of_side(picture.delta)).collect();
            pictures.sort_by_key(|picture| picture.delta.abs());
            pictures
        };
        let set = Self { before: side(|delta| delta < 0), after: side(|delta| delta > 0) };
        match set.before.len().max(set.after.len()) {
            0..=MAX_PICTURES => Ok(set),
            count => Err(BadField { name: "NumDeltaPocs", value: Some(count as u32) }),
        }
    }
}
