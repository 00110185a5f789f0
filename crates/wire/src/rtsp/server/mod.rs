use std::collections::VecDeque;

use framewire_units::{Duration, RandomStream, Timestamp};

use super::digest::Challenge;
use super::message::{Request, Response};
use super::reader::{Item, Reader, RtspError};
use super::transport::Transport;
use crate::message::{Answered, Asked, Status, decimal, unescaped};

mod answers;
mod setup;
mod types;

pub use self::types::{Delivery, Playing, Presentation, ServerEvent, ServerSettings, StreamStart};

/// A session ends after so long without a sign of life of its client: 60 s unless a server says otherwise (RFC 2326, section
/// 12.37).
pub const SESSION_TIMEOUT: Duration = Duration::from_secs(60);

/// The requests that are answered (RFC 2326, section 10).
const METHODS: &str = "OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, GET_PARAMETER, SET_PARAMETER, TEARDOWN";

/// Others of the document that are known, but not for what is served here.
const OTHER_METHODS: [&str; 3] = ["ANNOUNCE", "RECORD", "REDIRECT"];

/// So many requests that were refused end a connection: who guesses passwords shall not do it fast.
const MOST_REFUSALS: u32 = 32;

/// So many responses that were not fetched end it too: a client that asks faster than it reads.
const MOST_WAITING: usize = 64;

/// What a stream of a description is called below the URL of the whole, before its number there.
const CONTROL: &str = "track";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is no session (RFC 2326, appendix A.2: Init).
    Init,
    /// Of this movie.
    Ready(usize),
    Playing(usize),
}

/// A request whose answer depends on who has the movie.
#[derive(Debug)]
struct Pending {
    /// Its number in CSeq.
    sequence: String,
    of: PendingAnswer,
}

#[derive(Debug)]
enum PendingAnswer {
    /// Ports for a stream of a movie; the transports that were offered beside, in the client's order.
    Ports { movie: usize, stream: usize, client: (u16, u16), others: VecDeque<Transport> },
    /// To play a movie, by a URL.
    Play { movie: usize, url: String },
}

/// One connection of a client to a server, of which it may play one movie.
///
/// Contract: hand in what comes with [`handle_bytes`](Self::handle_bytes), drain [`poll_event`](Self::poll_event), and send what
/// [`poll_transmit`](Self::poll_transmit) gives, whole messages between whole packets. An event that asks for an answer is answered
/// before anything else is handed in, and may have others behind it. When [`next_timeout`](Self::next_timeout) has come, call
/// [`handle_timeout`](Self::handle_timeout). Reports over UDP are signs of life, of which it is told by
/// [`handle_life`](Self::handle_life). When it [is over](Self::is_over), the connection is to be closed.
#[derive(Debug)]
pub struct Server {
    settings: ServerSettings,
    reader: Reader,
    state: State,
    /// Of the session's movie, how each stream is wanted.
    deliveries: Vec<Option<Delivery>>,
    /// That was answered by a movie: there is something to stop.
    has_played: bool,
    pending: Option<Pending>,
    session: String,
    /// The number of this session in descriptions; `None`: as they are.
    described_as: Option<u64>,
    challenge: Option<Challenge>,
    transmit: VecDeque<Vec<u8>>,
    events: VecDeque<ServerEvent>,
    alive: Timestamp,
    refusals: u32,
    /// The first request without a password, which was told how to give one: no refusal where one comes (RFC 7616, section 3.3).
    challenged: Option<Answered>,
    /// There was one.
    was_challenged: bool,
    /// How long a connection may be without one that was answered well.
    first_request: Duration,
    /// Such a request came.
    asked: bool,
    /// The last request that came.
    latest: Option<Asked>,
    over: bool,
}

