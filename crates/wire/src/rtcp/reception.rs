use framewire_units::{JitterEstimator, Timestamp};

use super::compound::ReportBlock;
use crate::rtp::RtpHeader;
use crate::rtp_payload::{FURTHEST_BEHIND, LARGEST_JUMP};

/// So many packets with numbers that follow each other make a source valid (`MIN_SEQUENTIAL`, RFC 3550, appendix A.1).
const MIN_SEQUENTIAL: u32 = 2;

/// One turn of the sequence number (`RTP_SEQ_MOD`).
const TURN: u32 = 1 << 16;

/// The largest and the smallest number of lost packets that a report can say: 24 bits with a sign (RFC 3550, 6.4.1).
const LOST: std::ops::RangeInclusive<i64> = -0x80_0000..=0x7F_FFFF;

/// What a receiver counts of one source (RFC 3550, appendices A.1, A.3 and A.8).
///
/// A source counts once two packets with successive numbers came; what came before them does not. A packet counts as lost
/// while it has not come, and twice as received when it comes twice, so that the number of lost packets may fall, and be
/// negative.
#[derive(Clone, Debug, Default)]
pub struct Reception {
    /// Packets still needed until the source is valid (`probation`).
    probation: u32,
    has_begun: bool,
    /// The first number (`base_seq`), and the highest one (`max_seq`).
    base: u32,
    highest: u16,
    /// Wraps of the number, times 2^16.
    cycles: u32,
    /// A number far away that the next packet may confirm, plus one (`bad_seq`).
    confirming: Option<u16>,
    received: u32,
    /// At the last report.
    expected_before: u32,
    received_before: u32,
    latency: Option<Latency>,
    estimator: JitterEstimator,
    jitter: i64,
}

/// The last arrival and its time stamp, and how late it was in nanoseconds, but for a constant.
#[derive(Clone, Copy, Debug)]
struct Latency {
    arrived: Timestamp,
    timestamp: u32,
    nanos: i64,
}

impl Reception {
    /// A packet came. True where the source is valid and the packet counts (appendix A.1).
    pub fn handle_packet(&mut self, now: Timestamp, header: &RtpHeader, clock_rate: u32) -> bool {
        let counts = self.count(header.sequence_number);
        if counts {
            self.estimate_jitter(now, header.timestamp, clock_rate);
        }
        counts
    }

    /// True where the source is valid: two packets with successive numbers came.
    pub fn is_valid(&self) -> bool {
        self.has_begun && self.probation == 0
    }

    /// What a report says of it, and from where the next report counts on (appendix A.3). `last_report` and `delay` are LSR and
    /// DLSR, in units of 2^-16 s.
    pub fn report(&mut self, ssrc: u32, clock_rate: u32, last_report: u32, delay: u32) -> ReportBlock {
        let highest_sequence = self.cycles.wrapping_add(self.highest.into());
        let expected = highest_sequence.wrapping_sub(self.base).wrapping_add(1);
        let lost = i64::from(expected) - i64::from(self.received);
        let expected_now = expected.wrapping_sub(self.expected_before);
        let received_now = self.received.wrapping_sub(self.received_before);
        (self.expected_before, self.received_before) = (expected, self.received);
        let lost_now = i64::from(expected_now) - i64::from(received_now);
        let fraction_lost = match expected_now {
            0 => 0,
            _ => (lost_now.max(0) * 256 / i64::from(expected_now)).min(255) as u8,
        };
        let jitter = i128::from(self.jitter) * i128::from(clock_rate) / 1_000_000_000;
        ReportBlock {
            ssrc,
            fraction_lost,
            lost: lost.clamp(*LOST.start(), *LOST.end()) as i32,
            highest_sequence,
            jitter: u32::try_from(jitter).unwrap_or(u32::MAX),
            last_report,
            delay,
        }
    }

    /// `update_seq` of appendix A.1.
    fn count(&mut self, sequence: u16) -> bool {
        if !self.has_begun {
            self.restart(sequence);
            (self.has_begun, self.highest) = (true, sequence.wrapping_sub(1));
            self.probation = MIN_SEQUENTIAL;
        }
        let ahead = sequence.wrapping_sub(self.highest);
        if self.probation > 0 {
            let follows = ahead == 1;
            self.highest = sequence;
            self.probation = if follows { self.probation - 1 } else { MIN_SEQUENTIAL - 1 };
            if self.probation > 0 {
                return false;
            }
            self.restart(sequence);
        } else if u64::from(ahead) < LARGEST_JUMP {
            if sequence < self.highest {
                self.cycles = self.cycles.wrapping_add(TURN);
            }
            self.highest = sequence;
        } else if u64::from(ahead) <= u64::from(TURN) - FURTHEST_BEHIND {
            if self.confirming.replace(sequence.wrapping_add(1)) != Some(sequence) {
                return false;
            }
            self.restart(sequence); // Two in a row: the other side began anew.
        }
        self.received = self.received.wrapping_add(1);
        true
    }

    /// `init_seq` of appendix A.1.
    fn restart(&mut self, sequence: u16) {
        (self.base, self.highest, self.cycles, self.confirming) = (sequence.into(), sequence, 0, None);
        (self.received, self.received_before, self.expected_before) = (0, 0, 0);
    }

    /// Appendix A.8, in nanoseconds instead of units of the time stamp.
    fn estimate_jitter(&mut self, now: Timestamp, timestamp: u32, clock_rate: u32) {
        let nanos = self.latency.map_or(0, |before| {
            let ticks = i128::from(timestamp.wrapping_sub(before.timestamp) as i32);
            let media = ticks * 1_000_000_000 / i128::from(clock_rate.max(1));
            before.nanos.wrapping_add(now.nanos_since(before.arrived)).wrapping_sub(media as i64)
        });
        self.latency = Some(Latency { arrived: now, timestamp, nanos });
        if let Some(jitter) = self.estimator.update(nanos) {
            self.jitter = jitter;
        }
    }
}
