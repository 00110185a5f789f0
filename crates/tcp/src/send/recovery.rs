//! The state machine of loss recovery (RFC 6675, RFC 6582, RFC 5682), and who sets the window in which state. Linux:
//! `tcp_fastretrans_alert`, `tcp_enter_loss`, `tcp_cong_control`.

use framewire_units::Timestamp;

use super::Sender;
use super::acknowledge::Progress;
use super::reduction::Reduction;
use super::validation::remembered_threshold;
use crate::congestion::{Acknowledgement, Control, Event, State};

/// Packets that may be overtaken before reordering was seen (RFC 6675: DupThresh). Linux: `tcp_reordering`.
pub(super) const REORDERING: u32 = 3;

/// A tail-loss probe in flight (RFC 8985, section 7).
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// The next sequence number when it was sent (TLP.end_seq). Linux: `tlp_high_seq`.
    pub end: u64,
    /// It was a retransmission, not new data.
    pub was_resent: bool,
}

/// Where loss recovery stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    pub state: State,
    /// The next sequence number when the state was entered (RecoveryPoint). Linux: `high_seq`.
    pub high_sequence: u64,
    pub reduction: Reduction,
    pub probe: Option<Probe>,
    /// A timeout may prove spurious (RFC 5682).
    pub is_testing_timeout: bool,
    /// The receiver dropped what it had reported.
    pub is_reneging: bool,
    /// Degree of reordering, in packets.
    pub reordering: u32,
    pub reordering_seen: bool,
    /// Duplicates reported in all.
    pub duplicates: u64,
}

impl Recovery {
    pub(super) fn new() -> Self {
        Self {
            state: State::Open,
            high_sequence: 0,
            reduction: Reduction::default(),
            probe: None,
            is_testing_timeout: false,
            is_reneging: false,
            reordering: REORDERING,
            reordering_seen: false,
            duplicates: 0,
        }
    }
}

/// What to send after an acknowledgement was taken in, before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    /// Nothing.
    Nothing,
    /// What is judged lost.
    Lost,
    /// New data, to find out whether a timeout was spurious (RFC 5682, section 2.1, step 2b).
    New,
}

impl Sender {
    pub(super) fn set_state(&mut self, state: State, now: Timestamp) {
        self.congestion.handle_state(&mut self.window, state, now);
        self.recovery.state = state;
    }

    /// The threshold that remembers the window. Linux: `tcp_current_ssthresh`.
    pub(super) fn current_threshold(&self) -> u32 {
        if self.in_reduction() { self.window.ssthresh } else { remembered_threshold(&self.window) }
    }

    /// Moves the state machine by an acknowledgement that is not ordinary.
    pub(super) fn alert(&mut self, progress: &mut Progress) -> Resend {
        if self.board.is_empty() {
            self.board.reset_assumed();
        }
        if progress.ecn_echo {
            self.undo.prior_threshold = 0;
        }
        if progress.is_reneging && progress.has_advanced {
            self.await_reneging(progress);
            return Resend::Nothing;
        }
        if self.recovery.state == State::Open {
            self.undo.first_resent = None;
        } else if self.unacknowledged >= self.recovery.high_sequence && self.leave_state(progress) {
            return Resend::Nothing;
        }
        match self.recovery.state {
            State::Recovery => self.continue_recovery(progress),
            State::Loss => self.continue_loss(progress),
            _ => self.watch(progress),
        }
    }

    /// What was outstanding when the state was entered is acknowledged. Returns true where nothing more is to be done.
    fn leave_state(&mut self, progress: &Progress) -> bool {
        match self.recovery.state {
            // Held until something above is acknowledged, so that the receiver has seen CWR.
            State::Reduced if self.unacknowledged != self.recovery.high_sequence => {
                self.end_reduction(progress.now);
                self.set_state(State::Open, progress.now);
            }
            State::Recovery => {
                self.board.reset_assumed();
                if self.try_undo_recovery(progress) {
                    return true;
                }
                self.end_reduction(progress.now);
            }
            _ => {}
        }
        false
    }

    fn continue_recovery(&mut self, progress: &mut Progress) -> Resend {
        if progress.has_advanced {
            if self.try_undo_partial(progress) {
                return Resend::Nothing;
            }
        } else if !self.settings.sack {
            self.assume_duplicates(progress);
        }
        if self.try_undo_duplicates() {
            self.try_keep_open(progress.now);
        }
        self.identify_losses(progress);
        if self.recovery.state != State::Recovery {
            if self.board.lost() == 0 {
                return Resend::Nothing;
            }
            self.enter_recovery(progress.now, progress.ecn_echo);
        }
        Resend::Lost
    }

    fn continue_loss(&mut self, progress: &mut Progress) -> Resend {
        let resend = self.process_loss(progress);
        self.identify_losses(progress);
        if self.recovery.state == State::Open || progress.lost_resent { self.watch(progress) } else { resend }
    }

