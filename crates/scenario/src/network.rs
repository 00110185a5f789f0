use framewire_units::{Bitrate, DataSize, Duration, Probability};
use schemars::JsonSchema;
use serde::Serialize;
use toml::Value;

use crate::error::ScenarioError;
use crate::names::words;
use crate::section::{Section, Shown, text_value};
use crate::text::{self, Decibel, Interval, QueueLimit, Text};

words! {
    /// What lies between sender and receiver.
    NetworkKind {
        /// Sender, 802.11, access point, wire, receiver.
        Wifi = "wifi",
        /// Sender, wire, receiver.
        Wired = "wired",
    }
}

words! {
    /// Where packets wait.
    Bottleneck {
        /// In the sender's own interface: the kernel's queue, socket accounting and backpressure act.
        LocalDevice = "local-device",
        /// In a router or access point beyond: packets are dropped far from the socket.
        Remote = "remote",
    }
}

words! {
    /// The wireless standard.
    Standard {
        /// IEEE 802.11b: DSSS and CCK, 1 to 11 Mbit/s.
        Ieee80211b = "802.11b",
    }
}

words! {
    /// The PLCP preamble (IEEE 802.11-2007, 18.2.2).
    Preamble {
        /// 192 us with its header.
        Long = "long",
        /// 96 us with its header.
        Short = "short",
    }
}

words! {
    /// The mains that the oven hangs on.
    Mains {
        /// Europe.
        Hz50 = "50 Hz",
        /// America.
        Hz60 = "60 Hz",
    }
}

/// The `[network]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Network {
    /// What lies between sender and receiver.
    pub kind: NetworkKind,
    /// Where packets wait. Default: `local-device` over Wi-Fi, `remote` over a wire.
    pub bottleneck: Bottleneck,
    /// The wireless hop; present exactly when `kind` is `wifi`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// The wire behind the access point, or the link itself.
    pub wire: Wire,
}

/// The `[network.wifi]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Wifi {
    /// The wireless standard.
    pub standard: Standard,
    /// Rate of the stations.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<WifiRate>")]
    pub rate: WifiRate,
    /// The PLCP preamble.
    pub preamble: Preamble,
    /// Maximal number of transmissions, 1 to 255; 0 is the card's default of 16.
    #[schemars(range(min = 0, max = 255))]
    pub retry: u8,
    /// The queue of the access point towards the stations.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<QueueLimit>")]
    pub queue: QueueLimit,
    /// Background frame error rate of a 1,500-byte frame at 11 Mbit/s.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub error_floor: Probability,
    /// A microwave oven, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oven: Option<Oven>,
    /// A sniffer beside the sender, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sniffer: Option<Sniffer>,
}

/// Rate of an 802.11b station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WifiRate {
    /// Automatic rate fallback.
    Auto,
    /// 1, 2, 5.5 or 11 Mbit/s.
    Fixed(Bitrate),
}

/// The `[network.wifi.oven]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Oven {
    /// When it is on.
    #[schemars(schema_with = "text::intervals_schema")]
    pub on: Vec<Interval>,
    /// Its mains: the magnetron radiates in one half of every cycle.
    pub mains: Mains,
    /// Median of interference over signal while the magnetron's line crosses the channel.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Decibel>")]
    pub strength: Decibel,
}

/// The `[network.wifi.sniffer]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Sniffer {
    /// Probability that it captures a transmission.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub capture: Probability,
}

/// The `[network.wire]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Wire {
    /// Rate of IP bytes, in each direction.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Bitrate>")]
    pub rate: Bitrate,
    /// Propagation delay, each way.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub delay: Duration,
    /// Uniform from 0 to this on top of the delay, never reordering.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub jitter: Duration,
    /// What its queue admits.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<QueueLimit>")]
    pub queue: QueueLimit,
    /// When nothing passes.
    #[schemars(schema_with = "text::intervals_schema")]
    pub outages: Vec<Interval>,
    /// Random loss.
    pub loss: Loss,
}

/// A loss process, per packet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Loss {
    /// Each packet on its own.
    Bernoulli(
        #[serde(serialize_with = "text::serialize")]
        #[schemars(schema_with = "text::schema::<Probability>")]
        Probability,
    ),
    /// In bursts.
    GilbertElliott(GilbertElliott),
}

