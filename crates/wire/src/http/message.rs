use crate::message::{self, Version};

/// A version of HTTP (RFC 9110, section 2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HttpVersion {
    /// A connection is closed after each message, and bodies are not sent in chunks (RFC 9112, appendix C.2).
    Http10,
    /// That is spoken.
    #[default]
    Http11,
}

/// A request (RFC 9112, section 3).
pub type Request = message::Request<HttpVersion>;

/// A response (RFC 9112, section 4).
pub type Response = message::Response<HttpVersion>;

impl Version for HttpVersion {
    const PROTOCOL: &'static str = "HTTP";
    const SPOKEN: &'static str = "HTTP/1.1";
    const SPACES_BEFORE_COLON: bool = false;

    /// A later minor version is understood as this one (RFC 9110, section 6.2).
    fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("HTTP/1.")?.as_bytes() {
            [b'0'] => Some(Self::Http10),
            [b'1'..=b'9'] => Some(Self::Http11),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => Self::SPOKEN,
        }
    }
}

/// Whether the connection stays open after a message with these fields (RFC 9112, section 9.3).
pub(super) fn stays_open(version: HttpVersion, headers: &message::Headers) -> bool {
    match version {
        _ if headers.has_word("Connection", "close") => false,
        HttpVersion::Http11 => true,
        HttpVersion::Http10 => headers.has_word("Connection", "keep-alive"),
    }
}
