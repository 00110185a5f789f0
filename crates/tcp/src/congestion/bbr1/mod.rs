//! BBR, version 1 (Cardwell, Cheng, Gunn, Yeganeh and Jacobson, "BBR: Congestion-Based Congestion Control", 2016), as
//! Linux 6.18 has it in `tcp_bbr.c`.
//!
//! It sends at the rate that the path was seen to deliver, and keeps about a round trip's worth in flight: STARTUP
//! doubles the rate each round until it no longer grows, DRAIN empties the queue that this made, PROBE_BW tries a
//! higher rate in one of eight phases, and PROBE_RTT empties the pipe every ten seconds to see its delay.

mod aggregation;
pub(super) mod bandwidth;
mod long_term;
mod model;

use framewire_units::{Bitrate, Duration, RandomStream, Seed, Timestamp};

use super::windowed_filter::WindowedMaximum;
use super::{Acknowledgement, CongestionControl, Control, Event, State, Window};
use aggregation::Aggregation;
use bandwidth::{Bandwidth, UNIT};
use long_term::{Counts, LongTerm};

/// Phases of PROBE_BW. Linux: `CYCLE_LEN`.
const PHASES: usize = 8;
/// Below this pacing rate packets go one by one. Linux: `bbr_min_tso_rate`.
const SLOW_RATE: u64 = 1_200_000;
/// 2/ln 2, the least gain that doubles the rate each round. Linux: `bbr_high_gain`.
const HIGH_GAIN: u64 = UNIT * 2_885 / 1_000 + 1;
/// Packets that keep acknowledgements coming. Linux: `bbr_cwnd_min_target`.
const LEAST_WINDOW: u32 = 4;
/// Linux: `TCP_INIT_CWND`.
const INITIAL_WINDOW: u32 = 10;
/// Stands in for the round-trip time before there is one. Linux: `bbr_init_pacing_rate_from_rtt`.
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// A burst takes 2^-10 s of the pacing rate. Linux: `sk_pacing_shift`.
const BURST_SHIFT: u32 = 10;
/// Bytes of a burst at most. Linux: `GSO_LEGACY_MAX_SIZE` less a header.
const LARGEST_BURST: u64 = 65_536 - 1 - 192;
/// Packets of a burst at most. Linux: `bbr_tso_segs_goal`.
const MOST_PACKETS: u64 = 0x7f;

/// Linux: `enum bbr_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth { phase: usize },
    ProbeRtt,
}

/// Linux: `struct bbr`.
#[derive(Clone, Debug)]
pub(super) struct Bbr1 {
    random: RandomStream,
    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    maximum: WindowedMaximum,
    long_term: LongTerm,
    aggregation: Aggregation,
    round: u64,
    /// A round ends when this count of delivered packets was reached before a packet was sent.
    round_end: u64,
    is_round_start: bool,
    phase_start: Timestamp,
    min_rtt: Option<Duration>,
    min_rtt_time: Timestamp,
    /// When PROBE_RTT may end; `None` before few enough packets are in flight.
    probe_rtt_end: Option<Timestamp>,
    probe_rtt_round_done: bool,
    full_bandwidth: Bandwidth,
    flat_rounds: u32,
    is_full: bool,
    last_state: State,
    is_conserving: bool,
    is_restarting: bool,
    prior_cwnd: u32,
    has_seen_rtt: bool,
    rate: Bitrate,
    departure: Timestamp,
    counts: Counts,
    packet: u32,
}

impl Bbr1 {
    /// A new connection's. The first phase of each PROBE_BW is drawn from `seed`.
    pub(super) fn new(seed: Seed) -> Self {
        Self {
            random: seed.stream("bbr", &[]),
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            maximum: WindowedMaximum::default(),
            long_term: LongTerm::new(),
            aggregation: Aggregation::new(),
            round: 0,
            round_end: 0,
            is_round_start: false,
            phase_start: Timestamp::ZERO,
            min_rtt: None,
            min_rtt_time: Timestamp::ZERO,
            probe_rtt_end: None,
            probe_rtt_round_done: false,
            full_bandwidth: Bandwidth::default(),
            flat_rounds: 0,
            is_full: false,
            last_state: State::Open,
            is_conserving: false,
            is_restarting: false,
            prior_cwnd: 0,
            has_seen_rtt: false,
            rate: Bitrate::default(),
            departure: Timestamp::ZERO,
            counts: Counts { delivered_time: Timestamp::ZERO, delivered: 0, lost: 0 },
            packet: 1,
        }
    }