impl Server {
    /// A connection that was accepted now. Its session and what it asks passwords with are drawn from `random`: on a network
    /// with others, one that nobody can foresee.
    pub fn new(settings: ServerSettings, now: Timestamp, mut random: RandomStream) -> Self {
        let session = format!("{:016X}", random.next_u64());
        let nonce = format!("{:016x}{:016x}", random.next_u64(), random.next_u64());
        let challenge = settings.account.as_ref().map(|(realm, _)| Challenge::new(realm, &nonce));
        Self {
            first_request: settings.timeout,
            settings,
            reader: Reader::default(),
            state: State::Init,
            deliveries: Vec::new(),
            has_played: false,
            pending: None,
            asked: false,
            latest: None,
            session,
            described_as: None,
            challenge,
            transmit: VecDeque::new(),
            events: VecDeque::new(),
            alive: now,
            refusals: 0,
            challenged: None,
            was_challenged: false,
            over: false,
        }
    }

    /// The same that waits for the first request for so long.
    #[must_use]
    pub fn with_patience(self, first: Duration) -> Self {
        Self { first_request: first, ..self }
    }

    /// The same whose descriptions are of a session with this number, which no other one has (RFC 8866, section 5.2).
    #[must_use]
    pub fn described_as(self, number: u64) -> Self {
        Self { described_as: Some(number), ..self }
    }

