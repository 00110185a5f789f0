use std::num::NonZeroU8;

use framewire_units::{Duration, Timestamp};

use super::rivals::Rivals;
use crate::path_reports::LEAST_TIMEOUT;
use crate::tfrc::{Equation, LossHistory, RetransmissionTimeout, Weights};

/// Gain of the mean share of lost packets, for each packet: a memory of about a hundred. 0.007 and 0.014 change nothing
/// (docs/vtp-hybrid.md, Constants).
const SHARE_GAIN: f64 = 0.01;

/// Where so much is lost, it is congestion whatever the queue says: the bound above which Google's congestion control
/// lowers its rate is 10 % (Carlucci et al., "Analysis and design of the Google congestion control for WebRTC", ACM
/// MMSys 2016), and here 15 %, because 5 % of random loss are 10 % for a hundred packets now and then.
const TOO_MANY: f64 = 0.15;

/// (C (3 + beta) / (4 (1 - beta)))^(1/4).
const CUBIC: f64 = 1.054;

/// Packets below which a loss is as often followed by a timeout as by a fast retransmission: three duplicate
/// acknowledgements need four (RFC 5681, section 3.2).
const LEAST_CUBIC_WINDOW: f64 = 4.0;

/// Loss events that are congestion, and the rate that a TCP flow would have with them.
///
/// A loss counts as congestion when the queue is nearly full, or when very much is lost. Others are taken for random:
/// a rate that falls at them would not make them fewer.
#[derive(Clone, Debug)]
pub(crate) struct Losses {
    history: LossHistory,
    /// Packets that the reports cover so far.
    packets: u64,
    share: f64,
}

impl Default for Losses {
    fn default() -> Self {
        Self { history: LossHistory::new(Weights::RFC, true), packets: 0, share: 0.0 }
    }
}

impl Losses {
    /// A report about so many packets, of which `lost` did not arrive. Returns whether a loss event of congestion
    /// begins; `is_news` says that the losses do not belong to the event before, and `rate` is what was sent, in the
    /// packets per second of the equation.
    pub(crate) fn update(
        &mut self,
        now: Timestamp,
        (arrived, lost): (u32, u32),
        is_news: bool,
        is_queue_full: bool,
        (rate, round_trip): (f64, Duration),
    ) -> bool {
        self.packets = self.packets.saturating_add(u64::from(arrived) + u64::from(lost));
        let share = f64::from(lost) / (f64::from(arrived) + f64::from(lost)).max(1.0);
        let weight = 1.0 - libm::pow(1.0 - SHARE_GAIN, f64::from(arrived) + f64::from(lost));
        self.share += weight * (share - self.share);
        let begins = is_news && (is_queue_full || self.share > TOO_MANY);
        if begins {
            self.begin_event(now, rate, round_trip);
        }
        begins
    }

    /// The receiver is silent: an event too.
    pub(crate) fn begin_event(&mut self, now: Timestamp, rate: f64, round_trip: Duration) {
        // RFC 5348, section 6.3.1: the first interval is the one at which the equation gives half of the rate.
        let first = || 1.0 / equation(round_trip).loss_event_rate(round_trip, rate / 2.0);
        self.history.begin_event(self.packets, now, first);
    }

    /// p: loss events per packet, 0 before the first.
    pub(crate) fn event_rate(&self) -> f64 {
        self.history.loss_event_rate(self.packets)
    }

    /// Packets per second that a TCP flow would send among such rivals; infinite before the first loss event.
    ///
    /// That is reno's rate, and where CUBIC's response function gives more, up to that, as CUBIC itself is never slower
    /// than reno (RFC 9438, section 4.3): a weighted geometric mean, because a reno flow does not get it.
    pub(crate) fn limit(&self, round_trip: Duration, rivals: &Rivals) -> f64 {
        let loss_event_rate = self.event_rate();
        if loss_event_rate <= 0.0 {
            return f64::INFINITY;
        }
        let reno = equation(round_trip).packets_per_second(round_trip, loss_event_rate);
        let more = (cubic(round_trip, loss_event_rate) / reno).max(1.0);
        reno * libm::pow(more, rivals.cubic_weight()) * rivals.over_equation(self.share)
    }

    /// The mean share of lost packets, random ones included.
    #[cfg(test)]
    pub(crate) fn share(&self) -> f64 {
        self.share
    }
}

/// The rate of CUBIC by its response function (RFC 9438, section 5.1, with C = 0.4 and beta = 0.7), in packets per
/// second; 0 where its window would be so small that timeouts decide.
fn cubic(round_trip: Duration, loss_event_rate: f64) -> f64 {
    let round_trip = round_trip.as_secs_f64();
    let window = CUBIC * libm::pow(round_trip / loss_event_rate, 0.75);
    if window >= LEAST_CUBIC_WINDOW { window / round_trip } else { 0.0 }
}

/// The rivals are the TCP of Linux: one acknowledgement for two packets, and a timeout that is 200 ms above the
/// round-trip time and not four times that.
fn equation(round_trip: Duration) -> Equation {
    let timeout = RetransmissionTimeout::Fixed(round_trip.saturating_add(LEAST_TIMEOUT));
    let packets_per_acknowledgement = NonZeroU8::MIN.saturating_add(1);
    Equation { packets_per_acknowledgement, timeout }
}
