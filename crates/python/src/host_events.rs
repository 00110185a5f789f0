//! What happens to the sessions of a server, as JSON.

use framewire_adaptive::host::{Host, HostEvent};
use framewire_adaptive::server::ServerEvent;
use framewire_endpoint::SessionWithoutFeedback;
use framewire_units::Timestamp;
use serde_json::{Value, json};

pub(crate) fn of_no_feedback(now: Timestamp, found: SessionWithoutFeedback, host: &Host) -> Value {
    json!({
        "at_s": now.as_secs_f64(), "session": found.session, "event": "no feedback",
        "for_s": found.waited.as_secs_f64(), "sessions": host.sessions(),
    })
}

pub(crate) fn of_host(now: Timestamp, event: &HostEvent, host: &Host) -> Value {
    let mut document = match &event.event {
        ServerEvent::Started { data, control, .. } => {
            json!({ "event": "started", "data": data.to_string(), "control": control.to_string() })
        }
        ServerEvent::LevelChanged { frame, from, to } => {
            json!({ "event": "level", "frame": frame, "from": from, "to": to })
        }
        ServerEvent::SourceFailed(error) => json!({ "event": "source failed", "error": error.to_string() }),
        ServerEvent::Ended(reason) => {
            let late = host.lateness().quantile(990).map(|time| time.as_secs_f64());
            json!({ "event": "ended", "reason": format!("{reason:?}"), "lateness_p99_s": late })
        }
    };
    document["at_s"] = now.as_secs_f64().into();
    document["session"] = event.session.into();
    document["sessions"] = host.sessions().into();
    document["state"] = host.state(event.session).map_or(Value::Null, |state| {
        json!({
            "rate_bps": state.controller.rate.as_bps(),
            "estimate_bps": state.controller.estimate.map(|estimate| estimate.as_bps()),
            "round_trip_s": state.controller.round_trip.map(|time| time.as_secs_f64()),
            "level": state.level,
            "frame": state.frame,
            "packets": state.packets,
            "repeated": state.repeats.repeated,
        })
    });
    document
}
