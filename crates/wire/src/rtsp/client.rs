use std::collections::VecDeque;

use bytes::Bytes;
use framewire_units::{Duration, RandomStream, Timestamp};

use super::controls::{Controls, joined};
use super::digest::{Account, Challenge};
use super::message::{Request, Response};
use super::reader::{Item, Reader, RtspError};
use super::rtp_info::{PlayedStream, RtpInfo};
use super::server::SESSION_TIMEOUT;
use super::transport::{Carriage, Transport};
use crate::message::{Status, can_be_asked_for};

/// A sign of life goes after this share of the server's timeout.
const KEEP_ALIVE_PART: u32 = 2;

/// The shortest time between two of them, whatever a server says.
const SHORTEST_KEEP_ALIVE: Duration = Duration::from_secs(1);

/// How a client asks for the packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Between the messages, on a channel that is even, and reports on the next one: 0 and 1 of the first stream, 2 and 3 of the second.
    Interleaved,
    /// Between the messages, without a channel for reports.
    InterleavedWithoutReports,
    /// As datagrams, to these ports of its own of RTP and RTCP.
    Udp(u16, u16),
}

impl Want {
    /// The transport that is asked for, of a stream by its number.
    fn transport(self, stream: usize) -> Transport {
        let channel = 2 * stream as u8;
        let carriage = match self {
            Self::Interleaved => Carriage::Interleaved { channels: Some((channel, Some(channel + 1))) },
            Self::InterleavedWithoutReports => Carriage::Interleaved { channels: Some((channel, None)) },
            Self::Udp(rtp, rtcp) => Carriage::Udp { client: Some((rtp, Some(rtcp))), server: None },
        };
        Transport { carriage, ssrc: None }
    }
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSettings {
    /// The stream: `rtsp://host:port/path`, without a name and password.
    pub url: String,
    /// How it asks for the packets of the first stream of video.
    pub want: Want,
    /// How it asks for those of the first stream of sound; `None`: it does not.
    pub sound: Option<Want>,
    /// Who it is, where it is asked.
    pub account: Option<Account>,
    /// What it calls itself in its requests (RFC 2326, section 12.41); `None`: nothing.
    pub user_agent: Option<String>,
}

/// What a client learns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The description of the stream.
    Described(String),
    /// The server sends its streams, video and then sound, in these ways.
    Playing(Vec<PlayedStream>),
    /// A packet of RTP of a stream came between the messages.
    Rtp(usize, Bytes),
    /// A packet of RTCP about one did.
    Rtcp(usize, Bytes),
    /// It ended, because of this; nothing where it was asked to.
    Ended(Option<String>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Options,
    Describe,
    /// Of a stream.
    SetUp(usize),
    Play,
    Playing,
    TearDown,
    Over,
}

/// A client that plays a movie over a connection: OPTIONS, DESCRIBE, SETUP of the first stream of video and maybe of sound, PLAY, signs of
/// life and TEARDOWN (RFC 2326, sections 10 and 14; appendix A.1).
///
/// Contract: send what [`poll_transmit`](Self::poll_transmit) gives, hand in what comes with [`handle_bytes`](Self::handle_bytes),
/// and drain [`poll_event`](Self::poll_event). When [`next_timeout`](Self::next_timeout) has come, call
/// [`handle_timeout`](Self::handle_timeout). [`stop`](Self::stop) ends it. When it [is over](Self::is_over), the connection is to be
/// closed.
#[derive(Debug)]
pub struct Client {
    settings: ClientSettings,
    random: RandomStream,
    reader: Reader,
    step: Step,
    sequence: u32,
    session: Option<String>,
    timeout: Duration,
    challenge: Option<Challenge>,
    answered: u32,
    /// The URL of the whole.
    base: String,
    streams: Vec<Stream>,
    last_sent: Timestamp,
    transmit: VecDeque<Vec<u8>>,
    events: VecDeque<ClientEvent>,
}

/// A stream that is wanted.
#[derive(Debug)]
struct Stream {
    url: String,
    want: Want,
    /// As the server agrees.
    transport: Option<Transport>,
}

impl Client {
    /// A client whose connection is open now.
    pub fn new(settings: ClientSettings, now: Timestamp, random: RandomStream) -> Self {
        let base = settings.url.clone();
        let mut client = Self {
            settings,
            random,
            reader: Reader::default(),
            step: Step::Options,
            sequence: 0,
            session: None,
            timeout: SESSION_TIMEOUT,
            challenge: None,
            answered: 0,
            base,
            streams: Vec::new(),
            last_sent: now,
            transmit: VecDeque::new(),
            events: VecDeque::new(),
        };
        client.ask(now);
        client
    }

