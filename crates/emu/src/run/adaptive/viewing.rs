//! The client's thread of an adaptive flow.

use std::time::Duration;

use framewire_endpoint::EndpointError;
use framewire_session::lifecycle::AdaptiveViewing;
use framewire_units::Timestamp;

use super::AdaptiveFlow;
use super::channels::SessionChannels;
use crate::control::{StopFlag, earlier, sharpen_timers, sleep_until};

/// What a client that has not received the end waits for, when the server is gone: packets that are still under way.
const LINGER: Duration = Duration::from_secs(1);

/// Asks for the movie at the flow's start and receives until the session is over, or until the server is gone.
pub fn view(
    flow: &AdaptiveFlow<'_>,
    viewing: AdaptiveViewing,
    channels: SessionChannels,
    server_gone: &StopFlag,
) -> AdaptiveViewing {
    sharpen_timers();
    sleep_until(flow.clock, flow.setup.start, flow.stop);
    let mut thread = Viewing { flow, viewing, channels, server_gone, deadline: None };
    let broken = if flow.stop.is_raised() { Ok(()) } else { thread.run() };
    if let Err(error) = broken {
        thread.viewing.fail(error);
    }
    thread.show(0);
    thread.viewing
}

struct Viewing<'a> {
    flow: &'a AdaptiveFlow<'a>,
    viewing: AdaptiveViewing,
    channels: SessionChannels,
    server_gone: &'a StopFlag,
    /// Once the server is gone: when this side has waited long enough.
    deadline: Option<Timestamp>,
}

impl Viewing<'_> {
    fn run(&mut self) -> Result<(), EndpointError> {
        while !self.viewing.is_finished() && !self.viewing.has_failed() {
            let now = self.channels.ports.now();
            if self.deadline.is_none() && self.server_gone.is_raised() {
                self.deadline = Some(now + LINGER);
            }
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                // It says so a few times, and then the session is over for it.
                self.viewing.stop(now);
                self.deadline = Some(Timestamp::MAX);
            }
            self.step()?;
        }
        Ok(())
    }

    /// Sends what is due, reads what came, or waits for either.
    fn step(&mut self) -> Result<(), EndpointError> {
        let Self { viewing, channels, .. } = self;
        channels.ports.flush();
        let now = channels.ports.now();
        viewing.drive(now, channels)?;
        let (came, any) = channels.receive(|at, channel, arrival| viewing.handle_arrival(at, channel, arrival))?;
        if any {
            self.show(came);
        }
        if any || self.viewing.is_finished() {
            return Ok(());
        }
        let flag = [self.server_gone.descriptor()];
        let awaited = if self.deadline.is_none() { &flag[..] } else { &[] };
        let ports = &self.channels.ports;
        let (asked, began) = (earlier(self.viewing.next_timeout(), self.deadline), ports.now());
        let waited = ports.wait_or(asked, awaited);
        self.flow.progress.receiver_wakes().note(began, asked, ports.now());
        waited
    }

    fn show(&self, bytes: u64) {
        let (whole, incomplete) = self.viewing.frames();
        self.flow.progress.add_received(bytes, whole, incomplete);
    }
}
