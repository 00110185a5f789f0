//! Where access units begin in a byte stream (ITU-T H.265, 7.4.2.4.4).

use crate::h265::parameter_sets::{ParameterSets, SequenceParameterSet};
use crate::h265::slice_header::{NalHeader, SliceHeader, nal_type};
use crate::nal_parameters::ParameterSet;
use crate::nal_scanner::{self, Role, Slice};
use crate::picture::{PictureStructure, PictureType};
use crate::scanner::Stated;

/// Tells what each NAL unit is to the access units around it.
#[derive(Debug, Default)]
pub(crate) struct Finder {
    sets: ParameterSets,
    stated: Option<Stated>,
}

impl nal_scanner::Finder for Finder {
    fn role_of(&mut self, nal: &[u8]) -> Role {
        let Some((header, payload)) = NalHeader::split(nal).filter(|(header, _)| header.layer == 0) else {
            return Role::Within;
        };
        match header.nal_type {
            nal_type::SEQUENCE_PARAMETER_SET => Role::of_parameter_set(self.sets.take_sequence(payload)),
            nal_type::PICTURE_PARAMETER_SET => Role::of_parameter_set(self.sets.take_picture(payload)),
            nal_type::VIDEO_PARAMETER_SET | nal_type::ACCESS_UNIT_DELIMITER | nal_type::PREFIX_SEI => Role::Before,
            nal_type::FIRST_RESERVED_BEFORE_PICTURE..=nal_type::LAST_RESERVED_BEFORE_PICTURE => Role::Before,
            nal_type::FIRST_UNSPECIFIED_BEFORE_PICTURE..=nal_type::LAST_UNSPECIFIED_BEFORE_PICTURE => Role::Before,
            _ if header.is_slice() => self.role_of_slice(header, payload),
            _ => Role::Within,
        }
    }

    fn stated(&self) -> Option<Stated> {
        self.stated
    }
}

impl Finder {
    fn role_of_slice(&mut self, header: NalHeader, payload: &[u8]) -> Role {
        match SliceHeader::parse(header, payload, &self.sets) {
            Ok(Some(slice)) => {
                self.note_sequence(slice.sequence);
                Role::Slice(Slice {
                    begins_picture: slice.is_first,
                    completes_frame: false,
                    kind: slice.lists.kind,
                    structure: PictureStructure::Frame,
                })
            }
            // It continues the one before.
            Ok(None) => Role::Slice(Slice {
                begins_picture: false,
                completes_frame: false,
                kind: PictureType::I,
                structure: PictureStructure::Frame,
            }),
            Err(_) => Role::BadSlice,
        }
    }

    /// The first sequence parameter set that a slice uses is what the stream states.
    fn note_sequence(&mut self, id: u32) {
        if self.stated.is_none()
            && let Ok(sequence) = self.sets.sequence(id)
        {
            self.stated = Some(Stated {
                width: sequence.width,
                height: sequence.height,
                frame_rate: sequence.frame_rate,
                progressive: sequence.progressive,
            });
        }
    }
}

/// Whether a NAL unit is a sequence parameter set of the base layer, and well formed.
pub(crate) fn is_sequence_parameter_set(nal: &[u8]) -> bool {
    NalHeader::split(nal).is_some_and(|(header, payload)| {
        let is_meant = header.nal_type == nal_type::SEQUENCE_PARAMETER_SET && header.layer == 0;
        is_meant && SequenceParameterSet::parse(payload).is_ok()
    })
}
