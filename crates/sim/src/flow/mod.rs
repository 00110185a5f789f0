//! One flow: its two sessions, its socket, and what it waits for.

mod cargo;
mod receiving;
mod sending;

use framewire_link::Port;
use framewire_probe::record::FlowStatus;
use framewire_scenario::{self as scenario, Scenario};
use framewire_session::FlowSetup;
use framewire_tcp::congestion::Algorithm;
use framewire_tcp::{IP_AND_TCP_HEADERS, TcpConfig};
use framewire_units::{DataSize, Duration, Seed, Timestamp};
use framewire_world::{FlowOutcome, SETTLING_AT_MOST, network_model};

pub(crate) use self::cargo::{Body, Cargo, FlowWires};
pub(crate) use self::receiving::MovieSink;
use self::receiving::Receiving;
use self::sending::Sending;
use crate::error::SimError;
use crate::socket::{Connection, UdpSender};

/// `net.core.wmem_default` of Linux: SO_SNDBUF of a socket that nobody set.
const DEFAULT_SEND_BUFFER: DataSize = DataSize::from_bytes(212_992);

/// Time between two looks whether everything has arrived that was under way; as the emulated world looks.
const SETTLING_TICK: Duration = Duration::from_millis(50);

/// The sockets of a flow.
pub(crate) enum Socket {
    Udp(UdpSender),
    Tcp(Box<Connection>),
}

/// How far the sender of a flow has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It has something to do.
    Sending,
    /// It has ended, and nothing tells the receiver so: what is under way may still come.
    Settling { look: Timestamp, deadline: Timestamp },
    /// It has ended; the receiver is told so by the stream itself, or has been told.
    Ended,
}

/// One flow.
pub(crate) struct Flow {
    socket: Socket,
    sending: Sending,
    receiving: Receiving,
    phase: Phase,
    receiver_ended: bool,
    /// When it has something to do by itself.
    deadline: Timestamp,
}

impl Flow {
    /// Flow number `number`, ready to begin at the origin of the run. `largest_packet` is the MTU of the interfaces that
    /// it shares.
    pub(crate) fn new(
        setup: &FlowSetup,
        number: usize,
        largest_packet: u16,
        seed: Seed,
        sink: MovieSink,
    ) -> Result<Self, SimError> {
        let session = setup.sender().map_err(|error| SimError::Input(error.to_string()))?;
        let settings = setup.settings();
        let station = usize::from(settings.station);
        let socket = if setup.kind().is_stream() {
            let (client, server) = tcp_configs(setup, largest_packet, seed)?;
            Socket::Tcp(Box::new(Connection::open(number, station, &client, &server, Timestamp::ZERO)))
        } else {
            Socket::Udp(UdpSender::new(number, station, settings.send_buffer.unwrap_or(DEFAULT_SEND_BUFFER)))
        };
        Ok(Self {
            socket,
            sending: Sending::new(session),
            receiving: Receiving::new(setup.receiver(), sink),
            phase: Phase::Sending,
            receiver_ended: false,
            deadline: Timestamp::ZERO,
        })
    }

    /// When it has something to do by itself; never earlier than it was told of.
    pub(crate) fn deadline(&self) -> Timestamp {
        self.deadline
    }

    /// True when both sides have ended.
    pub(crate) fn is_done(&self) -> bool {
        self.receiver_ended && self.phase == Phase::Ended
    }

    /// A packet of this flow comes out at a host.
    pub(crate) fn handle_delivery(&mut self, now: Timestamp, to: Port, body: Body, wires: &mut FlowWires) {
        match (&mut self.socket, body) {
            (Socket::Udp(socket), Body::Datagram(bytes)) => {
                if !self.receiver_ended {
                    self.receiving.handle_datagram(now, &bytes);
                }
                socket.recycle(bytes);
            }
            (Socket::Tcp(connection), Body::Segment(segment)) => {
                connection.handle_segment(now, to, &segment, wires);
                self.advance(now, false, wires);
            }
            _ => {}
        }
    }

    /// The sender's own device has let go of a packet of this flow.
    pub(crate) fn handle_released(&mut self, now: Timestamp, payload: u32, wires: &mut FlowWires) {
        match &mut self.socket {
            Socket::Udp(socket) => socket.handle_released(DataSize::from_bytes(u64::from(payload))),
            Socket::Tcp(connection) => connection.handle_released(now, payload, wires),
        }
        self.advance(now, false, wires);
    }

    /// Does what is due at `now`; with `stop`, the sender ends.
    pub(crate) fn advance(&mut self, now: Timestamp, stop: bool, wires: &mut FlowWires) {
        if let Socket::Tcp(connection) = &mut self.socket {
            connection.handle_timeout(now, wires);
        }
        if self.phase == Phase::Sending && self.sending.advance(now, stop, &mut self.socket, wires) {
            self.phase = self.after_sending(now);
        }
        let told = self.has_settled(now, wires);
        if !self.receiver_ended {
            self.receiver_ended = self.receiving.advance(now, told, &mut self.socket, wires);
        }
        if told || self.receiver_ended && matches!(self.phase, Phase::Settling { .. }) {
            self.phase = Phase::Ended;
        }
        self.deadline = self.next_deadline();
    }

