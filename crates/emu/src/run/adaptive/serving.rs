//! The server's thread of an adaptive flow.

use std::time::Duration;

use framewire_adaptive::datagram::Channel;
use framewire_endpoint::EndpointError;
use framewire_session::lifecycle::AdaptiveServing;
use framewire_units::Timestamp;

use super::AdaptiveFlow;
use super::channels::SessionChannels;
use crate::control::{StopFlag, earlier, sharpen_timers};
use framewire_world::FlowState;

/// The time that a stopped server may still take: teardowns for two seconds, if its device lets them leave.
const TEARDOWN_TIME: Duration = Duration::from_millis(2_500);

/// Serves until the session is over, or until the client is gone, which it cannot report when it never reached the
/// server.
pub fn serve(
    flow: &AdaptiveFlow<'_>,
    serving: AdaptiveServing,
    channels: SessionChannels,
    client_gone: &StopFlag,
) -> AdaptiveServing {
    sharpen_timers();
    let mut thread = Serving { flow, serving, channels, client_gone, deadline: None };
    if let Err(error) = thread.run() {
        thread.serving.fail(error);
    }
    thread.show();
    thread.serving
}

struct Serving<'a> {
    flow: &'a AdaptiveFlow<'a>,
    serving: AdaptiveServing,
    channels: SessionChannels,
    client_gone: &'a StopFlag,
    /// Once it was stopped: when it ends in any case.
    deadline: Option<Timestamp>,
}

impl Serving<'_> {
    fn run(&mut self) -> Result<(), EndpointError> {
        while !self.serving.is_finished() {
            let now = self.channels.ports.now();
            self.take_note_of_ends(now);
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                break;
            }
            let Self { serving, channels, .. } = self;
            serving.sample(now, || channels.ports.queued(Channel::Data).ok());
            self.step()?;
        }
        self.channels.ports.flush();
        Ok(())
    }

    fn take_note_of_ends(&mut self, now: Timestamp) {
        let (stopped, client_gone) = (self.flow.stop.is_raised(), self.client_gone.is_raised());
        if self.deadline.is_some() || !stopped && !client_gone {
            return;
        }
        if stopped {
            self.serving.stop(now);
        } else {
            self.serving.handle_client_gone(now);
        }
        self.deadline = Some(now + TEARDOWN_TIME);
    }

    /// Sends what is due, reads what came, or waits for either.
    fn step(&mut self) -> Result<(), EndpointError> {
        let Self { serving, channels, .. } = self;
        channels.ports.flush();
        loop {
            let now = channels.ports.now();
            serving.drive(now, channels.for_one())?;
            if !channels.has_sent() {
                break;
            }
        }
        let (_, any) = channels.receive(|at, channel, arrival| serving.handle_arrival(at, channel, arrival))?;
        if any || serving.is_finished() {
            return Ok(());
        }
        self.show();
        // A socket without room wakes this thread when it has some.
        let ports = &self.channels.ports;
        let next = self.serving.next_timeout(ports.has_room());
        let flags = [self.flow.stop, self.client_gone].map(StopFlag::descriptor);
        let awaited = if self.deadline.is_none() { &flags[..] } else { &[] };
        let (asked, began) = (earlier(next, self.deadline), ports.now());
        let waited = ports.wait_or(asked, awaited);
        self.flow.progress.sender_wakes().note(began, asked, ports.now());
        waited
    }

    fn show(&self) {
        let done = self.serving.progress();
        self.flow.progress.set_sender(done.offered, done.discarded);
        if self.serving.offered_all() {
            self.flow.progress.set_state(FlowState::Draining);
        }
    }
}
