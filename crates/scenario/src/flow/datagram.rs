//! The movie in datagrams.

use framewire_transport::datagram::Overflow;
use framewire_transport::queue::QueueKind;
use framewire_transport::{Spread, TransportKind};
use framewire_units::{Bitrate, DataSize};
use framewire_wire::rtp_payload::PacketRule;
use schemars::JsonSchema;
use serde::Serialize;

use super::pacing::{self, Pacing};
use super::{Damaged, Rtcp, damaged, queue, rtcp, send_buffer, ts_rate};
use crate::error::ScenarioError;
use crate::section::Section;
use crate::{names, text};

names::text_keywords! { PacketRule }

/// The movie in datagrams.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DatagramFlow {
    /// How it carries the movie.
    #[serde(skip)]
    pub transport: TransportKind,
    /// What is done when the socket is full.
    #[serde(skip)]
    pub overflow: Overflow,
    /// Where frames are cut into packets; present exactly for datagram transports. `thesis` is of MPEG-2 only.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<PacketRule>")]
    pub packets: PacketRule,
    /// When the packets of a frame leave; only for datagram transports, absent: all at once.
    // A flow that does not spread is written as before there was the key.
    #[serde(serialize_with = "text::serialize", skip_serializing_if = "is_at_once")]
    #[schemars(schema_with = "text::schema::<Spread>")]
    pub spread: Spread,
    /// What the receiver does with a frame of which a packet is missing; only for datagrams, absent: it discards it.
    // A flow that discards is written as before there was the key.
    #[serde(skip_serializing_if = "discards")]
    pub damaged: Damaged,
    /// Which reports its ends send each other; only for datagrams of RTP, absent: none.
    // A flow without them is written as before there was the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtcp: Option<Rtcp>,
    /// `SO_SNDBUF` as getsockopt reports it; absent: the kernel's own (autotuned on TCP).
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub send_buffer: Option<DataSize>,
    /// What paces the sender; present exactly for `tcp` and `udp-blocking`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// The constant rate of the transport stream, filled up with packets without content; only for those before which nothing is given
    /// up, absent: it varies.
    // A flow whose rate varies is written as before there was the key.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Bitrate>")]
    pub ts_rate: Option<Bitrate>,
    /// Which frame goes next, and how much may wait.
    #[serde(flatten, serialize_with = "queue::serialize")]
    #[schemars(flatten, with = "queue::Keys")]
    pub queue: QueueKind,
}

impl DatagramFlow {
    pub(super) fn keys(kind: TransportKind) -> Vec<&'static str> {
        [
            &["packets", "spread", "send_buffer"],
            damaged::keys(kind),
            rtcp::keys(kind),
            pacing::keys(kind),
            ts_rate::keys(kind),
            queue::keys(kind),
        ]
        .concat()
    }

    pub(super) fn read(
        section: &mut Section,
        transport: TransportKind,
        overflow: Overflow,
    ) -> Result<Self, ScenarioError> {
        let spread = section.text("spread")?.unwrap_or(Spread::AtOnce);
        let pacing = pacing::read(section, transport)?;
        Ok(Self {
            transport,
            overflow,
            packets: section.text("packets")?.unwrap_or(PacketRule::Full),
            spread,
            damaged: section.text("damaged")?.unwrap_or(Damaged::Discard),
            rtcp: rtcp::read(section, transport)?,
            send_buffer: send_buffer(section, transport.profile())?,
            pacing,
            ts_rate: ts_rate::read(section, transport, pacing, spread != Spread::AtOnce)?,
            queue: queue::read(section, transport)?,
        })
    }
}

fn discards(damaged: &Damaged) -> bool {
    *damaged == Damaged::Discard
}

fn is_at_once(spread: &Spread) -> bool {
    *spread == Spread::AtOnce
}
