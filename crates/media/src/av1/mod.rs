//! AV1: access units and what they refer to. Sections are those of the AV1 bitstream and decoding process
//! specification, version 1.0.0 with errata 1. An access unit is a temporal unit, or a frame of one.

mod frame_header;
mod obu;
mod scanner;
mod sequence;
mod short_signaling;
mod slots;

use std::collections::BTreeSet;

use crate::access_unit::{AccessUnit, AccessUnitError, FramePart, KeyKind};
use crate::av1::frame_header::{ALL_SLOTS, CodedFrame, FrameHeader, FrameType, Reference};
use crate::av1::obu::{Layer, Obu, obu_type};
use crate::av1::scanner::Av1Scanner;
use crate::av1::sequence::SequenceHeader;
use crate::av1::slots::{Slots, StoredFrame};
use crate::bits::BadField;
use crate::picture::PictureType;
use crate::profile::{Profile, UnitReader};
use crate::recovery::Recovery;
use crate::unit_index::{ShownBy, UnitIndexer};

/// AV1.
pub(crate) const PROFILE: Profile = Profile {
    name: "AV1",
    file_suffix: "obu",
    ffmpeg_format: "obu",
    ffmpeg_names: &["av1"],
    four_character_codes: &[],
    streaming_file_code: 5,
    gstreamer_parser: "av1parse",
    gstreamer_caps: |_| "video/x-av1,stream-format=obu-stream",
    may_have_lengths: false,
    // A low-overhead bitstream has no start codes.
    holds_sequence: None,
    holds_picture_data: None,
    reader: |_| Box::new(Reader::default()),
    scanner: Some(|| Box::new(Av1Scanner::default())),
    // One frame of each temporal unit is shown, and that at once (7.18).
    indexer: || UnitIndexer::of(Reader::default(), ShownBy::Decoding),
    recognises: scanner::recognises,
};

/// Reads one access unit after the other.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    sequence: Option<SequenceHeader>,
    slots: Slots,
    /// The unit with a key frame that was not shown yet: what comes until it is shown is shown before it.
    forward_key: Option<u64>,
}

/// What is gathered of one unit: of several frames, the unit refers to what any of them refers to.
#[derive(Default)]
struct Gathered {
    /// I when all frames are intra, B when all are shown before one that came earlier, else P.
    kind: Option<PictureType>,
    key: Option<KeyKind>,
    leading: bool,
    referenced: bool,
    temporal_layer: Option<u8>,
    references: BTreeSet<u64>,
    missing: bool,
    shown_order: Option<i64>,
    last_order: Option<i64>,
}

impl Gathered {
    /// A key frame is shown: what came before it in this unit counts for nothing.
    fn restart(&mut self, key: Option<KeyKind>) {
        *self = Self { key, ..Self::default() };
    }

    fn add_frame(&mut self, kind: PictureType, layer: Layer) {
        self.kind = Some(match (self.kind, kind) {
            (None, kind) => kind,
            (Some(one), other) if one == other => one,
            _ => PictureType::P,
        });
        // Nothing is lost by a frame that is held for less dispensable than it is.
        let lowest = self.temporal_layer.map_or(layer.temporal, |lowest| lowest.min(layer.temporal));
        self.temporal_layer = Some(lowest);
    }

    fn refer(&mut self, number: u64, frame: Option<StoredFrame>) {
        match frame {
            Some(frame) if frame.unit != number => _ = self.references.insert(frame.unit),
            Some(_) => {}
            None => self.missing = true,
        }
    }
}

impl UnitReader for Reader {
    /// Takes an `AV1CodecConfigurationRecord` (AV1 in ISOBMFF, 2.3.3), or units in the low-overhead format.
    fn configure(&mut self, codec_data: &[u8]) -> Result<(), AccessUnitError> {
        const MARKER_AND_VERSION: u8 = 0x81;
        const RECORD: usize = 4;
        let units = match codec_data.first() {
            Some(&MARKER_AND_VERSION) => codec_data
                .get(RECORD..)
                .ok_or_else(|| AccessUnitError::bad_configuration("an AV1CodecConfigurationRecord is cut off"))?,
            Some(first) if first & 0x80 == 0 => codec_data,
            _ => {
                let reason = "neither an AV1CodecConfigurationRecord of version 1 nor open bitstream units";
                return Err(AccessUnitError::bad_configuration(reason));
            }
        };
        let take = |unit: Result<Obu, BadField>| match unit? {
            unit if unit.obu_type == obu_type::SEQUENCE_HEADER => self.take_sequence(unit.payload),
            _ => Ok(()),
        };
        obu::units(units).try_for_each(take).map_err(AccessUnitError::bad_configuration_field)
    }

