//! One flow of a scenario: what it does, whatever it carries.

mod adaptive;
mod bulk;
mod connection;
mod movie;

use framewire_recording::record::RateSample;
use framewire_scenario::Scenario;
use framewire_session::half::{ChannelId, End};
use framewire_session::lifecycle::{FlowOutcome, ReceivedMovie};
use framewire_session::{ConnectionSettings, Ends, FlowSetup, FrameFates, Halves};
use framewire_units::{Seed, Timestamp};
use framewire_world::{session_seed, start_of};

use self::adaptive::AdaptiveFlow;
use self::bulk::BulkFlow;
use self::connection::tcp_configs;
use self::movie::MovieFlow;
use crate::error::SimError;
use crate::packet_content::Body;
use crate::progress::FlowProgress;
use crate::record::FlowWires;
use crate::socket::FlowSockets;
use crate::wires::FlowPath;
use framewire_world::FlowState;

/// One flow.
pub(crate) enum Flow {
    /// The movie over one of the lab's transports.
    Movie(Box<MovieFlow>),
    /// Levels of a ladder.
    Adaptive(Box<AdaptiveFlow>),
    /// TCP connections without a movie.
    Bulk(Box<BulkFlow>),
}

impl Flow {
    /// Flow number `number` of the scenario, ready to begin. `largest_packet` is the MTU of the interfaces that it shares; the
    /// movie and its sound are kept so.
    pub(crate) fn new(
        scenario: &Scenario,
        setup: &FlowSetup,
        (number, path): (usize, FlowPath),
        largest_packet: u16,
        received: [ReceivedMovie; 2],
    ) -> Result<Self, SimError> {
        let seed = |place: &[u64]| Seed(scenario.seed().stream("tcp", place).next_u64());
        let halves = match setup.ends() {
            Ends::Halves(halves) => halves,
            Ends::Bulk(setup) => {
                let seed_of = |connection| match connection {
                    0 => seed(&[number as u64]),
                    further => seed(&[number as u64, further as u64]),
                };
                let start_of = |connection| Timestamp::ZERO + start_of(scenario, number, connection);
                let flow = BulkFlow::new(setup, (number, path), largest_packet, seed_of, start_of)?;
                return Ok(Self::Bulk(Box::new(flow)));
            }
            Ends::Applications(_) => {
                return Err(SimError::Input(format!("flow {}: applications run in the emulated world", setup.name())));
            }
        };
        let configs =
            |settings: &ConnectionSettings| tcp_configs(setup.name(), settings, largest_packet, seed(&[number as u64]));
        let sockets = FlowSockets::open((number, path), &setup.channels(), configs, Timestamp::ZERO)?;
        let (sending, receiving) = match halves {
            Halves::Datagram(setup) => setup.ends(received),
            Halves::Stream(setup) => setup.ends(received),
            Halves::Adaptive(setup) => {
                let [movie, _] = received;
                let ends = setup.ends(session_seed(scenario, number), movie);
                let (serving, viewing) = ends.map_err(|error| SimError::Input(error.to_string()))?;
                return Ok(Self::Adaptive(Box::new(AdaptiveFlow::new(setup, sockets, serving, viewing))));
            }
        };
        Ok(Self::Movie(Box::new(MovieFlow::new(sockets, sending, receiving))))
    }

    /// As which of its connections a packet that comes out at the receiver's host counts: all of a stream is one, but for
    /// what is said about it.
    pub(crate) fn counted_as(&self, connection: u8) -> Option<u8> {
        match self {
            Self::Movie(flow) => flow.is_media(ChannelId(connection)).then_some(0),
            Self::Adaptive(_) => Some(0),
            Self::Bulk(_) => Some(connection),
        }
    }

    /// When it has something to do by itself; never earlier than the last call's time.
    pub(crate) fn deadline(&self) -> Timestamp {
        match self {
            Self::Movie(flow) => flow.deadline(),
            Self::Adaptive(flow) => flow.deadline(),
            Self::Bulk(flow) => flow.deadline(),
        }
    }

    /// True when both sides have ended. Bulk connections end only when they are stopped.
    pub(crate) fn is_done(&self) -> bool {
        match self {
            Self::Movie(flow) => flow.is_done(),
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
        to: End,
        connection: u8,
        body: Body,
        wires: &mut FlowWires,
    ) {
        match (self, body) {
            (Self::Movie(flow), body) => flow.handle_delivery(now, (to, ChannelId(connection)), body, wires),
            (Self::Adaptive(flow), Body::Datagram(_, bytes)) => {
                flow.handle_datagram(now, (to, ChannelId(connection)), bytes, wires);
            }
            (Self::Bulk(flow), Body::Segment(segment)) => flow.handle_segment(now, to, connection, &segment, wires),
            // No flow sends what is not its kind.
            (Self::Adaptive(_) | Self::Bulk(_), _) => {}
        }
    }

    /// The sender's own device has let go of a packet of this flow.
    pub(crate) fn handle_released(&mut self, now: Timestamp, connection: u8, payload: u32, wires: &mut FlowWires) {
        match self {
            Self::Movie(flow) => flow.handle_released(now, ChannelId(connection), payload, wires),
            Self::Adaptive(flow) => flow.handle_released(now, ChannelId(connection), payload, wires),
            Self::Bulk(flow) => flow.handle_released(now, connection, payload, wires),
        }
    }

    /// Does what is due at `now`.
    pub(crate) fn advance(&mut self, now: Timestamp, wires: &mut FlowWires) {
        match self {
            Self::Movie(flow) => flow.advance(now, wires),
            Self::Adaptive(flow) => flow.advance(now, wires),
            Self::Bulk(flow) => flow.advance(now, wires),
        }
    }

    /// What has come of each of its connections by `now`, but for what was counted of packets.
    pub(crate) fn rates(&self, now: Timestamp) -> Vec<RateSample> {
        match self {
            Self::Movie(_) => vec![RateSample { at: now, ..RateSample::default() }],
            Self::Adaptive(flow) => vec![flow.rates(now)],
            Self::Bulk(flow) => flow.rates(now),
        }
    }

    /// Where it is, but for the time and the bytes that have come.
    pub(crate) fn progress(&self) -> FlowProgress {
        let counts = match self {
            Self::Movie(flow) => Some(flow.progress()),
            Self::Adaptive(flow) => Some(flow.progress()),
            Self::Bulk(_) => None,
        };
        let is_draining = counts.is_some_and(|(_, is_draining)| is_draining);
        let is_done = self.is_done();
        let state = match (is_done, is_draining) {
            (true, _) => FlowState::Done,
            (false, true) => FlowState::Draining,
            (false, false) => FlowState::Streaming,
        };
        FlowProgress {
            flow: 0,
            at: Timestamp::ZERO,
            frames: 0,
            fates: counts.map(|([sender, receiver], _)| FrameFates::of(sender, receiver, is_done)),
            received: 0,
            state,
        }
    }

    /// Ends the stream early; `cut_short` where that was not planned.
    pub(crate) fn stop(&mut self, now: Timestamp, cut_short: bool, wires: &mut FlowWires) {
        match self {
            Self::Movie(flow) => flow.stop(now, wires),
            Self::Adaptive(flow) => flow.stop(now, wires),
            Self::Bulk(flow) => flow.end(now, cut_short),
        }
    }

    /// What it recorded, and the movie as received where that was kept in memory.
    pub(crate) fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        match self {
            Self::Movie(flow) => flow.into_outcome(),
            Self::Adaptive(flow) => flow.into_outcome(),
            Self::Bulk(flow) => (flow.into_outcome(), Vec::new()),
        }
    }
}
