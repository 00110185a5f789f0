//! TCP Westwood+: after a loss, the window that the measured bandwidth needs.
//!
//! Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP congestion control"
//! (ACM CCR 34(2), 2004). Linux: `tcp_westwood.c`, whose clock is the coarse one.

use framewire_units::Timestamp;

use super::ticks::{TICKS_PER_SECOND, tick, ticks_in};
use super::{Acknowledgement, CongestionControl, Event, MINIMUM_THRESHOLD, Window, reno};

/// Bandwidth is not sampled over less than 50 ms. Linux: `TCP_WESTWOOD_RTT_MIN`.
const SHORTEST_SAMPLE: u64 = TICKS_PER_SECOND / 20;
/// The round-trip time before there is one: 20 s. Linux: `TCP_WESTWOOD_INIT_RTT`.
const INITIAL_RTT: u64 = 20 * TICKS_PER_SECOND;

/// A low-pass filter of two stages with constant coefficients, 7/8 and 1/8. Linux: `westwood_filter`.
#[derive(Clone, Copy, Debug, Default)]
struct BandwidthFilter {
    /// Bytes per tick after the first stage.
    first: u64,
    /// Bytes per tick after both.
    second: u64,
}

impl BandwidthFilter {
    fn add(&mut self, sample: u64) {
        if self.first == 0 && self.second == 0 {
            *self = Self { first: sample, second: sample };
        } else {
            self.first = (7 * self.first + sample) / 8;
            self.second = (7 * self.second + self.first) / 8;
        }
    }
}

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Westwood {
    bandwidth: BandwidthFilter,
    /// When the present sample began, in ticks; `None` before the first acknowledgement.
    sample_start: Option<u64>,
    /// Bytes of the present sample. Linux: `bk`.
    sample_bytes: u64,
    first_unacknowledged: u64,
    /// Bytes that duplicate acknowledgements were counted for in advance.
    accounted: u64,
    /// The last round-trip time, in ticks.
    rtt: u64,
    least_rtt: u64,
    forgets_least: bool,
}

impl Default for Westwood {
    fn default() -> Self {
        Self {
            bandwidth: BandwidthFilter::default(),
            sample_start: None,
            sample_bytes: 0,
            first_unacknowledged: 0,
            accounted: 0,
            rtt: INITIAL_RTT,
            least_rtt: INITIAL_RTT,
            forgets_least: true,
        }
    }
}

impl Westwood {
    /// Closes the sample when a round trip has passed. Linux: `westwood_update_window`.
    fn update_sample(&mut self, ack: &Acknowledgement) {
        let now = tick(ack.now);
        let Some(start) = self.sample_start else {
            self.sample_start = Some(now);
            self.first_unacknowledged = ack.first_unacknowledged;
            return;
        };
        let passed = now - start;
        if passed > self.rtt.max(SHORTEST_SAMPLE) {
            self.bandwidth.add(self.sample_bytes / passed);
            self.sample_bytes = 0;
            self.sample_start = Some(now);
        }
    }

    /// Bytes that this acknowledgement stands for: a duplicate for one packet, and a later one for so much less. Linux:
    /// `westwood_acked_count`.
    fn count(&mut self, first_unacknowledged: u64, packet: u64) -> u64 {
        let acked = first_unacknowledged - self.first_unacknowledged;
        self.first_unacknowledged = first_unacknowledged;
        if acked == 0 {
            self.accounted += packet;
            return packet;
        }
        if acked <= packet {
            return acked;
        }
        if self.accounted >= acked {
            self.accounted -= acked;
            return packet;
        }
        acked - std::mem::take(&mut self.accounted)
    }

    /// Bandwidth times least delay, in packets. Linux: `tcp_westwood_bw_rttmin`.
    fn needed_window(&self, window: &Window) -> u32 {
        let packets = self.bandwidth.second * self.least_rtt / u64::from(window.maximum_segment.max(1));
        u32::try_from(packets).unwrap_or(u32::MAX).max(MINIMUM_THRESHOLD)
    }
}

impl CongestionControl for Westwood {
    fn name(&self) -> &'static str {
        "westwood"
    }

    fn handle_acknowledgement(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.rtt = ticks_in(rtt);
        }
        self.update_sample(ack);
        self.sample_bytes += self.count(ack.first_unacknowledged, u64::from(window.maximum_segment));
        self.least_rtt = if self.forgets_least { self.rtt } else { self.least_rtt.min(self.rtt) };
        self.forgets_least = false;
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        reno::grow(window, ack);
    }

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        reno::reduced_threshold(window)
    }

    fn handle_event(&mut self, window: &mut Window, event: Event) {
        match event {
            Event::ReductionComplete { .. } => {
                window.ssthresh = self.needed_window(window);
                window.cwnd = window.ssthresh;
            }
            Event::Timeout { .. } => {
                window.ssthresh = self.needed_window(window);
                self.forgets_least = true;
            }
            Event::TransmitStart { .. } | Event::WindowRestart => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filter_has_the_step_response_of_two_stages() {
        // With q = 7/8 per stage, the answer to a step from 0 to 1 after n samples is 1 - q^n - n (1 - q) q^n.
        let mut filter = BandwidthFilter { first: 0, second: 1 };
        for n in 1..60 {
            filter.add(1_000_000_000);
            let powed = 0.875f64.powi(n);
            let wanted = 1e9 * (1.0 - powed - f64::from(n) * 0.125 * powed);
            assert!((filter.second as f64 - wanted).abs() < 100.0, "{n}: {} for {wanted}", filter.second);
        }
    }

    #[test]
    fn duplicates_are_counted_once() {
        // Three duplicates, then an acknowledgement of all four packets: four packets in all.
        let mut westwood = Westwood { first_unacknowledged: 1, ..Westwood::default() };
        let counts: Vec<_> = [1, 1, 1, 5841].map(|number| westwood.count(number, 1460)).into();
        assert_eq!(counts, [1460, 1460, 1460, 1460]);
        // Delayed acknowledgements count whole.
        assert_eq!(westwood.count(5841 + 2920, 1460), 2920);
    }
}
