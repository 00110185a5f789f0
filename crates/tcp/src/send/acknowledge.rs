//! Taking in an acknowledgement. Linux: `tcp_ack`, `tcp_clean_rtx_queue`.

use framewire_units::{Duration, Timestamp};

use super::Sender;
use super::rate_sample::Newest;
use super::recovery::Resend;
use crate::congestion::{Acknowledgement, Deliveries, EcnUse, State};
use crate::segment::Segment;
use crate::timer::Reason;

/// The least time given to a receiver that seems to have dropped what it had reported. Linux: `tcp_check_sack_reneging`.
const RENEGING_DELAY: Duration = Duration::from_millis(10);

/// What one acknowledgement reported, as far as it was taken in. Linux: the flags of `tcp_ack`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    pub now: Timestamp,
    /// First unacknowledged sequence number, highest sacked one, and counts, before it.
    pub prior_unacknowledged: u64,
    prior_highest_sacked: u64,
    prior_in_flight: u32,
    prior_sacked: u32,
    prior_delivered: u64,
    prior_lost: u64,
    /// The timestamp that it echoes.
    pub echo: Option<u64>,
    /// It acknowledges new data by number. Linux: FLAG_SND_UNA_ADVANCED.
    pub has_advanced: bool,
    /// It takes packets off the queue. Linux: FLAG_DATA_ACKED.
    pub has_acknowledged: bool,
    /// It newly reports packets out of order. Linux: FLAG_DATA_SACKED.
    pub has_sacked: bool,
    /// Data from before recovery that was sent once is newly acknowledged. Linux: FLAG_ORIG_SACK_ACKED.
    pub has_original: bool,
    /// Packets that were sent twice are acknowledged. Linux: FLAG_RETRANS_DATA_ACKED.
    has_resent: bool,
    /// Congestion was marked. Linux: FLAG_ECE.
    pub ecn_echo: bool,
    /// The segment carries payload. Linux: FLAG_DATA.
    has_payload: bool,
    /// The peer's window changed. Linux: FLAG_WIN_UPDATE.
    has_window_update: bool,
    /// It reports a duplicate. Linux: FLAG_DSACKING_ACK.
    pub has_duplicate: bool,
    /// The duplicate is a tail-loss probe. Linux: FLAG_DSACK_TLP.
    pub is_duplicate_of_probe: bool,
    /// Retransmissions were found lost. Linux: FLAG_LOST_RETRANS.
    pub lost_resent: bool,
    /// A packet that was sacked is not acknowledged by number though it is the first. Linux: FLAG_SACK_RENEGING.
    pub is_reneging: bool,
    /// The retransmission timer is to start anew. Linux: FLAG_SET_XMIT_TIMER.
    pub restart_timer: bool,
    /// The peer may have delayed it. Linux: FLAG_ACK_MAYBE_DELAYED.
    is_maybe_delayed: bool,
    /// It reports nothing new: one more packet has arrived out of order. Linux: `num_dupack`.
    pub is_duplicate_acknowledgement: bool,
    /// Packets acknowledged by number.
    acked: u32,
    /// Packets reported out of order, duplicates counted.
    pub sack_delivered: u32,
    pub first_sacked_sent: Option<Timestamp>,
    pub last_sacked_sent: Option<Timestamp>,
    first_acked_sent: Option<Timestamp>,
    last_acked_sent: Option<Timestamp>,
    /// Lowest number of a packet that arrived late.
    pub lowest_reordered: u64,
    pub newest: Option<Newest>,
}

impl Progress {
    /// Nothing in it is new but that it came.
    pub(super) fn is_plain_duplicate(&self) -> bool {
        !self.has_advanced && !self.is_not_duplicate() && !self.has_sacked
    }

    fn is_not_duplicate(&self) -> bool {
        self.has_payload || self.has_window_update || self.has_acknowledged
    }

    fn is_alarming(&self) -> bool {
        self.has_sacked || self.ecn_echo || self.has_duplicate
    }
}

