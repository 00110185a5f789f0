//! How long the end of a stream waits for a receiver that takes nothing.

use std::time::{Duration, Instant};

use framewire_units::DataSize;

/// What has reached the receiver, as far as is known: any change is a sign of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// Frames written whole.
    pub sent: u64,
    /// Bytes that the receiver acknowledged.
    pub acknowledged: Option<DataSize>,
}

/// Patience with a receiver. A slow one gets all the time that it needs: what counts is the time in which nothing moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    limit: Duration,
    since: Instant,
    seen: Progress,
}

impl Drain {
    /// The end of the stream was signalled.
    pub(super) fn begin(limit: Duration, now: Instant, progress: Progress) -> Self {
        Self { limit, since: now, seen: progress }
    }

    /// How long until it is to be looked again; `None` when patience is over.
    pub(super) fn look(&mut self, now: Instant, progress: Progress) -> Option<Duration> {
        if progress != self.seen {
            (self.since, self.seen) = (now, progress);
        }
        let left = self.limit.saturating_sub(now.saturating_duration_since(self.since));
        (left > Duration::ZERO).then_some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_in_which_nothing_moves_counts() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let progress = |sent, acknowledged| Progress { sent, acknowledged: Some(DataSize::from_bytes(acknowledged)) };
        let mut drain = Drain::begin(Duration::from_secs(5), at(0), progress(3, 100));
        assert_eq!(drain.look(at(4), progress(3, 100)), Some(Duration::from_secs(1)));
        assert_eq!(drain.look(at(5), progress(3, 101)), Some(Duration::from_secs(5)), "bytes were acknowledged");
        assert_eq!(drain.look(at(9), progress(4, 101)), Some(Duration::from_secs(5)), "a frame was written");
        assert_eq!(drain.look(at(13), progress(4, 101)), Some(Duration::from_secs(1)));
        assert_eq!(drain.look(at(14), progress(4, 101)), None);
    }
}
