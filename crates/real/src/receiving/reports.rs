//! The receiver's reports about a stream of RTP, and those of its sender.
//!
//! Those of the video go by the port of the exchange, which is RTCP's as well (RFC 3550, section 11), those of sound by the port above
//! its own. They go where the sender's come from (RFC 4961), and before any came to the port above the one from which its RTP comes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use framewire_endpoint::{Clock, RunClock};
use framewire_kernel::FlowSockets;
use framewire_recording::record::FlowSample;
use framewire_session::half::{Arrival, ChannelId, Channels};
use framewire_session::lifecycle::{Came, HostSockets, MovieReceiving};
use framewire_session::{Announcement, MOVIE_CHANNEL, ReportedSession};
use framewire_sockets::{UdpOptions, UdpRead, UdpSocket};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtcp::{Compound, Report};

use crate::error::RealError;
use crate::exchange::{Answers, Beside, READ_SIZE, above};

/// Datagrams that one look takes: what others send does not keep it from the stream.
const MOST_AT_ONCE: usize = 64;

/// The reports of all sessions of a stream; none where it has none.
#[derive(Default)]
pub(super) struct Reports {
    lines: Vec<Line>,
    /// Datagrams of other hosts.
    pub(super) of_others: u64,
}

/// Those of one session.
struct Line {
    session: ReportedSession,
    /// Its own; `None`: that of the exchange.
    socket: Option<UdpSocket>,
    /// Where the sender's come from.
    to: Option<SocketAddr>,
    /// What came before the stream, of which it is not known whose it is; no more than [`MOST_AT_ONCE`].
    early: VecDeque<Beside>,
}

impl Reports {
    /// Those that are announced, or of which it is not said that there are none, of a stream whose first port is here, and whose sound comes to
    /// a port that a description says. Of that, reports are left out where the port above is taken: the stream comes all the same.
    ///
    /// # Errors
    /// When a port is taken.
    pub(super) fn open(
        announced: &Announcement,
        own: SocketAddr,
        sound_port: Option<u16>,
        answers: &mut Answers,
    ) -> Result<Self, RealError> {
        let line = |session: ReportedSession| {
            let is_beside = session.media == MOVIE_CHANNEL;
            let described = sound_port.filter(|_| !is_beside);
            let port = described.map_or(own.port().saturating_add(session.port), |port| port.saturating_add(1));
            let at = SocketAddr::new(own.ip(), port);
            let socket = match (!is_beside).then(|| UdpSocket::bind(at, &UdpOptions::default())).transpose() {
                Ok(socket) => socket,
                Err(_) if described.is_some() => return Ok(None),
                Err(error) => return Err(RealError::Failed(format!("{error}; it is for the reports of sound"))),
            };
            Ok(Some(Line { session, socket, to: None, early: VecDeque::new() }))
        };
        let lines = announced.reported_sessions().into_iter().filter_map(|session| line(session).transpose());
        let lines = lines.collect::<Result<Vec<_>, RealError>>()?;
        if !lines.is_empty() {
            answers.keep_beside();
        }
        Ok(Self { lines, of_others: 0 })
    }

    /// Hands over what the sender has reported, and throws away and counts what is of other hosts than the one it streams from.
    ///
    /// # Errors
    /// When a socket is broken.
    pub(super) fn take(
        &mut self,
        answers: &mut Answers,
        sockets: &FlowSockets<RunClock>,
        clock: RunClock,
        receiving: &mut MovieReceiving,
    ) -> Result<(), SocketError> {
        let host = sockets.heard().map(|heard| heard.ip());
        for line in &mut self.lines {
            let mut came = std::mem::take(&mut line.early);
            came.append(&mut match &mut line.socket {
                None => answers.take_beside(),
                Some(socket) => read(socket, clock)?,
            });
            let Some(host) = host else {
                self.of_others += came.len().saturating_sub(MOST_AT_ONCE) as u64;
                came.truncate(MOST_AT_ONCE);
                line.early = came;
                continue;
            };
            for Beside { from, came, bytes } in came {
                if host != from.ip() {
                    self.of_others += 1;
                    continue;
                }
                if is_of(line.session.ssrc, &bytes) {
                    line.to = Some(from);
                }
                receiving.handle_arrival(came, line.session.reports, Arrival::Datagram(&bytes));
            }
        }
        Ok(())
    }

