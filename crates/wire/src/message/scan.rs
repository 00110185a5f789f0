use bytes::{Buf, Bytes, BytesMut};

use super::{Headers, MessageError, Request, Response, Status, Version};

/// Of one message, the most bytes of start line and fields that are taken: descriptions and credentials have hundreds.
pub const MOST_HEADER_BYTES: usize = 16 * 1_024;

/// The most fields.
pub const MOST_FIELDS: usize = 100;

/// What begins a message: its first line and fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Head<V> {
    Request(Request<V>),
    Response(Response<V>),
}

/// Bytes of a connection that were not taken yet, and where the header of a message ends in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderScanner {
    buffer: BytesMut,
    /// Up to here there is no end of the header.
    searched: usize,
}

impl HeaderScanner {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// What is there.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
        self.searched = 0;
    }

    /// Takes the first so many bytes, which are there.
    pub(crate) fn take(&mut self, length: usize) -> Bytes {
        self.searched = 0;
        self.buffer.split_to(length).freeze()
    }

    /// Passes over empty lines before a message (RFC 9112, section 2.2; RFC 2068, section 4.1, of RTSP).
    pub(crate) fn skip_empty_lines(&mut self) {
        let empty = self.buffer.iter().take_while(|&&byte| matches!(byte, b'\r' | b'\n')).count();
        if empty > 0 {
            self.buffer.advance(empty);
            self.searched = 0;
        }
    }

    /// How many bytes the header has that begins here, with its empty line; `None` while that is not there.
    pub(crate) fn header_length(&mut self) -> Result<Option<usize>, MessageError> {
        let length = end_of_header(&self.buffer, self.searched.saturating_sub(3));
        // It is found again at once where the header is looked at again, as when its body is waited for.
        self.searched = length.map_or(self.buffer.len(), |length| length.saturating_sub(4));
        if length.unwrap_or(self.buffer.len()) > MOST_HEADER_BYTES {
            return Err(match memchr::memchr(b'\n', &self.buffer[..MOST_HEADER_BYTES]) {
                Some(_) => MessageError::TooMuch { what: "bytes of a header", most: MOST_HEADER_BYTES },
                None => MessageError::FirstLine(MOST_HEADER_BYTES),
            });
        }
        Ok(length)
    }
}

/// Where the empty line ends that ends a header; lines end with CR LF, or with LF alone.
fn end_of_header(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = memchr::memchr(b'\n', bytes.get(at..)?) {
        at += found + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// The value of a field of a header, as far as it is there, whatever stands beside it.
pub(crate) fn field_in<'a>(header: &'a [u8], name: &str) -> Option<&'a str> {
    let lines = header[..header.len().min(MOST_HEADER_BYTES)].split(|&byte| byte == b'\n');
    let mut lines = lines.take_while(|line| !matches!(line, [] | [b'\r'])).skip(1);
    lines.find_map(|line| {
        let (found, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
        found.trim_end().eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned()
}

impl<V: Version> Head<V> {
    /// A message without its body, and its Content-Length.
    pub(crate) fn parse(header: &[u8]) -> Result<(Self, Option<u64>), MessageError> {
        let text = std::str::from_utf8(header).map_err(|_| MessageError::Field(shown(header)))?;
        let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        let first = lines.next().unwrap_or_default();
        let (headers, length) = fields::<V>(lines)?;
        Ok((Self::begin(first, headers)?, length))
    }

    fn begin(line: &str, headers: Headers) -> Result<Self, MessageError> {
        let shown = || shown(line.as_bytes());
        let bad = || MessageError::StartLine(V::PROTOCOL, shown());
        let is_version = |text: &str| text.split_once('/').is_some_and(|(protocol, _)| protocol == V::PROTOCOL);
        let version = |text: &str| {
            V::parse(text).ok_or_else(|| match is_version(text) {
                true => MessageError::Version(V::SPOKEN, shown()),
                false => bad(),
            })
        };
        let mut words = line.splitn(3, ' ');
        let (first, second, third) = (words.next().unwrap_or_default(), words.next().ok_or_else(bad)?, words.next());
        if is_version(first) {
            let version = version(first)?;
            let is_code = second.len() == 3 && second.bytes().all(|byte| byte.is_ascii_digit());
            let code: Option<u16> = is_code.then(|| second.parse().ok()).flatten();
            let code = code.filter(|&code| code >= 100).ok_or_else(bad)?;
            return Ok(Self::Response(Response { version, status: Status(code), headers, body: Vec::new() }));
        }
        let third = third.ok_or_else(bad)?;
        if !is_token(first) || !can_be_asked_for(second) {
            return Err(bad());
        }
        let (method, uri, body) = (first.to_owned(), second.to_owned(), Vec::new());
        Ok(Self::Request(Request { version: version(third)?, method, uri, headers, body }))
    }
}

/// Whether a URL can stand in the first line of a request, which words and lines end: RFC 3986 has neither spaces nor controls.
pub(crate) fn can_be_asked_for(url: &str) -> bool {
    !url.is_empty() && !url.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// The fields up to the empty line, and Content-Length, which is not left among them.
fn fields<'a, V: Version>(lines: impl Iterator<Item = &'a str>) -> Result<(Headers, Option<u64>), MessageError> {
    let (mut headers, mut length) = (Headers::default(), None);
    let mut went_on = false;
    for line in lines.take_while(|line| !line.is_empty()) {
        if headers.len() >= MOST_FIELDS {
            return Err(MessageError::TooMuch { what: "fields of a header", most: MOST_FIELDS });
        }
        let bad = || MessageError::Field(shown(line.as_bytes()));
        if line.starts_with([' ', '\t']) {
            // Content-Length does not go on in another line.
            if !went_on || !headers.extend_last(line.trim()) {
                return Err(bad());
            }
            continue;
        }
        let (name, value) = line.split_once(':').ok_or_else(bad)?;
        let (name, value) = (if V::SPACES_BEFORE_COLON { name.trim_end() } else { name }, value.trim());
        if !is_token(name) {
            return Err(bad());
        }
        went_on = !name.eq_ignore_ascii_case("Content-Length");
        if went_on {
            headers.push(name.to_owned(), value.to_owned());
        } else {
            let wrong = || MessageError::Length(shown(value.as_bytes()));
            let number: u64 = decimal(value).ok_or_else(wrong)?;
            if length.replace(number).is_some_and(|before| before != number) {
                return Err(wrong());
            }
        }
    }
    Ok((headers, length))
}

/// A number that is digits and nothing else.
pub(crate) fn decimal(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A part of a URL without its escapes (RFC 3986, section 2.1); `None` where one is cut off.
pub(crate) fn unescaped(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut decoded) = (text.bytes(), Vec::with_capacity(text.len()));
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                (digit()? << 4 | digit()?) as u8
            }
            byte => byte,
        });
    }
    Some(decoded)
}

/// A name as methods and fields have it (RFC 9110, section 5.6.2; RFC 2326, section 15.1: token).
fn is_token(text: &str) -> bool {
    let separators = b"()<>@,;:\\\"/[]?={} \t";
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !separators.contains(&byte))
}
