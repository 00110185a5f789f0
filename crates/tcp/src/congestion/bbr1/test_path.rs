//! A path for the tests of both versions: one packet per millisecond, a queue, a delay, and a sender that keeps to
//! pacing rate and window.

use std::collections::VecDeque;

use framewire_units::{Duration, Timestamp};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::congestion::{Acknowledgement, CongestionControl, Control, Event, RateSample, State, Window};

/// Payload of each packet.
const PACKET: u32 = 1_448;
/// The time of the first packet.
pub(in crate::congestion) const START: Timestamp = Timestamp::from_secs(1);

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub(in crate::congestion) struct Packet {
    pub(in crate::congestion) sent: Timestamp,
    pub(in crate::congestion) arrival: Timestamp,
    delivered: u64,
    delivered_time: Timestamp,
    lost: u64,
    in_flight: u32,
    is_app_limited: bool,
    is_dropped: bool,
}

/// The path and what the sender knows of it; `S` is the state of the algorithm that is logged.
pub(in crate::congestion) struct Path<C, S> {
    pub(in crate::congestion) control: C,
    pub(in crate::congestion) window: Window,
    pub(in crate::congestion) now: Timestamp,
    pub(in crate::congestion) delay: Duration,
    /// Time that the link takes for a packet.
    pub(in crate::congestion) service: Duration,
    /// Packets that the queue holds.
    pub(in crate::congestion) queue: u64,
    /// Every so many packets one is lost, whatever the queue; zero for none.
    pub(in crate::congestion) loss_interval: u64,
    pub(in crate::congestion) flight: VecDeque<Packet>,
    pub(in crate::congestion) delivered: u64,
    pub(in crate::congestion) lost: u64,
    sent: u64,
    delivered_time: Timestamp,
    link_free: Timestamp,
    next_send: Timestamp,
    pub(in crate::congestion) app_limited: u64,
    /// The application has nothing to send.
    pub(in crate::congestion) is_idle: bool,
    state: fn(&C) -> S,
    /// When which state was entered.
    pub(in crate::congestion) log: Vec<(Timestamp, S)>,
    pub(in crate::congestion) rtts: Vec<Duration>,
    recovery_end: Option<u64>,
}

