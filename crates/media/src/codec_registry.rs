//! What each codec is: a line here, a name in `codec`, and an entry in the folder of each.

use std::fmt;

use crate::codec::Codec;
use crate::profile::Profile;

macro_rules! registry {
    ($($codec:ident, $profile:path;)+) => {
        impl Codec {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$codec),+];

            pub(crate) const fn profile(self) -> &'static Profile {
                match self { $(Self::$codec => &$profile),+ }
            }
        }
    };
}

registry! {
    MpegVideo, crate::access_unit::mpeg_video::PROFILE;
    Mpeg4Part2, crate::mpeg4::PROFILE;
    H264, crate::h264::PROFILE;
    H265, crate::h265::PROFILE;
    Av1, crate::av1::PROFILE;
    MotionJpeg, crate::mjpeg::PROFILE;
}

impl Codec {
    /// Those whose elementary streams are movies, in words.
    pub(crate) fn of_movies() -> String {
        let names =
            Self::ALL.iter().filter(|codec| codec.profile().scanner.is_some()).map(|codec| codec.profile().name);
        let names: Vec<&str> = names.collect();
        let (last, others) = names.split_last().expect("invariant: there are some");
        format!("{} or {last}", others.join(", "))
    }

    /// The one that FFmpeg calls so.
    pub fn of_ffmpeg(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|codec| codec.profile().ffmpeg_names.contains(&name))
    }

    /// The one that the beginning of a byte stream shows; `None` of MPEG video, which is what is left.
    pub(crate) fn of_stream(head: &[u8]) -> Option<Self> {
        // What looks like a start code may stand anywhere in a stream that has none.
        let (with, without): (Vec<Self>, Vec<Self>) = Self::ALL.iter().partition(|codec| codec.has_start_codes());
        without.into_iter().chain(with).find(|codec| (codec.profile().recognises)(head))
    }

    /// The one that a four-character code of an AVI file stands for, in either case.
    pub(crate) fn of_four_characters(code: [u8; 4]) -> Option<Self> {
        let code = code.map(|character| character.to_ascii_uppercase());
        Self::ALL.iter().copied().find(|codec| codec.profile().four_character_codes.contains(&&code))
    }

    /// The one of this number in a streaming file.
    pub(crate) fn of_streaming_file(code: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|codec| codec.profile().streaming_file_code == code)
    }

    /// Suffix of a file with an elementary stream of it, without the dot, as FFmpeg's readers know it.
    pub fn file_suffix(self) -> &'static str {
        self.profile().file_suffix
    }

    /// FFmpeg's name of files with an elementary stream of it, as its option `-f` takes it.
    pub fn ffmpeg_format(self) -> &'static str {
        self.profile().ffmpeg_format
    }

    /// The element of GStreamer that parses it.
    pub fn gstreamer_parser(self) -> &'static str {
        self.profile().gstreamer_parser
    }

    /// What GStreamer calls a byte stream of it: caps of one structure. `mpeg2` distinguishes MPEG-2 video from MPEG-1.
    pub fn gstreamer_caps(self, mpeg2: bool) -> &'static str {
        (self.profile().gstreamer_caps)(mpeg2)
    }

    /// Whether units of it may stand behind their lengths ([`Framing::LengthPrefixed`](crate::access_unit::Framing::LengthPrefixed)).
    pub(crate) fn may_have_lengths(self) -> bool {
        self.profile().may_have_lengths
    }

    /// Whether its byte streams have start codes.
    pub fn has_start_codes(self) -> bool {
        self.profile().holds_picture_data.is_some()
    }

    /// Of what stands between two start codes: true for what a frame cannot be decoded intact without, picture headers and
    /// slices; false for headers that may be repeated or left out on the way (sequence headers, parameter sets, delimiters,
    /// supplemental enhancement information), and of a codec without start codes.
    pub fn holds_picture_data(self, unit: &[u8]) -> bool {
        self.profile().holds_picture_data.is_some_and(|holds| holds(unit))
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.profile().name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_tells_codecs_apart_belongs_to_one_of_them() {
        let mut seen = BTreeSet::new();
        for &codec in Codec::ALL {
            let profile = codec.profile();
            assert!(profile.streaming_file_code > 0, "{codec}: 0 is none");
            assert!(seen.insert(format!("code {}", profile.streaming_file_code)), "{codec}");
            assert!(seen.insert(format!("suffix {}", profile.file_suffix)), "{codec}");
            assert!(seen.insert(format!("name {}", profile.name)), "{codec}");
            for name in profile.ffmpeg_names {
                assert!(seen.insert(format!("FFmpeg {name}")), "{codec}");
                assert_eq!(Codec::of_ffmpeg(name), Some(codec));
            }
            for code in profile.four_character_codes {
                assert_eq!(Codec::of_four_characters(code.map(|letter| letter.to_ascii_lowercase())), Some(codec));
            }
            assert_eq!(Codec::of_streaming_file(profile.streaming_file_code), Some(codec));
            assert_eq!(profile.holds_sequence.is_some(), codec.has_start_codes());
        }
        assert_eq!((Codec::of_ffmpeg("theora"), Codec::of_four_characters(*b"THEO")), (None, None));
        assert_eq!(Codec::of_streaming_file(0), None);
        assert!(Codec::of_movies().starts_with("MPEG video, MPEG-4 part 2, H.264, "), "{}", Codec::of_movies());
    }
}
