//! What is noted of a request and its answer.

use super::{Request, Status, Version};

/// Letters that are noted of each text of a request: who asks decides how long it is.
const MOST_NOTED: usize = 256;

/// Who asked for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// The target as it was said, with escapes.
    pub target: String,
    /// What the client calls itself (RFC 9110, section 10.1.5; RFC 2326, section 12.41).
    pub user_agent: Option<String>,
}

/// What a request was answered with that nothing is sent behind: one that was refused, or that asked for no more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// What was asked for; `None` where that made no sense, or did not come to its end.
    pub asked: Option<Asked>,
    /// The answer.
    pub status: Status,
}

impl Asked {
    pub(crate) fn of<V: Version>(request: &Request<V>) -> Self {
        Self {
            method: noted(&request.method),
            target: noted(&request.uri),
            user_agent: request.headers.get("User-Agent").map(noted),
        }
    }
}

/// The beginning of a text, without what a terminal would take for a command.
fn noted(text: &str) -> String {
    text.chars().take(MOST_NOTED).map(|c| if c.is_control() { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::HttpVersion;

    #[test]
    fn what_is_noted_is_short_and_no_command_of_a_terminal() {
        let request = Request::<HttpVersion>::new("GET", &"/ä".repeat(200)).with("User-Agent", "a\u{9b}1m\u{1b}b");
        let asked = Asked::of(&request);
        assert_eq!((asked.method.as_str(), asked.target.chars().count()), ("GET", 256));
        assert_eq!(asked.user_agent.as_deref(), Some("a?1m?b"));
        assert_eq!(Asked::of(&Request::<HttpVersion>::new("GET", "/")).user_agent, None);
    }
}
