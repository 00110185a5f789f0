//! RTSP 1.0 (RFC 2326), with the packets of RTP and RTCP between its messages (section 10.12).
//!
//! OPTIONS, DESCRIBE, SETUP and PLAY, one at a time; the movie begins with PLAY. Where there is RTCP, the sender ends its stream
//! by BYE, and the receiver then the session by TEARDOWN. Where there is none (b=RS:0, b=RR:0, RFC 3556), nothing in RTSP says
//! that a stream has ended but the end of the connection, and signs of life are requests of GET_PARAMETER.
//!
//! Over UDP (section 12.39) the packets of RTP and RTCP go in datagrams beside the connection, and may be lost: a sender waits for
//! TEARDOWN only for a time, and a receiver for packets.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use framewire_units::{Bitrate, Duration, Seed, Timestamp};
use framewire_wire::rtcp::RtcpBandwidth;
use framewire_wire::rtp_payload::{CLOCK_RATE, PayloadFormat, StreamDescription, StreamOrigin};
use framewire_wire::rtsp::{
    Account, Client, ClientEvent, ClientSettings, NptRange, Playing, Presentation, SESSION_TIMEOUT, Server,
    ServerEvent, ServerSettings, StreamStart, Want, put_interleaved,
};
use framewire_wire::sdp;

use super::{Asking, Heard, Serving, Wish};
use crate::channels::MOVIE_CHANNEL;
use crate::rtcp::{INTERLEAVED_HEADERS, RtcpEnd, RtcpLog, RtcpSetup};

/// The channel of RTP, which the client asks for (RFC 2326, section 10.12).
pub(crate) const RTP_CHANNEL: u8 = 0;

/// That of RTCP.
const RTCP_CHANNEL: u8 = 1;

/// What a stream is taken to have whose description does not say its bandwidth: reports are seldom at any such (RFC 3550, section 6.2).
const ASSUMED_RATE: Bitrate = Bitrate::from_mbps(2);

/// The stream's path and URL. Neither depends on addresses, which a simulated network has none of.
const PATH: &str = "/movie";
const URL: &str = "rtsp://sender/movie";

/// How long a sender over UDP waits for TEARDOWN when it has said BYE, which may be lost: some round trips of the slowest paths, and
/// the timeout of a connection that loses the request too (RFC 6298: 1 s).
const FAREWELL: Duration = Duration::from_secs(3);

/// Such a session, as both ends know it.
#[derive(Clone, Debug)]
pub(crate) struct RtspSetup {
    description: String,
    ssrc: u32,
    first: (u16, u32),
    rtcp: Option<RtcpSetup>,
    /// Where it is served with sound: where that stream begins, and its reports.
    sound: Option<(StreamStart, Option<RtcpSetup>)>,
    seed: Seed,
}

impl RtspSetup {
    /// Of a stream in this format, which begins with the access unit `first` and the time stamp `timestamp`.
    pub(crate) fn new(
        format: &PayloadFormat,
        first: &[u8],
        origin: StreamOrigin,
        timestamp: u32,
        rtcp: Option<RtcpSetup>,
    ) -> Self {
        let bandwidth = rtcp.as_ref().map_or(RtcpBandwidth::NONE, |rtcp| rtcp.bandwidth);
        let description = sdp::describe(format, Ipv4Addr::UNSPECIFIED.into(), 0, first);
        let description = sdp::with_rtcp_bandwidth(&description, bandwidth);
        let StreamOrigin { ssrc, initial_sequence } = origin;
        Self { description, ssrc, first: (initial_sequence, timestamp), rtcp, sound: None, seed: Seed(u64::from(ssrc)) }
    }

    /// Its reports about the video.
    pub(crate) fn reports(&self) -> Option<&RtcpSetup> {
        self.rtcp.as_ref()
    }

    /// The same with sound as a second stream, of which its description says so much.
    pub(crate) fn with_sound(
        self,
        (format, description): (&PayloadFormat, &StreamDescription),
        start: StreamStart,
        rtcp: Option<RtcpSetup>,
    ) -> Self {
        let stream = sdp::Stream { format, port: 0, description };
        let alone = sdp::describe_session(Ipv4Addr::UNSPECIFIED.into(), &[stream]);
        let bandwidth = rtcp.as_ref().map_or(RtcpBandwidth::NONE, |rtcp| rtcp.bandwidth);
        let alone = sdp::with_rtcp_bandwidth(&alone, bandwidth);
        let media = alone.find("m=").map_or("", |at| &alone[at..]);
        Self { description: self.description + media, sound: Some((start, rtcp)), ..self }
    }

