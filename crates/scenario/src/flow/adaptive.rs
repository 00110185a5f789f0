//! Levels of a ladder, in datagrams.

use framewire_adaptive::rate_control::RateControl;
use framewire_transport::Profile;
use framewire_units::{DataSize, Duration};
use schemars::JsonSchema;
use serde::Serialize;

use super::player::Player;
use super::vtp::Vtp;
use super::{send_buffer, start_within};
use crate::clocks;
use crate::error::ScenarioError;
use crate::section::Section;
use crate::text;

/// k of the paper's experiments (section 6.1).
const PAPER_ACK_EVERY: u16 = 5;

/// A server that chooses among the levels of a ladder, and its client.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct AdaptiveFlow {
    /// By which it chooses.
    #[serde(skip)]
    pub rate_control: RateControl,
    /// `SO_SNDBUF` as getsockopt reports it; absent: the kernel's own (autotuned on TCP).
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub send_buffer: Option<DataSize>,
    /// When it begins; present exactly for adaptive streams and `bulk`.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub start: Duration,
    /// It begins at random within this time after `start`, each of several connections at a time of its own; absent: at
    /// `start`. The simulated world only.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub start_within: Option<Duration>,
    /// k: every k-th packet of video asks for a control packet; present exactly for adaptive streams.
    #[schemars(range(min = 1, max = 65_535))]
    pub ack_every: u16,
    /// What VTP alone has; present exactly for it.
    #[serde(flatten)]
    pub vtp: Option<Vtp>,
    /// What those alone have that send again what did not arrive; present exactly for them.
    #[serde(flatten)]
    pub player: Option<Player>,
    /// Video leaves at the multiples of this; absent: at any time. The simulated world only.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub send_tick: Option<Duration>,
    /// A packet is seen, and stamped, at the next multiple of this; absent: when it comes. The simulated world only.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub receive_tick: Option<Duration>,
}

impl AdaptiveFlow {
    pub(super) fn keys(rate_control: RateControl) -> Vec<&'static str> {
        let own = match rate_control {
            RateControl::Vtp => Vtp::KEYS,
            other if other.repeats() => Player::KEYS,
            _ => &[],
        };
        [&["send_buffer", "start", "start_within", "ack_every"], own, &["send_tick", "receive_tick"]].concat()
    }

    pub(super) fn read(
        section: &mut Section,
        rate_control: RateControl,
        defaults: &Profile,
    ) -> Result<Self, ScenarioError> {
        let is_vtp = rate_control == RateControl::Vtp;
        Ok(Self {
            rate_control,
            send_buffer: send_buffer(section, defaults)?,
            start: section.text("start")?.unwrap_or(Duration::ZERO),
            start_within: start_within(section)?,
            ack_every: section.number("ack_every", 1..=65_535)?.unwrap_or(PAPER_ACK_EVERY),
            vtp: is_vtp.then(|| Vtp::read(section)).transpose()?,
            player: rate_control.repeats().then(|| Player::read(section)).transpose()?,
            send_tick: clocks::tick(section, "send_tick")?,
            receive_tick: clocks::tick(section, "receive_tick")?,
        })
    }
}
