//! The sender's thread of an external flow.

use std::time::{Duration, Instant};

use framewire_session::FrameCounts;
use framewire_units::Timestamp;

use super::feeding::{Fed, Feeding};
use super::plan::ExternalFlow;
use super::polling::wait_for_any;
use super::ports::HostSockets;
use super::process::{Pipes, Process};
use super::rendezvous::Rendezvous;
use crate::control::{StopFlag, sharpen_timers};
use framewire_world::FlowState;

/// What a sender whose receiver is gone is given to end by itself: one that has ended its stream is about to.
const AFTER_THE_RECEIVER: Duration = Duration::from_secs(2);

/// What a sender that listens is given until it does.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time between two looks at whether the application has ended.
const TICK: Duration = Duration::from_millis(20);

/// What the sender's thread leaves behind.
#[derive(Debug, Default)]
pub struct Sent {
    /// What became of the frames; empty for an application that reads the movie itself.
    pub fed: Fed,
    /// What went wrong, if anything did.
    pub failure: Option<String>,
    /// True when it was ended because its receiver was gone.
    pub left_behind: bool,
}

/// Runs the sending application, from inside the sender's host, until it has ended and nothing of it is left in the
/// host's sockets.
pub fn send(flow: &ExternalFlow<'_>, meeting: &Rendezvous, receiver_gone: &StopFlag) -> Sent {
    sharpen_timers();
    let failed = |failure: String| Sent { failure: Some(failure), ..Sent::default() };
    if !wait_for_start(flow, meeting) {
        return Sent::default();
    }
    let pipes = Pipes { input: flow.setup.is_fed(), output: false };
    let started = Process::start(&flow.sender_arguments(), pipes, flow.sender_rights(), &flow.log("sender"));
    let mut process = match started {
        Ok(process) => process,
        Err(error) => {
            meeting.cancel();
            return failed(format!("{} cannot be started: {error}", flow.setup.sender.program.name()));
        }
    };
    let input = match process.take_input() {
        Ok(input) => input,
        Err(error) => return failed(format!("its standard input: {error}")),
    };
    if flow.setup.sender.listens {
        let given_up = || flow.stop.is_raised();
        if !meeting.wait_until_listening(&mut process, flow.port, PATIENCE, given_up) && !process.tend() {
            process.ask_to_end();
        }
    }
    let feeding = input.map(|input| Feeding::new(flow.setup, input));
    Sending { flow, process, feeding, receiver_gone }.run()
}

/// Waits for the moment to start; false when there will be none.
fn wait_for_start(flow: &ExternalFlow<'_>, meeting: &Rendezvous) -> bool {
    let given_up = || flow.stop.is_raised();
    if !flow.setup.sender.listens && !meeting.wait_for_listener(given_up) {
        return false;
    }
    loop {
        match flow.clock.until_origin() {
            _ if given_up() => return false,
            // It loads what it needs, connects, and waits for the first frame.
            _ if flow.setup.is_fed() => return true,
            // It would begin to send.
            Some(time) => std::thread::sleep(time.min(Duration::from_millis(100))),
            None => return true,
        }
    }
}

struct Sending<'a> {
    flow: &'a ExternalFlow<'a>,
    process: Process,
    feeding: Option<Feeding<'a>>,
    receiver_gone: &'a StopFlag,
}

impl Sending<'_> {
    fn run(mut self) -> Sent {
        let left_behind = self.stream();
        self.drain();
        let frames = self.flow.setup.plan.len();
        let ending = self.process.into_ending();
        let is_fed = self.feeding.is_some();
        let fed = self.feeding.map(Feeding::into_fed).unwrap_or_default();
        let failure = match () {
            () if ending.asked => None,
            () if !ending.well => Some(ending.how),
            () if is_fed && fed.taken < frames => {
                Some(format!("{} when it had taken {} of {frames} frames", ending.how, fed.taken))
            }
            () => None,
        };
        Sent { fed, failure, left_behind }
    }

    /// Feeds the application until it has ended. True when it was asked to end because its receiver was gone.
    fn stream(&mut self) -> bool {
        let mut gone_since: Option<Instant> = None;
        while !self.process.tend() {
            let now = self.flow.clock.now();
            if self.flow.clock.until_origin().is_none() {
                self.drive(now);
            }
            if self.receiver_gone.is_raised() {
                gone_since.get_or_insert_with(Instant::now);
            }
            let abandoned = gone_since.is_some_and(|since| since.elapsed() >= AFTER_THE_RECEIVER);
            let stopped = self.flow.stop.is_raised();
            if stopped || abandoned {
                self.feeding.iter_mut().for_each(Feeding::close);
            }
            match (stopped, abandoned) {
                (true, _) => self.process.end_at_once(),
                (false, true) => self.process.ask_to_end(),
                (false, false) => {}
            }
            self.wait();
        }
        gone_since.is_some() && self.process.was_asked() && !self.flow.stop.is_raised()
    }

    fn drive(&mut self, now: Timestamp) {
        let Some(feeding) = &mut self.feeding else { return };
        feeding.drive(now);
        self.flow.progress.set_sender(FrameCounts { offered: feeding.offered(), ..FrameCounts::default() });
        if feeding.offered() == self.flow.setup.plan.len() {
            self.flow.progress.set_state(FlowState::Draining);
        }
    }

    fn wait(&self) {
        let now = self.flow.clock.now();
        let feeding = self.feeding.as_ref();
        let due = feeding.and_then(Feeding::next_due);
        let to_origin = self.flow.clock.until_origin().unwrap_or_default();
        let timeout = due.map_or(TICK, |due| due.saturating_since(now) + to_origin).min(TICK);
        let room = feeding.and_then(Feeding::wants_room).filter(|_| to_origin.is_zero());
        if wait_for_any(self.process.words(), room, timeout).is_err() {
            std::thread::sleep(TICK);
        }
        self.flow.progress.sender_wakes().note(now, due, self.flow.clock.now());
    }

    /// Waits until the kernel has sent what the application left it, and it was acknowledged.
    fn drain(&mut self) {
        self.flow.progress.set_state(FlowState::Draining);
        let sockets = HostSockets::here();
        while !self.flow.stop.is_raised() && sockets.is_sending(self.flow.port) {
            std::thread::sleep(5 * TICK);
        }
    }
}
