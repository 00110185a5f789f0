//! The client's thread of an adaptive flow.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use framewire_emu::{Clock, SENDER_ADDRESS};
use framewire_endpoint::{EndpointError, Ports};
use framewire_session::{AdaptiveReceiver, ReceiverLog};
use framewire_units::Timestamp;

use super::{AdaptiveFlow, address};
use crate::run::sending::sleep_until;
use crate::run::stop::StopFlag;
use crate::run::waiting::{earlier, sharpen_timers};

/// What a client that has not heard of the end waits for, when the server is gone: packets that are still under way.
const LINGER: Duration = Duration::from_secs(1);

/// What the client's thread leaves behind.
pub struct Viewed {
    /// What the session recorded.
    pub log: ReceiverLog,
    /// Bytes of the movie as received.
    pub kept_bytes: u64,
    /// What broke, if anything did.
    pub failure: Option<String>,
}

/// Asks for the movie at the flow's start and receives until the session is over, or until the server is gone.
pub fn view(
    flow: &AdaptiveFlow<'_>,
    receiver: AdaptiveReceiver,
    ports: Ports<Clock>,
    movie: BufWriter<File>,
    server_gone: &StopFlag,
) -> Viewed {
    sharpen_timers();
    sleep_until(flow.clock, flow.setup.start, flow.stop);
    let mut viewing = Viewing { flow, receiver, ports, movie, server_gone, kept_bytes: 0, deadline: None };
    let broken = if flow.stop.is_raised() { Ok(()) } else { viewing.run() };
    let written = viewing.keep_frames().and_then(|()| viewing.movie.flush());
    viewing.show(0);
    let unwritten = |error| format!("received movie cannot be written: {error}");
    Viewed {
        log: viewing.receiver.into_log(),
        kept_bytes: viewing.kept_bytes,
        failure: broken.err().map(|error| error.to_string()).or(written.err().map(unwritten)),
    }
}

struct Viewing<'a> {
    flow: &'a AdaptiveFlow<'a>,
    receiver: AdaptiveReceiver,
    ports: Ports<Clock>,
    movie: BufWriter<File>,
    server_gone: &'a StopFlag,
    kept_bytes: u64,
    /// Once the server is gone: when this side has waited long enough.
    deadline: Option<Timestamp>,
}

impl Viewing<'_> {
    fn run(&mut self) -> Result<(), EndpointError> {
        while !self.receiver.is_finished() {
            let now = self.ports.now();
            if self.deadline.is_none() && self.server_gone.is_raised() {
                self.deadline = Some(now + LINGER);
            }
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                // It says so a few times, and then the session is over for it.
                self.receiver.stop(now);
                self.deadline = Some(Timestamp::MAX);
            }
            self.step()?;
            self.keep_frames().map_err(EndpointError::Write)?;
        }
        Ok(())
    }

    /// Sends what is due, reads what came, or waits for either.
    fn step(&mut self) -> Result<(), EndpointError> {
        let Self { flow, receiver, ports, .. } = self;
        let server = |channel| address(SENDER_ADDRESS, flow.port, channel);
        ports.flush();
        while let Some(sent) = receiver.poll_transmit(ports.now()) {
            ports.send(sent.channel, server(sent.channel), sent.bytes);
        }
        let mut came = 0;
        let any = ports.receive(|at, channel, from, bytes| {
            if from == server(channel) {
                came += bytes.len() as u64;
                receiver.handle_datagram(at, channel, bytes);
            }
        })?;
        if any {
            self.show(came);
        }
        if any || self.receiver.is_finished() {
            return Ok(());
        }
        let flag = [self.server_gone.descriptor()];
        let awaited = if self.deadline.is_none() { &flag[..] } else { &[] };
        let (asked, began) = (earlier(self.receiver.next_timeout(), self.deadline), self.ports.now());
        let waited = self.ports.wait_or(asked, awaited);
        self.flow.progress.receiver_wakes().note(began, asked, self.ports.now());
        waited
    }

    fn keep_frames(&mut self) -> std::io::Result<()> {
        while let Some(frame) = self.receiver.poll_frame() {
            self.movie.write_all(&frame)?;
            self.kept_bytes += frame.len() as u64;
        }
        Ok(())
    }

    fn show(&self, bytes: u64) {
        self.flow.progress.add_received(bytes, self.receiver.complete_frames(), self.receiver.incomplete_frames());
    }
}
