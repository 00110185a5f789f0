//! Frames of a live stream to one receiver: a thread that connects and waits for room, around the library's sending half.
//!
//! The thread never has the frames' work to itself: the thread that offers a frame writes at once what the socket
//! takes, so that on a link that is fast enough no thread has to be woken for a frame. Only when the socket is full
//! does the writer's thread wait for it, and the frames wait in the decision queue meanwhile. Nothing here blocks while
//! it holds the state.

mod attempts;
mod connect;
mod connection;
mod drain;
mod plan;
mod state;
mod tally;
#[cfg(test)]
mod tests;

use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use framewire_sockets::{Ready, Waker, Watch};
use framewire_transport::frame::OutgoingFrame;
use framewire_transport::live::Placed;

use attempts::Attempts;
use connect::{NoConnection, connect};
use state::{Phase, State};

pub use plan::{Plan, Protocol, Rtp};
pub use state::{Interruptions, Notice};
pub use tally::Snapshot;

/// What a thread does with notices; it may be called from the writer's thread and from those that offer frames.
pub type Notify<P> = Box<dyn Fn(Notice<P>) + Send + Sync>;

/// One connection after the other to one receiver, from start to stop. Dropping it stops it.
pub struct Writer<P: Placed> {
    shared: Arc<Shared<P>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared<P: Placed> {
    state: Mutex<State<P>>,
    /// The state has changed in a way that [`Writer::wait`] waits for.
    changed: Condvar,
    /// Wakes the writer's thread.
    waker: Arc<Waker>,
    notify: Notify<P>,
}

/// How a wait for the writer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waited {
    /// What was waited for has come.
    Done,
    /// The writer has failed, and said so.
    Failed,
    /// The element is to let go of its streaming thread.
    Interrupted,
}

