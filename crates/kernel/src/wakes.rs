//! How late the lab's own senders and receivers woke: the network's proof of accuracy does not cover its hosts.

use std::sync::atomic::{AtomicU64, Ordering};

use framewire_units::{Duration, Timestamp};
use serde_json::{Value, json};

/// One wake in a hundred may be later than this: a tick of the clock of the studies' own hosts, whose timers were late
/// by up to as much (HZ is 100 in Linux 2.4 on i386, asm-i386/param.h; t_gran of RFC 3448, 4.6). A judgement: seven
/// senders that are woken by the same frame clock on two idle processors are more than 5 ms late up to 2.5 times in a
/// hundred, and 99 times within 7.5 ms (`benches/thesis.py`).
const TOLERATED: Duration = Duration::from_millis(10);

/// One wake in so many may be later than is tolerated.
const LATE_ONE_IN: u64 = 100;

/// One wake may be this late: one frame at 25 Hz, as of a single release of the network.
const WORST_TOLERATED: Duration = Duration::from_millis(40);

/// Buckets of each power of two: a percentile is known to a sixteenth.
const STEPS: u64 = 16;
/// Powers of two above the first 16 us, up to a day.
const POWERS: u64 = 33;
const BUCKETS: usize = (STEPS * (POWERS + 1)) as usize;

/// How late a thread was for its own timers, in counts that need no more memory in a long run.
#[derive(Debug)]
pub struct Wakes {
    counts: [AtomicU64; BUCKETS],
    /// Those that were later than is tolerated.
    late: AtomicU64,
    worst_us: AtomicU64,
    /// When the thread began its work, in nanoseconds: the end of its last wait.
    woken: AtomicU64,
}

impl Default for Wakes {
    fn default() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; BUCKETS],
            late: AtomicU64::new(0),
            worst_us: AtomicU64::new(0),
            woken: AtomicU64::new(u64::MAX),
        }
    }
}

impl Wakes {
    /// The thread waited from `began` until `now`, for `asked` at the latest. What woke it before is no timer. A time
    /// that came while it worked is as late whatever held up the work: a disk, another program. One that had come
    /// before the work began was not to be kept.
    pub fn note(&self, began: Timestamp, asked: Option<Timestamp>, now: Timestamp) {
        let woken = Timestamp::from_nanos(self.woken.swap(now.as_nanos(), Ordering::Relaxed));
        if let Some(asked) = asked.filter(|&asked| asked > began.min(woken) && asked <= now) {
            self.add(now.saturating_since(asked).as_micros() as u64);
        }
    }

    /// The thread begins its work, which it was to do at `asked`, or later where that is still to come.
    pub fn begin(&self, asked: Timestamp, now: Timestamp) {
        self.woken.store(now.as_nanos(), Ordering::Relaxed);
        if asked <= now {
            self.add(now.saturating_since(asked).as_micros() as u64);
        }
    }

    fn add(&self, late_us: u64) {
        self.counts[bucket(late_us)].fetch_add(1, Ordering::Relaxed);
        self.late.fetch_add(u64::from(late_us > TOLERATED.as_micros() as u64), Ordering::Relaxed);
        self.worst_us.fetch_max(late_us, Ordering::Relaxed);
    }

    /// What was counted.
    pub fn lateness(&self) -> Lateness {
        let counts: Vec<u64> = self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let (count, worst_us): (u64, u64) = (counts.iter().sum(), self.worst_us.load(Ordering::Relaxed));
        let percentile = |percent: u64| {
            let rank = (count * percent).div_ceil(100).max(1);
            let mut below = 0;
            let found = counts.iter().position(|in_bucket| {
                below += in_bucket;
                below >= rank
            });
            found.map_or(0, |bucket| largest(bucket).min(worst_us))
        };
        let late = self.late.load(Ordering::Relaxed);
        Lateness { count, late, p50_us: percentile(50), p99_us: percentile(99), max_us: worst_us }
    }
}

/// How late wakes were, in microseconds; percentiles by nearest rank, and a sixteenth too late at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Wakes by a timer.
    pub count: u64,
    /// Those of them that were more than 10 ms late.
    pub late: u64,
    /// Half of them were at most this late.
    pub p50_us: u64,
    /// 99 of 100 were.
    pub p99_us: u64,
    /// The latest.
    pub max_us: u64,
}

impl Lateness {
    /// Why the flow is to be doubted for it; `None` when it is not. One late wake of few is no more than one, whose
    /// bound is another.
    pub fn doubt(&self, who: &str) -> Option<String> {
        let Self { count, late, max_us, .. } = *self;
        if late > 1 && late * LATE_ONE_IN > count {
            let tolerated = TOLERATED.as_millis();
            return Some(format!(
                "the flow's {who} was more than {tolerated} ms late {late} times of {count} (1 in {LATE_ONE_IN} is tolerated)"
            ));
        }
        (max_us > WORST_TOLERATED.as_micros() as u64).then(|| {
            let ms = max_us as f64 / 1e3;
            format!("the flow's {who} was once {ms:.0} ms late (40 ms, a frame at 25 Hz, are tolerated)")
        })
    }

    /// For `run.json`; null where no timer woke anything, as of applications that pace themselves.
    pub fn to_json(self) -> Value {
        let Self { count, late, p50_us, p99_us, max_us } = self;
        if count == 0 {
            return Value::Null;
        }
        json!({ "count": count, "late_over_10ms": late, "p50_us": p50_us, "p99_us": p99_us, "max_us": max_us })
    }
}

