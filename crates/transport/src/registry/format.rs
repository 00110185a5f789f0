//! How frames become bytes. Formats nest: what is in packets of RTP is a format as well.

use std::fmt;
use std::str::FromStr;

use framewire_media::access_unit::Codec;
use framewire_units::Keyword;

use super::parts::Socket;
use super::payload::{carried, carried_by, file_coding, payload_format, stream_type};

/// How frames become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// The frames as they are, one behind the other.
    ElementaryStream,
    /// RTP packets, with this in them.
    Rtp(RtpContent),
    /// An MPEG transport stream of one program (ISO/IEC 13818-1).
    Ts,
    /// An MP4 file whose index stands in front (ISO/IEC 14496-12).
    Mp4,
    /// An MP4 file in fragments, of which each frame is one (8.8 there).
    FragmentedMp4,
}

/// What packets of RTP have in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RtpContent {
    /// Frames, by the payload format of the movie's codec.
    Frames,
    /// Packets of a transport stream (RFC 2250, section 2).
    TransportStream,
}

/// Text that is no format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnknownFormat {
    /// A word of it is none's.
    #[error("not a format; these are: {}", words())]
    Unknown,
    /// One format in another which does not carry it.
    #[error("makes no sense: {0}")]
    Senseless(&'static str),
}

/// Every format with its word, which goes down the stack, and what it means.
const WORDS: [(Format, &str, &str); 6] = [
    (Format::ElementaryStream, "elementary-stream", "The frames as they are, one behind the other."),
    (Format::Rtp(RtpContent::Frames), "rtp", "RTP packets, by the payload format of the movie's codec."),
    (Format::Ts, "ts", "An MPEG transport stream of one program (ISO/IEC 13818-1)."),
    (
        Format::Rtp(RtpContent::TransportStream),
        "ts+rtp",
        "RTP packets with those of a transport stream in them (RFC 2250, section 2).",
    ),
    (Format::Mp4, "mp4", "An MP4 file whose index stands in front (ISO/IEC 14496-12)."),
    (Format::FragmentedMp4, "fmp4", "An MP4 file in fragments, of which each frame is one (ISO/IEC 14496-12, 8.8)."),
];

impl Keyword for Format {
    const NAME: &'static str = "Format";
    const ALL: &'static [Self] = &{
        let mut all = [Self::Ts; WORDS.len()];
        let mut filled = 0;
        while filled < all.len() {
            all[filled] = WORDS[filled].0;
            filled += 1;
        }
        all
    };
    const MEANING: &'static str = "How frames become bytes; a format inside another one stands before it.";

    fn as_str(self) -> &'static str {
        self.row().1
    }

    fn meaning(self) -> &'static str {
        self.row().2
    }
}

