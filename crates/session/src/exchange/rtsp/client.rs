//! The receiver's end of a session of RTSP.

use std::collections::VecDeque;

use framewire_units::{Seed, Timestamp};
use framewire_wire::rtp_payload::{CLOCK_RATE, FirstPacket};
use framewire_wire::rtsp::{
    Account, Carriage, Client, ClientEvent, ClientSettings, PlayedStream, SESSION_TIMEOUT, StreamStart, Want,
};

use super::{RtspSetup, URL, report};
use crate::announcement::ASSUMED_RATE;
use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL, rtcp_of};
use crate::exchange::{ClientExchange, ExchangeEvent};
use crate::half::ChannelId;
use crate::rtcp::{INTERLEAVED_HEADERS, RtcpEnd, RtcpLog, RtcpSetup};

/// The receiver's end: a client.
#[derive(Debug)]
pub(crate) struct RtspClientExchange {
    client: Client,
    packets: Packets,
    /// From the answer to PLAY on.
    rtcp: Vec<RtcpEnd>,
    events: VecDeque<ExchangeEvent>,
    transmit: VecDeque<Vec<u8>>,
    /// When nothing has come of them for too long.
    silent: Option<Timestamp>,
    /// PLAY was answered.
    plays: bool,
    /// A packet of the movie came.
    begun: bool,
    /// The server's ports of reports in datagrams, by their channels here.
    report_ports: VecDeque<(ChannelId, u16)>,
    /// Of each stream, its first packet, where the server says it.
    first: Vec<Option<FirstPacket>>,
}

/// The channels of datagrams of each stream.
const STREAMS: [ChannelId; 2] = [MOVIE_CHANNEL, SOUND_CHANNEL];

/// Where packets come, and what they are reported about with.
#[derive(Debug)]
pub(super) enum Packets {
    /// Between messages, with reports about each stream there.
    Between(Vec<RtcpSetup>),
    /// In datagrams beside the connection.
    Beside,
}

/// A server that is asked for a movie, and who asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AskedServer<'a> {
    /// `rtsp://host:port/path`, without a name and password.
    pub(crate) url: &'a str,
    /// Where the server wants to know.
    pub(crate) account: Option<&'a Account>,
    /// What the client calls itself.
    pub(crate) user_agent: &'a str,
}

impl AskedServer<'_> {
    fn settings(&self, want: Want, sound: Option<Want>) -> ClientSettings {
        let (url, account) = (self.url.to_owned(), self.account.cloned());
        ClientSettings { url, want, sound, account, user_agent: Some(self.user_agent.to_owned()) }
    }
}

impl RtspClientExchange {
    fn new(client: Client, packets: Packets) -> Self {
        let (events, transmit, rtcp, report_ports, first) = Default::default();
        Self { client, packets, rtcp, events, transmit, silent: None, plays: false, begun: false, report_ports, first }
    }

    /// The receiver of a flow, that wants video and sound so.
    pub(super) fn of(setup: &RtspSetup, want: Want, sound: Want, packets: Packets) -> Self {
        let sound = Some(sound).filter(|_| setup.streams.len() > 1);
        let settings = ClientSettings { url: URL.to_owned(), want, sound, account: None, user_agent: None };
        let random = setup.rtp.seed.stream("rtsp client", &[setup.rtp.flow.into()]);
        Self::new(Client::new(settings, Timestamp::ZERO, random), packets)
    }

    /// That plays the video of any server, from now on, and sound whose clock has so many hertz, interleaved, and reports about them
    /// there. What it draws is of this seed.
    pub(crate) fn at(asked: &AskedServer<'_>, sound: Option<u32>, now: Timestamp, seed: Seed) -> Self {
        let wanted = [Want::Interleaved, Want::Interleaved];
        let reports = reports_of_any(sound, seed, INTERLEAVED_HEADERS);
        Self::of_any(asked, wanted, sound.is_some(), Packets::Between(reports), now, seed)
    }

    /// The same to which packets come in datagrams, at these ports of RTP and RTCP, of video and then of sound; the reports about them are
    /// another's work.
    pub(crate) fn at_over_udp(asked: &AskedServer<'_>, ports: &[(u16, u16)], now: Timestamp, seed: Seed) -> Self {
        let want = |stream: usize| ports.get(stream).map_or(Want::Udp(0, 0), |&(rtp, rtcp)| Want::Udp(rtp, rtcp));
        Self::of_any(asked, [want(0), want(1)], ports.len() > 1, Packets::Beside, now, seed)
    }

    fn of_any(
        asked: &AskedServer<'_>,
        [want, of_sound]: [Want; 2],
        has_sound: bool,
        packets: Packets,
        now: Timestamp,
        seed: Seed,
    ) -> Self {
        let settings = asked.settings(want, has_sound.then_some(of_sound));
        Self::new(Client::new(settings, now, seed.stream("rtsp client", &[])), packets)
    }

