//! MPEG-4 part 2 visual: access units and what they refer to. Clauses are those of ISO/IEC 14496-2:2004. One layer is
//! read; of scalable streams the lowest is meant. Short headers (H.263) and NEWPRED, where a receiver says what is
//! referred to, are not known.

mod clock;
pub(crate) mod headers;
mod pace;
mod scanner;

use std::collections::BTreeSet;

use crate::access_unit::{AccessUnit, AccessUnitError, FramePart, KeyKind};
use crate::bits::BadField;
use crate::mpeg4::clock::VopClock;
use crate::mpeg4::headers::{VideoObjectLayer, VopHeader, is_header, is_layer, value};
use crate::nal_detection;
use crate::picture::{GopHeader, PictureType};
use crate::profile::{Profile, UnitReader};
use crate::recovery::Recovery;
use crate::references::{ReferenceTracker, key_kind};
use crate::start_code;
use crate::unit_index::{ShownBy, UnitIndexer};

/// MPEG-4 part 2.
pub(crate) const PROFILE: Profile = Profile {
    name: "MPEG-4 part 2",
    file_suffix: "m4v",
    ffmpeg_format: "m4v",
    ffmpeg_names: &["mpeg4"],
    four_character_codes: &[b"DIVX", b"DX50", b"FMP4", b"MP4V", b"XVID"],
    streaming_file_code: 2,
    gstreamer_parser: "mpeg4videoparse",
    gstreamer_caps: |_| "video/mpeg,mpegversion=4,systemstream=false",
    may_have_lengths: false,
    // video_object_layer_start_code and vop_start_code (table 6-3).
    holds_sequence: Some(|unit| {
        matches!(unit.first(), Some(value::VIDEO_OBJECT_LAYER_FIRST..=value::VIDEO_OBJECT_LAYER_LAST))
    }),
    holds_picture_data: Some(|unit| unit.first() == Some(&value::VOP)),
    reader: |_| Box::new(Reader::default()),
    scanner: Some(scanner::scanner),
    indexer: || UnitIndexer::of(Reader::default(), ShownBy::Types),
    recognises,
};

/// How many start codes of a stream are looked at for a layer.
const HEADERS_CHECKED: usize = 64;

/// Whether a stream begins with the headers of a layer.
pub(crate) fn recognises(head: &[u8]) -> bool {
    let values = start_code::parts(head).filter_map(|part| part.first().copied()).take(HEADERS_CHECKED);
    values.take_while(|&value| is_header(value)).any(is_layer) && nal_detection::codec_of(head).is_none()
}

/// Reads one access unit after the other.
#[derive(Debug)]
pub(crate) struct Reader {
    /// `visual_object_verid`.
    version: u32,
    layer: Option<VideoObjectLayer>,
    /// A B-VOP has come in this layer, whatever its header promised.
    has_b: bool,
    references: ReferenceTracker<u64>,
    clock: VopClock,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            version: headers::DEFAULT_VERSION,
            layer: None,
            has_b: false,
            references: ReferenceTracker::default(),
            clock: VopClock::default(),
        }
    }
}

/// What is gathered of one unit. More than one VOP in it is what some encoders do (packed B-VOPs): the first that is
/// coded gives its name to the unit, which refers to what any of them refers to.
#[derive(Default)]
struct Gathered {
    group: Option<GopHeader>,
    first: Option<Vop>,
    references: BTreeSet<u64>,
    missing: bool,
    referenced: bool,
    error: Option<AccessUnitError>,
    bad_layer: Option<BadField>,
}

#[derive(Clone, Copy)]
struct Vop {
    kind: PictureType,
    coded: bool,
    time: i64,
    leading: bool,
}

impl UnitReader for Reader {
    /// Takes the headers above the VOPs, as they stand at the start of a stream.
    fn configure(&mut self, codec_data: &[u8]) -> Result<(), AccessUnitError> {
        let mut layer = Err(BadField { name: "video object layer", value: None });
        for part in start_code::parts(codec_data) {
            if let Some(read) = self.take_header(part) {
                layer = read;
            }
        }
        layer.map_err(|BadField { name, value }| {
            let value = value.map_or("absent or cut off".to_owned(), |value| value.to_string());
            AccessUnitError::bad_configuration(format!("{name} is {value}"))
        })
    }

