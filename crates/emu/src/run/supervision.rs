//! What the main thread does while the flows stream: it shows where they are, and ends what does not end by itself.

use std::sync::Arc;
use std::time::Instant;

use framewire_emu::Clock;
use framewire_kernel::FlowLateness;
use framewire_session::FlowSetup;
use framewire_units::{Duration, Timestamp};

use crate::control::{Failure, FlowProgress, StopFlag, interruptions, show};
use framewire_world::{FlowState, Throughput};

/// Time between two looks at what happens.
const TICK: std::time::Duration = std::time::Duration::from_millis(50);

/// Every so many ticks a progress line per flow.
const TICKS_PER_REPORT: u32 = 4;

/// The flows of a run as the main thread sees them.
pub struct Watch<'a> {
    setups: &'a [FlowSetup],
    progress: Vec<Arc<FlowProgress>>,
    limit: Option<Timestamp>,
    /// Raised on a signal, or at the time limit.
    stop: StopFlag,
    /// Raised when there is nothing left that bulk flows could compete with.
    over: StopFlag,
}

impl<'a> Watch<'a> {
    /// Of these flows, which end at `limit` in any case.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub fn new(setups: &'a [FlowSetup], limit: Option<Duration>) -> Result<Self, Failure> {
        // What applications drop is not known, and connections have no frames.
        let is_counted = |setup: &FlowSetup| !setup.is_external() && !setup.is_bulk();
        let progress = |setup| Arc::new(FlowProgress::new(!is_counted(setup)));
        Ok(Self {
            setups,
            progress: setups.iter().map(progress).collect(),
            limit: limit.map(|limit| Timestamp::ZERO + limit),
            stop: StopFlag::new()?,
            over: StopFlag::new()?,
        })
    }

    /// Counters of a flow.
    pub fn progress(&self, flow: usize) -> Arc<FlowProgress> {
        Arc::clone(&self.progress[flow])
    }

    /// Raised when all flows are to end at once.
    pub fn stop(&self) -> &StopFlag {
        &self.stop
    }

    /// Raised when bulk flows are to end, as they would at their own stop.
    pub fn over(&self) -> &StopFlag {
        &self.over
    }

    /// When the flows had to end: at the stop, or at the limit of a run of nothing but bulk flows.
    pub fn due_at(&self) -> Option<Instant> {
        self.stop.raised_at().or_else(|| self.over.raised_at().filter(|_| self.only_bulk()))
    }

    fn only_bulk(&self) -> bool {
        self.setups.iter().all(FlowSetup::is_bulk)
    }

    /// How late the threads of each flow were woken.
    pub fn lateness(&self) -> Vec<FlowLateness> {
        self.progress.iter().map(|progress| progress.lateness()).collect()
    }

    /// A flow cannot be streamed: the run has failed, and the others need not go on.
    pub fn give_up(&self, flow: usize) {
        self.progress[flow].set_state(FlowState::Done);
        self.stop.raise();
    }

    /// Shows progress until every receiver has ended, which they do soon when the world `has_failed`, or until the threads of
    /// all flows `have_ended`, also by a panic. Returns whether the time limit ended the run.
    pub fn run(&self, clock: Clock, has_failed: impl Fn() -> bool, have_ended: impl Fn() -> bool) -> bool {
        let mut throughputs: Vec<_> = self.setups.iter().map(|_| Throughput::default()).collect();
        let mut limit_hit = false;
        for tick in 0.. {
            let done = self.progress.iter().all(|flow| flow.is_done()) || have_ended();
            let now = clock.now();
            if tick % TICKS_PER_REPORT == 0 || done {
                for ((setup, progress), throughput) in self.setups.iter().zip(&self.progress).zip(&mut throughputs) {
                    show(setup.name(), progress, setup.frames(), throughput, now);
                }
            }
            if done {
                break;
            }
            limit_hit |= self.end_what_is_due(now);
            if has_failed() {
                self.stop.raise();
            }
            std::thread::sleep(TICK);
        }
        limit_hit
    }

    /// A run of nothing but bulk flows has no other end than its limit: that is no early one. Returns whether there was
    /// an early one by the limit.
    fn end_what_is_due(&self, now: Timestamp) -> bool {
        let at_limit = self.limit.is_some_and(|limit| now >= limit);
        let mut streams = self.setups.iter().zip(&self.progress).filter(|(setup, _)| !setup.is_bulk());
        let only_bulk = self.only_bulk();
        if only_bulk && at_limit || !only_bulk && streams.all(|(_, progress)| progress.is_done()) {
            self.over.raise();
        }
        let early = at_limit && !only_bulk;
        if early || interruptions() > 0 {
            self.stop.raise();
        }
        early
    }
}
