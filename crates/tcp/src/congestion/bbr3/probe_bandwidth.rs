//! ProbeBW: DOWN, CRUISE, REFILL, UP (draft-ietf-ccwg-bbr, "ProbeBW").

use framewire_units::{Duration, Timestamp};

use super::super::{Acknowledgement, Window};
use super::model::{is_inflight_too_high, reduced};
use super::{AckPhase, Bbr3, FullPipe, LEAST_WINDOW, State};
use crate::congestion::bbr1::bandwidth::UNIT;

/// Least time between two probes; up to a second is added at random (PickProbeWait()).
const LEAST_WAIT: Duration = Duration::from_secs(2);
const WAIT_SPREAD_NANOS: f64 = 1e9;
/// Rounds between two probes at most, so that Reno's sawtooth has room (IsRenoCoexistenceProbeTime()).
const MOST_ROUNDS: u32 = 63;
/// BBR.Headroom: the part of the long-term bound that is left to others, 15 %.
const HEADROOM_PERCENT: u32 = 15;
/// Doublings of the slope at most.
const MOST_DOUBLINGS: u32 = 30;

/// The state of probing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// BBR.rounds_since_probe_up.
    pub(super) rounds: u32,
    /// BBR.bw_probe_wait.
    wait: Duration,
    /// BBR.cycle_stamp.
    cycle_start: Timestamp,
    /// BBR.is_bw_probe_sample: what is acknowledged was sent while probing, and no loss was answered yet.
    is_sample: bool,
    /// BBR.prev_probe_too_high, BBR.prev_probe_precautionary.
    was_too_high: bool,
    was_precautionary: bool,
    /// BBR.bw_probe_up_rounds, BBR.bw_probe_up_acked, BBR.probe_up_acked_per_inc.
    up_rounds: u32,
    up_acked: u32,
    acked_per_step: u32,
}

impl Default for Probe {
    fn default() -> Self {
        Self {
            rounds: 0,
            wait: Duration::ZERO,
            cycle_start: Timestamp::ZERO,
            is_sample: false,
            was_too_high: false,
            was_precautionary: false,
            up_rounds: 0,
            up_acked: 0,
            acked_per_step: u32::MAX,
        }
    }
}

impl Bbr3 {
    /// HandleLostPacket(), NoteLoss(), for all that an acknowledgement finds lost.
    pub(super) fn note_losses(&mut self, window: &Window, ack: &Acknowledgement) {
        if ack.newly_lost == 0 {
            return;
        }
        self.model.note_loss(ack.delivered);
        if self.probe.is_sample && ack.rate.interval.is_some() && is_inflight_too_high(ack) {
            self.handle_inflight_too_high(window, ack);
        }
    }

    /// HandleInflightTooHigh().
    fn handle_inflight_too_high(&mut self, window: &Window, ack: &Acknowledgement) {
        self.probe.was_too_high = true;
        self.probe.is_sample = false;
        if !ack.rate.is_app_limited {
            let target = self.target_inflight(window.cwnd);
            self.model.inflight_longterm = Some(ack.rate.in_flight_at_send.max(reduced(target)));
        }
        if self.state == State::ProbeBandwidthUp {
            self.undo.state = Some(State::ProbeBandwidthUp);
            self.start_down(ack.now);
        }
    }

    /// StartProbeBW_DOWN(), with PickProbeWait().
    pub(super) fn start_down(&mut self, now: Timestamp) {
        self.model.reset_signals();
        self.probe.acked_per_step = u32::MAX;
        self.probe.rounds = self.random.next_inclusive(1);
        self.probe.wait = LEAST_WAIT + Duration::from_nanos((self.random.next_f64() * WAIT_SPREAD_NANOS) as u64);
        self.probe.cycle_start = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.model.start_round();
        self.state = State::ProbeBandwidthDown;
    }

    /// StartProbeBW_CRUISE().
    pub(super) fn start_cruise(&mut self) {
        self.state = State::ProbeBandwidthCruise;
    }

    /// StartProbeBW_REFILL().
    pub(super) fn start_refill(&mut self) {
        self.model.reset_shortterm();
        self.probe.up_rounds = 0;
        self.probe.up_acked = 0;
        self.probe.was_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.model.start_round();
        self.state = State::ProbeBandwidthRefill;
    }

