//! The client's thread of an adaptive flow.

use std::time::Duration;

use framewire_emu::{Clock, SENDER_ADDRESS};
use framewire_endpoint::{EndpointError, Ports};
use framewire_session::lifecycle::AdaptiveViewing;
use framewire_units::Timestamp;

use super::{AdaptiveFlow, address};
use crate::control::{StopFlag, earlier, sharpen_timers, sleep_until};

/// What a client that has not heard of the end waits for, when the server is gone: packets that are still under way.
const LINGER: Duration = Duration::from_secs(1);

/// Asks for the movie at the flow's start and receives until the session is over, or until the server is gone.
pub fn view(
    flow: &AdaptiveFlow<'_>,
    viewing: AdaptiveViewing,
    ports: Ports<Clock>,
    server_gone: &StopFlag,
) -> AdaptiveViewing {
    sharpen_timers();
    sleep_until(flow.clock, flow.setup.start, flow.stop);
    let mut thread = Viewing { flow, viewing, ports, server_gone, deadline: None };
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
    ports: Ports<Clock>,
    server_gone: &'a StopFlag,
    /// Once the server is gone: when this side has waited long enough.
    deadline: Option<Timestamp>,
}

impl Viewing<'_> {
    fn run(&mut self) -> Result<(), EndpointError> {
        while !self.viewing.is_finished() && !self.viewing.has_failed() {
            let now = self.ports.now();
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
        let Self { flow, viewing, ports, .. } = self;
        let server = |channel| address(SENDER_ADDRESS, flow.port, channel);
        ports.flush();
        while let Some(sent) = viewing.poll_transmit(ports.now()) {
            ports.send(sent.channel, server(sent.channel), sent.bytes);
        }
        let mut came = 0;
        let any = ports.receive(|at, channel, from, bytes| {
            if from == server(channel) {
                came += bytes.len() as u64;
                viewing.handle_datagram(at, channel, bytes);
            }
        })?;
        if any {
            self.show(came);
        }
        if any || self.viewing.is_finished() {
            return Ok(());
        }
        let flag = [self.server_gone.descriptor()];
        let awaited = if self.deadline.is_none() { &flag[..] } else { &[] };
        let (asked, began) = (earlier(self.viewing.next_timeout(), self.deadline), self.ports.now());
        let waited = self.ports.wait_or(asked, awaited);
        self.flow.progress.receiver_wakes().note(began, asked, self.ports.now());
        waited
    }

    fn show(&self, bytes: u64) {
        let (whole, incomplete) = self.viewing.frames();
        self.flow.progress.add_received(bytes, whole, incomplete);
    }
}
