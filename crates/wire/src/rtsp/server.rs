use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use framewire_units::{Duration, RandomStream, Timestamp};

use super::digest::{Account, Challenge};
use super::message::{Request, Response};
use super::reader::{Item, Reader, RtspError};
use super::transport::{Carriage, Transport};
use crate::message::{Status, decimal, unescaped};

/// A session ends after so long without a sign of life of its client: 60 s unless a server says otherwise (RFC 2326, section
/// 12.37).
pub const SESSION_TIMEOUT: Duration = Duration::from_secs(60);

/// The requests that are answered (RFC 2326, section 10).
const METHODS: &str = "OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER, SET_PARAMETER, TEARDOWN";

/// Others of the document that are known, but not for what is served here.
const OTHER_METHODS: [&str; 4] = ["PAUSE", "ANNOUNCE", "RECORD", "REDIRECT"];

/// So many requests that were refused end a connection: who guesses passwords shall not do it fast.
const MOST_REFUSALS: u32 = 32;

/// So many responses that were not fetched end it too: a client that asks faster than it reads.
const MOST_WAITING: usize = 64;

/// What a stream of a description is called below the URL of the whole, before its number there.
const CONTROL: &str = "track";

/// A movie that a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presentation {
    /// Its path, with the slash that it begins with and without escapes: `/movie`.
    pub path: String,
    /// Its session description, as of [`sdp::describe_session`](crate::sdp::describe_session).
    pub description: String,
    /// Its streams, in the order of the description.
    pub streams: Vec<StreamStart>,
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamStart {
    /// Its synchronisation source.
    pub ssrc: u32,
    /// The sequence number of its first packet.
    pub sequence: u16,
    /// The time stamp of that.
    pub timestamp: u32,
}

/// What a server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Its movies, which connections share.
    pub presentations: Arc<[Presentation]>,
    /// The server's ports of RTP and RTCP, where it sends over UDP; `None`: only interleaved.
    pub ports: Option<(u16, u16)>,
    /// Who may see it, and the realm of the account; `None`: all.
    pub account: Option<(String, Account)>,
    /// When a session without a sign of life ends.
    pub timeout: Duration,
}

/// How a client wants the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Between the messages, on these channels of RTP and RTCP.
    Interleaved(u8, u8),
    /// To these ports of the client's host.
    Udp(u16, u16),
}

/// What a client wants, or how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerEvent {
    /// It wants a movie: its number, and how it wants each of the streams, of which it may leave some out.
    Play(usize, Vec<Option<Delivery>>),
    /// A packet on the channel of RTCP of a stream, by its number.
    Rtcp(usize, Bytes),
    /// It wants no more, or gave no sign of life.
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is no session (RFC 2326, appendix A.2: Init).
    Init,
    /// Of this movie.
    Ready(usize),
    Playing(usize),
}

