//! What the lab fills into the commands of the user's applications.

use crate::names::keywords;

keywords! {
    /// Something that a command is given: written as its name in braces.
    Placeholder {
        /// The movie's file: its elementary stream as the lab sends it.
        Movie = "movie",
        /// The file that `movie.source` names, as it is: a container with its time stamps, for instance.
        Source = "source",
        /// Address of the receiver's host.
        Receiver = "receiver",
        /// Address of the sender's host.
        Sender = "sender",
        /// Address of the host that the application runs on.
        Address = "address",
        /// The flow's port at the end that listens; the next one up is the flow's too (RTCP: RFC 3550, section 11).
        Port = "port",
        /// Length of the movie in seconds.
        Duration = "duration",
        /// The movie's frame rate as a fraction, for instance `25/1`.
        FrameRate = "frame_rate",
        /// GStreamer's parser for the movie's codec, for instance `h264parse`.
        Parser = "parser",
        /// GStreamer's caps of the movie's elementary stream as it is in the file.
        Caps = "caps",
    }
}

/// A word of a command, with placeholders in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Value(Placeholder),
}

impl Template {
    /// Reads a word. A name of small letters and `_` in braces is a placeholder, and in double braces stands for itself
    /// in single ones; any other brace is text. The error is the placeholder that does not exist.
    pub(crate) fn parse(word: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = word;
        while let Some(start) = rest.find('{') {
            let (before, from_brace) = rest.split_at(start);
            text.push_str(before);
            rest = match (doubled(from_brace), named(from_brace)) {
                (Some(name), _) => {
                    text.push_str(&format!("{{{name}}}"));
                    &from_brace[name.len() + 4..]
                }
                (None, Some(name)) => {
                    let known = Placeholder::ALL.iter().find(|placeholder| placeholder.as_str() == name);
                    let &placeholder = known.ok_or_else(|| format!("{{{name}}}"))?;
                    parts.extend([Part::Text(std::mem::take(&mut text)), Part::Value(placeholder)]);
                    &from_brace[name.len() + 2..]
                }
                (None, None) => {
                    text.push('{');
                    &from_brace[1..]
                }
            };
        }
        text.push_str(rest);
        parts.push(Part::Text(text));
        Ok(Self { parts })
    }

    /// The word with `value` in the place of each placeholder.
    pub(crate) fn fill(&self, value: impl Fn(Placeholder) -> String) -> String {
        let filled = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.clone(),
            Part::Value(placeholder) => value(*placeholder),
        });
        filled.collect()
    }

    pub(crate) fn mentions(&self, placeholder: Placeholder) -> bool {
        self.placeholders().any(|mentioned| mentioned == placeholder)
    }

    pub(crate) fn placeholders(&self) -> impl Iterator<Item = Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value(placeholder) => Some(*placeholder),
        })
    }
}

/// The name in `{name}` at the start of `text`.
fn named(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('{')?.split_once('}')?;
    let fits = |c: char| c.is_ascii_lowercase() || c == '_';
    (!name.is_empty() && name.chars().all(fits)).then_some(name)
}

/// The name in `{{name}}` at the start of `text`.
fn doubled(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?;
    let name = named(inner)?;
    inner[name.len() + 2..].starts_with('}').then_some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn filled(word: &str) -> String {
        Template::parse(word).unwrap().fill(|placeholder| format!("<{placeholder}>"))
    }

    #[test]
    fn placeholders_are_filled_in_and_other_braces_stay() {
        assert_eq!(filled("tcp://{receiver}:{port}"), "tcp://<receiver>:<port>");
        assert_eq!(filled("format={ I420, NV12 }"), "format={ I420, NV12 }");
        assert_eq!(filled("%{{localtime}} {{port}}{port}"), "%{localtime} {port}<port>");
        assert_eq!(filled("{ {movie}"), "{ <movie>");
        assert_eq!(filled("{}{{}}"), "{}{{}}");
        assert_eq!(Template::parse("a {localtime}").unwrap_err(), "{localtime}");
    }

    proptest! {
        #[test]
        fn any_word_is_read_without_harm(word in "[{}a-z_ é]{0,40}") {
            if let Ok(template) = Template::parse(&word) {
                let braces = |text: &str| text.chars().filter(|&c| c == '{').count();
                prop_assert!(braces(&template.fill(|_| String::new())) <= braces(&word));
            }
        }
    }
}
