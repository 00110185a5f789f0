//! How the two applications of a flow find each other: the one that listens is first.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use super::ports::HostSockets;
use super::process::Process;

/// Time between two looks at whether the listener is there, or has ended.
const LOOK: Duration = Duration::from_millis(5);

const NOT_YET: u8 = 0;
const LISTENING: u8 = 1;
const NEVER: u8 = 2;

/// Whether the application that listens does.
#[derive(Debug, Default)]
pub struct Rendezvous(AtomicU8);

impl Rendezvous {
    /// Waits until `process` listens on `port` of this host, and notifies the other side. False when it ended instead,
    /// did not within `patience`, or `given_up` says that the answer is not needed any more.
    pub fn wait_until_listening(
        &self,
        process: &mut Process,
        port: u16,
        patience: Duration,
        given_up: impl Fn() -> bool,
    ) -> bool {
        let (sockets, deadline) = (HostSockets::here(), Instant::now() + patience);
        loop {
            if process.tend() || given_up() || Instant::now() >= deadline {
                self.cancel();
                return false;
            }
            if sockets.listens(port) {
                self.0.store(LISTENING, Ordering::Release);
                return true;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// States that there will be no listener.
    pub fn cancel(&self) {
        self.0.store(NEVER, Ordering::Release);
    }

    /// States that there will be no listener, unless there is one.
    pub fn cancel_unless_listening(&self) {
        let _ = self.0.compare_exchange(NOT_YET, NEVER, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Waits until the other side listens; false when it never will, or `given_up`.
    pub fn wait_for_listener(&self, given_up: impl Fn() -> bool) -> bool {
        loop {
            match self.0.load(Ordering::Acquire) {
                LISTENING => return true,
                NOT_YET if !given_up() => std::thread::sleep(LOOK),
                _ => return false,
            }
        }
    }
}
