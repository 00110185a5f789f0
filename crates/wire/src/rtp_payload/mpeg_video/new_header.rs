//! The N bit: whether a lost picture header could be made from an earlier one.

use super::access_unit::{AccessUnit, UnitKind, parameter_units};
use super::header::CodingType;
use crate::start_code::{LENGTH, USER_DATA};

/// Remembers the parameters of the last picture of every type.
///
/// N is set "when the information contained in the previous MPEG-2 picture headers can't be used to reconstruct a
/// header for the current picture", which "happens when the current picture is encoded using a different set of
/// parameters than the previous pictures of the same type" (RFC 2250, section 3.4). The parameters are the picture
/// header and the extensions before the first slice, without `temporal_reference`, which every packet carries, and
/// `vbv_delay`, which no decoder needs to decode a picture. User data is no parameter.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewHeaderDetector {
    last: [Option<Vec<u8>>; 4],
    current: Vec<u8>,
    is_new: Vec<bool>,
}

impl NewHeaderDetector {
    /// Compares every picture of the frame with the one of its type before it.
    pub(super) fn read(&mut self, frame: &[u8], access_unit: &AccessUnit) {
        self.is_new.clear();
        for (index, picture) in access_unit.pictures.iter().enumerate() {
            self.collect_parameters(frame, access_unit, index);
            let last = &mut self.last[slot(picture.kind)];
            let is_new = last.as_ref() != Some(&self.current);
            if is_new {
                last.get_or_insert_default().clone_from(&self.current);
            }
            self.is_new.push(is_new);
        }
    }

    /// N of the picture with this index in the frame last read.
    pub(super) fn is_new(&self, picture: usize) -> bool {
        self.is_new[picture]
    }

    fn collect_parameters(&mut self, frame: &[u8], access_unit: &AccessUnit, picture: usize) {
        self.current.clear();
        let units = &access_unit.units[parameter_units(&access_unit.units, picture)];
        for unit in units.iter().filter(|unit| unit.code != USER_DATA) {
            let from = self.current.len();
            let zeros = frame[unit.start..unit.end].iter().rev().take_while(|&&byte| byte == 0).count();
            self.current.extend_from_slice(&frame[unit.start..unit.end - zeros]);
            if unit.kind == UnitKind::PictureHeader {
                mask_picture_header(&mut self.current[from..]);
            }
        }
    }
}

/// Clears `temporal_reference` (10 bits) and `vbv_delay` (16 bits, after 3 of the type).
fn mask_picture_header(header: &mut [u8]) {
    const KEEP: [u8; 4] = [0x00, 0x38, 0x00, 0x07];
    for (byte, keep) in header.iter_mut().skip(LENGTH).zip(KEEP) {
        *byte &= keep;
    }
}

fn slot(kind: CodingType) -> usize {
    kind as usize - 1
}
