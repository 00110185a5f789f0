//! Prague: answers to marks in proportion, so that a queue that marks early stays short (L4S).
//!
//! draft-briscoe-iccrg-prague-congestion-control; RFC 9331, section 4, says what it must do. Where the draft leaves numbers
//! open they are those of its implementation for Linux, `tcp_prague.c` of the L4S project, in its default mode (`rtt_scaling`
//! = rate). Where accurate feedback (RFC 9768) is not agreed on it is Reno, on packets that are ECT(0) at most (RFC 9331,
//! section 4.2). Not there: its detection of queues that mark as RFC 3168 says. After a timeout it slow-starts as any other,
//! where Linux' waits for the recovery to end.

use framewire_units::{Bitrate, Duration, Timestamp};

use super::{
    Acknowledgement, CongestionControl, Control, Deliveries, EcnUse, Event, MINIMUM_THRESHOLD, State, Window, reno,
};

/// Weight of a round's part of marked packets (section 2.3.2 of the draft: g = 1/16).
const GAIN: f64 = 1.0 / 16.0;
/// The round-trip time that shorter ones behave as (section 2.3.6). Linux: `prague_rtt_target`.
const VIRTUAL_RTT: Duration = Duration::from_millis(25);
/// Rounds after slow start from which on they do. Linux: `prague_rtt_transition`.
const TRANSITION: u32 = 500;
/// Bytes of the headers of IPv4 and TCP with timestamps, which its pacing counts. Linux: `tcp_mss_to_mtu`.
const HEADERS: u32 = 52;
/// A burst takes 2^-12 s of the pacing rate at most. Linux: `prague_burst_shift`.
const BURST_SHIFT: u32 = 12;

/// The algorithm.
#[derive(Clone, Debug)]
pub(super) struct Prague {
    /// Accurate feedback was agreed on; else it is Reno.
    is_scalable: bool,
    /// Estimated part of packets that are marked.
    alpha: f64,
    /// No mark has been seen: nothing is known of the path.
    is_unmarked: bool,
    /// Part of a packet that the window is to grow by, or packets that it is to shrink by where negative: one goes with
    /// each packet that is delivered.
    carry: f64,
    /// A loss is being repaired.
    in_loss: bool,
    /// Where the round ends, and packets delivered and marked at its beginning.
    round_end: u64,
    prior: [u64; 2],
    /// Rounds outside slow start.
    rounds: u32,
    updated: Option<Timestamp>,
    reduced: Option<Timestamp>,
    /// Delivered and marked in all, and marked by the present acknowledgement.
    counts: [u64; 2],
    newly_marked: u32,
    pacing: Option<Bitrate>,
    quantum: u32,
}

impl Default for Prague {
    fn default() -> Self {
        Self {
            is_scalable: false,
            alpha: 1.0,
            is_unmarked: true,
            carry: 0.0,
            in_loss: false,
            round_end: 1,
            prior: [1, 0],
            rounds: 0,
            updated: None,
            reduced: None,
            counts: [1, 0],
            newly_marked: 0,
            pacing: None,
            quantum: 1,
        }
    }
}

impl Prague {
    /// Round trips shorter than the virtual one behave as that.
    fn is_rtt_independent(&self, window: &Window) -> bool {
        self.rounds >= TRANSITION && !window.in_slow_start()
    }

    /// Whether a virtual round trip has passed since; always where the real one counts.
    fn has_passed(&self, window: &Window, since: Option<Timestamp>, now: Timestamp) -> bool {
        !self.is_rtt_independent(window) || since.is_none_or(|at| now.saturating_since(at) >= VIRTUAL_RTT)
    }

    /// Packets per round trip that the window grows by, when nothing is marked (section 2.3.6 of the draft).
    fn increase(&self, window: &Window, srtt: Duration) -> f64 {
        let part = srtt.as_secs_f64() / VIRTUAL_RTT.as_secs_f64();
        if !self.is_rtt_independent(window) || part >= 1.0 { 1.0 } else { part * part }
    }

    fn update_window(&mut self, window: &mut Window, ack: &Acknowledgement) {
        let unmarked = ack.acked_or_sacked.saturating_sub(self.newly_marked);
        if unmarked > 0 && !self.in_loss && ack.is_cwnd_limited {
            let left = if window.in_slow_start() { window.slow_start(unmarked) } else { unmarked };
            self.carry += f64::from(left) * self.increase(window, ack.srtt) / f64::from(window.cwnd.max(1));
        }
        for _ in 0..ack.acked_or_sacked.max(1) {
            if self.carry <= -1.0 {
                self.carry += 1.0;
                window.cwnd -= 1;
                if window.cwnd < MINIMUM_THRESHOLD {
                    window.cwnd = MINIMUM_THRESHOLD;
                    self.carry = 0.0;
                }
                window.ssthresh = window.cwnd;
            } else if self.carry >= 1.0 {
                self.carry -= 1.0;
                window.cwnd = window.cwnd.saturating_add(1);
            }
        }
    }