    /// The sender's end of the reports about each stream, which joins now and keeps nothing; `None` where there are none. Below them are
    /// so many bytes of headers, where not those of the connection.
    pub(crate) fn report_ends(&self, now: Timestamp, lower_headers: Option<usize>) -> Vec<Option<RtcpEnd>> {
        let of_sound = self.sound.iter().map(|(_, rtcp)| rtcp);
        let setups = [&self.rtcp].into_iter().chain(of_sound);
        let below = |setup: &RtcpSetup| RtcpSetup {
            lower_headers: lower_headers.unwrap_or(setup.lower_headers),
            ..setup.clone()
        };
        setups.map(|setup| setup.as_ref().map(|setup| below(setup).sender(now).unrecorded())).collect()
    }

    /// The same, whose draws are of this seed.
    pub(crate) fn seeded(&mut self, seed: Seed) {
        self.seed = seed;
        if let Some(rtcp) = &mut self.rtcp {
            rtcp.seed = seed;
        }
    }

    /// The stream, at this path.
    pub(crate) fn presentation(&self, path: &str) -> Presentation {
        let (sequence, timestamp) = self.first;
        let video = StreamStart { ssrc: self.ssrc, sequence, timestamp };
        let streams = [video].into_iter().chain(self.sound.as_ref().map(|(start, _)| *start)).collect();
        Presentation { path: path.to_owned(), description: self.description.clone(), streams, length: None }
    }

    /// The sender's end, from the origin of the run on.
    pub(crate) fn serving(&self) -> Box<dyn Serving> {
        Box::new(RtspServing { setup: self.rtcp.clone(), ..self.server(None) })
    }

    /// The same whose packets go in datagrams from this port, and reports from the next one.
    pub(crate) fn serving_over_udp(&self, port: u16) -> Box<dyn Serving> {
        Box::new(RtspServing { is_told_goodbye: self.rtcp.is_some(), ..self.server(Some((port, port + 1))) })
    }

    fn server(&self, ports: Option<(u16, u16)>) -> RtspServing {
        let settings = ServerSettings {
            presentations: [self.presentation(PATH)].into(),
            over_udp: ports.is_some(),
            account: None,
            timeout: SESSION_TIMEOUT,
        };
        let random = self.seed.stream("rtsp server", &[self.ssrc.into()]);
        let server = Server::new(settings, Timestamp::ZERO, random);
        let (wishes, transmit) = (VecDeque::new(), VecDeque::new());
        RtspServing {
            server,
            ports,
            setup: None,
            rtcp: None,
            wishes,
            transmit,
            is_told_goodbye: false,
            farewell: None,
            over: false,
        }
    }

    /// The receiver's end, which has its first request ready.
    pub(crate) fn asking(&self) -> Box<dyn Asking> {
        let want = if self.rtcp.is_some() { Want::Interleaved } else { Want::InterleavedWithoutReports };
        Box::new(RtspAsking { setup: self.rtcp.clone(), ..self.client(want) })
    }

    /// The same to which packets come in datagrams, at this port, and reports at the next one.
    pub(crate) fn asking_over_udp(&self, port: u16) -> Box<dyn Asking> {
        Box::new(RtspAsking { over_udp: true, ..self.client(Want::Udp(port, port + 1)) })
    }

    fn client(&self, want: Want) -> RtspAsking {
        let settings = ClientSettings { url: URL.to_owned(), want, account: None };
        let random = self.seed.stream("rtsp client", &[self.ssrc.into()]);
        let client = Client::new(settings, Timestamp::ZERO, random);
        RtspAsking::new(client, None)
    }
}

/// A report as it goes between messages.
fn interleaved(report: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    put_interleaved(RTCP_CHANNEL, report, &mut frame);
    frame
}

/// Hands over the reports that are due.
fn report(rtcp: &mut Option<RtcpEnd>, now: Timestamp, transmit: &mut VecDeque<Vec<u8>>) {
    let Some(rtcp) = rtcp else { return };
    let sent = rtcp.drive(now, |datagram| {
        transmit.push_back(interleaved(datagram));
        Ok(true)
    });
    sent.expect("invariant: a queue takes all");
}

