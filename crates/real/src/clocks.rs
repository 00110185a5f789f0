//! How far the clocks of two machines are apart, from an exchange of time stamps (RFC 5905, section 8).

use framewire_units::Timestamp;

/// One question and its answer, each time by the clock of its own end in nanoseconds from the origin of that end's
/// records: before it they are negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When the question left the sender.
    pub asked: i64,
    /// When it came to the receiver.
    pub came: i64,
    /// When the answer left the receiver.
    pub answered: i64,
    /// When it came to the sender.
    pub arrived: i64,
}

impl Sample {
    /// By how much the receiver's clock is ahead, if both ways take the same time.
    fn offset(&self) -> i64 {
        let ahead =
            i128::from(self.came) - i128::from(self.asked) + i128::from(self.answered) - i128::from(self.arrived);
        saturating(ahead / 2)
    }

    /// The time both ways took together.
    fn round_trip(&self) -> i64 {
        let both =
            i128::from(self.arrived) - i128::from(self.asked) - i128::from(self.answered) + i128::from(self.came);
        saturating(both.max(0))
    }
}

/// A line by which the receiver's times become the sender's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alignment {
    /// Sender's time of a point, and how far the receiver's clock is ahead there, in nanoseconds.
    first: (i64, i64),
    /// Another point, later; the same where there is one only.
    last: (i64, i64),
    /// The most by which a time may be wrong, in nanoseconds; `None`: not known.
    pub error: Option<u64>,
}

/// Samples more apart than this are two looks at the clocks: what they differ by is drift.
const APART: i64 = 1_000_000_000;

impl Alignment {
    /// Of samples; `None` where there are none. Of those at the beginning, and of those at the end, the one with the
    /// shortest round trip counts (RFC 5905, section 10). Its error is at most half of its round trip: were one way to take
    /// no time, the other took all of it.
    pub fn of(samples: &[Sample]) -> Option<Self> {
        let begin = samples.iter().map(|sample| sample.asked).min()?;
        let is_first = |sample: &&Sample| sample.asked.saturating_sub(begin) < APART;
        let first = samples.iter().filter(is_first).min_by_key(|sample| sample.round_trip())?;
        let rest = samples.iter().filter(|sample| !is_first(sample));
        let last = rest.min_by_key(|sample| sample.round_trip()).unwrap_or(first);
        let error = first.round_trip().max(last.round_trip()).unsigned_abs().div_ceil(2);
        let point = |sample: &Sample| (sample.asked, sample.offset());
        Some(Self { first: point(first), last: point(last), error: Some(error) })
    }

    /// By the fastest packet, as if it had taken no time: `transits` are arrivals by the receiver's clock less the times of
    /// sending by the sender's. `None` where there are none.
    pub(crate) fn of_fastest(transits: impl Iterator<Item = i64>) -> Option<Self> {
        let fastest = transits.min()?;
        Some(Self { first: (0, fastest), last: (0, fastest), error: None })
    }

    /// By how much the receiver's clock ran ahead of the sender's from the beginning to the end, in nanoseconds; `None` where
    /// they were compared once.
    pub(crate) fn drift(&self) -> Option<i64> {
        (self.first != self.last).then(|| self.last.1.saturating_sub(self.first.1))
    }

    /// A time of the receiver's as the sender's clock had it; what was before the first frame was due is zero.
    pub fn to_sender(&self, at: Timestamp) -> Timestamp {
        let receiver = i128::from(at.as_nanos());
        let ((begin, first), (end, last)) = (self.first, self.last);
        let (begin, first, end, last) = (i128::from(begin), i128::from(first), i128::from(end), i128::from(last));
        // From the first point on, what passes here in `span` passes there in `theirs`.
        let (span, theirs) = (end - begin, end - begin + last - first);
        let passed = receiver - first - begin;
        let passed = if span > 0 && theirs > 0 { passed.saturating_mul(span) / theirs } else { passed };
        Timestamp::from_nanos(u64::try_from(begin + passed).unwrap_or(0))
    }
}

fn saturating(nanos: i128) -> i64 {
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: i64 = 1_000_000;

    /// At a time of the sender's, where the receiver's clock is ahead by so much, and each way takes so long.
    fn sample(at: i64, ahead: i64, there: i64, back: i64) -> Sample {
        let (came, answered) = (at + there + ahead, at + there + ahead + MILLI / 2);
        Sample { asked: at, came, answered, arrived: answered - ahead + back }
    }

    #[test]
    fn the_error_is_never_more_than_it_says() {
        for (there, back) in [(MILLI, MILLI), (0, 9 * MILLI), (9 * MILLI, 0), (3 * MILLI, 5 * MILLI)] {
            for ahead in [-7_000 * MILLI, 0, 86_400_000 * MILLI] {
                let alignment = Alignment::of(&[sample(-20 * MILLI, ahead, there, back)]).unwrap();
                let wrong = alignment.first.1.abs_diff(ahead);
                let error = alignment.error.unwrap();
                assert!(wrong <= error, "{wrong} > {error}");
                assert_eq!(error, (there + back).unsigned_abs() / 2, "half of the round trip");
                assert_eq!(alignment.drift(), None);
            }
        }
    }

    #[test]
    fn the_fastest_exchange_counts_and_drift_is_taken_out() {
        let ahead = 500 * MILLI;
        let drift = 2 * MILLI;
        let end = 10_000 * MILLI;
        let samples = [
            sample(-100 * MILLI, ahead, 30 * MILLI, MILLI),
            sample(-90 * MILLI, ahead, MILLI, MILLI),
            sample(end, ahead + drift, MILLI, MILLI),
            sample(end + 5 * MILLI, ahead + drift, MILLI, 60 * MILLI),
        ];
        let alignment = Alignment::of(&samples).unwrap();
        assert_eq!((alignment.error, alignment.drift()), (Some(MILLI.unsigned_abs()), Some(drift)));
        let receiver = |sender: i64, ahead: i64| Timestamp::from_nanos((sender + ahead).unsigned_abs());
        let at = |receiver| i64::try_from(alignment.to_sender(receiver).as_nanos()).unwrap();
        assert_eq!(at(receiver(end, ahead + drift)), end);
        assert!((at(receiver(end / 2, ahead + drift / 2)) - end / 2).abs() < MILLI / 50, "half of it half-way");
        assert_eq!(at(Timestamp::ZERO), 0, "before the first frame was due");
    }

    #[test]
    fn without_an_exchange_the_fastest_packet_is_as_if_it_took_no_time() {
        assert_eq!(Alignment::of(&[]), None);
        assert_eq!(Alignment::of_fastest([].into_iter()), None);
        let alignment = Alignment::of_fastest([7 * MILLI, 4 * MILLI, 90 * MILLI].into_iter()).unwrap();
        assert_eq!((alignment.error, alignment.drift()), (None, None));
        assert_eq!(alignment.to_sender(Timestamp::from_millis(10)), Timestamp::from_millis(6));
    }

    #[test]
    fn times_that_cannot_be_are_no_panic() {
        let wild = [i64::MIN, -1, 0, 1, i64::MAX];
        for asked in wild {
            for came in wild {
                for answered in wild {
                    for arrived in wild {
                        let one = Sample { asked, came, answered, arrived };
                        let alignment = Alignment::of(&[one, sample(0, 5, 1, 1), sample(9 * APART, 5, 1, 1)]).unwrap();
                        for at in [0, 1, u64::MAX] {
                            alignment.to_sender(Timestamp::from_nanos(at));
                        }
                    }
                }
            }
        }
    }
}
