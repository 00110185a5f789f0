//! TCP Hybla: a connection of a long round trip, over a satellite say, grows as fast as one of 25 ms.
//!
//! Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks" (International Journal of Satellite
//! Communications and Networking 22, 2004). Linux: `tcp_hybla.c`.

use framewire_units::{Duration, Timestamp};

use super::{Acknowledgement, CongestionControl, MINIMUM_THRESHOLD, State, Window};

/// RTT0, the round trip of the connection that all are to grow as fast as (section 3 of the paper). Linux: `rtt0`.
const REFERENCE: Duration = Duration::from_millis(25);
/// The unit of rho. Linux: `rho_3ls`.
const RHO_UNIT: u64 = 8;
/// The unit of increments of the window. Linux: `hybla_fraction` and `snd_cwnd_cents`.
const INCREMENT_UNIT: u64 = 128;
/// 2^(i/8) in `INCREMENT_UNIT`, rounded down. Linux: `fractions`.
const POWERS: [u64; RHO_UNIT as usize] = [128, 139, 152, 165, 181, 197, 215, 234];
/// Larger powers of two are not taken. Linux: `min(ca->rho, 16U)`.
const LARGEST_POWER: u64 = 16;
/// The largest window in packets. Linux: `snd_cwnd_clamp`.
const LARGEST_WINDOW: u32 = 65_535;

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Hybla {
    /// RTT/RTT0 in `RHO_UNIT`, at least 1.
    rho: u64,
    /// The least smoothed round trip so far.
    least: Duration,
    /// What of the increments is no whole packet yet, in `INCREMENT_UNIT`.
    remainder: u64,
    state: State,
}

impl Default for Hybla {
    fn default() -> Self {
        Self { rho: RHO_UNIT, least: Duration::MAX, remainder: 0, state: State::Open }
    }
}

impl Hybla {
    fn measure(&mut self, srtt: Duration) {
        self.least = srtt;
        let rho = srtt.as_micros() * u128::from(RHO_UNIT) / REFERENCE.as_micros();
        self.rho = u64::try_from(rho).unwrap_or(u64::MAX).clamp(RHO_UNIT, u64::from(u32::MAX));
    }

    /// By how much an acknowledgement opens the window, in `INCREMENT_UNIT`: 2^rho - 1 in slow start, else rho^2 over the
    /// window (equation 9 of the paper).
    fn increment(&self, window: &Window) -> u64 {
        if window.in_slow_start() {
            let whole = 1 << (self.rho / RHO_UNIT).min(LARGEST_POWER);
            return whole * POWERS[(self.rho % RHO_UNIT) as usize] - INCREMENT_UNIT;
        }
        self.rho * self.rho * (INCREMENT_UNIT / (RHO_UNIT * RHO_UNIT)) / u64::from(window.cwnd.max(1))
    }
}

impl CongestionControl for Hybla {
    fn name(&self) -> &'static str {
        "hybla"
    }

    /// The first window is rho packets, as in Linux.
    fn start(&mut self, window: &mut Window, srtt: Duration, _now: Timestamp) {
        self.measure(srtt);
        window.cwnd = u32::try_from(self.rho / RHO_UNIT).unwrap_or(LARGEST_WINDOW).min(LARGEST_WINDOW);
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if ack.srtt < self.least && ack.srtt > Duration::ZERO {
            self.measure(ack.srtt);
        }
        if !ack.is_cwnd_limited {
            return;
        }
        if self.state != State::Open {
            let left =
                if window.in_slow_start() { window.slow_start(ack.acked_or_sacked) } else { ack.acked_or_sacked };
            window.avoid_congestion(window.cwnd, left);
            return;
        }
        let (threshold, was_in_slow_start) = (window.ssthresh, window.in_slow_start());
        let increment = self.increment(window);
        self.remainder += increment;
        let steps = self.remainder / INCREMENT_UNIT;
        self.remainder %= INCREMENT_UNIT;
        window.cwnd = window.cwnd.saturating_add(u32::try_from(steps).unwrap_or(u32::MAX)).min(LARGEST_WINDOW);
        // Where rho^2 over the window is less than the unit: a packet per window, as Reno.
        window.cwnd_count = if steps > 0 || increment > 0 { 0 } else { window.cwnd_count + 1 };
        if window.cwnd_count >= window.cwnd {
            window.cwnd = (window.cwnd + 1).min(LARGEST_WINDOW);
            window.cwnd_count = 0;
        }
        if was_in_slow_start {
            window.cwnd = window.cwnd.min(threshold);
        }
    }

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        (window.cwnd / 2).max(MINIMUM_THRESHOLD)
    }

    fn handle_state(&mut self, _window: &mut Window, state: State, _now: Timestamp) {
        self.state = state;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::acknowledgement;
    use super::*;

    /// Windows at the end of so many rounds of slow start.
    fn slow_start(rtt: Duration, rounds: usize) -> Vec<u32> {
        let mut window = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
            prior_cwnd: 0,
            flight_size: 0,
            maximum_segment: 1460,
        };
        let mut hybla = Hybla::default();
        hybla.start(&mut window, rtt, Timestamp::ZERO);
        let mut round = |window: &mut Window| {
            (0..window.cwnd).for_each(|_| hybla.grow(window, &acknowledgement(Timestamp::ZERO, rtt, 0, 1460)));
            window.cwnd
        };
        std::iter::repeat_with(|| round(&mut window)).take(rounds).collect()
    }

    #[test]
    fn slow_start_doubles_in_25_ms_whatever_the_round_trip() {
        // rho 2^(t/RTT0) (equation 8 of the paper) after whole rounds: t = n RTT.
        assert_eq!(slow_start(Duration::from_millis(10), 6), [2, 4, 8, 16, 32, 64], "rho is at least 1");
        assert_eq!(slow_start(Duration::from_millis(25), 6), [2, 4, 8, 16, 32, 64]);
        assert_eq!(slow_start(Duration::from_millis(50), 4), [8, 32, 128, 512]);
        assert_eq!(slow_start(Duration::from_millis(100), 3), [64, 1_024, 16_384]);
    }

    #[test]
    fn powers_between_whole_ones_are_those_of_real_numbers() {
        for (index, power) in POWERS.into_iter().enumerate() {
            let exact = 128.0 * libm::pow(2.0, index as f64 / 8.0);
            assert!((0.0..1.0).contains(&(exact - power as f64)), "{index}: {power} for {exact}");
        }
    }

    #[test]
    fn a_window_has_a_bound_and_beyond_the_smallest_increment_grows_as_renos() {
        assert_eq!(slow_start(Duration::from_millis(600), 2), [LARGEST_WINDOW; 2]);
        let mut window =
            Window { cwnd: 1_000, ssthresh: 2, cwnd_count: 0, prior_cwnd: 0, flight_size: 0, maximum_segment: 1460 };
        let mut hybla = Hybla::default();
        let rtt = Duration::from_millis(25);
        (0..999).for_each(|_| hybla.grow(&mut window, &acknowledgement(Timestamp::ZERO, rtt, 0, 1460)));
        assert_eq!(window.cwnd, 1_000);
        hybla.grow(&mut window, &acknowledgement(Timestamp::ZERO, rtt, 0, 1460));
        assert_eq!(window.cwnd, 1_001);
    }
}
