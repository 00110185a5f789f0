//! BBR, version 3 (draft-ietf-ccwg-bbr, "BBR Congestion Control").
//!
//! As version 1 it paces at the bandwidth that it has seen. Beyond that it learns from loss how much the path holds:
//! a long-term bound of what may be in flight, which probing (REFILL, UP) raises slowly and a loss of more than 2 %
//! lowers, and short-term bounds that follow the latest deliveries while it is not probing. Between probes it cruises
//! below the bound, so that others find room.
//!
//! The state machine is here; [`model`] is what is learnt of the path, [`probe_bandwidth`] and [`probe_rtt`] are the
//! experiments, [`control`] turns the model into rate and window. The names are the draft's, and so is the order of
//! things. Two differences: what is lost is taken in with the acknowledgement that finds it, not packet by packet,
//! and what is acknowledged in between stands in for the packet's own flight; and as long as there is no round-trip
//! time, the first sample sets the rate anew, as Linux does.

mod control;
mod model;
mod probe_bandwidth;
mod probe_rtt;

use framewire_units::{Bitrate, Duration, RandomStream, Seed, Timestamp};

use super::bbr1::bandwidth::{Bandwidth, UNIT};
use super::{Acknowledgement, CongestionControl, Control, Event, State as Recovery, Window};
use model::Model;

/// BBR.StartupPacingGain, 4 ln 2: the least gain that doubles the rate each round.
const STARTUP_PACING_GAIN: u64 = UNIT * 277 / 100 + 1;
/// BBR.DrainPacingGain.
const DRAIN_PACING_GAIN: u64 = UNIT / 2;
/// BBR.DefaultCwndGain.
const CWND_GAIN: u64 = 2 * UNIT;
/// Pacing gains of ProbeBW_DOWN and ProbeBW_UP.
const DOWN_PACING_GAIN: u64 = UNIT * 90 / 100;
const UP_PACING_GAIN: u64 = UNIT * 125 / 100;
/// Window gain of ProbeBW_UP.
const UP_CWND_GAIN: u64 = UNIT * 225 / 100;
/// BBR.ProbeRTTCwndGain.
const PROBE_RTT_CWND_GAIN: u64 = UNIT / 2;
/// BBR.MinPipeCwnd: packets that keep acknowledgements coming.
const LEAST_WINDOW: u32 = 4;
/// Growth of the delivery rate that shows that the pipe is not full: 25 %.
const GROWTH: u64 = UNIT * 5 / 4;
/// Rounds without it that show that it is.
const FLAT_ROUNDS: u32 = 3;
/// BBRStartupFullLossCnt: places of loss in a round that end Startup.
const STARTUP_LOSSES: u32 = 6;
/// Rounds after which Drain is given up.
const DRAIN_ROUNDS: u64 = 3;

/// BBR.state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBandwidthDown,
    ProbeBandwidthCruise,
    ProbeBandwidthRefill,
    ProbeBandwidthUp,
    ProbeRtt,
}

impl State {
    /// IsInAProbeBWState().
    fn is_probe_bandwidth(self) -> bool {
        !matches!(self, Self::Startup | Self::Drain | Self::ProbeRtt)
    }

    /// IsProbingBW().
    fn is_accelerating(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBandwidthRefill | Self::ProbeBandwidthUp)
    }

    fn pacing_gain(self) -> u64 {
        match self {
            Self::Startup => STARTUP_PACING_GAIN,
            Self::Drain => DRAIN_PACING_GAIN,
            Self::ProbeBandwidthDown => DOWN_PACING_GAIN,
            Self::ProbeBandwidthUp => UP_PACING_GAIN,
            Self::ProbeBandwidthCruise | Self::ProbeBandwidthRefill | Self::ProbeRtt => UNIT,
        }
    }

    fn cwnd_gain(self) -> u64 {
        match self {
            Self::ProbeBandwidthUp => UP_CWND_GAIN,
            Self::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }
}

/// What the acknowledgements that come now were caused by (BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    /// Nothing in particular.
    Initial,
    /// Refilling the pipe.
    Refilling,
    /// Probing has begun; what comes was sent before.
    ProbeStarting,
    /// Probing.
    ProbeFeedback,
    /// Probing has stopped; what comes may still have been sent while it went on.
    ProbeStopping,
}