    /// Takes the next bytes of the connection.
    ///
    /// # Errors
    /// When they are no RTSP: it is over then.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) -> Result<(), RtspError> {
        if self.over {
            return Ok(());
        }
        self.reader.feed(bytes);
        self.answer_all(now)
    }

    fn answer_all(&mut self, now: Timestamp) -> Result<(), RtspError> {
        while !self.over && self.pending.is_none() {
            match self.reader.poll() {
                Ok(Some(item)) => self.handle_item(now, item),
                Ok(None) => break,
                Err(error) => {
                    let status = match error {
                        RtspError::Version(..) => Status::VERSION_NOT_SUPPORTED,
                        RtspError::FirstLine(_) => Status::URI_TOO_LONG,
                        RtspError::TooMuch { .. } => Status::TOO_LARGE,
                        _ => Status::BAD_REQUEST,
                    };
                    let sequence = self.reader.refused().map(str::to_owned);
                    let response = Response::new(status);
                    let response = sequence.into_iter().fold(response, |response, one| response.with("CSeq", one));
                    self.transmit.push_back(response.emit());
                    self.events.push_back(ServerEvent::Answered(Answered { asked: None, status }));
                    self.end();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// A stream can be sent in datagrams from these ports, of RTP and RTCP; or `None`.
    ///
    /// # Errors
    /// When what came behind the request is no RTSP: it is over then.
    pub fn handle_opened(&mut self, now: Timestamp, ports: Option<(u16, u16)>) -> Result<(), RtspError> {
        match self.pending.take() {
            Some(Pending { sequence, of: PendingAnswer::Ports { movie, stream, client, others } }) => {
                let response = match ports {
                    Some(server) => Some(self.opened(movie, stream, client, server)),
                    None => self.agree(movie, stream, others, &sequence),
                };
                response.into_iter().for_each(|response| self.respond(now, response, Some(sequence.clone())));
            }
            other => self.pending = other,
        }
        self.answer_all(now)
    }

    /// A movie is played, or not, by the status of the answer.
    ///
    /// # Errors
    /// When what came behind the request is no RTSP: it is over then.
    pub fn handle_playing(&mut self, now: Timestamp, playing: Result<Playing, Status>) -> Result<(), RtspError> {
        match self.pending.take() {
            Some(Pending { sequence, of: PendingAnswer::Play { movie, url } }) => {
                let response = match playing {
                    Ok(playing) => self.played(movie, &url, &playing),
                    Err(status) => Response::new(status),
                };
                self.respond(now, response, Some(sequence));
            }
            other => self.pending = other,
        }
        self.answer_all(now)
    }

    /// The client has given a sign of life in another way: a report over UDP.
    pub fn handle_life(&mut self, now: Timestamp) {
        self.alive = now;
    }

    /// The connection was closed by the client.
    pub fn handle_close(&mut self) {
        self.end();
    }

    /// Ends a session that gave no sign of life for too long, and a connection that has none.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            self.end();
        }
    }

    /// When it has something to do by itself.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let patience = if self.asked { self.settings.timeout } else { self.first_request };
        (!self.over).then_some(self.alive + patience)
    }

    /// The next message that is to be sent.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.pop_front()
    }

    /// What the client asks for.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    #[cfg(test)]
    pub(in crate::rtsp) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// A movie, by its number in an event.
    pub fn presentation(&self, movie: usize) -> &Presentation {
        &self.settings.presentations[movie]
    }

    /// True once a request came that was not refused.
    pub fn was_asked(&self) -> bool {
        self.asked
    }

    /// The last request: the one that is played or was answered.
    pub fn asked(&self) -> Option<&Asked> {
        self.latest.as_ref()
    }

    /// True when nothing more is to be said: what is left is to be sent, and the connection to be closed.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn handle_item(&mut self, now: Timestamp, item: Item) {
        match item {
            Item::Request(request) => {
                let sequence = request.headers.get("CSeq").map(str::to_owned);
                self.latest = Some(Asked::of(&request));
                let gives_none = request.headers.get("Authorization").is_none();
                let answer = self.answer(&request);
                let is_unauthorised = answer.as_ref().is_some_and(|answer| answer.status == Status::UNAUTHORIZED);
                // What comes behind it was answered, or is refused itself.
                self.challenged.take_if(|_| !gives_none || is_unauthorised);
                match answer {
                    Some(answer) if gives_none && is_unauthorised && !self.was_challenged => {
                        self.challenge(answer, sequence);
                    }
                    Some(answer) => self.respond(now, answer, sequence),
                    None => {}
                }
            }
            Item::Interleaved { channel, packet } => {
                let is_of = |delivery: &Option<Delivery>| matches!(delivery, Some(Delivery::Interleaved(_, of_rtcp)) if *of_rtcp == channel);
                if let Some(stream) = self.deliveries.iter().position(is_of) {
                    self.alive = now;
                    self.events.push_back(ServerEvent::Rtcp(stream, packet));
                }
            }
            // This end asks nothing.
            Item::Response(_) => {}
        }
    }

    /// Asks for a password: that this was a refusal is known where the next request has none that is right, or none comes.
    fn challenge(&mut self, response: Response, sequence: Option<String>) {
        self.was_challenged = true;
        self.challenged = Some(Answered { asked: self.latest.clone(), status: response.status });
        self.send(response, sequence);
    }

    /// Answers a request.
    fn respond(&mut self, now: Timestamp, response: Response, sequence: Option<String>) {
        // Who is refused again and again gives no sign of life of a session.
        if self.asked || response.status == Status::OK {
            self.alive = now;
        }
        self.asked |= response.status == Status::OK;
        if response.status != Status::OK {
            self.refusals += 1;
            let (asked, status) = (self.latest.clone(), response.status);
            self.events.push_back(ServerEvent::Answered(Answered { asked, status }));
        }
        self.send(response, sequence);
    }

    fn send(&mut self, response: Response, sequence: Option<String>) {
        let response = sequence.into_iter().fold(response, |response, sequence| response.with("CSeq", sequence));
        self.transmit.push_back(response.emit());
        if self.refusals > MOST_REFUSALS || self.transmit.len() > MOST_WAITING {
            self.end();
        }
    }

    /// What is answered at once.
    fn answer(&mut self, request: &Request) -> Option<Response> {
        if let Some(refusal) = self.refusal(request) {
            return Some(refusal);
        }
        Some(match request.method.as_str() {
            "OPTIONS" => Response::new(Status::OK).with("Public", METHODS),
            "DESCRIBE" => self.describe(request),
            "SETUP" => return self.set_up(request),
            "PLAY" => return self.play(request),
            "PAUSE" => self.pause(),
            // Without a body it asks for nothing but an answer (section 10.8).
            "GET_PARAMETER" | "SET_PARAMETER" if request.body.is_empty() => Response::new(Status::OK),
            "GET_PARAMETER" | "SET_PARAMETER" => Response::new(Status::PARAMETER_NOT_UNDERSTOOD),
            "TEARDOWN" => self.tear_down(),
            method if OTHER_METHODS.contains(&method) => {
                Response::new(Status::METHOD_NOT_ALLOWED).with("Allow", METHODS)
            }
            _ => Response::new(Status::NOT_IMPLEMENTED).with("Public", METHODS),
        })
    }

    /// Why it is not answered, whatever it asks for.
    fn refusal(&self, request: &Request) -> Option<Response> {
        if request.headers.get("CSeq").is_none() {
            return Some(Response::new(Status::BAD_REQUEST)); // Section 12.17: there must be one.
        }
        if let Some(required) = request.headers.get("Require") {
            return Some(Response::new(Status::OPTION_NOT_SUPPORTED).with("Unsupported", required));
        }
        if request.method == "OPTIONS" {
            return None;
        }
        if let Some(refusal) = self.unauthorised(request) {
            return Some(refusal);
        }
        if self.found(&request.uri).is_none() {
            return Some(Response::new(Status::NOT_FOUND));
        }
        let names_session =
            request.headers.get("Session").map(|session| session.split(';').next().unwrap_or_default().trim());
        let has_session = self.state != State::Init;
        let needs_session = matches!(request.method.as_str(), "PLAY" | "PAUSE" | "TEARDOWN");
        let is_wrong = match names_session {
            Some(session) => !has_session || session != self.session,
            None => needs_session,
        };
        is_wrong.then(|| Response::new(Status::SESSION_NOT_FOUND))
    }

    fn unauthorised(&self, request: &Request) -> Option<Response> {
        let (Some(challenge), Some((_, account))) = (&self.challenge, &self.settings.account) else { return None };
        let given = request.headers.get("Authorization");
        let is_known = given.is_some_and(|given| challenge.accepts(given, account, &request.method, &request.uri));
        (!is_known).then(|| Response::new(Status::UNAUTHORIZED).with("WWW-Authenticate", challenge.emit()))
    }

    /// The movie that a URL is of, and which of its streams, where it names one; with slashes at the end or without.
    fn found(&self, uri: &str) -> Option<(usize, Option<usize>)> {
        let path = path_of(uri)?;
        let path = path.trim_end_matches('/');
        let movies = || self.settings.presentations.iter().enumerate();
        let is_own = |own: &Presentation, path: &str| own.path.trim_end_matches('/') == path;
        if let Some((number, _)) = movies().find(|(_, own)| is_own(own, path)) {
            return Some((number, None));
        }
        let (whole, control) = path.rsplit_once('/')?;
        let stream: usize = decimal(control.strip_prefix(CONTROL)?)?.try_into().ok()?;
        let (number, own) = movies().find(|(_, own)| is_own(own, whole))?;
        (stream < own.streams.len()).then_some((number, Some(stream)))
    }

    fn tear_down(&mut self) -> Response {
        self.end();
        Response::new(Status::OK)
    }

    fn end(&mut self) {
        self.events.extend(self.challenged.take().map(ServerEvent::Answered));
        if std::mem::take(&mut self.has_played) {
            self.events.push_back(ServerEvent::Stop);
        }
        (self.state, self.pending) = (State::Init, None);
        self.over = true;
    }
}

/// The path of an absolute URL of RTSP, without a query and without escapes; `None` for other texts.
fn path_of(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("rtsp") {
        return None;
    }
    let path = rest.find('/').map_or("/", |at| &rest[at..]);
    String::from_utf8(unescaped(path.split('?').next()?)?).ok()
}
