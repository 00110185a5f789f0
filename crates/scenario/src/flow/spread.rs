//! How the packets of a frame are spread in time.

use framewire_transport::Spread;
use framewire_units::Duration;

use crate::text::Text;

/// More would not be a stream any more.
const LONGEST_GAP: Duration = Duration::from_secs(1);

impl Text for Spread {
    const PATTERN: &str = r"^(none|frame-interval|\s*[0-9][0-9._]*\s*(s|ms|us|ns)\s*)$";

    fn parse(text: &str) -> Result<Self, String> {
        const ALLOWED: &str = "\"none\", \"frame-interval\" or a time between packets, above 0 s and up to \"1 s\"";
        match (text, <Duration as Text>::parse(text)) {
            ("none", _) => Ok(Self::AtOnce),
            ("frame-interval", _) => Ok(Self::FrameInterval),
            (_, Ok(gap)) if !gap.is_zero() && gap <= LONGEST_GAP => Ok(Self::Gap(gap)),
            _ => Err(ALLOWED.to_owned()),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::AtOnce => "none".to_owned(),
            Self::FrameInterval => "frame-interval".to_owned(),
            Self::Gap(gap) => gap.show(),
        }
    }
}
