//! How the packets of a frame are spread in time.

use framewire_units::Duration;

use crate::text::Text;

/// When the packets of a frame leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All at once: as soon as the socket takes them.
    None,
    /// Evenly over the time that the frame is shown.
    FrameInterval,
    /// No two packets closer than this.
    Gap(Duration),
}

/// More would not be a stream any more.
const LONGEST_GAP: Duration = Duration::from_secs(1);

impl Text for Spread {
    const PATTERN: &str = r"^(none|frame-interval|\s*[0-9][0-9._]*\s*(s|ms|us|ns)\s*)$";

    fn parse(text: &str) -> Result<Self, String> {
        const ALLOWED: &str = "\"none\", \"frame-interval\" or a time between packets, above 0 s and up to \"1 s\"";
        match (text, <Duration as Text>::parse(text)) {
            ("none", _) => Ok(Self::None),
            ("frame-interval", _) => Ok(Self::FrameInterval),
            (_, Ok(gap)) if !gap.is_zero() && gap <= LONGEST_GAP => Ok(Self::Gap(gap)),
            _ => Err(ALLOWED.to_owned()),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::None => "none".to_owned(),
            Self::FrameInterval => "frame-interval".to_owned(),
            Self::Gap(gap) => gap.show(),
        }
    }
}
