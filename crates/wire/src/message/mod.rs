//! Messages as HTTP has them (RFC 9112), and RTSP after it (RFC 2326, section 4): a line that says what it is, fields, and a body.
//!
//! What differs between the two is the [`Version`], which every message has, and how a body is told from what follows.

mod answered;
mod headers;
mod scan;
mod status;

use std::fmt;

pub use answered::{Answered, Asked};
pub use headers::Headers;
pub(crate) use scan::{Head, HeaderScanner, can_be_asked_for, decimal, field_in, unescaped};
pub use scan::{MOST_FIELDS, MOST_HEADER_BYTES};
pub use status::Status;

/// A version of a protocol whose messages are such: which it is stands in the first line of every message.
pub trait Version: Copy + Default + Eq + fmt::Debug {
    /// The protocol: `RTSP`.
    const PROTOCOL: &'static str;
    /// The version that is spoken, as it is written.
    const SPOKEN: &'static str;
    /// True where the name of a field may have spaces before its colon, as HTTP once allowed and now
    /// forbids (RFC 9112, section 5.1).
    const SPACES_BEFORE_COLON: bool;

    /// The version of this text; `None` where it is not spoken.
    fn parse(text: &str) -> Option<Self>;

    /// How it is written.
    fn as_str(self) -> &'static str;
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<V> {
    /// The version in which it is made.
    pub version: V,
    /// Its method, as it is written: the set is open.
    pub method: String,
    /// What it is about: a URL, a path, or `*`.
    pub uri: String,
    /// Its fields, without Content-Length where they were read.
    pub headers: Headers,
    /// What follows them, where that is kept with it.
    pub body: Vec<u8>,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response<V> {
    /// The version in which it is made.
    pub version: V,
    /// Its code.
    pub status: Status,
    /// Its fields, without Content-Length where they were read.
    pub headers: Headers,
    /// What follows them, where that is kept with it.
    pub body: Vec<u8>,
}

/// Bytes that are no such messages: what follows them is not known, and the connection is to be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The first line is neither of a request nor of a response of this protocol.
    #[error("neither a request nor a response of {0}: {1:?}")]
    StartLine(&'static str, String),
    /// A version other than this one.
    #[error("version {1:?}: {0} is spoken")]
    Version(&'static str, String),
    /// A field without a name, or text that is no UTF-8.
    #[error("not a field of a header: {0:?}")]
    Field(String),
    /// Content-Length is no number, or there are several.
    #[error("Content-Length: {0:?}")]
    Length(String),
    /// What says how long the body is cannot be understood, or says two things.
    #[error("Transfer-Encoding: {0:?}")]
    Coding(String),
    /// The other end closed the connection before all of a message had come.
    #[error("the connection was closed within a message")]
    CutOff,
    /// The first line alone is longer than a header that is taken: its URL is.
    #[error("bytes of the first line: more than {0}")]
    FirstLine(usize),
    /// More than is taken.
    #[error("{what}: more than {most}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much is taken.
        most: usize,
    },
}

impl<V: Version> Request<V> {
    /// A request without a body.
    pub fn new(method: &str, uri: &str) -> Self {
        let (method, uri, version) = (method.to_owned(), uri.to_owned(), V::default());
        Self { version, method, uri, headers: Headers::default(), body: Vec::new() }
    }

    /// The same with one field more.
    #[must_use]
    pub fn with(self, name: &str, value: impl Into<String>) -> Self {
        Self { headers: self.headers.with(name, value), ..self }
    }

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let mut text = format!("{} {} {}\r\n", self.method, self.uri, self.version.as_str());
        self.headers.emit(&self.body, &mut text);
        [text.as_bytes(), &self.body].concat()
    }
}

impl<V: Version> Response<V> {
    /// A response without a body.
    pub fn new(status: Status) -> Self {
        Self { version: V::default(), status, headers: Headers::default(), body: Vec::new() }
    }

    /// The same with one field more.
    #[must_use]
    pub fn with(self, name: &str, value: impl Into<String>) -> Self {
        Self { headers: self.headers.with(name, value), ..self }
    }

    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        let Status(code) = self.status;
        // The only phrase in which the protocol stands.
        let of = if self.status == Status::VERSION_NOT_SUPPORTED { V::PROTOCOL } else { "" };
        let space = if of.is_empty() { "" } else { " " };
        let mut text = format!("{} {code} {of}{space}{}\r\n", self.version.as_str(), self.status.reason());
        self.headers.emit(&self.body, &mut text);
        [text.as_bytes(), &self.body].concat()
    }
}
