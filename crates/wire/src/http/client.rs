use std::collections::VecDeque;
use std::ops::Range;

use bytes::Bytes;

use super::message::{HttpVersion, Request, Response, stays_open};
use super::range::ContentRange;
use super::reader::{HttpError, Item, Reader};
use crate::message::Status;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// The host, and its port where that is not 80: what stands in the URL (RFC 9110, section 7.2).
    pub host: String,
    /// The path, with the slash that it begins with and with escapes.
    pub path: String,
    /// Which bytes; `None`: all of them. An end of `u64::MAX` is that of the resource.
    pub range: Option<Range<u64>>,
    /// Nothing more is asked for on this connection: the server closes it behind the answer (RFC 9112, section 9.6).
    pub is_last: bool,
}

/// What a client learns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The server has it, and its bytes follow.
    Found {
        /// Its media type.
        media_type: Option<String>,
        /// How many bytes follow, where that is known.
        length: Option<u64>,
        /// Which part of it these are; `None`: all of it, also where a part was asked for.
        part: Option<ContentRange>,
    },
    /// The next bytes of it.
    Body(Bytes),
    /// All of it came.
    Complete,
    /// It ended, because of this.
    Failed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing is asked for.
    Idle,
    /// What was asked for is not answered yet.
    Asked,
    /// Its bytes come.
    Receiving,
    /// The connection is no good any more.
    Over,
}

/// A client that fetches one resource after the other over a connection (RFC 9112).
///
/// Contract: ask for something with [`fetch`](Self::fetch), send what [`poll_transmit`](Self::poll_transmit) gives, hand in what
/// comes with [`handle_bytes`](Self::handle_bytes), and drain [`poll_event`](Self::poll_event). When the server closes the
/// connection, call [`handle_close`](Self::handle_close): that may be how a resource ends. The next one can be asked for when
/// it [is idle](Self::is_idle); when it [is over](Self::is_over), the connection is to be closed. It has no timeouts.
#[derive(Debug)]
pub struct Client {
    reader: Reader,
    state: State,
    /// The connection ends with this response.
    closes: bool,
    from: Option<u64>,
    user_agent: String,
    transmit: VecDeque<Vec<u8>>,
    events: VecDeque<ClientEvent>,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            reader: Reader::default(),
            state: State::Idle,
            closes: false,
            from: None,
            user_agent: "framewire".to_owned(),
            transmit: VecDeque::new(),
            events: VecDeque::new(),
        }
    }
}

impl Client {
    /// The same that calls itself so in its requests: a product and maybe comments in brackets (RFC 9110, section 10.1.5).
    #[must_use]
    pub fn with_user_agent(self, user_agent: &str) -> Self {
        Self { user_agent: user_agent.to_owned(), ..self }
    }

    /// Asks for a resource.
    ///
    /// # Panics
    /// When it is not idle.
    pub fn fetch(&mut self, fetch: &Fetch) {
        assert!(self.is_idle(), "one resource after the other");
        let request = Request::new("GET", &fetch.path).with("Host", fetch.host.clone());
        let request = request.with("User-Agent", self.user_agent.clone());
        let request = match &fetch.range {
            None => request,
            Some(Range { start, end: u64::MAX }) => request.with("Range", format!("bytes={start}-")),
            Some(Range { start, end }) => request.with("Range", format!("bytes={start}-{}", end.saturating_sub(1))),
        };
        let request = if fetch.is_last { request.with("Connection", "close") } else { request };
        self.from = fetch.range.as_ref().map(|range| range.start);
        self.transmit.push_back(request.emit());
        self.state = State::Asked;
    }

    /// Takes the next bytes of the connection.
    ///
    /// # Errors
    /// When they are no HTTP: it is over then.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        if self.state != State::Over {
            self.reader.feed(bytes);
        }
        self.read()
    }

    /// The server closed the connection.
    ///
    /// # Errors
    /// When something is missing.
    pub fn handle_close(&mut self) -> Result<(), HttpError> {
        self.reader.finish();
        self.read()?;
        match self.state {
            State::Asked | State::Receiving => self.fail("the server closed the connection".to_owned()),
            State::Idle | State::Over => self.state = State::Over,
        }
        Ok(())
    }

    /// The next bytes that are to be sent.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.pop_front()
    }

    /// What it learnt.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// True where the next resource can be asked for.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// True when nothing more can be asked for on this connection.
    pub fn is_over(&self) -> bool {
        self.state == State::Over
    }

    fn read(&mut self) -> Result<(), HttpError> {
        while self.state != State::Over {
            match self.reader.poll() {
                Ok(None) => return Ok(()),
                Ok(Some(item)) => self.handle_item(item),
                Err(error) => {
                    self.fail(error.to_string());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn handle_item(&mut self, item: Item) {
        match (self.state, item) {
            // Before the answer there may be others, which say that it will come (RFC 9110, section 15.2).
            (State::Asked, Item::Response(response, _)) if response.status.0 < 200 => {}
            (State::Asked, Item::End) => {}
            (State::Asked, Item::Response(response, length)) => self.handle_response(&response, length),
            (State::Receiving, Item::Body(bytes)) => self.events.push_back(ClientEvent::Body(bytes)),
            (State::Receiving, Item::End) => {
                self.events.push_back(ClientEvent::Complete);
                self.state = if self.closes { State::Over } else { State::Idle };
            }
            (_, Item::Request(_)) => self.fail("the server asks something of its client".to_owned()),
            _ => self.fail("the server answers what was not asked".to_owned()),
        }
    }

    fn handle_response(&mut self, response: &Response, length: Option<u64>) {
        let Status(code) = response.status;
        let part = response.headers.get("Content-Range").and_then(ContentRange::parse);
        let begins_at = part.as_ref().and_then(|part| part.bytes.as_ref()).map(|bytes| bytes.start);
        match response.status {
            Status::OK => {}
            Status::PARTIAL_CONTENT if begins_at.is_some() && begins_at == self.from => {}
            Status::PARTIAL_CONTENT => return self.fail("the server answers with another part".to_owned()),
            _ => return self.fail(format!("the server answers {code} ({})", response.status.reason())),
        }
        let part = part.filter(|_| response.status == Status::PARTIAL_CONTENT);
        self.closes = !stays_open(response.version, &response.headers);
        // A body that ends with the connection leaves none.
        self.closes |= length.is_none() && response.version == HttpVersion::Http10;
        let media_type = response.headers.get("Content-Type").map(str::to_owned);
        self.events.push_back(ClientEvent::Found { media_type, length, part });
        self.state = State::Receiving;
    }

    fn fail(&mut self, reason: String) {
        if self.state != State::Over {
            self.state = State::Over;
            self.events.push_back(ClientEvent::Failed(reason));
        }
    }
}
