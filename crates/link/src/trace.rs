//! A link whose rate is a recording: opportunities to deliver, as Mahimahi writes them.
//!
//! A trace is a text with one number per line: a millisecond at which up to 1,500 bytes of IP packets can leave, in
//! ascending order; the same number n times is n such opportunities. It is repeated for ever, and its last number is
//! its length. A packet that comes at the very moment of an opportunity is too late for it, as in mm-link, which uses up
//! what is due before it takes a packet in. (Netravali et al., "Mahimahi: accurate record-and-replay for HTTP", USENIX ATC 2015, section 3;
//! mm-link(1).) Small packets share an opportunity, a large one takes several, and one that finds no packet is lost
//! for ever. Mahimahi itself counts 1,504 bytes, because its packets carry four bytes of its TUN device.

use std::sync::Arc;

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

/// Bytes of IP packets that one opportunity takes.
const OPPORTUNITY: u64 = 1_500;
const NANOS_PER_MILLI: u64 = 1_000_000;
/// Most opportunities of a trace: bounds the memory for a hostile file. 2.3 hours at 24 Mbit/s.
const MAX_OPPORTUNITIES: usize = 1 << 24;

/// When a link can deliver.
#[derive(Clone, PartialEq, Eq)]
pub struct DeliveryTrace {
    /// Milliseconds, ascending.
    opportunities: Arc<[u32]>,
}

/// A text that is not a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// There is no opportunity in it.
    #[error("the trace holds no opportunity: one whole number of milliseconds per line is needed")]
    Empty,
    /// A line that is not a number.
    #[error("line {line} of the trace is \"{text}\": a whole number of milliseconds up to {} is allowed", u32::MAX)]
    NotANumber {
        /// Counted from 1.
        line: usize,
        /// What stands there, at most 40 characters of it.
        text: String,
    },
    /// Time runs backwards.
    #[error("line {line} of the trace is {value}, after {before}: times must not go back")]
    GoesBack {
        /// Counted from 1.
        line: usize,
        /// What stands there.
        value: u32,
        /// What stood before it.
        before: u32,
    },
    /// It ends where it begins, so that it cannot be repeated.
    #[error("the trace ends at 0 ms: its last number, which is its length, must be above 0")]
    NoLength,
    /// More than memory is planned for.
    #[error("the trace has more than {limit} opportunities")]
    TooLong {
        /// How many are allowed.
        limit: usize,
    },
}

