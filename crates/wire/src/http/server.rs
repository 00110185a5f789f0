use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use framewire_units::{Duration, Timestamp};

use super::date::date;
use super::message::{HttpVersion, Request, Response, stays_open};
use super::range::{ContentRange, RequestedRange};
use super::reader::{HttpError, Item, Reader};
use crate::message::{Answered, Asked, Status, unescaped};

/// A connection on which no whole request came for so long is closed (RFC 9112, section 9.5, leaves the time open; nginx has 60 s
/// for a request and 75 s for the next one).
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The methods that are answered (RFC 9110, section 9.1: these two must be).
const METHODS: &str = "GET, HEAD";

/// Other methods that are known, but are not for what is served here (RFC 9110, section 9).
const OTHER_METHODS: [&str; 7] = ["POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// So many requests that were refused end a connection: who guesses names shall not do it fast.
const MOST_REFUSALS: u32 = 32;

/// So many responses that were not fetched end it too, and so many bytes behind a request that is being answered: a client that
/// asks faster than it reads.
const MOST_WAITING: usize = 64;
const MOST_WAITING_BYTES: usize = 64 * 1_024;

/// What a server has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its path, with the slash that it begins with and without escapes: `/movie.mp4`.
    pub path: String,
    /// Its media type: `video/mp4`.
    pub media_type: String,
    /// Its bytes; `None` of what goes on as long as it is sent, which ends with its connection and has no ranges.
    pub length: Option<u64>,
}

/// What is to be written behind what is [to be transmitted](Server::poll_transmit).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serve {
    /// Of which of the server's resources, by its number.
    pub resource: usize,
    /// Which bytes; all that there will be where its length is not known.
    pub bytes: Range<u64>,
}

/// What a client asks for, or how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// It asks for these bytes.
    Serve(Serve),
    /// It has gone before they were written.
    Stop,
    /// It was answered, and nothing is to be written behind that.
    Answered(Answered),
}

/// One connection of a client to a server of resources.
///
/// Contract: hand in what comes with [`handle_bytes`](Self::handle_bytes), drain [`poll_event`](Self::poll_event), and send what
/// [`poll_transmit`](Self::poll_transmit) gives. What it is told to serve is written behind that, and then it is told with
/// [`handle_served`](Self::handle_served): the next request is answered after that. When [`next_timeout`](Self::next_timeout) has
/// come, call [`handle_timeout`](Self::handle_timeout). When it [is over](Self::is_over) and all is sent, the connection is to be
/// closed.
///
/// Responses have a Date where it is told the [time of day](Self::with_time_of_day), as one without a clock sends none (RFC 9110,
/// section 6.6.1).
#[derive(Debug)]
pub struct Server {
    resources: Arc<[Resource]>,
    reader: Reader,
    /// The time since 1970-01-01 UTC at time zero.
    time_of_day: Option<Duration>,
    /// How long a request is waited for: the first one, and the next.
    patience: [Duration; 2],
    /// The last whole request that came.
    asked: Option<Asked>,
    /// It was told to serve, and has not been told that all is written.
    serving: bool,
    /// The connection is to be closed behind the response.
    closes: bool,
    over: bool,
    refusals: u32,
    /// Since when a request is waited for.
    idle: Timestamp,
    transmit: VecDeque<Vec<u8>>,
    events: VecDeque<ServerEvent>,
}

