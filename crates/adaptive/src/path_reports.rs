//! What control packets report of the path to a controller that backs off at losses: round-trip times, losses that are
//! news, and silence. RAP and the binomial controllers share it.

use framewire_units::{DataSize, Duration, Timestamp};
use framewire_wire::vtp::ControlPacket;

use crate::controller::{ControllerState, Decision};
use crate::requests::Requests;

/// Before the first sample (RFC 6298, section 2).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);

/// The least timeout, Linux's (TCP_RTO_MIN, which it adds to the smoothed round-trip time at least): RFC 6298's 1 s is for
/// acknowledgements that may be delayed by half of it.
pub(crate) const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// The longest (RFC 6298, section 2.4).
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

/// What a packet adds to the mean payload.
const PAYLOAD_GAIN: f64 = 1.0 / 16.0;

/// The content of a control packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Report {
    /// From the packet that asked to this report.
    pub(crate) round_trip: Duration,
    /// Packets that were sent since the last report, as far as is known, and did not arrive.
    pub(crate) lost: u32,
    /// Packets were lost, and the last of what the report covers was sent after the last back-off: losses that were on
    /// the way already belong to the congestion that was answered.
    pub(crate) congestion: bool,
}

/// The state of a path, as far as control packets show it.
#[derive(Clone, Debug)]
pub(crate) struct PathReports {
    /// Number of the newest report, and of the packet that asked for it.
    last: Option<(u32, u32)>,
    requests: Requests,
    highest_sent: u32,
    /// The last packet that had been sent when the sender backed off.
    answered_until: Option<u32>,
    /// SRTT and RTTVAR in seconds (RFC 6298).
    round_trip: Option<(f64, f64)>,
    sample: Option<Duration>,
    timer: Option<Timestamp>,
    /// Timeouts in a row.
    silences: u32,
    payload: f64,
    accepted: u64,
    discarded: u64,
}

impl PathReports {
    /// Nothing is known; packets will carry about so much.
    pub(crate) fn new(payload: DataSize) -> Self {
        Self {
            last: None,
            requests: Requests::default(),
            highest_sent: 0,
            answered_until: None,
            round_trip: None,
            sample: None,
            timer: None,
            silences: 0,
            payload: payload.as_bytes().max(1) as f64,
            accepted: 0,
            discarded: 0,
        }
    }

    /// A packet left.
    pub(crate) fn handle_sent(&mut self, now: Timestamp, sequence: u32, payload: DataSize, ack_requested: bool) {
        self.requests.handle_sent(now, sequence, payload, ack_requested);
        self.highest_sent = sequence;
        self.payload = (self.payload + PAYLOAD_GAIN * (payload.as_bytes() as f64 - self.payload)).max(1.0);
        if ack_requested && self.timer.is_none() {
            self.timer = Some(now + self.timeout());
        }
    }

    /// A control packet came, whose fields are anything at all; `None` when it is old, answers no packet that asked,
    /// echoes another time stamp than was sent or one of a clock that has gone back since, or counts more than was sent.
    pub(crate) fn handle(&mut self, now: Timestamp, packet: &ControlPacket) -> Option<Report> {
        let is_newer = self.last.is_none_or(|(report, _)| !is_at_most(packet.report, report));
        if !is_newer || packet.sender_time > now || self.requests.answer(packet).is_err() {
            self.discarded += 1;
            return None;
        }
        let lost = self.lost(packet);
        self.last = Some((packet.report, packet.sequence));
        self.accepted += 1;
        (self.timer, self.silences) = (None, 0);
        let round_trip = now.saturating_since(packet.sender_time).max(Duration::from_micros(1));
        self.update_round_trip(round_trip);
        let news = self.answered_until.is_none_or(|answered| !is_at_most(packet.sequence, answered));
        Some(Report { round_trip, lost, congestion: lost > 0 && news })
    }

    /// The sender backs off: until a later packet is reported, losses are no news.
    pub(crate) fn back_off(&mut self) {
        self.answered_until = Some(self.highest_sent);
    }