    /// Takes the next bytes of the connection.
    ///
    /// # Errors
    /// When they are no RTSP: it is over then.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) -> Result<(), RtspError> {
        self.reader.feed(bytes);
        while self.step != Step::Over {
            match self.reader.poll() {
                Ok(None) => return Ok(()),
                Ok(Some(Item::Response(response))) => self.handle_response(now, &response),
                Ok(Some(Item::Interleaved { channel, packet })) => self.handle_packet(channel, packet),
                Ok(Some(Item::Request(request))) => self.refuse(&request),
                Err(error) => {
                    self.end(Some(error.to_string()));
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The server closed the connection.
    pub fn handle_close(&mut self) {
        self.end((self.step != Step::TearDown).then(|| "the server closed the connection".to_owned()));
    }

    /// Ends the session.
    pub fn stop(&mut self, now: Timestamp) {
        match self.step {
            Step::Over | Step::TearDown => {}
            _ if self.session.is_none() => self.end(None),
            _ => {
                self.step = Step::TearDown;
                self.ask(now);
            }
        }
    }

    /// Gives the server a sign of life.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            let base = self.base.clone();
            self.send(now, "GET_PARAMETER", &base, |request| request);
        }
    }

    /// When a sign of life is due.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        let interval = (self.timeout / KEEP_ALIVE_PART).max(SHORTEST_KEEP_ALIVE);
        (self.step == Step::Playing).then_some(self.last_sent + interval)
    }

    /// The next message that is to be sent.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.pop_front()
    }

    /// What it learnt.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// True when nothing more is said.
    pub fn is_over(&self) -> bool {
        self.step == Step::Over
    }

    /// Asks for the next step.
    fn ask(&mut self, now: Timestamp) {
        let base = self.base.clone();
        match self.step {
            Step::Options => self.send(now, "OPTIONS", &base, |request| request),
            Step::Describe => self.send(now, "DESCRIBE", &base, |request| request.with("Accept", "application/sdp")),
            Step::SetUp(stream) => {
                let Some(Stream { url, want, .. }) = self.streams.get(stream) else { return };
                let (url, transport) = (url.clone(), want.transport(stream).to_string());
                self.send(now, "SETUP", &url, |request| request.with("Transport", transport));
            }
            Step::Play => self.send(now, "PLAY", &base, |request| request.with("Range", "npt=0-")),
            Step::TearDown => self.send(now, "TEARDOWN", &base, |request| request),
            Step::Playing | Step::Over => {}
        }
    }

    fn send(&mut self, now: Timestamp, method: &str, uri: &str, more: impl FnOnce(Request) -> Request) {
        self.sequence += 1;
        self.last_sent = now;
        let mut request = Request::new(method, uri).with("CSeq", self.sequence.to_string());
        if let (Some(challenge), Some(account)) = (&self.challenge, &self.settings.account) {
            self.answered += 1;
            let client_nonce = format!("{:016x}", self.random.next_u64());
            let answer = challenge.answer(account, method, uri, self.answered, &client_nonce);
            request = request.with("Authorization", answer);
        }
        if let Some(user_agent) = &self.settings.user_agent {
            request = request.with("User-Agent", user_agent.clone());
        }
        if let Some(session) = &self.session {
            request = request.with("Session", session.clone());
        }
        self.transmit.push_back(more(request).emit());
    }

    fn handle_response(&mut self, now: Timestamp, response: &Response) {
        // One request is under way at a time, but for signs of life, whose answers say nothing; a server that has no room says so
        // before it reads one, and so without its number.
        let number = response.headers.get("CSeq").map(str::trim);
        let is_latest = number.map_or(response.status != Status::OK, |number| number == self.sequence.to_string());
        if !is_latest || self.step == Step::Playing {
            return;
        }
        if response.status == Status::UNAUTHORIZED {
            return self.authenticate(now, response);
        }
        if self.step == Step::TearDown {
            return self.end(None);
        }
        // What OPTIONS says is not needed: some servers do not know it.
        let may_be_unknown = self.step == Step::Options && response.status != Status::UNAVAILABLE;
        if response.status != Status::OK && !may_be_unknown {
            return self.end(Some(self.refusal(response.status)));
        }
        let next = match self.step {
            Step::Options => Ok(Step::Describe),
            Step::Describe => self.take_description(response),
            Step::SetUp(stream) => self.take_session(response, stream),
            Step::Play => self.begin(response),
            Step::Playing | Step::TearDown | Step::Over => return,
        };
        match next {
            Ok(step) => {
                self.step = step;
                self.ask(now);
            }
            Err(reason) => self.end(Some(reason.to_owned())),
        }
    }

    /// Why a response ends it, and what to ask for instead where that is known.
    fn refusal(&self, status: Status) -> String {
        let Status(code) = status;
        let said = format!("the server answers {code} ({})", status.reason());
        match self.step {
            Step::SetUp(stream) if status == Status::UNSUPPORTED_TRANSPORT => {
                let in_datagrams = self.streams.get(stream).is_some_and(|stream| matches!(stream.want, Want::Udp(..)));
                let (not, instead) = if in_datagrams {
                    ("no datagrams", "rtsp, which goes in its connection")
                } else {
                    ("nothing in its connection", "rtsp+udp, which goes in datagrams")
                };
                format!("{said}: it sends {not}; ask for the transport {instead}")
            }
            _ => said,
        }
    }