impl Sender {
    /// Takes in the acknowledgement of a segment of an open connection, and sends what it allows.
    pub(crate) fn handle_acknowledgement(&mut self, now: Timestamp, segment: &Segment) {
        let acknowledgement = segment.acknowledgement;
        if acknowledgement > self.next {
            return;
        }
        let mut progress = self.begin_progress(now, segment);
        if acknowledgement < self.unacknowledged {
            self.take_old_acknowledgement(segment, &mut progress);
        } else {
            self.take_acknowledgement(segment, &mut progress);
        }
        self.push(now);
        self.expand_buffer(false);
    }

    fn begin_progress(&self, now: Timestamp, segment: &Segment) -> Progress {
        Progress {
            now,
            prior_unacknowledged: self.unacknowledged,
            prior_highest_sacked: if self.settings.sack {
                self.board.highest_sacked(self.unacknowledged)
            } else {
                self.unacknowledged
            },
            prior_in_flight: self.board.in_flight(),
            prior_sacked: self.board.sacked(),
            prior_delivered: self.delivery.delivered,
            prior_lost: self.delivery.lost,
            echo: segment.timestamps.filter(|_| self.settings.timestamps).map(|t| t.echo).filter(|&echo| echo != 0),
            has_advanced: segment.acknowledgement > self.unacknowledged,
            ecn_echo: self.tells_reductions() && segment.flags.ece && !segment.flags.syn,
            has_payload: segment.sequence_length() > 0,
            lowest_reordered: self.next,
            ..Progress::default()
        }
    }

    /// One that an acknowledgement has overtaken: only its blocks can be news.
    fn take_old_acknowledgement(&mut self, segment: &Segment, progress: &mut Progress) {
        if segment.sack.is_empty() || !self.settings.sack {
            return;
        }
        self.take_sack_blocks(progress.now, segment, progress);
        self.delivery.count(progress.sack_delivered, progress.ecn_echo);
        let resend = self.alert(progress);
        self.resend(progress.now, resend);
    }

    fn take_acknowledgement(&mut self, segment: &Segment, progress: &mut Progress) {
        if progress.has_advanced {
            self.retries = 0;
        }
        let was_idle = self.board.is_empty();
        self.update_window(segment, progress);
        self.take_sack_blocks(progress.now, segment, progress);
        self.delivery.count(progress.sack_delivered, progress.ecn_echo);
        self.probes = 0;
        if was_idle {
            self.take_without_queue(segment, progress);
            return;
        }
        let rtt = self.clean_queue(progress);
        self.rack.update_window(progress.newest.as_ref(), self.delivery.delivered);
        self.note_deliveries(segment, progress);
        self.process_probe(segment.acknowledgement, progress);
        let resend = self.alert_if_dubious(progress);
        if progress.restart_timer {
            self.restart_timer(progress.now);
        }
        let acknowledgement = self.sample(progress, rtt);
        self.control_window(progress, &acknowledgement);
        self.resend(progress.now, resend);
    }

    /// Linux: `tcp_in_ack_event`.
    fn note_deliveries(&mut self, segment: &Segment, progress: &mut Progress) {
        let Some(ecn_use) = self.settings.ecn else { return };
        if ecn_use == EcnUse::Accurate {
            let delivered = self.delivery.delivered - progress.prior_delivered;
            let marked = newly_marked(segment.flags.ace(), self.delivery.delivered_ce, delivered);
            self.delivery.delivered_ce += marked;
            progress.ecn_echo = marked > 0;
        }
        let deliveries = Deliveries {
            first_unacknowledged: self.unacknowledged,
            next_sequence: self.next,
            delivered: self.delivery.delivered,
            delivered_ce: self.delivery.delivered_ce,
        };
        self.congestion.handle_deliveries(&self.window, &deliveries);
    }

    fn alert_if_dubious(&mut self, progress: &mut Progress) -> Resend {
        let is_dubious = !progress.is_not_duplicate() || progress.is_alarming() || self.recovery.state != State::Open;
        if !is_dubious {
            return Resend::Nothing;
        }
        progress.is_duplicate_acknowledgement =
            !progress.has_advanced && !progress.is_not_duplicate() && !progress.has_duplicate;
        self.alert(progress)
    }

    /// Nothing was outstanding.
    fn take_without_queue(&mut self, segment: &Segment, progress: &mut Progress) {
        if progress.has_duplicate {
            self.alert(progress);
        }
        self.review_window_probe(progress.now);
        self.process_probe(segment.acknowledgement, progress);
    }