impl Server {
    /// A connection that was accepted now, of a server of these resources, which may have many.
    pub fn new(resources: impl Into<Arc<[Resource]>>, now: Timestamp) -> Self {
        Self {
            resources: resources.into(),
            reader: Reader::default(),
            time_of_day: None,
            patience: [IDLE_TIMEOUT; 2],
            asked: None,
            serving: false,
            closes: false,
            over: false,
            refusals: 0,
            idle: now,
            transmit: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The same that waits so long for the first request, and so long for each one behind it.
    #[must_use]
    pub fn with_patience(self, first: Duration, next: Duration) -> Self {
        Self { patience: [first, next], ..self }
    }

    /// The same that says in each response when it was made; time zero is so long after 1970-01-01 UTC.
    #[must_use]
    pub fn with_time_of_day(self, at_zero: Duration) -> Self {
        Self { time_of_day: Some(at_zero), ..self }
    }

    /// True once a whole request has come.
    pub fn was_asked(&self) -> bool {
        self.asked.is_some()
    }

    /// The last request: the one that is served or was answered.
    pub fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref()
    }

    /// Takes the next bytes of the connection.
    ///
    /// # Errors
    /// When they are no HTTP: it is over then.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) -> Result<(), HttpError> {
        if self.over {
            return Ok(());
        }
        self.reader.feed(bytes);
        let answered = self.answer_all(now);
        if self.serving && self.reader.buffered() > MOST_WAITING_BYTES {
            self.end();
        }
        answered
    }

    /// All bytes that were to be served are written.
    ///
    /// # Errors
    /// When what came meanwhile is no HTTP: it is over then.
    pub fn handle_served(&mut self, now: Timestamp) -> Result<(), HttpError> {
        if !std::mem::take(&mut self.serving) {
            return Ok(());
        }
        self.idle = now;
        if self.closes {
            self.over = true;
        }
        self.answer_all(now)
    }

    /// The connection was closed by the client.
    pub fn handle_close(&mut self) {
        self.end();
    }