impl DeliveryTrace {
    /// Reads a trace in Mahimahi's format.
    ///
    /// # Errors
    /// When a line is not a number or less than the one before, and when there is none or the last one is 0.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut opportunities = Vec::new();
        let mut before = 0;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line_number = number + 1;
            let value = line.trim().parse().map_err(|_| TraceError::NotANumber {
                line: line_number,
                text: line.trim().chars().take(40).collect(),
            })?;
            if value < before {
                return Err(TraceError::GoesBack { line: line_number, value, before });
            }
            if opportunities.len() == MAX_OPPORTUNITIES {
                return Err(TraceError::TooLong { limit: MAX_OPPORTUNITIES });
            }
            before = value;
            opportunities.push(value);
        }
        match opportunities.last() {
            None => Err(TraceError::Empty),
            Some(0) => Err(TraceError::NoLength),
            Some(_) => Ok(Self { opportunities: opportunities.into() }),
        }
    }

    /// How long it is before it is repeated.
    pub fn length(&self) -> Duration {
        Duration::from_millis(u64::from(self.last()))
    }

    /// Its mean rate.
    pub fn mean_rate(&self) -> Bitrate {
        let bits = self.opportunities.len() as u64 * OPPORTUNITY * 8;
        Bitrate::from_bps(bits * 1_000 / u64::from(self.last()))
    }

    /// Its mean rate after `from`, up to and including `to`; nothing where that is no time.
    pub fn rate_between(&self, from: Timestamp, to: Timestamp) -> Option<Bitrate> {
        let millis = to.saturating_since(from).as_millis();
        let opportunities = self.first_after(to).saturating_sub(self.first_after(from));
        let bits = u128::from(opportunities) * u128::from(OPPORTUNITY * 8);
        let rate = (bits * 1_000).checked_div(millis)?;
        Some(Bitrate::from_bps(rate.try_into().unwrap_or(u64::MAX)))
    }

    fn last(&self) -> u32 {
        *self.opportunities.last().expect("invariant: a trace has an opportunity")
    }

    /// When opportunity `number` is, counted over all repetitions.
    fn time_of(&self, number: u64) -> Timestamp {
        let count = self.opportunities.len() as u64;
        let within = self.opportunities[(number % count) as usize];
        let millis = (number / count).saturating_mul(u64::from(self.last())).saturating_add(u64::from(within));
        Timestamp::ZERO + Duration::from_nanos(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// The first opportunity after `at`.
    fn first_after(&self, at: Timestamp) -> u64 {
        let millis = at.as_nanos() / NANOS_PER_MILLI + 1;
        let length = u64::from(self.last());
        let count = self.opportunities.len() as u64;
        // The last opportunity of a repetition is at the same moment as the next one's time 0.
        let repetition = (millis / length).saturating_sub(u64::from(millis.is_multiple_of(length) && millis > 0));
        let within = millis - repetition * length;
        let passed = self.opportunities.partition_point(|&time| u64::from(time) < within) as u64;
        repetition * count + passed
    }
}

impl std::fmt::Debug for DeliveryTrace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeliveryTrace({} opportunities, {})", self.opportunities.len(), self.mean_rate())
    }
}

/// Uses up the opportunities of a trace, packet after packet.
#[derive(Clone, Debug)]
pub(crate) struct TraceServer {
    trace: DeliveryTrace,
    /// The opportunity in use, and the bytes left of it.
    next: u64,
    left: u64,
}

impl TraceServer {
    pub(crate) fn new(trace: DeliveryTrace) -> Self {
        Self { trace, next: 0, left: OPPORTUNITY }
    }

    /// Serves a packet that is there from `at` on, after all earlier ones: when its first and its last byte leave.
    pub(crate) fn serve(&mut self, at: Timestamp, size: DataSize) -> (Timestamp, Timestamp) {
        if self.trace.time_of(self.next) <= at {
            self.next = self.trace.first_after(at);
            self.left = OPPORTUNITY;
        }
        if self.left == 0 {
            self.advance();
        }
        let start = self.trace.time_of(self.next);
        let mut bytes = size.as_bytes();
        while bytes > self.left {
            bytes -= self.left;
            self.advance();
        }
        self.left -= bytes;
        (start, self.trace.time_of(self.next))
    }

    /// When a packet that comes at `at` would begin to be served.
    pub(crate) fn start_for(&self, at: Timestamp) -> Timestamp {
        let number = if self.trace.time_of(self.next) <= at {
            self.trace.first_after(at)
        } else {
            self.next + u64::from(self.left == 0)
        };
        self.trace.time_of(number)
    }

