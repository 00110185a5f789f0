//! What the element tells: structures of its messages and of `stats`.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use framewire_adaptive::datagram::Drops;
use framewire_adaptive::host::{HostEvent, Lateness};
use framewire_adaptive::server::{ServerEvent, ServerState};

/// An event as a message.
pub(super) fn of_event(event: &HostEvent) -> gst::Structure {
    let session = event.session;
    match &event.event {
        ServerEvent::Started { data, control, .. } => gst::Structure::builder("framewire-session-started")
            .field("session", session)
            .field("data-address", data.to_string())
            .field("control-address", control.to_string())
            .build(),
        ServerEvent::LevelChanged { frame, from, to } => gst::Structure::builder("framewire-level-changed")
            .field("session", session)
            .field("frame", *frame)
            .field("from", *from as u32)
            .field("to", *to as u32)
            .build(),
        ServerEvent::SourceFailed(error) => gst::Structure::builder("framewire-source-failed")
            .field("session", session)
            .field("reason", error.to_string())
            .build(),
        ServerEvent::Ended(reason) => gst::Structure::builder("framewire-session-ended")
            .field("session", session)
            .field("reason", format!("{reason:?}"))
            .build(),
    }
}

/// What is known of the service.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// For video, and for control packets.
    pub addresses: Option<[SocketAddr; 2]>,
    /// What each session that is open knows.
    pub sessions: BTreeMap<u64, ServerState>,
    /// Sessions that ended.
    pub ended: u64,
    /// Datagrams of no session that were thrown away.
    pub drops: Drops,
    /// By how much packets left late.
    pub lateness: Lateness,
}

impl Report {
    /// The `stats` property.
    pub fn structure(&self) -> gst::Structure {
        let sessions = self.sessions.iter().map(|(session, state)| of_session(*session, state));
        let late = |per_mille| self.lateness.quantile(per_mille).map(|late| late.as_nanos() as u64);
        let mut structure = gst::Structure::builder("application/x-framewire-vtp-sink-stats")
            .field("clients", self.sessions.len() as u64)
            .field("sessions", gst::Array::new(sessions))
            .field("sessions-ended", self.ended)
            .field("dropped-datagrams", self.drops.total());
        if let Some([data, control]) = self.addresses {
            structure = structure
                .field("data-address", data.to_string())
                .field("data-port", u32::from(data.port()))
                .field("control-address", control.to_string())
                .field("control-port", u32::from(control.port()));
        }
        if let (Some(median), Some(high)) = (late(500), late(990)) {
            structure = structure.field("lateness-p50", median).field("lateness-p99", high);
        }
        structure.build()
    }
}

fn of_session(session: u64, state: &ServerState) -> gst::Structure {
    let mut structure = gst::Structure::builder("session")
        .field("session", session)
        .field("frame", state.frame)
        .field("level", state.level as u32)
        .field("rate", state.controller.rate.as_bps())
        .field("packets", state.packets)
        .field("bytes", state.sent.as_bytes());
    if let Some(estimate) = state.controller.estimate {
        structure = structure.field("estimate", estimate.as_bps());
    }
    if let Some(round_trip) = state.controller.round_trip {
        structure = structure.field("round-trip", round_trip.as_nanos() as u64);
    }
    structure.build()
}