/// Finds out whether the delivery rate still grows (BBR.full_bw and its counters).
#[derive(Clone, Copy, Debug, Default)]
struct FullPipe {
    baseline: Bandwidth,
    flat_rounds: u32,
    /// BBR.full_bw_now.
    is_full: bool,
}

/// The state of version 3.
#[derive(Clone, Debug)]
pub(super) struct Bbr3 {
    random: RandomStream,
    state: State,
    ack_phase: AckPhase,
    model: Model,
    full_pipe: FullPipe,
    /// BBR.full_bw_reached.
    has_filled: bool,
    losses_in_round: u32,
    drain_start_round: u64,
    probe: probe_bandwidth::Probe,
    min_rtt: probe_rtt::MinRtt,
    recovery: Recovery,
    prior_cwnd: u32,
    undo: Undo,
    is_restarting: bool,
    has_seen_rtt: bool,
    rate: Bitrate,
    packet: u32,
    initial_window: u32,
}

/// What to go back to when a loss proves to be none (SaveStateUponLoss()).
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    /// The state that the loss ended.
    state: Option<State>,
    bandwidth_shortterm: Option<Bandwidth>,
    inflight_shortterm: Option<u32>,
    inflight_longterm: Option<u32>,
}

impl Bbr3 {
    /// A new connection's. The times between probes are drawn from `seed`.
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            random: seed.stream("bbr3", &[]),
            state: State::Startup,
            ack_phase: AckPhase::Initial,
            model: Model::default(),
            full_pipe: FullPipe::default(),
            has_filled: false,
            losses_in_round: 0,
            drain_start_round: 0,
            probe: probe_bandwidth::Probe::default(),
            min_rtt: probe_rtt::MinRtt::default(),
            recovery: Recovery::Open,
            prior_cwnd: 0,
            undo: Undo::default(),
            is_restarting: false,
            has_seen_rtt: false,
            rate: Bitrate::default(),
            packet: 1,
            initial_window: 10,
        }
    }

    /// UpdateModelAndState().
    fn update_model_and_state(&mut self, window: &mut Window, ack: &Acknowledgement) {
        self.note_losses(window, ack);
        self.model.update_latest(ack);
        if self.model.is_loss_round_start && !self.state.is_accelerating() {
            self.model.adapt_lower_bounds(window.cwnd);
        }
        let high_loss = self.check_startup_losses(ack);
        if self.model.is_loss_round_start {
            self.model.is_loss_in_round = false;
        }
        self.probe.rounds += u32::from(self.model.is_round_start);
        self.model.update_aggregation(ack, self.has_filled, window.cwnd);
        self.check_full(ack);
        self.check_startup_done(high_loss, ack);
        self.check_drain_done(ack);
        self.update_probe_bandwidth(window, ack);
        self.update_min_rtt(ack);
        self.check_probe_rtt(window, ack);
        self.model.advance_latest(ack);
        self.model.bound_bandwidth();
    }

    /// CheckFullBWReached().
    fn check_full(&mut self, ack: &Acknowledgement) {
        if self.full_pipe.is_full || !self.model.is_round_start || ack.rate.is_app_limited {
            return;
        }
        let rate = self.model.delivery_rate;
        if rate >= self.full_pipe.baseline.times(GROWTH) {
            self.full_pipe = FullPipe { baseline: rate, ..FullPipe::default() };
            return;
        }
        self.full_pipe.flat_rounds += 1;
        self.full_pipe.is_full = self.full_pipe.flat_rounds >= FLAT_ROUNDS;
        self.has_filled |= self.full_pipe.is_full;
    }

    /// CheckStartupHighLoss(): a round of recovery in which more than 2 % were lost, in several places.
    fn check_startup_losses(&mut self, ack: &Acknowledgement) -> bool {
        if self.state != State::Startup {
            return false;
        }
        self.losses_in_round += u32::from(ack.newly_lost > 0);
        let is_high = self.model.is_loss_round_start
            && self.recovery >= Recovery::Recovery
            && self.losses_in_round >= STARTUP_LOSSES
            && model::is_inflight_too_high(ack);
        if self.model.is_loss_round_start {
            self.losses_in_round = 0;
        }
        is_high
    }

    /// CheckStartupDone().
    fn check_startup_done(&mut self, high_loss: bool, ack: &Acknowledgement) {
        if self.state != State::Startup {
            return;
        }
        if high_loss {
            self.undo.state = Some(State::Startup);
            self.has_filled = true;
            let delivered = self.model.inflight_latest.max(ack.rate.delivered);
            self.model.inflight_longterm = Some(self.bandwidth_delay_product(UNIT).max(delivered));
        }
        if self.has_filled {
            self.state = State::Drain;
            self.drain_start_round = self.model.round;
        }
    }

    /// CheckDrainDone().
    fn check_drain_done(&mut self, ack: &Acknowledgement) {
        if self.state == State::Drain
            && (ack.in_flight <= self.inflight(UNIT) || self.model.round > self.drain_start_round + DRAIN_ROUNDS)
        {
            self.start_down(ack.now);
        }
    }

    /// SaveStateUponLoss().
    fn save_state(&mut self, window: &Window) {
        self.save_window(window);
        self.undo = Undo {
            state: None,
            bandwidth_shortterm: self.model.bandwidth_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        };
    }

    /// HandleSpuriousLossDetection(): bounds are at least what they were, and a probe that was ended goes on.
    fn restore_state(&mut self) {
        let undo = self.undo;
        self.undo.state = None;
        self.model.is_loss_in_round = false;
        self.full_pipe = FullPipe::default();
        // No bound is the highest one.
        fn higher<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            Some(one?.max(other?))
        }
        let model = &mut self.model;
        model.bandwidth_shortterm = higher(model.bandwidth_shortterm, undo.bandwidth_shortterm);
        model.inflight_shortterm = higher(model.inflight_shortterm, undo.inflight_shortterm);
        model.inflight_longterm = higher(model.inflight_longterm, undo.inflight_longterm);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.has_filled = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::ProbeBandwidthUp) if self.state != State::ProbeBandwidthUp && self.state != State::ProbeRtt => {
                self.start_refill();
            }
            _ => {}
        }
    }
}

