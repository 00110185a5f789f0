use bytes::{Buf, Bytes, BytesMut};

use super::message::{Headers, Request, Response, Status, VERSION};

/// What begins a frame of binary data between messages (RFC 2326, section 10.12).
const DOLLAR: u8 = b'$';

/// Its header: the dollar sign, the channel, and the length in two bytes.
const FRAME_HEADER: usize = 4;

/// Of one message, the most bytes of start line and fields that are taken: descriptions and credentials have hundreds.
pub const MOST_HEADER_BYTES: usize = 16 * 1_024;

/// The most fields.
pub const MOST_FIELDS: usize = 100;

/// The most bytes of a body: descriptions have a few thousand.
pub const MOST_BODY_BYTES: usize = 256 * 1_024;

/// What comes on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A request of the other end.
    Request(Request),
    /// A response to a request.
    Response(Response),
    /// A packet of RTP or RTCP between messages.
    Interleaved {
        /// Its channel, as it was agreed upon in SETUP.
        channel: u8,
        /// The packet.
        packet: Bytes,
    },
}

/// Bytes that are no RTSP: what follows them is not known, and the connection is to be closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RtspError {
    /// The first line is neither of a request nor of a response.
    #[error("neither a request nor a response of RTSP: {0:?}")]
    StartLine(String),
    /// A version other than 1.0.
    #[error("version {0:?}: RTSP/1.0 is spoken")]
    Version(String),
    /// A field without a name, or text that is no UTF-8.
    #[error("not a field of a header: {0:?}")]
    Field(String),
    /// Content-Length is no number, or there are several.
    #[error("Content-Length: {0:?}")]
    Length(String),
    /// More than is taken.
    #[error("{what}: more than {most}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much is taken.
        most: usize,
    },
}

/// Takes a stream of bytes apart into messages and interleaved packets.
///
/// Hand in bytes with [`feed`](Self::feed), however they are cut, and drain [`poll`](Self::poll) after each. After an error it
/// gives nothing more. What it holds is bounded: less than a message or frame, as long as it is drained.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    buffer: BytesMut,
    /// Up to here there is no end of the header.
    searched: usize,
    broken: bool,
}

/// Appends a packet as a frame between messages (RFC 2326, section 10.12).
///
/// # Panics
/// When the packet is longer than 65,535 bytes, which none over IP is.
pub fn put_interleaved(channel: u8, packet: &[u8], out: &mut Vec<u8>) {
    let length = u16::try_from(packet.len()).expect("invariant: a packet of RTP fits into one of IP");
    out.extend([DOLLAR, channel]);
    out.extend(length.to_be_bytes());
    out.extend(packet);
}

