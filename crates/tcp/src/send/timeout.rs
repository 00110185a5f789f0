//! The timers: retransmission timeout (RFC 6298), tail-loss probe (RFC 8985, section 7), window probe (RFC 9293,
//! section 3.8.6.1). There is one timer for all of them, as in Linux: `tcp_timer.c`, `tcp_schedule_loss_probe`,
//! `tcp_rearm_rto`.

use framewire_units::{Duration, Timestamp};

use super::rack::TIMER_SLACK;
use super::recovery::Probe;
use super::{Outgoing, Sender};
use crate::congestion::State;
use crate::timer::{Reason, Timeout, expiry};

/// How long to wait when the device still holds what a timeout would send again. Linux:
/// `TCP_RESOURCE_PROBE_INTERVAL`.
const RESOURCE_INTERVAL: Duration = Duration::from_millis(500);

impl Sender {
    pub(super) fn start_timer(&mut self, now: Timestamp, reason: Reason, delay: Duration) {
        let delay = (delay + self.pacer.delay(now)).min(self.settings.limits.max);
        self.timer = Some(Timeout { at: expiry(now, delay, self.settings.limits.tick), reason });
    }

    fn is_waiting_for(&self, reason: Reason) -> bool {
        self.timer.is_some_and(|timer| timer.reason == reason)
    }

    /// Starts the tail-loss probe's timer, else the retransmission timer. Linux: `tcp_set_xmit_timer`.
    pub(super) fn restart_timer(&mut self, now: Timestamp) {
        if !self.schedule_loss_probe(now, true) {
            self.restart_retransmission_timer(now);
        }
    }

    /// Restarts the retransmission timer (RFC 6298, 5.3); in place of a shorter timer, it counts from when the first
    /// packet was sent.
    pub(super) fn restart_retransmission_timer(&mut self, now: Timestamp) {
        if self.board.is_empty() {
            self.timer = None;
            return;
        }
        let replaces_shorter = self.is_waiting_for(Reason::Reordering) || self.is_waiting_for(Reason::LossProbe);
        let delay = if replaces_shorter { self.time_to_rto(now).unwrap_or(TIMER_GRAIN) } else { self.rtt.rto() };
        self.start_timer(now, Reason::Retransmission, delay);
    }

    /// How far away the retransmission timeout of the first packet is; `None` where it is due. Linux:
    /// `tcp_rto_delta_us`.
    fn time_to_rto(&self, now: Timestamp) -> Option<Duration> {
        let due = self.board.front()?.sent + self.rtt.rto();
        Some(due.saturating_since(now)).filter(|left| !left.is_zero())
    }

    /// Schedules a probe two round-trip times from now (RFC 8985, section 7.2), where nothing is amiss. `restarts`: the
    /// retransmission timer would start anew, too.
    pub(super) fn schedule_loss_probe(&mut self, now: Timestamp, restarts: bool) -> bool {
        let is_calm = matches!(self.recovery.state, State::Open | State::Reduced);
        if self.board.is_empty() || !self.settings.sack || !is_calm {
            return false;
        }
        let srtt = self.rtt.srtt();
        let mut delay = if srtt.is_zero() {
            self.settings.limits.initial
        } else if self.board.outstanding() == 1 {
            // A single packet's acknowledgement may be delayed.
            srtt * 2 + self.settings.limits.min
        } else {
            srtt * 2 + TIMER_SLACK
        };
        let rto = if restarts { Some(self.rtt.rto()) } else { self.time_to_rto(now) };
        if let Some(rto) = rto {
            delay = delay.min(rto);
        }
        self.start_timer(now, Reason::LossProbe, delay);
        true
    }

