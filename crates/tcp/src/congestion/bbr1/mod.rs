//! BBR, version 1 (Cardwell, Cheng, Gunn, Yeganeh and Jacobson, "BBR: Congestion-Based Congestion Control", 2016), as
//! Linux 6.18 has it in `tcp_bbr.c`.
//!
//! It sends at the rate that the path was seen to deliver, and keeps about a round trip's worth in flight: STARTUP
//! doubles the rate each round until it no longer grows, DRAIN empties the queue that this made, PROBE_BW tries a
//! higher rate in one of eight phases, and PROBE_RTT empties the pipe every ten seconds to see its delay.

mod aggregation;
pub(super) mod bandwidth;
mod long_term;

use framewire_units::{Bitrate, Duration, RandomStream, Seed, Timestamp};

use super::windowed_filter::WindowedMaximum;
use super::{Acknowledgement, CongestionControl, Control, Event, State, Window};
use aggregation::Aggregation;
use bandwidth::{Bandwidth, UNIT};
use long_term::{Counts, LongTerm, Sample, Verdict};

/// Phases of PROBE_BW. Linux: `CYCLE_LEN`.
const PHASES: usize = 8;
/// Rounds over which the largest delivery rate counts. Linux: `bbr_bw_rtts`.
const BANDWIDTH_ROUNDS: u64 = PHASES as u64 + 2;
/// For how long the least round-trip time counts. Linux: `bbr_min_rtt_win_sec`.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// Least time in PROBE_RTT. Linux: `bbr_probe_rtt_mode_ms`.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Below this pacing rate packets go one by one. Linux: `bbr_min_tso_rate`.
const SLOW_RATE: u64 = 1_200_000;
/// 2/ln 2, the least gain that doubles the rate each round. Linux: `bbr_high_gain`.
const HIGH_GAIN: u64 = UNIT * 2_885 / 1_000 + 1;
/// Its inverse drains in one round what it queued in one. Linux: `bbr_drain_gain`.
const DRAIN_GAIN: u64 = UNIT * 1_000 / 2_885;
/// Room for delayed and stretched acknowledgements. Linux: `bbr_cwnd_gain`.
const CWND_GAIN: u64 = UNIT * 2;
/// Probe, drain, cruise. Linux: `bbr_pacing_gain`.
const CYCLE: [u64; PHASES] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The first phase is any but the second. Linux: `bbr_cycle_rand`.
const FIRST_PHASES: u32 = 7;
/// Packets that keep acknowledgements coming. Linux: `bbr_cwnd_min_target`.
const LEAST_WINDOW: u32 = 4;
/// A rate that grew by this keeps STARTUP going. Linux: `bbr_full_bw_thresh`.
const GROWTH: u64 = UNIT * 5 / 4;
/// Rounds without such growth that end it. Linux: `bbr_full_bw_cnt`.
const FLAT_ROUNDS: u32 = 3;
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
pub struct Bbr1 {
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
    pub fn new(seed: Seed) -> Self {
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

    // The model, in the order of Linux' `bbr_update_model`.

    fn update_model(&mut self, window: &mut Window, ack: &Acknowledgement) {
        self.update_bandwidth(ack);
        self.update_aggregation(window, ack);
        self.update_phase(ack);
        self.check_full(ack);
        self.check_drain(window, ack);
        self.update_min_rtt(window, ack);
        self.update_gains();
    }

    fn update_bandwidth(&mut self, ack: &Acknowledgement) {
        self.is_round_start = false;
        let Some(interval) = ack.rate.interval.filter(|interval| !interval.is_zero()) else { return };
        if ack.rate.prior_delivered >= self.round_end {
            self.round_end = ack.delivered;
            self.round += 1;
            self.is_round_start = true;
            self.is_conserving = false;
        }
        self.sample_long_term(ack.newly_lost > 0, ack.rate.is_app_limited);
        let bandwidth = Bandwidth::of(u64::from(ack.rate.delivered), interval);
        // What the application limited tells of the path only where it is more than was known.
        if !ack.rate.is_app_limited || bandwidth >= self.maximum_bandwidth() {
            self.maximum.update(BANDWIDTH_ROUNDS, self.round, bandwidth.0);
        }
    }

    fn sample_long_term(&mut self, has_losses: bool, is_app_limited: bool) {
        let sample = Sample {
            has_losses,
            is_app_limited,
            is_round_start: self.is_round_start,
            is_probing: matches!(self.mode, Mode::ProbeBandwidth { .. }),
            packet: self.packet,
        };
        match self.long_term.sample(&sample, self.counts) {
            Verdict::Nothing => {}
            Verdict::Policed => self.pacing_gain = UNIT,
            Verdict::ProbeAgain => self.enter_probe_bandwidth(),
        }
    }

    fn update_aggregation(&mut self, window: &Window, ack: &Acknowledgement) {
        if ack.acked_or_sacked == 0 || ack.rate.interval.is_none_or(|interval| interval.is_zero()) {
            return;
        }
        let (time, bandwidth) = (self.counts.delivered_time, self.bandwidth());
        self.aggregation.update(time, ack.acked_or_sacked, self.is_round_start, bandwidth, window.cwnd);
    }

    fn update_phase(&mut self, ack: &Acknowledgement) {
        if let Mode::ProbeBandwidth { phase } = self.mode
            && self.is_phase_over(ack)
        {
            self.enter_phase((phase + 1) % PHASES);
        }
    }

    fn is_phase_over(&self, ack: &Acknowledgement) -> bool {
        let elapsed = self.counts.delivered_time.saturating_since(self.phase_start);
        let is_full_length = self.min_rtt.is_some_and(|min_rtt| elapsed > min_rtt);
        if self.pacing_gain == UNIT {
            return is_full_length;
        }
        let in_flight = self.in_network(ack.now, ack.prior_in_flight);
        let bandwidth = self.maximum_bandwidth();
        if self.pacing_gain > UNIT {
            // A short path may need longer to be filled; one that loses packets has no room.
            return is_full_length && (ack.newly_lost > 0 || in_flight >= self.target(bandwidth, self.pacing_gain));
        }
        is_full_length || in_flight <= self.target(bandwidth, UNIT)
    }

    fn enter_phase(&mut self, phase: usize) {
        self.mode = Mode::ProbeBandwidth { phase };
        self.phase_start = self.counts.delivered_time;
    }

    fn enter_probe_bandwidth(&mut self) {
        let before = PHASES - 1 - self.random.next_inclusive(FIRST_PHASES - 1) as usize;
        self.enter_phase((before + 1) % PHASES);
    }

    fn check_full(&mut self, ack: &Acknowledgement) {
        if self.is_full || !self.is_round_start || ack.rate.is_app_limited {
            return;
        }
        if self.maximum_bandwidth() >= self.full_bandwidth.times(GROWTH) {
            self.full_bandwidth = self.maximum_bandwidth();
            self.flat_rounds = 0;
            return;
        }
        self.flat_rounds += 1;
        self.is_full = self.flat_rounds >= FLAT_ROUNDS;
    }

    fn check_drain(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
            window.ssthresh = self.target(self.maximum_bandwidth(), UNIT);
        }
        if self.mode == Mode::Drain
            && self.in_network(ack.now, ack.in_flight) <= self.target(self.maximum_bandwidth(), UNIT)
        {
            self.enter_probe_bandwidth();
        }
    }