    /// Whether it was silent for too long after a packet that asked for a report. Each time in a row, twice as long
    /// is waited.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) -> bool {
        let silent = self.timer.is_some_and(|at| at <= now);
        if silent {
            self.silences = (self.silences + 1).min(10);
            self.timer = None;
        }
        silent
    }

    /// When the silence is too long.
    pub(crate) fn next_timeout(&self) -> Option<Timestamp> {
        self.timer
    }

    /// SRTT.
    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.round_trip.map(|(mean, _)| Duration::from_secs_f64(mean))
    }

    /// The last sample.
    pub(crate) fn sample(&self) -> Option<Duration> {
        self.sample
    }

    /// Mean payload of a packet in bits.
    pub(crate) fn packet_bits(&self) -> f64 {
        8.0 * self.payload
    }

    /// Control packets that were believed, and that were not.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.accepted, self.discarded)
    }

    /// The state of a controller that knows no more than this: `name` is that of its state.
    pub(crate) fn state(&self, name: &'static str, last: Decision) -> ControllerState {
        ControllerState {
            name,
            rate: last.rate,
            level: last.level,
            round_trip: self.round_trip(),
            round_trip_sample: self.sample(),
            samples: self.accepted,
            discarded: self.discarded,
            ..ControllerState::default()
        }
    }

    /// Packets between the last report and this one that did not arrive. What a lost control packet counted is
    /// unknown, and nothing is lost then as far as is known.
    fn lost(&self, packet: &ControlPacket) -> u32 {
        let expected = match self.last {
            None if packet.report == 0 => packet.sequence.wrapping_add(1),
            Some((report, sequence)) if packet.report == report.wrapping_add(1) => {
                packet.sequence.wrapping_sub(sequence)
            }
            _ => return 0,
        };
        expected.saturating_sub(packet.packets)
    }

    /// RFC 6298, section 2.
    fn update_round_trip(&mut self, sample: Duration) {
        let new = sample.min(LONGEST_TIMEOUT).as_secs_f64();
        let (mean, deviation) = match self.round_trip {
            None => (new, new / 2.0),
            Some((mean, deviation)) => (mean + (new - mean) / 8.0, deviation + ((new - mean).abs() - deviation) / 4.0),
        };
        (self.round_trip, self.sample) = (Some((mean, deviation)), Some(sample));
    }

    fn timeout(&self) -> Duration {
        let timeout = self.round_trip.map_or(INITIAL_TIMEOUT, |(mean, deviation)| {
            Duration::from_secs_f64(mean + 4.0 * deviation).max(LEAST_TIMEOUT)
        });
        timeout.saturating_mul(1 << self.silences).min(LONGEST_TIMEOUT)
    }
}

/// Whether `a` is `b` or before it, modulo 2^32.
fn is_at_most(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) as i32 >= 0
}

