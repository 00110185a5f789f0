//! Taking a reduction of the window back when it proves wrong: by timestamps (Eifel, RFC 4015), by reports of duplicates
//! (RFC 3708) and after a spurious timeout (F-RTO, RFC 5682).

use framewire_units::Timestamp;

use super::Sender;
use super::acknowledge::Progress;
use crate::congestion::State;

/// What a reduction may be taken back by.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// First sequence number not acknowledged when the reduction began; `None` where it cannot be taken back. Linux:
    /// `undo_marker`.
    pub marker: Option<u64>,
    /// Packets sent again since that no duplicate was reported of; `None` before the first. Linux: `undo_retrans`.
    resent: Option<u32>,
    /// The threshold before the reduction; zero where it stays. Linux: `prior_ssthresh`.
    pub prior_threshold: u32,
    /// Timestamp of the first retransmission, in milliseconds. Linux: `retrans_stamp`.
    pub first_resent: Option<u64>,
}

impl Undo {
    /// A reduction begins. Linux: `tcp_init_undo`.
    pub(super) fn begin(&mut self, unacknowledged: u64, resent: u32) {
        self.marker = Some(unacknowledged);
        self.resent = Some(resent).filter(|&resent| resent > 0);
    }

    /// A packet is sent again with timestamp `value`.
    pub(super) fn count_resent(&mut self, value: u64) {
        self.first_resent.get_or_insert(value);
        self.resent = Some(self.resent.unwrap_or(0) + 1);
    }

    /// A report of `packets` duplicates that end at `end`.
    pub(super) fn settle(&mut self, end: u64, packets: u32) {
        if self.marker.is_some_and(|marker| end > marker)
            && let Some(resent) = &mut self.resent
        {
            *resent = resent.saturating_sub(packets);
        }
    }

    /// Everything that was sent again was reported as a duplicate.
    fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.resent == Some(0)
    }
}

impl Sender {
    /// What is acknowledged was sent before the first retransmission: it was delayed, not lost. Linux:
    /// `tcp_packet_delayed`.
    fn was_delayed(&self, progress: &Progress) -> bool {
        match self.undo.first_resent {
            Some(resent) => progress.echo.is_some_and(|echo| echo < resent),
            None => self.settings.sack || self.unacknowledged < self.recovery.high_sequence,
        }
    }

    fn may_undo(&self, progress: &Progress) -> bool {
        self.undo.marker.is_some() && (self.undo.all_were_duplicates() || self.was_delayed(progress))
    }

    /// Linux: `tcp_undo_cwnd_reduction`.
    fn undo_reduction(&mut self, clear_lost: bool) {
        if clear_lost {
            self.board.clear_lost();
        }
        if self.undo.prior_threshold > 0 {
            self.window.cwnd = self.congestion.undo(&self.window);
            if self.undo.prior_threshold > self.window.ssthresh {
                self.window.ssthresh = self.undo.prior_threshold;
                self.announce_reduction = false;
            }
        }
        self.undo.marker = None;
        self.rack.force();
        self.counters.undone += 1;
    }

    /// Without selective acknowledgements the state is held until something above its end is acknowledged, so that
    /// late duplicates do not begin another recovery (RFC 6582, section 4). Linux:
    /// `tcp_is_non_sack_preventing_reopen`.
    fn prevents_reopening(&mut self) -> bool {
        let prevents = !self.settings.sack && self.unacknowledged == self.recovery.high_sequence;
        if prevents && !self.has_resent() {
            self.undo.first_resent = None;
        }
        prevents
    }

    /// At the end of a recovery. Returns true where the state stays. Linux: `tcp_try_undo_recovery`.
    pub(super) fn try_undo_recovery(&mut self, progress: &Progress) -> bool {
        if self.may_undo(progress) {
            self.undo_reduction(false);
        } else {
            self.rack.count_recovery();
        }
        if self.prevents_reopening() {
            return true;
        }
        self.set_state(State::Open, progress.now);
        self.recovery.is_reneging = false;
        false
    }

    /// When reports show that all that was sent again was duplicate. Linux: `tcp_try_undo_dsack`.
    pub(super) fn try_undo_duplicates(&mut self) -> bool {
        if !self.undo.all_were_duplicates() {
            return false;
        }
        self.rack.extend_window();
        self.undo_reduction(false);
        true
    }

    /// After a timeout; `is_spurious`: F-RTO found it to be. Linux: `tcp_try_undo_loss`.
    pub(super) fn try_undo_loss(&mut self, progress: &Progress, is_spurious: bool) -> bool {
        if !is_spurious && !self.may_undo(progress) {
            return false;
        }
        self.undo_reduction(true);
        self.retries = 0;
        if self.prevents_reopening() {
            return true;
        }
        if is_spurious || self.settings.sack {
            self.set_state(State::Open, progress.now);
            self.recovery.is_reneging = false;
        }
        true
    }

    /// After a partial acknowledgement in fast recovery. Returns true where nothing more is to be judged lost for now.
    /// Linux: `tcp_try_undo_partial`.
    pub(super) fn try_undo_partial(&mut self, progress: &Progress) -> bool {
        if self.undo.marker.is_none() || !self.was_delayed(progress) {
            return false;
        }
        // The hole was filled by the original, not by the retransmission.
        self.note_reordering(progress.prior_unacknowledged);
        if self.board.resent() > 0 {
            return true;
        }
        if !self.has_resent() {
            self.undo.first_resent = None;
        }
        self.undo_reduction(true);
        self.try_keep_open(progress.now);
        false
    }

    /// A retransmission is in flight, or the first packet was sent twice. Linux: `tcp_any_retrans_done`.
    pub(super) fn has_resent(&self) -> bool {
        self.board.resent() > 0 || self.board.front().is_some_and(|record| record.ever_resent)
    }

    /// Nothing unusual, or only disorder. Linux: `tcp_try_keep_open`.
    pub(super) fn try_keep_open(&mut self, now: Timestamp) {
        let is_disordered = self.board.sacked() + self.board.lost() > 0 || self.has_resent();
        let state = if is_disordered { State::Disorder } else { State::Open };
        if self.recovery.state != state {
            self.set_state(state, now);
            self.recovery.high_sequence = self.next;
        }
    }
}
