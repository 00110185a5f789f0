//! The `[playout]` table.

use framewire_units::{Duration, Playout, PlayoutPolicy, Timing};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::error::ScenarioError;
use crate::section::Section;
use crate::{names, text};

names::text_words! { PlayoutPolicy Timing }

pub(crate) const KEYS: &[&str] = &["policy", "startup", "timing"];

/// The table as it is written.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Playout", deny_unknown_fields)]
pub(crate) struct Table {
    /// How the player treats what arrives.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<PlayoutPolicy>")]
    policy: PlayoutPolicy,
    /// Time between the first arrival and the first frame shown.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    startup: Duration,
    /// What latencies are counted from.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Timing>")]
    timing: Timing,
}

pub(crate) fn read(mut section: Section) -> Result<Playout, ScenarioError> {
    Ok(Playout {
        policy: section.text("policy")?.unwrap_or(PlayoutPolicy::Live),
        startup: section.text("startup")?.unwrap_or(Duration::from_secs(1)),
        timing: section.text("timing")?.unwrap_or(Timing::Clock),
    })
}

pub(crate) fn serialize<S: Serializer>(playout: &Playout, serializer: S) -> Result<S::Ok, S::Error> {
    let Playout { policy, startup, timing } = *playout;
    Table { policy, startup, timing }.serialize(serializer)
}
