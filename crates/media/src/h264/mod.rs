//! H.264 (ITU-T H.264): access units and what they refer to. Clauses are those of the 2021 edition.

pub(crate) mod boundary;
mod buffer;
pub(crate) mod gaps;
mod lists;
pub(crate) mod numbers;
mod open_picture;
mod parameter_sets;
mod picture_order;
mod slice_header;
mod tracker;

use crate::access_unit::{AccessUnit, AccessUnitError, FramePart, Framing, KeyKind};

use crate::codec::Codec;
use crate::h264::boundary::Finder;
use crate::h264::gaps::MIN_LENGTH_SIZE;
use crate::h264::open_picture::OpenPicture;
use crate::h264::parameter_sets::ParameterSets;
use crate::h264::picture_order::order_of;
use crate::h264::slice_header::{Marking, PictureHeader, SliceHeader, nal_type};
use crate::h264::tracker::{PictureTracker, RecoveryQuality};
use crate::nal::{NalUnits, sei_messages};
use crate::nal_detection;
use crate::nal_parameters::take_listed;
use crate::nal_scanner;
use crate::picture::PictureType;
use crate::picture_order::{Entry, OutputRule, PictureNumbers, PictureOrder, turn_of};
use crate::profile::{Profile, UnitReader, whole};
use crate::recovery::RecoveryFollower;
use crate::unit_index::{ShownBy, UnitIndexer};

/// `payloadType` of a recovery point (D.1.1).
const RECOVERY_POINT: u32 = 6;

/// H.264.
pub(crate) const PROFILE: Profile = Profile {
    name: "H.264",
    file_suffix: "h264",
    ffmpeg_format: "h264",
    ffmpeg_names: &["h264"],
    four_character_codes: &[b"H264", b"X264", b"AVC1"],
    streaming_file_code: 3,
    gstreamer_parser: "h264parse",
    gstreamer_caps: |_| "video/x-h264,stream-format=byte-stream",
    may_have_lengths: true,
    // nal_unit_type of a sequence parameter set, and of coded slices and slice data partitions (table 7-1).
    holds_sequence: Some(|unit| unit.first().is_some_and(|first| first & 0x1f == 7)),
    holds_picture_data: Some(|unit| unit.first().is_some_and(|first| (1..=5).contains(&(first & 0x1f)))),
    reader: |framing| Box::new(Reader::new(framing)),
    scanner: Some(|| nal_scanner::scanner::<Finder>(Codec::H264)),
    indexer: || UnitIndexer::of(Reader::new(Framing::ByteStream).of_whole_stream(), ShownBy::Headers),
    recognises: |head| nal_detection::codec_of(head) == Some(Codec::H264),
};

/// Reads one access unit after the other: a frame, one of its fields, or both.
#[derive(Debug)]
pub(crate) struct Reader {
    framing: Framing,
    sets: ParameterSets,
    tracker: PictureTracker,
    recovery: RecoveryFollower,
    /// Coded video sequences begun so far.
    sequences: u64,
    /// The last key, while what follows it may be shown before it: its picture order count.
    open_key: Option<i64>,
    /// Slices of other layers or views have come, or the parameter sets that they need (annexes G, H and I).
    has_other_layers: bool,
}

/// A recovery point (D.1.8).
#[derive(Clone, Copy, Debug)]
struct RecoveryPoint {
    frame_count: u32,
    quality: RecoveryQuality,
}

/// What is gathered of one access unit.
#[derive(Default)]
struct Gathered {
    recovery: Option<RecoveryPoint>,
    temporal_layer: u8,
    /// The picture whose slices are coming, its marking, and the kind that its slices make it.
    open: Option<(OpenPicture, Marking, PictureType)>,
    /// What the first picture makes of the unit; the second field adds to it.
    unit: Option<AccessUnit>,
    error: Option<AccessUnitError>,
}

