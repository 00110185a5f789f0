//! How much is sent at once, and how soon after: pacing, bursts, and what may lie in the sender's own device (TCP small
//! queues). Linux: `tcp_update_pacing_rate`, `tcp_pacing_check`, `tcp_tso_autosize`, `tcp_tso_should_defer`,
//! `tcp_small_queue_check`.
//!
//! Linux hands packets to the device in bursts ("TSO packets") even where the device takes them one by one; the sizes
//! of the bursts decide how packets follow each other, so they are as there.

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use super::Sender;
use crate::congestion::State;

/// Pacing rate against window per round-trip time, in percent: in slow start, and later. Linux:
/// `tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`.
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;
/// A burst takes 2^-10 s, about a millisecond, of the pacing rate. Linux: `sk_pacing_shift`.
const BURST_SHIFT: u32 = 10;
/// Packets of a burst at least. Linux: `tcp_min_tso_segs`.
const MIN_BURST: u32 = 2;
/// Bytes of a burst at most. Linux: `sk_gso_max_size`, less the header.
const MAX_BURST_BYTES: u64 = 65_536 - 193;
/// Near peers get larger bursts: they halve for each 2^9 us of round-trip time. Linux: `tcp_tso_rtt_log`.
const BURST_RTT_SHIFT: u32 = 9;
/// The first packets are not paced. Linux: `tcp_update_skb_after_send`.
const UNPACED_PACKETS: u64 = 10;
/// A burst may wait for this part of the window to open. Linux: `tcp_tso_win_divisor`.
const DEFER_DIVISOR: u64 = 3;
/// How long a burst waits at most for more. Linux: `tcp_tso_should_defer`.
const DEFER_TIME: Duration = Duration::from_millis(1);

/// The pacing rate and when it allows the next packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// In bytes per second. Linux: `sk_pacing_rate`.
    rate: u64,
    /// The algorithm asks for packets to be paced; else the rate only sizes bursts.
    is_active: bool,
    /// When the next packet may leave, or the last one left. Linux: `tcp_wstamp_ns`.
    next_send: Timestamp,
    /// The timer, while something waits for it.
    timer: Option<Timestamp>,
}

impl Pacer {
    pub(super) fn new() -> Self {
        Self { rate: u64::MAX, is_active: false, next_send: Timestamp::ZERO, timer: None }
    }

    /// The rate.
    pub(super) fn rate(&self) -> Bitrate {
        Bitrate::from_bps(self.rate.saturating_mul(8))
    }

    /// When the pacer lets the next packet go, if one waits for it.
    pub(super) fn blocked_until(&self) -> Option<Timestamp> {
        self.timer
    }

    /// How long the pacer keeps the next packet.
    pub(super) fn delay(&self, now: Timestamp) -> Duration {
        if self.is_active { self.next_send.saturating_since(now) } else { Duration::ZERO }
    }

    /// Whether a packet has to wait; if so, the timer runs.
    fn blocks(&mut self, now: Timestamp) -> bool {
        let blocks = self.is_active && self.next_send > now;
        self.timer = blocks.then_some(self.next_send);
        blocks
    }

    /// A burst of `bytes` leaves, after which `sent` packets have been sent in all.
    fn charge(&mut self, now: Timestamp, bytes: u64, sent: u64) {
        let prior = self.next_send;
        self.next_send = prior.max(now);
        if self.is_active && self.rate != u64::MAX && self.rate > 0 && sent >= UNPACED_PACKETS {
            let time = Duration::from_nanos((u128::from(bytes) * 1_000_000_000 / u128::from(self.rate)) as u64);
            // A packet that is late is made up for by half at most.
            let credit = self.next_send.saturating_since(prior);
            self.next_send += time - credit.min(time / 2);
        }
    }
}

/// What lies in the sender's own device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Device {
    /// What the kernel charges for a packet beside its payload.
    overhead: u64,
    limit: u64,
    /// Bytes that are charged. Linux: `sk_wmem_alloc`.
    held: u64,
    /// Packets given to the device, and given back.
    sent: u64,
    released: u64,
    /// Something waits for the device. Linux: TSQ_THROTTLED.
    throttles: bool,
}

