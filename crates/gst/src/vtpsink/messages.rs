//! What the element reports: structures of its messages and of `stats`.

use framewire_adaptive::host::HostEvent;
use framewire_adaptive::server::ServerEvent;
use framewire_endpoint::service::{self, Session};

use super::live::LiveState;

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

/// What is known of the element.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// Of the service.
    pub service: service::Report,
    /// Of levels on pads.
    pub live: Option<LiveState>,
}

impl Report {
    /// The `stats` property.
    pub(crate) fn structure(&self) -> gst::Structure {
        self.named("application/x-framewire-vtp-sink-stats")
    }

    /// The same under another name.
    pub(crate) fn named(&self, name: &str) -> gst::Structure {
        let service = &self.service;
        let sessions = service.sessions.iter().map(|(session, known)| of_session(*session, known));
        let late = |per_mille| service.lateness.quantile(per_mille).map(|late| late.as_nanos() as u64);
        let mut structure = gst::Structure::builder(name)
            .field("clients", service.sessions.len() as u64)
            .field("sessions", gst::Array::new(sessions))
            .field("sessions-ended", service.ended)
            .field("dropped-datagrams", service.drops.total());
        if let Some([data, control]) = service.addresses {
            structure = structure
                .field("data-address", data.to_string())
                .field("data-port", u32::from(data.port()))
                .field("control-address", control.to_string())
                .field("control-port", u32::from(control.port()));
        }
        if let (Some(median), Some(high)) = (late(500), late(990)) {
            structure = structure.field("lateness-p50", median).field("lateness-p99", high);
        }
        if let Some(live) = &self.live {
            structure = structure.field("live", of_live(live));
        }
        structure.build()
    }
}

/// The live window.
fn of_live(live: &LiveState) -> gst::Structure {
    let LiveState { window, skipped, waiting } = live;
    gst::Structure::builder("live")
        .field("frames", window.frames)
        .field("frames-skipped", *skipped)
        .field("frames-given-up", window.frames_given_up)
        .field("frames-waiting", waiting.0 as u64)
        .field("window-groups", window.groups as u32)
        .field("window-time", window.time.as_nanos() as u64)
        .field("window-bytes", window.bytes + waiting.1)
        .field("rates", gst::Array::new(window.rates.iter().map(|rate| rate.as_bps())))
        .build()
}

fn of_session(session: u64, known: &Session) -> gst::Structure {
    let Session { began, state, level_changes } = known;
    let controller = &state.controller;
    // What the client was sent, less the time in which it could show that.
    let sent = i64::try_from(state.media_time.as_nanos()).unwrap_or(i64::MAX);
    let ahead = sent.saturating_sub(i64::try_from(began.elapsed().as_nanos()).unwrap_or(i64::MAX));
    let mut structure = gst::Structure::builder("session")
        .field("session", session)
        .field("frame", state.frame)
        .field("level", state.level as u32)
        .field("level-changes", *level_changes)
        .field("state", controller.name)
        .field("rate", controller.rate.as_bps())
        .field("ahead", ahead)
        .field("packets", state.packets)
        .field("bytes", state.sent.as_bytes())
        .field("packets-named-missing", state.repeats.named)
        .field("packets-repeated", state.repeats.repeated)
        .field("dropped-datagrams", state.drops.total());
    let rates = [("estimate", controller.estimate), ("sample", controller.sample)];
    for (field, rate) in rates {
        if let Some(rate) = rate {
            structure = structure.field(field, rate.as_bps());
        }
    }
    let times = [("round-trip", controller.round_trip), ("round-trip-sample", controller.round_trip_sample)];
    for (field, time) in times {
        if let Some(time) = time {
            structure = structure.field(field, time.as_nanos() as u64);
        }
    }
    if let Some(rate) = controller.loss_event_rate {
        structure = structure.field("loss-event-rate", rate);
    }
    structure.build()
}
