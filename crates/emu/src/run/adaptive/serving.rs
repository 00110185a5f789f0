//! The server's thread of an adaptive flow.

use std::time::Duration;

use framewire_adaptive::datagram::Channel;
use framewire_emu::Clock;
use framewire_endpoint::{EndpointError, Ports};
use framewire_recording::record::FlowSample;
use framewire_session::{AdaptiveSender, SenderLog};
use framewire_units::{DataSize, Timestamp};
use framewire_world::SAMPLE_INTERVAL;

use super::AdaptiveFlow;
use crate::run::progress::FlowState;
use crate::run::stop::StopFlag;
use crate::run::waiting::{earlier, sharpen_timers};

/// What a server that was told to stop may still take: goodbyes for two seconds, if its device lets them leave.
const TEARDOWN_TIME: Duration = Duration::from_millis(2_500);

/// What the server's thread leaves behind.
pub struct Served {
    /// What the session recorded.
    pub log: SenderLog,
    /// Samples of the stream's state.
    pub samples: Vec<FlowSample>,
    /// Every frame was sent or left out.
    pub offered_all: bool,
    /// What broke, if anything did.
    pub failure: Option<String>,
}

/// Serves until the session is over, or until the client is gone, which it cannot say when it never reached the server.
pub fn serve(flow: &AdaptiveFlow<'_>, sender: AdaptiveSender, ports: Ports<Clock>, client_gone: &StopFlag) -> Served {
    sharpen_timers();
    let mut serving = Serving { flow, sender, ports, client_gone, samples: Vec::new(), deadline: None };
    let broken = serving.run().err().map(|error| error.to_string());
    serving.show();
    let Serving { sender, samples, .. } = serving;
    Served {
        offered_all: sender.offered_all(),
        failure: broken.or_else(|| sender.failure()),
        log: sender.into_log(),
        samples,
    }
}

struct Serving<'a> {
    flow: &'a AdaptiveFlow<'a>,
    sender: AdaptiveSender,
    ports: Ports<Clock>,
    client_gone: &'a StopFlag,
    samples: Vec<FlowSample>,
    /// Once it was told to end: when it ends in any case.
    deadline: Option<Timestamp>,
}

impl Serving<'_> {
    fn run(&mut self) -> Result<(), EndpointError> {
        let mut next_sample = Timestamp::ZERO;
        while !self.sender.is_finished() {
            let now = self.ports.now();
            if self.deadline.is_none() && (self.flow.stop.is_raised() || self.client_gone.is_raised()) {
                self.sender.stop(now);
                self.deadline = Some(now + TEARDOWN_TIME);
            }
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                break;
            }
            if now >= next_sample {
                self.sample(now)?;
                next_sample = now + SAMPLE_INTERVAL;
            }
            self.step(next_sample)?;
        }
        self.ports.flush();
        Ok(())
    }

    /// Sends what is due, reads what came, or waits for either.
    fn step(&mut self, next_sample: Timestamp) -> Result<(), EndpointError> {
        let Self { sender, ports, .. } = self;
        ports.flush();
        while ports.has_room()
            && let Some(sent) = sender.poll_transmit(ports.now())
        {
            ports.send(sent.channel, sent.to, sent.bytes);
        }
        let any = ports.receive(|at, channel, from, bytes| sender.handle_datagram(at, channel, from, bytes))?;
        if any || sender.is_finished() {
            return Ok(());
        }
        self.show();
        // A socket without room wakes this thread when it has some.
        let next = if self.ports.has_room() { self.sender.next_timeout() } else { None };
        let flags = [self.flow.stop, self.client_gone].map(StopFlag::descriptor);
        let awaited = if self.deadline.is_none() { &flags[..] } else { &[] };
        let (asked, began) = (earlier(earlier(next, self.deadline), Some(next_sample)), self.ports.now());
        let waited = self.ports.wait_or(asked, awaited);
        self.flow.progress.sender_wakes().note(began, asked, self.ports.now());
        waited
    }

    fn sample(&mut self, now: Timestamp) -> Result<(), EndpointError> {
        if let Some(sample) = self.sender.sample(now) {
            let queued: DataSize = self.ports.queued(Channel::Data)?;
            self.samples.push(FlowSample { queued_bytes: Some(queued.as_bytes()), ..sample });
        }
        Ok(())
    }

    fn show(&self) {
        let done = self.sender.progress();
        self.flow.progress.set_sender(done.offered, done.discarded);
        if self.sender.offered_all() {
            self.flow.progress.set_state(FlowState::Draining);
        }
    }
}
