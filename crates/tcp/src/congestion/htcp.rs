//! H-TCP: grows the faster the longer the last loss is past, and backs off by what empties the queue.
//!
//! Shorten and Leith, "H-TCP: TCP for high-speed and long-distance networks" (PFLDnet 2004). Linux: `tcp_htcp.c`, whose
//! clock is the coarse one.

use framewire_units::Timestamp;

use super::ticks::{TICKS_PER_SECOND, tick, ticks_in};
use super::{Acknowledgement, CongestionControl, MINIMUM_THRESHOLD, State, Window};

/// The unit of alpha and beta. Linux: `ALPHA_BASE`.
const UNIT: u64 = 128;
/// Least factor of a reduction, 0.5. Linux: `BETA_MIN`.
const BETA_LEAST: u64 = UNIT / 2;
/// Largest factor of a reduction, 0.8. Linux: `BETA_MAX`.
const BETA_MOST: u64 = 102;
/// Delta_L: for this long after a loss it is Reno.
const RENO_TIME: u64 = TICKS_PER_SECOND;
/// The longest delay grows by no more than this per sample: 20 ms.
const LARGEST_JUMP: u64 = TICKS_PER_SECOND / 50;
/// Paths shorter than this take the least factor: 10 ms, rounded up to ticks as Linux does.
const SHORT_PATH: u64 = TICKS_PER_SECOND.div_ceil(100);

/// Bandwidth, in packets per second, between losses.
#[derive(Clone, Copy, Debug, Default)]
struct Bandwidth {
    packets: u64,
    since: u64,
    smoothed: u64,
    most: u64,
    /// The most before the last reduction.
    most_before: u64,
}

/// What a reduction changed, to take it back.
#[derive(Clone, Copy, Debug)]
struct Undo {
    last_reduction: u64,
    most: u64,
    most_bandwidth: u64,
}

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Htcp {
    alpha: u64,
    beta: u64,
    /// False until one reduction came with a steady bandwidth. Linux: `modeswitch`.
    is_adaptive: bool,
    /// Packets acknowledged by the present acknowledgement.
    acked: u32,
    /// Least delay in ticks; 0 before the first.
    least: u64,
    /// Longest delay in ticks, fading.
    most: u64,
    /// When the last reduction was over, in ticks; `None` before the first acknowledgement.
    last_reduction: Option<u64>,
    undo: Option<Undo>,
    bandwidth: Bandwidth,
}

impl Default for Htcp {
    fn default() -> Self {
        Self {
            alpha: UNIT,
            beta: BETA_LEAST,
            is_adaptive: false,
            acked: 1,
            least: 0,
            most: 0,
            last_reduction: None,
            undo: None,
            bandwidth: Bandwidth::default(),
        }
    }
}

impl Htcp {
    /// Ticks since the last reduction: Delta.
    fn delta(&self, now: u64) -> u64 {
        self.last_reduction.map_or(0, |last| now.saturating_sub(last))
    }

    fn measure_delay(&mut self, rtt: u64, state: State) {
        if self.least == 0 || rtt < self.least {
            self.least = rtt;
        }
        if state == State::Open {
            self.most = self.most.max(self.least);
            if rtt > self.most && rtt <= self.most + LARGEST_JUMP {
                self.most = rtt;
            }
        }
    }

    /// Linux: `measure_achieved_throughput`.
    fn measure_bandwidth(&mut self, cwnd: u32, acked: u32, state: State, now: u64) {
        if !matches!(state, State::Open | State::Disorder) {
            self.bandwidth.packets = 0;
            self.bandwidth.since = now;
            return;
        }
        self.bandwidth.packets += u64::from(acked);
        let passed = now.saturating_sub(self.bandwidth.since);
        let whole_window = u64::from(cwnd).saturating_sub((self.alpha / UNIT).max(1));
        if self.bandwidth.packets < whole_window || self.least == 0 || passed < self.least {
            return;
        }
        let sample = self.bandwidth.packets * TICKS_PER_SECOND / passed;
        if self.delta(now) / self.least <= 3 {
            // Just after a reduction.
            self.bandwidth.smoothed = sample;
            self.bandwidth.most = sample;
        } else {
            self.bandwidth.smoothed = (3 * self.bandwidth.smoothed + sample) / 4;
            self.bandwidth.most = self.bandwidth.most.max(self.bandwidth.smoothed);
        }
        self.bandwidth.packets = 0;
        self.bandwidth.since = now;
    }

    /// alpha(Delta) = 1 + 10 (Delta - Delta_L) + 0.25 (Delta - Delta_L)^2, scaled by the round-trip time over 100 ms and by
    /// 2 (1 - beta). Linux: `htcp_alpha_update`.
    fn update_alpha(&mut self, now: u64) {
        let beyond = self.delta(now).saturating_sub(RENO_TIME);
        let mut factor = 1 + (10 * beyond + (beyond / 2) * (beyond / 2) / TICKS_PER_SECOND) / TICKS_PER_SECOND;
        if self.least > 0 {
            // 100 ms over the round-trip time, in eighths, from a half to ten.
            let scale = (TICKS_PER_SECOND * 8 / (10 * self.least)).clamp(4, 80);
            factor = (factor * 8 / scale).max(1);
        }
        self.alpha = 2 * factor * (UNIT - self.beta);
    }

