//! The receiver's end of a session of RTSP.

use std::collections::VecDeque;

use framewire_units::{Seed, Timestamp};
use framewire_wire::rtp_payload::CLOCK_RATE;
use framewire_wire::rtsp::{Account, Client, ClientEvent, ClientSettings, SESSION_TIMEOUT, Want};

use super::{ASSUMED_RATE, RtspSetup, URL, report};
use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::exchange::{ClientExchange, ExchangeEvent};
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
}

/// Where packets come, and what they are reported about with.
#[derive(Debug)]
pub(super) enum Packets {
    /// Between messages, with reports about each stream there.
    Between(Vec<RtcpSetup>),
    /// In datagrams beside the connection.
    Beside,
}

impl RtspClientExchange {
    fn new(client: Client, packets: Packets) -> Self {
        let (events, transmit, rtcp) = Default::default();
        Self { client, packets, rtcp, events, transmit, silent: None, plays: false, begun: false }
    }

    /// The receiver of a flow, that wants video and sound so.
    pub(super) fn of(setup: &RtspSetup, want: Want, sound: Want, packets: Packets) -> Self {
        let sound = Some(sound).filter(|_| setup.streams.len() > 1);
        let settings = ClientSettings { url: URL.to_owned(), want, sound, account: None };
        let random = setup.seed.stream("rtsp client", &[setup.ssrc().into()]);
        Self::new(Client::new(settings, Timestamp::ZERO, random), packets)
    }

    /// That plays the video of any server, from now on, and sound whose clock has so many hertz, and reports about them. What it draws is
    /// of this seed.
    pub(crate) fn at(url: &str, account: Option<Account>, sound: Option<u32>, now: Timestamp, seed: Seed) -> Self {
        let want_sound = sound.map(|_| Want::Interleaved);
        let settings = ClientSettings { url: url.to_owned(), want: Want::Interleaved, sound: want_sound, account };
        let mut random = seed.stream("rtsp client", &[]);
        let ssrc = random.next_u64() as u32;
        let setup = |media, clock_rate| RtcpSetup {
            flow: "rtsp".to_owned(),
            ssrc,
            bandwidth: RtcpSetup::bandwidth(ASSUMED_RATE, true),
            seed,
            media,
            clock_rate,
            lower_headers: INTERLEAVED_HEADERS,
            at_once: false,
        };
        let of_sound = sound.map(|clock_rate| setup(SOUND_CHANNEL, clock_rate));
        let setups = [setup(MOVIE_CHANNEL, CLOCK_RATE)].into_iter().chain(of_sound).collect();
        Self::new(Client::new(settings, now, random), Packets::Between(setups))
    }

    fn drain(&mut self, now: Timestamp) {
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Described(_) => {}
                ClientEvent::Playing(_) => {
                    self.plays = true;
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

    fn take_rtcp(&mut self) -> Vec<RtcpLog> {
        self.rtcp.drain(..).map(RtcpEnd::into_log).collect()
    }
}
