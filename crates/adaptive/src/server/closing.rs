use framewire_units::{Duration, Timestamp};
use framewire_wire::vtp::Reason;

/// Time between two teardowns without an acknowledgement.
const INTERVAL: Duration = Duration::from_millis(500);

/// Teardowns that are sent.
const ATTEMPTS: u32 = 4;

/// The teardown, sent until it is acknowledged, or often enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    reason: Reason,
    left: u32,
    next: Timestamp,
}

impl Closing {
    pub(crate) fn new(now: Timestamp, reason: Reason) -> Self {
        Self { reason, left: ATTEMPTS, next: now }
    }

    pub(crate) fn reason(&self) -> Reason {
        self.reason
    }

    pub(crate) fn next_attempt(&self) -> Timestamp {
        self.next
    }

    /// Whether to send it now.
    pub(crate) fn attempt(&mut self, now: Timestamp) -> bool {
        self.next = self.next.min(now + INTERVAL); // a clock that went back
        if self.left == 0 || now < self.next {
            return false;
        }
        self.left -= 1;
        self.next = now + INTERVAL;
        true
    }

    /// Whether it was sent often enough and waited for.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        self.left == 0 && now >= self.next
    }
}