impl UnitReader for Reader {
    /// Takes an `AVCDecoderConfigurationRecord`, or parameter sets behind start codes.
    fn configure(&mut self, codec_data: &[u8]) -> Result<(), AccessUnitError> {
        let bad = |reason: &str| AccessUnitError::bad_configuration(reason);
        if codec_data.first() == Some(&0) {
            let nals = NalUnits::of(codec_data, Framing::ByteStream);
            return nals.into_iter().try_for_each(|nal| self.take_parameter_set(nal));
        }
        let &[1, _, _, _, length_size, sequences, ref rest @ ..] = codec_data else {
            return Err(bad("neither an AVCDecoderConfigurationRecord of version 1 nor a byte stream"));
        };
        if let Framing::LengthPrefixed(_) = self.framing {
            self.framing = Framing::LengthPrefixed((length_size & 3) + 1);
        }
        let mut take = |nal: &[u8]| self.take_parameter_set(nal);
        let sequences = take_listed(rest, u16::from(sequences & 0x1f), &mut take);
        let rest = sequences.ok_or(bad("a sequence parameter set is cut off"))??;
        let (&pictures, rest) = rest.split_first().ok_or(bad("the number of picture parameter sets is cut off"))?;
        take_listed(rest, pictures.into(), &mut take).ok_or(bad("a picture parameter set is cut off"))??;
        Ok(())
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
        self.tracker = self.tracker.restarted();
        self.recovery.restart();
        self.open_key = None;
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
            open_key: None,
            has_other_layers: false,
        }
    }

    /// Takes what the stream is for all there is: where frames are missing in it, all decoders get it so, and what they make
    /// up for them belongs to it.
    pub(crate) fn of_whole_stream(mut self) -> Self {
        self.tracker = PictureTracker::of_whole_stream();
        self
    }

    fn take_parameter_set(&mut self, nal: &[u8]) -> Result<(), AccessUnitError> {
        let result = match nal.split_first() {
            Some((header, payload)) => match header & 0x1f {
                nal_type::SEQUENCE_PARAMETER_SET => self.sets.take_sequence(payload),
                nal_type::PICTURE_PARAMETER_SET => self.sets.take_picture(payload),
                _ => Ok(()),
            },
            None => Ok(()),
        };
        result.map_err(AccessUnitError::bad_configuration_field)
    }

    /// Reads the next unit: what its good slices say, and what is wrong with the first bad one.
    pub(crate) fn read_leniently(&mut self, number: u64, unit: &[u8]) -> (Option<AccessUnit>, Option<AccessUnitError>) {
        let mut gathered = Gathered::default();
        for nal in NalUnits::of(unit, self.framing) {
            let Some((&header, payload)) = nal.split_first() else { continue };
            match header & 0x1f {
                // One that cannot be read leaves the one before in force.
                nal_type::SEQUENCE_PARAMETER_SET | nal_type::PICTURE_PARAMETER_SET => _ = self.take_parameter_set(nal),
                nal_type::SEI => gathered.recovery = recovery_point(payload).or(gathered.recovery),
                nal_type::PREFIX => gathered.temporal_layer = temporal_layer(payload).unwrap_or(0),
                nal_type::SLICE | nal_type::SLICE_PARTITION_A | nal_type::IDR_SLICE => {
                    self.take_slice(number, nal, &mut gathered);
                }
                nal_type::SUBSET_SEQUENCE_PARAMETER_SET
                | nal_type::SLICE_EXTENSION
                | nal_type::DEPTH_SLICE_EXTENSION => self.has_other_layers = true,
                _ => {}
            }
        }
        self.end_picture(&mut gathered);
        (gathered.unit, gathered.error)
    }

    /// Whether other numbers can stand in slice headers: those of other layers or views have to stay the same as theirs,
    /// and a slice that becomes longer has to have room in the length before it: of one that fills the 16 MB of three
    /// bytes, [`renumber`](crate::picture_order::renumber) says that it has none.
    fn can_renumber(&self) -> bool {
        !self.has_other_layers && !matches!(self.framing, Framing::LengthPrefixed(..MIN_LENGTH_SIZE))
    }

    fn take_slice(&mut self, number: u64, nal: &[u8], gathered: &mut Gathered) {
        let slice = match SliceHeader::parse(nal, &self.sets) {
            Ok(slice) if slice.is_redundant => return,
            Ok(slice) => slice,
            Err(error) => {
                gathered.error.get_or_insert(error.of_unit(number));
                return;
            }
        };
        let continues = |open: &(OpenPicture, Marking, PictureType)| open.0.header.is_same_picture(&slice.picture);
        if !gathered.open.as_ref().is_some_and(continues) {
            self.end_picture(gathered);
            self.begin_picture(number, &slice, gathered);
        }
        if let Some((picture, _, kind)) = &mut gathered.open {
            *kind = (*kind).max(slice.lists.kind);
            self.tracker.refer(picture, &slice.lists);
        }
    }

    fn begin_picture(&mut self, number: u64, slice: &SliceHeader, gathered: &mut Gathered) {
        let sequence = self.sets.picture(slice.picture.picture_parameter_set);
        let Ok(sequence) = sequence.and_then(|picture| self.sets.sequence(picture.sequence)) else { return };
        let picture = self.tracker.begin(number, &slice.picture, sequence);
        gathered.open = Some((picture, slice.marking.clone(), PictureType::I));
    }

    fn end_picture(&mut self, gathered: &mut Gathered) {
        let Some((picture, marking, kind)) = gathered.open.take() else { return };
        let is_first = gathered.unit.is_none() && !picture.is_second_field;
        let key = if is_first { key_kind(&picture.header, kind, gathered.recovery) } else { None };
        let recovery = gathered.recovery.filter(|_| matches!(key, Some(KeyKind::Open | KeyKind::BrokenLink)));
        let (orders, unmarked) = self.tracker.end(&picture, &marking, recovery.map(|point| point.quality));
        let order = order_of(picture.header.fields, orders);
        let starts_sequence = key == Some(KeyKind::Closed) || marking.unmarks_all();
        self.sequences += u64::from(starts_sequence);
        let leading = self.open_key.is_some_and(|key| order < key) && !starts_sequence && key.is_none();
        match key {
            Some(KeyKind::Open | KeyKind::BrokenLink) => self.open_key = Some(order),
            _ if starts_sequence => self.open_key = None,
            _ => {}
        }
        let part = match (picture.header.fields.is_single(), picture.is_second_field) {
            (false, _) => FramePart::Whole,
            (true, false) => FramePart::FirstField,
            (true, true) => FramePart::SecondField,
        };
        if starts_sequence {
            self.recovery.restart();
        }
        // A key frame needs no refresh.
        let refresh = gathered.recovery.filter(|point| is_first && key.is_none() && point.quality.exact);
        let recovers = recovery.is_some_and(|point| point.quality.exact);
        let recovery = self.recovery.take_h264(
            picture.unit(),
            if marking.unmarks_all() { 0 } else { picture.header.frame_num },
            picture.max_frame_num(),
            order,
            picture.header.is_reference,
            refresh.map(|point| point.frame_count),
        );
        let is_base = picture.header.is_reference || picture.order_follows_frame_num;
        let restarts = marking.unmarks_all();
        let numbers = picture.numbers.map(|numbers| PictureNumbers { restarts, recovers, ..numbers });
        let entry = match key {
            Some(KeyKind::Closed) => Entry::Closed,
            Some(KeyKind::Open | KeyKind::BrokenLink) => Entry::Open,
            None => Entry::Inside,
        };
        let picture_order = Some(PictureOrder {
            // Of a frame the low bits are those of its top field (8.2.1.1).
            count: orders[0],
            turn: picture.order_turn.and_then(turn_of),
            follows_frame_num: picture.order_follows_frame_num,
            is_base,
            begins_sequence: starts_sequence,
            can_begin_sequence: false,
            numbers: numbers.filter(|_| self.can_renumber()),
            output: OutputRule::H264 { reordered: picture.reordered, entry },
            marks: Some(picture.marks(unmarked)),
        });
        let unit = AccessUnit {
            number: picture.unit(),
            part,
            kind,
            key,
            leading,
            referenced: picture.header.is_reference,
            temporal_layer: gathered.temporal_layer,
            references: picture.references.into_iter().collect(),
            missing_reference: picture.missing,
            display_order: Some(order),
            picture_order,
            recovery,
            gop_header: None,
        };
        match &mut gathered.unit {
            None => gathered.unit = Some(unit),
            Some(first) => first.add_second_field(unit),
        }
    }
}

