//! How much may wait in a flow's frame queue.

use framewire_transport::queue::QueueKind;
use framewire_transport::{Limits, TransportKind};
use framewire_units::{DataSize, Duration};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::buffer;
use crate::error::ScenarioError;
use crate::section::Section;
use crate::text;

/// The limits as they are written.
#[derive(Serialize, JsonSchema)]
pub(super) struct Keys {
    /// How long the oldest frame may wait in the frame queue, in time of the stream; only where that has limits.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    queue_time: Option<Duration>,
    /// How many frames may wait there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    queue_frames: Option<u32>,
    /// How many bytes may wait there.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    queue_bytes: Option<DataSize>,
}

/// As a number of frames or bytes only where the queue counts them.
pub(super) const fn keys(kind: TransportKind) -> &'static [&'static str] {
    let queue = kind.queue();
    match queue.limits() {
        None => &[],
        Some(_) if queue.counts() => &["queue_time", "queue_frames", "queue_bytes"],
        Some(_) => &["queue_time"],
    }
}

/// The frame queue of a transport, with its limits where the file states none: docs/transports.md says why.
pub(super) fn read(section: &mut Section, transport: TransportKind) -> Result<QueueKind, ScenarioError> {
    let queue = transport.queue();
    let Some(defaults) = queue.limits() else { return Ok(queue) };
    Ok(queue.with_limits(Limits {
        time: time(section)?.or(defaults.time),
        frames: section.number("queue_frames", 1..=100_000)?.or(defaults.frames),
        bytes: buffer(section, "queue_bytes")?.or(defaults.bytes),
    }))
}

pub(super) fn serialize<S: Serializer>(queue: &QueueKind, serializer: S) -> Result<S::Ok, S::Error> {
    let Limits { time, frames, bytes } = queue.limits().unwrap_or_default();
    Keys { queue_time: time, queue_frames: frames, queue_bytes: bytes }.serialize(serializer)
}

fn time(section: &mut Section) -> Result<Option<Duration>, ScenarioError> {
    let path = section.key("queue_time");
    match section.text::<Duration>("queue_time")? {
        Some(Duration::ZERO) => Err(ScenarioError::value(&path, "\"0 s\"", "a duration above zero")),
        time => Ok(time),
    }
}
