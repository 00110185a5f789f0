use super::authentication::Cookie;
use super::error::{PacketError, check_length, check_reserved};
use super::header::{HEADER_LENGTH, Header, PacketType};

/// Bytes of a request and of a start, without authentication. Both are padded to it, so that no answer to an address
/// that has proved nothing is longer than what was sent in its name (RFC 9000, section 8.1, has the same rule).
pub(crate) const OPENING_LENGTH: usize = 1_200;

/// Bytes of a cookie.
pub(crate) const COOKIE_LENGTH: usize = 16;

const COOKIE_AT: usize = 0;
const LENGTH_AT: usize = COOKIE_AT + COOKIE_LENGTH;
const TITLE_AT: usize = LENGTH_AT + 1;

/// The name of a movie: at most 255 bytes of UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Title(String);

impl Title {
    /// A title, or `None` when it is longer than 255 bytes.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (text.len() <= usize::from(u8::MAX)).then_some(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The client asks for a movie: once on each of the two sockets, so that each address proves itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The session that is to be; drawn by the client at random.
    pub session: u64,
    /// The movie.
    pub title: Title,
}

impl Request {
    pub(super) fn parse(header: &Header, body: &[u8]) -> Result<Self, PacketError> {
        let (cookie, title) = parse_body("request", body)?;
        check_reserved(u64::from(cookie.iter().any(|&byte| byte != 0)))?;
        Ok(Self { session: header.session, title })
    }

    /// Appends the packet to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(PacketType::Request, self.session, &[0; COOKIE_LENGTH], &self.title, out);
    }
}

/// The client returns the cookie that came to the address it sends this from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The session.
    pub session: u64,
    /// The movie, as in the request: the server has remembered nothing of it.
    pub title: Title,
    /// The cookie of the description.
    pub cookie: Cookie,
}

impl Start {
    pub(super) fn parse(header: &Header, body: &[u8]) -> Result<Self, PacketError> {
        let (cookie, title) = parse_body("start", body)?;
        Ok(Self { session: header.session, title, cookie: Cookie(cookie) })
    }

    /// Appends the packet to `out`.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(PacketType::Start, self.session, &self.cookie.0, &self.title, out);
    }
}

fn parse_body(packet: &'static str, body: &[u8]) -> Result<([u8; COOKIE_LENGTH], Title), PacketError> {
    check_length(packet, HEADER_LENGTH + body.len(), OPENING_LENGTH)?;
    let mut cookie = [0; COOKIE_LENGTH];
    cookie.copy_from_slice(&body[COOKIE_AT..LENGTH_AT]);
    let (title, padding) = body[TITLE_AT..].split_at(usize::from(body[LENGTH_AT]));
    check_reserved(u64::from(padding.iter().any(|&byte| byte != 0)))?;
    let title = std::str::from_utf8(title).map_err(|_| PacketError::Title)?;
    Ok((cookie, Title(title.to_owned())))
}

fn emit(packet_type: PacketType, session: u64, cookie: &[u8; COOKIE_LENGTH], title: &Title, out: &mut Vec<u8>) {
    let begin = out.len();
    Header::plain(packet_type, session, 0).emit(out);
    out.extend(cookie);
    out.push(title.0.len() as u8);
    out.extend(title.0.as_bytes());
    out.resize(begin + OPENING_LENGTH, 0);
}