    /// A stream that ended well tells its receiver so; a datagram flow, or one that was cut off, does not.
    fn after_sending(&self, now: Timestamp) -> Phase {
        match self.socket {
            Socket::Tcp(_) if *self.sending.status() == FlowStatus::Complete => Phase::Ended,
            _ => Phase::Settling { look: now + SETTLING_TICK, deadline: now + SETTLING_AT_MOST },
        }
    }

    /// True when nothing more comes, and the receiver is to be told so.
    fn has_settled(&mut self, now: Timestamp, wires: &FlowWires) -> bool {
        let Phase::Settling { look, deadline } = &mut self.phase else { return false };
        if now < *look {
            return false;
        }
        *look = now + SETTLING_TICK;
        wires.forward_under_way() == 0 || now >= *deadline
    }

    fn next_deadline(&self) -> Timestamp {
        if self.is_done() {
            return Timestamp::MAX;
        }
        let endpoints = match &self.socket {
            Socket::Udp(_) => None,
            Socket::Tcp(connection) => connection.next_timeout(),
        };
        let sender = match self.phase {
            Phase::Sending => self.sending.deadline(),
            Phase::Settling { look, .. } => Some(look),
            Phase::Ended => None,
        };
        let receiver = self.receiving.deadline().filter(|_| !self.receiver_ended);
        [endpoints, sender, receiver].into_iter().flatten().min().unwrap_or(Timestamp::MAX)
    }

    /// What it recorded, and the movie as received where that was kept in memory.
    pub(crate) fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        let (status, sent, samples) = self.sending.into_parts();
        let received = self.receiving.into_parts();
        let status = match (status, received.failure) {
            (FlowStatus::Failed(reason), _) => FlowStatus::Failed(format!("sender: {reason}")),
            (_, Some(reason)) => FlowStatus::Failed(format!("receiver: {reason}")),
            (status, None) => status,
        };
        let outcome = FlowOutcome {
            sent,
            samples,
            received: received.log,
            kept_bytes: received.kept_bytes,
            bulk: None,
            status,
            doubt: None,
        };
        (outcome, received.movie)
    }
}

/// Refuses what only the emulated world has, before anything is simulated: applications of the user's own, and
/// congestion controls of the kernel's. Also a network that cannot be, such as one that follows a missing recording.
///
/// # Errors
/// [`SimError::Input`], with the key, the value and what is allowed.
pub fn check_scenario(scenario: &Scenario) -> Result<(), SimError> {
    if let Some(reason) = scenario.needs_emulation() {
        return Err(SimError::Input(reason));
    }
    if let Some(flow) = scenario.flows.iter().find(|flow| !flow.transport.has_movie()) {
        return Err(SimError::Input(format!("flow {}: {} is not simulated yet", flow.name, flow.transport)));
    }
    check_network(scenario)?;
    scenario.flows.iter().enumerate().try_for_each(|(number, flow)| congestion(flow, &number.to_string()).map(|_| ()))
}

/// Refuses a network that cannot be, in any world.
///
/// # Errors
/// [`SimError::Input`], with the key, the value and what is wrong with it.
pub fn check_network(scenario: &Scenario) -> Result<(), SimError> {
    network_model(scenario, &[]).map(|_| ()).map_err(|error| SimError::Input(error.to_string()))
}

/// The congestion control of a flow, which a message calls `place`.
fn congestion(flow: &scenario::Flow, place: &str) -> Result<Algorithm, SimError> {
    match &flow.congestion {
        None => Ok(Algorithm::default()),
        Some(name) => name.parse().map_err(|error| SimError::Input(format!("flow.{place}.congestion: {error}"))),
    }
}

/// Payload of a packet of `largest_packet` bytes, without options (RFC 9293, 3.7.1).
fn maximum_segment(largest_packet: u16) -> u32 {
    u32::from(largest_packet) - IP_AND_TCP_HEADERS as u32
}

/// The endpoints of a flow: at the sender as the scenario says, at the receiver as the kernel has it by itself.
fn tcp_configs(setup: &FlowSetup, largest_packet: u16, seed: Seed) -> Result<(TcpConfig, TcpConfig), SimError> {
    let flow = setup.settings();
    let congestion = congestion(flow, &flow.name)?;
    let client = TcpConfig {
        maximum_segment: maximum_segment(flow.mtu),
        congestion,
        send_buffer: flow.send_buffer,
        unsent_limit: flow.unsent_limit,
        // A frame's tail must not wait for an acknowledgement (RFC 9293, 3.7.4).
        no_delay: true,
        seed,
        ..TcpConfig::default()
    };
    let server = TcpConfig { maximum_segment: maximum_segment(largest_packet), seed, ..TcpConfig::default() };
    Ok((client, server))
}
