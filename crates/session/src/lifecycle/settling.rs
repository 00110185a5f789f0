//! The time in which what is under way at a sender's end may still arrive.

use framewire_units::{Duration, Timestamp};

/// A network in which nothing arrives any more has had this long to bring what was under way.
const SETTLING_AT_MOST: Duration = Duration::from_secs(5);

/// The same of a run that is to end at once: longer than most networks delay a packet. What is under way for longer is recorded
/// as cut off.
const AT_ONCE: Duration = Duration::from_millis(300);

/// Time between two looks whether everything has arrived that was under way.
const SETTLING_TICK: Duration = Duration::from_millis(50);

/// A network, as far as it is asked what is under way in it.
pub trait UnderWay {
    /// How many packets have entered it.
    fn entered(&self) -> u64;

    /// True when the first so many of them have come out or were dropped.
    fn has_settled(&self, packets: u64) -> bool;
}

/// Waits for what was under way when a sender ended that does not signal it to its receiver: a datagram flow, or a
/// stream that was cut off. Each direction of a network keeps its order, so that whatever others send after it does not
/// matter.
///
/// Contract: at [`next_look`](Self::next_look) call [`has_ended`](Self::has_ended).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settling {
    began: Timestamp,
    look: Timestamp,
    deadline: Timestamp,
    /// Packets that had entered the network by then; `None` where that is not known yet.
    packets: Option<u64>,
}

impl Settling {
    /// From `now` on, where what was sent is in the network.
    pub fn of(now: Timestamp, network: &impl UnderWay) -> Self {
        Self { packets: Some(network.entered()), ..Self::from(now) }
    }

    /// From `now` on, where what was sent last has still to come into the network: by the first look it has.
    pub fn from(now: Timestamp) -> Self {
        Self { began: now, look: now + SETTLING_TICK, deadline: now + SETTLING_AT_MOST, packets: None }
    }

    /// The run is to end at once.
    pub fn hurry(&mut self) {
        self.deadline = self.deadline.min(self.began + AT_ONCE);
    }

    /// When it has to be looked next.
    pub fn next_look(&self) -> Timestamp {
        self.look.min(self.deadline)
    }

    /// True when nothing more comes of what was under way: the receiver is to be ended.
    pub fn has_ended(&mut self, now: Timestamp, network: &impl UnderWay) -> bool {
        if now < self.next_look() {
            return false;
        }
        self.look = now + SETTLING_TICK;
        let packets = *self.packets.get_or_insert_with(|| network.entered());
        network.has_settled(packets) || now >= self.deadline
    }
}