    fn advance(&mut self) {
        self.next += 1;
        self.left = OPPORTUNITY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_rate_of_each_second_is_that_of_its_opportunities_and_their_mean_that_of_the_trace() {
        let trace = DeliveryTrace::parse("500\n1000\n1000\n1001\n2000\n").unwrap();
        let rate = |from: u64, to: u64| trace.rate_between(millis(from), millis(to)).map(Bitrate::as_bps);
        assert_eq!(rate(0, 1_000), Some(3 * 12_000));
        assert_eq!(rate(1_000, 2_000), Some(2 * 12_000));
        assert_eq!(rate(4_000, 5_000), Some(3 * 12_000), "it is repeated");
        assert_eq!(rate(0, 20_000), Some(trace.mean_rate().as_bps()));
        assert_eq!(rate(1_000, 1_000), None);
    }

    fn millis(value: u64) -> Timestamp {
        Timestamp::from_millis(value)
    }

    fn trace(text: &str) -> DeliveryTrace {
        DeliveryTrace::parse(text).expect("well formed")
    }

    #[test]
    fn packets_take_opportunities_in_order() {
        let mut server = TraceServer::new(trace("2\n5\n5\n10\n"));
        let mut serve = |at, size| server.serve(millis(at), DataSize::from_bytes(size));
        assert_eq!(serve(0, 1500), (millis(2), millis(2)));
        // Two small ones share an opportunity; a third takes what is left and the next one.
        assert_eq!(serve(0, 700), (millis(5), millis(5)));
        assert_eq!(serve(3, 700), (millis(5), millis(5)));
        assert_eq!(serve(4, 1500), (millis(5), millis(5)));
        // What is left of an opportunity is lost when it has passed; the trace begins again after its last number.
        assert_eq!(serve(11, 1500), (millis(12), millis(12)));
        // At the very moment of an opportunity it is too late for it.
        assert_eq!(serve(12, 4500), (millis(15), millis(20)));
        assert_eq!(serve(20, 1500), (millis(22), millis(22)));
    }

    #[test]
    fn what_is_not_a_trace_is_refused_with_its_line() {
        let error = |text: &str| DeliveryTrace::parse(text).unwrap_err().to_string();
        assert!(error("").contains("no opportunity"));
        assert!(error("\n \n").contains("no opportunity"));
        assert!(error("1\nfive\n").contains("line 2 of the trace is \"five\""));
        assert!(error("1\n-5\n").contains("line 2"));
        assert!(error("7\n3\n").contains("line 2 of the trace is 3, after 7"));
        assert!(error("0\n0\n").contains("ends at 0 ms"));
        assert!(error("4294967296\n").contains("line 1"));
    }

    #[test]
    fn its_mean_rate_is_that_of_its_opportunities() {
        let every_milli: String = (1..=1_000).map(|at| format!("{at}\n")).collect();
        let trace = trace(&every_milli);
        assert_eq!((trace.mean_rate(), trace.length()), (Bitrate::from_mbps(12), Duration::from_secs(1)));
    }

    /// As mm-link does it (`LinkQueue::rationalize`, called before a packet is enqueued): every opportunity that is due
    /// is used up, one by one, and only then is the packet taken in.
    fn walk(times: &[u32], packets: &[(u64, u64)]) -> Vec<u64> {
        let last = u64::from(*times.last().unwrap());
        let mut opportunities = (0..).flat_map(|n| times.iter().map(move |&time| n * last + u64::from(time)));
        let (mut at, mut left) = (opportunities.next().unwrap(), OPPORTUNITY);
        let mut departures = vec![];
        for &(arrival, size) in packets {
            let mut bytes = size;
            loop {
                if at <= arrival || left == 0 {
                    (at, left) = (opportunities.next().unwrap(), OPPORTUNITY);
                    continue;
                }
                let taken = bytes.min(left);
                (bytes, left) = (bytes - taken, left - taken);
                if bytes == 0 {
                    break;
                }
            }
            departures.push(at);
        }
        departures
    }

    proptest! {
        #[test]
        fn it_serves_as_a_walk_over_all_opportunities_does(
            mut times in prop::collection::vec(0..50u32, 1..20),
            mut packets in prop::collection::vec((0..400u64, 1..5_000u64), 1..30),
        ) {
            times.sort_unstable();
            *times.last_mut().unwrap() += 1;
            packets.sort_unstable_by_key(|&(arrival, _)| arrival);
            let text: String = times.iter().map(|time| format!("{time}\n")).collect();
            let mut server = TraceServer::new(trace(&text));
            for (&(arrival, size), departure) in packets.iter().zip(walk(&times, &packets)) {
                let expected = server.start_for(millis(arrival));
                let (start, end) = server.serve(millis(arrival), DataSize::from_bytes(size));
                prop_assert_eq!(start, expected);
                prop_assert!(millis(arrival) < start && start <= end);
                prop_assert_eq!(end, millis(departure));
            }
        }
    }
}
