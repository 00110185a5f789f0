//! The movie as a stream of bytes.

use framewire_transport::datagram::Overflow;
use framewire_transport::queue::QueueKind;
use framewire_transport::registry::{Parts, Queue, Session, SocketKind};
use framewire_transport::{Spread, TransportKind};
use framewire_units::Bitrate;
use framewire_wire::rtp_payload::PacketRule;
use schemars::JsonSchema;
use serde::Serialize;

use super::pacing::{self, Pacing};
use super::tcp::Tcp;
use super::{Damaged, DatagramFlow, Rtcp, queue, rtcp, ts_rate};
use crate::error::ScenarioError;
use crate::section::Section;
use crate::text;

/// The movie as a stream of bytes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StreamFlow {
    /// How it carries the movie.
    #[serde(skip)]
    pub transport: TransportKind,
    /// What paces the sender; present exactly for `tcp` and `udp-blocking`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// The constant rate of the transport stream, filled up with packets without content; only for those before which nothing is given
    /// up, absent: it varies.
    // A flow whose rate varies is written as before there was the key.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Bitrate>")]
    pub ts_rate: Option<Bitrate>,
    /// Which reports its ends send each other; present exactly for `rtsp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtcp: Option<Rtcp>,
    /// Its connection.
    #[serde(flatten)]
    pub tcp: Tcp,
    /// Which frame goes next, and how much may wait.
    #[serde(flatten, serialize_with = "queue::serialize")]
    #[schemars(flatten, with = "queue::Keys")]
    pub queue: QueueKind,
}

impl StreamFlow {
    pub(super) fn keys(kind: TransportKind) -> Vec<&'static str> {
        [pacing::keys(kind), ts_rate::keys(kind), rtcp::keys(kind), Tcp::KEYS, queue::keys(kind)].concat()
    }

    pub(super) fn read(section: &mut Section, transport: TransportKind) -> Result<Self, ScenarioError> {
        let pacing = pacing::read(section, transport)?;
        Ok(Self {
            transport,
            pacing,
            ts_rate: ts_rate::read(section, transport, pacing, false)?,
            rtcp: rtcp::read(section, transport)?,
            tcp: Tcp::read(section, transport.profile())?,
            queue: queue::read(section, transport)?,
        })
    }

    /// The same in datagrams beside the connection, where that is one of RTSP. Without a queue it is called as what a client asks
    /// for; behind one, a send waits for room.
    pub(super) fn in_datagrams(&self) -> Option<DatagramFlow> {
        let parts = self.transport.profile().parts;
        let overflow = if parts.queue == Queue::Direct { Overflow::Drop } else { Overflow::Wait };
        let of_rtsp =
            (parts.session == Session::Rtsp).then_some(Parts { socket: SocketKind::Datagram(overflow), ..parts });
        Some(DatagramFlow {
            transport: TransportKind::of(of_rtsp?).ok()?,
            overflow,
            packets: PacketRule::Full,
            spread: Spread::AtOnce,
            damaged: Damaged::Discard,
            rtcp: self.rtcp,
            send_buffer: self.tcp.send_buffer,
            pacing: None,
            ts_rate: None,
            queue: self.queue,
        })
    }
}