    /// What the server says of its ports of RTCP; of one that says nothing, where its reports come from shows it.
    fn take_report_ports(&mut self, played: &[PlayedStream]) {
        for (stream, media) in played.iter().zip(STREAMS) {
            if let Carriage::Udp { server: Some((rtp, rtcp)), .. } = stream.transport.carriage {
                let port = rtcp.or(rtp.checked_add(1));
                self.report_ports.extend(port.map(|port| (rtcp_of(media), port)));
            }
        }
    }

    fn drain(&mut self, now: Timestamp) {
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Described(_) => {}
                ClientEvent::Playing(played) => {
                    self.plays = true;
                    self.take_report_ports(&played);
                    self.first = played.iter().map(|stream| stream.first).collect();
                    self.events.push_back(ExchangeEvent::Begins);
                    self.handle_life(now);
                    if let Packets::Between(setups) = &self.packets {
                        self.rtcp = setups.iter().map(|setup| setup.receiver(now)).collect();
                    }
                }
                ClientEvent::Rtp(stream, packet) => {
                    self.begun = true;
                    self.rtcp.get_mut(stream).into_iter().for_each(|rtcp| rtcp.handle_rtp(now, &packet));
                    self.events.push_back(ExchangeEvent::Movie(packet));
                }
                ClientEvent::Rtcp(stream, packet) => {
                    self.rtcp.get_mut(stream).into_iter().for_each(|rtcp| rtcp.handle_rtcp(now, &packet));
                }
                ClientEvent::Ended(reason) => {
                    self.silent = None;
                    self.events.push_back(ExchangeEvent::Ended(reason));
                }
            }
        }
        report(&mut self.rtcp, now, &mut self.transmit);
        if !self.rtcp.is_empty() && self.rtcp.iter().all(RtcpEnd::is_alone) {
            self.client.stop(now);
        }
        self.transmit.extend(std::iter::from_fn(|| self.client.poll_transmit()));
    }
}

/// The reports about the video of any server, and about sound whose clock has so many hertz, over so many bytes of headers.
pub(crate) fn reports_of_any(sound: Option<u32>, seed: Seed, lower_headers: usize) -> Vec<RtcpSetup> {
    let ssrc = seed.stream("rtcp of a client", &[]).next_u64() as u32;
    let setup = |media, clock_rate| RtcpSetup {
        flow: "rtsp".to_owned(),
        start: StreamStart { ssrc, sequence: 0, timestamp: 0 },
        place: ssrc,
        bandwidth: RtcpSetup::bandwidth(ASSUMED_RATE, true),
        seed,
        media,
        clock_rate,
        lower_headers,
        at_once: false,
    };
    let of_sound = sound.map(|clock_rate| setup(SOUND_CHANNEL, clock_rate));
    [setup(MOVIE_CHANNEL, CLOCK_RATE)].into_iter().chain(of_sound).collect()
}

impl ClientExchange for RtspClientExchange {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        // What broke it is among its events.
        drop(self.client.handle_bytes(now, bytes));
        self.drain(now);
    }

    fn handle_close(&mut self, now: Timestamp) {
        match self.plays {
            // The end of the stream, or of a run that was cut off, which the sender tells.
            true => self.events.push_back(ExchangeEvent::Ended(None)),
            false => self.client.handle_close(),
        }
        self.drain(now);
    }

    fn handle_life(&mut self, now: Timestamp) {
        if matches!(self.packets, Packets::Beside) && !self.client.is_over() {
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
            self.events
                .push_back(ExchangeEvent::Ended(Some(format!("nothing came for {} s", SESSION_TIMEOUT.as_secs()))));
            self.handle_last(now);
        }
        self.drain(now);
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        let of_rtcp = self.rtcp.iter().filter_map(RtcpEnd::next_timeout);
        self.client.next_timeout().into_iter().chain(of_rtcp).chain(self.silent).min()
    }

    fn poll_event(&mut self) -> Option<ExchangeEvent> {
        self.events.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.extend(std::iter::from_fn(|| self.client.poll_transmit()));
        self.transmit.pop_front()
    }

    fn has_begun(&self) -> bool {
        self.begun
    }

    fn first_packet(&self, channel: ChannelId) -> Option<FirstPacket> {
        let stream = STREAMS.iter().position(|one| *one == channel)?;
        self.first.get(stream).copied().flatten()
    }

    fn poll_report_port(&mut self) -> Option<(ChannelId, u16)> {
        self.report_ports.pop_front()
    }

    fn take_rtcp(&mut self) -> Vec<RtcpLog> {
        self.rtcp.drain(..).map(RtcpEnd::into_log).collect()
    }
}
