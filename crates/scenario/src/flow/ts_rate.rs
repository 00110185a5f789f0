//! The constant rate of a transport stream.

use framewire_transport::TransportKind;
use framewire_transport::datagram::Overflow;
use framewire_transport::queue::QueueKind;
use framewire_transport::registry::{Format, RtpContent};
use framewire_units::Bitrate;

use super::Pacing;
use crate::error::ScenarioError;
use crate::section::Section;
use crate::text::Text;

/// Transport streams that give no frame up on purpose can have it: null packets would take its place, and the stream would be no
/// smaller.
pub(super) fn keys(kind: TransportKind) -> &'static [&'static str] {
    let parts = kind.profile().parts;
    let is_ts = matches!(parts.format, Format::Ts | Format::Rtp(RtpContent::TransportStream));
    let gives_up = kind.queue() != QueueKind::Direct || kind.overflow() == Some(Overflow::DropRestOfFrame);
    if is_ts && !gives_up { &["ts_rate"] } else { &[] }
}

/// Why a transport that has not the key has it not, in words that follow a comma.
pub(super) const REASON: &str = "transport streams that give no frames up to save their packets: null packets would take the place of \
                                 those, and a stream of constant rate is no smaller without them";

/// The rate; with it a stream has the pace of its own clock.
pub(super) fn read(
    section: &mut Section,
    transport: TransportKind,
    pacing: Option<Pacing>,
    is_spread: bool,
) -> Result<Option<Bitrate>, ScenarioError> {
    // Of a transport that cannot have it, it was refused.
    if keys(transport).is_empty() {
        return Ok(None);
    }
    let path = section.key("ts_rate");
    let Some(rate) = section.text::<Bitrate>("ts_rate")? else { return Ok(None) };
    let refuse = |problem: &str| Err(ScenarioError::new(path.clone(), problem.to_owned()));
    match rate {
        _ if pacing.is_some_and(|pacing| pacing != Pacing::Sender) => {
            refuse("a stream of constant rate has the pace of its clock; leave pacing out")
        }
        _ if is_spread => refuse("a stream of constant rate is spread evenly; leave spread out"),
        rate if !(LEAST..=MOST).contains(&rate) => {
            Err(ScenarioError::value(&path, format!("\"{}\"", rate.show()), "\"200 kbit/s\" to \"1 Gbit/s\""))
        }
        rate => Ok(Some(rate)),
    }
}

/// Tables and clock references alone take 112 kbit/s.
const LEAST: Bitrate = Bitrate::from_bps(200_000);

/// Four times the most that a level of H.264 up to 5.2 has (MaxBR, ISO/IEC 14496-10, table A-1).
const MOST: Bitrate = Bitrate::from_mbps(1_000);
