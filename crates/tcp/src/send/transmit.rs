//! Sending: new data as far as the windows, Nagle's algorithm, pacing and the device allow, and again what is lost.
//! Linux: `tcp_write_xmit`, `tcp_xmit_retransmit_queue`.

use framewire_units::Timestamp;

use super::acknowledge::timestamp_value;
use super::recovery::Resend;
use super::scoreboard::Record;
use super::validation::Round;
use super::{Ending, Outgoing, Sender};
use crate::buffers::Flight;
use crate::congestion::{Event, State};
use crate::timer::Reason;

/// Bytes that the kernel keeps together in one buffer of the send queue. Linux: `tcp_xmit_size_goal`.
const BUFFER_BYTES: u64 = 65_536 - 193;
/// Smallest payload that a small window may cut packets to. Linux: `tcp_bound_to_half_wnd`.
const LEAST_SEGMENT: u32 = 48;
/// Up to this window, all of it may go into one packet (RFC 9293, section 3.7.1: the default MSS).
const SMALL_WINDOW: u64 = 536;

/// One round of sending.
#[derive(Clone, Copy, Debug)]
struct Turn {
    now: Timestamp,
    /// Payload of a packet.
    mss: u64,
    /// Packets of a burst at most.
    burst: u64,
    no_delay: bool,
    /// One burst may exceed the congestion window.
    probe: bool,
}

impl Sender {
    /// The application writes up to `bytes`; returns how many the send buffer took. Linux: `tcp_sendmsg_locked`.
    pub(crate) fn write(&mut self, now: Timestamp, bytes: u64) -> u64 {
        if self.fin != Ending::Open || bytes == 0 {
            return 0;
        }
        self.note_app_limit();
        let was_drained = self.unsent() == 0;
        let taken = self.buffer.write(bytes);
        self.is_buffer_full = taken < bytes;
        if taken == 0 {
            return 0;
        }
        if was_drained {
            self.restart_if_idle(now);
        }
        self.written += taken;
        let unsent = self.unsent();
        if unsent >= BUFFER_BYTES || self.board.is_empty() || !self.device.corks(unsent) {
            self.push(now);
        }
        taken
    }

    /// Lets the send buffer grow with the window. Linux: `tcp_check_space`.
    pub(super) fn expand_buffer(&mut self, is_start: bool) {
        let flight = Flight {
            cwnd: self.window.cwnd,
            in_flight: self.board.in_flight(),
            reordering: self.recovery.reordering,
            windows: self.settings.buffer_windows,
        };
        self.buffer.expand(&flight, is_start);
    }

    /// The stream ends after what was written.
    pub(crate) fn finish(&mut self, now: Timestamp) {
        if self.fin == Ending::Open {
            self.fin = Ending::Queued;
            self.push_with(now, true);
        }
    }

    /// Bytes that options other than timestamps take of each packet from now on.
    pub(crate) fn set_option_bytes(&mut self, bytes: u32) {
        self.option_bytes = bytes;
    }