    /// The part of the window that empties the queue, while the bandwidth is steady. Linux: `htcp_beta_update`.
    fn update_beta(&mut self) {
        let (before, most) = (self.bandwidth.most_before, self.bandwidth.most);
        self.bandwidth.most_before = most;
        self.beta = BETA_LEAST;
        if !(4 * before..=6 * before).contains(&(5 * most)) {
            self.is_adaptive = false;
        } else if self.is_adaptive && self.least > SHORT_PATH && self.most > 0 {
            self.beta = (self.least * UNIT / self.most).clamp(BETA_LEAST, BETA_MOST);
        } else {
            self.is_adaptive = true;
        }
    }
}

impl CongestionControl for Htcp {
    fn name(&self) -> &'static str {
        "htcp"
    }

    fn handle_acknowledgement(&mut self, window: &mut Window, ack: &Acknowledgement) {
        let now = tick(ack.now);
        self.last_reduction.get_or_insert(now);
        if ack.state == State::Open {
            self.acked = ack.acked;
        }
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.measure_delay(ticks_in(rtt), ack.state);
        }
        self.measure_bandwidth(window.cwnd, ack.acked, ack.state, now);
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if !ack.is_cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.acked_or_sacked);
            return;
        }
        if u64::from(window.cwnd_count) * self.alpha / UNIT >= u64::from(window.cwnd) {
            window.cwnd += 1;
            window.cwnd_count = 0;
            self.update_alpha(tick(ack.now));
        } else {
            window.cwnd_count += self.acked;
        }
        self.acked = 1;
    }

    fn reduced_threshold(&mut self, window: &Window, now: Timestamp) -> u32 {
        self.update_beta();
        self.update_alpha(tick(now));
        if self.least > 0 && self.most > self.least {
            // Fades, for routes change.
            self.most = self.least + (self.most - self.least) * 95 / 100;
        }
        u32::try_from(u64::from(window.cwnd) * self.beta / UNIT).unwrap_or(u32::MAX).max(MINIMUM_THRESHOLD)
    }

    fn undo(&mut self, window: &Window) -> u32 {
        if let Some(undo) = self.undo.take() {
            self.last_reduction = Some(undo.last_reduction);
            self.most = undo.most;
            self.bandwidth.most_before = undo.most_bandwidth;
        }
        window.cwnd.max(window.prior_cwnd)
    }

    fn handle_state(&mut self, _window: &mut Window, state: State, now: Timestamp) {
        let now = tick(now);
        match state {
            State::Open => {
                if self.undo.take().is_some() {
                    self.last_reduction = Some(now);
                }
            }
            State::Reduced | State::Recovery | State::Loss => {
                self.undo = Some(Undo {
                    last_reduction: self.last_reduction.unwrap_or(now),
                    most: self.most,
                    most_bandwidth: self.bandwidth.most_before,
                });
                self.last_reduction = Some(now);
            }
            State::Disorder => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alpha_follows_the_polynomial_of_the_paper() {
        for seconds in 0..120u64 {
            // At 100 ms the round trip does not count; 2 (1 - 0.5) = 1.
            let mut htcp = Htcp { least: TICKS_PER_SECOND / 10, last_reduction: Some(0), ..Htcp::default() };
            htcp.update_alpha(seconds * TICKS_PER_SECOND);
            let beyond = seconds.saturating_sub(1) as f64;
            let wanted = 1.0 + 10.0 * beyond + 0.25 * beyond * beyond;
            let found = htcp.alpha as f64 / UNIT as f64;
            assert!(found <= wanted && found > wanted - 1.01, "{seconds} s: {found} for {wanted}");
        }
    }

    #[test]
    fn alpha_scales_with_the_round_trip_and_with_beta() {
        // (round trip in ticks, beta, alpha after 11 s of 126)
        for (least, beta, wanted) in [(25, 64, 126), (50, 64, 252), (10, 64, 50), (250, 64, 252), (25, 102, 51)] {
            let mut htcp = Htcp { least, beta, last_reduction: Some(0), ..Htcp::default() };
            htcp.update_alpha(11 * TICKS_PER_SECOND);
            assert_eq!(htcp.alpha / UNIT, wanted, "{least} ticks, beta {beta}");
        }
    }

    #[test]
    fn beta_empties_the_queue_only_while_the_bandwidth_is_steady() {
        let mut htcp = Htcp { least: 25, most: 40, ..Htcp::default() };
        let mut betas = Vec::new();
        for most in [1000, 1000, 1100, 1400, 1400, 1400] {
            htcp.bandwidth.most = most;
            htcp.update_beta();
            betas.push(htcp.beta);
        }
        // 25/40 of 128 is 80. The first finds no bandwidth before it, the second switches to adapting, the fourth sees
        // 27 % more bandwidth, the fifth switches again.
        assert_eq!(betas, [64, 64, 80, 64, 64, 80]);
    }
}
