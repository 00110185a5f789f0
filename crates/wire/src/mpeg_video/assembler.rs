//! From packets in order to frames: where a frame starts and ends, and whether it is whole.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use bytes::{Bytes, BytesMut};
use framewire_units::{DataSize, Timestamp};

use super::access_unit::is_picture_coding_extension;
use super::header::CodingType;
use crate::start_code::{self, EXTENSION, GROUP, PICTURE, SEQUENCE_HEADER, start_codes};

/// One frame as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// RTP time stamp.
    pub rtp_timestamp: u32,
    /// True when the frame is whole.
    pub complete: bool,
    /// The access unit as it was sent; empty when not complete.
    pub bytes: Bytes,
    /// Extended sequence numbers of the first and the last packet of it that arrived.
    pub sequences: RangeInclusive<u64>,
    /// Extended sequence numbers from the first to the last packet that is known to be missing and belongs, or may
    /// belong, to this frame; packets in between may have arrived. A frame can be incomplete without: when its end
    /// was never seen, when the stream was joined in its middle, or when it was too large.
    pub missing: Option<RangeInclusive<u64>>,
    /// When the first of its packets to arrive did.
    pub first_arrival: Timestamp,
    /// When the last of its packets to arrive did.
    pub last_arrival: Timestamp,
}

/// What the assembler needs of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment<'a> {
    pub timestamp: u32,
    pub marker: bool,
    pub arrived_at: Timestamp,
    pub video: &'a [u8],
}

/// How sure it is that a frame's first packet is the first one that was sent of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Nothing is missing before it.
    Known,
    /// Something is missing before it: its bytes must show it.
    AfterLoss,
    /// It does not start with a header.
    Missing,
}

/// Puts packets, in order and with gaps reported, together to frames.
#[derive(Debug)]
pub(crate) struct Assembler {
    largest_frame: usize,
    frame: Option<OpenFrame>,
    /// Memory for the bytes of the open frame.
    bytes: BytesMut,
    /// Nothing is missing before the next packet.
    contiguous: bool,
    /// This sender marks the last packet of a frame (RFC 2250, section 3.3); one marker shows it.
    marks_ends: bool,
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

#[derive(Debug)]
struct OpenFrame {
    timestamp: u32,
    start: Start,
    whole: bool,
    sequences: RangeInclusive<u64>,
    /// What is missing directly before the first packet.
    missing_before: Option<RangeInclusive<u64>>,
    /// What is missing after it.
    missing: Option<RangeInclusive<u64>>,
    first_arrival: Timestamp,
    last_arrival: Timestamp,
}

impl Assembler {
    /// With `from_first_packet`, the first packet added is the first one sent unless a loss is reported before it.
    pub(super) fn new(largest_frame: DataSize, from_first_packet: bool) -> Self {
        Self {
            largest_frame: usize::try_from(largest_frame.as_bytes()).unwrap_or(usize::MAX),
            frame: None,
            bytes: BytesMut::new(),
            contiguous: from_first_packet,
            marks_ends: false,
            habit: HeaderHabit::Unknown,
        }
    }

    /// Adds the next packet; `lost` are the sequence numbers directly before it that were given up.
    ///
    /// FFmpeg sends packets without video where a slice is larger than a packet: they belong to their frame, but
    /// begin none.
    pub(super) fn add(
        &mut self,
        sequence: u64,
        fragment: &Fragment<'_>,
        lost: Option<RangeInclusive<u64>>,
        ready: &mut VecDeque<ReceivedFrame>,
    ) {
        self.contiguous &= lost.is_none();
        let mut lost = lost;
        if self.frame.as_ref().is_some_and(|frame| frame.timestamp != fragment.timestamp) {
            ready.extend(self.end_frame(lost.clone()));
            // Its end was not seen and was lost: where one packet is lost, that was it, and none before this frame.
            if self.marks_ends && lost.as_ref().is_some_and(|lost| lost.start() == lost.end()) {
                self.contiguous = true;
                lost = None;
            }
        }
        if self.frame.is_none() && fragment.video.is_empty() {
            return;
        }
        if self.frame.is_none() {
            self.begin_frame(sequence, fragment, lost);
        } else if let Some(lost) = lost {
            self.note_missing(lost);
        }
        self.append(sequence, fragment);
        self.contiguous = true;
        if fragment.marker {
            self.marks_ends = true;
            ready.extend(self.end_frame(None));
        }
    }

    /// Ends the open frame, if there is one, without having seen its end.
    pub(super) fn abandon(&mut self) -> Option<ReceivedFrame> {
        self.contiguous = false;
        self.frame.as_mut()?.whole = false;
        self.end_frame(None)
    }

