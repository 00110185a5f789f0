//! Sessions whose reports a server has no use for.

use std::collections::VecDeque;

use framewire_adaptive::host::{Host, HostEvent};
use framewire_adaptive::rate_control::RateControl;
use framewire_adaptive::server::ServerEvent;
use framewire_units::{Duration, Timestamp};

/// Time in which every report that a controller can use has come: many round trips, half of what ends a session.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Finds sessions of which the controller has received nothing that it can use: the client reports in another way.
///
/// Hand in whatever happens to the host ([`handle`](Self::handle)), and ask it ten times a second or so
/// ([`poll`](Self::poll)).
#[derive(Debug)]
pub struct SessionsWithoutFeedback {
    /// A rate that is fixed needs no reports.
    needs_reports: bool,
    /// Sessions by the time at which they are looked at.
    young: VecDeque<(Timestamp, u64)>,
}

/// A session of which the controller knows no round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionWithoutFeedback {
    /// The client's name for it.
    pub session: u64,
    /// How long it had for a first report, from its start on.
    pub waited: Duration,
}

impl SessionsWithoutFeedback {
    /// Of a host with this rate control.
    pub fn new(rate_control: RateControl) -> Self {
        Self { needs_reports: rate_control != RateControl::Fixed, young: VecDeque::new() }
    }

    /// Whatever happened.
    pub fn handle(&mut self, now: Timestamp, event: &HostEvent) {
        if self.needs_reports && matches!(event.event, ServerEvent::Started { .. }) {
            self.young.push_back((now + PATIENCE, event.session));
        }
    }

    /// The next of them; each is returned once. `None` when there is no other by now.
    pub fn poll(&mut self, now: Timestamp, host: &Host) -> Option<SessionWithoutFeedback> {
        while let Some(&(due, session)) = self.young.front()
            && due <= now
        {
            self.young.pop_front();
            if host.state(session).is_some_and(|state| state.controller.round_trip.is_none()) {
                return Some(SessionWithoutFeedback { session, waited: PATIENCE });
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "no_feedback_tests.rs"]
mod tests;
