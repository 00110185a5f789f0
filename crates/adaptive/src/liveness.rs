//! Whether the other side is still there, on a clock that may jump.

use framewire_units::{Duration, Timestamp};

/// A step of the clock beyond what was expected that counts as a jump (or a machine that was suspended), not as time
/// in which the other side was silent. Ours: a driver is late by milliseconds, ntpd steps a clock that is wrong by more
/// than 128 ms, and what counts silence waits for several times as long.
pub(crate) const JUMP: Duration = Duration::from_secs(1);

/// A round trip before one was measured, for what is missing and what is sent again. Ours: longer than most paths, so that
/// no request and no packet is wasted until the first control packet shows it, which is soon; and a fifth of what a
/// player waits for before it begins.
pub(crate) const UNKNOWN_ROUND_TRIP: Duration = Duration::from_millis(200);

/// When something valid came from the other side last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Liveness {
    heard: Timestamp,
    /// The time until which no call was expected.
    expected: Timestamp,
}

impl Liveness {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { heard: now, expected: now }
    }

    pub(crate) fn hear(&mut self, now: Timestamp) {
        self.heard = now;
    }

    /// Time goes on.
    pub(crate) fn tick(&mut self, now: Timestamp) {
        let beyond = now.saturating_since(self.expected);
        if beyond > JUMP {
            self.heard += beyond;
        }
        self.heard = self.heard.min(now);
        self.expected = now;
    }

    /// The driver was asked to come back by then.
    pub(crate) fn expect(&mut self, next: Option<Timestamp>) {
        self.expected = next.map_or(self.expected, |next| next.max(self.expected));
    }

    pub(crate) fn deadline(&self, timeout: Duration) -> Timestamp {
        self.heard + timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn silence_expires_and_jumps_do_not() {
        let at = Timestamp::from_secs;
        let mut liveness = Liveness::new(at(5));
        for second in 6..=14 {
            liveness.tick(at(second));
            liveness.expect(Some(at(second + 1)));
        }
        assert_eq!(liveness.deadline(TIMEOUT), at(15));
        liveness.tick(at(1_015));
        assert_eq!(liveness.deadline(TIMEOUT), at(1_015), "1,000 s forwards while 15 was expected");
        liveness.tick(at(3));
        assert_eq!(liveness.deadline(TIMEOUT), at(13), "backwards");
    }
}
