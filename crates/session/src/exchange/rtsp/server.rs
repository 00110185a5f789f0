//! The sender's end of a session of RTSP.

use std::collections::VecDeque;

use framewire_units::{Duration, Timestamp};
use framewire_wire::rtsp::{NptRange, Playing, SESSION_TIMEOUT, Server, ServerEvent, ServerSettings};

use super::{PATH, RtspSetup, TEARDOWN_WAIT, report};
use crate::channels::SOUND_PORTS;
use crate::exchange::{PlaybackCommand, ServerExchange};
use crate::rtcp::{RtcpEnd, RtcpLog, RtcpSetup};
use crate::sender::PacketSent;

/// The sender's end: a server.
#[derive(Debug)]
pub(super) struct RtspServerExchange {
    server: Server,
    /// From which it sends video, where in datagrams.
    port: Option<u16>,
    /// Reports between messages, which begin with PLAY.
    setups: Vec<RtcpSetup>,
    rtcp: Vec<RtcpEnd>,
    commands: VecDeque<PlaybackCommand>,
    transmit: VecDeque<Vec<u8>>,
    /// Over UDP, with reports: the receiver hears BYE, and answers with TEARDOWN.
    answers_bye: bool,
    /// Until when that is waited for.
    teardown_until: Option<Timestamp>,
    /// All was sent, and nobody is to say anything more about it.
    over: bool,
}

impl RtspServerExchange {
    /// Of a session, whose packets go in datagrams from a port, or between messages.
    pub(super) fn new(setup: &RtspSetup, port: Option<u16>) -> Self {
        let settings = ServerSettings {
            presentations: [setup.presentation(PATH)].into(),
            over_udp: port.is_some(),
            account: None,
            timeout: SESSION_TIMEOUT,
        };
        let random = setup.rtp.seed.stream("rtsp server", &[setup.rtp.flow.into()]);
        let server = Server::new(settings, Timestamp::ZERO, random);
        let (setups, answers_bye) = match port {
            None => (setup.reports().collect(), false),
            Some(_) => (Vec::new(), setup.has_reports()),
        };
        let (rtcp, commands, transmit) = Default::default();
        Self { server, port, setups, rtcp, commands, transmit, answers_bye, teardown_until: None, over: false }
    }

    fn drain(&mut self, now: Timestamp) {
        while let Some(event) = self.server.poll_event() {
            match event {
                // What is wrong behind a request that is answered here breaks nothing any more.
                ServerEvent::Open { stream, .. } => {
                    let port = self.port.map(|port| port + SOUND_PORTS * stream as u16);
                    drop(self.server.handle_opened(now, port.map(|port| (port, port + 1))));
                }
                ServerEvent::Play { movie, .. } => {
                    let presentation = self.server.presentation(movie);
                    // It begins at the beginning, whatever is asked for: that is said (section 10.5).
                    let range = NptRange::from(Duration::ZERO, None);
                    let playing = Playing { range, streams: presentation.streams.clone() };
                    drop(self.server.handle_playing(now, Ok(playing)));
                    self.rtcp.extend(self.setups.drain(..).map(|setup| setup.sender(now)));
                    self.commands.push_back(PlaybackCommand::Begin);
                }
                // A flow of the lab has one way: its receiver does not pause.
                ServerEvent::Pause | ServerEvent::Answered(_) => {}
                ServerEvent::Rtcp(stream, packet) => {
                    self.rtcp.get_mut(stream).into_iter().for_each(|rtcp| rtcp.handle_rtcp(now, &packet));
                }
                ServerEvent::Stop => self.commands.push_back(PlaybackCommand::End),
            }
        }
        self.transmit.extend(std::iter::from_fn(|| self.server.poll_transmit()));
        report(&mut self.rtcp, now, &mut self.transmit);
    }
}

impl ServerExchange for RtspServerExchange {
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
        if self.teardown_until.is_some_and(|until| until <= now) {
            (self.teardown_until, self.over) = (None, true);
        }
        self.drain(now);
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        let of_rtcp = self.rtcp.iter().filter_map(RtcpEnd::next_timeout);
        self.server.next_timeout().into_iter().chain(of_rtcp).chain(self.teardown_until).min()
    }

    fn handle_all_sent(&mut self, now: Timestamp) {
        match () {
            () if !self.rtcp.is_empty() => self.rtcp.iter_mut().for_each(|rtcp| rtcp.leave(now)),
            () if self.answers_bye => self.teardown_until = Some(now + TEARDOWN_WAIT),
            () => self.over = true,
        }
        self.drain(now);
    }

    fn poll_command(&mut self) -> Option<PlaybackCommand> {
        self.commands.pop_front()
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmit.pop_front()
    }

    fn is_over(&self) -> bool {
        self.over || self.server.is_over()
    }

    fn handle_packet_sent(&mut self, now: Timestamp, packet: PacketSent) {
        let about = self.rtcp.get_mut(usize::from(packet.is_sound));
        about.into_iter().for_each(|rtcp| rtcp.handle_packet_sent(now, packet.timestamp, packet.octets as usize));
    }

    fn take_rtcp(&mut self) -> Vec<RtcpLog> {
        self.rtcp.drain(..).map(RtcpEnd::into_log).collect()
    }
}
