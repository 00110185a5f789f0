//! The sender's thread of one flow.

use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};

use framewire_emu::{Clock, RECEIVER_ADDRESS, SENDER_ADDRESS};
use framewire_recording::record::{FlowSample, FlowStatus};
use framewire_session::{ConnectionSettings, DatagramSetup, SenderLog, SenderSession, SenderSocket, StreamSetup};
use framewire_sockets::{OpenError, TcpOptions, TcpSender, UdpOptions, UdpSender};
use framewire_transport::socket::SocketError;
use framewire_units::{DataSize, Timestamp};
use framewire_world::SAMPLE_INTERVAL;

use super::progress::{FlowProgress, FlowState};
use super::stop::StopFlag;
use super::waiting::{Interest, earlier, sharpen_timers, wait};

/// Bytes of the headers of IPv4 (RFC 791, 3.1) and TCP (RFC 9293, 3.1) without options.
const IP_AND_TCP_HEADERS: u16 = 40;

/// What the sender's thread leaves behind.
pub struct SendingOutcome {
    /// What the session recorded.
    pub log: SenderLog,
    /// Samples of the flow's state.
    pub samples: Vec<FlowSample>,
    /// How it ended.
    pub status: FlowStatus,
}

/// The kernel's socket of a sender.
pub enum Socket {
    Udp(UdpSender),
    Tcp(TcpSender),
}

/// Streams the flow's movie from inside the sender's host, from the origin of `clock` to the end of the stream: all
/// data has left the host, or the peer has acknowledged it, when this returns. `socket` opens its socket.
pub fn send(
    session: SenderSession,
    socket: impl FnOnce() -> Result<Socket, OpenError>,
    clock: Clock,
    progress: &FlowProgress,
    stop: &StopFlag,
) -> SendingOutcome {
    sharpen_timers();
    sleep_until(clock, Timestamp::ZERO, stop);
    match socket() {
        Ok(socket) => {
            progress.sender_wakes().begin(session.plan().due(0), clock.now());
            Sending { session, socket, clock, progress, stop, samples: Vec::new() }.run()
        }
        Err(error) => SendingOutcome {
            log: session.into_log(),
            samples: Vec::new(),
            status: FlowStatus::Failed(error.to_string()),
        },
    }
}

/// Addresses of a flow's two sockets, the sender's first.
fn addresses(port: u16) -> [SocketAddr; 2] {
    [SENDER_ADDRESS, RECEIVER_ADDRESS].map(|host| SocketAddr::V4(SocketAddrV4::new(host, port)))
}

/// The options of a sender's connection.
pub(super) fn tcp_options(settings: ConnectionSettings) -> TcpOptions {
    TcpOptions {
        send_buffer: settings.send_buffer,
        unsent_limit: settings.unsent_limit,
        congestion: settings.congestion,
        maximum_segment: Some(settings.mtu - IP_AND_TCP_HEADERS),
        // A frame's tail must not wait for an acknowledgement (RFC 9293, 3.7.4).
        no_delay: true,
        ..TcpOptions::default()
    }
}

/// Sleeps until the clock shows `at`, at least until it counts, or `stop` is raised.
pub(super) fn sleep_until(clock: Clock, at: Timestamp, stop: &StopFlag) {
    while !stop.is_raised() {
        let left = clock.until_origin().unwrap_or_default() + at.saturating_since(clock.now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(std::time::Duration::from_millis(100)));
    }
}

/// What the kernel knows of a connection; `None` when it says nothing.
pub(super) fn sample_connection(socket: &TcpSender, at: Timestamp) -> Option<FlowSample> {
    let info = socket.info().ok()?;
    Some(FlowSample {
        at,
        cwnd_packets: Some(info.cwnd_packets),
        ssthresh_packets: info.ssthresh_packets,
        srtt: Some(info.srtt),
        rttvar: Some(info.rttvar),
        in_flight_packets: Some(info.unacked_packets),
        unsent_bytes: info.unsent.map(DataSize::as_bytes),
        queued_bytes: Some(socket.queued().ok()?.as_bytes()),
        delivery_rate: info.delivery_rate,
        retransmissions: Some(info.total_retransmissions),
        timeouts: info.total_timeouts,
        ..FlowSample::default()
    })
}

