//! The whole network between two hosts: hops joined in both directions.

use framewire_units::{Seed, Timestamp};

use crate::config::{ConfigError, NetworkConfig};
use crate::events::{Events, NetworkEvent};
use crate::graph::Graph;
use crate::path::{WifiPath, WiredPath};
use crate::verdict::{NodeId, Packet, Timeout};
use crate::wifi::StationCounters;

/// The network between a sender and a receiver.
///
/// # How to drive it
///
/// The world owns the clock. It calls [`handle_packet`](Self::handle_packet) when a packet enters at one of the
/// [nodes](NodeId) and [`handle_timeout`](Self::handle_timeout) when [`next_timeout`](Self::next_timeout) has come.
/// The loop invariant: **mutate once, drain [`poll_event`](Self::poll_event) until there is nothing left, then sleep
/// until the timeout.**
///
/// - `now` never goes back. Calling `handle_timeout` more often or later than asked changes no event.
/// - `handle_packet` does not move the model's clock: several packets may be given in any order of calls as long as
///   their stamps are at or after the last `handle_timeout`. What is decided on the shared medium at a time t is
///   settled once `handle_timeout` is called with a `now` after t. An arrival stamped before something that was
///   settled is moved to it, and its [`HopRecord`] says `clamped`. A world that learns of arrivals late may drive the
///   model with a `now` that lags by as much: an 802.11 exchange is settled at its start and delivers its packet no
///   earlier than 120 us (short preamble) or 210 us (long) after that; an OFDM frame no earlier than 30 us.
/// - Every packet gets exactly one fate: a [`NetworkEvent::Deliver`], or a [`NetworkEvent::Hop`] with
///   [`Outcome::Dropped`](crate::Outcome::Dropped). It gets one [`HopRecord`] for each hop it entered, and one
///   [`NetworkEvent::Released`].
/// - Events come as early as they are certain, usually before the times they carry, and in no order of these times
///   except that those of one direction never overtake each other.
///
/// ```
/// use framewire_link::{BottleneckPlace, Network, NetworkConfig, NetworkEvent, NodeId, Packet, PacketId};
/// use framewire_link::{WireConfig, WiredNetworkConfig};
/// use framewire_units::{Bitrate, DataSize, Duration, Seed, Timestamp};
///
/// let wire = WireConfig { rate: Some(Bitrate::from_mbps(10)), delay: Duration::from_millis(20), ..Default::default()
/// }; let config = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
/// let mut network = Network::new(&config, Seed(1))?;
///
/// let now = Timestamp::from_millis(5);
/// let packet = Packet::new(PacketId(0), DataSize::from_bytes(1250));
/// network.handle_packet(now, now, NodeId::SENDER, packet);
/// let mut delivered = None;
/// while let Some(event) = network.poll_event() {
///     if let NetworkEvent::Deliver { at, .. } = event {
///         delivered = Some(at);
///     }
/// }
/// assert_eq!(delivered, Some(Timestamp::from_millis(26)));
/// assert_eq!(network.next_timeout(), None);
/// # Ok::<(), framewire_link::ConfigError>(())
/// ```
#[derive(Debug)]
pub struct Network {
    path: Path,
    events: Events,
}

#[derive(Debug)]
enum Path {
    Wired(Box<WiredPath>),
    Wifi(Box<WifiPath>),
    Graph(Box<Graph>),
}

impl Network {
    /// An idle network.
    ///
    /// # Errors
    /// When a value makes no sense; the error names it and what is allowed.
    pub fn new(config: &NetworkConfig, seed: Seed) -> Result<Self, ConfigError> {
        config.validate()?;
        let path = match config {
            NetworkConfig::Wired(wired) => Path::Wired(Box::new(WiredPath::new(wired, seed))),
            NetworkConfig::Wifi(wifi) => Path::Wifi(Box::new(WifiPath::new(wifi, seed)?)),
            NetworkConfig::Graph(graph) => Path::Graph(Box::new(Graph::new(graph, seed)?)),
        };
        Ok(Self { path, events: Events::new() })
    }

    /// A packet enters at `from`. `at` is its arrival stamp, usually slightly before `now`, at which it was seen; all
    /// is computed from the stamp.
    ///
    /// `now` is unused on purpose: an arrival does not move the model's clock, so what was decided cannot depend on
    /// when the world looked. It is part of the signature because every handler of a sans-IO model is given the time,
    /// and a model behind the same contract may need it.
    ///
    /// # Panics
    /// When the network has no such node.
    pub fn handle_packet(&mut self, _now: Timestamp, at: Timestamp, from: NodeId, packet: Packet) {
        match &mut self.path {
            Path::Wired(path) => path.handle_packet(at, from, packet, &mut self.events),
            Path::Wifi(path) => path.handle_packet(at, from, packet, &mut self.events),
            Path::Graph(graph) => graph.handle_packet(at, from, packet, &mut self.events),
        }
    }

    /// Whether hops that delivered their packet are recorded as [`NetworkEvent::Hop`] (the default). Without them, a
    /// simulation that keeps no packet table is spared the work; hops that dropped their packet always are recorded,
    /// and no other event changes.
    pub fn record_deliveries(&mut self, wanted: bool) {
        self.events.record_deliveries(wanted);
    }

    /// What the contenders of a wireless network achieved so far, all together; `None` where there are none.
    pub fn contenders(&self) -> Option<StationCounters> {
        match &self.path {
            Path::Wired(_) => None,
            Path::Wifi(path) => path.contenders(),
            Path::Graph(graph) => graph.contenders(),
        }
    }

    /// The model's clock moves to `now`: what was to be decided before it is decided.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        match &mut self.path {
            Path::Wired(path) => path.handle_timeout(now, &mut self.events),
            Path::Wifi(path) => path.handle_timeout(now, &mut self.events),
            Path::Graph(graph) => graph.handle_timeout(now, &mut self.events),
        }
    }

    /// The next thing that was decided; `None` when all have been given.
    pub fn poll_event(&mut self) -> Option<NetworkEvent> {
        self.events.pop()
    }

    /// When `handle_timeout` is due, and which part asked; `None` when only a packet can change something.
    pub fn next_timeout(&self) -> Option<Timeout> {
        match &self.path {
            Path::Wired(path) => path.next_timeout(),
            Path::Wifi(path) => path.next_timeout(),
            Path::Graph(graph) => graph.next_timeout(),
        }
    }
}
