//! What a file is when it is not MPEG video: for an error that helps.

use std::fmt;

/// A format that is often mistaken for an MPEG video elementary stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherFormat {
    /// MP4, MOV and relatives (ISO/IEC 14496-12).
    Mp4,
    /// Matroska or WebM.
    Matroska,
    /// AVI.
    Avi,
    /// Flash video.
    Flv,
    /// Ogg.
    Ogg,
    /// MPEG-2 transport stream (ISO/IEC 13818-1).
    TransportStream,
    /// MPEG program stream (ISO/IEC 13818-1, ISO/IEC 11172-1).
    ProgramStream,
    /// H.264 byte stream (ITU-T H.264, annex B).
    H264,
    /// H.265 byte stream (ITU-T H.265, annex B).
    H265,
    /// MPEG-4 part 2 video (ISO/IEC 14496-2).
    Mpeg4Part2,
}

impl OtherFormat {
    /// Whether MPEG video could start like this after all: a stream that was cut before a slice looks like H.264. Of streams
    /// that are carried it is what is left when their headers are not there. The others may hold MPEG video inside, which must
    /// not be taken for the stream itself.
    pub(crate) fn is_only_a_guess(self) -> bool {
        matches!(self, Self::H264 | Self::H265 | Self::Mpeg4Part2)
    }
}

impl fmt::Display for OtherFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mp4 => "an MP4 or MOV file",
            Self::Matroska => "a Matroska or WebM file",
            Self::Avi => "an AVI file",
            Self::Flv => "a Flash video file",
            Self::Ogg => "an Ogg file",
            Self::TransportStream => "an MPEG transport stream",
            Self::ProgramStream => "an MPEG program stream",
            Self::H264 => "an H.264 byte stream",
            Self::H265 => "an H.265 byte stream",
            Self::Mpeg4Part2 => "MPEG-4 part 2 video",
        })
    }
}

/// Formats with fixed bytes at a fixed place.
const MAGIC: [(OtherFormat, usize, &[u8]); 6] = [
    (OtherFormat::Mp4, 4, b"ftyp"),
    (OtherFormat::Mp4, 4, b"moov"),
    (OtherFormat::Matroska, 0, &[0x1a, 0x45, 0xdf, 0xa3]),
    (OtherFormat::Avi, 0, b"RIFF"),
    (OtherFormat::Flv, 0, b"FLV\x01"),
    (OtherFormat::Ogg, 0, b"OggS"),
];

/// Sizes of transport packets, and where the sync byte stands in each: plain, and with an arrival time stamp.
const TRANSPORT_PACKETS: [(usize, usize); 2] = [(188, 0), (192, 4)];
const TRANSPORT_SYNC: u8 = 0x47;
const TRANSPORT_PACKETS_CHECKED: usize = 4;

/// Recognises other formats by the first bytes of a file: what it is, and the byte offset that identifies it.
/// `None` for anything unknown, and for MPEG video.
pub fn identify(head: &[u8]) -> Option<(OtherFormat, u64)> {
    let magic = MAGIC.iter().find(|(_, at, magic)| head.get(*at..).is_some_and(|rest| rest.starts_with(magic)));
    if let Some((format, at, _)) = magic {
        return Some((*format, *at as u64));
    }
    let transport = TRANSPORT_PACKETS.iter().find(|(size, at)| {
        let checked = head.iter().skip(*at).step_by(*size).take(TRANSPORT_PACKETS_CHECKED);
        checked.clone().count() >= 2 && checked.copied().all(|byte| byte == TRANSPORT_SYNC)
    });
    match transport {
        Some((_, at)) => Some((OtherFormat::TransportStream, *at as u64)),
        None => identify_by_start_code(head),
    }
}

/// Streams whose first start code, at the very beginning, cannot begin MPEG video.
fn identify_by_start_code(head: &[u8]) -> Option<(OtherFormat, u64)> {
    let zeros = head.iter().take_while(|&&byte| byte == 0).count();
    let code = head.get(zeros..)?;
    if zeros < 2 || code.first() != Some(&1) {
        return None;
    }
    let at = zeros as u64 - 2;
    let (&value, after) = code.get(1..)?.split_first()?;
    let format = match value {
        // Pack header (ISO/IEC 13818-1, 2.5.3.4).
        0xba => OtherFormat::ProgramStream,
        // visual_object_sequence_start_code (ISO/IEC 14496-2, table 6-3).
        0xb0 => OtherFormat::Mpeg4Part2,
        // VPS, SPS, PPS, access unit delimiter, SEI, and IDR and CRA slices (ITU-T H.265, table 7-1): two header bytes, layer 0.
        0x40 | 0x42 | 0x44 | 0x46 | 0x4e | 0x26 | 0x28 | 0x2a if after.first() == Some(&1) => OtherFormat::H265,
        // SPS, PPS, SEI, access unit delimiter, IDR slice (ITU-T H.264, table 7-1).
        _ if value & 0x80 == 0 && matches!(value & 0x1f, 5..=9) => OtherFormat::H264,
        _ => return None,
    };
    Some((format, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_named() {
        let mut transport = vec![0xff; 188 * 3];
        transport.iter_mut().step_by(188).for_each(|byte| *byte = 0x47);
        let cases: [(&[u8], OtherFormat, u64); 9] = [
            (b"\0\0\0\x20ftypisom", OtherFormat::Mp4, 4),
            (b"\x1a\x45\xdf\xa3\x01", OtherFormat::Matroska, 0),
            (b"\0\0\0\x01\x67\x42\x00", OtherFormat::H264, 1),
            (b"\0\0\x01\x09\xf0", OtherFormat::H264, 0),
            (b"\0\0\0\x01\x40\x01\x0c", OtherFormat::H265, 1),
            (b"\0\0\x01\x4e\x01\x05", OtherFormat::H265, 0),
            (b"\0\0\x01\xb0\x01", OtherFormat::Mpeg4Part2, 0),
            (b"\0\0\x01\xba\x44", OtherFormat::ProgramStream, 0),
            (&transport, OtherFormat::TransportStream, 0),
        ];
        for (head, format, at) in cases {
            assert_eq!(identify(head), Some((format, at)));
        }
    }

    #[test]
    fn mpeg_video_and_the_unknown_are_not_named() {
        let heads: [&[u8]; 7] =
            [b"", b"\0", b"\0\0\x01", b"\0\0\x01\xb3\x2d", b"\0\0\x01\x00\x00", b"\0\0\x01\x01\x12", b"hello"];
        for head in heads {
            assert_eq!(identify(head), None, "{head:?}");
        }
    }
}
