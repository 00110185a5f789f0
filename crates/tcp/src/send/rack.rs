//! Time-based loss detection: a packet is lost when one that was sent later has arrived, and it had its time (RACK,
//! RFC 8985, section 6). Linux: `tcp_recovery.c`.

use framewire_units::{Duration, Timestamp};

use super::Sender;
use super::acknowledge::Progress;
use super::rate_sample::Newest;
use crate::congestion::State;
use crate::timer::Reason;

/// Recoveries for which a widened reordering window stays. Linux: `TCP_RACK_RECOVERY_THRESH`.
const WINDOW_PERSISTS: u32 = 16;
/// Slack of short timers. Linux: `TCP_TIMEOUT_MIN_US`.
pub(super) const TIMER_SLACK: Duration = Duration::from_millis(2);

/// The most recently sent packet that has arrived, and how much reordering is allowed for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// When it was sent (RACK.xmit_ts) and where it ends (RACK.end_seq).
    newest: (Timestamp, u64),
    /// Its round-trip time (RACK.rtt).
    rtt: Duration,
    /// Something arrived since the last look for losses.
    has_advanced: bool,
    /// The reordering window in quarters of the least round-trip time (RACK.reo_wnd_mult).
    window_steps: u32,
    /// Recoveries until the window narrows again (RACK.reo_wnd_persist).
    window_persists: u32,
    /// A duplicate was reported since the window was last widened.
    saw_duplicate: bool,
    /// Packets delivered when it was (RACK.dsack_round).
    widened_at: u64,
}

impl Rack {
    pub(super) fn new() -> Self {
        Self {
            newest: (Timestamp::ZERO, 0),
            rtt: Duration::ZERO,
            has_advanced: false,
            window_steps: 1,
            window_persists: 0,
            saw_duplicate: false,
            widened_at: 0,
        }
    }

    /// A packet has arrived. Linux: `tcp_rack_advance`.
    pub(super) fn advance(
        &mut self,
        now: Timestamp,
        sent: Timestamp,
        end: u64,
        was_resent: bool,
        min_rtt: Option<Duration>,
    ) {
        let rtt = now.saturating_since(sent);
        // Which of the transmissions arrived is ambiguous; one faster than the path was not the last.
        if was_resent && min_rtt.is_some_and(|min_rtt| rtt < min_rtt) {
            return;
        }
        self.has_advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max((sent, end));
    }

    /// Looks for losses again at the next occasion.
    pub(super) fn force(&mut self) {
        self.has_advanced = true;
    }

    /// A duplicate was reported: the window may be too narrow.
    pub(super) fn note_duplicate(&mut self) {
        self.saw_duplicate = true;
    }

    /// A recovery ended that was right.
    pub(super) fn count_recovery(&mut self) {
        self.window_persists = self.window_persists.saturating_sub(1);
    }

    /// A recovery was taken back: keeps the window wide for longer.
    pub(super) fn extend_window(&mut self) {
        self.window_persists = WINDOW_PERSISTS.min(self.window_persists + 1);
    }

    /// Widens the window at most once per round trip in which duplicates were reported (RFC 8985, section 6.2, step 4).
    /// Linux: `tcp_rack_update_reo_wnd`.
    pub(super) fn update_window(&mut self, newest: Option<&Newest>, delivered: u64) {
        let Some(newest) = newest else { return };
        if newest.prior_delivered() < self.widened_at {
            self.saw_duplicate = false;
        }
        if self.saw_duplicate {
            self.window_steps = (self.window_steps + 1).min(255);
            self.saw_duplicate = false;
            self.widened_at = delivered;
            self.window_persists = WINDOW_PERSISTS;
        } else if self.window_persists == 0 {
            self.window_steps = 1;
        }
    }
}

impl Sender {
    /// How long a packet may be overtaken. Linux: `tcp_rack_reo_wnd`.
    fn reordering_window(&self) -> Duration {
        let is_recovering = matches!(self.recovery.state, State::Recovery | State::Loss);
        if !self.recovery.reordering_seen && (is_recovering || self.board.sacked() >= self.recovery.reordering) {
            return Duration::ZERO;
        }
        let min_rtt = self.rtt.min_rtt().unwrap_or(Duration::ZERO);
        (min_rtt / 4 * self.rack.window_steps).min(self.rtt.srtt())
    }

    /// Judges packets lost; returns how long to wait for those that may yet arrive. Linux: `tcp_rack_detect_loss`.
    fn detect_losses(&mut self, now: Timestamp) -> Option<Duration> {
        let allowance = self.rack.rtt + self.reordering_window();
        let mut wait = None;
        let mut next = self.board.oldest();
        while let Some(number) = next {
            next = self.board.newer(number);
            let record = self.board.record(number);
            if (record.sent, record.end) >= self.rack.newest {
                break;
            }
            let age = now.saturating_since(record.sent);
            if age >= allowance {
                self.judge_lost(number);
            } else {
                wait = wait.max(Some(allowance - age));
            }
        }
        wait
    }

    pub(super) fn judge_lost(&mut self, number: u64) {
        self.delivery.lost += u64::from(self.board.mark_lost(number));
    }

    /// A recently sent packet that a timeout does not yet count as lost. Linux: `tcp_rack_skb_timeout` > 0.
    pub(super) fn may_yet_arrive(&self, number: u64, now: Timestamp) -> bool {
        now.saturating_since(self.board.record(number).sent) < self.rack.rtt
    }

    /// Looks for losses after an acknowledgement. Linux: `tcp_identify_packet_loss`, `tcp_rack_mark_lost`.
    pub(super) fn identify_losses(&mut self, progress: &mut Progress) {
        if self.board.is_empty() {
            return;
        }
        if !self.settings.sack {
            self.identify_losses_by_duplicates(progress.has_advanced);
            return;
        }
        let resent = self.board.resent();
        if self.rack.has_advanced {
            self.rack.has_advanced = false;
            if let Some(wait) = self.detect_losses(progress.now) {
                let wait = (wait + TIMER_SLACK).min(self.rtt.rto());
                self.start_timer(progress.now, Reason::Reordering, wait);
                progress.restart_timer = false;
            }
        }
        progress.lost_resent |= resent > self.board.resent();
    }

    /// Without selective acknowledgements: the first packet is lost after three duplicates, and after each partial
    /// acknowledgement (RFC 6582). Linux: `tcp_newreno_mark_lost`.
    fn identify_losses_by_duplicates(&mut self, has_advanced: bool) {
        let is_due = match self.recovery.state {
            State::Recovery => has_advanced,
            State::Loss => false,
            _ => self.board.sacked() >= self.recovery.reordering,
        };
        if is_due && self.board.front().is_some_and(|record| !record.lost) {
            self.judge_lost(self.board.first());
        }
    }

    /// The packets that were waited for have had their time. Linux: `tcp_rack_reo_timeout`.
    pub(super) fn handle_reordering_timeout(&mut self, now: Timestamp) {
        let (in_flight, lost) = (self.board.in_flight(), self.delivery.lost);
        self.detect_losses(now);
        if in_flight != self.board.in_flight() {
            if self.recovery.state != State::Recovery {
                self.enter_recovery(now, false);
                if !self.own_control {
                    self.reduce(1, self.delivery.lost == lost, false);
                }
            }
            self.resend_lost(now);
        }
        if self.timer.is_none_or(|timer| timer.reason != Reason::Retransmission) {
            self.restart_retransmission_timer(now);
        }
    }
}