impl Device {
    pub(super) fn new(overhead: DataSize, limit: DataSize) -> Self {
        let (overhead, limit) = (overhead.as_bytes(), limit.as_bytes());
        Self { overhead, limit, held: 0, sent: 0, released: 0, throttles: false }
    }

    /// A packet is given to the device; returns its serial number, zero for one without payload, which does not count.
    pub(super) fn take(&mut self, payload: u64) -> u64 {
        if payload == 0 {
            return 0;
        }
        self.held += payload + self.overhead;
        self.sent += 1;
        self.sent
    }

    /// Whether the device still has the packet with this serial number. Linux: `skb_still_in_host_queue`.
    pub(super) fn holds(&mut self, serial: u64) -> bool {
        let holds = serial > self.released;
        self.throttles |= holds;
        holds
    }

    /// Whether the device holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.sent == self.released
    }

    /// Whether a small write should wait for the device, to fill its packet. Linux: `tcp_should_autocork`.
    pub(super) fn corks(&mut self, unsent: u64) -> bool {
        let corks = self.held > unsent + self.overhead;
        self.throttles |= corks;
        corks
    }

    /// The device is done with a packet. Returns true where something waited for that.
    fn release(&mut self, payload: u64) -> bool {
        if payload == 0 || self.is_empty() {
            return false;
        }
        self.held = self.held.saturating_sub(payload + self.overhead);
        self.released += 1;
        std::mem::take(&mut self.throttles)
    }
}

