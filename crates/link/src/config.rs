//! What a network is made of, as plain values. The scenario crate reads files; this crate only refuses nonsense.

use framewire_units::{Bitrate, DataSize, Duration, Probability, Timestamp, keywords};

use crate::framing::Framing;
use crate::graph::GraphConfig;
use crate::queue::{Discipline, QueueLimit};
use crate::token_bucket::{PolicerConfig, TokenBucket};
use crate::trace::DeliveryTrace;
use crate::wifi::{ArfConfig, Bss, Preamble, Protection, RatePolicy, Standard};

/// The largest IP packet of an Ethernet (RFC 894).
pub(crate) const ETHERNET_MTU: DataSize = DataSize::from_bytes(1500);

/// A network.
#[derive(Clone, Debug, PartialEq)]
pub enum NetworkConfig {
    /// One hop of IEEE 802.11 and one wire.
    Wifi(WifiNetworkConfig),
    /// One wire.
    Wired(WiredNetworkConfig),
    /// Nodes and links.
    Graph(GraphConfig),
}

/// A network with one wireless hop.
///
/// [`BottleneckPlace::LocalDevice`]: sender - 802.11 - access point - wire - receiver.
/// [`BottleneckPlace::Remote`]: sender - wire - access point - 802.11 - receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiNetworkConfig {
    /// The wireless hop.
    pub wifi: WifiConfig,
    /// Interface queue (`txqueuelen`) of the host that is the wireless station: the sender with a local bottleneck,
    /// the receiver with a remote one. In packets or bytes.
    pub station_queue: QueueLimit,
    /// Queue of the access point towards the station, in packets or bytes.
    pub access_point_queue: QueueLimit,
    /// What becomes of what waits in it.
    pub access_point_discipline: Discipline,
    /// The wire behind the access point, the same in both directions.
    pub wire: WireConfig,
    /// On which side of the access point the sender is.
    pub bottleneck: BottleneckPlace,
    /// Maximal number of transmissions of the access point's packets; `None`: as that of the stations.
    pub access_point_retry: Option<u16>,
    /// Interface queues of further sending stations, numbered from 1; each as `station_queue`. Only with a local
    /// bottleneck.
    pub further_stations: Vec<QueueLimit>,
    /// Stations of others on the same channel.
    pub contenders: Option<ContenderConfig>,
}

impl Default for WifiNetworkConfig {
    /// One station in an undisturbed room, a wire that does nothing, queues of 100 packets.
    fn default() -> Self {
        Self {
            wifi: WifiConfig::default(),
            station_queue: QueueLimit::Packets(100),
            access_point_queue: QueueLimit::Packets(100),
            access_point_discipline: Discipline::DropTail,
            wire: WireConfig::default(),
            bottleneck: BottleneckPlace::LocalDevice,
            access_point_retry: None,
            further_stations: Vec::new(),
            contenders: None,
        }
    }
}

/// Background stations that always have a packet to send to the access point. They are part of the medium: their
/// packets leave the network there and raise no events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContenderConfig {
    /// How many, at most 250.
    pub stations: u16,
    /// Size of each of their IP packets.
    pub packet: DataSize,
}

/// A network of one wire: sender - wire - receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct WiredNetworkConfig {
    /// From the sender to the receiver.
    pub wire: WireConfig,
    /// From the receiver to the sender.
    pub backward: WireConfig,
    /// Whose queue the forward one is.
    pub bottleneck: BottleneckPlace,
}

impl WiredNetworkConfig {
    /// A network whose way back has the same delay and ticks and nothing else: no rate limit, no queue, no loss.
    pub fn symmetric_delay(wire: WireConfig, bottleneck: BottleneckPlace) -> Self {
        let backward = WireConfig { delay: wire.delay, tick: wire.tick, ..WireConfig::default() };
        Self { wire, backward, bottleneck }
    }
}

keywords! {
    /// Where packets wait.
    BottleneckPlace {
        /// In the sender's own interface: the kernel's queue, socket accounting and backpressure act.
        LocalDevice = "local-device",
        /// In a router or access point beyond: packets are dropped far from the socket.
        Remote = "remote",
    }
}

/// One direction of a wire: a bottleneck (rate, queue) and what comes after it (loss, outages, delay, jitter).
#[derive(Clone, Debug, PartialEq)]
pub struct WireConfig {
    /// Rate at which IP packets are serialised, with what the line carries around them; `None` for a wire that serialises in
    /// no time.
    pub rate: Option<Bitrate>,
    /// What the line carries around each packet; with a rate only.
    pub framing: Framing,
    /// A recorded link instead of a rate: packets leave when it could deliver.
    pub trace: Option<DeliveryTrace>,
    /// What exceeds this does not come into the queue.
    pub policer: Option<PolicerConfig>,
    /// What leaves the queue keeps within this, beside the rate; not beside a trace.
    pub shaper: Option<TokenBucket>,
    /// What may wait for the rate.
    pub queue: QueueLimit,
    /// What becomes of what waits.
    pub queue_discipline: Discipline,
    /// The largest IP packet, which some disciplines go by.
    pub mtu: DataSize,
    /// Propagation delay.
    pub delay: Duration,
    /// Added to the delay of each packet, uniform from zero to this, never reordering.
    pub jitter: Duration,
    /// Random loss.
    pub loss: LossConfig,
    /// Times at which the wire is down: a packet whose last bit enters it inside an interval is lost.
    pub outages: Vec<Interval>,
    /// Packets come out at multiples of this only, all of one tick at the same time, as of a link emulator that works by
    /// its kernel's timer (L. Rizzo, "Dummynet", ACM CCR 27(1), 1997: 10 ms with the HZ of 100 of its time); zero for
    /// exact times.
    pub tick: Duration,
}