    /// Takes the peer's window and the acknowledgement number (RFC 9293, 3.10.7.4). Linux: `tcp_ack_update_window`.
    fn update_window(&mut self, segment: &Segment, progress: &mut Progress) {
        let is_newer = segment.acknowledgement > self.unacknowledged
            || segment.sequence > self.window_update
            || (segment.sequence == self.window_update && segment.window > self.send_window)
            || (segment.sequence == self.window_update && segment.window == 0);
        if is_newer {
            progress.has_window_update = true;
            self.window_update = segment.sequence;
            if self.send_window != segment.window {
                self.send_window = segment.window;
                if self.has_unsent() {
                    self.restart_if_idle(progress.now);
                }
                if segment.window > self.largest_window {
                    self.largest_window = segment.window;
                    self.fit_segments_to_window();
                }
            }
        }
        let acknowledged = segment.acknowledgement.min(self.written).saturating_sub(self.unacknowledged);
        self.buffer.acknowledged(acknowledged);
        self.unacknowledged = segment.acknowledgement;
    }

    /// Takes off what is acknowledged. Returns the round-trip time that goes to the congestion control.
    fn clean_queue(&mut self, progress: &mut Progress) -> Option<Duration> {
        let mut lowest = self.next;
        while let Some(record) = self.board.pop_acknowledged(self.unacknowledged) {
            progress.acked += 1;
            progress.has_acknowledged = true;
            if record.ever_resent {
                progress.has_resent = true;
            } else if !record.sacked {
                progress.first_acked_sent = progress.first_acked_sent.or(Some(record.sent));
                progress.last_acked_sent = Some(record.sent);
                lowest = lowest.min(record.sequence);
                progress.has_original |= record.end <= self.recovery.high_sequence;
            }
            if !record.sacked && self.settings.sack {
                self.delivery.count(1, progress.ecn_echo);
                let is_spurious =
                    record.ever_resent && progress.echo.is_some_and(|echo| echo < timestamp_value(record.sent));
                if !is_spurious {
                    let min_rtt = self.rtt.min_rtt();
                    self.rack.advance(progress.now, record.sent, record.end, record.ever_resent, min_rtt);
                }
            }
            self.delivery.see(&mut progress.newest, &record.stamp, record.sent, record.end);
        }
        progress.is_reneging = self.board.front().is_some_and(|record| record.sacked);
        let (rtt, has_sample) = self.sample_rtt(progress);
        if progress.has_acknowledged {
            progress.restart_timer = true;
            self.settle_queue(progress, lowest);
        } else if has_sample && let (Some(sacked), Some(front)) = (progress.first_sacked_sent, self.board.front()) {
            // Not for data that was sent after the first packet was last sent: else the timer would be put off again
            // and again in recovery.
            progress.restart_timer = front.sent > sacked;
        }
        rtt
    }

    fn settle_queue(&mut self, progress: &mut Progress, lowest: u64) {
        if !self.settings.sack {
            let newly = self.board.settle_assumed(progress.acked);
            self.delivery.count(newly, progress.ecn_echo);
            // Without blocks nothing distinguishes the original from the retransmission.
            progress.has_original &= !progress.has_resent;
        } else if lowest < progress.prior_highest_sacked {
            // A hole was filled by a packet that was sent once.
            self.note_reordering(lowest);
        }
    }