    /// Outside recovery: enters it when a loss is proven.
    fn watch(&mut self, progress: &mut Progress) -> Resend {
        if !self.settings.sack {
            if progress.has_advanced {
                self.board.reset_assumed();
            }
            self.assume_duplicates(progress);
        }
        if matches!(self.recovery.state, State::Open | State::Disorder) {
            self.try_undo_duplicates();
        }
        self.identify_losses(progress);
        if self.board.lost() == 0 {
            self.try_to_open(progress);
            return Resend::Nothing;
        }
        self.enter_recovery(progress.now, progress.ecn_echo);
        Resend::Lost
    }

    /// Duplicate acknowledgements stand for packets that arrived. Linux: `tcp_add_reno_sack`.
    fn assume_duplicates(&mut self, progress: &Progress) {
        if progress.is_duplicate_acknowledgement && self.board.assume_sacked() {
            // A counter of marks has counted them already.
            self.delivery.count(1, progress.ecn_echo && self.tells_reductions());
        }
    }

    /// In the state after a timeout (RFC 6298, RFC 5682). Linux: `tcp_process_loss`.
    fn process_loss(&mut self, progress: &Progress) -> Resend {
        let has_recovered = self.unacknowledged >= self.recovery.high_sequence;
        if progress.has_advanced && self.try_undo_loss(progress, false) {
            return Resend::Nothing;
        }
        if self.recovery.is_testing_timeout {
            // RFC 5682, section 3.1, step 3b: data that was never resent arrives, so not all was lost.
            if progress.has_original && self.try_undo_loss(progress, true) {
                return Resend::Nothing;
            }
            if self.next > self.recovery.high_sequence {
                if progress.has_sacked || progress.is_duplicate_acknowledgement {
                    self.recovery.is_testing_timeout = false;
                }
            } else if progress.has_advanced && !has_recovered {
                self.recovery.high_sequence = self.next;
                if self.has_unsent() && self.window_end() > self.next {
                    return Resend::New;
                }
                self.recovery.is_testing_timeout = false;
            }
        }
        if has_recovered {
            self.try_undo_recovery(progress);
            return Resend::Nothing;
        }
        if !self.settings.sack {
            if self.next > self.recovery.high_sequence && progress.is_duplicate_acknowledgement {
                self.assume_duplicates(progress);
            } else if progress.has_advanced {
                self.board.reset_assumed();
            }
        }
        Resend::Lost
    }

    /// No loss is known: the state is what the congestion notification or the disorder says. Linux: `tcp_try_to_open`.
    fn try_to_open(&mut self, progress: &Progress) {
        if !self.has_resent() {
            self.undo.first_resent = None;
        }
        if progress.ecn_echo {
            self.undo.prior_threshold = 0;
            if matches!(self.recovery.state, State::Open | State::Disorder) {
                self.undo.marker = None;
                self.begin_reduction(progress.now);
                self.set_state(State::Reduced, progress.now);
            }
        }
        if self.recovery.state != State::Reduced {
            self.try_keep_open(progress.now);
        }
    }

    /// Enters fast recovery. Linux: `tcp_enter_recovery`.
    pub(super) fn enter_recovery(&mut self, now: Timestamp, ecn_echo: bool) {
        self.counters.recoveries += 1;
        self.undo.prior_threshold = 0;
        self.undo.begin(self.unacknowledged, self.board.resent());
        if !self.in_reduction() {
            if !ecn_echo {
                self.undo.prior_threshold = self.current_threshold();
            }
            self.begin_reduction(now);
        }
        self.set_state(State::Recovery, now);
    }

    /// Linux: `tcp_init_cwnd_reduction`.
    pub(super) fn begin_reduction(&mut self, now: Timestamp) {
        self.recovery.high_sequence = self.next;
        self.recovery.probe = None;
        self.recovery.reduction = Reduction::begin(self.window.cwnd);
        self.window.cwnd_count = 0;
        self.window.prior_cwnd = self.window.cwnd;
        self.window.flight_size = self.board.outstanding();
        self.window.ssthresh = self.congestion.reduced_threshold(&self.window, now);
        self.announce_reduction |= self.tells_reductions();
    }

    /// The window after `delivered` packets while it is reduced.
    pub(super) fn reduce(&mut self, delivered: u32, nothing_newly_lost: bool, has_advanced: bool) {
        let (ssthresh, in_flight) = (self.window.ssthresh, self.board.in_flight());
        let is_safe = has_advanced && nothing_newly_lost;
        if let Some(cwnd) = self.recovery.reduction.window(delivered, ssthresh, in_flight, is_safe) {
            self.window.cwnd = cwnd;
        }
    }

