//! How a receiver calls itself where it asks a server, so that a server of framewire knows which of its answers is whose.

use std::fmt;

/// The product, as it stands before its version (RFC 9110, section 10.1.5).
const PRODUCT: &str = "framewire";

/// What a receiver asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asking {
    /// To see what is there: it leaves as soon as it knows.
    Look,
    /// For a stream that it records, by a number of 64 bits that it drew.
    Stream(u64),
}

impl Asking {
    /// What a client asks for by what it calls itself; `None` of other programs.
    pub(crate) fn of(user_agent: &str) -> Option<Self> {
        let rest = user_agent.strip_prefix(PRODUCT)?.strip_prefix('/')?;
        let (_, comment) = rest.strip_suffix(')')?.split_once(" (")?;
        if comment == "look" {
            return Some(Self::Look);
        }
        let number = comment.strip_prefix("stream ").filter(|number| number.len() == 16)?;
        u64::from_str_radix(number, 16).ok().map(Self::Stream)
    }
}

impl fmt::Display for Asking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = env!("CARGO_PKG_VERSION");
        match self {
            Self::Look => write!(f, "{PRODUCT}/{version} (look)"),
            Self::Stream(number) => write!(f, "{PRODUCT}/{version} (stream {number:016x})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood_and_other_programs_say_nothing() {
        for asking in [Asking::Look, Asking::Stream(0), Asking::Stream(0x1f), Asking::Stream(u64::MAX)] {
            assert_eq!(Asking::of(&asking.to_string()), Some(asking));
        }
        assert_eq!(Asking::of("framewire/9.9 (stream 000000000000001f)"), Some(Asking::Stream(0x1f)), "later versions");
        for other in [
            "",
            "framewire",
            "framewire/0.1.0",
            "Lavf/59.27.100",
            "framewire/0.1.0 (stream 1f)",
            "framewire/0.1.0 (stream 00000000000000_f)",
            "framewire/0.1.0 (looks)",
            "otherframewire/0.1.0 (look)",
        ] {
            assert_eq!(Asking::of(other), None, "{other}");
        }
    }
}