/// Control packets for the tests of controllers.
#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Report `report` about `packets` packets up to `sequence`, sent at `sent`.
    pub(crate) fn control(report: u32, sequence: u32, packets: u32, sent: Timestamp) -> ControlPacket {
        ControlPacket {
            session: 1,
            sequence,
            sender_time: sent,
            receiver_time: sent,
            size: DataSize::from_bytes(1_000 * u64::from(packets)),
            report,
            first_arrival: sent,
            packets,
            buffer_free: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::control;
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    const SIZE: DataSize = DataSize::from_bytes(1_000);

    /// Packets 0 to `sent` left, one each millisecond; each fifth asks for a report.
    fn path(sent: u32) -> PathReports {
        let mut path = PathReports::new(SIZE);
        for sequence in 0..=sent {
            path.handle_sent(at(u64::from(sequence)), sequence, SIZE, sequence % 5 == 4);
        }
        path
    }

    #[test]
    fn losses_are_what_is_missing_between_two_reports() {
        let mut path = path(30);
        let mut congestion = |report| path.handle(at(100), &report).map(|report| report.congestion);
        assert_eq!(congestion(control(0, 4, 5, at(4))), Some(false));
        assert_eq!(congestion(control(1, 9, 4, at(9))), Some(true));
        assert_eq!(congestion(control(3, 19, 5, at(19))), Some(false), "what report 2 counted is unknown");
        assert_eq!(congestion(control(3, 24, 1, at(24))), None, "a replay");
        assert_eq!(congestion(control(4, 14, 1, at(14))), None, "it was overtaken");
        assert_eq!(path.counts(), (3, 2));
        assert_eq!(path.handle(at(23), &control(4, 24, 5, at(24))), None, "from the future");
        assert!(path.handle(at(100), &control(4, 24, 5, at(24))).is_some(), "what was refused changed nothing");
    }

    /// Each of these changed what is known of the path once.
    #[test]
    fn what_was_not_asked_or_cannot_be_changes_nothing() {
        let honest = control(0, 4, 5, at(4));
        let hostile = [
            ("never sent, and before the newest modulo 2^32", ControlPacket { sequence: 0x9000_0000, ..honest }),
            ("not sent yet", ControlPacket { sequence: 9, sender_time: at(9), ..honest }),
            ("sent, but not asked for", ControlPacket { sequence: 3, sender_time: at(3), ..honest }),
            ("the time stamp of another packet", ControlPacket { sender_time: at(3), ..honest }),
            ("a longer round trip", ControlPacket { sender_time: at(0), ..honest }),
            ("a byte too many", ControlPacket { size: DataSize::from_bytes(5_001), ..honest }),
            ("4 GB", ControlPacket { size: DataSize::from_bytes(u32::MAX.into()), ..honest }),
            ("a packet too many", ControlPacket { packets: 6, ..honest }),
        ];
        let mut path = path(4);
        path.handle_sent(at(5), 5, SIZE, false);
        for (refused, (what, packet)) in (1..).zip(hostile) {
            assert_eq!(path.handle(at(50), &packet), None, "{what}");
            assert_eq!((path.counts(), path.round_trip(), path.last), ((0, refused), None, None), "{what}");
        }
        let report = path.handle(at(50), &honest).unwrap();
        assert_eq!((report.round_trip, report.lost), (Duration::from_millis(46), 0));
        assert_eq!(path.handle(at(51), &ControlPacket { report: 1, ..honest }), None, "answered already");
    }

    /// What was counted before counts, too: a receiver cannot report the same bytes in each of its reports.
    #[test]
    fn what_is_counted_is_never_more_than_was_sent() {
        let mut path = path(14);
        let claim = |report: u32, bytes, packets| {
            let sequence = 5 * report + 4;
            ControlPacket {
                size: DataSize::from_bytes(bytes),
                ..control(report, sequence, packets, at(sequence.into()))
            }
        };
        assert!(path.handle(at(50), &claim(0, 4_000, 4)).is_some());
        assert_eq!(path.handle(at(50), &claim(1, 6_001, 6)), None);
        assert_eq!(path.handle(at(50), &claim(1, 6_000, 7)), None);
        assert!(path.handle(at(50), &claim(1, 6_000, 6)).is_some(), "late ones of the first five");
        assert_eq!(path.handle(at(50), &claim(2, 5_001, 5)), None);
        assert!(path.handle(at(50), &claim(2, 5_000, 5)).is_some());
        assert_eq!(path.counts(), (3, 3));
    }

    #[test]
    fn numbers_go_on_behind_the_highest() {
        let mut path = PathReports::new(SIZE);
        for number in 0..10 {
            path.handle_sent(at(number), (number as u32).wrapping_sub(5), SIZE, number % 5 == 4);
        }
        let first = ControlPacket { report: u32::MAX, ..control(0, u32::MAX, 4, at(4)) };
        assert!(path.handle(at(20), &first).is_some());
        assert_eq!(path.handle(at(20), &control(0, 4, 4, at(9))).unwrap().lost, 1);
    }

    #[test]
    fn losses_that_were_on_the_way_at_a_back_off_are_no_news() {
        let mut path = path(12);
        assert!(path.handle(at(100), &control(0, 4, 3, at(4))).unwrap().congestion);
        path.back_off();
        assert!(!path.handle(at(101), &control(1, 9, 1, at(9))).unwrap().congestion);
        path.handle_sent(at(102), 13, SIZE, false);
        path.handle_sent(at(102), 14, SIZE, true);
        assert!(path.handle(at(150), &control(2, 14, 1, at(102))).unwrap().congestion);
    }

    #[test]
    fn silence_is_noticed_after_a_request_and_twice_as_late_each_time() {
        let mut path = path(3);
        assert_eq!(path.next_timeout(), None, "none was asked");
        for (asked, expected) in [(0, 1_000), (1_000, 3_000), (3_000, 7_000)] {
            path.handle_sent(at(asked), 4, SIZE, true);
            assert_eq!(path.next_timeout(), Some(at(expected)));
            assert!(!path.handle_timeout(at(expected - 1)) && path.handle_timeout(at(expected)));
        }
        path.handle_sent(at(7_000), 5, SIZE, true);
        path.handle(at(7_040), &control(0, 5, 6, at(7_000))).unwrap();
        assert_eq!((path.next_timeout(), path.round_trip()), (None, Some(Duration::from_millis(40))));
        path.handle_sent(at(8_000), 6, SIZE, true);
        assert_eq!(path.next_timeout(), Some(at(8_200)));
    }
}
