use std::sync::Arc;

use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use super::allowance::{Allowance, Reading};
use super::delivery::Delivery;
use super::levels::{Levels, Position};
use super::live::Live;
use super::losses::Losses;
use super::queue::Queue;
use super::rivals::Rivals;
use super::settings::{HybridError, HybridSettings};
use crate::controller::{Controller, ControllerState, Decision, Feedback, PlanRates};
use crate::path_reports::PathReports;
use crate::source::Plan;

// Where no source is named, a number was measured: see `allowance.rs` for what "flat" means.

/// What is sent above the highest plan to get ahead, and to know whether it would pass. Flat to 1.75; with 1.02 the
/// share beside 7 reno flows is lower by a tenth.
const CATCH_UP: f64 = 1.25;

/// Seconds of video in the playout buffer with which the highest level goes on at its plan; all others do at `highest_buffer_level`: flat.
const ENOUGH: f64 = 10.0;

/// Time constant of the mean of the rate that levels are chosen by: flat, but for a quarter of a level beside one CUBIC
/// flow.
const STEADY_S: f64 = 3.0;

/// Time between two choices of a level: flat.
const CHOICE: Duration = Duration::from_millis(100);

/// A frame that has less time left than this part of the player's wait and a round trip, behind the queue, is not worth
/// sending: what is lost of it could not come again in time, and what comes after it would be later still. Measured
/// beside 23 and 31 reno and 7 BBR flows and on 80 and 100 kbit/s: 0.1 makes two to five times the freezes, 0.3 and 0.5
/// up to twice.
const SPARE: f64 = 0.4;

/// Of a round trip, what counts there at most, as a part of the player's wait: where a stream begins, no more is in
/// hand.
const LONGEST_REPEAT: f64 = 0.4;

/// A player with less room than this many packets gets as little as may be.
const LEAST_ROOM: u64 = 4;

/// The rate control that goes beyond the paper's.
///
/// The decided rate is outside the plan's floor and cap in two cases. It exceeds the cap by up to a quarter, because a
/// stream that may not send faster than its plan can never get ahead, nor find out that a higher level would pass: at the
/// highest level while the viewer's playout buffer holds less than 10 s, and at any other one while it has less than
/// `highest_buffer_level`. And it falls below the floor:
/// - to `least_share` of it, where a queue proved to be its own;
/// - to 0.7 of that in every trial, and so among rivals too, for as long as the trial lasts: where the path carries less
///   than the floor, nothing could be proved at the floor.
///
/// What then does not fit is left out by whole frames, from the end of each group, see
/// [`keeps_frame`](Controller::keeps_frame).
pub struct HybridController {
    settings: HybridSettings,
    ahead: Option<Arc<dyn Plan>>,
    path: PathReports,
    queue: Queue,
    delivery: Delivery,
    losses: Losses,
    rivals: Rivals,
    allowance: Allowance,
    levels: Levels,
    /// When the first packet left.
    began: Option<Timestamp>,
    /// Of a live stream.
    live: Option<Live>,
    /// All that there is of it was sent.
    waits: bool,
    /// The mean of the rate allowed, and when it was last updated.
    steady: Option<(f64, Timestamp)>,
    chosen: Option<Timestamp>,
    free: Option<DataSize>,
    /// The rest of the group is left out.
    skips: bool,
    last: Decision,
}

impl HybridController {
    /// A controller at the start of a stream, which looks ahead in this plan; without one it takes the rates of the
    /// present to go on.
    ///
    /// # Errors
    /// When a setting is out of range.
    pub fn new(settings: HybridSettings, ahead: Option<Arc<dyn Plan>>) -> Result<Self, HybridError> {
        settings.check()?;
        Ok(Self {
            settings,
            ahead,
            path: PathReports::new(settings.payload),
            queue: Queue::default(),
            delivery: Delivery::default(),
            losses: Losses::default(),
            rivals: Rivals::default(),
            allowance: Allowance::new(settings.queue_target),
            levels: Levels::new(settings.horizon),
            began: None,
            live: None,
            waits: false,
            steady: None,
            chosen: None,
            free: None,
            skips: false,
            last: Decision { rate: Bitrate::default(), level: 0 },
        })
    }