impl Format {
    fn row(self) -> &'static (Self, &'static str, &'static str) {
        WORDS.iter().find(|(format, ..)| *format == self).expect("invariant: every format has a word")
    }

    /// This format inside another one.
    ///
    /// # Errors
    /// When that one does not carry it; with the reason.
    pub const fn within(self, outer: Self) -> Result<Self, &'static str> {
        match (self, outer) {
            (Self::Ts, Self::Rtp(RtpContent::Frames)) => Ok(Self::Rtp(RtpContent::TransportStream)),
            (Self::Rtp(_), Self::Rtp(_)) => {
                Err("packets of RTP have frames or a transport stream in them, and no others")
            }
            (Self::ElementaryStream, Self::Rtp(_)) => {
                Err("RTP carries frames by the payload format of their codec: that is format \"rtp\" alone")
            }
            (Self::Mp4 | Self::FragmentedMp4, Self::Rtp(_)) => Err(
                "RTP has no payload format for an MP4 file: frames go in it (\"rtp\"), or a transport stream (\"ts+rtp\")",
            ),
            (_, Self::Rtp(RtpContent::TransportStream)) => Err("what is in RTP already is a transport stream"),
            (_, Self::Ts) => Err("a transport stream carries the frames themselves: format \"ts\" alone"),
            (_, Self::Mp4 | Self::FragmentedMp4) => Err("an MP4 file carries the frames themselves: its format alone"),
            (_, Self::ElementaryStream) => {
                Err("an elementary stream is the frames as they are, and holds nothing else")
            }
        }
    }

    /// What the frames themselves are in.
    pub(super) const fn innermost(self) -> Self {
        match self {
            Self::Rtp(RtpContent::TransportStream) => Self::Ts,
            other => other,
        }
    }

    /// True where packets of RTP are the outermost.
    pub const fn is_rtp(self) -> bool {
        matches!(self, Self::Rtp(_))
    }

    /// True where it has room for sound beside the frames.
    pub(super) const fn has_sound(self) -> bool {
        match self {
            Self::Rtp(_) | Self::Ts | Self::Mp4 | Self::FragmentedMp4 => true,
            Self::ElementaryStream => false,
        }
    }

    /// Whether frames of this codec can be written so.
    pub fn carries(self, codec: Codec) -> bool {
        match self {
            Self::ElementaryStream => true,
            Self::Rtp(RtpContent::Frames) => payload_format(codec).is_some(),
            Self::Rtp(RtpContent::TransportStream) | Self::Ts => stream_type(codec, true).is_some(),
            Self::Mp4 | Self::FragmentedMp4 => file_coding(codec, true).is_some(),
        }
    }

    /// The same for a transport.
    ///
    /// # Errors
    /// When they cannot; with the reason, in which `transport` is the name of the one that was asked for.
    pub fn check_codec(self, transport: &str, codec: Codec) -> Result<(), String> {
        if self.carries(codec) {
            return Ok(());
        }
        let container = match self.innermost() {
            Self::Ts => Some("a transport stream"),
            Self::Mp4 | Self::FragmentedMp4 => Some("an MP4 file"),
            Self::ElementaryStream | Self::Rtp(_) => None,
        };
        if let Some(container) = container {
            let others = match payload_format(codec) {
                Some(_) => ": a transport in RTP (udp, rtp+tcp) or over TCP without a container (tcp) carries it",
                None => "",
            };
            return Err(format!(
                "{transport} sends {container}, which here carries {}; the movie is {codec}{others}",
                carried_by(|codec| self.carries(codec))
            ));
        }
        // What has no payload format here is no codec of a movie's file, and so no other transport is offered for it.
        Err(format!("{transport} sends RTP, which here carries {}; the movie is {codec}", carried()))
    }

    /// What a socket of this kind carries where nothing else is asked for.
    pub const fn default_over(socket: Socket) -> Self {
        match socket {
            Socket::Datagram => Self::Rtp(RtpContent::Frames),
            Socket::Stream => Self::ElementaryStream,
        }
    }
}

/// One word, or several down the stack: `ts`, `ts+rtp`.
impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let of_word = |word: &str| WORDS.iter().find(|(_, known, _)| *known == word).map(|(format, ..)| *format);
        let mut formats = text.split('+').map(of_word);
        let innermost = formats.next().flatten().ok_or(UnknownFormat::Unknown)?;
        formats.try_fold(innermost, |inner, outer| {
            inner.within(outer.ok_or(UnknownFormat::Unknown)?).map_err(UnknownFormat::Senseless)
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

fn words() -> String {
    WORDS.map(|(_, word, _)| word).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_read_back_and_nest_where_the_outer_one_carries_the_inner_one() {
        for &format in <Format as Keyword>::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
            assert!(!format.meaning().is_empty());
        }
        let nested = |inner: Format, outer: Format| inner.within(outer).is_ok();
        let all = <Format as Keyword>::ALL;
        let made: Vec<_> = all
            .iter()
            .flat_map(|&inner| all.iter().map(move |&outer| (inner, outer)))
            .filter(|&(inner, outer)| nested(inner, outer))
            .collect();
        assert_eq!(made, [(Format::Ts, Format::Rtp(RtpContent::Frames))]);
        assert_eq!("ts+rtp".parse::<Format>().map(Format::innermost), Ok(Format::Ts));
        assert_eq!("mp2+rtp".parse::<Format>(), Err(UnknownFormat::Unknown));
        let reason = "fmp4+rtp".parse::<Format>().unwrap_err().to_string();
        assert!(reason.contains("no payload format for an MP4 file"), "{reason}");
    }
}