    /// Ends a connection on which no request came for too long.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            if self.reader.buffered() > 0 {
                self.refuse(now, None, Response::new(Status::REQUEST_TIMEOUT).with("Connection", "close"));
            }
            self.end();
        }
    }

    /// When it has something to do by itself.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        (!self.over && !self.serving).then(|| self.idle + self.patience[usize::from(self.was_asked())])
    }

    /// The next bytes that are to be sent.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.pop_front()
    }

    /// What the client asks for.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// True when nothing more is to be said: what is left is to be sent, and the connection to be closed.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn answer_all(&mut self, now: Timestamp) -> Result<(), HttpError> {
        while !self.over && !self.serving {
            match self.reader.poll() {
                Ok(None) => return Ok(()),
                Ok(Some(Item::Request(request))) => {
                    (self.idle, self.asked) = (now, Some(Asked::of(&request)));
                    self.answer(now, &request);
                }
                // Bodies of requests mean nothing to the methods that are answered (RFC 9110, section 9.3.1).
                Ok(Some(Item::Body(_) | Item::End)) => {}
                Ok(Some(Item::Response(..))) => {
                    self.refuse(now, None, Response::new(Status::BAD_REQUEST).with("Connection", "close"));
                    self.end();
                }
                Err(error) => {
                    let status = match error {
                        HttpError::Version(..) => Status::VERSION_NOT_SUPPORTED,
                        HttpError::FirstLine(_) => Status::URI_TOO_LONG,
                        HttpError::TooMuch { .. } => Status::HEADER_TOO_LARGE,
                        _ => Status::BAD_REQUEST,
                    };
                    self.refuse(now, None, Response::new(status).with("Connection", "close"));
                    self.end();
                    return Err(error);
                }
            }
            if self.refusals > MOST_REFUSALS || self.transmit.len() > MOST_WAITING {
                self.end();
            }
        }
        Ok(())
    }

    fn answer(&mut self, now: Timestamp, request: &Request) {
        self.closes = !stays_open(request.version, &request.headers);
        let is_head = request.method == "HEAD";
        match self.found(request) {
            Ok(resource) => self.serve(now, request, resource, is_head),
            Err(response) => {
                // What a refused request has behind it is not waited for.
                self.closes |= !is_head && request.method != "GET";
                let response = if self.closes { response.with("Connection", "close") } else { response };
                self.refuse(now, self.asked.clone(), response);
                self.over |= self.closes;
            }
        }
    }

    /// Which resource is asked for, or why it is not served.
    fn found(&self, request: &Request) -> Result<usize, Response> {
        // RFC 9112, section 3.2: exactly one.
        if request.version == HttpVersion::Http11 && request.headers.all("Host").count() != 1 {
            return Err(Response::new(Status::BAD_REQUEST));
        }
        match request.method.as_str() {
            "GET" | "HEAD" => {}
            other if OTHER_METHODS.contains(&other) => {
                return Err(Response::new(Status::METHOD_NOT_ALLOWED).with("Allow", METHODS));
            }
            _ => return Err(Response::new(Status::NOT_IMPLEMENTED)),
        }
        let path = path_of(&request.uri).ok_or_else(|| Response::new(Status::BAD_REQUEST))?;
        let found = self.resources.iter().position(|resource| resource.path.as_bytes() == path);
        found.ok_or_else(|| Response::new(Status::NOT_FOUND))
    }

    fn serve(&mut self, now: Timestamp, request: &Request, number: usize, is_head: bool) {
        let resource = &self.resources[number];
        let response = |status| Response::new(status).with("Content-Type", resource.media_type.clone());
        let (response, bytes) =
            match resource.length.map(|length| (RequestedRange::of(&request.headers, length), length)) {
                None => {
                    self.closes |= !is_head;
                    (response(Status::OK).with("Accept-Ranges", "none"), Some(0..u64::MAX))
                }
                // A range is of GET alone (RFC 9110, section 14.2).
                Some((asked, length)) if is_head || asked == RequestedRange::All => {
                    let response = response(Status::OK).with("Accept-Ranges", "bytes");
                    (response.with("Content-Length", length.to_string()), Some(0..length))
                }
                Some((RequestedRange::Part(bytes), length)) => {
                    let part = ContentRange { bytes: Some(bytes.clone()), length: Some(length) };
                    let response = response(Status::PARTIAL_CONTENT).with("Content-Range", part.to_string());
                    (response.with("Content-Length", (bytes.end - bytes.start).to_string()), Some(bytes))
                }
                Some((_, length)) => {
                    let none = ContentRange { bytes: None, length: Some(length) };
                    (Response::new(Status::RANGE_NOT_SATISFIABLE).with("Content-Range", none.to_string()), None)
                }
            };
        let response = if self.closes { response.with("Connection", "close") } else { response };
        match bytes {
            None => {
                self.refuse(now, self.asked.clone(), response);
                self.over |= self.closes;
            }
            Some(_) if is_head => {
                self.events
                    .push_back(ServerEvent::Answered(Answered { asked: self.asked.clone(), status: response.status }));
                self.respond(now, response);
                self.over |= self.closes;
            }
            Some(bytes) => {
                self.respond(now, response);
                self.serving = true;
                self.events.push_back(ServerEvent::Serve(Serve { resource: number, bytes }));
            }
        }
    }

    /// An answer without a body, which says that it has none.
    fn refuse(&mut self, now: Timestamp, asked: Option<Asked>, response: Response) {
        self.refusals += 1;
        self.events.push_back(ServerEvent::Answered(Answered { asked, status: response.status }));
        self.respond(now, response.with("Content-Length", "0"));
    }

    fn respond(&mut self, now: Timestamp, response: Response) {
        let date = self.time_of_day.map(|at_zero| date(at_zero + now.saturating_since(Timestamp::ZERO)));
        let response = date.into_iter().fold(response, |response, date| response.with("Date", date));
        self.transmit.push_back(response.emit());
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.serving) {
            self.events.push_back(ServerEvent::Stop);
        }
        self.over = true;
    }
}

/// The path of a target, without a query and without escapes: of the origin form, or of the absolute form, which must be
/// understood (RFC 9112, section 3.2.2). `None` for other texts.
fn path_of(target: &str) -> Option<Vec<u8>> {
    let path = match target.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest.find('/').map_or("/", |at| &rest[at..]),
        _ => target,
    };
    let path = path.split(['?', '#']).next().filter(|path| path.starts_with('/'))?;
    unescaped(path)
}
