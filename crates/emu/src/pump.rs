//! The pump: two threads, each on a processor of its own, that look after all lanes.
//!
//! Both wait for the same packets and deadlines, and whichever wakes first does the work: the timer interrupt of one
//! virtual processor may come milliseconds late, that of two at once hardly ever does. Before a deadline one of them,
//! the spinner, wakes [`SPIN`] early and watches the clock and the receive rings, which costs no system call. The
//! other then sleeps until [`BACKUP`] after the deadline, and steps in if the spinner was held up. Every packet wakes
//! both, so that each sets its own timer: a timer expires on the processor that set it, and waking a thread on another
//! processor takes an interrupt that may be as late as a timer's.
//!
//! Nothing depends on who did it: departures were computed from arrival stamps by the model.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use framewire_units::{Duration, Timestamp};

use crate::Clock;
use crate::error::{EmuError, OperationContext};
use crate::kernel::schedule::{self, Scheduling};
use crate::kernel::timer::{Event, Timer, WaitSet};
use crate::lane::state::LaneState;
use crate::lane::topology::Topology;

/// How long before a deadline the spinner begins to watch the clock.
const SPIN: Duration = Duration::from_micros(30);
/// How long after a deadline the other thread looks whether it was met.
const BACKUP: Duration = Duration::from_micros(25);
/// The other thread looks again at least this often while there is a spinner, because it then leaves packets to it.
const BACKUP_AT_MOST: Duration = Duration::from_micros(500);
/// After watching for this long without a pause a thread leaves the watch to the other one for as long. Neither may
/// keep a processor to itself: the kernel takes a real-time thread that does off its processor for 50 ms in every
/// second, and would do so in the middle of the work.
const TURN: Duration = Duration::from_millis(5);
/// The threads there are, processors permitting.
const THREADS: usize = 2;
/// There is no spinner.
const NO_SPINNER: usize = usize::MAX;

/// What the threads share of one lane.
pub(crate) struct PumpedLane {
    pub(crate) topology: Topology,
    pub(crate) state: Mutex<LaneState>,
    deadline: AtomicU64,
}

impl PumpedLane {
    pub(crate) fn new(topology: Topology, state: LaneState) -> Self {
        Self { topology, state: Mutex::new(state), deadline: AtomicU64::new(u64::MAX) }
    }

    fn deadline(&self) -> Timestamp {
        Timestamp::from_nanos(self.deadline.load(Ordering::Acquire))
    }

    fn has_frame(&self) -> bool {
        self.topology.hub_ports.iter().any(|plug| plug.ring.has_frame())
    }

    fn step(&self) {
        // A panic in one pump thread ends the run with an error; until then the other may go on.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let deadline = state.step(&self.topology.hub_ports);
        self.deadline.store(deadline.as_nanos(), Ordering::Release);
    }
}

struct Shared {
    clock: Clock,
    lanes: Arc<Vec<PumpedLane>>,
    timers: Vec<Timer>,
    spinner: AtomicUsize,
    stop: AtomicBool,
    stopped: Event,
}

/// The running pump.
pub(crate) struct Pump {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    scheduling: Scheduling,
}

/// What a descriptor in a wait set stands for: lanes by their number, and these.
const TIMER: u64 = u64::MAX;
const STOPPED: u64 = u64::MAX - 1;

impl Pump {
    /// Starts the threads and waits until they run.
    pub(crate) fn start(clock: Clock, lanes: Vec<PumpedLane>) -> Result<Self, EmuError> {
        let processors: Vec<usize> = schedule::processors().into_iter().take(THREADS).collect();
        let timers: io::Result<Vec<_>> = processors.iter().map(|_| Timer::new()).collect();
        let shared = Arc::new(Shared {
            clock,
            lanes: Arc::new(lanes),
            timers: timers.doing("create a timer")?,
            spinner: AtomicUsize::new(NO_SPINNER),
            stop: AtomicBool::new(false),
            stopped: Event::new().doing("create an event descriptor")?,
        });
        let (ready, started) = mpsc::channel();
        let mut pump = Self { shared, threads: Vec::new(), scheduling: Scheduling::RealTime };
        for (number, &processor) in processors.iter().enumerate() {
            let (shared, ready) = (Arc::clone(&pump.shared), ready.clone());
            let worker = Worker::new(shared, number).doing("create a set of descriptors to wait on")?;
            let body = move || worker.run(processor, &ready);
            let thread = thread::Builder::new().name(format!("fw-pump-{number}")).spawn(body);
            pump.threads.push(thread.doing("start a pump thread")?);
        }
        drop(ready);
        for scheduling in started.iter().take(processors.len()) {
            if scheduling == Scheduling::Normal {
                pump.scheduling = Scheduling::Normal;
            }
        }
        Ok(pump)
    }

    pub(crate) fn lane(&self, number: usize) -> &PumpedLane {
        &self.shared.lanes[number]
    }

    pub(crate) fn scheduling(&self) -> Scheduling {
        self.scheduling
    }