/// How late the threads of a flow were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowLateness {
    /// That of the sender.
    pub sender: Lateness,
    /// That of the receiver.
    pub receiver: Lateness,
}

impl FlowLateness {
    /// Why the flow is to be doubted for it; `None` when it is not.
    pub fn doubt(&self) -> Option<String> {
        let doubts = [self.sender.doubt("sender"), self.receiver.doubt("receiver")];
        let doubts: Vec<String> = doubts.into_iter().flatten().collect();
        (!doubts.is_empty()).then(|| doubts.join("; "))
    }

    /// For `run.json`.
    pub fn to_json(self) -> Value {
        json!({ "sender": self.sender.to_json(), "receiver": self.receiver.to_json() })
    }
}

/// The bucket of a time: those below 16 us have one each, and every power of two above has 16.
fn bucket(us: u64) -> usize {
    let power = us.max(1).ilog2().saturating_sub(STEPS.ilog2());
    let step = us >> power;
    let index = if us < STEPS { us } else { STEPS * u64::from(power) + step };
    (index as usize).min(BUCKETS - 1)
}

/// The largest time of a bucket.
fn largest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let power = bucket / STEPS - 1;
    ((bucket - STEPS * power + 1) << power) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lateness(late_us: impl IntoIterator<Item = u64>) -> Lateness {
        let wakes = Wakes::default();
        late_us.into_iter().for_each(|late| wakes.add(late));
        wakes.lateness()
    }

    #[test]
    fn a_bucket_holds_what_is_at_most_a_sixteenth_apart() {
        for us in (0..5_000).chain((1..60).map(|power| (1u64 << power) - 1)) {
            let largest = largest(bucket(us));
            if us < 1 << 36 {
                assert!(us <= largest && largest <= us + us / STEPS, "{us}: {largest}");
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        assert_eq!(lateness([]), Lateness::default());
        assert_eq!(lateness([7]), Lateness { count: 1, late: 0, p50_us: 7, p99_us: 7, max_us: 7 });
        let all = lateness(1..=1_000);
        assert_eq!((all.count, all.max_us), (1_000, 1_000));
        assert!((500..=531).contains(&all.p50_us) && (990..=1_000).contains(&all.p99_us), "{all:?}");
    }

    #[test]
    fn a_wake_counts_where_the_timer_was_what_ended_the_wait() {
        let at = Timestamp::from_micros;
        let wakes = Wakes::default();
        wakes.note(at(10), None, at(20));
        wakes.note(at(10), Some(at(30)), at(20)); // something else woke it
        wakes.note(at(25), Some(at(15)), at(25)); // it had come before the work began
        assert_eq!(wakes.lateness().count, 0);
        wakes.note(at(30), Some(at(35)), at(40));
        assert_eq!(wakes.lateness(), Lateness { count: 1, late: 0, p50_us: 5, p99_us: 5, max_us: 5 });
    }

    #[test]
    fn a_time_that_comes_while_the_thread_works_is_late_whatever_held_it_up() {
        let at = Timestamp::from_millis;
        let wakes = Wakes::default();
        wakes.note(at(100), Some(at(5)), at(100)); // nothing is known of what was before
        assert_eq!(wakes.lateness().count, 0);
        wakes.note(at(130), Some(at(110)), at(130)); // 30 ms of work
        wakes.note(at(130), Some(at(110)), at(131)); // it is counted once
        let lateness = wakes.lateness();
        assert_eq!((lateness.count, lateness.late, lateness.max_us), (1, 1, 20_000));
    }

    #[test]
    fn a_thread_that_begins_late_is_late() {
        let at = Timestamp::from_millis;
        let wakes = Wakes::default();
        wakes.begin(at(100), at(30));
        assert_eq!(wakes.lateness().count, 0, "what it waits for is still to come");
        wakes.begin(at(0), at(509));
        wakes.note(at(510), Some(at(40)), at(510)); // the next had come before it began
        let lateness = wakes.lateness();
        assert_eq!((lateness.count, lateness.max_us), (1, 509_000));
        assert!(lateness.doubt("sender").is_some());
    }

    #[test]
    fn a_flow_is_doubted_for_late_wakes_and_for_no_others() {
        let doubt = |usual, late, one_in: u64| {
            lateness((0..1_000).map(|number| if number % one_in == 0 { late } else { usual })).doubt("sender")
        };
        assert_eq!(doubt(100, 10_000, 50), None);
        let said = doubt(100, 10_001, 50).unwrap();
        assert!(said.contains("sender was more than 10 ms late 20 times of 1000 (1 in 100 is"), "{said}");
        assert_eq!(doubt(100, 10_001, 100), None, "ten of a thousand");
        assert_eq!(lateness([100, 10_400, 100]).doubt("sender"), None, "one of three is one");
        assert!(lateness([100, 10_400, 10_400]).doubt("sender").is_some());
        assert_eq!(doubt(100, 39_900, 1_000), None, "one wake in a thousand");
        let said = doubt(100, 41_000, 1_000).unwrap();
        assert!(said.contains("41 ms late (40 ms"), "{said}");
        assert_eq!(Lateness::default().doubt("sender"), None);
    }
}