/// One connection of a client to a server, of which it may play one movie.
///
/// Contract: hand in what comes with [`handle_bytes`](Self::handle_bytes), drain [`poll_event`](Self::poll_event), and send what
/// [`poll_transmit`](Self::poll_transmit) gives, whole messages between whole packets. When [`next_timeout`](Self::next_timeout) has
/// come, call [`handle_timeout`](Self::handle_timeout). Reports over UDP are signs of life, of which it is told by
/// [`handle_life`](Self::handle_life). When it [is over](Self::is_over), the connection is to be closed.
#[derive(Debug)]
pub struct Server {
    settings: ServerSettings,
    reader: Reader,
    state: State,
    /// Of the session's movie, how each stream is wanted.
    deliveries: Vec<Option<Delivery>>,
    session: String,
    challenge: Option<Challenge>,
    transmit: VecDeque<Vec<u8>>,
    events: VecDeque<ServerEvent>,
    alive: Timestamp,
    refusals: u32,
    /// How long a connection may be without one that was answered well.
    first_request: Duration,
    /// Such a request came.
    asked: bool,
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
            asked: false,
            session,
            challenge,
            transmit: VecDeque::new(),
            events: VecDeque::new(),
            alive: now,
            refusals: 0,
            over: false,
        }
    }

    /// The same that waits for the first request for so long.
    #[must_use]
    pub fn with_patience(self, first: Duration) -> Self {
        Self { first_request: first, ..self }
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
        loop {
            match self.reader.poll() {
                Ok(Some(item)) if !self.over => self.handle_item(now, item),
                Ok(_) => return Ok(()),
                Err(error) => {
                    let status = match error {
                        RtspError::Version(..) => Status::VERSION_NOT_SUPPORTED,
                        _ => Status::BAD_REQUEST,
                    };
                    self.transmit.push_back(Response::new(status).emit());
                    self.end();
                    return Err(error);
                }
            }
        }
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

    /// What the client wants.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// True once a request came that was not refused.
    pub fn was_asked(&self) -> bool {
        self.asked
    }

    /// True when nothing more is to be said: what is left is to be sent, and the connection to be closed.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn handle_item(&mut self, now: Timestamp, item: Item) {
        match item {
            Item::Request(request) => {
                let response = self.answer(&request);
                // Who is refused again and again gives no sign of life of a session.
                if self.asked || response.status == Status::OK {
                    self.alive = now;
                }
                self.asked |= response.status == Status::OK;
                self.refusals += u32::from(response.status != Status::OK);
                self.transmit.push_back(response.emit());
                if self.refusals > MOST_REFUSALS || self.transmit.len() > MOST_WAITING {
                    self.end();
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

    fn answer(&mut self, request: &Request) -> Response {
        let response = match self.refusal(request) {
            Some(refusal) => refusal,
            None => match request.method.as_str() {
                "OPTIONS" => Response::new(Status::OK).with("Public", METHODS),
                "DESCRIBE" => self.describe(request),
                "SETUP" => self.set_up(request),
                "PLAY" => self.play(request),
                // Without a body it asks for nothing but an answer (section 10.8).
                "GET_PARAMETER" | "SET_PARAMETER" if request.body.is_empty() => Response::new(Status::OK),
                "GET_PARAMETER" | "SET_PARAMETER" => Response::new(Status::PARAMETER_NOT_UNDERSTOOD),
                method if OTHER_METHODS.contains(&method) => {
                    Response::new(Status::METHOD_NOT_ALLOWED).with("Allow", METHODS)
                }
                "TEARDOWN" => self.tear_down(),
                _ => Response::new(Status::NOT_IMPLEMENTED).with("Public", METHODS),
            },
        };
        let sequence = request.headers.get("CSeq").map(str::to_owned);
        sequence.into_iter().fold(response, |response, sequence| response.with("CSeq", sequence))
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
        let needs_session = matches!(request.method.as_str(), "PLAY" | "TEARDOWN");
        let is_wrong = match names_session {
            Some(session) => !has_session || session != self.session,
            None => needs_session,
        };
        is_wrong.then(|| Response::new(Status::SESSION_NOT_FOUND))
    }

    fn unauthorised(&self, request: &Request) -> Option<Response> {
        let (Some(challenge), Some((_, account))) = (&self.challenge, &self.settings.account) else { return None };
        let given = request.headers.get("Authorization");
        let is_known = given.is_some_and(|given| challenge.accepts(given, account, &request.method));
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

    fn describe(&self, request: &Request) -> Response {
        let kinds: Vec<&str> = request.headers.all("Accept").flat_map(|value| value.split(',')).collect();
        let kind = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_accepted = |text: &&str| matches!(kind(text).as_str(), "application/sdp" | "application/*" | "*/*");
        if !kinds.is_empty() && !kinds.iter().any(is_accepted) {
            return Response::new(Status::NOT_ACCEPTABLE);
        }
        let Some((number, _)) = self.found(&request.uri) else { return Response::new(Status::NOT_FOUND) };
        let base = format!("{}/", request.uri.trim_end_matches('/'));
        let body = with_control(&self.settings.presentations[number].description).into_bytes();
        let response = Response::new(Status::OK).with("Content-Base", base).with("Content-Type", "application/sdp");
        Response { body, ..response }
    }

    fn set_up(&mut self, request: &Request) -> Response {
        if let State::Playing(_) = self.state {
            return Response::new(Status::METHOD_NOT_VALID);
        }
        let Some((number, stream)) = self.found(&request.uri) else { return Response::new(Status::NOT_FOUND) };
        let streams = &self.settings.presentations[number].streams;
        let stream = match (stream, streams.len()) {
            (Some(stream), _) => stream,
            (None, 1) => 0,
            // Section 10.4: each stream is set up by itself.
            (None, _) => return Response::new(Status::AGGREGATE_NOT_ALLOWED),
        };
        if matches!(self.state, State::Ready(other) if other != number) {
            return Response::new(Status::METHOD_NOT_VALID);
        }
        let ssrc = streams[stream].ssrc;
        let count = streams.len();
        let offered = request.headers.all("Transport").flat_map(Transport::parse_all);
        let mut agreed = offered.into_iter().filter_map(|transport| self.accept(&transport, ssrc));
        let Some((delivery, transport)) = agreed.find(|(delivery, _)| !self.is_taken(*delivery, stream)) else {
            return Response::new(Status::UNSUPPORTED_TRANSPORT);
        };
        drop(agreed);
        self.state = State::Ready(number);
        self.deliveries.resize(count, None);
        self.deliveries[stream] = Some(delivery);
        let session = format!("{};timeout={}", self.session, self.settings.timeout.as_secs());
        Response::new(Status::OK).with("Transport", transport.to_string()).with("Session", session)
    }

    /// Whether another stream has one of these channels already.
    fn is_taken(&self, delivery: Delivery, stream: usize) -> bool {
        let others = self.deliveries.iter().enumerate().filter(|(other, _)| *other != stream);
        others.filter_map(|(_, taken)| *taken).any(|taken| match (taken, delivery) {
            (Delivery::Interleaved(a, b), Delivery::Interleaved(c, d)) => a == c || a == d || b == c || b == d,
            (Delivery::Udp(a, b), Delivery::Udp(c, d)) => a == c || a == d || b == c || b == d,
            _ => false,
        })
    }

    /// The transport as it is agreed upon, where it can be.
    fn accept(&self, offered: &Transport, ssrc: u32) -> Option<(Delivery, Transport)> {
        let ssrc = Some(ssrc);
        match offered.carriage {
            Carriage::Interleaved { channels } => {
                let (rtp, rtcp) = channels.unwrap_or((0, Some(1)));
                // With one channel there is no RTCP; a number for it is taken all the same.
                let of_rtcp = rtcp.unwrap_or(rtp.wrapping_add(1));
                let carriage = Carriage::Interleaved { channels: Some((rtp, rtcp)) };
                (of_rtcp != rtp).then_some((Delivery::Interleaved(rtp, of_rtcp), Transport { carriage, ssrc }))
            }
            Carriage::Udp { client, .. } => {
                let ((rtp, rtcp), server) = (client?, self.settings.ports?);
                let of_rtcp = rtcp.or(rtp.checked_add(1))?;
                let server = Some((server.0, Some(server.1)));
                let carriage = Carriage::Udp { client: Some((rtp, Some(of_rtcp))), server };
                (rtp > 0).then_some((Delivery::Udp(rtp, of_rtcp), Transport { carriage, ssrc }))
            }
        }
    }

    fn play(&mut self, request: &Request) -> Response {
        let number = match self.state {
            State::Init => return Response::new(Status::METHOD_NOT_VALID),
            State::Ready(number) => number,
            State::Playing(_) => return Response::new(Status::OK).with("Session", self.session.clone()),
        };
        self.state = State::Playing(number);
        self.events.push_back(ServerEvent::Play(number, self.deliveries.clone()));
        let base = request.uri.trim_end_matches('/');
        let url = match self.found(base) {
            Some((_, Some(_))) => base.rsplit_once('/').map_or(base, |(whole, _)| whole),
            _ => base,
        };
        let streams = self.settings.presentations[number].streams.iter().zip(0..);
        let wanted = streams.zip(&self.deliveries).filter(|(_, delivery)| delivery.is_some());
        let begins = wanted.map(|((start, stream), _)| {
            format!("url={url}/{CONTROL}{stream};seq={};rtptime={}", start.sequence, start.timestamp)
        });
        // It begins at the beginning, whatever is asked for: that is said (section 10.5).
        Response::new(Status::OK)
            .with("Session", self.session.clone())
            .with("Range", "npt=0.000-")
            .with("RTP-Info", begins.collect::<Vec<_>>().join(","))
    }

    fn tear_down(&mut self) -> Response {
        self.end();
        Response::new(Status::OK)
    }

    fn end(&mut self) {
        if let State::Playing(_) = self.state {
            self.events.push_back(ServerEvent::Stop);
        }
        self.state = State::Init;
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

/// The description with the names by which its streams and the whole are asked for (appendix C.1.1), and without ports of its
/// own, which SETUP agrees upon.
fn with_control(description: &str) -> String {
    let (mut text, mut media) = (String::new(), 0);
    let name = |media: usize| if media == 0 { String::new() } else { format!("a=control:{CONTROL}{}\r\n", media - 1) };
    for line in description.lines() {
        match line.strip_prefix("m=").map(|media| media.splitn(3, ' ').collect::<Vec<_>>()) {
            Some(parts) if parts.len() == 3 => {
                let before = if media == 0 { "a=control:*\r\na=range:npt=0-\r\n".to_owned() } else { name(media) };
                media += 1;
                text += &format!("{before}m={} 0 {}\r\n", parts[0], parts[2]);
            }
            _ => text += &format!("{line}\r\n"),
        }
    }
    text + &name(media)
}
