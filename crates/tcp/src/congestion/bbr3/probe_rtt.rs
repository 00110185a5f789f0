//! The least round-trip time, and ProbeRTT, which empties the pipe to see it (draft-ietf-ccwg-bbr, "ProbeRTT").

use framewire_units::{Duration, Timestamp};

use super::super::{Acknowledgement, Window};
use super::{AckPhase, Bbr3, LEAST_WINDOW, PROBE_RTT_CWND_GAIN, State};
use crate::congestion::State as Recovery;

/// BBR.MinRTTFilterLen, and BBR.ProbeRTTInterval.
const WINDOW: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTDuration.
const DURATION: Duration = Duration::from_millis(200);

/// The state of the filter and of the probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MinRtt {
    /// BBR.min_rtt; `None` is the draft's Infinity.
    pub(super) value: Option<Duration>,
    /// BBR.min_rtt_stamp.
    time: Timestamp,
    has_expired: bool,
    /// BBR.probe_rtt_cwnd.
    pub(super) window: u32,
    /// BBR.probe_rtt_done_stamp.
    end: Option<Timestamp>,
    is_round_done: bool,
}

impl MinRtt {
    pub(super) fn start(&mut self, srtt: Duration, now: Timestamp) {
        self.value = Some(srtt).filter(|srtt| !srtt.is_zero());
        self.time = now;
    }
}

impl Bbr3 {
    /// UpdateMinRTT(). The window of the probe is that of the delay before it, which a full queue has not raised yet.
    pub(super) fn update_min_rtt(&mut self, ack: &Acknowledgement) {
        self.min_rtt.has_expired = ack.now > self.min_rtt.time + WINDOW;
        if self.min_rtt.has_expired && self.state != State::ProbeRtt {
            self.min_rtt.window = self.bandwidth_delay_product(PROBE_RTT_CWND_GAIN).max(LEAST_WINDOW);
        }
        if let Some(rtt) = ack.rtt
            && (self.min_rtt.has_expired || self.min_rtt.value.is_none_or(|least| rtt < least))
        {
            self.min_rtt.value = Some(rtt);
            self.min_rtt.time = ack.now;
        }
    }

    /// CheckProbeRTT().
    pub(super) fn check_probe_rtt(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if self.state != State::ProbeRtt && self.min_rtt.has_expired && !self.is_restarting {
            self.save_window(window);
            self.state = State::ProbeRtt;
            self.min_rtt.end = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(window, ack);
        }
        if ack.rate.delivered > 0 {
            self.is_restarting = false;
        }
    }

    /// HandleProbeRTT().
    fn handle_probe_rtt(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if self.min_rtt.end.is_some() {
            self.min_rtt.is_round_done |= self.model.is_round_start;
            if self.min_rtt.is_round_done {
                self.check_probe_rtt_done(window, ack.now);
            }
        } else if ack.in_flight <= self.min_rtt.window {
            self.min_rtt.end = Some(ack.now + DURATION);
            self.min_rtt.is_round_done = false;
            self.model.start_round();
        }
    }

    /// CheckProbeRTTDone(), ExitProbeRTT().
    pub(super) fn check_probe_rtt_done(&mut self, window: &mut Window, now: Timestamp) {
        if self.min_rtt.end.is_none_or(|end| now <= end) {
            return;
        }
        self.min_rtt.time = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        self.model.reset_shortterm();
        if self.has_filled {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }

    /// SaveCwnd().
    pub(super) fn save_window(&mut self, window: &Window) {
        let is_good = self.recovery < Recovery::Recovery && self.state != State::ProbeRtt;
        self.prior_cwnd = if is_good { window.cwnd } else { self.prior_cwnd.max(window.cwnd) };
    }
}