    /// Answers the challenge, once; again where only the nonce was old.
    fn authenticate(&mut self, now: Timestamp, response: &Response) {
        let challenge = response.headers.all("WWW-Authenticate").find_map(Challenge::parse);
        let was_asked = self.challenge.is_some();
        match challenge {
            None => self.end(Some("the server asks for authentication other than Digest with MD5".to_owned())),
            Some(_) if self.settings.account.is_none() => {
                self.end(Some("the server asks for a user and password".to_owned()))
            }
            Some(challenge) if was_asked && !challenge.stale => {
                self.end(Some("the server does not accept the user and password".to_owned()));
            }
            Some(challenge) => {
                (self.challenge, self.answered) = (Some(challenge), 0);
                self.ask(now);
            }
        }
    }

    fn take_description(&mut self, response: &Response) -> Result<Step, &'static str> {
        let text = String::from_utf8_lossy(&response.body).into_owned();
        let base = response.headers.get("Content-Base").or(response.headers.get("Content-Location"));
        let base = base.unwrap_or(&self.settings.url).to_owned();
        let controls = Controls::of(&text).ok_or("the description has no video")?;
        self.base =
            controls.whole.filter(|control| *control != "*").map_or(base.clone(), |control| joined(&base, control));
        let stream = |control: Option<&str>, want| {
            let url = control.map_or(base.clone(), |control| joined(&base, control));
            Stream { url, want, transport: None }
        };
        let sound = self.settings.sound.filter(|_| controls.has_sound);
        let sound = sound.map(|want| stream(controls.sound, want));
        self.streams = [stream(controls.video, self.settings.want)].into_iter().chain(sound).collect();
        if !self.streams.iter().map(|stream| &stream.url).chain([&self.base]).all(|url| can_be_asked_for(url)) {
            return Err("the description has a URL that cannot be asked for");
        }
        self.events.push_back(ClientEvent::Described(text.clone()));
        Ok(Step::SetUp(0))
    }

    fn take_session(&mut self, response: &Response, number: usize) -> Result<Step, &'static str> {
        let mut session = response.headers.get("Session").ok_or("the server names no session")?.split(';');
        self.session = session.next().map(|name| name.trim().to_owned());
        let timeout = session.find_map(|part| part.trim().strip_prefix("timeout=")?.trim().parse().ok());
        self.timeout = timeout.map_or(SESSION_TIMEOUT, Duration::from_secs);
        let agreed = response.headers.get("Transport").map(Transport::parse_all).unwrap_or_default();
        let count = self.streams.len();
        let stream = self.streams.get_mut(number).ok_or("there is no such stream")?;
        let is_wanted = |transport: &Transport| {
            matches!(transport.carriage, Carriage::Udp { .. }) == matches!(stream.want, Want::Udp(..))
        };
        let transport = agreed.into_iter().find(is_wanted).ok_or("the server agrees to another transport")?;
        stream.transport = Some(transport);
        Ok(if number + 1 < count { Step::SetUp(number + 1) } else { Step::Play })
    }

    fn begin(&mut self, response: &Response) -> Result<Step, &'static str> {
        let said: Vec<RtpInfo> = response.headers.all("RTP-Info").flat_map(RtpInfo::parse_all).collect();
        let is_alone = self.streams.len() == 1;
        let played = self.streams.iter().map(|stream| {
            let first = RtpInfo::first_packet(&said, &self.base, &stream.url, is_alone);
            Some(PlayedStream { transport: stream.transport.clone()?, first })
        });
        let played: Option<Vec<_>> = played.collect();
        self.events.push_back(ClientEvent::Playing(played.ok_or("there is no transport")?));
        Ok(Step::Playing)
    }

    fn handle_packet(&mut self, channel: u8, packet: Bytes) {
        for (stream, number) in self.streams.iter().zip(0..) {
            let Some(Carriage::Interleaved { channels }) = stream.transport.as_ref().map(|agreed| agreed.carriage)
            else {
                continue;
            };
            match channels.unwrap_or((2 * number as u8, Some(2 * number as u8 + 1))) {
                (rtp, _) if rtp == channel => return self.events.push_back(ClientEvent::Rtp(number, packet)),
                (_, Some(rtcp)) if rtcp == channel => return self.events.push_back(ClientEvent::Rtcp(number, packet)),
                _ => {}
            }
        }
    }

    /// Requests of the server: none is answered but that it is not known.
    fn refuse(&mut self, request: &Request) {
        let response = Response::new(Status::NOT_IMPLEMENTED);
        let sequence = request.headers.get("CSeq").map(str::to_owned);
        let response = sequence.into_iter().fold(response, |response, sequence| response.with("CSeq", sequence));
        // One at a time: a server that asks faster than it reads gets no more answers.
        if self.transmit.len() < 16 {
            self.transmit.push_back(response.emit());
        }
    }

    fn end(&mut self, reason: Option<String>) {
        if self.step != Step::Over {
            self.step = Step::Over;
            self.events.push_back(ClientEvent::Ended(reason));
        }
    }
}