impl<C: CongestionControl, S: Copy + PartialEq> Path<C, S> {
    pub(in crate::congestion) fn new(mut control: C, state: fn(&C) -> S) -> Self {
        let mut window = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
            prior_cwnd: 0,
            flight_size: 0,
            maximum_segment: PACKET,
        };
        control.start(&mut window, Duration::from_millis(40), START);
        let first = state(&control);
        Self {
            control,
            window,
            now: START,
            delay: Duration::from_millis(40),
            service: Duration::from_millis(1),
            queue: u64::MAX,
            loss_interval: 0,
            flight: VecDeque::new(),
            delivered: 1,
            lost: 0,
            sent: 0,
            delivered_time: START,
            link_free: START,
            next_send: START,
            app_limited: 0,
            is_idle: false,
            state,
            log: vec![(START, first)],
            rtts: Vec::new(),
            recovery_end: None,
        }
    }

    pub(in crate::congestion) fn in_flight(&self) -> u32 {
        self.flight.len() as u32
    }

    pub(in crate::congestion) fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            let can_send = !self.is_idle && self.in_flight() < self.window.cwnd;
            let send = can_send.then_some(self.next_send.max(self.now));
            let arrive = self.flight.iter().find(|packet| !packet.is_dropped).map(|packet| packet.arrival);
            match (send, arrive) {
                (Some(send), arrive) if arrive.is_none_or(|arrive| send <= arrive) => {
                    self.now = send;
                    self.send();
                }
                (_, Some(arrive)) => {
                    self.now = arrive;
                    self.acknowledge();
                }
                _ => self.now = end,
            }
        }
    }

    pub(in crate::congestion) fn send(&mut self) {
        if self.flight.is_empty() {
            self.delivered_time = self.now;
            let was_app_limited = self.app_limited > 0;
            let event = Event::TransmitStart { now: self.now, last_sent: None, was_app_limited };
            self.control.handle_event(&mut self.window, event);
        }
        self.sent += 1;
        let waiting = self.link_free.saturating_since(self.now).as_nanos() / self.service.as_nanos();
        let is_hit = self.loss_interval > 0 && self.sent.is_multiple_of(self.loss_interval);
        let is_dropped = is_hit || waiting as u64 >= self.queue;
        if !is_dropped {
            self.link_free = self.link_free.max(self.now) + self.service;
        }
        self.flight.push_back(Packet {
            sent: self.now,
            arrival: self.link_free + self.delay,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            lost: self.lost,
            in_flight: self.in_flight() + 1,
            is_app_limited: self.app_limited > 0,
            is_dropped,
        });
        let rate = self.control.pacing_rate().expect("it paces").as_bps();
        let time = Duration::from_nanos(u64::from(PACKET) * 8 * 1_000_000_000 / rate);
        self.next_send = self.next_send.max(self.now) + time;
        self.control.handle_departure(self.next_send);
    }

    /// The first packet that arrives is acknowledged; what was dropped before it is found lost, and a round of
    /// recovery begins.
    pub(in crate::congestion) fn acknowledge(&mut self) -> Acknowledgement {
        let lost = self.flight.iter().take_while(|packet| packet.is_dropped).count() as u32;
        if lost > 0 && self.recovery_end.is_none() {
            self.control.reduced_threshold(&self.window, self.now);
            self.recovery_end = Some(self.delivered + u64::from(self.in_flight()));
        }
        if self.recovery_end.is_some_and(|end| self.delivered >= end) {
            self.recovery_end = None;
        }
        let state = if self.recovery_end.is_some() { State::Recovery } else { State::Open };
        self.acknowledge_in(lost, state)
    }

    /// The first `lost` packets are found lost, the next is acknowledged, and loss recovery is in `state`.
    pub(in crate::congestion) fn acknowledge_in(&mut self, lost: u32, state: State) -> Acknowledgement {
        let prior_in_flight = self.in_flight();
        self.flight.drain(..lost as usize);
        self.lost += u64::from(lost);
        let packet = self.flight.pop_front().expect("something is in flight");
        self.delivered += 1;
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        self.delivered_time = self.now;
        let rtt = self.now.saturating_since(packet.sent);
        self.rtts.push(rtt);
        let ack = Acknowledgement {
            now: self.now,
            acked: 1,
            acked_or_sacked: 1,
            newly_lost: lost,
            rtt: Some(rtt),
            srtt: rtt,
            min_rtt: None,
            prior_in_flight,
            in_flight: self.in_flight(),
            is_cwnd_limited: prior_in_flight >= self.window.cwnd,
            delivered: self.delivered,
            lost: self.lost,
            next_sequence: 0,
            first_unacknowledged: 0,
            rate: RateSample {
                delivered: (self.delivered - packet.delivered) as u32,
                prior_delivered: packet.delivered,
                prior_time: packet.delivered_time,
                interval: Some(self.now.saturating_since(packet.delivered_time)),
                is_app_limited: packet.is_app_limited,
                in_flight_at_send: packet.in_flight,
                lost_at_send: packet.lost,
                delivered_ce: 0,
            },
            ecn_echo: false,
            state,
        };
        assert_eq!(self.control.control(&mut self.window, &ack), Control::Own);
        if self.control.is_holding_back() {
            self.limit();
        }
        let state = (self.state)(&self.control);
        if self.log.last().is_none_or(|(_, last)| *last != state) {
            self.log.push((self.now, state));
        }
        ack
    }

    /// The application has nothing more to send for now.
    pub(in crate::congestion) fn limit(&mut self) {
        self.app_limited = (self.delivered + u64::from(self.in_flight())).max(1);
    }

    /// When a state that `is` was entered.
    pub(in crate::congestion) fn entered(&self, is: impl Fn(S) -> bool) -> Vec<Timestamp> {
        self.log.iter().filter(|(_, state)| is(*state)).map(|(at, _)| *at).collect()
    }

    /// Runs for a while; returns packets per millisecond and the mean round-trip time.
    pub(in crate::congestion) fn measure(&mut self, time: Duration) -> (f64, Duration) {
        let (delivered, seen) = (self.delivered, self.rtts.len());
        self.run_for(time);
        let rtts = &self.rtts[seen..];
        let mean = rtts.iter().sum::<Duration>() / rtts.len() as u32;
        ((self.delivered - delivered) as f64 / time.as_millis() as f64, mean)
    }
}

/// Packets acknowledged, milliseconds, packets lost, and what else happens.
pub(in crate::congestion) type Happening = (u32, u64, u32, u8);

/// Anything, in any order.
pub(in crate::congestion) fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    proptest::collection::vec((0u32..40, 0u64..2_000, 0u32..5, 0u8..8), 1..300)
}

/// Whatever happens: no panic, a window of `least` packets or more, a rate that is never zero.
pub(in crate::congestion) fn survive<C: CongestionControl, S: Copy + PartialEq>(
    mut path: Path<C, S>,
    least: u32,
    happenings: Vec<Happening>,
) -> Result<(), TestCaseError> {
    for (acked, millis, lost, kind) in happenings {
        path.now += Duration::from_millis(millis);
        for _ in 0..=acked + lost {
            path.send();
        }
        match kind {
            0 => path.control.handle_state(&mut path.window, State::Loss, path.now),
            1 => path.window.cwnd = path.control.undo(&path.window),
            2 => drop(path.control.reduced_threshold(&path.window, path.now)),
            _ => {}
        }
        path.acknowledge_in(lost, if kind > 4 { State::Open } else { State::Recovery });
        prop_assert!(path.window.cwnd >= least);
        prop_assert!(path.window.cwnd < 100_000, "{}", path.window.cwnd);
        prop_assert!(path.control.pacing_rate().is_some_and(|rate| rate.as_bps() > 0));
    }
    Ok(())
}