impl Socket {
    /// That of a datagram flow, in the sender's host.
    ///
    /// # Errors
    /// When the kernel does not make it as the flow says.
    pub fn of_datagrams(setup: &DatagramSetup, port: u16) -> Result<Self, OpenError> {
        let options = UdpOptions {
            send_buffer: setup.common.send_buffer(),
            report_errors: setup.wants_error_reports(),
            ..UdpOptions::default()
        };
        let [local, peer] = addresses(port);
        UdpSender::open(local, peer, &options).map(Self::Udp)
    }

    /// That of a stream flow, in the sender's host.
    ///
    /// # Errors
    /// As [`of_datagrams`](Self::of_datagrams), and when nobody listens.
    pub fn of_stream(setup: &StreamSetup, port: u16) -> Result<Self, OpenError> {
        let [local, peer] = addresses(port);
        TcpSender::start(Some(local), peer, &tcp_options(setup.connection())).map(Self::Tcp)
    }

    fn as_sender_socket(&mut self) -> SenderSocket<'_> {
        match self {
            Self::Udp(socket) => SenderSocket::Datagram(socket),
            Self::Tcp(socket) => SenderSocket::Stream(socket),
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Udp(socket) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }

    /// Bytes that are still in this host: unsent or unacknowledged.
    fn queued(&self) -> Result<DataSize, SocketError> {
        match self {
            Self::Udp(socket) => socket.queued(),
            Self::Tcp(socket) => socket.queued(),
        }
    }

    fn sample(&self, at: Timestamp) -> Option<FlowSample> {
        match self {
            Self::Udp(socket) => {
                let queued_bytes = Some(socket.queued().ok()?.as_bytes());
                Some(FlowSample { at, queued_bytes, ..FlowSample::default() })
            }
            Self::Tcp(socket) => sample_connection(socket, at),
        }
    }
}

struct Sending<'a> {
    session: SenderSession,
    socket: Socket,
    clock: Clock,
    progress: &'a FlowProgress,
    stop: &'a StopFlag,
    samples: Vec<FlowSample>,
}

impl Sending<'_> {
    fn run(mut self) -> SendingOutcome {
        let status = match self.stream().and_then(|()| self.drain()) {
            Ok(()) if self.session.offered_all() && !self.stop.is_raised() => FlowStatus::Complete,
            Ok(()) => FlowStatus::Partial,
            Err(error) => {
                self.session.stop(self.clock.now());
                FlowStatus::Failed(error.to_string())
            }
        };
        self.show_progress();
        SendingOutcome { log: self.session.into_log(), samples: self.samples, status }
    }

    /// Offers and writes until the session is finished or the run is stopped.
    fn stream(&mut self) -> Result<(), SocketError> {
        let mut next_sample = Timestamp::ZERO;
        loop {
            let now = self.clock.now();
            if self.stop.is_raised() {
                self.session.stop(now);
                return Ok(());
            }
            if now >= next_sample {
                self.samples.extend(self.socket.sample(now));
                next_sample = now + SAMPLE_INTERVAL;
            }
            let wanted = self.session.drive(now, self.socket.as_sender_socket())?;
            self.show_progress();
            if wanted.finished {
                return Ok(());
            }
            let interest = if wanted.writable { Interest::Writable } else { Interest::Nothing };
            self.wait(interest, earlier(wanted.timeout, Some(next_sample)))?;
        }
    }

    /// Waits until nothing is left in this host.
    fn drain(&mut self) -> Result<(), SocketError> {
        self.progress.set_state(FlowState::Draining);
        while !self.stop.is_raised() && self.socket.queued()?.as_bytes() > 0 {
            let now = self.clock.now();
            self.samples.extend(self.socket.sample(now));
            self.wait(Interest::Nothing, Some(now + SAMPLE_INTERVAL))?;
        }
        // What was counted until the end.
        self.samples.extend(self.socket.sample(self.clock.now()));
        Ok(())
    }

    fn wait(&self, interest: Interest, deadline: Option<Timestamp>) -> Result<(), SocketError> {
        wait(self.socket.descriptor(), interest, self.clock, deadline, self.stop, self.progress.sender_wakes())
            .map_err(|error| SocketError { operation: "ppoll", reason: error.to_string() })
    }

    fn show_progress(&self) {
        let done = self.session.progress();
        self.progress.set_sender(done.offered, done.discarded);
    }
}
