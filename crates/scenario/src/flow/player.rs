//! What a server that sends again what did not arrive knows of the client's player.

use framewire_units::DataSize;
use schemars::JsonSchema;
use serde::Serialize;

use super::buffer;
use crate::error::ScenarioError;
use crate::section::Section;
use crate::text;

/// The player, as far as it is otherwise than usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Player {
    /// Whether what did not arrive is sent again; absent: yes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<bool>,
    /// What the player can hold; absent: 16 MB.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub player_buffer: Option<DataSize>,
}

impl Player {
    pub(super) const KEYS: &'static [&'static str] = &["repeats", "player_buffer"];

    pub(super) fn read(section: &mut Section) -> Result<Self, ScenarioError> {
        Ok(Self {
            repeats: section.boolean("repeats")?.filter(|repeats| !repeats),
            player_buffer: buffer(section, "player_buffer")?,
        })
    }
}
