use bytes::{BufMut, Bytes};

use super::message::{Request, Response, Rtsp10};
use crate::message::{Head, HeaderScanner, MessageError, decimal, field_in};

/// What begins a frame of binary data between messages (RFC 2326, section 10.12).
const DOLLAR: u8 = b'$';

/// Its header: the dollar sign, the channel, and the length in two bytes.
pub const FRAME_HEADER: usize = 4;

/// The digits of a number of 64 bits.
const MOST_DIGITS: usize = 20;

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
pub type RtspError = MessageError;

/// Takes a stream of bytes apart into messages and interleaved packets.
///
/// Hand in bytes with [`feed`](Self::feed), however they are cut, and drain [`poll`](Self::poll) after each. After an error it
/// gives nothing more. What it holds is bounded: less than a message or frame, as long as it is drained.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    scanner: HeaderScanner,
    broken: bool,
    /// The number of the message that is refused, where it says one.
    refused: Option<String>,
}

/// Appends a packet as a frame between messages (RFC 2326, section 10.12).
///
/// # Panics
/// When the packet is longer than 65,535 bytes, which none over IP is.
pub fn put_interleaved(channel: u8, packet: &[u8], out: &mut impl BufMut) {
    let length = u16::try_from(packet.len()).expect("invariant: a packet of RTP fits into one of IP");
    out.put_slice(&[DOLLAR, channel]);
    out.put_u16(length);
    out.put_slice(packet);
}

impl Reader {
    /// Takes the next bytes of the stream.
    pub fn feed(&mut self, bytes: &[u8]) {
        if !self.broken {
            self.scanner.feed(bytes);
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
            let number = field_in(self.scanner.bytes(), "CSeq").filter(|number| number.len() <= MOST_DIGITS);
            self.refused = number.filter(|number| decimal(number).is_some()).map(str::to_owned);
            self.scanner.clear();
        }
        item
    }

    /// After an error, the number of the message that is refused (CSeq), where it says one.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Bytes of what is not there whole.
    pub fn buffered(&self) -> usize {
        self.scanner.bytes().len()
    }

    fn take(&mut self) -> Result<Option<Item>, RtspError> {
        self.scanner.skip_empty_lines();
        match self.scanner.bytes().first() {
            None => Ok(None),
            Some(&DOLLAR) => Ok(self.take_frame()),
            Some(_) => self.take_message(),
        }
    }

    fn take_frame(&mut self) -> Option<Item> {
        let &[_, channel, high, low] = self.scanner.bytes().first_chunk::<FRAME_HEADER>()?;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if self.scanner.bytes().len() < FRAME_HEADER + length {
            return None;
        }
        self.scanner.take(FRAME_HEADER);
        Some(Item::Interleaved { channel, packet: self.scanner.take(length) })
    }

    fn take_message(&mut self) -> Result<Option<Item>, RtspError> {
        let Some(length) = self.scanner.header_length()? else { return Ok(None) };
        let (head, body) = Head::<Rtsp10>::parse(&self.scanner.bytes()[..length])?;
        let body = usize::try_from(body.unwrap_or(0)).unwrap_or(usize::MAX);
        if body > MOST_BODY_BYTES {
            return Err(RtspError::TooMuch { what: "bytes of a body", most: MOST_BODY_BYTES });
        }
        if self.scanner.bytes().len() < length + body {
            // The header is read again when its body is there, which is bounded as well.
            return Ok(None);
        }
        self.scanner.take(length);
        let body = self.scanner.take(body).to_vec();
        Ok(Some(match head {
            Head::Request(request) => Item::Request(Request { body, ..request }),
            Head::Response(response) => Item::Response(Response { body, ..response }),
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::{Headers, Status};

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
        let request =
            ("[A-Z_]{1,12}", "[!-~]{1,40}", headers(), body.clone()).prop_map(|(method, uri, headers, body)| {
                Item::Request(Request { version: Rtsp10, method, uri, headers, body })
            });
        let response = (100u16..1_000, headers(), body.clone()).prop_map(|(code, headers, body)| {
            Item::Response(Response { version: Rtsp10, status: Status(code), headers, body })
        });
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