/// Two states with a loss probability each; the state changes before each packet (Gilbert 1960, Elliott 1963).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability to leave the good state.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub good_to_bad: Probability,
    /// Probability to leave the bad state.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub bad_to_good: Probability,
    /// Loss in the good state.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub loss_good: Probability,
    /// Loss in the bad state.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub loss_bad: Probability,
}

impl Wifi {
    /// The card's default for a retry value of 0 (Ouwens' thesis, section 4.1).
    const DEFAULT_TRANSMISSIONS: u8 = 16;

    /// How often a frame is sent at most: the retry value in the thesis' sense.
    pub fn max_transmissions(&self) -> u8 {
        if self.retry == 0 { Self::DEFAULT_TRANSMISSIONS } else { self.retry }
    }
}

impl Text for WifiRate {
    const PATTERN: &str = r"^(auto|(1|2|5\.5|11)\s*Mbit/s)$";

    fn parse(text: &str) -> Result<Self, String> {
        const RATES_KBPS: [u64; 4] = [1_000, 2_000, 5_500, 11_000];
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match text.parse::<Bitrate>() {
            Ok(rate) if RATES_KBPS.contains(&(rate.as_bps() / 1_000)) && rate.as_bps() % 1_000 == 0 => {
                Ok(Self::Fixed(rate))
            }
            _ => Err("\"auto\", \"1 Mbit/s\", \"2 Mbit/s\", \"5.5 Mbit/s\" or \"11 Mbit/s\"".to_owned()),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Fixed(rate) => rate.to_string(),
        }
    }
}

impl Network {
    pub(crate) const KEYS: &'static [&'static str] = &["kind", "bottleneck", "wifi", "wire"];

    pub(crate) fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let kind = section.text("kind")?.unwrap_or(NetworkKind::Wifi);
        let default_bottleneck = match kind {
            NetworkKind::Wifi => Bottleneck::LocalDevice,
            NetworkKind::Wired => Bottleneck::Remote,
        };
        let bottleneck = section.text("bottleneck")?.unwrap_or(default_bottleneck);
        if kind == NetworkKind::Wired && section.has("wifi") {
            let key = section.key("wifi");
            return Err(ScenarioError::value(&key, "a table", "only with network.kind = \"wifi\""));
        }
        let wifi = match kind {
            NetworkKind::Wifi => Some(Wifi::read(section.section_or_empty("wifi", Wifi::KEYS)?)?),
            NetworkKind::Wired => None,
        };
        Ok(Self { kind, bottleneck, wifi, wire: Wire::read(section.section_or_empty("wire", Wire::KEYS)?)? })
    }

    /// Every schedule of the network, with the path of its key.
    pub(crate) fn schedules(&self) -> impl Iterator<Item = (&'static str, &Interval)> {
        let oven = self.wifi.iter().flat_map(|wifi| &wifi.oven).flat_map(|oven| &oven.on);
        let outages = self.wire.outages.iter();
        oven.map(|on| ("network.wifi.oven.on", on)).chain(outages.map(|out| ("network.wire.outages", out)))
    }
}

impl Wifi {
    pub(crate) const KEYS: &'static [&'static str] =
        &["standard", "rate", "preamble", "retry", "queue", "error_floor", "oven", "sniffer"];

    fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let retry = section.integer("retry", 0..=255)?.unwrap_or(4);
        let queue = section.text("queue")?.unwrap_or(QueueLimit::Packets(100));
        if !matches!(queue, QueueLimit::Packets(_)) {
            let allowed = "a number of packets such as \"100 packets\": an access point counts frames";
            return Err(ScenarioError::value(&section.key("queue"), format!("\"{}\"", queue.show()), allowed));
        }
        let error_floor = section.text("error_floor")?.unwrap_or(Probability::clamped(0.005));
        if error_floor == Probability::ONE {
            let allowed = "less than 100 %, or nothing ever arrives";
            return Err(ScenarioError::value(&section.key("error_floor"), "\"100 %\"", allowed));
        }
        Ok(Self {
            standard: section.text("standard")?.unwrap_or(Standard::Ieee80211b),
            rate: section.text("rate")?.unwrap_or(WifiRate::Auto),
            preamble: section.text("preamble")?.unwrap_or(Preamble::Long),
            retry: u8::try_from(retry).expect("invariant: the range was checked when it was read"),
            queue,
            error_floor,
            oven: section.section("oven", Oven::KEYS)?.map(Oven::read).transpose()?,
            sniffer: section.section("sniffer", Sniffer::KEYS)?.map(Sniffer::read).transpose()?,
        })
    }
}

