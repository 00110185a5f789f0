//! When the packets of a frame leave.

use framewire_units::{Duration, Timestamp};

/// How the packets of a frame are spread in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// All at once: as soon as the socket takes them.
    #[default]
    AtOnce,
    /// Evenly over the time that the frame is shown. A packet that had to wait does not make later ones late.
    FrameInterval,
    /// No two packets of the flow closer than this: the time that a host needs for each, or a pacer leaves. After a
    /// wait that lasted too long the next packet makes up for it, so that a kernel that wakes late keeps the pace.
    Gap(Duration),
}

/// The times of the packets of one flow, in the order in which they leave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    spread: Spread,
    /// When the next packet may leave.
    due: Timestamp,
    /// It was asked before that time: who waited then may come late, and late counts from when it was due.
    waited: bool,
    frame: Slots,
}

/// The frame that is being sent, divided into one slot for each packet.
#[derive(Clone, Copy, Debug)]
struct Slots {
    start: Timestamp,
    duration: Duration,
    packets: u32,
    used: u32,
}

impl Schedule {
    /// A schedule by which the first packet may leave at any time.
    pub(super) fn new(spread: Spread) -> Self {
        let frame = Slots { start: Timestamp::ZERO, duration: Duration::ZERO, packets: 1, used: 0 };
        Self { spread, due: Timestamp::ZERO, waited: false, frame }
    }

    /// When the next packet may leave.
    pub(super) fn due(&self) -> Timestamp {
        self.due
    }

    /// Whether the next packet may leave at `now`.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
        self.waited |= now < self.due;
        now >= self.due
    }

    /// A frame of so many packets, shown for `duration`, is begun at `now`.
    pub(super) fn begin(&mut self, now: Timestamp, duration: Duration, packets: usize) {
        let packets = u32::try_from(packets).unwrap_or(u32::MAX).max(1);
        self.frame = Slots { start: now, duration, packets, used: 0 };
        if self.spread == Spread::FrameInterval {
            self.due = now;
        }
    }

    /// A packet has left at `now`, or was lost there.
    pub(super) fn packet_left(&mut self, now: Timestamp) {
        match self.spread {
            Spread::AtOnce => {}
            Spread::FrameInterval => {
                self.frame.used = self.frame.used.saturating_add(1);
                self.due = self.frame.begin_of_slot(self.frame.used);
            }
            Spread::Gap(gap) => self.due = if self.waited { self.due } else { now } + gap,
        }
        self.waited = false;
    }
}

impl Slots {
    /// Rounded down to nanoseconds from the start of the frame, so that nothing adds up.
    fn begin_of_slot(&self, slot: u32) -> Timestamp {
        let nanos = self.duration.as_nanos() * u128::from(slot) / u128::from(self.packets);
        self.start + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
