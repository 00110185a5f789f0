//! From payloads to frames: whether a frame of which something may be missing has its beginning.

use super::access_unit::is_picture_coding_extension;
use super::header::{CodingType, HeaderView};
use crate::rtp_payload::Joiner;
use crate::start_code::{self, EXTENSION, GROUP, PICTURE, SEQUENCE_HEADER, start_codes};

/// Joins payloads behind their MPEG video-specific headers.
#[derive(Clone, Debug)]
pub(super) struct VideoJoiner {
    habit: HeaderHabit,
}

/// Whether this sender puts the sequence and group headers of a frame into the packet of its picture header. It must,
/// or must not, depending on the stream (RFC 2250, section 3.1: a picture header may follow a group header only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderHabit {
    Unknown,
    /// It has sent an I frame with nothing before the picture header, and never a sequence or group header.
    Bare,
    Together,
    /// It has at least once put them into a packet of their own.
    Apart,
}

impl Default for VideoJoiner {
    fn default() -> Self {
        Self { habit: HeaderHabit::Unknown }
    }
}

impl Joiner for VideoJoiner {
    fn open<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], String> {
        HeaderView::new(payload).map(|view| view.video()).map_err(|error| error.to_string())
    }

    fn begin(&mut self, video: &[u8], is_first: bool) -> bool {
        let Some(header) = first_header(video) else { return false };
        if matches!(header, SEQUENCE_HEADER | GROUP) {
            let together = start_codes(video).any(|(_, code)| code == PICTURE);
            self.habit = match self.habit {
                HeaderHabit::Unknown | HeaderHabit::Bare | HeaderHabit::Together if together => HeaderHabit::Together,
                _ => HeaderHabit::Apart,
            };
        } else if is_first && self.habit == HeaderHabit::Unknown {
            let picture = start_codes(video).find(|&(_, code)| code == PICTURE);
            if picture.and_then(|(offset, _)| coding_type(&video[offset..])) == Some(CodingType::I) {
                self.habit = HeaderHabit::Bare;
            }
        }
        true
    }

    /// A sequence header can only be a beginning. Before a group or picture header more headers may have been in a
    /// packet of their own, by the sender's habit; not before a B picture (ISO/IEC 13818-2, 6.1.1.6 and 6.3.8), and
    /// hardly before a P picture of a sender never seen to do that, or before any picture of one seen to send I
    /// frames without headers only. A field picture may be the second one of its frame, unless another one follows.
    fn has_beginning(&self, bytes: &[u8]) -> bool {
        let mut pictures = start_codes(bytes).filter(|&(_, code)| code == PICTURE);
        let kind = pictures.next().and_then(|(offset, _)| coding_type(&bytes[offset..]));
        let is_pair = pictures.next().is_some();
        let headers_may_be_missing = match (first_header(bytes), self.habit) {
            (Some(SEQUENCE_HEADER), _) => return true,
            (Some(GROUP | PICTURE), HeaderHabit::Together) | (Some(PICTURE), HeaderHabit::Bare) => false,
            (Some(PICTURE), HeaderHabit::Unknown) => !matches!(kind, Some(CodingType::P | CodingType::B)),
            (Some(PICTURE), HeaderHabit::Apart) => kind != Some(CodingType::B),
            _ => true,
        };
        !headers_may_be_missing && (is_pair || !is_field_picture(bytes))
    }
}

/// `picture_coding_type` of a picture header (ISO/IEC 13818-2, 6.2.3).
fn coding_type(picture_header: &[u8]) -> Option<CodingType> {
    CodingType::from_code(picture_header.get(start_code::LENGTH + 1)? >> 3 & 7)
}

/// The code of the sequence, group or picture header that `video` starts with, behind zero bytes or not.
fn first_header(video: &[u8]) -> Option<u8> {
    let zeros = video.iter().take_while(|&&byte| byte == 0).count();
    match video[zeros..] {
        [1, code @ (SEQUENCE_HEADER | GROUP | PICTURE), ..] if zeros >= 2 => Some(code),
        _ => None,
    }
}

/// Whether the first picture coding extension says that its picture is a field (`picture_structure`, ISO/IEC
/// 13818-2, table 6-14).
fn is_field_picture(frame: &[u8]) -> bool {
    const FRAME_PICTURE: u8 = 3;
    start_codes(frame)
        .take_while(|&(_, code)| !start_code::is_slice(code))
        .find(|&(offset, code)| code == EXTENSION && is_picture_coding_extension(&frame[offset..]))
        .and_then(|(offset, _)| frame.get(offset + start_code::LENGTH + 2))
        .is_some_and(|byte| byte & 3 != FRAME_PICTURE)
}