    /// Playout buffer level of the viewer, in seconds: what was sent, less what still waits in the path and
    /// what the player has shown by now.
    fn buffer_level(&self, now: Timestamp, plan: &PlanRates<'_>) -> f64 {
        let startup = self.settings.startup.as_secs_f64();
        plan.now_in_stream.as_secs_f64() + startup - self.shown(now) - self.queue.delay()
    }

    /// What the player has shown, in seconds.
    fn shown(&self, now: Timestamp) -> f64 {
        let passed = self.began.map_or(0.0, |began| now.saturating_since(began).as_secs_f64());
        passed - self.live.map_or(0.0, |live| live.behind())
    }

    /// Bits of video that go with a packet of the equation.
    fn bits_per_rival_packet(&self) -> f64 {
        let payload = self.path.packet_bits();
        let packet = payload + self.settings.headers.as_bits() as f64;
        self.settings.rival_packet.as_bits() as f64 * payload / packet
    }

    fn bounds(&self, plan: &PlanRates<'_>) -> (f64, f64) {
        let share = if self.allowance.owns_queue() { self.settings.least_share } else { 1.0 };
        (share * bits(plan.floor()), CATCH_UP * bits(plan.cap()))
    }

    /// The rate in packets per second of the equation, and its round-trip time.
    fn in_packets(&self, plan: &PlanRates<'_>) -> (f64, Duration) {
        let rate = self.allowance.rate().unwrap_or(bits(plan.floor()));
        (rate / self.bits_per_rival_packet(), self.path.round_trip().unwrap_or(Duration::from_secs(1)))
    }

    fn update_steady(&mut self, now: Timestamp) {
        let Some(rate) = self.allowance.sustained() else { return };
        let (mean, last) = self.steady.unwrap_or((rate, now));
        let passed = now.saturating_since(last).as_secs_f64();
        let weight = if self.allowance.is_starting() { 1.0 } else { 1.0 - libm::exp(-passed / STEADY_S) };
        self.steady = Some((mean + weight * (rate - mean), now));
    }

    fn choose_level(&mut self, now: Timestamp, plan: &PlanRates<'_>) {
        let is_due = self.chosen.is_none_or(|chosen| now < chosen || now.saturating_since(chosen) >= CHOICE);
        let (Some(rate), Some((steady, _)), true) = (self.allowance.sustained(), self.steady, is_due) else { return };
        self.chosen = Some(now);
        let position = Position {
            now,
            buffer_level: self.buffer_level(now, plan),
            steady,
            rate,
            is_starting: self.allowance.is_starting(),
        };
        self.levels.update(&position, plan, self.ahead.as_deref());
    }

    /// The rate allowed, but no more than there is a use for.
    fn rate(&self, now: Timestamp, plan: &PlanRates<'_>) -> f64 {
        let (least, most) = self.bounds(plan);
        let least = self.allowance.least(least);
        let allowed = self.allowance.rate().unwrap_or(bits(plan.floor())).clamp(least, most.max(least));
        let level = self.levels.level();
        let planned = bits(plan.rate(level));
        let buffer_level = self.buffer_level(now, plan);
        let is_ahead = buffer_level >= self.settings.highest_buffer_level.as_secs_f64()
            || (level == plan.top() && buffer_level >= ENOUGH);
        match self.free {
            Some(free) if (free.as_bits() as f64) < LEAST_ROOM as f64 * self.path.packet_bits() => least,
            // Less than a second of it is free.
            Some(free) if (free.as_bits() as f64) < planned => allowed.min(planned),
            _ if is_ahead => allowed.min(planned),
            _ => allowed,
        }
    }
}

