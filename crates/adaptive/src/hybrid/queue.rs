use std::collections::VecDeque;

use framewire_units::{Duration, Timestamp};

/// Gains of the short and of the long mean of the queueing delay: their difference is its trend. Measured: 0.7 and 1.4
/// times of them change no share (docs/vtp-hybrid.md, Constants), nor do those of the times and the noise below.
const SHORT_GAIN: f64 = 0.5;
const LONG_GAIN: f64 = 0.1;

/// How long a sample counts among the recent ones.
const RECENT: Duration = Duration::from_secs(10);

/// Recent samples that are kept at most: one in each hundredth of the time.
const SPACING: Duration = Duration::from_millis(100);

/// Above this part of the way from the least to the longest recent delay the queue counts as nearly full: "spike start"
/// of Cen, Cosman and Voelker, "End-to-end differentiation of congestion and wireless losses" (IEEE/ACM Transactions on
/// Networking, 2003), with their alpha of 1/2.
const NEARLY_FULL: f64 = 0.5;

/// A queue shorter than this is none: below it lie the sender's own packets and the jitter of hosts.
const NOISE_S: f64 = 0.010;

/// What waits in the path: the round-trip time beyond the least one of the session, its trend, and its recent range.
///
/// Times are round trips and not one-way delays: the clocks of the two hosts need not agree, and what waits on the way
/// back of a few control packets is little.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    least: Option<f64>,
    last: f64,
    means: Option<(f64, f64)>,
    /// Times and the longest delay since the one before, oldest first.
    recent: VecDeque<(Timestamp, f64)>,
}

impl Queue {
    /// Takes a sample of the round-trip time.
    pub(crate) fn update(&mut self, now: Timestamp, round_trip: Duration) {
        let sample = round_trip.as_secs_f64();
        let least = self.least.map_or(sample, |least| least.min(sample));
        let delay = sample - least;
        (self.least, self.last) = (Some(least), delay);
        let (short, long) = self.means.unwrap_or((delay, delay));
        self.means = Some((short + SHORT_GAIN * (delay - short), long + LONG_GAIN * (delay - long)));
        self.remember(now, delay);
    }

    /// Mean queueing delay of the last few samples in seconds.
    pub(crate) fn delay(&self) -> f64 {
        self.means.map_or(0.0, |(short, _)| short)
    }

    /// Whether the queue grows, or stays: it is not shorter than it was.
    pub(crate) fn is_not_falling(&self) -> bool {
        self.means.is_some_and(|(short, long)| short >= long)
    }

    /// Whether a loss now is one of a queue that had no room: by the delay of what arrived beside it.
    pub(crate) fn is_nearly_full(&self) -> bool {
        self.last >= NOISE_S && self.last >= NEARLY_FULL * self.longest()
    }

    /// The part of the longest delay lately that waits now; 0 where there was no queue.
    pub(crate) fn filled(&self) -> f64 {
        let longest = self.longest();
        if longest >= NOISE_S { self.last / longest } else { 0.0 }
    }

    /// The least round-trip time of the session and the mean delay of the last few samples, in seconds.
    pub(crate) fn round_trip(&self) -> f64 {
        self.least.unwrap_or(0.0) + self.delay()
    }

    /// The least round-trip time of the session.
    #[cfg(test)]
    pub(crate) fn least_round_trip(&self) -> Option<Duration> {
        self.least.map(Duration::from_secs_f64)
    }

    fn longest(&self) -> f64 {
        self.recent.iter().map(|&(_, delay)| delay).fold(0.0, f64::max)
    }

    fn remember(&mut self, now: Timestamp, delay: f64) {
        while self.recent.front().is_some_and(|&(at, _)| now.saturating_since(at) > RECENT) {
            self.recent.pop_front();
        }
        match self.recent.back_mut() {
            // A clock that went back adds to the newest sample and makes no room for more.
            Some((at, longest)) if now.saturating_since(*at) < SPACING => *longest = longest.max(delay),
            _ => self.recent.push_back((now, delay)),
        }
    }
}
