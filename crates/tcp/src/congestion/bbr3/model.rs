//! What is learnt of the path (draft-ietf-ccwg-bbr, "Updating Network Path Model Parameters").

use framewire_units::Timestamp;

use super::super::Acknowledgement;
use super::super::bbr1::bandwidth::{Bandwidth, UNIT};
use super::super::windowed_filter::WindowedMaximum;

/// BBR.LossThresh: one in fifty, 2 % of what was in flight.
const LOSS_THRESHOLD: u64 = 50;
/// BBR.Beta: the least that a bound keeps of itself, as CUBIC does.
const BETA: u64 = UNIT * 70 / 100;
/// BBR.ExtraAckedFilterLen, in rounds; before the pipe was full, one.
const AGGREGATION_ROUNDS: u64 = 10;

/// IsInflightTooHigh(): more was lost than a path should when the sampled packet was sent.
pub(super) fn is_inflight_too_high(ack: &Acknowledgement) -> bool {
    let lost = ack.lost.saturating_sub(ack.rate.lost_at_send);
    lost * LOSS_THRESHOLD > u64::from(ack.rate.in_flight_at_send)
}

/// `amount` cut to BBR.Beta of it.
pub(super) fn reduced(amount: u32) -> u32 {
    (u64::from(amount) * BETA / UNIT) as u32
}

/// The model. `None` of a bound is none (the draft's Infinity).
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    /// BBR.bw: what may be used now.
    pub(super) bandwidth: Bandwidth,
    /// The largest delivery rates of the last two ProbeBW cycles (BBR.max_bw_filter).
    cycles: [Bandwidth; 2],
    /// BBR.bw_shortterm, BBR.inflight_shortterm.
    pub(super) bandwidth_shortterm: Option<Bandwidth>,
    pub(super) inflight_shortterm: Option<u32>,
    /// BBR.inflight_longterm.
    pub(super) inflight_longterm: Option<u32>,
    /// RS.delivery_rate of this acknowledgement, zero where there is none.
    pub(super) delivery_rate: Bandwidth,
    /// BBR.bw_latest, BBR.inflight_latest: the largest of this round.
    bandwidth_latest: Bandwidth,
    pub(super) inflight_latest: u32,
    /// BBR.round_count.
    pub(super) round: u64,
    round_end: u64,
    pub(super) is_round_start: bool,
    loss_round_end: u64,
    pub(super) is_loss_round_start: bool,
    /// BBR.is_loss_in_round.
    pub(super) is_loss_in_round: bool,
    delivered: u64,
    /// BBR.extra_acked and what it is measured by.
    excess: WindowedMaximum,
    interval_start: Timestamp,
    interval_delivered: u64,
}

impl Model {
    pub(super) fn start(&mut self, now: Timestamp) {
        self.interval_start = now;
    }

    /// BBR.max_bw.
    pub(super) fn maximum(&self) -> Bandwidth {
        self.cycles[0].max(self.cycles[1])
    }

    /// AdvanceMaxBwFilter().
    pub(super) fn advance_cycle(&mut self) {
        if self.cycles[1] > Bandwidth::default() {
            self.cycles = [self.cycles[1], Bandwidth::default()];
        }
    }

    /// StartRound(): a round ends when what is sent from now on is acknowledged.
    pub(super) fn start_round(&mut self) {
        self.round_end = self.delivered;
    }

    /// UpdateLatestDeliverySignals(), UpdateRound() and UpdateMaxBw().
    pub(super) fn update_latest(&mut self, ack: &Acknowledgement) {
        self.delivered = ack.delivered;
        self.is_round_start = false;
        self.is_loss_round_start = false;
        self.delivery_rate = Bandwidth::default();
        let Some(interval) = ack.rate.interval.filter(|interval| !interval.is_zero()) else { return };
        self.delivery_rate = Bandwidth::of(u64::from(ack.rate.delivered), interval);
        self.bandwidth_latest = self.bandwidth_latest.max(self.delivery_rate);
        self.inflight_latest = self.inflight_latest.max(ack.rate.delivered);
        if ack.rate.prior_delivered >= self.loss_round_end {
            self.loss_round_end = self.delivered;
            self.is_loss_round_start = true;
        }
        if ack.rate.prior_delivered >= self.round_end {
            self.start_round();
            self.round += 1;
            self.is_round_start = true;
        }
        if self.delivery_rate >= self.maximum() || !ack.rate.is_app_limited {
            self.cycles[1] = self.cycles[1].max(self.delivery_rate);
        }
    }

    /// AdvanceLatestDeliverySignals().
    pub(super) fn advance_latest(&mut self, ack: &Acknowledgement) {
        if self.is_loss_round_start {
            self.bandwidth_latest = self.delivery_rate;
            self.inflight_latest = ack.rate.delivered;
        }
    }

    /// NoteLoss().
    pub(super) fn note_loss(&mut self, delivered: u64) {
        if !self.is_loss_in_round {
            self.loss_round_end = delivered;
        }
        self.is_loss_in_round = true;
    }

    /// ResetCongestionSignals().
    pub(super) fn reset_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bandwidth_latest = Bandwidth::default();
        self.inflight_latest = 0;
    }

    /// ResetShortTermModel().
    pub(super) fn reset_shortterm(&mut self) {
        self.bandwidth_shortterm = None;
        self.inflight_shortterm = None;
    }

    /// AdaptLowerBoundsFromCongestion(), InitLowerBounds() and LossLowerBounds(): once per round with a loss, down
    /// towards what was delivered in it.
    pub(super) fn adapt_lower_bounds(&mut self, cwnd: u32) {
        if !self.is_loss_in_round {
            return;
        }
        let bandwidth = self.bandwidth_shortterm.unwrap_or(self.maximum());
        self.bandwidth_shortterm = Some(self.bandwidth_latest.max(bandwidth.times(BETA)));
        let inflight = self.inflight_shortterm.unwrap_or(cwnd);
        self.inflight_shortterm = Some(self.inflight_latest.max(reduced(inflight)));
    }

    /// BoundBWForModel().
    pub(super) fn bound_bandwidth(&mut self) {
        self.bandwidth = self.maximum().min(self.bandwidth_shortterm.unwrap_or(Bandwidth::INFINITE));
    }

    /// Expects nothing after idling.
    pub(super) fn restart_aggregation(&mut self, now: Timestamp) {
        self.interval_start = now;
        self.interval_delivered = 0;
    }

    /// UpdateACKAggregation(): how much more came at once than the bandwidth explains.
    pub(super) fn update_aggregation(&mut self, ack: &Acknowledgement, has_filled: bool, cwnd: u32) {
        let mut expected = self.bandwidth.packets_in(ack.now.saturating_since(self.interval_start));
        if self.interval_delivered <= expected {
            self.restart_aggregation(ack.now);
            expected = 0;
        }
        self.interval_delivered += u64::from(ack.acked_or_sacked);
        let excess = (self.interval_delivered - expected).min(u64::from(cwnd));
        let rounds = if has_filled { AGGREGATION_ROUNDS } else { 1 };
        self.excess.update(rounds, self.round, excess);
    }

    /// BBR.extra_acked, in packets.
    pub(super) fn excess(&self) -> u32 {
        self.excess.get() as u32
    }
}