impl Controller for HybridController {
    fn handle_sent(&mut self, now: Timestamp, sequence: u32, payload: DataSize, ack_requested: bool) {
        self.began.get_or_insert(now);
        self.skips = false;
        self.path.handle_sent(now, sequence, payload, ack_requested);
    }

    fn handle_feedback(&mut self, now: Timestamp, feedback: &Feedback, plan: &PlanRates<'_>) {
        let Feedback::Control(packet) = feedback else { return };
        let Some(report) = self.path.handle(now, packet) else { return };
        self.free = packet.buffer_free;
        self.queue.update(now, report.round_trip);
        self.rivals.update(now, self.queue.round_trip(), self.queue.filled());
        self.delivery.update(packet.receiver_time, packet.size);
        let counts = (packet.packets, report.lost);
        let in_packets = self.in_packets(plan);
        if self.losses.update(now, counts, report.congestion, self.queue.is_nearly_full(), in_packets) {
            self.path.back_off();
        }
        let round_trip = in_packets.1;
        let reading = Reading {
            now,
            round_trip,
            delivered: self.delivery.rate(),
            limit: self.losses.limit(round_trip, &self.rivals) * self.bits_per_rival_packet(),
            packet_bits: self.path.packet_bits(),
            bounds: self.bounds(plan),
        };
        self.allowance.handle_report(&reading, &self.queue, bits(plan.floor()));
        self.update_steady(now);
    }

    fn handle_timeout(&mut self, now: Timestamp, plan: &PlanRates<'_>) {
        if self.path.handle_timeout(now) {
            let (rate, round_trip) = self.in_packets(plan);
            self.losses.begin_event(now, rate, round_trip);
            self.path.back_off();
            self.allowance.handle_silence(self.bounds(plan).0);
            self.update_steady(now);
        }
    }

    fn handle_idle(&mut self) {
        self.waits = true;
    }

    fn handle_more(&mut self, now: Timestamp, made: Duration) {
        self.waits = false;
        let passed = self.began.map(|began| now.saturating_since(began).as_secs_f64());
        self.live = Some(Live::come_to(self.live, made.as_secs_f64(), passed));
    }

    fn next_timeout(&self) -> Option<Timestamp> {
        self.path.next_timeout()
    }

    fn decision(&mut self, now: Timestamp, plan: &PlanRates<'_>) -> Decision {
        // The playout buffer level is no criterion while there is nothing to send.
        if !self.waits {
            self.choose_level(now, plan);
        }
        let rate = Bitrate::from_bps(libm::round(self.rate(now, plan)) as u64);
        self.last = Decision { rate, level: self.levels.level() };
        self.last
    }

    /// Frames that could no longer be in time are left out, and with them the rest of their group, which needs them:
    /// what remains is sent with the time that is gained.
    fn keeps_frame(&mut self, now: Timestamp, plan: &PlanRates<'_>) -> bool {
        let wait = self.settings.startup.as_secs_f64();
        let repeat = self.path.round_trip().map_or(0.0, |time| time.as_secs_f64().min(LONGEST_REPEAT * wait));
        self.skips |= self.buffer_level(now, plan) < SPARE * wait + repeat;
        !self.skips
    }

    fn state(&self) -> ControllerState {
        let (samples, discarded) = self.path.counts();
        let rate = |bits_per_second: f64| Bitrate::from_bps(libm::round(bits_per_second) as u64);
        ControllerState {
            name: self.allowance.name(),
            rate: self.last.rate,
            level: self.last.level,
            round_trip: self.path.round_trip(),
            round_trip_sample: self.path.sample(),
            estimate: self.allowance.rate().map(rate),
            sample: self.delivery.rate().map(rate),
            loss_event_rate: Some(self.losses.event_rate()),
            samples,
            discarded,
        }
    }
}

fn bits(rate: Bitrate) -> f64 {
    rate.as_bps() as f64
}
