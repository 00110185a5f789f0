//! The model of the path and the mode that it leads to, in the order of Linux' `bbr_update_model`.

use framewire_units::{Duration, Timestamp};

use super::bandwidth::{Bandwidth, UNIT};
use super::long_term::{Sample, Verdict};
use super::{Bbr1, HIGH_GAIN, LEAST_WINDOW, Mode, PHASES};
use crate::congestion::ticks::tick;
use crate::congestion::{Acknowledgement, Window};

/// Rounds over which the largest delivery rate counts. Linux: `bbr_bw_rtts`.
const BANDWIDTH_ROUNDS: u64 = PHASES as u64 + 2;
/// For how long the least round-trip time counts. Linux: `bbr_min_rtt_win_sec`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Least time in PROBE_RTT. Linux: `bbr_probe_rtt_mode_ms`.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Its inverse drains in one round what it queued in one. Linux: `bbr_drain_gain`.
const DRAIN_GAIN: u64 = UNIT * 1_000 / 2_885;
/// Room for delayed and stretched acknowledgements. Linux: `bbr_cwnd_gain`.
const CWND_GAIN: u64 = UNIT * 2;
/// Probe, drain, cruise. Linux: `bbr_pacing_gain`.
const CYCLE: [u64; PHASES] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The first phase is any but the second. Linux: `bbr_cycle_rand`.
const FIRST_PHASES: u32 = 7;
/// A rate that grew by this keeps STARTUP going. Linux: `bbr_full_bw_thresh`.
const GROWTH: u64 = UNIT * 5 / 4;
/// Rounds without such growth that end it. Linux: `bbr_full_bw_cnt`.
const FLAT_ROUNDS: u32 = 3;

impl Bbr1 {
    /// Linux: `bbr_update_model`.
    pub(super) fn update_model(&mut self, window: &mut Window, ack: &Acknowledgement) {
        self.update_bandwidth(ack);
        self.update_aggregation(window, ack);
        self.update_phase(ack);
        self.check_full(ack);
        self.check_drain(window, ack);
        self.update_min_rtt(window, ack);
        self.update_gains();
    }

    fn update_bandwidth(&mut self, ack: &Acknowledgement) {
        self.is_round_start = false;
        let Some(interval) = ack.rate.interval.filter(|interval| !interval.is_zero()) else { return };
        if ack.rate.prior_delivered >= self.round_end {
            self.round_end = ack.delivered;
            self.round += 1;
            self.is_round_start = true;
            self.is_conserving = false;
        }
        self.sample_long_term(ack.newly_lost > 0, ack.rate.is_app_limited);
        let bandwidth = Bandwidth::of(u64::from(ack.rate.delivered), interval);
        // What the application limited counts for the path only where it is more than was known.
        if !ack.rate.is_app_limited || bandwidth >= self.maximum_bandwidth() {
            self.maximum.update(BANDWIDTH_ROUNDS, self.round, bandwidth.0);
        }
    }

    pub(super) fn sample_long_term(&mut self, has_losses: bool, is_app_limited: bool) {
        let sample = Sample {
            has_losses,
            is_app_limited,
            is_round_start: self.is_round_start,
            is_probing: matches!(self.mode, Mode::ProbeBandwidth { .. }),
            packet: self.packet,
        };
        match self.long_term.sample(&sample, self.counts) {
            Verdict::Nothing => {}
            Verdict::Policed => self.pacing_gain = UNIT,
            Verdict::ProbeAgain => self.enter_probe_bandwidth(),
        }
    }

    fn update_aggregation(&mut self, window: &Window, ack: &Acknowledgement) {
        if ack.acked_or_sacked == 0 || ack.rate.interval.is_none_or(|interval| interval.is_zero()) {
            return;
        }
        let (time, bandwidth) = (self.counts.delivered_time, self.bandwidth());
        self.aggregation.update(time, ack.acked_or_sacked, self.is_round_start, bandwidth, window.cwnd);
    }

