//! What an elementary stream of a program is (table 2-34).

/// A stream that is carried; others are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamType {
    /// MPEG-1 video (ISO/IEC 11172-2).
    Mpeg1Video,
    /// MPEG-2 video (ISO/IEC 13818-2).
    Mpeg2Video,
    /// MPEG-1 audio (ISO/IEC 11172-3).
    Mpeg1Audio,
    /// MPEG-2 audio (ISO/IEC 13818-3).
    Mpeg2Audio,
    /// AAC behind ADTS headers (ISO/IEC 13818-7).
    AacAdts,
    /// MPEG-4 part 2 visual (ISO/IEC 14496-2).
    Mpeg4Part2,
    /// H.264 (ISO/IEC 14496-10).
    H264,
    /// H.265 (ISO/IEC 23008-2).
    H265,
}

impl StreamType {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Mpeg1Video,
        Self::Mpeg2Video,
        Self::Mpeg1Audio,
        Self::Mpeg2Audio,
        Self::AacAdts,
        Self::Mpeg4Part2,
        Self::H264,
        Self::H265,
    ];

    /// Its number in program map tables.
    pub const fn code(self) -> u8 {
        match self {
            Self::Mpeg1Video => 0x01,
            Self::Mpeg2Video => 0x02,
            Self::Mpeg1Audio => 0x03,
            Self::Mpeg2Audio => 0x04,
            Self::AacAdts => 0x0F,
            Self::Mpeg4Part2 => 0x10,
            Self::H264 => 0x1B,
            Self::H265 => 0x24,
        }
    }

    /// The one of this number.
    pub(crate) fn of_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.code() == code)
    }

    /// True for video.
    pub const fn is_video(self) -> bool {
        !matches!(self, Self::Mpeg1Audio | Self::Mpeg2Audio | Self::AacAdts)
    }
}
