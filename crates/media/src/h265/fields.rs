//! Which pictures of a field sequence are the two fields of one frame (ITU-T H.265, D.3.3).

use crate::headers::Parity;
use crate::nal::sei_messages;

/// `payloadType` of a picture timing message (D.2.1).
const PICTURE_TIMING: u32 = 1;

/// What the picture timing message of a picture says of it, in a sequence that has `frame_field_info_present_flag`:
/// `pic_struct` (table D.2), the first field of the message.
pub(crate) fn picture_structure(payload: &[u8]) -> Option<u32> {
    let mut message = sei_messages(payload).find(|message| message.payload_type == PICTURE_TIMING)?;
    message.payload.bits(4).ok()
}

/// Which field a frame's other one is, in output order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pairing {
    /// Parities alternate.
    Unstated,
    Previous,
    Next,
}

/// A field picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldPicture {
    parity: Parity,
    pairing: Pairing,
    /// Its picture order count.
    order: i64,
}

impl FieldPicture {
    /// By `pic_struct`; `None` of a frame.
    pub(crate) fn of(picture_structure: u32, order: i64) -> Option<Self> {
        let (parity, pairing) = match picture_structure {
            1 => (Parity::TopField, Pairing::Unstated),
            2 => (Parity::BottomField, Pairing::Unstated),
            9 => (Parity::TopField, Pairing::Previous),
            10 => (Parity::BottomField, Pairing::Previous),
            11 => (Parity::TopField, Pairing::Next),
            12 => (Parity::BottomField, Pairing::Next),
            _ => return None,
        };
        Some(Self { parity, pairing, order })
    }

    /// Whether its frame lacks a second field. Where the message does not state it, frames begin at every other field
    /// from the one that begins the coded video sequence, whose picture order count is `sequence_order`.
    pub(crate) fn is_first(self, sequence_order: i64) -> bool {
        match self.pairing {
            Pairing::Unstated => (self.order - sequence_order).rem_euclid(2) == 0,
            Pairing::Previous => false,
            Pairing::Next => true,
        }
    }

    /// Whether `second`, which comes next in decoding order, is the second field of the frame that this is the first
    /// field of: the next one in output order, with nothing in between.
    pub(crate) fn is_completed_by(self, second: Self) -> bool {
        self.parity.is_opposite_of(second.parity) && second.order == self.order + 1 && second.pairing != Pairing::Next
    }
}