    /// Once per round, and per virtual round trip: alpha = (1 - g) alpha + g F (section 2.3.2 of the draft).
    fn update_alpha(&mut self, window: &Window, ack: &Acknowledgement) {
        if ack.first_unacknowledged < self.round_end || !self.has_passed(window, self.updated, ack.now) {
            return;
        }
        if !self.is_unmarked {
            let [delivered, marked] = [0, 1].map(|count| (self.counts[count] - self.prior[count]) as f64);
            self.alpha += GAIN * (marked / delivered.max(1.0) - self.alpha);
            self.alpha = self.alpha.clamp(0.0, 1.0);
            self.updated = Some(ack.now);
        }
        self.round_end = ack.next_sequence;
        self.prior = self.counts;
        self.rounds += u32::from(!window.in_slow_start());
    }

    /// At 100 % of window per round trip, at 200 % in slow start (section 2.3.7 of the draft).
    fn update_pacing(&mut self, window: &Window, ack: &Acknowledgement) {
        let srtt = ack.srtt.as_nanos().max(1);
        let bytes = u128::from(window.cwnd.max(ack.in_flight)) * u128::from(window.maximum_segment + HEADERS);
        let doubled = u128::from(window.cwnd < window.ssthresh / 2);
        let rate = (bytes << doubled) * 1_000_000_000 / srtt;
        let rate = u64::try_from(rate).unwrap_or(u64::MAX / 8);
        self.pacing = Some(Bitrate::from_bps(rate.saturating_mul(8)));
        let packets = (rate / u64::from(window.maximum_segment + HEADERS)) >> BURST_SHIFT;
        self.quantum = u32::try_from(packets).unwrap_or(u32::MAX).max(1);
    }
}

impl CongestionControl for Prague {
    fn name(&self) -> &'static str {
        "prague"
    }

    fn ecn_use(&self) -> EcnUse {
        EcnUse::Accurate
    }

    fn agree(&mut self, ecn: Option<EcnUse>) {
        self.is_scalable = ecn == Some(EcnUse::Accurate);
    }

    fn handle_deliveries(&mut self, _window: &Window, deliveries: &Deliveries) {
        self.newly_marked = (deliveries.delivered_ce - self.counts[1]) as u32;
        self.is_unmarked &= self.newly_marked == 0;
        self.counts = [deliveries.delivered, deliveries.delivered_ce];
    }

    fn control(&mut self, window: &mut Window, ack: &Acknowledgement) -> Control {
        if !self.is_scalable {
            return Control::Standard;
        }
        self.update_window(window, ack);
        self.update_alpha(window, ack);
        self.update_pacing(window, ack);
        Control::Own
    }

    fn grow(&mut self, window: &mut Window, ack: &Acknowledgement) {
        reno::grow(window, ack);
    }

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        if self.is_scalable { window.ssthresh.max(MINIMUM_THRESHOLD) } else { reno::reduced_threshold(window) }
    }

    fn handle_state(&mut self, window: &mut Window, state: State, now: Timestamp) {
        if !self.is_scalable {
            return;
        }
        match state {
            // alpha / 2 of the window, once per virtual round trip (section 2.3.3 of the draft).
            State::Reduced if self.has_passed(window, self.reduced, now) => {
                self.reduced = Some(now);
                self.carry -= self.alpha / 2.0 * f64::from(window.cwnd);
            }
            // Half of it, as any other (section 2.3.4 of the draft).
            State::Recovery => {
                self.carry -= (f64::from(window.cwnd) + self.carry).max(0.0) / 2.0;
                self.in_loss = true;
            }
            State::Open => self.in_loss = false,
            _ => {}
        }
    }

    fn handle_event(&mut self, window: &mut Window, event: Event) {
        if self.is_scalable && matches!(event, Event::Timeout { .. }) {
            window.ssthresh = reno::reduced_threshold(window);
            self.carry = 0.0;
            self.in_loss = false;
        }
    }

    fn pacing_rate(&self) -> Option<Bitrate> {
        self.pacing
    }

    fn send_quantum(&self) -> Option<u32> {
        self.is_scalable.then_some(self.quantum)
    }
}
