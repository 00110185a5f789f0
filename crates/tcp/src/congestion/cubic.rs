//! CUBIC (RFC 9438) in the integer arithmetic of Linux (`tcp_cubic.c` of Linux 6.18).
//!
//! The window follows W(t) = C (t - K)^3 + Wmax (RFC 9438, equation 1), never slower than Reno would (section 4.3).
//! Where Linux differs from the RFC, Linux is followed; docs/congestion.md lists where.

use framewire_units::{Duration, Timestamp};

use super::hystart::HyStart;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::ticks::{TICKS_PER_SECOND, tick, ticks_in};
use super::{Acknowledgement, CongestionControl, Event, MINIMUM_THRESHOLD, State, Window};

/// beta_cubic in 1/1024 (RFC 9438, section 4.6: 0.7). Linux: `beta`.
const BETA: u64 = 717;
/// The unit of beta. Linux: `BICTCP_BETA_SCALE`.
const BETA_UNIT: u64 = 1024;
/// C in packets per second cubed, in 1/1024 (RFC 9438, section 5: 0.4). Linux: ten times `bic_scale`, 41.
const C: u64 = 410;
/// Time is counted in 1/1024 s. Linux: `BICTCP_HZ`.
const TIME_BITS: u32 = 10;
/// Packets acknowledged per packet that Reno's window of equal throughput grows, in eighths of the window: 1/alpha_cubic
/// = (1 + beta) / (3 (1 - beta)) (RFC 9438, section 4.3). Linux: `beta_scale`.
const RENO_EIGHTHS: u64 = 8 * (BETA_UNIT + BETA) / 3 / (BETA_UNIT - BETA);
/// Packets acknowledged per step while no loss has given a maximum: 5 % per round trip. Linux: `bictcp_update`.
const STEP_WITHOUT_MAXIMUM: u32 = 20;
/// At most half a packet per packet acknowledged. Linux: `bictcp_update`.
const FASTEST_STEP: u32 = 2;

/// The time from one reduction to the next (RFC 9438, section 4.1.2: the congestion-avoidance stage).
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// t = 0, in ticks (t_epoch).
    start: u64,
    /// K in 1/1024 s.
    k: u64,
    /// The plateau of the curve, in packets (Wmax).
    origin: u64,
    /// The window that Reno would have (W_est).
    reno_window: u32,
}

#[derive(Clone, Debug)]
enum SlowStart {
    HyStart(HyStart),
    HyStartPlusPlus(HyStartPlusPlus),
}

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Cubic {
    epoch: Option<Epoch>,
    /// The window at the last reduction, less what fast convergence gives up; 0 before the first (Wmax).
    last_maximum: u32,
    least_delay: Option<Duration>,
    /// Packets acknowledged per packet that the window grows.
    step: u32,
    /// For which window and in which tick the step was computed.
    computed: Option<(u32, u64)>,
    /// Packets acknowledged since Reno's window last grew.
    acked: u64,
    slow_start: SlowStart,
}

impl Cubic {
    /// As Linux has it.
    pub(super) fn with_hystart() -> Self {
        Self::new(SlowStart::HyStart(HyStart::new()))
    }

    /// With the slow start of RFC 9406.
    pub(super) fn with_hystart_plus_plus() -> Self {
        Self::new(SlowStart::HyStartPlusPlus(HyStartPlusPlus::new()))
    }

    fn new(slow_start: SlowStart) -> Self {
        Self { epoch: None, last_maximum: 0, least_delay: None, step: 0, computed: None, acked: 0, slow_start }
    }

    /// Computes the step for a window of `cwnd`. Linux: `bictcp_update`.
    fn update(&mut self, cwnd: u32, acked: u32, now: Timestamp) {
        self.acked += u64::from(acked);
        let now = tick(now);
        let unchanged = |at: u64| now - at <= TICKS_PER_SECOND / 32;
        if self.computed.is_some_and(|(window, at)| window == cwnd && unchanged(at)) {
            return;
        }
        // The curve is computed at most once per tick.
        let is_fresh = self.epoch.is_some() && self.computed.is_some_and(|(_, at)| at == now);
        if !is_fresh {
            self.computed = Some((cwnd, now));
            let epoch = match self.epoch {
                Some(epoch) => epoch,
                None => self.begin_epoch(cwnd, acked, now),
            };
            self.step = self.step_on_curve(&epoch, cwnd, now);
        }
        self.step = self.step.min(self.step_like_reno(cwnd)).max(FASTEST_STEP);
    }

    fn begin_epoch(&mut self, cwnd: u32, acked: u32, now: u64) -> Epoch {
        self.acked = u64::from(acked);
        let deficit = u64::from(self.last_maximum.saturating_sub(cwnd));
        let epoch = Epoch {
            start: now,
            // K = cbrt((Wmax - cwnd) / C) (RFC 9438, equation 2).
            k: cube_root((1 << (10 + 3 * TIME_BITS)) / C * deficit),
            origin: u64::from(self.last_maximum.max(cwnd)),
            reno_window: cwnd,
        };
        self.epoch = Some(epoch);
        epoch
    }