    /// Linux: `tcp_end_cwnd_reduction`.
    pub(super) fn end_reduction(&mut self, now: Timestamp) {
        if self.own_control {
            return;
        }
        let is_valid = self.recovery.state == State::Reduced || self.undo.marker.is_some();
        if self.window.ssthresh < u32::MAX && is_valid {
            self.window.cwnd = self.window.ssthresh;
            self.validation.note_change(now);
        }
        self.congestion.handle_event(&mut self.window, Event::ReductionComplete { now });
    }

    /// A retransmission timeout: everything but what was sent lately counts as lost. Linux: `tcp_enter_loss`.
    pub(super) fn enter_loss(&mut self, now: Timestamp) {
        let state = self.recovery.state;
        let is_new = matches!(state, State::Open | State::Disorder | State::Reduced);
        self.mark_timed_out(now);
        let repeats = state == State::Loss && self.retries > 0;
        if matches!(state, State::Open | State::Disorder)
            || self.recovery.high_sequence <= self.unacknowledged
            || (state == State::Loss && !repeats)
        {
            self.undo.prior_threshold = self.current_threshold();
            self.window.prior_cwnd = self.window.cwnd;
            self.window.flight_size = self.board.outstanding();
            self.window.ssthresh = self.congestion.reduced_threshold(&self.window, now);
            self.congestion.handle_event(&mut self.window, Event::Timeout { now });
            self.undo.begin(self.unacknowledged, self.board.resent());
        }
        self.window.cwnd = self.board.in_flight() + 1;
        self.window.cwnd_count = 0;
        self.validation.note_change(now);
        // Many duplicates and still a timeout: reordering was overestimated.
        if matches!(state, State::Open | State::Disorder) && self.board.sacked() >= REORDERING {
            self.recovery.reordering = self.recovery.reordering.min(REORDERING);
        }
        self.set_state(State::Loss, now);
        self.recovery.high_sequence = self.next;
        self.announce_reduction |= self.tells_reductions();
        self.recovery.is_testing_timeout = is_new || self.retries > 0;
    }

    /// Linux: `tcp_timeout_mark_lost`.
    fn mark_timed_out(&mut self, now: Timestamp) {
        let Some(last) = self.board.last() else { return };
        let is_reneging = self.board.front().is_some_and(|record| record.sacked);
        if is_reneging {
            self.board.clear_sacked();
            self.recovery.is_reneging = true;
        } else {
            self.board.reset_assumed();
        }
        let first = self.board.first();
        for number in first..=last {
            let is_recent = self.settings.sack && number != first && self.may_yet_arrive(number, now);
            if is_reneging || !is_recent {
                self.judge_lost(number);
            }
        }
    }

    /// Who sets the window: the algorithm itself, the reduction, or growth. Linux: `tcp_cong_control`.
    pub(super) fn control_window(&mut self, progress: &Progress, acknowledgement: &Acknowledgement) {
        self.congestion.handle_acknowledgement(&mut self.window, acknowledgement);
        self.own_control = self.congestion.control(&mut self.window, acknowledgement) == Control::Own;
        if self.congestion.is_holding_back() {
            self.delivery.mark_app_limited(self.board.in_flight());
        }
        if !self.own_control {
            if self.in_reduction() {
                let nothing_lost = acknowledgement.newly_lost == 0;
                self.reduce(acknowledgement.acked_or_sacked, nothing_lost, progress.has_advanced);
            } else if self.may_grow(progress) {
                self.congestion.grow(&mut self.window, acknowledgement);
                self.validation.note_change(progress.now);
            }
        }
        self.window.cwnd = self.window.cwnd.max(1);
        self.update_pacing();
    }

    /// Where much is reordered the window grows with every delivery, else only with what is acknowledged by number.
    /// Linux: `tcp_may_raise_cwnd`.
    fn may_grow(&self, progress: &Progress) -> bool {
        progress.has_acknowledged || (self.recovery.reordering > REORDERING && progress.has_sacked)
    }

    /// An acknowledgement while a tail-loss probe is out (RFC 8985, section 7.4.2). Linux: `tcp_process_tlp_ack`.
    pub(super) fn process_probe(&mut self, acknowledgement: u64, progress: &Progress) {
        let Some(probe) = self.recovery.probe.filter(|probe| acknowledgement >= probe.end) else { return };
        if !probe.was_resent || progress.is_duplicate_of_probe {
            self.recovery.probe = None;
        } else if acknowledgement > probe.end {
            // The probe repaired a loss that nothing else showed: the window is reduced for it.
            self.begin_reduction(progress.now);
            self.set_state(State::Reduced, progress.now);
            self.end_reduction(progress.now);
            self.try_keep_open(progress.now);
        } else if progress.is_plain_duplicate() {
            self.recovery.probe = None;
        }
    }
}