impl WireConfig {
    /// How fast it sends, in the mean; `None` where that takes no time.
    pub(crate) fn mean_rate(&self) -> Option<Bitrate> {
        let line = self.trace.as_ref().map(DeliveryTrace::mean_rate).or(self.rate);
        line.into_iter().chain(self.shaper.map(|bucket| bucket.rate)).min()
    }
}

impl Default for WireConfig {
    /// No rate limit, no delay, no loss.
    fn default() -> Self {
        Self {
            rate: None,
            framing: Framing::NONE,
            trace: None,
            policer: None,
            shaper: None,
            queue: QueueLimit::Packets(1000),
            queue_discipline: Discipline::DropTail,
            mtu: ETHERNET_MTU,
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            loss: LossConfig::None,
            outages: Vec::new(),
            tick: Duration::ZERO,
        }
    }
}

/// A process that takes packets at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossConfig {
    /// Nothing is lost.
    None,
    /// Each packet alone, with the same probability.
    Bernoulli(Probability),
    /// In bursts.
    GilbertElliott(GilbertElliott),
}

/// A chain of two states with a loss probability each, that steps once per packet (Gilbert 1960, Elliott 1963).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// Probability of a step from good to bad.
    pub good_to_bad: Probability,
    /// Probability of a step from bad to good.
    pub bad_to_good: Probability,
    /// Loss in the good state.
    pub loss_good: Probability,
    /// Loss in the bad state.
    pub loss_bad: Probability,
}

/// The time from `start`, inclusive, to `end`, exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// First moment inside.
    pub start: Timestamp,
    /// First moment after it.
    pub end: Timestamp,
}

impl Interval {
    /// True when `at` is inside.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }
}

/// The wireless hop.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiConfig {
    /// The wireless standard.
    pub standard: Standard,
    /// Automatic rate fallback or a fixed rate; one of the standard's.
    pub rate: RatePolicy,
    /// Long or short PLCP preamble of direct-sequence frames.
    pub preamble: Preamble,
    /// Protection of 802.11g's OFDM frames.
    pub protection: Protection,
    /// Maximal number of transmissions of a packet; 0 is the card's default of 16. At most 256.
    pub retry: u16,
    /// Signal-to-noise ratio at every receiver, in dB, over the 22 MHz of the channel.
    pub signal_to_noise_db: f64,
    /// Background frame error rate of an IP packet of 1,500 bytes at 11 Mbit/s; under 1.
    pub error_floor: Probability,
    /// Time for which a station does not notice that another has begun to transmit: who begins within it collides. At
    /// most a slot; `None` is the standard's, [`Bss::carrier_sense`].
    pub carrier_sense: Option<Duration>,
    /// A microwave oven near by.
    pub oven: Option<OvenConfig>,
    /// A sniffer beside the sender.
    pub sniffer: Option<SnifferConfig>,
}

impl WifiConfig {
    /// What all stations share.
    pub fn bss(&self) -> Bss {
        Bss { standard: self.standard, preamble: self.preamble, protection: self.protection }
    }
}

impl Default for WifiConfig {
    /// An undisturbed room: automatic rate, long preamble, four transmissions, a strong signal.
    fn default() -> Self {
        Self {
            standard: Standard::Ieee80211b,
            rate: RatePolicy::Automatic(ArfConfig::default()),
            preamble: Preamble::Long,
            protection: Protection::None,
            retry: 4,
            signal_to_noise_db: 40.0,
            error_floor: Probability::clamped(0.005),
            carrier_sense: None,
            oven: None,
            sniffer: None,
        }
    }
}

/// A microwave oven: an interferer in step with the mains. The model and its constants: `docs/links.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct OvenConfig {
    /// When it is switched on.
    pub on: Vec<Interval>,
    /// Frequency of the mains.
    pub mains: Mains,
    /// Interference over signal at the receivers, in dB, while the magnetron crosses the channel (median).
    pub strength_db: f64,
}

impl OvenConfig {
    /// Strength of a domestic oven half a metre beside a path of four metres; the estimate is in `docs/links.md`.
    pub const DOMESTIC_STRENGTH_DB: f64 = -6.0;
}

keywords! {
    /// The mains that the oven hangs on.
    Mains {
        /// Europe.
        Hz50 = "50 Hz",
        /// America.
        Hz60 = "60 Hz",
    }
}

impl Mains {
    /// Duration of a cycle, to the nearest nanosecond.
    pub const fn period(self) -> Duration {
        match self {
            Self::Hz50 => Duration::from_nanos(20_000_000),
            Self::Hz60 => Duration::from_nanos(16_666_667),
        }
    }
}

/// A sniffer beside the sender, which misses some transmissions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnifferConfig {
    /// Probability that it captures a transmission.
    pub capture: Probability,
}

/// A network that cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{key} = {value}: {allowed}")]
pub struct ConfigError {
    /// What is wrong, as a path such as `wifi.retry`.
    pub key: String,
    /// The value given.
    pub value: String,
    /// What is allowed.
    pub allowed: String,
}

impl ConfigError {
    /// The same of what is a part of `key`.
    pub(crate) fn below(self, key: &str) -> Self {
        Self { key: format!("{key}.{}", self.key), ..self }
    }

    pub(crate) fn new(key: &str, value: impl ToString, allowed: &str) -> Self {
        Self { key: key.to_owned(), value: value.to_string(), allowed: allowed.to_owned() }
    }
}
