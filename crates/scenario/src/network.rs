use std::path::Path;

use framewire_units::{Bitrate, DataSize, Duration, Probability};
use schemars::JsonSchema;
use serde::Serialize;
use toml::Value;

use crate::error::ScenarioError;
use crate::names::words;
use crate::section::{Section, Shown, text_value};
use crate::text::{self, Interval, QueueLimit, Text, from_directory};
use crate::wifi::Wifi;

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

/// The `[network.wire]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Wire {
    /// Rate of IP bytes, in each direction; present exactly when there is no `trace`.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Bitrate>")]
    pub rate: Option<Bitrate>,
    /// A recorded link instead of the rate: the path of a file in Mahimahi's format. Towards the receiver, and behind an
    /// access point in each direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
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

impl Network {
    pub(crate) const KEYS: &'static [&'static str] = &["kind", "bottleneck", "wifi", "wire"];

    pub(crate) fn read(mut section: Section, directory: Option<&Path>) -> Result<Self, ScenarioError> {
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
        let wire = Wire::read(section.section_or_empty("wire", Wire::KEYS)?, directory)?;
        Ok(Self { kind, bottleneck, wifi, wire })
    }

    /// Every schedule of the network, with the path of its key.
    pub(crate) fn schedules(&self) -> impl Iterator<Item = (&'static str, &Interval)> {
        let oven = self.wifi.iter().flat_map(|wifi| &wifi.oven).flat_map(|oven| &oven.on);
        let outages = self.wire.outages.iter();
        oven.map(|on| ("network.wifi.oven.on", on)).chain(outages.map(|out| ("network.wire.outages", out)))
    }
}

impl Wire {
    pub(crate) const KEYS: &'static [&'static str] = &["rate", "trace", "delay", "jitter", "queue", "outages", "loss"];

    fn read(mut section: Section, directory: Option<&Path>) -> Result<Self, ScenarioError> {
        let (loss_key, trace_key) = (section.key("loss"), section.key("trace"));
        let trace = section.string("trace")?;
        if trace.as_ref().is_some_and(|path| path.is_empty() || path.contains('\0')) {
            return Err(ScenarioError::value(&trace_key, "\"\"", "the path of a file in Mahimahi's format"));
        }
        let (rate_key, rate) = (section.key("rate"), section.text::<Bitrate>("rate")?);
        if let (Some(rate), Some(trace)) = (&rate, &trace) {
            let allowed = format!("no rate beside {trace_key} = \"{trace}\", which says when the link can send");
            return Err(ScenarioError::value(&rate_key, format!("\"{}\"", rate.show()), allowed));
        }
        Ok(Self {
            rate: rate.or_else(|| trace.is_none().then_some(Bitrate::from_mbps(100))),
            trace: trace.map(|path| from_directory(directory, path)),
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