    pub(crate) fn thread_count(&self) -> usize {
        self.shared.timers.len()
    }

    /// Ends the threads and gives the lanes back.
    pub(crate) fn stop(mut self) -> Result<Vec<PumpedLane>, EmuError> {
        self.end_threads()?;
        let lanes = Arc::clone(&self.shared.lanes);
        drop(self);
        Arc::into_inner(lanes).ok_or(EmuError::Thread("the pump"))
    }

    fn end_threads(&mut self) -> Result<(), EmuError> {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.stopped.raise();
        let results: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        if results.iter().any(Result::is_err) { Err(EmuError::Thread("a pump thread")) } else { Ok(()) }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        // Only reached with threads when the world is abandoned; no thread is left to report a panic to.
        let _ = self.end_threads();
    }
}

impl Shared {
    fn earliest_deadline(&self) -> Timestamp {
        self.lanes.iter().map(PumpedLane::deadline).min().unwrap_or(Timestamp::MAX)
    }
}

/// One pump thread.
struct Worker {
    shared: Arc<Shared>,
    number: usize,
    /// Everything.
    full: WaitSet,
    /// What the spinner does not see: packet queues, and this thread's timer.
    backup: WaitSet,
}

impl Worker {
    fn new(shared: Arc<Shared>, number: usize) -> io::Result<Self> {
        let (full, backup) = (WaitSet::new()?, WaitSet::new()?);
        for (lane_number, lane) in (0..).zip(shared.lanes.iter()) {
            for plug in &lane.topology.hub_ports {
                full.add(plug.ring.as_fd(), lane_number, false)?;
            }
            let state = lane.state.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(queue) = &state.queue {
                full.add(queue.as_fd(), lane_number, false)?;
                backup.add(queue.as_fd(), lane_number, false)?;
            }
        }
        for set in [&full, &backup] {
            set.add(shared.timers[number].as_fd(), TIMER, false)?;
            set.add(shared.stopped.as_fd(), STOPPED, false)?;
        }
        Ok(Self { shared, number, full, backup })
    }

    fn run(&self, processor: usize, ready: &mpsc::Sender<Scheduling>) {
        // Pinning is a help, not a condition: without it the scheduler may move the thread.
        let _ = schedule::pin_to(processor);
        // The receiver waits for exactly one message of each thread.
        let _ = ready.send(schedule::make_punctual());
        let mut rests_until = Timestamp::ZERO;
        while !self.shared.stop.load(Ordering::Acquire) {
            let deadline = self.shared.earliest_deadline();
            let now = self.shared.clock.now();
            let resting = now < rests_until;
            if deadline <= now + SPIN && !resting && self.become_spinner() {
                let ended = self.spin(now);
                self.shared.spinner.store(NO_SPINNER, Ordering::Release);
                if self.shared.timers.len() > 1 && ended.saturating_since(now) >= TURN {
                    rests_until = ended + TURN;
                }
            } else {
                self.wait(deadline, resting);
            }
        }
    }

    fn become_spinner(&self) -> bool {
        self.shared.spinner.compare_exchange(NO_SPINNER, self.number, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Busy-waits on the clock and the packet rings: while a release is due soon, and for one time slice at most. Returns
    /// the time at its end.
    fn spin(&self, began: Timestamp) -> Timestamp {
        // Alone, no other thread looks after the packet queues, which only a step can see into.
        let alone = self.shared.timers.len() == 1;
        loop {
            let now = self.shared.clock.now();
            for lane in self.shared.lanes.iter() {
                if alone || lane.deadline() <= now || lane.has_frame() {
                    lane.step();
                }
            }
            let over = now.saturating_since(began) >= TURN || self.shared.stop.load(Ordering::Relaxed);
            if over || self.shared.earliest_deadline() > now + SPIN {
                return now;
            }
            std::hint::spin_loop();
        }
    }

    fn step_lanes_due(&self, now: Timestamp) {
        self.shared.lanes.iter().filter(|lane| lane.deadline() <= now).for_each(PumpedLane::step);
    }

    /// Sleeps until something is to be done, and does it; with `resting`, deadlines are first left to the other thread.
    fn wait(&self, deadline: Timestamp, resting: bool) {
        let now = self.shared.clock.now();
        let spinning = self.shared.spinner.load(Ordering::Acquire) != NO_SPINNER;
        let is_backup = spinning || resting;
        let set = if spinning { &self.backup } else { &self.full };
        let at = if is_backup { (deadline.max(now) + BACKUP).min(now + BACKUP_AT_MOST) } else { deadline - SPIN };
        self.shared.timers[self.number].set(self.shared.clock.monotonic_nanos(at));
        set.wait(|number| match number {
            TIMER => {
                if is_backup {
                    self.step_lanes_due(self.shared.clock.now() - BACKUP);
                }
            }
            STOPPED => {}
            lane => self.shared.lanes[lane as usize].step(),
        });
    }
}
