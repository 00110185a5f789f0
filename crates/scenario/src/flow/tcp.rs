//! The TCP connections of a flow.

use framewire_transport::Profile;
use framewire_units::DataSize;
use schemars::JsonSchema;
use serde::Serialize;

use super::tcp_options::TcpOptions;
use super::{buffer, send_buffer};
use crate::error::ScenarioError;
use crate::section::Section;
use crate::text;

/// Of the lab's own sender.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tcp {
    /// `SO_SNDBUF` as getsockopt reports it; absent: the kernel's own (autotuned on TCP).
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub send_buffer: Option<DataSize>,
    /// TCP congestion control, by the kernel's name; present for the TCP family, and for applications, of whose hosts it
    /// is the default.
    pub congestion: String,
    /// `TCP_NOTSENT_LOWAT`; only for the TCP family, absent: no limit.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub unsent_limit: Option<DataSize>,
    /// What both hosts have otherwise than Linux now; the simulated world only.
    #[serde(rename = "tcp", skip_serializing_if = "Option::is_none")]
    pub options: Option<TcpOptions>,
}

impl Tcp {
    pub(super) const KEYS: &'static [&'static str] = &["send_buffer", "congestion", "unsent_limit", "tcp"];

    pub(super) fn read(section: &mut Section, defaults: &Profile) -> Result<Self, ScenarioError> {
        Ok(Self {
            send_buffer: send_buffer(section, defaults)?,
            congestion: congestion(section)?,
            unsent_limit: buffer(section, "unsent_limit")?.or(defaults.unsent_limit),
            options: TcpOptions::read(section)?,
        })
    }
}

/// CUBIC (RFC 9438) unless the file says otherwise, whatever this machine has.
pub(super) fn congestion(section: &mut Section) -> Result<String, ScenarioError> {
    /// `TCP_CA_NAME_MAX` of the kernel, less the terminator.
    const LONGEST: usize = 15;
    let path = section.key("congestion");
    let name = section.string("congestion")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+');
    match name {
        Some(name) if !(1..=LONGEST).contains(&name.len()) || !name.chars().all(fits) => {
            let shown: String = name.chars().take(80).collect();
            let allowed = "the name of a congestion control of this kernel, such as \"cubic\" or \"reno\"";
            Err(ScenarioError::value(&path, format!("{shown:?}"), allowed))
        }
        name => Ok(name.unwrap_or_else(|| "cubic".to_owned())),
    }
}