    /// Reads the next unit.
    fn read(&mut self, number: u64, unit: &[u8]) -> Result<AccessUnit, AccessUnitError> {
        let mut gathered = Gathered::default();
        for part in start_code::parts(unit) {
            match part.split_first() {
                Some((&value::GROUP_OF_VOP, payload)) => self.take_group(number, payload, &mut gathered),
                Some((&value::VOP, payload)) => self.take_vop(number, payload, &mut gathered),
                _ => {
                    // A layer that cannot be read leaves the one before in force.
                    let read = self.take_header(part);
                    gathered.bad_layer = read.map_or(gathered.bad_layer, Result::err);
                }
            }
        }
        match (gathered.first, gathered.error.take()) {
            (Some(first), _) => Ok(self.unit(number, first, gathered)),
            (None, Some(error)) => Err(error),
            (None, None) => Err(AccessUnitError::NoPicture { number, length: unit.len() }),
        }
    }

    /// Forgets every unit. The layer stays in force.
    fn reset(&mut self) {
        let Self { version, layer, has_b, .. } = *self;
        *self = Self { version, layer, has_b, ..Self::default() };
    }
}

impl Reader {
    /// Takes a part if it is a header that all VOPs share, and says what became of a layer.
    fn take_header(&mut self, part: &[u8]) -> Option<Result<(), BadField>> {
        let (&value, payload) = part.split_first()?;
        match value {
            value::VISUAL_OBJECT => {
                self.version = headers::visual_object_version(payload).unwrap_or(headers::DEFAULT_VERSION);
                None
            }
            value::VIDEO_OBJECT_LAYER_FIRST..=value::VIDEO_OBJECT_LAYER_LAST => {
                let read = VideoObjectLayer::parse(payload, self.version);
                Some(read.map(|layer| {
                    self.has_b &= self.layer == Some(layer);
                    self.layer = Some(layer);
                }))
            }
            _ => None,
        }
    }

    fn take_group(&mut self, number: u64, payload: &[u8], gathered: &mut Gathered) {
        match headers::group_of_vop(payload) {
            Ok(group) => {
                self.clock.begin_group(group.time_code);
                gathered.group = Some(group);
            }
            Err(field) => _ = gathered.error.get_or_insert(AccessUnitError::bad_header(number, field)),
        }
    }

    fn take_vop(&mut self, number: u64, payload: &[u8], gathered: &mut Gathered) {
        let Some(layer) = self.layer else {
            gathered.error.get_or_insert(match gathered.bad_layer {
                Some(field) => AccessUnitError::bad_header(number, field),
                None => AccessUnitError::MissingParameterSet { number, parameter_set: "video object layer", id: 0 },
            });
            return;
        };
        let header = match VopHeader::parse(payload, layer) {
            Ok(header) => header,
            Err(field) => {
                gathered.error.get_or_insert(AccessUnitError::bad_header(number, field));
                return;
            }
        };
        // One that is not coded repeats the VOP before it (6.3.5), whatever its type; others may take their time from
        // it, so that it counts as an anchor.
        let kind = match header.kind {
            PictureType::I if !header.coded => PictureType::P,
            kind => kind,
        };
        self.has_b |= kind == PictureType::B;
        // The group is that of the first VOP after its header.
        let group = gathered.group.filter(|_| gathered.first.is_none());
        let referral = self.references.of(number, kind, group);
        let vop = Vop {
            kind,
            coded: header.coded,
            time: self.clock.time_of(header, layer.resolution),
            leading: referral.leading,
        };
        if kind == PictureType::I && gathered.first.is_some_and(|first| !first.coded) {
            // The one that it is shown instead of is no part of the frame, nor is what that repeats.
            (gathered.references, gathered.missing) = Default::default();
        }
        gathered.references.extend(referral.references.into_iter().filter(|&other| other != number));
        gathered.missing |= referral.missing;
        gathered.referenced |= kind != PictureType::B;
        gathered.first = gathered.first.filter(|first| first.coded || !vop.coded).or(Some(vop));
    }

    fn unit(&self, number: u64, first: Vop, gathered: Gathered) -> AccessUnit {
        let has_no_b = self.layer.is_some_and(|layer| layer.low_delay) && !self.has_b;
        let key = key_kind(first.kind, gathered.group).map(|key| match key {
            KeyKind::Open if has_no_b => KeyKind::Closed,
            _ => key,
        });
        AccessUnit {
            number,
            part: FramePart::Whole,
            kind: first.kind,
            key,
            leading: first.leading,
            referenced: gathered.referenced,
            temporal_layer: 0,
            references: gathered.references.into_iter().collect(),
            missing_reference: gathered.missing,
            display_order: Some(first.time),
            picture_order: None,
            recovery: Recovery::default(),
            gop_header: gathered.group,
        }
    }
}
