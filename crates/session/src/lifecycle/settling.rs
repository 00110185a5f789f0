//! The time in which what is under way at a sender's end may still arrive.

use framewire_units::{Duration, Timestamp};

/// A network in which nothing arrives any more has had this long to bring what was under way.
const SETTLING_AT_MOST: Duration = Duration::from_secs(5);

/// Time between two looks whether everything has arrived that was under way.
pub const SETTLING_TICK: Duration = Duration::from_millis(50);

/// Waits for what was under way when a sender ended that does not signal it to its receiver: a datagram flow, or a
/// stream that was cut off. Each direction of a network keeps its order, so that whatever others send after it does not
/// matter.
///
/// Contract: at [`next_look`](Self::next_look) call [`has_ended`](Self::has_ended).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    look: Timestamp,
    deadline: Timestamp,
    /// Packets that had entered the network by then.
    packets: u64,
}

impl Settling {
    /// From `now` on, when `packets` have entered the network.
    pub fn new(now: Timestamp, packets: u64) -> Self {
        Self { look: now + SETTLING_TICK, deadline: now + SETTLING_AT_MOST, packets }
    }

    /// The same, which ends at `deadline` if it has not before.
    #[must_use]
    pub fn until(self, deadline: Timestamp) -> Self {
        Self { deadline: self.deadline.min(deadline), ..self }
    }

    /// When it has to be looked next.
    pub fn next_look(&self) -> Timestamp {
        self.look.min(self.deadline)
    }

    /// True when nothing more comes of what was under way: the receiver is to be ended. `have_settled` says whether the
    /// first so many packets have come out or were dropped.
    pub fn has_ended(&mut self, now: Timestamp, have_settled: impl FnOnce(u64) -> bool) -> bool {
        if now < self.next_look() {
            return false;
        }
        self.look = now + SETTLING_TICK;
        have_settled(self.packets) || now >= self.deadline
    }
}