    fn begin_frame(&mut self, sequence: u64, fragment: &Fragment<'_>, lost: Option<RangeInclusive<u64>>) {
        let first_header = first_header(fragment.video);
        let start = match first_header {
            None => Start::Missing,
            Some(_) if self.contiguous => Start::Known,
            Some(_) => Start::AfterLoss,
        };
        if matches!(first_header, Some(SEQUENCE_HEADER | GROUP)) {
            let together = start_codes(fragment.video).any(|(_, code)| code == PICTURE);
            self.habit = match self.habit {
                HeaderHabit::Unknown | HeaderHabit::Bare | HeaderHabit::Together if together => HeaderHabit::Together,
                _ => HeaderHabit::Apart,
            };
        } else if start == Start::Known && self.habit == HeaderHabit::Unknown {
            let picture = start_codes(fragment.video).find(|&(_, code)| code == PICTURE);
            if picture.and_then(|(offset, _)| coding_type(&fragment.video[offset..])) == Some(CodingType::I) {
                self.habit = HeaderHabit::Bare;
            }
        }
        self.bytes.clear();
        self.frame = Some(OpenFrame {
            timestamp: fragment.timestamp,
            start,
            whole: start != Start::Missing,
            sequences: sequence..=sequence,
            missing_before: lost,
            missing: None,
            first_arrival: fragment.arrived_at,
            last_arrival: fragment.arrived_at,
        });
    }

    fn note_missing(&mut self, lost: RangeInclusive<u64>) {
        let Some(frame) = &mut self.frame else { return };
        frame.whole = false;
        frame.missing = span(frame.missing.take(), Some(lost));
    }

    fn append(&mut self, sequence: u64, fragment: &Fragment<'_>) {
        let Some(frame) = &mut self.frame else { return };
        frame.sequences = *frame.sequences.start()..=sequence;
        frame.first_arrival = frame.first_arrival.min(fragment.arrived_at);
        frame.last_arrival = frame.last_arrival.max(fragment.arrived_at);
        frame.whole &= fragment.video.len() <= self.largest_frame - self.bytes.len().min(self.largest_frame);
        if frame.whole {
            self.bytes.extend_from_slice(fragment.video);
        }
    }

    /// Ends the open frame; `lost` is what is missing between its last packet and the next one that arrived.
    fn end_frame(&mut self, lost: Option<RangeInclusive<u64>>) -> Option<ReceivedFrame> {
        if let Some(lost) = lost {
            self.note_missing(lost);
        }
        let frame = self.frame.take()?;
        let has_start = frame.start == Start::Known || (frame.start == Start::AfterLoss && self.starts_with_itself());
        let complete = frame.whole && has_start;
        let missing_before = if has_start { None } else { frame.missing_before };
        Some(ReceivedFrame {
            rtp_timestamp: frame.timestamp,
            complete,
            bytes: if complete { self.bytes.split().freeze() } else { Bytes::new() },
            sequences: frame.sequences,
            missing: span(missing_before, frame.missing),
            first_arrival: frame.first_arrival,
            last_arrival: frame.last_arrival,
        })
    }

    /// Whether the open frame, before which something is missing, has its beginning all the same.
    ///
    /// A sequence header can only be a beginning. Before a group or picture header more headers may have been in a
    /// packet of their own, by the sender's habit; not before a B picture (ISO/IEC 13818-2, 6.1.1.6 and 6.3.8), and
    /// hardly before a P picture of a sender never seen to do that, or before any picture of one seen to send I
    /// frames without headers only. A field picture may be the second one of its frame, unless another one follows.
    /// The bytes are those up to the first packet missing inside, if one is.
    fn starts_with_itself(&self) -> bool {
        let mut pictures = start_codes(&self.bytes).filter(|&(_, code)| code == PICTURE);
        let kind = pictures.next().and_then(|(offset, _)| coding_type(&self.bytes[offset..]));
        let is_pair = pictures.next().is_some();
        let headers_may_be_missing = match (first_header(&self.bytes), self.habit) {
            (Some(SEQUENCE_HEADER), _) => return true,
            (Some(GROUP | PICTURE), HeaderHabit::Together) | (Some(PICTURE), HeaderHabit::Bare) => false,
            (Some(PICTURE), HeaderHabit::Unknown) => !matches!(kind, Some(CodingType::P | CodingType::B)),
            (Some(PICTURE), HeaderHabit::Apart) => kind != Some(CodingType::B),
            _ => true,
        };
        !headers_may_be_missing && (is_pair || !is_field_picture(&self.bytes))
    }
}

/// `picture_coding_type` of a picture header (ISO/IEC 13818-2, 6.2.3).
fn coding_type(picture_header: &[u8]) -> Option<CodingType> {
    CodingType::from_code(picture_header.get(start_code::LENGTH + 1)? >> 3 & 7)
}

/// From the start of the earlier range to the end of the later one.
fn span(earlier: Option<RangeInclusive<u64>>, later: Option<RangeInclusive<u64>>) -> Option<RangeInclusive<u64>> {
    match (earlier, later) {
        (Some(earlier), Some(later)) => Some(*earlier.start()..=*later.end()),
        (earlier, later) => earlier.or(later),
    }
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
