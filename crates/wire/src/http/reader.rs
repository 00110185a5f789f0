use bytes::Bytes;

use super::message::{HttpVersion, Request, Response};
use crate::message::{Head, HeaderScanner, MessageError, Status};

/// Most bytes of a line that begins a chunk, with its extensions, and of all fields behind the last one.
const MOST_CHUNK_LINE: usize = 4 * 1_024;

/// Bytes that are no HTTP/1.1: what follows them is not known, and the connection is to be closed.
pub type HttpError = MessageError;

/// What comes on a connection, in this order: a message, its body in pieces of any size, and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A request.
    Request(Request),
    /// A response, and how many bytes its body has, where it says so.
    Response(Response, Option<u64>),
    /// The next bytes of the body.
    Body(Bytes),
    /// The body has ended: what follows is another message.
    End,
}

/// Where in a message the connection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before its first line, or in its header.
    #[default]
    Header,
    /// In a body of which so many bytes are still to come.
    Body(u64),
    /// Before the line that begins a chunk.
    ChunkLine,
    /// In a chunk of which so many bytes are still to come.
    Chunk(u64),
    /// Behind the bytes of a chunk.
    ChunkEnd,
    /// In the fields behind the last chunk, of which so many bytes have come.
    Trailer(usize),
    /// In a body that ends with the connection.
    UntilClosed,
    /// An error came.
    Broken,
}

/// Takes what one end of a connection sends apart into messages and their bodies (RFC 9112, sections 6 and 7).
///
/// Hand in bytes with [`feed`](Self::feed), however they are cut, and drain [`poll`](Self::poll) after each; when the other end
/// has closed the connection, say so with [`finish`](Self::finish) and drain it once more. After an error it gives nothing more.
/// What it holds is bounded: less than a header, or a line of a chunk, as long as it is drained.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    scanner: HeaderScanner,
    place: Place,
    /// The next response has no body: the request was HEAD.
    /// The other end has closed the connection.
    closed: bool,
}

impl Reader {
    /// Takes the next bytes of the connection.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.place != Place::Broken {
            self.scanner.feed(bytes);
        }
    }

    /// The other end has closed the connection.
    pub fn finish(&mut self) {
        self.closed = true;
    }

    /// What is there next.
    ///
    /// # Errors
    /// When the bytes are no HTTP, more than is taken, or end within a message.
    pub fn poll(&mut self) -> Result<Option<Item>, HttpError> {
        let item = self.take();
        if item.is_err() {
            self.place = Place::Broken;
            self.scanner.clear();
        }
        item
    }

    /// Bytes of what is not there whole.
    pub fn buffered(&self) -> usize {
        self.scanner.bytes().len()
    }

    fn take(&mut self) -> Result<Option<Item>, HttpError> {
        loop {
            let item = match self.place {
                Place::Broken => return Ok(None),
                Place::Header => {
                    self.scanner.skip_empty_lines();
                    match self.scanner.header_length()? {
                        Some(length) => self.take_header(length)?,
                        None => return self.nothing_more(),
                    }
                }
                Place::Body(0) => self.end(),
                Place::Body(left) => match self.take_piece(left) {
                    Some((piece, left)) => {
                        self.place = Place::Body(left);
                        piece
                    }
                    None => return self.nothing_more(),
                },
                Place::Chunk(left) => match self.take_piece(left) {
                    Some((piece, left)) => {
                        self.place = if left == 0 { Place::ChunkEnd } else { Place::Chunk(left) };
                        piece
                    }
                    None => return self.nothing_more(),
                },
                Place::UntilClosed => match self.take_piece(u64::MAX) {
                    Some((piece, _)) => piece,
                    None if self.closed => self.end(),
                    None => return Ok(None),
                },
                Place::ChunkLine | Place::ChunkEnd | Place::Trailer(_) => match self.take_line()? {
                    Some(line) => match self.handle_line(&line)? {
                        Some(item) => item,
                        None => continue,
                    },
                    None => return self.nothing_more(),
                },
            };
            return Ok(Some(item));
        }
    }

    /// Nothing is there; where nothing more comes, nothing may be missing.
    fn nothing_more(&self) -> Result<Option<Item>, HttpError> {
        let is_between = self.place == Place::Header && self.scanner.bytes().is_empty();
        match self.closed && !is_between {
            true => Err(HttpError::CutOff),
            false => Ok(None),
        }
    }

    fn end(&mut self) -> Item {
        self.place = Place::Header;
        Item::End
    }

    /// As much as is there of so many bytes, and how many are left then.
    fn take_piece(&mut self, left: u64) -> Option<(Item, u64)> {
        let there = self.scanner.bytes().len();
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(there);
        let piece = (length > 0).then(|| self.scanner.take(length))?;
        Some((Item::Body(piece), left - length as u64))
    }

    fn take_header(&mut self, length: usize) -> Result<Item, HttpError> {
        let (head, length) = Head::<HttpVersion>::parse(&self.scanner.take(length))?;
        match head {
            Head::Request(request) => {
                self.place = place_of(&request.headers, length)?.unwrap_or(Place::Body(0));
                Ok(Item::Request(request))
            }
            Head::Response(response) => {
                let Status(code) = response.status;
                // RFC 9112, section 6.3: what has never a body, whatever its fields say.
                let is_interim = code < 200;
                let without_body = is_interim || matches!(code, 204 | 304);
                self.place = match place_of(&response.headers, length)? {
                    _ if without_body => Place::Body(0),
                    place => place.unwrap_or(Place::UntilClosed),
                };
                let length = length.filter(|_| !matches!(self.place, Place::ChunkLine));
                Ok(Item::Response(response, length))
            }
        }
    }

    /// A line up to its end, which is not part of it.
    fn take_line(&mut self) -> Result<Option<Bytes>, HttpError> {
        let bytes = self.scanner.bytes();
        let end = memchr::memchr(b'\n', &bytes[..bytes.len().min(MOST_CHUNK_LINE)]);
        match end {
            Some(end) => {
                let line = self.scanner.take(end + 1);
                let line = line.slice(..end);
                Ok(Some(if line.ends_with(b"\r") { line.slice(..end - 1) } else { line }))
            }
            None if bytes.len() >= MOST_CHUNK_LINE => Err(too_long()),
            None => Ok(None),
        }
    }

    fn handle_line(&mut self, line: &[u8]) -> Result<Option<Item>, HttpError> {
        self.place = match self.place {
            Place::ChunkLine => match chunk_size(line)? {
                0 => Place::Trailer(0),
                size => Place::Chunk(size),
            },
            Place::ChunkEnd if line.is_empty() => Place::ChunkLine,
            Place::ChunkEnd => return Err(chunk_error(line)),
            // What the fields behind the last chunk say is passed over (RFC 9112, section 7.1.2).
            Place::Trailer(came) if !line.is_empty() => {
                let came = came + line.len();
                if came > MOST_CHUNK_LINE {
                    return Err(too_long());
                }
                Place::Trailer(came)
            }
            _ => return Ok(Some(self.end())),
        };
        Ok(None)
    }
}