    fn update_min_rtt(&mut self, window: &mut Window, ack: &Acknowledgement) {
        let has_expired = ack.now > self.min_rtt_time + MIN_RTT_WINDOW;
        if let Some(rtt) = ack.rtt
            && (has_expired || self.min_rtt.is_none_or(|min_rtt| rtt <= min_rtt))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_time = ack.now;
        }
        if has_expired && !self.is_restarting && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.probe_rtt_end = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(window, ack);
        }
        if ack.rate.delivered > 0 {
            self.is_restarting = false;
        }
    }

    fn probe_rtt(&mut self, window: &mut Window, ack: &Acknowledgement) {
        if self.probe_rtt_end.is_some() {
            self.probe_rtt_round_done |= self.is_round_start;
            if self.probe_rtt_round_done {
                self.end_probe_rtt(window, ack.now);
            }
        } else if ack.in_flight <= LEAST_WINDOW {
            self.probe_rtt_end = Some(ack.now + PROBE_RTT_TIME);
            self.probe_rtt_round_done = false;
            self.round_end = ack.delivered;
        }
    }

    /// Linux: `bbr_check_probe_rtt_done`.
    fn end_probe_rtt(&mut self, window: &mut Window, now: Timestamp) {
        if self.probe_rtt_end.is_none_or(|end| now <= end) {
            return;
        }
        self.min_rtt_time = now;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.is_full {
            self.enter_probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth { .. } if self.long_term.bandwidth().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBandwidth { phase } => (CYCLE[phase], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    // What follows from the model.

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