/// The sender's end: a server.
#[derive(Debug)]
struct RtspServing {
    server: Server,
    /// From which it sends, where in datagrams: of RTP, and of RTCP.
    ports: Option<(u16, u16)>,
    setup: Option<RtcpSetup>,
    /// From PLAY on.
    rtcp: Option<RtcpEnd>,
    wishes: VecDeque<Wish>,
    transmit: VecDeque<Vec<u8>>,
    /// Over UDP, with reports: the receiver hears BYE, and answers with TEARDOWN.
    is_told_goodbye: bool,
    /// Until when that is waited for.
    farewell: Option<Timestamp>,
    /// All was sent, and nobody is to say anything more about it.
    over: bool,
}

impl RtspServing {
    fn drain(&mut self, now: Timestamp) {
        while let Some(event) = self.server.poll_event() {
            match event {
                // What is wrong behind a request that is answered here breaks nothing any more.
                ServerEvent::Open { .. } => drop(self.server.handle_opened(now, self.ports)),
                ServerEvent::Play { movie, .. } => {
                    let presentation = self.server.presentation(movie);
                    // It begins at the beginning, whatever is asked for: that is said (section 10.5).
                    let range = NptRange::from(Duration::ZERO, None);
                    let playing = Playing { range, streams: presentation.streams.clone() };
                    drop(self.server.handle_playing(now, Ok(playing)));
                    if self.rtcp.is_none() {
                        self.rtcp = self.setup.as_ref().map(|setup| setup.sender(now));
                    }
                    self.wishes.push_back(Wish::Begin);
                }
                // A flow of the lab has one way: its receiver does not pause.
                ServerEvent::Pause => {}
                ServerEvent::Rtcp(_, packet) => {
                    if let Some(rtcp) = &mut self.rtcp {
                        rtcp.handle_rtcp(now, &packet);
                    }
                }
                ServerEvent::Stop => self.wishes.push_back(Wish::End),
            }
        }
        self.transmit.extend(std::iter::from_fn(|| self.server.poll_transmit()));
        report(&mut self.rtcp, now, &mut self.transmit);
    }
}

impl Serving for RtspServing {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) -> Result<(), String> {
        let handled = self.server.handle_bytes(now, bytes);
        self.drain(now);
        handled.map_err(|error| error.to_string())
    }

    fn handle_close(&mut self, now: Timestamp) {
        self.server.handle_close();
        self.drain(now);
    }

    fn handle_life(&mut self, now: Timestamp) {
        self.server.handle_life(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.server.handle_timeout(now);
        if self.farewell.is_some_and(|until| until <= now) {
            (self.farewell, self.over) = (None, true);
        }
        self.drain(now);
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        let of_rtcp = self.rtcp.as_ref().and_then(RtcpEnd::next_timeout);
        self.server.next_timeout().into_iter().chain(of_rtcp).chain(self.farewell).min()
    }

    fn handle_all_sent(&mut self, now: Timestamp) {
        match &mut self.rtcp {
            Some(rtcp) => rtcp.leave(now),
            None if self.is_told_goodbye => self.farewell = Some(now + FAREWELL),
            None => self.over = true,
        }
        self.drain(now);
    }

    fn poll_wish(&mut self) -> Option<Wish> {
        self.wishes.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.pop_front()
    }

    fn is_over(&self) -> bool {
        self.over || self.server.is_over()
    }

    fn handle_packet_sent(&mut self, now: Timestamp, timestamp: u32, octets: u32) {
        if let Some(rtcp) = &mut self.rtcp {
            rtcp.handle_packet_sent(now, timestamp, octets as usize);
        }
    }

    fn take_rtcp(&mut self) -> Option<RtcpLog> {
        self.rtcp.take().map(RtcpEnd::into_log)
    }
}

/// The receiver's end: a client.
#[derive(Debug)]
pub(crate) struct RtspAsking {
    client: Client,
    setup: Option<RtcpSetup>,
    /// From the answer to PLAY on.
    rtcp: Option<RtcpEnd>,
    heard: VecDeque<Heard>,
    transmit: VecDeque<Vec<u8>>,
    /// Packets come beside the connection.
    over_udp: bool,
    /// When nothing has come of them for too long.
    silent: Option<Timestamp>,
    /// PLAY was answered.
    plays: bool,
    /// A packet of the movie came.
    begun: bool,
}

