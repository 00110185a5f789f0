//! From the model to rate and window (draft-ietf-ccwg-bbr, "Updating Control Parameters").

use framewire_units::Duration;

use super::super::{Acknowledgement, Window};
use super::{Bbr3, LEAST_WINDOW, STARTUP_PACING_GAIN, State};
use crate::congestion::bbr1::bandwidth::Bandwidth;

/// Stands in for the round-trip time before there is one (InitPacingRate()).
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// A burst takes a millisecond of the rate, in bits per byte and second.
const BURST_DIVISOR: u64 = 8 * 1_000;
/// Bytes of a burst at most.
const LARGEST_BURST: u64 = 64_000;
/// Packets of a burst at least.
const LEAST_BURST: u64 = 2;
/// Bursts that are on the way inside both hosts (UpdateOffloadBudget()).
const BURSTS: u32 = 3;

impl Bbr3 {
    /// BDPMultiple().
    pub(super) fn bandwidth_delay_product(&self, gain: u64) -> u32 {
        let min_rtt = self.min_rtt.value;
        min_rtt.map_or(self.initial_window, |min_rtt| self.model.bandwidth.packets_in_with_gain(min_rtt, gain))
    }

    /// Inflight().
    pub(super) fn inflight(&self, gain: u64) -> u32 {
        self.with_bursts(self.bandwidth_delay_product(gain))
    }

    /// QuantizationBudget().
    fn with_bursts(&self, inflight: u32) -> u32 {
        let inflight = inflight.max(BURSTS * self.burst()).max(LEAST_WINDOW);
        if self.state == State::ProbeBandwidthUp { inflight.saturating_add(2) } else { inflight }
    }

    /// SetSendQuantum().
    fn burst(&self) -> u32 {
        let bytes = (self.rate.as_bps() / BURST_DIVISOR).min(LARGEST_BURST);
        (bytes / u64::from(self.packet)).max(LEAST_BURST) as u32
    }

    /// InitPacingRate().
    pub(super) fn start_rate(&mut self, cwnd: u32, srtt: Duration) {
        self.has_seen_rtt |= !srtt.is_zero();
        let rtt = if srtt.is_zero() { NOMINAL_RTT } else { srtt };
        self.rate = Bandwidth::of(u64::from(cwnd), rtt).pacing_rate(self.packet, STARTUP_PACING_GAIN);
    }

    /// SetPacingRate().
    pub(super) fn set_rate(&mut self, window: &Window, ack: &Acknowledgement) {
        if !self.has_seen_rtt && !ack.srtt.is_zero() {
            self.start_rate(window.cwnd, ack.srtt);
        }
        self.set_rate_with_gain(self.state.pacing_gain());
    }

    /// SetPacingRateWithGain().
    pub(super) fn set_rate_with_gain(&mut self, gain: u64) {
        let rate = self.model.bandwidth.pacing_rate(self.packet, gain);
        // A bandwidth of zero is no estimate yet.
        if (self.has_filled && rate.as_bps() > 0) || rate > self.rate {
            self.rate = rate;
        }
    }

    /// SetCwnd(), UpdateMaxInflight().
    pub(super) fn set_window(&self, window: &mut Window, ack: &Acknowledgement) {
        let wanted = self.bandwidth_delay_product(self.state.cwnd_gain()).saturating_add(self.model.excess());
        let wanted = self.with_bursts(wanted);
        let grown = window.cwnd.saturating_add(ack.acked_or_sacked);
        if self.has_filled {
            window.cwnd = grown.min(wanted);
        } else if window.cwnd < wanted || ack.delivered < u64::from(self.initial_window) {
            window.cwnd = grown;
        }
        window.cwnd = window.cwnd.max(LEAST_WINDOW);
        if self.state == State::ProbeRtt {
            window.cwnd = window.cwnd.min(self.min_rtt.window);
        }
        window.cwnd = window.cwnd.min(self.bound());
    }

    /// BoundCwndForModel().
    fn bound(&self) -> u32 {
        let longterm = match self.state {
            State::ProbeRtt | State::ProbeBandwidthCruise => self.inflight_with_headroom(),
            state if state.is_probe_bandwidth() => self.model.inflight_longterm,
            _ => None,
        };
        let bound = longterm.unwrap_or(u32::MAX).min(self.model.inflight_shortterm.unwrap_or(u32::MAX));
        bound.max(LEAST_WINDOW)
    }
}
