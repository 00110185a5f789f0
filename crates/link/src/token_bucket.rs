//! Token buckets: what may pass at a rate, with bursts. They count IP bytes, as RFC 2697 does.

use framewire_units::{Bitrate, DataSize, Duration, Timestamp, keywords};

use crate::queue::Queued;
use crate::server::FineTime;

/// A bucket that fills at a rate up to a burst; a packet takes as many tokens as it has bytes (RFC 2697, section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    /// How fast it fills (the committed information rate).
    pub rate: Bitrate,
    /// How much it holds (the committed burst size).
    pub burst: DataSize,
}

/// A token bucket in front of a queue: what exceeds it does not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicerConfig {
    /// What may pass.
    pub bucket: TokenBucket,
    /// What becomes of the rest.
    pub exceeding: Exceeding,
}

keywords! {
    /// What a policer does with a packet that exceeds its rate and burst.
    Exceeding {
        /// It is dropped.
        Drop = "drop",
        /// It is marked (Congestion Experienced) where its transport knows ECN, and dropped where not.
        Mark = "mark",
    }
}

/// The state of a bucket, as the time at which it is full: with no arithmetic on tokens, nothing is rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    rate: Bitrate,
    /// How long an empty bucket takes to fill.
    depth: Duration,
    full: FineTime,
}

impl Bucket {
    /// A full one.
    pub(crate) fn new(config: TokenBucket) -> Self {
        Self { rate: config.rate, depth: config.rate.transmit_time(config.burst), full: FineTime::default() }
    }

    /// When it has tokens for `size` that are asked for from `at` on; at once if it holds them.
    pub(crate) fn ready(&self, at: Timestamp, size: DataSize) -> Timestamp {
        let full = self.full.max(FineTime::at(at)).after(size, self.rate);
        Timestamp::from_nanos(full.nanos().as_nanos().saturating_sub(self.depth.as_nanos() as u64))
    }

    /// Takes the tokens.
    pub(crate) fn take(&mut self, at: Timestamp, size: DataSize) {
        self.full = self.full.max(FineTime::at(at)).after(size, self.rate);
    }
}

/// A policer at work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policer {
    bucket: Bucket,
    exceeding: Exceeding,
}

impl Policer {
    pub(crate) fn new(config: PolicerConfig) -> Self {
        Self { bucket: Bucket::new(config.bucket), exceeding: config.exceeding }
    }

    /// Whether the packet may go on, now that it has arrived; it may be marked then.
    pub(crate) fn admits(&mut self, packet: &mut Queued) -> bool {
        let size = packet.packet.size;
        if self.bucket.ready(packet.at, size) <= packet.at {
            self.bucket.take(packet.at, size);
            return true;
        }
        self.exceeding == Exceeding::Mark && packet.mark()
    }
}

#[cfg(test)]
mod tests {
    use framewire_units::Ecn;
    use proptest::prelude::*;

    use super::*;
    use crate::verdict::{Packet, PacketId};

    fn packet(at: Timestamp, bytes: u64, ecn: Ecn) -> Queued {
        Queued::new(Packet { ecn, ..Packet::new(PacketId(0), DataSize::from_bytes(bytes)) }, at)
    }

    fn policer(exceeding: Exceeding) -> Policer {
        let bucket = TokenBucket { rate: Bitrate::from_mbps(8), burst: DataSize::from_bytes(3_000) };
        Policer::new(PolicerConfig { bucket, exceeding })
    }

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut policer = policer(Exceeding::Drop);
        let mut admits = |nanos, bytes| policer.admits(&mut packet(Timestamp::from_nanos(nanos), bytes, Ecn::Ect0));
        // 8 Mbit/s are a byte in a microsecond.
        assert_eq!(
            [admits(0, 1_500), admits(0, 1_500), admits(0, 1), admits(999, 1), admits(1_000, 1)],
            [true, true, false, false, true]
        );
        assert_eq!([admits(1_500_999, 1_500), admits(1_501_000, 1_500)], [false, true]);
        assert!(!admits(10_000_000, 3_001) && admits(10_000_000, 3_000), "never more than the burst");
    }

    #[test]
    fn what_exceeds_is_marked_where_that_is_possible() {
        let mut policer = policer(Exceeding::Mark);
        let mut marked = packet(Timestamp::ZERO, 3_001, Ecn::Ect1);
        assert!(policer.admits(&mut marked) && marked.marked && marked.packet.ecn == Ecn::Ce);
        assert!(!policer.admits(&mut packet(Timestamp::ZERO, 3_001, Ecn::NotEct)));
        let mut conforming = packet(Timestamp::ZERO, 3_000, Ecn::Ect1);
        assert!(policer.admits(&mut conforming) && !conforming.marked, "marked packets take no tokens");
    }

    proptest! {
        /// RFC 2697, section 3, in tokens: bytes and billionths of them that the rate brings in a nanosecond.
        #[test]
        fn it_admits_what_a_bucket_of_tokens_does(
            bps in 1_000..50_000_000u64,
            burst in 100..10_000u64,
            steps in prop::collection::vec((0..3_000_000u64, 28..2_000u64), 1..200),
        ) {
            let bucket = TokenBucket { rate: Bitrate::from_bps(bps), burst: DataSize::from_bytes(burst) };
            let mut policer = Policer::new(PolicerConfig { bucket, exceeding: Exceeding::Drop });
            let scale = 8_000_000_000u128;
            let (mut tokens, mut last, mut now) = (u128::from(burst) * scale, 0u64, 0u64);
            for (gap, bytes) in steps {
                now += gap;
                tokens = (tokens + u128::from(now - last) * u128::from(bps)).min(u128::from(burst) * scale);
                last = now;
                let needed = u128::from(bytes) * scale;
                let admitted = policer.admits(&mut packet(Timestamp::from_nanos(now), bytes, Ecn::NotEct));
                // Within two nanoseconds' worth of the limit both are right: one rounds times, the other tokens.
                let slack = 2 * u128::from(bps);
                let right = if admitted { tokens + slack >= needed } else { tokens < needed + slack };
                prop_assert!(right, "{} tokens, {} needed: {}", tokens, needed, admitted);
                if admitted {
                    tokens = tokens.saturating_sub(needed);
                }
            }
        }
    }
}