    fn maximum_bandwidth(&self) -> Bandwidth {
        Bandwidth(self.maximum.get())
    }

    /// The policer's rate while one is found, else the largest of the last rounds. Linux: `bbr_bw`.
    fn bandwidth(&self) -> Bandwidth {
        self.long_term.bandwidth().unwrap_or(self.maximum_bandwidth())
    }

    /// Packets in the network when the pacer lets the next burst go. Linux: `bbr_packets_in_net_at_edt`.
    fn in_network(&self, now: Timestamp, in_flight: u32) -> u32 {
        let delivered = self.bandwidth().packets_in(self.departure.saturating_since(now));
        let burst = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        in_flight.saturating_add(burst).saturating_sub(u32::try_from(delivered).unwrap_or(u32::MAX))
    }

    /// Linux: `bbr_bdp`.
    fn bandwidth_delay_product(&self, bandwidth: Bandwidth, gain: u64) -> u32 {
        self.min_rtt.map_or(INITIAL_WINDOW, |min_rtt| bandwidth.packets_in_with_gain(min_rtt, gain))
    }

    /// Room for bursts at both ends, and an even number, so that fewer acknowledgements are delayed. Linux:
    /// `bbr_quantization_budget`.
    fn with_bursts(&self, window: u32) -> u32 {
        let window = window.saturating_add(3 * self.burst()).saturating_add(1) & !1;
        if self.mode == (Mode::ProbeBandwidth { phase: 0 }) { window.saturating_add(2) } else { window }
    }

    /// Packets to have in flight. Linux: `bbr_inflight`.
    fn target(&self, bandwidth: Bandwidth, gain: u64) -> u32 {
        self.with_bursts(self.bandwidth_delay_product(bandwidth, gain))
    }

    /// Linux: `bbr_tso_segs_goal`.
    fn burst(&self) -> u32 {
        let bytes = ((self.rate.as_bps() / 8) >> BURST_SHIFT).min(LARGEST_BURST);
        (bytes / u64::from(self.packet)).max(u64::from(self.least_burst())).min(MOST_PACKETS) as u32
    }

    /// Linux: `bbr_min_tso_segs`.
    fn least_burst(&self) -> u32 {
        if self.rate.as_bps() < SLOW_RATE { 1 } else { 2 }
    }

    /// Linux: `bbr_init_pacing_rate_from_rtt`.
    fn start_rate(&mut self, cwnd: u32, srtt: Duration) {
        self.has_seen_rtt |= !srtt.is_zero();
        let rtt = if srtt.is_zero() { NOMINAL_RTT } else { srtt };
        self.rate = Bandwidth::of(u64::from(cwnd), rtt).pacing_rate(self.packet, HIGH_GAIN);
    }

    /// Linux: `bbr_set_pacing_rate`.
    fn set_rate(&mut self, gain: u64) {
        let rate = self.bandwidth().pacing_rate(self.packet, gain);
        if self.is_full || rate > self.rate {
            self.rate = rate;
        }
    }

    /// Linux: `bbr_save_cwnd`.
    fn save_window(&mut self, window: &Window) {
        let is_good = self.last_state < State::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if is_good { window.cwnd } else { self.prior_cwnd.max(window.cwnd) };
    }

    /// Linux: `bbr_set_cwnd`.
    fn set_window(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if ack.acked_or_sacked > 0 {
            window.cwnd = self.next_window(window.cwnd, ack);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(LEAST_WINDOW);
        }
    }

    fn next_window(&mut self, cwnd: u32, ack: &Acknowledgement) -> u32 {
        let acked = ack.acked_or_sacked;
        let cwnd = self.recovery_window(cwnd, ack);
        if self.is_conserving {
            return cwnd.max(ack.in_flight + acked);
        }
        let bandwidth = self.bandwidth();
        let mut target = self.bandwidth_delay_product(bandwidth, self.cwnd_gain);
        if self.is_full {
            target = target.saturating_add(self.aggregation.window(bandwidth));
        }
        let target = self.with_bursts(target);
        let grown = cwnd.saturating_add(acked);
        let cwnd = if self.is_full {
            grown.min(target)
        } else if cwnd < target || ack.delivered < u64::from(INITIAL_WINDOW) {
            grown
        } else {
            cwnd
        };
        cwnd.max(LEAST_WINDOW)
    }

