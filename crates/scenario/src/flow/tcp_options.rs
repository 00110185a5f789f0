//! What the hosts of a TCP connection have otherwise than Linux now: options and constants of other systems and times.

use framewire_units::{DataSize, Duration};
use schemars::JsonSchema;
use serde::Serialize;

use super::buffer;
use crate::error::ScenarioError;
use crate::section::Section;
use crate::text::{self, Text};

/// The `[flow.tcp]` table: both hosts have it so. The simulated world only: a kernel has these by host or by route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TcpOptions {
    /// Selective acknowledgements (RFC 2018) are offered.
    pub sack: bool,
    /// Time stamps (RFC 7323) are offered.
    pub timestamps: bool,
    /// The first congestion window in packets; absent: 10 (RFC 6928).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000))]
    pub initial_window: Option<u32>,
    /// `SO_RCVBUF` as getsockopt reports it, twice the window that it can hold; absent: the kernel's own, which grows.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub receive_buffer: Option<DataSize>,
    /// The least retransmission timeout; absent: 200 ms, as Linux has it. RFC 6298 has 1 s.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub min_rto: Option<Duration>,
    /// An acknowledgement may wait for a second segment (RFC 9293, 3.8.6.3); else each segment is acknowledged at once.
    pub delayed_acks: bool,
}

impl Default for TcpOptions {
    /// Linux now.
    fn default() -> Self {
        Self {
            sack: true,
            timestamps: true,
            initial_window: None,
            receive_buffer: None,
            min_rto: None,
            delayed_acks: true,
        }
    }
}

impl TcpOptions {
    pub(crate) const KEYS: &'static [&'static str] =
        &["sack", "timestamps", "initial_window", "receive_buffer", "min_rto", "delayed_acks"];

    /// The table of a flow; `None` where it says nothing else than what is so anyway.
    pub(crate) fn read(section: &mut Section) -> Result<Option<Self>, ScenarioError> {
        let Some(mut section) = section.section("tcp", Self::KEYS)? else { return Ok(None) };
        let linux = Self::default();
        let initial_window = section
            .integer("initial_window", 1..=1_000)?
            .map(|packets| u32::try_from(packets).expect("invariant: the range was checked when it was read"));
        let options = Self {
            sack: section.boolean("sack")?.unwrap_or(linux.sack),
            timestamps: section.boolean("timestamps")?.unwrap_or(linux.timestamps),
            initial_window,
            receive_buffer: buffer(&mut section, "receive_buffer")?,
            min_rto: min_rto(&mut section)?,
            delayed_acks: section.boolean("delayed_acks")?.unwrap_or(linux.delayed_acks),
        };
        Ok(Some(options).filter(|options| *options != linux))
    }
}

fn min_rto(section: &mut Section) -> Result<Option<Duration>, ScenarioError> {
    /// RFC 6298, 2.5: a maximum may be set, of at least so much. No minimum is above it.
    const LONGEST: Duration = Duration::from_secs(60);
    let path = section.key("min_rto");
    match section.text::<Duration>("min_rto")? {
        Some(time) if time.is_zero() || time > LONGEST => {
            let allowed = "a time above zero and up to \"60 s\"";
            Err(ScenarioError::value(&path, format!("\"{}\"", time.show()), allowed))
        }
        time => Ok(time),
    }
}