impl Oven {
    pub(crate) const KEYS: &'static [&'static str] = &["on", "mains", "strength"];

    fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let on = section.intervals("on")?;
        let missing =
            || ScenarioError::missing(&section.key("on"), "say when the oven is on, as [[\"20 s\", \"40 s\"]]");
        let on = on.ok_or_else(missing)?;
        Ok(Self {
            on,
            mains: section.text("mains")?.unwrap_or(Mains::Hz50),
            strength: section.text("strength")?.unwrap_or(Decibel(-6.0)),
        })
    }
}

impl Sniffer {
    pub(crate) const KEYS: &'static [&'static str] = &["capture"];

    fn read(mut section: Section) -> Result<Self, ScenarioError> {
        Ok(Self { capture: section.text("capture")?.unwrap_or(Probability::clamped(0.65)) })
    }
}

impl Wire {
    pub(crate) const KEYS: &'static [&'static str] = &["rate", "delay", "jitter", "queue", "outages", "loss"];

    fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let loss_key = section.key("loss");
        Ok(Self {
            rate: section.text("rate")?.unwrap_or(Bitrate::from_mbps(100)),
            delay: section.text("delay")?.unwrap_or(Duration::from_micros(100)),
            jitter: section.text("jitter")?.unwrap_or(Duration::ZERO),
            queue: section.text("queue")?.unwrap_or(QueueLimit::Packets(1_000)),
            outages: section.intervals("outages")?.unwrap_or_default(),
            loss: section
                .take("loss")
                .map_or(Ok(Loss::Bernoulli(Probability::ZERO)), |value| Loss::read(&loss_key, value))?,
        })
    }
}

impl Loss {
    fn read(key: &str, value: Value) -> Result<Self, ScenarioError> {
        match value {
            Value::String(_) => text_value(key, &value).map(Self::Bernoulli),
            Value::Table(table) => {
                let section = Section::new(key.to_owned(), table, GilbertElliott::KEYS)?;
                GilbertElliott::read(section).map(Self::GilbertElliott)
            }
            other => {
                let allowed = "a probability such as \"1 %\", or a table with good_to_bad and bad_to_good";
                Err(ScenarioError::value(key, Shown(&other), allowed))
            }
        }
    }
}

impl GilbertElliott {
    pub(crate) const KEYS: &'static [&'static str] = &["good_to_bad", "bad_to_good", "loss_good", "loss_bad"];

    fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let mut required = |key: &str| {
            let path = section.key(key);
            section.text(key)?.ok_or_else(|| ScenarioError::missing(&path, "a probability such as \"1 %\""))
        };
        let (good_to_bad, bad_to_good) = (required("good_to_bad")?, required("bad_to_good")?);
        if good_to_bad != Probability::ZERO && bad_to_good == Probability::ZERO {
            let allowed = "more than 0 %, or the bad state never ends";
            return Err(ScenarioError::value(&section.key("bad_to_good"), "\"0 %\"", allowed));
        }
        Ok(Self {
            good_to_bad,
            bad_to_good,
            loss_good: section.text("loss_good")?.unwrap_or(Probability::ZERO),
            loss_bad: section.text("loss_bad")?.unwrap_or(Probability::ONE),
        })
    }
}

/// The memory that one full-size packet takes of a queue in bytes: a queue below it would drop everything.
pub(crate) fn admits_a_packet(queue: &QueueLimit, mtu: u16) -> bool {
    match queue {
        QueueLimit::Bytes(size) => *size >= DataSize::from_bytes(u64::from(mtu)),
        QueueLimit::Packets(_) | QueueLimit::Time(_) => true,
    }
}
