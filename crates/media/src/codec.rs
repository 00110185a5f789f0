//! The codecs by name. What each of them is stands in the registry.

/// A video codec whose access units are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Codec {
    /// MPEG-1 or MPEG-2 video (ISO/IEC 11172-2, ISO/IEC 13818-2).
    MpegVideo,
    /// MPEG-4 part 2 visual (ISO/IEC 14496-2).
    Mpeg4Part2,
    /// H.264 (ITU-T H.264, ISO/IEC 14496-10).
    H264,
    /// H.265 (ITU-T H.265, ISO/IEC 23008-2).
    H265,
    /// AV1 (AOMedia AV1 bitstream and decoding process).
    Av1,
    /// Motion JPEG (ITU-T T.81).
    MotionJpeg,
}