impl RtspAsking {
    fn new(client: Client, setup: Option<RtcpSetup>) -> Self {
        let (heard, transmit) = (VecDeque::new(), VecDeque::new());
        Self { client, setup, rtcp: None, heard, transmit, over_udp: false, silent: None, plays: false, begun: false }
    }

    /// That plays the video of any server, from now on, and reports about it. What it draws is of this seed.
    pub(crate) fn at(url: &str, account: Option<Account>, now: Timestamp, seed: Seed) -> Self {
        let settings = ClientSettings { url: url.to_owned(), want: Want::Interleaved, account };
        let mut random = seed.stream("rtsp client", &[]);
        let ssrc = random.next_u64() as u32;
        let setup = RtcpSetup {
            flow: "rtsp".to_owned(),
            ssrc,
            bandwidth: RtcpSetup::bandwidth(ASSUMED_RATE, true),
            seed,
            media: MOVIE_CHANNEL,
            clock_rate: CLOCK_RATE,
            lower_headers: INTERLEAVED_HEADERS,
        };
        Self::new(Client::new(settings, now, random), Some(setup))
    }

    fn drain(&mut self, now: Timestamp) {
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Described(_) => {}
                ClientEvent::Playing(_) => {
                    self.plays = true;
                    self.heard.push_back(Heard::Begins);
                    self.handle_life(now);
                    self.rtcp = self.setup.as_ref().map(|setup| setup.receiver(now));
                }
                ClientEvent::Rtp(packet) => {
                    self.begun = true;
                    if let Some(rtcp) = &mut self.rtcp {
                        rtcp.handle_rtp(now, &packet);
                    }
                    self.heard.push_back(Heard::Movie(packet));
                }
                ClientEvent::Rtcp(packet) => {
                    if let Some(rtcp) = &mut self.rtcp {
                        rtcp.handle_rtcp(now, &packet);
                    }
                }
                ClientEvent::Ended(reason) => {
                    self.silent = None;
                    self.heard.push_back(Heard::Ended(reason));
                }
            }
        }
        report(&mut self.rtcp, now, &mut self.transmit);
        if self.rtcp.as_ref().is_some_and(RtcpEnd::is_alone) {
            self.client.stop(now);
        }
        self.transmit.extend(std::iter::from_fn(|| self.client.poll_transmit()));
    }
}

impl Asking for RtspAsking {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        // What broke it is among its events.
        drop(self.client.handle_bytes(now, bytes));
        self.drain(now);
    }

    fn handle_close(&mut self, now: Timestamp) {
        match self.plays {
            // The end of the stream, or of a run that was cut off, which the sender tells.
            true => self.heard.push_back(Heard::Ended(None)),
            false => self.client.handle_close(),
        }
        self.drain(now);
    }

    fn handle_life(&mut self, now: Timestamp) {
        if self.over_udp && !self.client.is_over() {
            self.silent = Some(now + SESSION_TIMEOUT);
        }
    }

    fn handle_last(&mut self, now: Timestamp) {
        self.silent = None;
        self.client.stop(now);
        self.drain(now);
    }

    fn handle_timeout(&mut self, now: Timestamp) {
        self.client.handle_timeout(now);
        if self.silent.is_some_and(|at| at <= now) {
            self.heard.push_back(Heard::Ended(Some(format!("nothing came for {} s", SESSION_TIMEOUT.as_secs()))));
            self.handle_last(now);
        }
        self.drain(now);
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        let of_rtcp = self.rtcp.as_ref().and_then(RtcpEnd::next_timeout);
        self.client.next_timeout().into_iter().chain(of_rtcp).chain(self.silent).min()
    }

    fn poll_heard(&mut self) -> Option<Heard> {
        self.heard.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.extend(std::iter::from_fn(|| self.client.poll_transmit()));
        self.transmit.pop_front()
    }

    fn has_begun(&self) -> bool {
        self.begun
    }

    fn take_rtcp(&mut self) -> Option<RtcpLog> {
        self.rtcp.take().map(RtcpEnd::into_log)
    }
}
