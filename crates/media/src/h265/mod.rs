//! H.265 (ITU-T H.265): access units and what they refer to. Clauses are those of the 2021 edition. Only the base
//! layer is read; pictures of other layers (SHVC, MV-HEVC) count for nothing, and of screen content coding, pictures
//! that refer to themselves are not known.

pub(crate) mod boundary;
mod fields;
mod parameter_sets;
mod reference_set;
mod slice_header;
mod tracker;

use crate::access_unit::{AccessUnit, AccessUnitError, FramePart, Framing, KeyKind};

use crate::codec::Codec;
use crate::h265::boundary::Finder;
use crate::h265::fields::{FieldPicture, picture_structure};
use crate::h265::parameter_sets::ParameterSets;
use crate::h265::slice_header::{NalHeader, SliceHeader, nal_type};
use crate::h265::tracker::{OpenPicture, PictureTracker};
use crate::nal::{NalUnits, sei_messages};
use crate::nal_detection;
use crate::nal_parameters::take_listed;
use crate::nal_scanner;
use crate::picture::PictureType;
use crate::picture_order::{Entry, OutputRule, PictureOrder, turn_of};
use crate::profile::{Profile, UnitReader, whole};
use crate::recovery::RecoveryFollower;
use crate::unit_index::{ShownBy, UnitIndexer};

/// `payloadType` of a recovery point (D.2.1).
const RECOVERY_POINT: u32 = 6;

/// H.265.
pub(crate) const PROFILE: Profile = Profile {
    name: "H.265",
    file_suffix: "h265",
    ffmpeg_format: "hevc",
    ffmpeg_names: &["hevc"],
    four_character_codes: &[b"HEVC", b"H265", b"HEV1", b"HVC1"],
    streaming_file_code: 4,
    gstreamer_parser: "h265parse",
    gstreamer_caps: |_| "video/x-h265,stream-format=byte-stream",
    may_have_lengths: true,
    // nal_unit_type of a sequence parameter set, and of VCL NAL units (table 7-1).
    holds_sequence: Some(|unit| unit.first().is_some_and(|first| (first >> 1) & 0x3f == 33)),
    holds_picture_data: Some(|unit| unit.first().is_some_and(|first| (first >> 1) & 0x3f < 32)),
    reader: |framing| Box::new(Reader::new(framing).pairing_fields()),
    scanner: Some(|| nal_scanner::scanner::<Finder>(Codec::H265)),
    indexer: || UnitIndexer::of(Reader::new(Framing::ByteStream), ShownBy::Headers),
    recognises: |head| nal_detection::codec_of(head) == Some(Codec::H265),
};

/// Reads one access unit after the other.
#[derive(Debug)]
pub(crate) struct Reader {
    framing: Framing,
    sets: ParameterSets,
    tracker: PictureTracker,
    recovery: RecoveryFollower,
    /// Coded video sequences begun so far.
    sequences: u64,
    /// Two fields that follow one another are one frame to those that refer to it.
    pairs_fields: bool,
    /// The field that the last unit was, when its frame lacks the other, and the number of that unit.
    open_field: Option<(FieldPicture, u64)>,
    /// The picture order count with which the coded video sequence began.
    sequence_order: i64,
}

/// What is gathered of one access unit.
#[derive(Default)]
struct Gathered {
    /// The picture and the kind that its slices make it.
    open: Option<(OpenPicture, PictureType)>,
    /// The highest `TemporalId` that the sequence parameter set announces.
    highest_layer: u8,
    /// Pictures that a decoder holds back; where each is a field, frames.
    reordered: u8,
    ends_sequence: bool,
    /// `recovery_poc_cnt`, where it promises exactness.
    recovery: Option<i32>,
    /// `pic_struct`.
    structure: Option<u32>,
    part: FramePart,
    error: Option<AccessUnitError>,
}

impl UnitReader for Reader {
    /// Takes an `HEVCDecoderConfigurationRecord`, or parameter sets behind start codes.
    fn configure(&mut self, codec_data: &[u8]) -> Result<(), AccessUnitError> {
        const LENGTH_SIZE: usize = 21;
        if codec_data.first() == Some(&0) && codec_data.get(1) == Some(&0) {
            let mut nals = NalUnits::of(codec_data, Framing::ByteStream);
            return nals.try_for_each(|nal| self.take_parameter_set(nal));
        }
        let Some((record, rest)) =
            codec_data.split_first_chunk::<{ LENGTH_SIZE + 1 }>().filter(|(record, _)| record[0] <= 1)
        else {
            return Err(AccessUnitError::bad_configuration(
                "neither an HEVCDecoderConfigurationRecord of version 1 nor a byte stream",
            ));
        };
        if let Framing::LengthPrefixed(_) = self.framing {
            self.framing = Framing::LengthPrefixed((record[LENGTH_SIZE] & 3) + 1);
        }
        self.take_arrays(rest).unwrap_or(Err(AccessUnitError::bad_configuration("an array of NAL units is cut off")))
    }

