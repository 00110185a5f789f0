//! From payloads to temporal units.

use bytes::BytesMut;

use super::Payload;
use super::obu::{DELIMITER, FRAME, FRAME_HEADER, Obu, SEQUENCE_HEADER, TEMPORAL_DELIMITER, TILE_LIST, units};
use crate::rtp_payload::Joiner;

/// Joins payloads.
#[derive(Clone, Debug, Default)]
pub(super) struct Av1Joiner {
    /// Where in the bytes the unit begins that goes on in the next packet; as it came, without a size.
    open: Option<usize>,
    /// The first packet of the frame begins a coded video sequence.
    begins_sequence: bool,
    habit: Habit,
}

/// What the temporal units of this sender are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Habit {
    #[default]
    Unknown,
    /// One frame each, and nothing before it but a sequence header.
    Plain,
    /// At least once there was more.
    Other,
}

impl Av1Joiner {
    /// Writes the unit that begins there with its size; what receivers must ignore is left out (section 5). False where it is
    /// none.
    fn close(start: usize, bytes: &mut BytesMut) -> bool {
        let element = bytes.split_off(start);
        let Some((unit, [])) = Obu::split(&element) else { return false };
        if !matches!(unit.kind(), TEMPORAL_DELIMITER | TILE_LIST) {
            unit.put_sized(|piece| bytes.extend_from_slice(piece));
        }
        true
    }
}

impl Joiner for Av1Joiner {
    fn open<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], String> {
        Payload::parse(payload).map(|_| payload)
    }

    fn begin(&mut self, payload: &[u8], _is_first: bool) -> bool {
        self.open = None;
        let parsed = Payload::parse(payload);
        self.begins_sequence = parsed.as_ref().is_ok_and(|payload| payload.begins_sequence);
        parsed.is_ok_and(|payload| !payload.goes_on)
    }

    fn append(&mut self, payload: &[u8], bytes: &mut BytesMut) -> bool {
        let Ok(payload) = Payload::parse(payload) else { return false };
        if payload.goes_on != self.open.is_some() {
            return false;
        }
        if bytes.is_empty() {
            bytes.extend_from_slice(&DELIMITER);
        }
        let last = payload.elements.len() - 1;
        payload.elements.iter().enumerate().all(|(place, element)| {
            let start = self.open.take().unwrap_or(bytes.len());
            bytes.extend_from_slice(element);
            if place == last && payload.is_cut {
                self.open = Some(start);
                return true;
            }
            Self::close(start, bytes)
        })
    }

    /// Decoders take whole units only, and with no frame among them there is nothing to decode.
    fn cut_off(&mut self, bytes: &mut BytesMut) {
        if let Some(start) = self.open.take() {
            bytes.truncate(start);
        }
        if !units(bytes).flatten().any(|unit| matches!(unit.kind(), FRAME | FRAME_HEADER)) {
            bytes.clear();
        }
    }

    fn learn(&mut self, bytes: &[u8], is_whole: bool) {
        if !is_whole || self.habit == Habit::Other {
            return;
        }
        let kinds = units(bytes).flatten().map(|unit| unit.kind());
        let kinds: Vec<u8> = kinds.filter(|kind| !matches!(*kind, TEMPORAL_DELIMITER | SEQUENCE_HEADER)).collect();
        let frames = kinds.iter().filter(|kind| matches!(**kind, FRAME | FRAME_HEADER)).count();
        let is_plain = frames == 1 && matches!(kinds.first(), Some(&(FRAME | FRAME_HEADER)));
        self.habit = if is_plain { Habit::Plain } else { Habit::Other };
    }

    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn has_beginning(&self, bytes: &[u8]) -> bool {
        let first = units(bytes).flatten().map(|unit| unit.kind()).find(|kind| *kind != TEMPORAL_DELIMITER);
        match first {
            Some(SEQUENCE_HEADER) => true,
            Some(FRAME | FRAME_HEADER) => self.begins_sequence || self.habit == Habit::Plain,
            _ => self.begins_sequence,
        }
    }
}
