//! When to acknowledge: at once, with every second packet, or after a while (RFC 9293, section 3.8.6.3; RFC 5681,
//! section 4.2), with the clockwork of Linux' `tcp_input.c` and `tcp_output.c`.

use framewire_units::{Duration, Timestamp};

use crate::timer::expiry;

/// Acknowledgements that are sent at once when a stream begins. Linux: `TCP_MAX_QUICKACKS`.
const MAXIMUM_QUICK: u64 = 16;
/// Where the estimate of the gap between packets begins. Linux: `TCP_ATO_MIN`.
const FIRST_GAP: Duration = Duration::from_millis(40);
/// Most that a delayed acknowledgement waits, before [`AckTiming::maximum_delay`]. Linux: `HZ / 2` in
/// `tcp_send_delayed_ack`.
const LONGEST_DELAY: Duration = Duration::from_millis(500);
/// Duplicate acknowledgements that are never held back. Linux: `TCP_FASTRETRANS_THRESH`.
const PROMPT_DUPLICATES: u32 = 3;
/// Selective acknowledgements that are merged at most. Linux: `tcp_comp_sack_nr`.
const MERGED_DUPLICATES: u32 = 44;
/// Longest that a selective acknowledgement is held back. Linux: `tcp_comp_sack_delay_ns`.
const MERGING_DELAY: Duration = Duration::from_millis(1);
/// Part of the round-trip time that it is held back at most. Linux: 5 % in `__tcp_ack_snd_check`.
const MERGING_PART: u32 = 20;
/// How late that timer may be. Linux: `tcp_comp_sack_slack_ns`.
const MERGING_SLACK: Duration = Duration::from_micros(100);
/// Payload that is taken for a full packet before one was seen. Linux: `TCP_MSS_DEFAULT` (RFC 9293, section 3.7.1).
const FIRST_GUESS: u32 = 536;
/// Smallest payload that counts as a full packet of a small link. Linux: `TCP_MIN_MSS`.
const SMALLEST_PACKET: u32 = 88;

/// The timer's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AckTiming {
    /// Least delay. Linux: `TCP_DELACK_MIN`.
    pub(crate) minimum_delay: Duration,
    /// Largest delay. Linux: `TCP_DELACK_MAX`.
    pub(crate) maximum_delay: Duration,
    /// The kernel's clock interrupt, which its timers wait for.
    pub(crate) tick: Duration,
}

/// What the receiving half is to do about acknowledging.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckDecision {
    /// Nothing is owed.
    Nothing,
    /// The timer runs.
    Delayed,
    /// An acknowledgement is to be sent now.
    Now,
}

/// The state of delayed acknowledgements. Linux: `icsk_ack` of `struct inet_connection_sock`.
#[derive(Clone, Debug)]
pub(crate) struct AckPolicy {
    timing: AckTiming,
    /// Largest packet seen. Linux: `rcv_mss`.
    full_packet: u32,
    last_short_packet: u32,
    /// Acknowledgements still to be sent at once. Linux: `quick`.
    quick: u64,
    /// Smoothed gap between packets, zero before the first. Linux: `ato`.
    gap: Duration,
    last_received: Timestamp,
    is_interactive: bool,
    is_owed: bool,
    is_owed_now: bool,
    /// Packets that ended a write and are not acknowledged; two at most. Linux: `ICSK_ACK_PUSHED`, `_PUSHED2`.
    pushed: u8,
    deadline: Option<Timestamp>,
    merged: u32,
    merging_deadline: Option<Timestamp>,
    duplicates: u32,
    duplicates_of: u64,
}

impl AckPolicy {
    pub(crate) fn new(timing: AckTiming) -> Self {
        Self {
            timing,
            full_packet: FIRST_GUESS,
            last_short_packet: 0,
            quick: 0,
            gap: Duration::ZERO,
            last_received: Timestamp::ZERO,
            is_interactive: false,
            is_owed: false,
            is_owed_now: false,
            pushed: 0,
            deadline: None,
            merged: 0,
            merging_deadline: None,
            duplicates: 0,
            duplicates_of: 0,
        }
    }

