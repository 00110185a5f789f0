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
    /// Explicit congestion notification is asked for (RFC 3168). Present where it is: Linux grants it, and does not ask. A
    /// congestion control that counts marks asks by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// `TCP_NOTSENT_LOWAT`; only for the TCP family, absent: no limit.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub unsent_limit: Option<DataSize>,
    /// What both hosts have otherwise than Linux now; the simulated world only.
    #[serde(rename = "tcp", skip_serializing_if = "Option::is_none")]
    pub options: Option<TcpOptions>,
}

impl Tcp {
    pub(super) const KEYS: &'static [&'static str] = &["send_buffer", "congestion", "ecn", "unsent_limit", "tcp"];

    pub(super) fn read(section: &mut Section, defaults: &Profile) -> Result<Self, ScenarioError> {
        let congestion = congestion(section)?;
        Ok(Self {
            send_buffer: send_buffer(section, defaults)?,
            ecn: ecn(section, &congestion)?,
            congestion,
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

/// Whether ECN is asked for: what the file says, else what the congestion control needs.
pub(super) fn ecn(section: &mut Section, congestion: &str) -> Result<bool, ScenarioError> {
    let path = section.key("ecn");
    match section.boolean("ecn")? {
        Some(false) if needs_ecn(congestion) => {
            let allowed = format!("true, or another congestion control: \"{congestion}\" counts what ECN marks");
            Err(ScenarioError::value(&path, "false", allowed))
        }
        asked => Ok(asked.unwrap_or_else(|| needs_ecn(congestion))),
    }
}

/// Whether a congestion control counts marks, so that it asks for ECN by itself and both ends must have it. A name that
/// the kernel has it by may have something behind an underscore.
pub fn needs_ecn(congestion: &str) -> bool {
    const COUNTING: [&str; 2] = ["dctcp", "prague"];
    congestion.split('_').next().is_some_and(|name| COUNTING.contains(&name))
}