impl CongestionControl for Bbr3 {
    fn name(&self) -> &'static str {
        "bbr3"
    }

    fn start(&mut self, window: &mut Window, srtt: Duration, now: Timestamp) {
        self.packet = window.maximum_segment.max(1);
        self.initial_window = window.cwnd;
        self.min_rtt.start(srtt, now);
        self.model.start(now);
        window.ssthresh = u32::MAX;
        self.start_rate(window.cwnd, srtt);
    }

    /// UpdateOnACK().
    fn control(&mut self, window: &mut Window, ack: &Acknowledgement) -> Control {
        self.packet = window.maximum_segment.max(1);
        let before = std::mem::replace(&mut self.recovery, ack.state);
        if before >= Recovery::Recovery && ack.state < Recovery::Recovery {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
        self.update_model_and_state(window, ack);
        self.set_rate(window, ack);
        self.set_window(window, ack);
        Control::Own
    }

    fn grow(&mut self, _window: &mut Window, _ack: &Acknowledgement) {}

    /// OnEnterFastRecovery(), OnEnterRTO().
    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        self.save_state(window);
        window.ssthresh
    }

    fn undo(&mut self, window: &Window) -> u32 {
        self.restore_state();
        window.cwnd.max(self.prior_cwnd)
    }

    fn handle_state(&mut self, _window: &mut Window, state: Recovery, _now: Timestamp) {
        if state == Recovery::Loss {
            self.recovery = state;
        }
    }

    /// HandleRestartFromIdle().
    fn handle_event(&mut self, window: &mut Window, event: Event) {
        if let Event::TransmitStart { now, was_app_limited: true, .. } = event {
            self.is_restarting = true;
            self.model.restart_aggregation(now);
            if self.state.is_probe_bandwidth() {
                self.set_rate_with_gain(UNIT);
            } else if self.state == State::ProbeRtt {
                self.check_probe_rtt_done(window, now);
            }
        }
    }

    fn pacing_rate(&self) -> Option<Bitrate> {
        Some(self.rate)
    }

    fn send_quantum(&self) -> Option<u32> {
        // The least of SetSendQuantum(); above it the endpoint sends a millisecond's worth, as the draft does.
        Some(2)
    }

    fn send_buffer_windows(&self) -> u32 {
        3
    }

    fn is_holding_back(&self) -> bool {
        self.state == State::ProbeRtt
    }
}

#[cfg(test)]
mod tests;