    /// The deadline has come; does nothing before it.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        if self.pacer.blocked_until().is_some_and(|at| at <= now) {
            self.handle_pacing_timeout(now);
        }
        let Some(due) = self.timer.filter(|timer| timer.at <= now) else { return };
        match due.reason {
            Reason::Reordering => self.handle_reordering_timeout(now),
            Reason::LossProbe => self.send_loss_probe(now),
            Reason::WindowProbe => {
                self.timer = None;
                self.send_window_probe(now);
            }
            _ => {
                self.timer = None;
                self.handle_retransmission_timeout(now);
            }
        }
        // A handler that armed no timer leaves none that is due.
        if self.timer == Some(due) {
            self.timer = None;
        }
    }

    /// Probes for a lost tail: new data if there is some, else the last packet again. Linux: `tcp_send_loss_probe`.
    fn send_loss_probe(&mut self, now: Timestamp) {
        if self.recovery.probe.is_none() && self.try_loss_probe(now) {
            self.counters.loss_probes += 1;
            // The timeout counts from the probe.
            self.timer = None;
        }
        self.restart_retransmission_timer(now);
    }

    fn try_loss_probe(&mut self, now: Timestamp) -> bool {
        let mss = u64::from(self.window.maximum_segment);
        let fits = self.next + self.unsent().min(mss) <= self.window_end();
        let was_resent = if self.has_unsent() && fits {
            let outstanding = self.board.outstanding();
            self.send_new(now, true, true);
            if self.board.outstanding() == outstanding {
                return false;
            }
            false
        } else {
            let Some(last) = self.board.last() else { return false };
            if !self.resend_packet(now, last, false) {
                return false;
            }
            true
        };
        self.recovery.probe = Some(Probe { end: self.next, was_resent });
        true
    }

    /// Linux: `tcp_retransmit_timer`.
    fn handle_retransmission_timeout(&mut self, now: Timestamp) {
        if self.board.is_empty() {
            return;
        }
        if self.retries >= self.settings.max_retries {
            self.retries = self.settings.max_retries + 1;
            return;
        }
        self.counters.timeouts += 1;
        self.enter_loss(now);
        // A closed window makes retransmissions window probes: the peer is there, and is not given up.
        self.retries += u32::from(self.send_window > 0);
        if !self.resend_packet(now, self.board.first(), true) {
            self.start_timer(now, Reason::Retransmission, RESOURCE_INTERVAL.min(self.rtt.rto()));
            return;
        }
        self.rtt.back_off();
        self.start_timer(now, Reason::Retransmission, self.rtt.rto());
    }

    /// How long to wait for the window to open. Linux: `tcp_probe0_when`.
    fn window_probe_delay(&self) -> Duration {
        let base = self.rtt.rto().max(self.settings.limits.min);
        let factor = 1_u32.checked_shl(self.probes).unwrap_or(u32::MAX);
        base.saturating_mul(factor).min(self.settings.limits.max)
    }

    /// Looks whether the peer's window is open, and with it what can be sent. Linux: `tcp_send_probe0`,
    /// `tcp_write_wakeup`.
    fn send_window_probe(&mut self, now: Timestamp) {
        if !self.board.is_empty() || !self.has_unsent() {
            self.probes = 0;
            return;
        }
        let room = self.window_end().saturating_sub(self.next);
        if room > 0 && self.unsent() > 0 {
            self.send_part(now, room);
            self.probes = 0;
            return;
        }
        // An old number: the receiver answers with what it expects.
        let sequence = self.unacknowledged - 1;
        self.output.push_back(Outgoing {
            sequence,
            payload: 0,
            fin: false,
            push: false,
            retransmission: false,
            cwr: false,
        });
        self.probes += 1;
        self.start_timer(now, Reason::WindowProbe, self.window_probe_delay());
    }

    /// The peer has acknowledged while nothing was outstanding. Linux: `tcp_ack_probe`.
    pub(super) fn review_window_probe(&mut self, now: Timestamp) {
        if !self.has_unsent() {
            return;
        }
        let mss = u64::from(self.window.maximum_segment);
        if self.next + self.unsent().min(mss) <= self.window_end() {
            if self.is_waiting_for(Reason::WindowProbe) {
                self.timer = None;
            }
        } else {
            self.start_timer(now, Reason::WindowProbe, self.window_probe_delay());
        }
    }
}

/// The shortest timer. Linux: one microsecond, which is a jiffy.
const TIMER_GRAIN: Duration = Duration::from_micros(1);
