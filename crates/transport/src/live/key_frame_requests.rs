//! When upstream is asked for a key frame.

use framewire_units::{Duration, Timestamp};

/// Requests, with at least an interval between them: an encoder that is asked for a key frame with every frame that is
/// dropped would make the stream larger just when there is no room for it.
///
/// What is asked for too early is asked for later, unless a key frame has come by then.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyFrameRequests {
    last: Option<Timestamp>,
    is_owed: bool,
    sent: u64,
}

impl KeyFrameRequests {
    /// A key frame is needed. True when upstream is to be asked for it now.
    pub fn need(&mut self, now: Timestamp, interval: Duration) -> bool {
        self.is_owed = true;
        self.is_due(now, interval)
    }

    /// A frame has come. True when upstream is to be asked for a key frame now, which was needed before.
    pub fn frame_came(&mut self, is_key: bool, now: Timestamp, interval: Duration) -> bool {
        self.is_owed &= !is_key;
        self.is_due(now, interval)
    }

    /// Requests that were to be made.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    fn is_due(&mut self, now: Timestamp, interval: Duration) -> bool {
        let too_early = self.last.is_some_and(|last| now.saturating_since(last) < interval);
        if !self.is_owed || too_early {
            return false;
        }
        (self.last, self.is_owed) = (Some(now), false);
        self.sent += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(1);

    #[test]
    fn requests_keep_their_distance_and_none_is_forgotten() {
        let at = Timestamp::from_millis;
        let mut requests = KeyFrameRequests::default();
        assert!(requests.need(at(0), INTERVAL), "the first at once");
        assert!(!requests.need(at(300), INTERVAL), "too early");
        assert!(!requests.frame_came(false, at(999), INTERVAL));
        assert!(requests.frame_came(false, at(1_000), INTERVAL), "the one that was too early");
        assert!(!requests.frame_came(false, at(5_000), INTERVAL), "nothing more is needed");
        assert!(requests.need(at(5_000), INTERVAL));
        assert!(!requests.need(at(5_001), INTERVAL));
        assert!(!requests.frame_came(true, at(5_500), INTERVAL));
        assert!(!requests.frame_came(false, at(9_000), INTERVAL), "a key frame has come");
        assert_eq!(requests.sent(), 3);
    }

    #[test]
    fn without_an_interval_each_is_made() {
        let now = Timestamp::ZERO;
        let mut requests = KeyFrameRequests::default();
        assert!((0..3).all(|_| requests.need(now, Duration::ZERO)));
    }
}