impl<P: Placed + Send + 'static> Writer<P> {
    /// Begins to connect.
    ///
    /// # Errors
    /// When the process may have no more files or threads.
    pub fn start(plan: Plan, notify: Notify<P>) -> Result<Self, String> {
        let waker = Arc::new(Waker::new().map_err(|error| error.to_string())?);
        let state = Mutex::new(State::new(plan.drain_timeout));
        let shared = Arc::new(Shared { state, changed: Condvar::new(), waker, notify });
        let of_thread = shared.clone();
        let thread = std::thread::Builder::new().name("frame-writer".to_owned());
        let thread = thread.spawn(move || of_thread.run(&plan)).map_err(|error| error.to_string())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Offers a frame; it is written as far as the socket takes it. False when the writer has failed.
    pub fn offer(&self, held: OutgoingFrame<P>, frame: OutgoingFrame) -> bool {
        self.shared.change(|state| {
            state.offer(held, frame);
            state.phase != Phase::Failed
        })
    }

    /// No more frames come: what was accepted is written, after it `tail`, and the connection is ended.
    pub fn end(&self, tail: Option<OutgoingFrame>) {
        self.shared.change(|state| state.end(tail));
    }

    /// Gives up what waits, as a flush demands. False when everything was written and the connection is ended: another
    /// stream needs another writer.
    pub fn flush(&self) -> bool {
        self.shared.change(State::flush)
    }

    /// Waits until the connection stands, or an [interrupt](Self::interrupt) after `since`.
    pub fn wait_connected(&self, since: Interruptions) -> Waited {
        self.wait(since, |state| state.phase != Phase::Opening)
    }

    /// Waits until the first attempts to connect have ended, for at most so long.
    pub fn wait_opened_for(&self, patience: Duration) {
        let is_opening = |state: &mut State<P>| state.phase == Phase::Opening;
        let opened = self.shared.changed.wait_timeout_while(self.shared.state(), patience, is_opening);
        drop(opened.unwrap_or_else(PoisonError::into_inner));
    }

    /// Waits until everything is written, or an [interrupt](Self::interrupt) after `since`.
    pub fn wait_finished(&self, since: Interruptions) -> Waited {
        self.wait(since, |state| state.phase == Phase::Finished)
    }

    /// How often waits were interrupted, and allowed again: to be asked with the preroll lock held, so that a wait
    /// without it misses no change of state that comes in between.
    pub fn interruptions(&self) -> Interruptions {
        self.shared.state().interruptions
    }

    /// Ends all waits until [`resume`](Self::resume).
    pub fn interrupt(&self) {
        self.allow_waits(false);
    }

    /// Allows waits again.
    pub fn resume(&self) {
        self.allow_waits(true);
    }

    fn allow_waits(&self, allowed: bool) {
        let mut state = self.shared.state();
        state.interrupted = !allowed;
        state.interruptions.0 += 1;
        drop(state);
        self.shared.changed.notify_all();
    }

    /// False as soon as the application may know that the writer has failed.
    pub fn is_alive(&self) -> bool {
        !self.shared.state().failing
    }

    /// Ends the thread, and gives up what is left. What the kernel has is still sent. Returns the state of the
    /// connection before, and what was counted after.
    pub fn stop(&self) -> Snapshot {
        let before = self.snapshot();
        self.end_thread();
        let after = self.snapshot();
        Snapshot { counts: after.counts, level: after.level, connected: false, ..before }
    }

    /// Counters, and the state of the connection.
    pub fn snapshot(&self) -> Snapshot {
        self.shared.state().snapshot()
    }

    /// Waits until `done`, or the writer has failed, or no wait is allowed.
    fn wait(&self, since: Interruptions, done: impl Fn(&State<P>) -> bool) -> Waited {
        let mut state = self.shared.state();
        loop {
            if state.phase == Phase::Failed {
                return Waited::Failed;
            }
            if done(&state) {
                return Waited::Done;
            }
            if state.interrupted || state.interruptions != since {
                return Waited::Interrupted;
            }
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<P: Placed> Writer<P> {
    fn end_thread(&self) {
        self.shared.state().stopping = true;
        self.shared.waker.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A writer that panicked has nothing more to say.
            let _ = thread.join();
        }
        self.shared.change(State::abandon);
    }
}

impl<P: Placed> Drop for Writer<P> {
    fn drop(&mut self) {
        self.end_thread();
    }
}

/// Why a connection is no longer served.
enum Served {
    /// Everything is written, or the element stops.
    Over,
    /// The receiver took nothing at the end: what was left is given up, as this text says.
    Undelivered(String),
    /// The connection is broken, for this reason.
    Broken(String),
}

impl<P: Placed> Shared<P> {
    fn state(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, then notifies the waiting threads and the application, without holding the state's lock.
    fn change<T>(&self, change: impl FnOnce(&mut State<P>) -> T) -> T {
        let mut state = self.state();
        let result = change(&mut state);
        let notices = std::mem::take(&mut state.notices);
        let wake = std::mem::take(&mut state.wake_writer);
        let changed = std::mem::take(&mut state.phase_changed);
        drop(state);
        if wake {
            self.waker.wake();
        }
        if changed {
            self.changed.notify_all();
        }
        for notice in notices {
            (self.notify)(notice);
        }
        result
    }

    /// The writer's thread.
    fn run(&self, plan: &Plan) {
        let mut attempts = Attempts::new(plan.reconnect_attempts);
        loop {
            let broken = match connect(self, plan) {
                Err(NoConnection::Stopped) => return,
                Err(NoConnection::Impossible(reason)) => return self.fail(reason),
                Err(NoConnection::Failed(reason)) => reason,
                Ok(connection) => {
                    self.change(|state| state.connected(connection));
                    match self.serve() {
                        Served::Over => return,
                        Served::Undelivered(text) => return self.end_undelivered(text),
                        Served::Broken(reason) => reason,
                    }
                }
            };
            let wrote_frames = self.change(State::take_down);
            if wrote_frames {
                attempts.reset();
            }
            if !attempts.another() || self.state().is_ending() {
                return self.fail(attempts.verdict(&broken));
            }
            self.change(|state| state.notices.push(Notice::Reconnecting(attempts.verdict(&broken))));
            if !self.pause(plan.reconnect_delay) {
                return;
            }
            if self.state().is_ending() {
                return self.fail(attempts.verdict(&broken));
            }
        }
    }

    /// The application is notified of losses before the end.
    fn end_undelivered(&self, text: String) {
        (self.notify)(Notice::Undelivered(text));
        self.change(State::finish);
    }

    /// The application is notified of the reason before the streaming thread stops for it.
    fn fail(&self, reason: String) {
        self.state().failing = true;
        (self.notify)(Notice::Failed(reason));
        self.change(State::fail);
    }

    /// Writes whenever the socket has room, until there is nothing more to write.
    fn serve(&self) -> Served {
        // Kept beside the state, so that it can be waited for without holding the state's lock. Only this thread takes the
        // connection down, so it is open as long as it is waited for.
        let socket = match self.state().socket() {
            Ok(socket) => socket,
            Err(reason) => return Served::Broken(reason),
        };
        let mut watch = Watch { write: false, read: true };
        let mut ready = Ready { write: true, ..Ready::default() };
        loop {
            let next = match self.change(|state| state.progress(ready, &mut watch.read)) {
                Ok(next) => next,
                Err(served) => return served,
            };
            watch.write = next.room;
            ready = match self.waker.wait(Some((socket.as_fd(), watch)), next.timeout) {
                Ok(ready) => ready,
                Err(error) => return Served::Broken(error.to_string()),
            };
        }
    }

    /// Waits before the next attempt, and not beyond the end of the stream; false when the element stops.
    fn pause(&self, delay: Duration) -> bool {
        let end = std::time::Instant::now() + delay;
        loop {
            let left = end.saturating_duration_since(std::time::Instant::now());
            let (stopping, ending) = {
                let state = self.state();
                (state.stopping, state.is_ending())
            };
            if stopping {
                return false;
            }
            if ending || left == Duration::ZERO {
                return true;
            }
            if self.waker.wait(None, Some(left)).is_err() {
                return false;
            }
        }
    }
}