    fn update_phase(&mut self, ack: &Acknowledgement) {
        if let Mode::ProbeBandwidth { phase } = self.mode
            && self.is_phase_over(ack)
        {
            self.enter_phase((phase + 1) % PHASES);
        }
    }

    fn is_phase_over(&self, ack: &Acknowledgement) -> bool {
        let elapsed = self.counts.delivered_time.saturating_since(self.phase_start);
        let is_full_length = self.min_rtt.is_some_and(|min_rtt| elapsed > min_rtt);
        if self.pacing_gain == UNIT {
            return is_full_length;
        }
        let in_flight = self.in_network(ack.now, ack.prior_in_flight);
        let bandwidth = self.maximum_bandwidth();
        if self.pacing_gain > UNIT {
            // A short path may need longer to be filled; one that loses packets has no room.
            return is_full_length && (ack.newly_lost > 0 || in_flight >= self.target(bandwidth, self.pacing_gain));
        }
        is_full_length || in_flight <= self.target(bandwidth, UNIT)
    }

    fn enter_phase(&mut self, phase: usize) {
        self.mode = Mode::ProbeBandwidth { phase };
        self.phase_start = self.counts.delivered_time;
    }

    pub(super) fn enter_probe_bandwidth(&mut self) {
        let before = PHASES - 1 - self.random.next_inclusive(FIRST_PHASES - 1) as usize;
        self.enter_phase((before + 1) % PHASES);
    }

    fn check_full(&mut self, ack: &Acknowledgement) {
        if self.is_full || !self.is_round_start || ack.rate.is_app_limited {
            return;
        }
        if self.maximum_bandwidth() >= self.full_bandwidth.times(GROWTH) {
            self.full_bandwidth = self.maximum_bandwidth();
            self.flat_rounds = 0;
            return;
        }
        self.flat_rounds += 1;
        self.is_full = self.flat_rounds >= FLAT_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.target(self.maximum_bandwidth(), UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network(ack.now, ack.in_flight) <= self.target(self.maximum_bandwidth(), UNIT)
        {
            self.enter_probe_bandwidth();
        }
    }

    fn update_min_rtt(&mut self, window: &mut Window, ack: &Acknowledgement) {
        // In ticks, as there: a flow of frames sees its least delay at the same time of each frame, and 10 s later again;
        // the acknowledgement that expires it is a later one of that frame, which is none after idling.
        let has_expired = tick(ack.now) > tick(self.min_rtt_time + MIN_RTT_WINDOW);
        // Linux takes an equal sample for a new one, too. Between hosts no two are equal; without their noise all samples
        // of an empty path would be, and PROBE_RTT would never come.
        if let Some(rtt) = ack.rtt
            && (has_expired || self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_time = ack.now;
        }
        if has_expired && !self.is_restarting && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.probe_rtt_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(window, ack);
        }
        if ack.rate.delivered > 0 {
            self.is_restarting = false;
        }
    }

    fn probe_rtt(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if self.probe_rtt_end.is_some() {
            self.probe_rtt_round_done |= self.is_round_start;
            if self.probe_rtt_round_done {
                self.end_probe_rtt(window, ack.now);
            }
        } else if ack.in_flight <= LEAST_WINDOW {
            self.probe_rtt_end = Some(ack.now + PROBE_RTT_TIME);
            self.probe_rtt_round_done = false;
            self.round_end = ack.delivered;
        }
    }

    /// Linux: `bbr_check_probe_rtt_done`.
    pub(super) fn end_probe_rtt(&mut self, window: &mut Window, now: Timestamp) {
        if self.probe_rtt_end.is_none_or(|end| tick(now) <= tick(end)) {
            return;
        }
        self.min_rtt_time = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.is_full {
            self.enter_probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth { .. } if self.long_term.bandwidth().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBandwidth { phase } => (CYCLE[phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}
