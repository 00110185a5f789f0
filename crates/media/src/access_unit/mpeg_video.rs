//! Access units of MPEG-1 and MPEG-2 video. Clauses are those of ISO/IEC 13818-2.

use crate::access_unit::{AccessUnit, AccessUnitError, FramePart};
use crate::bits::BadField;
use crate::headers::{self, CodedPicture, Extension, Parity, PictureCoding, PictureHeader};
use crate::order;
use crate::picture::{GopHeader, PictureType};
use crate::profile::{Profile, UnitReader};
use crate::recovery::Recovery;
use crate::references::{ReferenceTracker, key_kind};
use crate::scanner;
use crate::start_code::{self, value};

/// MPEG-1 and MPEG-2 video.
pub(crate) const PROFILE: Profile = Profile {
    name: "MPEG video",
    file_suffix: "m2v",
    ffmpeg_format: "mpegvideo",
    ffmpeg_names: &["mpeg1video", "mpeg2video"],
    four_character_codes: &[b"MPG2", b"MPG1", b"MPEG"],
    streaming_file_code: 1,
    gstreamer_parser: "mpegvideoparse",
    gstreamer_caps: |mpeg2| match mpeg2 {
        true => "video/mpeg,mpegversion=2,systemstream=false",
        false => "video/mpeg,mpegversion=1,systemstream=false",
    },
    may_have_lengths: false,
    holds_sequence: Some(|unit| unit.first() == Some(&value::SEQUENCE_HEADER)),
    holds_picture_data: Some(holds_picture_data),
    reader: |_| Box::new(Reader::default()),
    scanner: Some(scanner::mpeg_video),
    indexer: || Box::new(order::MpegVideoIndexer::default()),
    recognises: |_| false,
};

/// Table 6-1 of ISO/IEC 13818-2: picture_start_code, slice_start_code; and the picture coding extension, whose identifier
/// is 8 (table 6-2).
fn holds_picture_data(unit: &[u8]) -> bool {
    let Some(&first) = unit.first() else { return false };
    first <= 0xaf || (first == 0xb5 && unit.get(1).is_some_and(|byte| byte >> 4 == 8))
}

/// Reads one frame, or one field picture, after the other.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    references: ReferenceTracker<u64>,
    /// The field picture that the last unit consisted of, when its frame lacks the other, and the number of that unit.
    open_field: Option<(CodedPicture, u64)>,
}

/// The headers of a unit.
#[derive(Default)]
struct Contents {
    starts_group: bool,
    gop: Option<GopHeader>,
    first: Option<CodedPicture>,
    second: Option<CodedPicture>,
    bad_picture: bool,
}

impl Contents {
    fn of(unit: &[u8]) -> Self {
        let mut contents = Self::default();
        for part in start_code::parts(unit) {
            let Some((&value, payload)) = part.split_first() else { continue };
            match value {
                value::SEQUENCE_HEADER => contents.starts_group = true,
                value::GROUP => {
                    contents.starts_group = true;
                    contents.gop = headers::gop_header(payload).or(contents.gop);
                }
                value::PICTURE => contents.take_picture(headers::picture_header(payload)),
                value::EXTENSION => contents.take_extension(payload),
                // Only behind a field can another picture follow; slices are most of a unit.
                value::SLICE_FIRST..=value::SLICE_LAST if contents.is_frame() => break,
                _ => {}
            }
        }
        contents
    }

    fn is_frame(&self) -> bool {
        self.first.is_some_and(|picture| picture.parity == Parity::Frame)
    }

    fn take_picture(&mut self, header: Option<PictureHeader>) {
        let Some(header) = header else {
            self.bad_picture = true;
            return;
        };
        let picture = CodedPicture { header, parity: Parity::Frame };
        match self.first {
            None => self.first = Some(picture),
            Some(_) => self.second = Some(picture),
        }
    }

    fn take_extension(&mut self, payload: &[u8]) {
        if let Some(Extension::PictureCoding(PictureCoding { parity, .. })) = headers::extension(payload)
            && let Some(picture) = self.second.as_mut().or(self.first.as_mut())
        {
            picture.parity = parity;
        }
    }
}

impl UnitReader for Reader {
    /// Headers out of band. Nothing in them is needed; they must be what they are said to be.
    fn configure(&mut self, codec_data: &[u8]) -> Result<(), AccessUnitError> {
        let sequence = start_code::parts(codec_data).find(|part| part.first() == Some(&value::SEQUENCE_HEADER));
        let sequence = sequence.ok_or(BadField { name: "sequence header", value: None });
        match sequence.and_then(|part| headers::sequence_header(&part[1..])) {
            Ok(_) => Ok(()),
            Err(BadField { name, value }) => {
                let value = value.map_or("absent or cut off".to_owned(), |value| value.to_string());
                Err(AccessUnitError::BadConfiguration { reason: format!("{name} is {value}") })
            }
        }
    }

    fn read(&mut self, number: u64, unit: &[u8]) -> Result<AccessUnit, AccessUnitError> {
        let contents = Contents::of(unit);
        let Some(picture) = contents.first else {
            return Err(match contents.bad_picture {
                true => AccessUnitError::BadHeader {
                    number,
                    field: "picture_coding_type",
                    value: "forbidden, reserved or cut off".to_owned(),
                },
                false => AccessUnitError::NoPicture { number, length: unit.len() },
            });
        };
        let kind = picture.header.kind;
        let open_field = self.open_field.take().filter(|_| !contents.starts_group);
        let completed = open_field.filter(|(first, _)| first.is_completed_by(picture)).map(|(_, number)| number);
        let referral = match completed {
            Some(_) => self.references.of_second_field(kind),
            None => self.references.of(number, kind, contents.gop),
        };
        let is_whole = contents.is_frame() || contents.second.is_some_and(|second| picture.is_completed_by(second));
        let part = match completed {
            Some(_) => FramePart::SecondField,
            None if is_whole => FramePart::Whole,
            None => FramePart::FirstField,
        };
        self.open_field = (part == FramePart::FirstField).then_some((picture, number));
        Ok(AccessUnit {
            number: completed.unwrap_or(number),
            part,
            kind,
            key: key_kind(kind, contents.gop).filter(|_| completed.is_none()),
            leading: referral.leading,
            referenced: matches!(kind, PictureType::I | PictureType::P),
            temporal_layer: 0,
            references: referral.references,
            missing_reference: referral.missing,
            display_order: Some(i64::from(picture.header.temporal_reference)),
            picture_order: None,
            recovery: Recovery::default(),
            gop_header: contents.gop,
        })
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

impl Reader {}
