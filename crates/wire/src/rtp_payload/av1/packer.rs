//! From temporal units to payloads.

use std::ops::Range;

use super::obu::{SEQUENCE_HEADER, TEMPORAL_DELIMITER, TILE_LIST, leb128_length, to_leb128, units};
use super::{BEGINS_SEQUENCE, COUNT_SHIFT, GOES_ON, IS_CUT, MOST_COUNTED};
use crate::rtp_payload::packets::Packets;
use crate::rtp_payload::{FrameError, Packer, PacketRule};

/// Less room than this at the end of a packet a unit is not begun in.
const SMALLEST_FRAGMENT: usize = 16;

/// Bytes that are not a temporal unit as the format packs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Av1Error {
    /// They are no units.
    #[error("no open bitstream units of AV1 in the low-overhead format")]
    NoUnits,
    /// There is nothing to send in them.
    #[error("a temporal unit of AV1 with nothing in it that is sent")]
    Nothing,
    /// There are several.
    #[error("a second temporal delimiter: RTP carries one temporal unit at a time")]
    Several,
}

/// Packs temporal units.
#[derive(Clone, Debug)]
pub(super) struct Av1Packer {
    largest_payload: usize,
    /// Every unit has packets for itself.
    apart: bool,
    /// The units of the frame as elements: headers without sizes, one behind the other.
    elements: Vec<u8>,
}

/// A unit to be sent: where it is, and what packets it goes in.
struct Element {
    range: Range<usize>,
    layer: Option<u8>,
    is_sequence_header: bool,
}

/// A packet in the making.
#[derive(Default)]
struct Draft {
    pieces: Vec<Range<usize>>,
    /// Bytes of the pieces, each behind its length.
    size: usize,
    layer: Option<u8>,
    goes_on: bool,
}

impl Av1Packer {
    pub(super) fn new(rule: PacketRule, largest_payload: usize) -> Self {
        Self { largest_payload, apart: rule == PacketRule::Slices, elements: Vec::new() }
    }

    fn read(&mut self, frame: &[u8]) -> Result<Vec<Element>, Av1Error> {
        self.elements.clear();
        let mut found = Vec::new();
        for (number, unit) in units(frame).enumerate() {
            let unit = unit.ok_or(Av1Error::NoUnits)?;
            match unit.kind() {
                TEMPORAL_DELIMITER if number > 0 => return Err(Av1Error::Several),
                // "SHOULD be removed when transmitting" (section 5).
                TEMPORAL_DELIMITER | TILE_LIST => continue,
                _ => {}
            }
            let start = self.elements.len();
            self.elements.extend_from_slice(unit.header());
            self.elements.extend_from_slice(unit.payload);
            let (range, layer) = (start..self.elements.len(), unit.layer());
            found.push(Element { range, layer, is_sequence_header: unit.kind() == SEQUENCE_HEADER });
        }
        if found.is_empty() { Err(Av1Error::Nothing) } else { Ok(found) }
    }

    /// Room for the next element's bytes, and for its length where it has one.
    fn room(&self, draft: &Draft) -> usize {
        (self.largest_payload - 1).saturating_sub(draft.size)
    }

    /// Puts an element into packets.
    fn put(&self, element: &Element, draft: &mut Draft, drafts: &mut Vec<(Draft, bool)>) {
        // A packet is of one layer, and a sequence header comes first in it (section 5).
        let is_other = draft.layer.zip(element.layer).is_some_and(|(one, other)| one != other);
        if !draft.pieces.is_empty() && (is_other || element.is_sequence_header || self.apart) {
            drafts.push((std::mem::take(draft), false));
        }
        let mut rest = element.range.clone();
        loop {
            let has_length = draft.pieces.len() >= MOST_COUNTED;
            let room = self.room(draft);
            let room = if has_length { room.saturating_sub(leb128_length(room)) } else { room };
            if rest.len() > room && room < SMALLEST_FRAGMENT && !draft.pieces.is_empty() {
                drafts.push((std::mem::take(draft), false));
                continue;
            }
            draft.layer = draft.layer.or(element.layer);
            let end = rest.start + rest.len().min(room);
            draft.push(rest.start..end);
            if end == rest.end {
                return;
            }
            drafts.push((std::mem::take(draft), true));
            draft.goes_on = true;
            rest.start = end;
        }
    }
}

impl Draft {
    fn push(&mut self, piece: Range<usize>) {
        self.size += piece.len() + leb128_length(piece.len());
        self.pieces.push(piece);
    }
}

impl Packer for Av1Packer {
    fn pack(&mut self, frame: &[u8], packets: &mut Packets) -> Result<(), FrameError> {
        let found = self.read(frame)?;
        let (mut drafts, mut draft) = (Vec::new(), Draft::default());
        found.iter().for_each(|element| self.put(element, &mut draft, &mut drafts));
        drafts.push((draft, false));
        let begins = found.iter().any(|element| element.is_sequence_header);
        packets.reserve(drafts.len(), self.elements.len() + 4 * (drafts.len() + found.len()));
        for (number, (draft, is_cut)) in drafts.iter().enumerate() {
            let count = draft.pieces.len();
            let counted = if count <= MOST_COUNTED { count as u8 } else { 0 };
            let flag = |is: bool, flag: u8| if is { flag } else { 0 };
            let begins = flag(begins && number == 0, BEGINS_SEQUENCE);
            let header = flag(draft.goes_on, GOES_ON) | flag(*is_cut, IS_CUT) | counted << COUNT_SHIFT | begins;
            packets.begin();
            packets.put_header(&[header]);
            for (place, piece) in draft.pieces.iter().enumerate() {
                if counted == 0 || place + 1 < count {
                    let (length, bytes) = to_leb128(piece.len());
                    packets.put_header(&length[..bytes]);
                }
                packets.put_media(&self.elements[piece.clone()]);
            }
        }
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Packer> {
        Box::new(self.clone())
    }
}