    /// Whether something waits to be sent for the first time.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent() > 0 || self.fin == Ending::Queued
    }

    /// The application has ended the stream: what waits gets no more.
    pub(super) fn ends_here(&self) -> bool {
        self.fin != Ending::Open
    }

    /// Sends what may be sent. Linux: `__tcp_push_pending_frames`.
    pub(super) fn push(&mut self, now: Timestamp) {
        self.push_with(now, self.settings.no_delay);
    }

    fn push_with(&mut self, now: Timestamp, no_delay: bool) {
        if self.has_unsent() && self.send_new(now, no_delay, false) && self.timer.is_none() {
            self.start_timer(now, Reason::WindowProbe, self.rtt.rto().max(self.settings.limits.min));
        }
    }

    /// Sends new data; a `probe` is one burst that may exceed the congestion window. Returns true where nothing is
    /// outstanding and something cannot be sent: only a window probe will get it going.
    pub(super) fn send_new(&mut self, now: Timestamp, no_delay: bool, probe: bool) -> bool {
        let mss = u64::from(self.window.maximum_segment.saturating_sub(self.option_bytes).max(LEAST_SEGMENT));
        let turn = Turn { now, mss, burst: self.burst(mss), no_delay, probe };
        let mut sent = 0;
        let mut is_limit = false;
        while self.has_unsent()
            && !self.is_paced_out(now)
            && let Some(length) = self.next_length(&turn, &mut is_limit)
        {
            sent += self.send_burst(now, length, mss);
            if probe {
                break;
            }
        }
        is_limit |= self.board.in_flight() >= self.window.cwnd;
        if sent > 0 || is_limit {
            self.validate_window(now, is_limit);
        }
        if sent == 0 {
            return self.board.is_empty() && self.has_unsent();
        }
        if self.in_reduction() {
            self.recovery.reduction.count_sent(sent);
        }
        if !probe {
            self.schedule_loss_probe(now, false);
        }
        false
    }

    /// Bytes that go now, in one burst; `None` where nothing may. Notes where the congestion window is the reason.
    fn next_length(&mut self, turn: &Turn, is_limit: &mut bool) -> Option<u64> {
        let &Turn { now, mss, burst, no_delay, probe } = turn;
        let open = self.window.cwnd.saturating_sub(self.board.in_flight());
        // At least two bursts share the window.
        let quota = u64::from(open.min((self.window.cwnd / 2).max(1))).max(u64::from(probe)).min(burst);
        if quota == 0 {
            return None;
        }
        let whole = (BUFFER_BYTES / mss).min(u64::from(self.settings.offload_packets)) * mss;
        let head = self.unsent().min(whole);
        let first = head.min(mss);
        let ends = u64::from(self.fin == Ending::Queued && first == self.unsent());
        if self.next + first + ends > self.window_end() {
            return None;
        }
        let length = if head <= mss {
            if self.is_held_by_nagle(head, mss, no_delay) {
                return None;
            }
            head
        } else {
            if !probe {
                let (defer, for_congestion) = self.should_defer(now, head, burst);
                *is_limit |= for_congestion;
                if defer {
                    return None;
                }
            }
            self.split(head, mss, quota, no_delay)
        };
        (!self.is_throttled(length, false)).then_some(length)
    }

    /// Bytes of the first `head` unsent ones that go now. Linux: `tcp_mss_split_point`.
    fn split(&self, head: u64, mss: u64, quota: u64, no_delay: bool) -> u64 {
        let most = mss * quota;
        let needed = head.min(self.window_end() - self.next);
        if most <= needed {
            return most;
        }
        let partial = needed % mss;
        let is_tail = head == self.unsent();
        if partial > 0 && is_tail && self.is_held_by_nagle(partial, mss, no_delay) { needed - partial } else { needed }
    }

    /// Whether a packet that is not full waits until the one before is acknowledged (RFC 9293, 3.7.4; Minshall's
    /// variant). Linux: `tcp_nagle_check`, `tcp_minshall_check`.
    fn is_held_by_nagle(&self, length: u64, mss: u64, no_delay: bool) -> bool {
        let is_small_outstanding = self.small_end > self.unacknowledged && self.small_end <= self.next;
        length < mss && !no_delay && self.fin != Ending::Queued && !self.board.is_empty() && is_small_outstanding
    }

    /// Sends `length` bytes, and the end of the stream if it follows and fits the window. Returns the number of packets.
    fn send_burst(&mut self, now: Timestamp, length: u64, mss: u64) -> u32 {
        let is_end = self.fin == Ending::Queued && length == self.unsent() && self.next + length < self.window_end();
        let packets = length.div_ceil(mss).max(1) as u32;
        self.note_transmission(now);
        let was_empty = self.board.is_empty();
        let stamp = self.delivery.stamp(now, was_empty, self.board.in_flight() + packets);
        let end = self.next + length;
        for index in 0..packets {
            let payload = mss.min(end - self.next);
            let fin = is_end && index + 1 == packets;
            let serial = self.device.take(payload);
            let cwr = std::mem::take(&mut self.announce_reduction);
            let sequence = self.next;
            self.next += payload + u64::from(fin);
            let push = self.next >= self.written;
            let payload = payload as u32;
            self.output.push_back(Outgoing { sequence, payload, fin, push, retransmission: false, cwr });
            self.board.push(Record::new(sequence, self.next, now, serial, stamp));
            self.buffer.sent(u64::from(payload), packets);
        }
        if is_end {
            self.fin = Ending::Sent;
        }
        self.counters.sent += u64::from(packets);
        self.charge_pacer(now, length);
        if was_empty || self.timer.is_some_and(|timer| timer.reason == Reason::LossProbe) {
            self.restart_retransmission_timer(now);
        }
        if length < u64::from(packets) * mss {
            self.small_end = self.next;
        }
        // Linux looks after each buffer that leaves (`tcp_event_new_data_sent`), when the window may not be full yet.
        self.expand_buffer(false);
        packets
    }

    /// Sends what fits `room` bytes of a small window, as a window probe.
    pub(super) fn send_part(&mut self, now: Timestamp, room: u64) {
        let mss = u64::from(self.window.maximum_segment);
        let length = room.min(self.unsent()).min(mss);
        self.send_burst(now, length, length.max(1));
        self.start_timer(now, Reason::Retransmission, self.rtt.rto());
    }

    /// A packet with payload leaves. Linux: `tcp_event_data_sent`.
    fn note_transmission(&mut self, now: Timestamp) {
        if self.board.in_flight() == 0 {
            let was_app_limited = self.delivery.is_app_limited();
            let event = Event::TransmitStart { now, last_sent: self.last_sent, was_app_limited };
            self.congestion.handle_event(&mut self.window, event);
            self.update_pacing();
        }
        self.last_sent = Some(now);
    }

    /// Sends again, or new data, as the state machine decided. Linux: `tcp_xmit_recovery`.
    pub(super) fn resend(&mut self, now: Timestamp, resend: Resend) {
        if resend == Resend::New {
            self.push_with(now, true);
            if self.next > self.recovery.high_sequence {
                return;
            }
            self.recovery.is_testing_timeout = false;
        }
        if resend != Resend::Nothing {
            self.resend_lost(now);
        }
    }

    /// Sends again what is judged lost, as far as the window allows.
    pub(super) fn resend_lost(&mut self, now: Timestamp) {
        let mut restart_timer = false;
        while let Some(number) = self.board.next_to_resend() {
            if self.is_paced_out(now) || self.window.cwnd <= self.board.in_flight() {
                break;
            }
            let record = self.board.record(number);
            if self.is_throttled(record.end - record.sequence, true) || !self.resend_packet(now, number, true) {
                break;
            }
            if self.in_reduction() {
                self.recovery.reduction.count_sent(1);
            }
            let awaits_reordering = self.timer.is_some_and(|timer| timer.reason == Reason::Reordering);
            restart_timer |= number == self.board.first() && !awaits_reordering;
        }
        if restart_timer {
            self.start_timer(now, Reason::Retransmission, self.rtt.rto());
        }
    }

    /// Sends one packet again; one that does not count as lost is a probe. Returns false where it cannot be sent now.
    /// Linux: `tcp_retransmit_skb`.
    pub(super) fn resend_packet(&mut self, now: Timestamp, number: u64, counted: bool) -> bool {
        let record = *self.board.record(number);
        if self.device.holds(record.serial) {
            return false;
        }
        // The receiver has shrunk its window; the first packet goes all the same, as a window probe.
        let sequence = record.sequence.max(self.unacknowledged);
        if sequence >= self.window_end() && sequence != self.unacknowledged {
            return false;
        }
        self.note_transmission(now);
        let fin = self.fin == Ending::Sent && record.end == self.written + 1;
        let payload = record.end - sequence - u64::from(fin);
        let serial = self.device.take(payload);
        let stamp = self.delivery.stamp(now, false, self.board.in_flight() + 1);
        let push = record.end >= self.written;
        self.output.push_back(Outgoing {
            sequence,
            payload: payload as u32,
            fin,
            push,
            retransmission: true,
            cwr: false,
        });
        self.board.mark_resent(number, now, serial, stamp, counted);
        self.counters.sent += 1;
        self.counters.retransmissions += 1;
        self.charge_pacer(now, payload);
        if counted {
            self.undo.count_resent(timestamp_value(now));
        }
        true
    }

    /// Linux: `tcp_cwnd_validate`.
    fn validate_window(&mut self, now: Timestamp, is_limit: bool) {
        let round = Round {
            now,
            unacknowledged: self.unacknowledged,
            next: self.next,
            outstanding: self.board.outstanding(),
            is_limit,
        };
        let shrink = self.validation.validate(&round, &self.window, self.rtt.rto());
        if shrink && self.settings.restart_after_idle && !self.own_control {
            let is_blocked = self.is_buffer_full && !self.buffer.is_writable();
            let may_shrink = self.recovery.state == State::Open && !is_blocked;
            let threshold = self.current_threshold();
            self.validation.shrink(&mut self.window, self.settings.initial_window, threshold, may_shrink, now);
        }
    }

    /// Restarts from a small window after idling (RFC 5681, 4.1). Linux: `tcp_slow_start_after_idle_check`.
    pub(super) fn restart_if_idle(&mut self, now: Timestamp) {
        if !self.settings.restart_after_idle || !self.board.is_empty() || self.own_control {
            return;
        }
        let idle = now.saturating_since(self.last_sent.unwrap_or(self.opened));
        let rto = self.rtt.rto();
        if idle > rto {
            self.congestion.handle_event(&mut self.window, Event::WindowRestart);
            let (initial, threshold) = (self.settings.initial_window, self.current_threshold());
            self.validation.restart(&mut self.window, initial, threshold, idle, rto, now);
        }
    }

    /// Whether the application limits the rate: there is less than a packet to send, nothing waits in the device, and
    /// the window has room. Linux: `tcp_rate_check_app_limited`.
    fn note_app_limit(&mut self) {
        if self.unsent() < u64::from(self.window.maximum_segment)
            && self.device.is_empty()
            && self.board.in_flight() < self.window.cwnd
            && self.board.lost() <= self.board.resent()
        {
            self.delivery.mark_app_limited(self.board.in_flight());
        }
    }

    /// Packets are at most half the largest window that the peer ever announced, so that two fit. Linux:
    /// `tcp_bound_to_half_wnd`.
    pub(super) fn fit_segments_to_window(&mut self) {
        let window = self.largest_window;
        let most = if window > SMALL_WINDOW { window / 2 } else { window };
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let full = self.settings.maximum_segment;
        self.window.maximum_segment = if most > 0 && full > most { most.max(LEAST_SEGMENT) } else { full };
        self.buffer.set_segment(self.window.maximum_segment, window);
    }
}