/// Where the body begins that these fields speak of; `None` where they speak of none (RFC 9112, section 6.3).
fn place_of(headers: &crate::message::Headers, length: Option<u64>) -> Result<Option<Place>, HttpError> {
    let mut codings = headers.all("Transfer-Encoding");
    let Some(coding) = codings.next() else { return Ok(length.map(Place::Body)) };
    // Both would be understood differently by different programs, and an attacker make use of it (section 6.1).
    if length.is_some() || codings.next().is_some() || !coding.eq_ignore_ascii_case("chunked") {
        return Err(HttpError::Coding(coding.chars().take(80).collect()));
    }
    Ok(Some(Place::ChunkLine))
}

/// The size of the chunk that a line begins; extensions are passed over (RFC 9112, section 7.1).
fn chunk_size(line: &[u8]) -> Result<u64, HttpError> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let (size, rest) = line.split_at(digits);
    let is_end = matches!(rest.trim_ascii_start(), [] | [b';', ..]);
    let size = std::str::from_utf8(size).ok().and_then(|size| u64::from_str_radix(size, 16).ok());
    size.filter(|_| is_end).ok_or_else(|| chunk_error(line))
}

fn chunk_error(line: &[u8]) -> HttpError {
    HttpError::Coding(format!("chunk {:?}", String::from_utf8_lossy(&line[..line.len().min(40)])))
}

