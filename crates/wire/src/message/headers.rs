use std::fmt::Write;

/// Header fields, in their order; names do not distinguish upper and lower case (RFC 9110, section 5.1; RFC 2326, section 4.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// The value of the first field of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The values of all fields of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// True where a list of this name has the word (RFC 9110, section 5.6.1), in upper or lower case.
    pub(crate) fn has_word(&self, name: &str, word: &str) -> bool {
        self.all(name).flat_map(|value| value.split(',')).any(|own| own.trim().eq_ignore_ascii_case(word))
    }

    /// The same with one field more. Line breaks in it, which would begin another field, become spaces.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.push(name.to_owned(), value.into());
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn push(&mut self, name: String, value: String) {
        self.0.push((name, in_one_line(&value)));
    }

    /// Adds to the value of the last field: a line that begins with a space goes on where the one before it ended.
    pub(super) fn extend_last(&mut self, more: &str) -> bool {
        let Some((_, value)) = self.0.last_mut() else { return false };
        if !value.is_empty() && !more.is_empty() {
            value.push(' ');
        }
        value.push_str(&in_one_line(more));
        true
    }

    /// The fields, the length of a body that there is, and the empty line.
    pub(super) fn emit(&self, body: &[u8], out: &mut String) {
        for (name, value) in &self.0 {
            write!(out, "{name}: {value}\r\n").expect("invariant: a string takes all");
        }
        if !body.is_empty() {
            write!(out, "Content-Length: {}\r\n", body.len()).expect("invariant: a string takes all");
        }
        out.push_str("\r\n");
    }
}

/// Text without line breaks, which would begin another field.
fn in_one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}