    /// Payload of a full packet of the peer, as far as it is known.
    pub(crate) fn full_packet(&self) -> u32 {
        self.full_packet
    }

    /// Learns from a packet with `payload` what a full one is; true when it changed by a larger one. Linux:
    /// `tcp_measure_rcv_mss`.
    pub(crate) fn measure(&mut self, payload: u32, push: bool, maximum_segment: u32) -> bool {
        let last_short = std::mem::take(&mut self.last_short_packet);
        if payload >= self.full_packet {
            let grew = payload > self.full_packet;
            self.full_packet = payload.min(maximum_segment);
            self.pushed = self.pushed.max(u8::from(push));
            return grew;
        }
        if payload >= FIRST_GUESS || (payload >= SMALLEST_PACKET && !push) {
            self.last_short_packet = payload;
            if payload == last_short {
                self.full_packet = payload;
                return false;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
        false
    }

    /// Data came in order. `rto` is this side's retransmission timeout. Linux: `tcp_event_data_recv`.
    pub(crate) fn data_received(&mut self, now: Timestamp, window: u64, rto: Duration) {
        self.is_owed = true;
        let gap = now.saturating_since(self.last_received);
        if self.gap.is_zero() {
            self.begin_quick(window, MAXIMUM_QUICK);
            self.gap = FIRST_GAP;
        } else if gap <= FIRST_GAP / 2 {
            self.gap = self.gap / 2 + FIRST_GAP / 2;
        } else if gap < self.gap {
            self.gap = (self.gap / 2 + gap).min(rto);
        } else if gap > rto {
            // The sender seems to have idled and may be starting slowly.
            self.begin_quick(window, MAXIMUM_QUICK);
        }
        self.last_received = now;
    }

    fn begin_quick(&mut self, window: u64, most: u64) {
        let quick = match window / (2 * u64::from(self.full_packet)) {
            0 => 2,
            quick => quick,
        };
        self.quick = self.quick.max(quick.min(most));
    }

    /// Acknowledges at once for a while. Linux: `tcp_enter_quickack_mode`.
    pub(crate) fn enter_quick(&mut self, window: u64) {
        self.enter_quick_for(window, MAXIMUM_QUICK);
    }

    /// As [`enter_quick`](Self::enter_quick), for two acknowledgements: after a mark of congestion the sender's
    /// window may be small.
    pub(crate) fn enter_quick_for_mark(&mut self, window: u64) {
        self.enter_quick_for(window, 2);
    }

    fn enter_quick_for(&mut self, window: u64, most: u64) {
        self.begin_quick(window, most);
        self.is_interactive = false;
        self.gap = FIRST_GAP;
    }

    /// Acknowledges the next packet at once: the window has grown.
    pub(crate) fn quicken_one(&mut self) {
        self.quick |= 1;
    }

    /// Ends acknowledging at once: memory is short.
    pub(crate) fn end_quick(&mut self) {
        self.quick = 0;
    }

    /// Owes an acknowledgement.
    pub(crate) fn owe(&mut self) {
        self.is_owed = true;
    }

    /// Owes one at once, whatever the rest says. Linux: `ICSK_ACK_NOW`.
    pub(crate) fn owe_now(&mut self) {
        self.is_owed = true;
        self.is_owed_now = true;
    }

    /// True where one is owed.
    pub(crate) fn is_owed(&self) -> bool {
        self.is_owed
    }

    /// True where one goes out at once whatever has arrived.
    pub(crate) fn is_prompt(&self) -> bool {
        self.is_owed_now || (self.quick > 0 && !self.is_interactive)
    }

    /// A read that empties the queue sends an acknowledgement when what was read ended a write. Linux:
    /// `__tcp_cleanup_rbuf`.
    pub(crate) fn is_due_when_drained(&self) -> bool {
        self.is_owed && (self.pushed == 2 || (self.pushed == 1 && !self.is_interactive))
    }

    /// Starts or shortens the timer; says `Now` where it is about to expire. `srtt` is zero where unknown. Linux:
    /// `tcp_send_delayed_ack`.
    pub(crate) fn delay(&mut self, now: Timestamp, srtt: Duration) -> AckDecision {
        let AckTiming { minimum_delay, maximum_delay, tick } = self.timing;
        let mut delay = self.gap;
        if delay > minimum_delay {
            let mut most = if self.is_interactive || self.pushed > 0 { maximum_delay } else { LONGEST_DELAY };
            if !srtt.is_zero() {
                most = most.min(srtt.max(minimum_delay));
            }
            delay = delay.min(most);
        }
        delay = delay.min(maximum_delay);
        let deadline = expiry(now, delay, tick);
        if let Some(running) = self.deadline {
            if running <= now + delay / 4 {
                return AckDecision::Now;
            }
            self.deadline = Some(running.min(deadline));
        } else {
            self.deadline = Some(deadline);
        }
        AckDecision::Delayed
    }

    /// Holds back selective acknowledgements that carry little new, a short while. `next` is the next number expected,
    /// `round_trip` the shortest estimate of it. Linux: the end of `__tcp_ack_snd_check`.
    pub(crate) fn merge(&mut self, now: Timestamp, next: u64, round_trip: Duration) -> AckDecision {
        if self.merged >= MERGED_DUPLICATES {
            return AckDecision::Now;
        }
        if self.duplicates_of != next {
            self.duplicates_of = next;
            self.duplicates = 0;
        }
        if self.duplicates < PROMPT_DUPLICATES {
            self.duplicates += 1;
            return AckDecision::Now;
        }
        self.merged += 1;
        if self.merging_deadline.is_none() {
            let delay = (round_trip / MERGING_PART).min(MERGING_DELAY);
            self.merging_deadline = Some(now + delay + MERGING_SLACK);
        }
        AckDecision::Delayed
    }

    /// True while an acknowledgement waits for the timer. Linux: `ICSK_ACK_TIMER`.
    pub(crate) fn is_delaying(&self) -> bool {
        self.deadline.is_some()
    }

    /// True while selective acknowledgements are held back.
    pub(crate) fn is_merging(&self) -> bool {
        self.merged > 0
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        match (self.deadline, self.merging_deadline) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// True when a timer has run out and an acknowledgement is to be sent. Linux: `tcp_delack_timer_handler`,
    /// `tcp_compressed_ack_kick`.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp, rto: Duration) -> bool {
        let mut is_due = false;
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.deadline = None;
            if self.is_owed {
                // The acknowledgement was missed: packets come further apart than thought.
                self.gap = if self.is_interactive { FIRST_GAP } else { (self.gap * 2).min(rto) };
                self.is_interactive = false;
                is_due = true;
            }
        }
        if self.merging_deadline.is_some_and(|deadline| deadline <= now) {
            self.merging_deadline = None;
            is_due |= self.merged > 0;
        }
        is_due
    }

    /// A segment with an acknowledgement was sent. Linux: `tcp_event_ack_sent`.
    pub(crate) fn ack_sent(&mut self) {
        if self.quick > 0 && self.is_owed {
            self.quick -= 1;
            if self.quick == 0 {
                // Leaving quick mode deflates the estimate.
                self.gap = FIRST_GAP;
            }
        }
        self.is_owed = false;
        self.is_owed_now = false;
        self.pushed = 0;
        self.deadline = None;
        self.merged = 0;
        self.merging_deadline = None;
    }

    /// A segment with data was sent: soon after one was received means that the two talk to each other, and a reply
    /// may carry the acknowledgement. Linux: `tcp_event_data_sent`.
    pub(crate) fn data_sent(&mut self, now: Timestamp) {
        if now.saturating_since(self.last_received) < self.gap {
            self.is_interactive = true;
        }
    }
}

#[cfg(test)]
mod tests;