fn too_long() -> HttpError {
    HttpError::TooMuch { what: "bytes of a line between chunks", most: MOST_CHUNK_LINE }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Messages, each with all of its body; the last one may go on.
    fn read(bytes: &[u8], pieces: &mut dyn Iterator<Item = usize>) -> Result<Vec<(Item, Vec<u8>)>, HttpError> {
        let (mut reader, mut messages, mut rest) = (Reader::default(), Vec::<(Item, Vec<u8>)>::new(), bytes);
        loop {
            while let Some(item) = reader.poll()? {
                match item {
                    Item::Body(piece) => messages.last_mut().expect("a message before").1.extend(&piece),
                    Item::End => {}
                    message => messages.push((message, Vec::new())),
                }
            }
            if rest.is_empty() {
                return Ok(messages);
            }
            let (piece, more) = rest.split_at(pieces.next().unwrap_or(rest.len()).min(rest.len()));
            reader.feed(piece);
            rest = more;
        }
    }

    fn whole(text: &str) -> Result<Vec<(Item, Vec<u8>)>, HttpError> {
        read(text.as_bytes(), &mut std::iter::empty())
    }

    #[test]
    fn bodies_are_as_long_as_the_document_says() {
        // RFC 9112, sections 6.3 and 7.1, with an extension of a chunk and a field behind the last one.
        let text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n5;a=b\r\npedia\r\n0\r\nX: y\r\n\r\n\
                    HTTP/1.1 206\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 204 No Content\r\n\r\n\
                    HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nHTTP/1.0 200 OK\r\n\r\nto the end";
        let messages = whole(text).unwrap();
        let bodies: Vec<&[u8]> = messages.iter().map(|(_, body)| &body[..]).collect();
        assert_eq!(bodies, [&b"Wikipedia"[..], b"abc", b"", b"", b"to the end"]);
        let lengths =
            messages.iter().map(|(item, _)| if let Item::Response(_, length) = item { *length } else { None });
        assert_eq!(lengths.collect::<Vec<_>>(), [None, Some(3), None, Some(3), None]);
    }

    #[test]
    fn what_is_no_http_is_refused_by_what_is_wrong_with_it() {
        let refused = |text: &str| whole(text).unwrap_err().to_string();
        assert_eq!(refused("GET /\r\n\r\n"), "neither a request nor a response of HTTP: \"GET /\"");
        assert_eq!(refused("GET / HTTP/2.0\r\n\r\n"), "version \"GET / HTTP/2.0\": HTTP/1.1 is spoken");
        assert_eq!(
            refused("PLAY rtsp://h/ RTSP/1.0\r\n\r\n").split(':').next(),
            Some("neither a request nor a response of HTTP")
        );
        assert!(refused("GET / HTTP/1.1\r\nHost : h\r\n\r\n").starts_with("not a field"), "spaces before the colon");
        let body = |fields: &str| refused(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n"));
        assert!(body("Content-Length: 1\r\nContent-Length: 2").starts_with("Content-Length"));
        assert!(body("Content-Length: 1, 1").starts_with("Content-Length"));
        assert!(body("Content-Length: 1\r\nTransfer-Encoding: chunked").starts_with("Transfer-Encoding"));
        assert!(body("Transfer-Encoding: gzip, chunked").starts_with("Transfer-Encoding"));
        assert!(body("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked").starts_with("Transfer-Encoding"));
        let chunk = |text: &str| body(&format!("Transfer-Encoding: chunked\r\n\r\n{text}"));
        for wrong in ["x\r\n", "-1\r\n", "\r\n", "1 2\r\n", "10000000000000000\r\n", "1\r\nab\r\n"] {
            assert!(chunk(wrong).starts_with("Transfer-Encoding: \"chunk"), "{wrong:?}: {}", chunk(wrong));
        }
        let long = chunk(&format!("1;{}", "a".repeat(5_000)));
        assert_eq!(long, "bytes of a line between chunks: more than 4096");
        assert_eq!(chunk(&format!("0\r\n{}", "a: b\r\n".repeat(2_000))), long);
        let endless = format!("GET / HTTP/1.1\r\n{}", "X: y\r\n".repeat(3_000));
        assert_eq!(refused(&endless), "bytes of a header: more than 16384");
    }

    #[test]
    fn a_connection_that_ends_within_a_message_is_an_error_and_between_two_is_none() {
        let ended = |text: &str| {
            let mut reader = Reader::default();
            reader.feed(text.as_bytes());
            while reader.poll().unwrap().is_some() {}
            reader.finish();
            std::iter::from_fn(|| reader.poll().transpose()).collect::<Result<Vec<Item>, _>>()
        };
        assert_eq!(ended("GET / HTTP/1.1\r\n\r\n"), Ok(vec![]));
        assert_eq!(ended("HTTP/1.1 200 OK\r\n\r\nabc"), Ok(vec![Item::End]));
        for cut in ["GET /", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc"] {
            assert!(ended(cut).is_err(), "{cut}");
        }
        for cut in ["", "3\r\n", "3\r\nab", "3\r\nabc\r\n", "3\r\nabc\r\n0\r\n"] {
            assert!(ended(&format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{cut}")).is_err(), "{cut}");
        }
    }

    /// A message with a body in one of the three ways, as bytes.
    fn message() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
        let body = prop::collection::vec(any::<u8>(), 0..300);
        (body, any::<bool>(), 1usize..100).prop_map(|(body, chunked, size)| {
            let mut bytes = if chunked {
                let head = Response::new(Status::OK).with("Transfer-Encoding", "chunked").emit();
                let chunks = body
                    .chunks(size)
                    .flat_map(|chunk| [format!("{:X}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
                head.into_iter().chain(chunks).chain(*b"0\r\n\r\n").collect()
            } else {
                Request { body: body.clone(), ..Request::new("POST", "/") }.emit()
            };
            bytes.extend(b"\r\n"); // Empty lines between messages are passed over.
            (bytes, body)
        })
    }

    proptest! {
        #[test]
        fn bodies_come_out_as_they_went_in_however_the_connection_is_cut(
            messages in prop::collection::vec(message(), 0..8),
            cuts in prop::collection::vec(1usize..120, 1..30),
        ) {
            let stream: Vec<u8> = messages.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
            let read = read(&stream, &mut cuts.into_iter().cycle()).unwrap();
            let bodies: Vec<Vec<u8>> = read.into_iter().map(|(_, body)| body).collect();
            prop_assert_eq!(bodies, messages.into_iter().map(|(_, body)| body).collect::<Vec<_>>());
        }
    }
}