/// Where decoding can begin: at an IDR picture, or at an I picture with a recovery point at itself.
fn key_kind(header: &PictureHeader, kind: PictureType, recovery: Option<RecoveryPoint>) -> Option<KeyKind> {
    let point = recovery.filter(|point| point.frame_count == 0 && kind == PictureType::I);
    match (header.idr, point) {
        (Some(_), _) => Some(KeyKind::Closed),
        (None, Some(point)) if point.quality.broken_link => Some(KeyKind::BrokenLink),
        (None, Some(_)) => Some(KeyKind::Open),
        (None, None) => None,
    }
}

fn recovery_point(payload: &[u8]) -> Option<RecoveryPoint> {
    let mut message = sei_messages(payload).find(|message| message.payload_type == RECOVERY_POINT)?;
    let reader = &mut message.payload;
    let frame_count = reader.ue().ok()?;
    let quality = RecoveryQuality { exact: reader.flag().ok()?, broken_link: reader.flag().ok()? };
    Some(RecoveryPoint { frame_count, quality })
}

/// `temporal_id` of the SVC extension of a NAL unit header (G.7.3.1.1), behind its first byte.
fn temporal_layer(payload: &[u8]) -> Option<u8> {
    let [first, _, third, ..] = payload else { return None };
    (first & 0x80 != 0).then_some(third >> 5)
}