    /// StartProbeBW_UP().
    fn start_up(&mut self, cwnd: u32) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round();
        self.reset_full_pipe();
        self.state = State::ProbeBandwidthUp;
        self.raise_slope(cwnd);
    }

    fn reset_full_pipe(&mut self) {
        self.full_pipe = FullPipe { baseline: self.model.delivery_rate, ..FullPipe::default() };
    }

    /// UpdateProbeBWCyclePhase().
    pub(super) fn update_probe_bandwidth(&mut self, window: &Window, ack: &Acknowledgement) {
        if !self.has_filled || self.adapt_longterm(window, ack) {
            return;
        }
        match self.state {
            State::ProbeBandwidthDown => {
                if !self.probe_when_due(window.cwnd, ack.now) && self.is_time_to_cruise(ack.in_flight) {
                    self.start_cruise();
                }
            }
            State::ProbeBandwidthCruise => {
                self.probe_when_due(window.cwnd, ack.now);
            }
            State::ProbeBandwidthRefill => {
                if self.model.is_round_start {
                    self.probe.is_sample = true;
                    self.start_up(window.cwnd);
                }
            }
            State::ProbeBandwidthUp => {
                if self.is_time_to_go_down(window, ack) {
                    self.probe.was_too_high = false;
                    self.start_down(ack.now);
                }
            }
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// AdaptLongTermModel(); true where it decided on the next state.
    fn adapt_longterm(&mut self, window: &Window, ack: &Acknowledgement) -> bool {
        let is_round_start = self.model.is_round_start;
        if self.ack_phase == AckPhase::ProbeStarting && is_round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && is_round_start {
            self.probe.is_sample = false;
            self.ack_phase = AckPhase::Initial;
            let is_probing = self.state.is_probe_bandwidth();
            if is_probing && !ack.rate.is_app_limited {
                self.model.advance_cycle();
            }
            // A careful probe went well: the next need not be.
            if is_probing && self.probe.was_precautionary && !self.probe.was_too_high {
                self.start_refill();
                return true;
            }
        }
        if ack.rate.interval.is_some() && !is_inflight_too_high(ack) {
            self.raise_longterm(window, ack);
        }
        false
    }

    fn raise_longterm(&mut self, window: &Window, ack: &Acknowledgement) {
        let Some(longterm) = self.model.inflight_longterm else { return };
        self.model.inflight_longterm = Some(longterm.max(ack.rate.in_flight_at_send));
        if self.state == State::ProbeBandwidthUp {
            self.probe_longterm_upward(window, ack);
        }
    }

    /// ProbeInflightLongtermUpward(): by one packet in the first round, by two in the second, and so on.
    fn probe_longterm_upward(&mut self, window: &Window, ack: &Acknowledgement) {
        let Some(longterm) = self.model.inflight_longterm else { return };
        if !ack.is_cwnd_limited || window.cwnd < longterm {
            return;
        }
        let acked = self.probe.up_acked.saturating_add(ack.acked_or_sacked);
        let steps = acked / self.probe.acked_per_step;
        self.probe.up_acked = acked - steps * self.probe.acked_per_step;
        self.model.inflight_longterm = Some(longterm.saturating_add(steps));
        if self.model.is_round_start {
            self.raise_slope(window.cwnd);
        }
    }

    /// RaiseInflightLongtermSlope().
    fn raise_slope(&mut self, cwnd: u32) {
        let growth = 1_u32 << self.probe.up_rounds;
        self.probe.up_rounds = (self.probe.up_rounds + 1).min(MOST_DOUBLINGS);
        self.probe.acked_per_step = (cwnd / growth).max(1);
    }

    /// IsTimeToProbeBW().
    fn probe_when_due(&mut self, cwnd: u32, now: Timestamp) -> bool {
        let rounds = self.target_inflight(cwnd).min(MOST_ROUNDS);
        let is_due = now > self.probe.cycle_start + self.probe.wait || self.probe.rounds >= rounds;
        if is_due {
            self.start_refill();
        }
        is_due
    }

    /// IsTimeToCruise().
    fn is_time_to_cruise(&self, in_flight: u32) -> bool {
        self.inflight_with_headroom().is_none_or(|bound| in_flight <= bound) && in_flight <= self.inflight(UNIT)
    }

    /// IsTimeToGoDown().
    fn is_time_to_go_down(&mut self, window: &Window, ack: &Acknowledgement) -> bool {
        let longterm = self.model.inflight_longterm.unwrap_or(u32::MAX);
        if self.probe.was_too_high && ack.in_flight >= longterm {
            self.probe.was_precautionary = true;
            return true;
        }
        if ack.is_cwnd_limited && window.cwnd >= longterm {
            self.reset_full_pipe();
            return false;
        }
        self.full_pipe.is_full
    }

    /// InflightWithHeadroom(); `None` without a bound.
    pub(super) fn inflight_with_headroom(&self) -> Option<u32> {
        let longterm = self.model.inflight_longterm?;
        let headroom = (u64::from(longterm) * u64::from(HEADROOM_PERCENT) / 100).max(1) as u32;
        Some(longterm.saturating_sub(headroom).max(LEAST_WINDOW))
    }

    /// TargetInflight().
    fn target_inflight(&self, cwnd: u32) -> u32 {
        self.bandwidth_delay_product(UNIT).min(cwnd)
    }
}