    /// Reads the next unit.
    fn read(&mut self, number: u64, unit: &[u8]) -> Result<AccessUnit, AccessUnitError> {
        whole(self.read_leniently(number, unit), number, unit)
    }

    fn read_in_sequence(&mut self, number: u64, unit: &[u8]) -> (Option<AccessUnit>, u64) {
        (self.read_leniently(number, unit).0, self.sequences)
    }

    /// Forgets all pictures.
    fn reset(&mut self) {
        self.tracker = PictureTracker::default();
        self.recovery.restart();
        self.open_field = None;
    }
}

impl Reader {
    pub(crate) fn new(framing: Framing) -> Self {
        Self {
            framing,
            sets: ParameterSets::default(),
            tracker: PictureTracker::default(),
            recovery: RecoveryFollower::default(),
            sequences: 0,
            pairs_fields: false,
            open_field: None,
            sequence_order: 0,
        }
    }

    /// Where field sequences are stated by picture timing messages, lets the two fields of a frame be one. Without,
    /// each field counts as a picture, as decoders show it.
    pub(crate) fn pairing_fields(self) -> Self {
        Self { pairs_fields: true, ..self }
    }

    /// Takes arrays of parameter sets: type, count, and each behind its length.
    fn take_arrays(&mut self, rest: &[u8]) -> Option<Result<(), AccessUnitError>> {
        let (&arrays, mut rest) = rest.split_first()?;
        for _ in 0..arrays {
            let (&[_, count_high, count_low], after) = rest.split_first_chunk()?;
            let count = u16::from_be_bytes([count_high, count_low]);
            match take_listed(after, count, |nal| self.take_parameter_set(nal))? {
                Ok(after) => rest = after,
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(()))
    }

    fn take_parameter_set(&mut self, nal: &[u8]) -> Result<(), AccessUnitError> {
        let Some((header, payload)) = NalHeader::split(nal).filter(|(header, _)| header.layer == 0) else {
            return Ok(());
        };
        let result = match header.nal_type {
            nal_type::SEQUENCE_PARAMETER_SET => self.sets.take_sequence(payload),
            nal_type::PICTURE_PARAMETER_SET => self.sets.take_picture(payload),
            _ => Ok(()),
        };
        result.map_err(AccessUnitError::bad_configuration_field)
    }

    /// Reads the next unit: what its good slices say, and what is wrong with the first bad one.
    pub(crate) fn read_leniently(&mut self, number: u64, unit: &[u8]) -> (Option<AccessUnit>, Option<AccessUnitError>) {
        let mut gathered = Gathered::default();
        for nal in NalUnits::of(unit, self.framing) {
            let Some((header, payload)) = NalHeader::split(nal) else { continue };
            match header.nal_type {
                // One that cannot be read leaves the one before in force.
                nal_type::SEQUENCE_PARAMETER_SET | nal_type::PICTURE_PARAMETER_SET => _ = self.take_parameter_set(nal),
                nal_type::END_OF_SEQUENCE | nal_type::END_OF_BITSTREAM if header.layer == 0 => {
                    gathered.ends_sequence = true;
                }
                nal_type::PREFIX_SEI if header.layer == 0 => {
                    gathered.structure = picture_structure(payload).or(gathered.structure);
                    gathered.recovery = exact_recovery_point(payload).or(gathered.recovery);
                }
                _ if header.is_slice() => self.take_slice(number, header, payload, &mut gathered),
                _ => {}
            }
        }
        let read = self.end_picture(&mut gathered);
        if gathered.ends_sequence {
            self.tracker.end_sequence();
        }
        (read, gathered.error)
    }

    fn take_slice(&mut self, number: u64, header: NalHeader, payload: &[u8], gathered: &mut Gathered) {
        let slice = match SliceHeader::parse(header, payload, &self.sets) {
            Ok(Some(slice)) => slice,
            Ok(None) => return,
            Err(error) => {
                gathered.error.get_or_insert(error.of_unit(number));
                return;
            }
        };
        if gathered.open.is_none() {
            let Ok(sequence) = self.sets.sequence(slice.sequence) else { return };
            gathered.highest_layer = sequence.highest_temporal_layer;
            let (has_field_info, reordered) = (sequence.has_field_info, sequence.reordered);
            let mut picture = self.tracker.begin(number, header, &slice.references, 1 << sequence.order_bits);
            if picture.starts_sequence {
                self.sequence_order = picture.order;
            }
            if self.pairs_fields {
                gathered.part = self.pair(&mut picture, gathered.structure.filter(|_| has_field_info));
            }
            gathered.reordered = if gathered.part == FramePart::Whole { reordered } else { reordered / 2 };
            gathered.open = Some((picture, PictureType::I));
        } else if slice.is_first {
            // A second picture has no place in an access unit of one layer.
            return;
        }
        if let Some((picture, kind)) = &mut gathered.open {
            *kind = (*kind).max(slice.lists.kind);
            self.tracker.refer(picture, &slice.lists);
        }
    }

    /// Whether the picture is a field, and of which frame.
    fn pair(&mut self, picture: &mut OpenPicture, structure: Option<u32>) -> FramePart {
        let before = self.open_field.take();
        let Some(field) = structure.and_then(|structure| FieldPicture::of(structure, picture.order)) else {
            return FramePart::Whole;
        };
        if let Some((_, first)) = before.filter(|(first, _)| first.is_completed_by(field)) {
            picture.unit = first;
            return FramePart::SecondField;
        }
        if !field.is_first(self.sequence_order) {
            return FramePart::Whole;
        }
        self.open_field = Some((field, picture.unit));
        FramePart::FirstField
    }

    fn end_picture(&mut self, gathered: &mut Gathered) -> Option<AccessUnit> {
        let (picture, kind) = gathered.open.take()?;
        self.tracker.end(&picture);
        self.sequences += u64::from(picture.starts_sequence);
        let header = picture.header;
        let picture_order = PictureOrder {
            count: picture.order,
            turn: turn_of(picture.order_turn),
            follows_frame_num: false,
            is_base: picture.is_order_base(),
            begins_sequence: picture.starts_sequence,
            can_begin_sequence: header.nal_type == nal_type::CRA && !picture.starts_sequence,
            numbers: None,
            output: OutputRule::H265 { reordered: gathered.reordered, entry: entry_of(header), keeps: picture.keeps },
            marks: None,
        };
        let key = match header {
            _ if header.is_idr() => Some(KeyKind::Closed),
            _ if header.is_bla() => Some(KeyKind::BrokenLink),
            _ if header.is_intra_random_access() => Some(KeyKind::Open),
            _ => None,
        };
        if picture.starts_sequence {
            self.recovery.restart();
        }
        // A key frame needs no refresh.
        let refresh = gathered.recovery.filter(|_| key.is_none() && gathered.part != FramePart::SecondField);
        let recovery = self.recovery.take_h265(picture.unit, picture.order, refresh);
        Some(AccessUnit {
            number: picture.unit,
            part: gathered.part,
            kind,
            key,
            leading: header.is_rasl(),
            // Higher sub-layers may refer to what its own does not.
            referenced: !(header.is_sub_layer_non_reference() && header.temporal_layer >= gathered.highest_layer),
            temporal_layer: header.temporal_layer,
            references: picture.references.into_iter().filter(|&unit| unit != picture.unit).collect(),
            missing_reference: picture.missing,
            display_order: Some(picture.order),
            picture_order: Some(picture_order),
            recovery,
            gop_header: None,
        })
    }
}

fn entry_of(header: NalHeader) -> Entry {
    match header {
        _ if header.is_idr() => Entry::Closed,
        _ if header.is_intra_random_access() => Entry::Open,
        _ if header.is_rasl() && header.is_sub_layer_non_reference() => Entry::Skipped,
        _ if header.is_rasl() => Entry::SkippedReference,
        _ => Entry::Inside,
    }
}

/// `recovery_poc_cnt` of a recovery point message (D.2.8) that has `exact_match_flag`.
fn exact_recovery_point(payload: &[u8]) -> Option<i32> {
    let mut message = sei_messages(payload).find(|message| message.payload_type == RECOVERY_POINT)?;
    let count = message.payload.se().ok()?;
    message.payload.flag().ok()?.then_some(count)
}

/// The access unit with its CRA picture made a BLA picture (`BLA_W_LP`, which may have any leading pictures), if it has
/// one: slice segment headers of the two are the same (7.3.6.1).
pub(crate) fn break_link(unit: &[u8], framing: Framing) -> Option<Vec<u8>> {
    let is_cra = |nal: &[u8]| {
        NalHeader::split(nal).is_some_and(|(header, _)| header.nal_type == nal_type::CRA && header.layer == 0)
    };
    let at = |nal: &[u8]| nal.as_ptr().addr() - unit.as_ptr().addr();
    let places: Vec<usize> = NalUnits::of(unit, framing).filter(|nal| is_cra(nal)).map(at).collect();
    let mut broken = (!places.is_empty()).then(|| unit.to_vec())?;
    for place in places {
        // forbidden_zero_bit, nal_unit_type, and the first bit of nuh_layer_id, which is 0.
        broken[place] = nal_type::BLA_W_LP << 1;
    }
    Some(broken)
}