    /// Measures the round-trip time: from packets that were sent once, else from timestamps (RFC 7323, section 4).
    /// Returns that of the newest packet, and whether the estimator took a sample. Linux: `tcp_ack_update_rtt`.
    fn sample_rtt(&mut self, progress: &mut Progress) -> (Option<Duration>, bool) {
        let now = progress.now;
        let age = |sent: Timestamp| now.saturating_since(sent);
        let mut sample = None;
        let mut newest = None;
        if !progress.has_resent && progress.first_acked_sent.is_some() {
            sample = progress.first_acked_sent.map(age);
            newest = progress.last_acked_sent.map(age);
            progress.is_maybe_delayed = progress.acked == 1
                && progress.prior_sacked == 0
                && self.unacknowledged - progress.prior_unacknowledged < u64::from(self.window.maximum_segment)
                && progress.newest.is_some_and(|newest| newest.prior_delivered() + 1 == self.delivery.delivered)
                && !progress.is_alarming();
        }
        if progress.first_sacked_sent.is_some() {
            sample = sample.or(progress.first_sacked_sent.map(age));
            newest = progress.last_sacked_sent.map(age);
        }
        if sample.is_none()
            && progress.has_acknowledged
            && let Some(echo) = progress.echo
        {
            let millis = timestamp_value(now).saturating_sub(echo).max(1);
            sample = Some(Duration::from_millis(millis));
            newest = sample;
        }
        let Some(sample) = sample else { return (newest, false) };
        if let Some(newest) = newest
            && !(progress.is_maybe_delayed && self.rtt.min_rtt().is_some_and(|least| newest > least))
        {
            self.rtt.sample_minimum(newest, now);
        }
        self.rtt.sample(sample, self.unacknowledged, self.next);
        (newest, true)
    }

    /// What goes to the congestion control.
    fn sample(&mut self, progress: &Progress, rtt: Option<Duration>) -> Acknowledgement {
        let delivered = (self.delivery.delivered - progress.prior_delivered) as u32;
        let min_rtt = self.rtt.min_rtt();
        let is_usable = !self.recovery.is_reneging;
        let rate = self.delivery.sample(progress.now, delivered, progress.newest, min_rtt, is_usable);
        Acknowledgement {
            now: progress.now,
            acked: progress.acked,
            acked_or_sacked: delivered,
            newly_lost: (self.delivery.lost - progress.prior_lost) as u32,
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt,
            prior_in_flight: progress.prior_in_flight,
            in_flight: self.board.in_flight(),
            is_cwnd_limited: self.validation.is_limited(&self.window),
            delivered: self.delivery.delivered,
            lost: self.delivery.lost,
            next_sequence: self.next,
            first_unacknowledged: self.unacknowledged,
            rate,
            ecn_echo: progress.ecn_echo,
            state: self.recovery.state,
        }
    }

    /// Gives a receiver that seems to renege some time to report otherwise. Linux: `tcp_check_sack_reneging`.
    pub(super) fn await_reneging(&mut self, progress: &mut Progress) {
        let delay = (self.rtt.srtt() / 2).max(RENEGING_DELAY);
        self.start_timer(progress.now, Reason::Retransmission, delay);
        progress.restart_timer = false;
    }
}

/// Marks that a counter of three bits shows beyond those known, when so many packets are newly delivered. Where it may have
/// gone round, as often as they allow (RFC 9768, section 3.2.2.5.2 and appendix A.1). Linux: `__tcp_accecn_process`.
fn newly_marked(ace: u8, known: u64, delivered: u64) -> u64 {
    if delivered == 0 {
        // An acknowledgement that was overtaken; the next one has the count.
        return 0;
    }
    let shown = u64::from(ace).wrapping_sub(FIRST_COUNT).wrapping_sub(known) & ACE_MASK;
    if delivered <= ACE_MASK { shown } else { delivered - (delivered.wrapping_sub(shown) & ACE_MASK) }
}

/// Where counters of marks begin (RFC 9768, section 3.2.1), and their bits.
pub(crate) const FIRST_COUNT: u64 = 5;
const ACE_MASK: u64 = 7;

/// TSval: the clock of timestamps ticks once per millisecond, as in Linux, and is never zero, which would mean none.
pub(crate) fn timestamp_value(now: Timestamp) -> u64 {
    now.as_nanos() / 1_000_000 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_of_three_bits_counts_on_while_it_cannot_have_gone_round() {
        let bits = |marks: u64| ((FIRST_COUNT + marks) & 7) as u8;
        for known in [0, 3, 7, 1_000] {
            for new in 0..=7 {
                assert_eq!(newly_marked(bits(known + new), known, 7), new);
            }
        }
        // Of twelve packets three more are marked, or eleven: the most that the bits allow (RFC 9768, appendix A.1).
        assert_eq!(newly_marked(bits(3), 0, 12), 11);
        assert_eq!(newly_marked(bits(12), 0, 12), 12);
        assert_eq!(newly_marked(bits(2), 3, 0), 0, "an acknowledgement that was overtaken");
    }
}