impl Sender {
    /// Linux: `tcp_update_pacing_rate`; `sk_pacing_rate` of an algorithm that sets it.
    pub(super) fn update_pacing(&mut self) {
        if let Some(rate) = self.congestion.pacing_rate() {
            self.pacer.is_active = true;
            self.pacer.rate = rate.as_bps() / 8;
            return;
        }
        let srtt = self.rtt.srtt().as_nanos() as u64;
        if srtt == 0 {
            return;
        }
        let is_slow_start = self.window.cwnd < self.window.ssthresh / 2;
        let percent = if is_slow_start { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
        let packets = u64::from(self.window.cwnd.max(self.board.outstanding()));
        let bytes = packets * u64::from(self.window.maximum_segment) * percent;
        self.pacer.rate = bytes.saturating_mul(1_000_000_000 / 100) / srtt;
    }

    /// Packets of a burst. Linux: `tcp_tso_segs`.
    pub(super) fn burst(&self, mss: u64) -> u64 {
        let mut bytes = self.pacer.rate >> BURST_SHIFT;
        let rtt = self.rtt.min_rtt().map_or(u64::MAX, |rtt| rtt.as_micros() as u64) >> BURST_RTT_SHIFT;
        if rtt < u64::from(u32::BITS) {
            bytes = bytes.saturating_add(MAX_BURST_BYTES >> rtt);
        }
        let least = self.congestion.send_quantum().unwrap_or(MIN_BURST).max(1);
        (bytes.min(MAX_BURST_BYTES) / mss).max(u64::from(least)).min(u64::from(self.settings.offload_packets))
    }

    /// Whether the pacer keeps packets back.
    pub(super) fn is_paced_out(&mut self, now: Timestamp) -> bool {
        self.pacer.blocks(now)
    }

    /// A burst of `bytes` leaves.
    pub(super) fn charge_pacer(&mut self, now: Timestamp, bytes: u64) {
        self.pacer.charge(now, bytes, self.counters.sent);
        self.congestion.handle_departure(self.pacer.next_send);
    }

    /// Whether the device holds so much that `bytes` more have to wait; retransmissions may double it.
    pub(super) fn is_throttled(&mut self, bytes: u64, is_retransmission: bool) -> bool {
        let mut limit = (2 * (bytes + self.device.overhead)).max(self.pacer.rate >> BURST_SHIFT);
        if !self.pacer.is_active {
            limit = limit.min(self.device.limit);
        }
        if is_retransmission {
            limit *= 2;
        }
        if self.device.held <= limit || self.board.is_empty() {
            return false;
        }
        self.device.throttles = true;
        true
    }

    /// Whether a burst should wait until more of the window is open. Returns also whether the congestion window is what
    /// it waits for.
    pub(super) fn should_defer(&self, now: Timestamp, head: u64, burst: u64) -> (bool, bool) {
        const NOW: (bool, bool) = (false, false);
        let is_recovering = matches!(self.recovery.state, State::Recovery | State::Loss);
        if is_recovering || now.saturating_since(self.pacer.next_send) > DEFER_TIME {
            return NOW;
        }
        let send_window = self.window_end() - self.next;
        let full = u64::from(self.window.maximum_segment);
        let congestion_window = u64::from(self.window.cwnd - self.board.in_flight()) * full;
        let limit = send_window.min(congestion_window);
        let is_tail = head == self.unsent();
        if limit >= burst * full || (!is_tail && limit >= head) {
            return NOW;
        }
        if limit >= self.send_window.min(u64::from(self.window.cwnd) * full) / DEFER_DIVISOR {
            return NOW;
        }
        let Some(front) = self.board.front() else { return NOW };
        let srtt = self.rtt.srtt();
        // The next acknowledgement is too far away to wait for.
        if (front.sent + srtt).saturating_since(now) > (srtt / 2).min(DEFER_TIME) {
            return NOW;
        }
        if congestion_window < send_window {
            if congestion_window <= head {
                return (true, true);
            }
        } else if send_window <= head {
            return (true, false);
        }
        // What waits now gets no more.
        (!self.ends_here(), false)
    }

    /// The device is done with a packet. Linux: `tcp_wfree`, `tcp_tsq_handler`.
    pub(crate) fn handle_released(&mut self, now: Timestamp, payload: u32) {
        if self.device.release(u64::from(payload)) {
            self.send_what_waited(now);
        }
    }

    /// The pacer's time has come. Linux: `tcp_pace_kick`.
    pub(super) fn handle_pacing_timeout(&mut self, now: Timestamp) {
        self.pacer.timer = None;
        self.send_what_waited(now);
    }

    fn send_what_waited(&mut self, now: Timestamp) {
        if self.board.lost() > self.board.resent() && self.window.cwnd > self.board.in_flight() {
            self.resend_lost(now);
        }
        self.send_new(now, self.settings.no_delay, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_burst_keeps_the_next_one_for_its_time() {
        let mut pacer = Pacer { rate: 1_000_000, is_active: true, next_send: Timestamp::ZERO, timer: None };
        let now = Timestamp::from_millis(100);
        assert!(!pacer.blocks(now));
        // 2,000 bytes take 2 ms; the credit of the long pause halves that.
        pacer.charge(now, 2000, 11);
        assert_eq!(pacer.next_send, Timestamp::from_millis(101));
        assert!(pacer.blocks(now));
        assert_eq!(pacer.blocked_until(), Some(Timestamp::from_millis(101)));
        let then = Timestamp::from_millis(101);
        assert!(!pacer.blocks(then));
        pacer.charge(then, 2000, 13);
        assert_eq!(pacer.next_send, Timestamp::from_millis(103));
    }

    #[test]
    fn the_first_packets_are_not_paced() {
        let mut pacer = Pacer { rate: 1_000, is_active: true, next_send: Timestamp::ZERO, timer: None };
        pacer.charge(Timestamp::from_millis(1), 1448, 9);
        assert!(!pacer.blocks(Timestamp::from_millis(1)));
    }

    #[test]
    fn the_device_gives_back_what_it_was_given() {
        let mut device = Device::new(DataSize::from_bytes(896), DataSize::from_bytes(1 << 22));
        let first = device.take(1448);
        let second = device.take(1448);
        assert!(device.holds(first) && device.holds(second));
        assert!(device.release(1448), "something waited");
        assert!(!device.holds(first) && device.holds(second));
        assert!(!device.release(0), "acknowledgements do not count");
        assert!(device.holds(second));
        device.release(1448);
        assert!(device.is_empty());
        assert_eq!(device.held, 0);
    }
}