    /// In the first round of recovery a packet is sent for each that arrives; later two, at most. Linux:
    /// `bbr_set_cwnd_to_recover_or_restore`.
    fn recovery_window(&mut self, cwnd: u32, ack: &Acknowledgement) -> u32 {
        let mut cwnd = if ack.newly_lost > 0 { cwnd.saturating_sub(ack.newly_lost).max(1) } else { cwnd };
        let last = std::mem::replace(&mut self.last_state, ack.state);
        if ack.state == State::Recovery && last != State::Recovery {
            self.is_conserving = true;
            self.round_end = ack.delivered;
            cwnd = ack.in_flight + ack.acked_or_sacked;
        } else if last >= State::Recovery && ack.state < State::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.is_conserving = false;
        }
        cwnd
    }
}

impl CongestionControl for Bbr1 {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn start(&mut self, window: &mut Window, srtt: Duration, now: Timestamp) {
        self.packet = window.maximum_segment.max(1);
        self.min_rtt = Some(srtt).filter(|srtt| !srtt.is_zero());
        self.min_rtt_time = now;
        self.counts.delivered_time = now;
        self.long_term.reset(self.counts);
        self.aggregation.restart(now);
        window.ssthresh = u32::MAX;
        self.start_rate(window.cwnd, srtt);
    }

    /// Linux: `bbr_main`.
    fn control(&mut self, window: &mut Window, ack: &Acknowledgement) -> Control {
        self.packet = window.maximum_segment.max(1);
        if ack.acked_or_sacked > 0 {
            self.counts.delivered_time = ack.now;
        }
        self.counts.delivered = ack.delivered;
        self.counts.lost = ack.lost;
        self.update_model(window, ack);
        if !self.has_seen_rtt && !ack.srtt.is_zero() {
            self.start_rate(window.cwnd, ack.srtt);
        }
        self.set_rate(self.pacing_gain);
        self.set_window(window, ack);
        Control::Own
    }

    fn grow(&mut self, _window: &mut Window, _ack: &Acknowledgement) {}

    fn reduced_threshold(&mut self, window: &Window, _now: Timestamp) -> u32 {
        self.save_window(window);
        window.ssthresh
    }

    fn undo(&mut self, window: &Window) -> u32 {
        // The reduction was wrong: what was judged of the path in its light may be, too.
        self.full_bandwidth = Bandwidth::default();
        self.flat_rounds = 0;
        self.long_term.reset(self.counts);
        window.cwnd
    }

    fn handle_state(&mut self, _window: &mut Window, state: State, _now: Timestamp) {
        if state == State::Loss {
            self.last_state = State::Loss;
            self.full_bandwidth = Bandwidth::default();
            // A timeout ends the round.
            self.is_round_start = true;
            self.sample_long_term(true, false);
        }
    }

    fn handle_event(&mut self, window: &mut Window, event: Event) {
        if let Event::TransmitStart { now, was_app_limited: true, .. } = event {
            self.is_restarting = true;
            self.aggregation.restart(now);
            match self.mode {
                // More speed than the path is known to have would only fill its queue.
                Mode::ProbeBandwidth { .. } => self.set_rate(UNIT),
                Mode::ProbeRtt => self.end_probe_rtt(window, now),
                Mode::Startup | Mode::Drain => {}
            }
        }
    }

    fn handle_departure(&mut self, next: Timestamp) {
        self.departure = next;
    }

    fn pacing_rate(&self) -> Option<Bitrate> {
        Some(self.rate)
    }

    fn send_quantum(&self) -> Option<u32> {
        Some(self.least_burst())
    }

    fn send_buffer_windows(&self) -> u32 {
        // It may slow-start even in recovery.
        3
    }

    fn is_holding_back(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}

#[cfg(test)]
pub(super) mod test_path;
#[cfg(test)]
mod tests;
