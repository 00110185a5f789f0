//! One flow of a scenario: what it does, whatever it carries.

mod adaptive;
mod bulk;
mod cargo;
mod received;
mod receiving;
mod sending;
mod stream;

use framewire_link::Port;
use framewire_scenario::Scenario;
use framewire_session::{CommonSetup, ConnectionSettings, FlowSetup};
use framewire_tcp::congestion::Algorithm;
use framewire_tcp::{IP_AND_TCP_HEADERS, TcpConfig};
use framewire_units::{DataSize, Seed, Timestamp};
use framewire_world::{FlowOutcome, network_model, session_seed};

use self::adaptive::AdaptiveFlow;
use self::bulk::BulkFlow;
pub(crate) use self::cargo::{Body, Cargo, FlowWires};
pub(crate) use self::received::MovieSink;
pub(crate) use self::stream::Socket;
use self::stream::StreamFlow;
use crate::error::SimError;

/// `net.core.wmem_default` of Linux: SO_SNDBUF of a socket that nobody set.
const DEFAULT_SEND_BUFFER: DataSize = DataSize::from_bytes(212_992);

/// One flow.
pub(crate) enum Flow {
    /// The movie over one of the lab's transports.
    Stream(Box<StreamFlow>),
    /// Levels of a ladder.
    Adaptive(Box<AdaptiveFlow>),
    /// TCP connections without a movie.
    Bulk(Box<BulkFlow>),
}

impl Flow {
    /// Flow number `number` of the scenario, ready to begin. `largest_packet` is the MTU of the interfaces that it shares.
    pub(crate) fn new(
        scenario: &Scenario,
        setup: &FlowSetup,
        number: usize,
        largest_packet: u16,
        sink: MovieSink,
    ) -> Result<Self, SimError> {
        let seed = |place: &[u64]| Seed(scenario.seed().stream("tcp", place).next_u64());
        Ok(match setup {
            FlowSetup::Adaptive(setup) => {
                let flow = AdaptiveFlow::new(setup, number, session_seed(scenario, number), sink)?;
                Self::Adaptive(Box::new(flow))
            }
            FlowSetup::Bulk(setup) => {
                let flow = BulkFlow::new(setup, number, largest_packet, |connection| match connection {
                    0 => seed(&[number as u64]),
                    further => seed(&[number as u64, further as u64]),
                })?;
                Self::Bulk(Box::new(flow))
            }
            FlowSetup::Datagram(setup) => Self::Stream(Box::new(StreamFlow::over_datagrams(setup, number, sink)?)),
            FlowSetup::Stream(setup) => {
                let flow = StreamFlow::over_stream(setup, number, largest_packet, seed(&[number as u64]), sink)?;
                Self::Stream(Box::new(flow))
            }
            FlowSetup::External(_) => unreachable!("invariant: check_scenario has refused applications"),
        })
    }

    /// When it has something to do by itself; never earlier than it was told of.
    pub(crate) fn deadline(&self) -> Timestamp {
        match self {
            Self::Stream(flow) => flow.deadline(),
            Self::Adaptive(flow) => flow.deadline(),
            Self::Bulk(flow) => flow.deadline(),
        }
    }