impl Reader {
    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        if !self.broken {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The next message or frame that is there whole.
    ///
    /// # Errors
    /// When the bytes are no RTSP, or more than is taken.
    pub fn poll(&mut self) -> Result<Option<Item>, RtspError> {
        let item = if self.broken { Ok(None) } else { self.take() };
        if item.is_err() {
            self.broken = true;
            self.buffer.clear();
        }
        item
    }

    /// Bytes of what is not there whole.
    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn take(&mut self) -> Result<Option<Item>, RtspError> {
        // Empty lines before a message are passed over (RFC 2326, section 4.1 with RFC 2068, section 4.1).
        let empty = self.buffer.iter().take_while(|&&byte| matches!(byte, b'\r' | b'\n')).count();
        if empty > 0 {
            self.buffer.advance(empty);
            self.searched = 0;
        }
        match self.buffer.first() {
            None => Ok(None),
            Some(&DOLLAR) => Ok(self.take_frame()),
            Some(_) => self.take_message(),
        }
    }

    fn take_frame(&mut self) -> Option<Item> {
        let &[_, channel, high, low] = self.buffer.first_chunk::<FRAME_HEADER>()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if self.buffer.len() < FRAME_HEADER + length {
            return None;
        }
        self.buffer.advance(FRAME_HEADER);
        Some(Item::Interleaved { channel, packet: self.buffer.split_to(length).freeze() })
    }

    fn take_message(&mut self) -> Result<Option<Item>, RtspError> {
        let too_much = |what, most| RtspError::TooMuch { what, most };
        let from = self.searched.saturating_sub(3);
        let Some(length) = end_of_header(&self.buffer, from) else {
            self.searched = self.buffer.len();
            return if self.buffer.len() > MOST_HEADER_BYTES {
                Err(too_much("bytes of a header", MOST_HEADER_BYTES))
            } else {
                Ok(None)
            };
        };
        if length > MOST_HEADER_BYTES {
            return Err(too_much("bytes of a header", MOST_HEADER_BYTES));
        }
        let (item, body) = parse(&self.buffer[..length])?;
        if self.buffer.len() < length + body {
            // The header is read again when its body is there, which is bounded as well.
            self.searched = length.saturating_sub(4);
            return Ok(None);
        }
        self.buffer.advance(length);
        self.searched = 0;
        let body = self.buffer.split_to(body).to_vec();
        Ok(Some(match item {
            Item::Request(request) => Item::Request(Request { body, ..request }),
            Item::Response(response) => Item::Response(Response { body, ..response }),
            other => other,
        }))
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

/// A message without its body, and how long that is.
fn parse(header: &[u8]) -> Result<(Item, usize), RtspError> {
    let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
    let text = std::str::from_utf8(header).map_err(|_| RtspError::Field(shown(header)))?;
    let mut lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    let mut headers = Headers::default();
    let mut length = None;
    for line in lines.take_while(|line| !line.is_empty()) {
        if headers.len() >= MOST_FIELDS {
            return Err(RtspError::TooMuch { what: "fields of a header", most: MOST_FIELDS });
        }
        let bad = || RtspError::Field(shown(line.as_bytes()));
        if line.starts_with([' ', '\t']) {
            if !headers.extend_last(line.trim()) {
                return Err(bad());
            }
            continue;
        }
        let (name, value) = line.split_once(':').ok_or_else(bad)?;
        let (name, value) = (name.trim_end(), value.trim());
        if !is_token(name) {
            return Err(bad());
        }
        if name.eq_ignore_ascii_case("Content-Length") {
            let number = value.bytes().all(|byte| byte.is_ascii_digit()).then(|| value.parse().ok()).flatten();
            let number: usize = number.ok_or_else(|| RtspError::Length(shown(value.as_bytes())))?;
            if length.replace(number).is_some_and(|before| before != number) {
                return Err(RtspError::Length(shown(value.as_bytes())));
            }
            continue;
        }
        headers.push(name.to_owned(), value.to_owned());
    }
    let length = length.unwrap_or(0);
    if length > MOST_BODY_BYTES {
        return Err(RtspError::TooMuch { what: "bytes of a body", most: MOST_BODY_BYTES });
    }
    Ok((start(first, headers, &shown(first.as_bytes()))?, length))
}

fn start(line: &str, headers: Headers, shown: &str) -> Result<Item, RtspError> {
    let bad = || RtspError::StartLine(shown.to_owned());
    let mut words = line.splitn(3, ' ');
    let (first, second, third) = (words.next().unwrap_or_default(), words.next().ok_or_else(bad)?, words.next());
    if first.starts_with("RTSP/") {
        if first != VERSION {
            return Err(RtspError::Version(shown.to_owned()));
        }
        let is_code = second.len() == 3 && second.bytes().all(|byte| byte.is_ascii_digit());
        let code: Option<u16> = is_code.then(|| second.parse().ok()).flatten();
        let code = code.filter(|&code| code >= 100).ok_or_else(bad)?;
        return Ok(Item::Response(Response { status: Status(code), headers, body: Vec::new() }));
    }
    let version = third.ok_or_else(bad)?;
    let is_url = !second.is_empty() && !second.contains(|c: char| c.is_control() || c.is_whitespace());
    if !is_token(first) || !is_url {
        return Err(bad());
    }
    if version != VERSION {
        return Err(if version.starts_with("RTSP/") { RtspError::Version(shown.to_owned()) } else { bad() });
    }
    Ok(Item::Request(Request { method: first.to_owned(), uri: second.to_owned(), headers, body: Vec::new() }))
}

/// A name as methods and fields have it (RFC 2326, section 15.1: token).
fn is_token(text: &str) -> bool {
    let separators = b"()<>@,;:\\\"/[]?={} \t";
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !separators.contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(bytes: &[u8]) -> Result<Vec<Item>, RtspError> {
        let mut reader = Reader::default();
        reader.feed(bytes);
        let mut items = Vec::new();
        while let Some(item) = reader.poll()? {
            items.push(item);
        }
        Ok(items)
    }

    #[test]
    fn the_example_of_the_document_is_read() {
        // RFC 2326, section 10.12, in the form in which it goes over the connection.
        let text = "SETUP rtsp://foo.com/bar.file RTSP/1.0\r\nCSeq: 2\r\n\
                    Transport: RTP/AVP/TCP;interleaved=0-1\r\n\r\n\
                    RTSP/1.0 200 OK\r\nCSeq: 2\r\nDate: 05 Jun 1997 18:57:18 GMT\r\n\
                    Transport: RTP/AVP/TCP;interleaved=0-1\r\nSession: 12345678\r\n\r\n$\0\0\x03abc$\x01\0\0";
        let items = read(text.as_bytes()).unwrap();
        let [Item::Request(request), Item::Response(response), one, none] = &items[..] else { panic!("{items:?}") };
        assert_eq!((request.method.as_str(), request.uri.as_str()), ("SETUP", "rtsp://foo.com/bar.file"));
        assert_eq!(request.headers.get("transport"), Some("RTP/AVP/TCP;interleaved=0-1"));
        assert_eq!((response.status, response.headers.get("SESSION")), (Status::OK, Some("12345678")));
        assert_eq!(*one, Item::Interleaved { channel: 0, packet: Bytes::from_static(b"abc") });
        assert_eq!(*none, Item::Interleaved { channel: 1, packet: Bytes::new() });
    }

    #[test]
    fn lines_may_end_with_a_line_feed_alone_and_go_on_in_the_next() {
        let text =
            "\r\n\nOPTIONS * RTSP/1.0\nCSeq:1\r\nX-Long: one,\r\n  two\nX-Late:\n \n three\nContent-length: 2\n\nab";
        let items = read(text.as_bytes()).unwrap();
        let [Item::Request(request)] = &items[..] else { panic!("{items:?}") };
        assert_eq!(request.headers.get("x-long"), Some("one, two"));
        assert_eq!(request.headers.get("x-late"), Some("three"));
        assert_eq!((request.headers.get("cseq"), &request.body[..]), (Some("1"), &b"ab"[..]));
    }

    #[test]
    fn what_is_no_rtsp_is_refused_by_what_is_wrong_with_it() {
        let refused = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert_eq!(refused("GET / HTTP/1.1\r\n\r\n"), "neither a request nor a response of RTSP: \"GET / HTTP/1.1\"");
        assert_eq!(refused("OPTIONS * RTSP/2.0\r\n\r\n"), "version \"OPTIONS * RTSP/2.0\": RTSP/1.0 is spoken");
        assert_eq!(refused("RTSP/2.0 200 OK\r\n\r\n"), "version \"RTSP/2.0 200 OK\": RTSP/1.0 is spoken");
        assert!(refused("RTSP/1.0 20 OK\r\n\r\n").starts_with("neither"));
        assert!(refused("RTSP/1.0 020 OK\r\n\r\n").starts_with("neither"));
        assert_eq!(refused("OPTIONS * RTSP/1.0\r\nno colon\r\n\r\n"), "not a field of a header: \"no colon\"");
        assert!(refused("OPTIONS * RTSP/1.0\r\n goes on\r\n\r\n").starts_with("not a field"));
        for length in ["-1", "x", "+5", "1\r\nContent-Length: 2", "99999999999999999999999"] {
            let message = refused(&format!("OPTIONS * RTSP/1.0\r\nContent-Length: {length}\r\n\r\n"));
            assert!(message.starts_with("Content-Length: "), "{message}");
        }
    }

    #[test]
    fn what_is_held_is_bounded() {
        let endless = "OPTIONS * RTSP/1.0\r\n".to_owned() + &"X: y\r\n".repeat(3_000);
        assert_eq!(read(endless.as_bytes()).unwrap_err().to_string(), "bytes of a header: more than 16384");
        let many = "OPTIONS * RTSP/1.0\r\n".to_owned() + &"X: y\r\n".repeat(101) + "\r\n";
        assert_eq!(read(many.as_bytes()).unwrap_err().to_string(), "fields of a header: more than 100");
        let large = "OPTIONS * RTSP/1.0\r\nContent-Length: 262145\r\n\r\n";
        assert_eq!(read(large.as_bytes()).unwrap_err().to_string(), "bytes of a body: more than 262144");
        let mut reader = Reader::default();
        reader.feed(b"nonsense\r\n\r\n");
        assert!(reader.poll().is_err());
        reader.feed(&[0; 1_000]);
        assert_eq!((reader.poll(), reader.buffered()), (Ok(None), 0), "after an error it takes nothing");
    }

    fn text() -> impl Strategy<Value = String> {
        "[A-Za-z0-9=;,./ ]{0,30}".prop_map(|text| text.trim().to_owned())
    }

    fn headers() -> impl Strategy<Value = Headers> {
        let field = ("[A-Z][A-Za-z-]{0,12}", text());
        let is_own = |name: &str| !name.eq_ignore_ascii_case("Content-Length");
        prop::collection::vec(field, 0..8).prop_map(move |fields| {
            fields
                .iter()
                .filter(|(name, _)| is_own(name))
                .fold(Headers::default(), |headers, (name, value)| headers.with(name, value.clone()))
        })
    }

    fn item() -> impl Strategy<Value = Item> {
        let body = prop::collection::vec(any::<u8>(), 0..100);
        let request = ("[A-Z_]{1,12}", "[!-~]{1,40}", headers(), body.clone())
            .prop_map(|(method, uri, headers, body)| Item::Request(Request { method, uri, headers, body }));
        let response = (100u16..1_000, headers(), body.clone())
            .prop_map(|(code, headers, body)| Item::Response(Response { status: Status(code), headers, body }));
        let frame =
            (any::<u8>(), body).prop_map(|(channel, packet)| Item::Interleaved { channel, packet: packet.into() });
        prop_oneof![request, response, frame]
    }

    fn emit(item: &Item, out: &mut Vec<u8>) {
        match item {
            Item::Request(request) => out.extend(request.emit()),
            Item::Response(response) => out.extend(response.emit()),
            Item::Interleaved { channel, packet } => put_interleaved(*channel, packet, out),
        }
    }

    proptest! {
        #[test]
        fn messages_and_packets_come_out_as_they_went_in_however_the_stream_is_cut(
            items in prop::collection::vec(item(), 0..12),
            cuts in prop::collection::vec(1usize..200, 1..30),
        ) {
            let mut stream = Vec::new();
            items.iter().for_each(|item| emit(item, &mut stream));
            let (mut reader, mut read, mut cuts) = (Reader::default(), Vec::new(), cuts.into_iter().cycle());
            let mut rest = &stream[..];
            while !rest.is_empty() {
                let (piece, more) = rest.split_at(cuts.next().unwrap().min(rest.len()));
                reader.feed(piece);
                rest = more;
                while let Some(item) = reader.poll().unwrap() {
                    read.push(item);
                }
            }
            prop_assert_eq!(read, items);
            prop_assert_eq!(reader.buffered(), 0);
        }
    }
}