    /// Reads the next unit.
    fn read(&mut self, number: u64, unit: &[u8]) -> Result<AccessUnit, AccessUnitError> {
        let mut gathered = Gathered::default();
        for obu in obu::units(unit) {
            let obu = obu.map_err(|field| AccessUnitError::bad_header(number, field))?;
            match obu.obu_type {
                obu_type::SEQUENCE_HEADER => {
                    self.take_sequence(obu.payload).map_err(|field| AccessUnitError::bad_header(number, field))?;
                }
                obu_type::FRAME | obu_type::FRAME_HEADER => self.take_frame(number, obu, &mut gathered)?,
                _ => {}
            }
        }
        let Some(kind) = gathered.kind else {
            return Err(AccessUnitError::NoPicture { number, length: unit.len() });
        };
        self.forward_key = self.forward_key.filter(|&unit| self.slots.hold_key_frame_of(unit));
        Ok(AccessUnit {
            number,
            part: FramePart::Whole,
            // Whatever comes with a key frame, the unit is as dear.
            kind: if gathered.key.is_some() { PictureType::I } else { kind },
            key: gathered.key,
            leading: gathered.leading && gathered.key.is_none(),
            referenced: gathered.referenced,
            temporal_layer: gathered.temporal_layer.unwrap_or(0),
            references: gathered.references.into_iter().collect(),
            missing_reference: gathered.missing,
            display_order: gathered.shown_order.or(gathered.last_order),
            picture_order: None,
            recovery: Recovery::default(),
            gop_header: None,
        })
    }

    /// Forgets all frames. The sequence header stays in force.
    fn reset(&mut self) {
        *self = Self { sequence: self.sequence.take(), ..Self::default() };
    }
}

impl Reader {
    fn take_sequence(&mut self, payload: &[u8]) -> Result<(), BadField> {
        self.sequence = Some(SequenceHeader::parse(payload)?);
        Ok(())
    }

    fn take_frame(&mut self, number: u64, obu: Obu, gathered: &mut Gathered) -> Result<(), AccessUnitError> {
        let Some(sequence) = &self.sequence else {
            return Err(AccessUnitError::MissingParameterSet { number, parameter_set: "sequence header", id: 0 });
        };
        let header = FrameHeader::parse(obu.payload, obu.layer, sequence, &self.slots.order_hints())
            .map_err(|field| AccessUnitError::bad_header(number, field))?;
        let order_hint_bits = sequence.order_hint_bits;
        match header {
            FrameHeader::ShowExisting(slot) => self.show(number, slot, obu.layer, gathered),
            FrameHeader::Coded(frame) => self.decode(number, &frame, order_hint_bits, obu.layer, gathered),
        }
        Ok(())
    }

    /// A frame that came before is shown. A key frame then takes every slot (7.21): decoding goes on from it alone.
    fn show(&mut self, number: u64, slot: usize, layer: Layer, gathered: &mut Gathered) {
        let frame = self.slots.get(slot);
        let is_intra = frame.is_some_and(|frame| frame.frame_type.is_intra());
        gathered.add_frame(if is_intra { PictureType::I } else { PictureType::B }, layer);
        let Some(frame) = frame.filter(|frame| frame.frame_type == FrameType::Key) else {
            gathered.refer(number, frame);
            gathered.shown_order = frame.and_then(|frame| frame.order);
            gathered.leading |= self.forward_key.is_some();
            return;
        };
        // What came between is neither shown nor referred to any more.
        gathered.restart(gathered.key.filter(|_| frame.unit == number).map(|_| KeyKind::Closed));
        gathered.add_frame(PictureType::I, layer);
        gathered.refer(number, Some(frame));
        gathered.shown_order = frame.order;
        gathered.referenced = true;
        self.forward_key = None;
        self.slots.refresh(ALL_SLOTS, StoredFrame { unit: number, ..frame });
    }

    fn decode(
        &mut self,
        number: u64,
        frame: &CodedFrame,
        order_hint_bits: usize,
        layer: Layer,
        gathered: &mut Gathered,
    ) {
        let is_key = frame.frame_type == FrameType::Key;
        if is_key && frame.is_shown {
            self.slots.begin_sequence();
            self.forward_key = None;
            gathered.restart(Some(KeyKind::Closed));
        }
        if let Some(hints) = &frame.slot_hints {
            self.slots.expect(hints);
        }
        for &Reference { slot, frame_id } in &frame.references {
            let is_meant = |stored: &StoredFrame| frame_id.is_none() || stored.frame_id == frame_id;
            gathered.refer(number, self.slots.get(slot).filter(is_meant));
        }
        gathered.leading |= self.forward_key.is_some();
        if is_key && !frame.is_shown {
            self.forward_key = Some(number);
            gathered.key.get_or_insert(KeyKind::Open);
        }
        let (stored, is_before_another) = self.slots.place(number, frame, order_hint_bits);
        let kind = match frame.frame_type {
            frame_type if frame_type.is_intra() => PictureType::I,
            _ if is_before_another => PictureType::B,
            _ => PictureType::P,
        };
        gathered.add_frame(kind, layer);
        gathered.last_order = stored.order;
        if frame.is_shown {
            gathered.shown_order = stored.order;
        }
        gathered.referenced |= frame.refreshed != 0;
        self.slots.refresh(frame.refreshed, stored);
    }
}
