//! The `[playout]` table.

use framewire_units::{BufferMarks, Duration, Playout, PlayoutPolicy, Timing};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::error::ScenarioError;
use crate::section::Section;
use crate::text::Text;
use crate::{names, text};

names::text_keywords! { PlayoutPolicy Timing }

pub(crate) const KEYS: &[&str] = &["policy", "startup", "low_mark", "high_mark", "timing"];

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
    /// A player that waits pauses where no more of the movie than this is left to show.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    low_mark: Duration,
    /// It goes on when this much is there; no less than low_mark.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    high_mark: Duration,
    /// What latencies are counted from.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Timing>")]
    timing: Timing,
}

pub(crate) fn read(mut section: Section) -> Result<Playout, ScenarioError> {
    let (low, high) = (section.text("low_mark")?, section.text("high_mark")?);
    let low: Duration = low.unwrap_or_default();
    let marks = BufferMarks { low, high: high.unwrap_or(low) };
    if marks.high < marks.low {
        let (high, low) = (marks.high.show(), marks.low.show());
        let allowed = format!("low_mark ({low}) and more: a player that goes on with less pauses at once");
        return Err(ScenarioError::value(&section.key("high_mark"), high, allowed));
    }
    Ok(Playout {
        policy: section.text("policy")?.unwrap_or(PlayoutPolicy::Live),
        startup: section.text("startup")?.unwrap_or(Duration::from_secs(1)),
        marks,
        timing: section.text("timing")?.unwrap_or(Timing::Clock),
    })
}

pub(crate) fn serialize<S: Serializer>(playout: &Playout, serializer: S) -> Result<S::Ok, S::Error> {
    let Playout { policy, startup, marks: BufferMarks { low: low_mark, high: high_mark }, timing } = *playout;
    Table { policy, startup, low_mark, high_mark, timing }.serialize(serializer)
}