    /// True when both sides have ended. Bulk connections end only when they are told to.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Stream(flow) => flow.is_done(),
            Self::Adaptive(flow) => flow.is_done(),
            Self::Bulk(flow) => flow.is_done(),
        }
    }

    /// True for a flow that ends with the others.
    pub(crate) fn is_bulk(&self) -> bool {
        matches!(self, Self::Bulk(_))
    }

    /// A packet of this flow comes out at a host.
    pub(crate) fn handle_delivery(
        &mut self,
        now: Timestamp,
        to: Port,
        connection: u8,
        body: Body,
        wires: &mut FlowWires,
    ) {
        match (self, body) {
            (Self::Stream(flow), body) => flow.handle_delivery(now, to, body, wires),
            (Self::Adaptive(flow), Body::Session(channel, bytes)) => {
                flow.handle_datagram(now, to, channel, &bytes, wires);
            }
            (Self::Bulk(flow), Body::Segment(segment)) => flow.handle_segment(now, to, connection, &segment, wires),
            // No flow sends what is not its kind.
            (Self::Adaptive(_) | Self::Bulk(_), _) => {}
        }
    }

    /// The sender's own device has let go of a packet of this flow.
    pub(crate) fn handle_released(&mut self, now: Timestamp, connection: u8, payload: u32, wires: &mut FlowWires) {
        match self {
            Self::Stream(flow) => flow.handle_released(now, payload, wires),
            Self::Adaptive(flow) => flow.handle_released(now, payload, wires),
            Self::Bulk(flow) => flow.handle_released(now, connection, payload, wires),
        }
    }

    /// Does what is due at `now`.
    pub(crate) fn advance(&mut self, now: Timestamp, wires: &mut FlowWires) {
        match self {
            Self::Stream(flow) => flow.advance(now, false, wires),
            Self::Adaptive(flow) => flow.advance(now, wires),
            Self::Bulk(flow) => flow.advance(now, wires),
        }
    }

    /// Ends the stream early; `cut_short` where that was not planned.
    pub(crate) fn stop(&mut self, now: Timestamp, cut_short: bool, wires: &mut FlowWires) {
        match self {
            Self::Stream(flow) => flow.advance(now, true, wires),
            Self::Adaptive(flow) => flow.stop(now, wires),
            Self::Bulk(flow) => flow.end(now, cut_short),
        }
    }

    /// What it recorded, and the movie as received where that was kept in memory.
    pub(crate) fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        match self {
            Self::Stream(flow) => flow.into_outcome(),
            Self::Adaptive(flow) => flow.into_outcome(),
            Self::Bulk(flow) => (flow.into_outcome(), Vec::new()),
        }
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
    check_network(scenario)?;
    scenario
        .flows
        .iter()
        .enumerate()
        .try_for_each(|(number, flow)| congestion(flow.congestion.as_deref(), &number.to_string()).map(|_| ()))
}

/// Refuses a network that cannot be, in any world.
///
/// # Errors
/// [`SimError::Input`], with the key, the value and what is wrong with it.
pub fn check_network(scenario: &Scenario) -> Result<(), SimError> {
    network_model(scenario, &[]).map(|_| ()).map_err(|error| SimError::Input(error.to_string()))
}

/// The congestion control of a flow, which a message calls `place`.
fn congestion(name: Option<&str>, place: &str) -> Result<Algorithm, SimError> {
    match name {
        None => Ok(Algorithm::default()),
        Some(name) => name.parse().map_err(|error| SimError::Input(format!("flow.{place}.congestion: {error}"))),
    }
}

/// Payload of a packet of `largest_packet` bytes, without options (RFC 9293, 3.7.1).
fn maximum_segment(largest_packet: u16) -> u32 {
    u32::from(largest_packet) - IP_AND_TCP_HEADERS as u32
}

/// The endpoints of a flow: at the sender as the scenario says, at the receiver as the kernel has it by itself.
fn tcp_configs(
    flow: &CommonSetup,
    settings: &ConnectionSettings,
    largest_packet: u16,
    seed: Seed,
) -> Result<(TcpConfig, TcpConfig), SimError> {
    let client = TcpConfig {
        maximum_segment: maximum_segment(settings.mtu),
        congestion: congestion(settings.congestion.as_deref(), flow.name())?,
        send_buffer: settings.send_buffer,
        unsent_limit: settings.unsent_limit,
        // A frame's tail must not wait for an acknowledgement (RFC 9293, 3.7.4).
        no_delay: true,
        seed,
        ..TcpConfig::default()
    };
    let server = TcpConfig { maximum_segment: maximum_segment(largest_packet), seed, ..TcpConfig::default() };
    Ok((client, server))
}
