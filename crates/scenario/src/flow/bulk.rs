//! TCP connections that always have data, and no movie.

use framewire_transport::Profile;
use framewire_units::Duration;
use schemars::JsonSchema;
use serde::Serialize;

use super::tcp::Tcp;
use crate::error::ScenarioError;
use crate::section::Section;
use crate::text::{self, Text};

/// Connections that always have data.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BulkFlow {
    /// Each of them.
    #[serde(flatten)]
    pub tcp: Tcp,
    /// When it begins; present exactly for adaptive streams and `bulk`.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub start: Duration,
    /// It begins at random within this time after `start`, each of several connections at a time of its own; absent: at
    /// `start`. The simulated world only.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub start_within: Option<Duration>,
    /// When `bulk` ends its streams; absent: with the run.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub stop: Option<Duration>,
    /// How many TCP connections it is; present exactly for `bulk`.
    #[schemars(range(min = 1, max = 64))]
    pub connections: u8,
}

impl BulkFlow {
    pub(super) fn keys() -> Vec<&'static str> {
        [Tcp::KEYS, &["start", "start_within", "stop", "connections"]].concat()
    }

    pub(super) fn read(section: &mut Section, defaults: &Profile) -> Result<Self, ScenarioError> {
        let start = section.text("start")?.unwrap_or(Duration::ZERO);
        let start_within = super::start_within(section)?;
        Ok(Self {
            tcp: Tcp::read(section, defaults)?,
            start,
            start_within,
            stop: read_stop(section, start.saturating_add(start_within.unwrap_or_default()))?,
            connections: section.number("connections", 1..=64)?.unwrap_or(1),
        })
    }
}

fn read_stop(section: &mut Section, start: Duration) -> Result<Option<Duration>, ScenarioError> {
    let path = section.key("stop");
    match section.text::<Duration>("stop")? {
        Some(stop) if stop <= start => {
            let allowed = format!("a time after its start, {}", start.show());
            Err(ScenarioError::value(&path, format!("\"{}\"", stop.show()), allowed))
        }
        stop => Ok(stop),
    }
}