    /// Packets acknowledged per step to be on the curve one least round-trip time from now (RFC 9438, section 4.2).
    fn step_on_curve(&self, epoch: &Epoch, cwnd: u32, now: u64) -> u32 {
        let ticks = now.saturating_sub(epoch.start) + ticks_in(self.least_delay.unwrap_or_default());
        let t = (ticks << TIME_BITS) / TICKS_PER_SECOND;
        let target = curve(epoch, t);
        let step = match target.saturating_sub(u64::from(cwnd)) {
            // On the plateau or above the curve: next to no growth.
            0 => cwnd.saturating_mul(100),
            missing => u32::try_from(u64::from(cwnd) / missing).unwrap_or(u32::MAX),
        };
        if self.last_maximum == 0 { step.min(STEP_WITHOUT_MAXIMUM) } else { step }
    }

    /// Packets acknowledged per step to keep up with Reno (RFC 9438, section 4.3).
    fn step_like_reno(&mut self, cwnd: u32) -> u32 {
        let Some(epoch) = &mut self.epoch else { return u32::MAX };
        let per_packet = (u64::from(cwnd) * RENO_EIGHTHS / 8).max(1);
        let steps = self.acked.saturating_sub(1) / per_packet;
        self.acked -= steps * per_packet;
        epoch.reno_window = epoch.reno_window.saturating_add(u32::try_from(steps).unwrap_or(u32::MAX));
        match epoch.reno_window.saturating_sub(cwnd) {
            0 => u32::MAX,
            missing => cwnd / missing,
        }
    }

    fn finds_exit(&mut self, window: &Window, ack: &Acknowledgement, rtt: Duration, least: Duration) -> bool {
        match &mut self.slow_start {
            SlowStart::HyStart(hystart) => hystart.finds_exit(window, ack, rtt, least),
            SlowStart::HyStartPlusPlus(hystart) => hystart.finds_exit(ack),
        }
    }
}

/// W(t) in packets for `t` in 1/1024 s (RFC 9438, equation 1).
fn curve(epoch: &Epoch, t: u64) -> u64 {
    let offset = u128::from(t.abs_diff(epoch.k));
    let delta = (u128::from(C) * offset * offset * offset) >> (10 + 3 * TIME_BITS);
    let delta = u64::try_from(delta).unwrap_or(u64::MAX);
    if t < epoch.k { epoch.origin.saturating_sub(delta) } else { epoch.origin.saturating_add(delta) }
}

/// The largest whole number whose cube is at most `of`. (Linux takes a table and one Newton step, within 0.2 %.)
fn cube_root(of: u64) -> u64 {
    // 2^64 has the root 2^21.33.
    (0..=21).rev().fold(0, |root, bit| {
        let candidate: u64 = root | (1 << bit);
        if u128::from(candidate).pow(3) <= u128::from(of) { candidate } else { root }
    })
}

impl CongestionControl for Cubic {
    fn name(&self) -> &'static str {
        "cubic"
    }

    /// Linux: `cubictcp_acked`.
    fn handle_acknowledgement(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if let SlowStart::HyStart(hystart) = &mut self.slow_start {
            hystart.note(ack);
        }
        let Some(rtt) = ack.rtt else { return };
        // Delays in the first second after a reduction are those of the queue that caused it.
        if self.epoch.is_some_and(|epoch| tick(ack.now).saturating_sub(epoch.start) < TICKS_PER_SECOND) {
            return;
        }
        let rtt = rtt.max(Duration::from_micros(1));
        let least = self.least_delay.map_or(rtt, |least| least.min(rtt));
        self.least_delay = Some(least);
        if window.in_slow_start() && self.finds_exit(window, ack, rtt, least) {
            window.ssthresh = window.cwnd;
        }
    }

    /// Linux: `cubictcp_cong_avoid`.
    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if !ack.is_cwnd_limited {
            return;
        }
        let mut acked = ack.acked_or_sacked;
        if window.in_slow_start() {
            if let SlowStart::HyStartPlusPlus(hystart) = &mut self.slow_start {
                acked = hystart.step(acked);
            }
            acked = window.slow_start(acked);
            if acked == 0 {
                return;
            }
        }
        self.update(window.cwnd, acked, ack.now);
        window.avoid_congestion(self.step, acked);
    }

    /// Linux: `cubictcp_recalc_ssthresh`.
    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        self.epoch = None;
        if let SlowStart::HyStartPlusPlus(hystart) = &mut self.slow_start {
            hystart.finish();
        }
        let cwnd = u64::from(window.cwnd);
        // Fast convergence (RFC 9438, section 4.7): a flow that lost ground gives up more of it.
        let maximum = if window.cwnd < self.last_maximum { cwnd * (BETA_UNIT + BETA) / (2 * BETA_UNIT) } else { cwnd };
        self.last_maximum = u32::try_from(maximum).unwrap_or(u32::MAX);
        u32::try_from(cwnd * BETA / BETA_UNIT).unwrap_or(u32::MAX).max(MINIMUM_THRESHOLD)
    }

    /// Linux: `cubictcp_state`, which forgets everything after a timeout.
    fn handle_state(&mut self, _window: &mut Window, state: State, now: Timestamp) {
        if state == State::Loss {
            if let SlowStart::HyStart(hystart) = &mut self.slow_start {
                hystart.reset(now);
            }
            *self = Self::new(self.slow_start.clone());
        }
    }

    /// Idle time does not count for the curve (RFC 9438, section 5.8). Linux: `cubictcp_cwnd_event`.
    fn handle_event(&mut self, _window: &mut Window, event: Event) {
        let Event::TransmitStart { now, last_sent: Some(last_sent), .. } = event else { return };
        if let Some(epoch) = &mut self.epoch {
            let now = tick(now);
            epoch.start = (epoch.start + now.saturating_sub(tick(last_sent))).min(now);
        }
    }
}

#[cfg(test)]
mod tests;
