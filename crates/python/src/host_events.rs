//! What happens to the sessions of a server, as JSON.

use std::collections::VecDeque;

use framewire_adaptive::host::{Host, HostEvent};
use framewire_adaptive::server::ServerEvent;
use framewire_units::{Duration, Timestamp};
use serde_json::{Value, json};

/// Time in which every report that a controller can use has come: many round trips, half of what ends a session.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Finds sessions of which the controller has heard nothing that it can use: the client reports in another way.
#[derive(Default)]
pub(crate) struct Unheard {
    /// Sessions by the time at which they are looked at.
    young: VecDeque<(Timestamp, u64)>,
}

impl Unheard {
    /// Whatever happened.
    pub(crate) fn handle(&mut self, now: Timestamp, event: &HostEvent) {
        if matches!(event.event, ServerEvent::Started { .. }) {
            self.young.push_back((now + PATIENCE, event.session));
        }
    }

    /// The next of them; each is told once.
    pub(crate) fn poll(&mut self, now: Timestamp, host: &Host) -> Option<Value> {
        while let Some(&(due, session)) = self.young.front()
            && due <= now
        {
            self.young.pop_front();
            if host.state(session).is_some_and(|state| state.controller.round_trip.is_none()) {
                return Some(json!({
                    "at_s": now.as_secs_f64(), "session": session, "event": "unheard", "for_s": PATIENCE.as_secs_f64(),
                    "sessions": host.sessions(),
                }));
            }
        }
        None
    }
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