    /// What poll(2) waits for beside the exchange.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.lines.iter().filter_map(|line| line.socket.as_ref()).map(AsFd::as_fd)
    }
}

/// Takes what came at a socket of its own.
fn read(socket: &mut UdpSocket, clock: RunClock) -> Result<VecDeque<Beside>, SocketError> {
    let (mut came, mut buffer) = (VecDeque::new(), [0; READ_SIZE]);
    while came.len() < MOST_AT_ONCE
        && let UdpRead::Datagram { length, realtime_nanos, from, .. } = socket.receive(&mut buffer)?
    {
        let (at, bytes) = (clock.arrival(realtime_nanos), buffer[..length].to_vec());
        came.push_back(Beside { from, came: at, bytes });
    }
    Ok(came)
}

/// Whether it is a report of this source; of one that is not known, of any that sends.
fn is_of(ssrc: Option<u32>, datagram: &[u8]) -> bool {
    let is_own = |report: &Report| ssrc.map_or(report.sender.is_some(), |ssrc| report.ssrc == ssrc);
    Compound::parse(datagram).is_ok_and(|compound| compound.reports.first().is_some_and(is_own))
}

/// The sockets of the stream, with those of its reports.
pub(super) struct Reporting<'a> {
    pub(super) sockets: &'a mut FlowSockets<RunClock>,
    pub(super) answers: &'a mut Answers,
    pub(super) reports: &'a mut Reports,
}

impl Channels for Reporting<'_> {
    fn has_room(&self, channel: ChannelId) -> bool {
        self.sockets.has_room(channel)
    }

    /// A report that cannot be sent is lost, as one on its way: the stream comes all the same.
    fn send(
        &mut self,
        channel: ChannelId,
        datagram: &[u8],
        sequence: Option<u32>,
    ) -> Result<DatagramSend, SocketError> {
        let Some(line) = self.reports.lines.iter_mut().find(|line| line.session.reports == channel) else {
            return self.sockets.send(channel, datagram, sequence);
        };
        let Some(to) = line.to.or(self.sockets.heard_on(line.session.media).and_then(above)) else {
            return Ok(DatagramSend::Dropped);
        };
        let sent = match &mut line.socket {
            Some(socket) => socket.send_to(datagram, to),
            None => self.answers.send_to(datagram, to),
        };
        Ok(sent.unwrap_or(DatagramSend::Dropped))
    }

    fn free_room(&mut self, channel: ChannelId) -> Result<DataSize, SocketError> {
        self.sockets.free_room(channel)
    }

    fn write(&mut self, channel: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        self.sockets.write(channel, bytes)
    }

    fn unsent(&mut self, channel: ChannelId) -> Result<DataSize, SocketError> {
        self.sockets.unsent(channel)
    }

    fn finish(&mut self, channel: ChannelId) -> Result<(), SocketError> {
        self.sockets.finish(channel)
    }
}

impl HostSockets for Reporting<'_> {
    fn take(&mut self, now: Timestamp, wanted: &dyn Fn(ChannelId) -> bool) -> Result<Option<Came<'_>>, SocketError> {
        self.sockets.take(now, wanted)
    }

    fn queued(&mut self) -> Result<DataSize, SocketError> {
        self.sockets.queued()
    }

    fn sample(&mut self, at: Timestamp) -> Option<FlowSample> {
        self.sockets.sample(at)
    }
}

#[cfg(test)]
mod tests;
