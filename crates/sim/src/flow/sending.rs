//! The sender of one flow: from the first frame until nothing is left in its host.

use framewire_recording::record::{FlowSample, FlowStatus};
use framewire_recording::spool::Spool;
use framewire_session::{SenderLog, SenderSession, SenderSocket, SenderWait};
use framewire_tcp::Endpoint;
use framewire_transport::socket::SocketError;
use framewire_units::{DataSize, Timestamp};
use framewire_world::SAMPLE_INTERVAL;

use super::{FlowWires, Socket};

/// What the sender waits for.
enum State {
    /// Frames are offered and written.
    Streaming { wait: SenderWait, next_sample: Timestamp },
    /// All is written; at the time, it looks whether all has left the host.
    Draining { look: Timestamp },
    /// It has ended.
    Ended,
}

/// The sender of one flow.
pub(crate) struct Sending {
    session: SenderSession,
    state: State,
    samples: Spool<FlowSample>,
    status: FlowStatus,
}

impl Sending {
    /// A sender that begins at the origin of the run; `samples` is where they go.
    pub(crate) fn new(session: SenderSession, samples: Spool<FlowSample>) -> Self {
        let wait = SenderWait { writable: false, timeout: Some(Timestamp::ZERO), finished: false };
        Self {
            session,
            state: State::Streaming { wait, next_sample: Timestamp::ZERO },
            samples,
            status: FlowStatus::Partial,
        }
    }

    /// How it ended; of no meaning before it has.
    pub(crate) fn status(&self) -> &FlowStatus {
        &self.status
    }

    /// When it has something to do by itself.
    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        match self.state {
            State::Streaming { wait, next_sample } => Some(wait.timeout.map_or(next_sample, |at| at.min(next_sample))),
            State::Draining { look } => Some(look),
            State::Ended => None,
        }
    }

    /// Does what is due at `now`; with `stop`, ends the stream. True when it has ended by this.
    pub(crate) fn advance(&mut self, now: Timestamp, stop: bool, socket: &mut Socket, wires: &mut FlowWires) -> bool {
        let outcome = self.stream(now, stop, socket, wires).and_then(|()| self.drain(now, stop, socket));
        match outcome {
            Ok(false) => false,
            Ok(true) => {
                let complete = self.session.offered_all() && !stop;
                self.end(now, if complete { FlowStatus::Complete } else { FlowStatus::Partial }, socket, wires)
            }
            Err(error) => {
                self.session.stop(now);
                self.end(now, FlowStatus::Failed(error.to_string()), socket, wires)
            }
        }
    }

    /// What was recorded.
    pub(crate) fn into_parts(self) -> (FlowStatus, SenderLog, Spool<FlowSample>) {
        (self.status, self.session.into_log(), self.samples)
    }

    fn end(&mut self, now: Timestamp, status: FlowStatus, socket: &mut Socket, wires: &mut FlowWires) -> bool {
        self.status = status;
        self.state = State::Ended;
        if let Socket::Tcp(connection) = socket {
            connection.close(now, wires);
        }
        true
    }

    /// Offers and writes as long as the socket takes something.
    fn stream(
        &mut self,
        now: Timestamp,
        stop: bool,
        socket: &mut Socket,
        wires: &mut FlowWires,
    ) -> Result<(), SocketError> {
        while let State::Streaming { wait, next_sample } = &mut self.state {
            if stop {
                self.session.stop(now);
                self.state = State::Draining { look: now };
                return Ok(());
            }
            if now >= *next_sample {
                self.samples.push(socket.sample(now));
                *next_sample = now + SAMPLE_INTERVAL;
            } else if !(wait.timeout.is_some_and(|at| at <= now) || wait.writable && socket.is_writable()) {
                return Ok(());
            }
            let before = socket.queued();
            *wait = socket.drive(now, &mut self.session, wires)?;
            // A socket that says it is writable and takes nothing would be asked for ever.
            let stuck = wait.writable && socket.queued() == before;
            if wait.finished {
                self.state = State::Draining { look: now };
            } else if stuck {
                return Ok(());
            }
        }
        Ok(())
    }

    /// True when nothing is left in this host, or nobody waits for it any more.
    fn drain(&mut self, now: Timestamp, stop: bool, socket: &Socket) -> Result<bool, SocketError> {
        let State::Draining { look } = &mut self.state else { return Ok(false) };
        if stop {
            return Ok(true);
        }
        if now < *look {
            return Ok(false);
        }
        if socket.has_failed() {
            // errno(3): the words of ETIMEDOUT.
            return Err(SocketError { operation: "write", reason: "Connection timed out".to_owned() });
        }
        *look = now + SAMPLE_INTERVAL;
        // Also when nothing is left: the last sample tells what was counted until the end.
        self.samples.push(socket.sample(now));
        Ok(socket.queued() == DataSize::ZERO)
    }
}

impl Socket {
    fn drive(
        &mut self,
        now: Timestamp,
        session: &mut SenderSession,
        wires: &mut FlowWires,
    ) -> Result<SenderWait, SocketError> {
        match self {
            Self::Udp(socket) => session.drive(now, SenderSocket::Datagram(&mut socket.handle(now, wires))),
            Self::Tcp(connection) => session.drive(now, SenderSocket::Stream(&mut connection.sender(now, wires))),
        }
    }

    fn is_writable(&self) -> bool {
        match self {
            Self::Udp(socket) => socket.is_writable(),
            Self::Tcp(connection) => connection.client.is_writable(),
        }
    }

    fn has_failed(&self) -> bool {
        matches!(self, Self::Tcp(connection) if connection.client.has_failed())
    }

    /// What has not left this host, or is not acknowledged (SIOCOUTQ).
    fn queued(&self) -> DataSize {
        match self {
            Self::Udp(socket) => socket.queued(),
            Self::Tcp(connection) => connection.client.queued(),
        }
    }

    fn sample(&self, at: Timestamp) -> FlowSample {
        let queued_bytes = Some(self.queued().as_bytes());
        match self {
            Self::Udp(_) => FlowSample { at, queued_bytes, ..FlowSample::default() },
            Self::Tcp(connection) => FlowSample { queued_bytes, ..endpoint_sample(&connection.client, at) },
        }
    }
}

/// What the sender's endpoint of a connection says.
pub(super) fn endpoint_sample(client: &Endpoint, at: Timestamp) -> FlowSample {
    let info = client.info();
    FlowSample {
        at,
        cwnd_packets: Some(info.cwnd),
        ssthresh_packets: info.ssthresh,
        srtt: Some(info.srtt),
        rttvar: Some(info.rttvar),
        in_flight_packets: Some(info.in_flight),
        unsent_bytes: Some(client.unsent().as_bytes()),
        delivery_rate: info.delivery_rate,
        retransmissions: Some(u32::try_from(info.retransmissions).unwrap_or(u32::MAX)),
        timeouts: Some(u32::try_from(info.timeouts).unwrap_or(u32::MAX)),
        ..FlowSample::default()
    }
}
