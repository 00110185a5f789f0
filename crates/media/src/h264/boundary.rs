//! Where access units begin in a byte stream (ITU-T H.264, 7.4.1.2.3 and 7.4.1.2.4).

use crate::h264::parameter_sets::{ParameterSets, SequenceParameterSet};
use crate::h264::slice_header::{Fields, PictureHeader, SliceHeader, nal_type};
use crate::nal_parameters::ParameterSet;
use crate::nal_scanner::{self, Role, Slice};
use crate::picture::PictureStructure;
use crate::scanner::Stated;

/// Tells what each NAL unit is to the access units around it.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    sets: ParameterSets,
    /// The picture of the last slice, and whether it is the first field of a frame that has no second yet.
    last: Option<(PictureHeader, bool)>,
    stated: Option<Stated>,
}

impl nal_scanner::Finder for Finder {
    fn role_of(&mut self, nal: &[u8]) -> Role {
        let Some((&header, payload)) = nal.split_first() else { return Role::Within };
        match header & 0x1f {
            nal_type::SEQUENCE_PARAMETER_SET => Role::of_parameter_set(self.sets.take_sequence(payload)),
            nal_type::PICTURE_PARAMETER_SET => Role::of_parameter_set(self.sets.take_picture(payload)),
            nal_type::SEI
            | nal_type::ACCESS_UNIT_DELIMITER
            | nal_type::PREFIX..=nal_type::LAST_RESERVED_BEFORE_PICTURE => Role::Before,
            nal_type::SLICE | nal_type::SLICE_PARTITION_A | nal_type::IDR_SLICE => self.role_of_slice(nal),
            _ => Role::Within,
        }
    }

    fn stated(&self) -> Option<Stated> {
        self.stated
    }
}

impl Finder {
    fn role_of_slice(&mut self, nal: &[u8]) -> Role {
        let slice = match SliceHeader::parse(nal, &self.sets) {
            Ok(slice) if slice.is_redundant => return Role::Within,
            Ok(slice) => slice,
            Err(_) => return Role::BadSlice,
        };
        let picture = slice.picture;
        let begins_picture = self.last.as_ref().is_none_or(|(last, _)| !last.is_same_picture(&picture));
        let completes_frame = begins_picture
            && self.last.as_ref().is_some_and(|(last, wants_another)| *wants_another && last.is_completed_by(&picture));
        let structure = match picture.fields {
            Fields::TOP if completes_frame => PictureStructure::BottomFieldFirst,
            Fields::BOTTOM if completes_frame => PictureStructure::TopFieldFirst,
            Fields::TOP | Fields::BOTTOM => PictureStructure::SingleField,
            _ => PictureStructure::Frame,
        };
        self.note_sequence(&picture);
        if begins_picture {
            let wants_another = picture.fields.is_single() && !completes_frame;
            self.last = Some((picture, wants_another));
        }
        Role::Slice(Slice { begins_picture, completes_frame, kind: slice.lists.kind, structure })
    }

    /// The first sequence parameter set that a slice uses is what the stream states.
    fn note_sequence(&mut self, picture: &PictureHeader) {
        if self.stated.is_none()
            && let Ok(set) = self.sets.picture(picture.picture_parameter_set)
            && let Ok(sequence) = self.sets.sequence(set.sequence)
        {
            self.stated = Some(Stated {
                width: sequence.width,
                height: sequence.height,
                frame_rate: sequence.frame_rate,
                progressive: sequence.frames_only,
            });
        }
    }
}

/// Whether a NAL unit is a sequence parameter set, and well formed.
pub(crate) fn is_sequence_parameter_set(nal: &[u8]) -> bool {
    nal.split_first().is_some_and(|(header, payload)| {
        header & 0x1f == nal_type::SEQUENCE_PARAMETER_SET && SequenceParameterSet::parse(payload).is_ok()
    })
}
