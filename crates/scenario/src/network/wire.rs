//! The `[network.wire]` table: what a wire does in either direction.

use std::path::Path;

use framewire_link::{Discipline, Framing, Interval, LossConfig, QueueLimit};
use framewire_units::{Bitrate, DataSize, Duration};
use schemars::JsonSchema;
use serde::Serialize;

use crate::clocks;
use crate::discipline;
use crate::error::ScenarioError;
use crate::loss;
use crate::section::Section;
use crate::shaping::{self, Policer, Shaper};
use crate::text::{self, Text, from_directory};

/// The `[network.wire]` table, or a direction of a link of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Wire {
    /// Rate of IP bytes, in each direction; present exactly when there is no `trace`.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Bitrate>")]
    pub rate: Option<Bitrate>,
    /// What the line carries around each packet, which the rate counts; absent: nothing. Not beside a trace.
    #[serde(serialize_with = "shaping::serialize", skip_serializing_if = "shaping::is_none")]
    #[schemars(schema_with = "shaping::schema")]
    pub framing: Framing,
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
    /// Packets come out at its multiples, as of a link emulated by a kernel with a coarse clock; absent: at any time.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub tick: Option<Duration>,
    /// A token bucket before the queue: what exceeds it does not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policer: Option<Policer>,
    /// A token bucket behind the queue: what leaves keeps within it. Not beside a trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Shaper>,
    /// What its queue admits.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<QueueLimit>")]
    pub queue: QueueLimit,
    /// What becomes of what waits in it.
    #[serde(serialize_with = "discipline::serialize")]
    #[schemars(schema_with = "discipline::schema")]
    pub queue_discipline: Discipline,
    /// When nothing passes.
    #[serde(serialize_with = "text::serialize_intervals")]
    #[schemars(schema_with = "text::intervals_schema")]
    pub outages: Vec<Interval>,
    /// Random loss.
    #[serde(serialize_with = "loss::serialize")]
    #[schemars(schema_with = "loss::schema")]
    pub loss: LossConfig,
}

impl Wire {
    pub(crate) const KEYS: &'static [&'static str] = &[
        "rate",
        "framing",
        "trace",
        "delay",
        "jitter",
        "tick",
        "policer",
        "shaper",
        "queue",
        "queue_discipline",
        "outages",
        "loss",
    ];

    pub(super) fn read(mut section: Section, directory: Option<&Path>) -> Result<Self, ScenarioError> {
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
        let beside_a_trace = |key: &str| {
            let allowed = format!("nothing beside {trace_key}, whose opportunities take IP packets when it says");
            ScenarioError::value(key, "a value", allowed)
        };
        let (framing_key, framing) = (section.key("framing"), shaping::read_framing(&mut section)?);
        let (shaper_key, shaper) = (section.key("shaper"), Shaper::read(&mut section)?);
        match &trace {
            Some(_) if framing != Framing::NONE => return Err(beside_a_trace(&framing_key)),
            Some(_) if shaper.is_some() => return Err(beside_a_trace(&shaper_key)),
            _ => {}
        }
        Ok(Self {
            framing,
            policer: Policer::read(&mut section)?,
            shaper,
            rate: rate.or_else(|| trace.is_none().then_some(Bitrate::from_mbps(100))),
            trace: trace.map(|path| from_directory(directory, path)),
            delay: section.text("delay")?.unwrap_or(Duration::from_micros(100)),
            jitter: section.text("jitter")?.unwrap_or(Duration::ZERO),
            tick: clocks::tick(&mut section, "tick")?,
            queue: section.text("queue")?.unwrap_or(QueueLimit::Packets(1_000)),
            queue_discipline: discipline::read(&mut section)?,
            outages: section.intervals("outages")?.unwrap_or_default(),
            loss: section.take("loss").map_or(Ok(LossConfig::None), |value| loss::read(&loss_key, value))?,
        })
    }
}

impl Wire {
    /// Its token buckets: key below that of the wire, and how much passes at once.
    pub(crate) fn bursts(&self) -> impl Iterator<Item = (&'static str, DataSize)> {
        let shaper = self.shaper.map(|shaper| ("shaper.burst", shaper.burst));
        shaper.into_iter().chain(self.policer.map(|policer| ("policer.burst", policer.burst)))
    }
}

/// The memory that one full-size packet takes of a queue in bytes: a queue below it would drop everything.
pub(crate) fn admits_a_packet(queue: &QueueLimit, mtu: u16) -> bool {
    match queue {
        QueueLimit::Bytes(size) => *size >= DataSize::from_bytes(u64::from(mtu)),
        QueueLimit::Packets(_) | QueueLimit::Time(_) => true,
    }
}
