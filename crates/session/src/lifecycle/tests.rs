//! The ends of flows in virtual time: what they ask for, when they end, and how.

use framewire_media::Movie;
use framewire_recording::Samples;
use framewire_recording::record::{FlowSample, FlowStatus};
use framewire_scenario::Scenario;
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Duration, Timestamp};

use super::*;
use crate::half::{Arrival, ChannelId, ChannelSet, Channels, Wait};
use crate::plan::SendingPlan;
use crate::{FlowSetup, MOVIE_CHANNEL, ReceiverSession, SenderSession};

pub(super) const FRAMES: u32 = 25;
pub(super) const FRAME_SIZE: usize = 5_000;

pub(super) fn ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A second of I pictures of MPEG-2 of one slice (ISO/IEC 13818-2, 6.2), at 25 Hz.
fn movie() -> Movie {
    let mut bytes = vec![0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18, 0, 0, 1, 0xb8, 0, 8, 0, 0x40];
    for reference in 0..FRAMES as u8 {
        let start = bytes.len();
        bytes.extend([0, 0, 1, 0, reference >> 2, reference << 6 | 0x0f, 0xff, 0xf8, 0, 0, 1, 1, 0x13, 0x80]);
        bytes.resize(start + FRAME_SIZE, 0x55);
    }
    Movie::parse(bytes.into()).expect("it is a movie")
}

fn ends(transport: &str) -> (MovieSending, MovieReceiving) {
    ends_into(transport, MovieSink::Memory(Vec::new()))
}

fn ends_into(transport: &str, sink: MovieSink) -> (MovieSending, MovieReceiving) {
    let (sender, receiver) = flow(transport);
    let receiving = MovieReceiving::new(receiver, ReceivedMovie::new(sink));
    (MovieSending::new(sender, Samples::default()), receiving)
}

pub(super) fn flow(transport: &str) -> (SenderSession, ReceiverSession) {
    let scenario = Scenario::parse(&format!("[[flow]]\ntransport = \"{transport}\""), &[]).expect("it is well formed");
    let plan = SendingPlan::new(movie(), Timestamp::ZERO);
    match FlowSetup::of_movie(&scenario.flows[0], plan, crate::RtpSeed::default()).expect("it sends the movie") {
        FlowSetup::Datagram(setup) => (setup.sender(), setup.receiver()),
        FlowSetup::Stream(setup) => (setup.sender(), setup.receiver()),
        other => panic!("{other:?}"),
    }
}

/// A socket of either kind, and the host behind it, which is emptied from outside; what leaves it has arrived.
#[derive(Default)]
pub(super) struct Host {
    pub(super) waiting: Vec<Vec<u8>>,
    pub(super) arrived: Vec<u8>,
    pub(super) room: usize,
    pub(super) finished: bool,
    pub(super) broken: bool,
    pub(super) datagrams: bool,
}

impl Host {
    fn queued_bytes(&self) -> usize {
        self.waiting.iter().map(Vec::len).sum()
    }

    fn check(&self) -> Result<(), SocketError> {
        match self.broken {
            true => Err(SocketError { operation: "write", reason: "Connection timed out".to_owned() }),
            false => Ok(()),
        }
    }
}

impl Channels for Host {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, _: ChannelId, datagram: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        self.check()?;
        if self.queued_bytes() + datagram.len() > self.room {
            return Ok(DatagramSend::WouldBlock);
        }
        self.waiting.push(datagram.to_vec());
        Ok(DatagramSend::Sent)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::from_bytes((self.room - self.queued_bytes()) as u64))
    }

    fn write(&mut self, _: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        self.check()?;
        let taken = bytes.len().min(self.room - self.queued_bytes());
        self.waiting.push(bytes[..taken].to_vec());
        Ok(taken)
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::from_bytes(self.queued_bytes() as u64))
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        self.finished = true;
        Ok(())
    }
}

/// What the sender has put into its host has arrived where the receiver takes it; the sender itself takes what it is told.
impl HostSockets for Host {
    fn take(&mut self, at: Timestamp, wanted: &dyn Fn(ChannelId) -> bool) -> Result<Option<Came<'_>>, SocketError> {
        let channel = MOVIE_CHANNEL;
        if !wanted(channel) {
            return Ok(None);
        }
        // What was read before stays in place until the next call.
        self.arrived.clear();
        if !self.waiting.is_empty() {
            self.arrived = self.waiting.remove(0);
        }
        let arrival = match (self.arrived.is_empty(), self.datagrams) {
            (false, true) => Arrival::Datagram(&self.arrived),
            (false, false) => Arrival::Bytes(&self.arrived),
            (true, false) if self.finished => Arrival::Ended,
            (true, _) => return Ok(None),
        };
        Ok(Some(Came { channel, at, arrival }))
    }

    fn queued(&mut self) -> Result<DataSize, SocketError> {
        self.check()?;
        Ok(DataSize::from_bytes(self.queued_bytes() as u64))
    }

    fn sample(&mut self, at: Timestamp) -> Option<FlowSample> {
        let queued_bytes = Some(self.queued_bytes() as u64);
        Some(FlowSample { at, queued_bytes, ..FlowSample::default() })
    }
}

/// Lets the sender do what it asks for, millisecond by millisecond, while `leave` empties its host; returns when it ended.
fn send(sending: &mut MovieSending, host: &mut Host, mut leave: impl FnMut(Timestamp, &mut Host)) -> Timestamp {
    for now in (0..60_000).map(ms) {
        leave(now, host);
        let room = host.room;
        if sending.is_due(now, |_| host.queued_bytes() < room) {
            sending.drive(now, host);
        }
        if sending.has_ended() {
            return now;
        }
    }
    panic!("it does not end");
}

#[test]
fn a_stream_is_offered_by_the_clock_and_ends_when_nothing_is_left_in_its_host() {
    let (mut sending, mut receiving) = ends("tcp");
    let mut host = Host { room: 1 << 20, ..Host::default() };
    let mut left = Vec::new();
    // Everything stays in the host for 200 ms behind the last frame.
    let ended = send(&mut sending, &mut host, |now, host| {
        if now >= ms(1_160) {
            left.append(&mut host.waiting);
        }
    });
    // The last frame is due at 960 ms; the host is looked at every 50 ms from then on.
    assert!((ms(1_160)..=ms(1_210)).contains(&ended), "{ended}");
    assert!(sending.notice() == Notice::InStream && host.finished);
    host.waiting = left;
    while receiving.poll(ended, &mut host) {}
    assert!(receiving.has_ended());
    let (outcome, movie) = receiving.into_outcome(sending);
    assert_eq!((outcome.status, outcome.received.complete_frames), (FlowStatus::Complete, FRAMES));
    assert_eq!((outcome.kept_bytes, movie.len() as u64), (movie.len() as u64, outcome.kept_bytes));
    assert_eq!(movie.len(), FRAME_SIZE * FRAMES as usize + 20);
    let samples = outcome.samples.to_vec();
    assert_eq!(samples[0].at, Timestamp::ZERO);
    let gaps: Vec<Duration> = samples.windows(2).map(|pair| pair[1].at.saturating_since(pair[0].at)).collect();
    assert!(gaps.iter().all(|gap| *gap <= SAMPLE_INTERVAL), "{gaps:?}");
    assert!((24..=27).contains(&samples.len()), "{} samples", samples.len());
    assert_eq!(samples.last().map(|last| (last.at, last.queued_bytes)), Some((ended, Some(0))));
}

#[test]
fn a_sender_that_waits_for_room_asks_for_it_and_for_nothing_sooner_than_its_sample() {
    let (mut sending, _) = ends("tcp");
    let mut host = Host { room: 1_000, ..Host::default() };
    sending.drive(Timestamp::ZERO, &mut host);
    assert_eq!(sending.waits_for_room(), ChannelSet::of(MOVIE_CHANNEL));
    assert_eq!(sending.next_timeout(), Some(ms(50)), "its sample");
    assert!(!sending.is_due(ms(49), |_| false) && sending.is_due(ms(49), |_| true));
    assert!(sending.is_due(ms(50), |_| false));
}

#[test]
fn a_sender_that_is_stopped_has_ended_partly_and_waits_for_nobody() {
    for datagrams in [false, true] {
        let (mut sending, receiving) = ends(if datagrams { "udp-blocking" } else { "tcp" });
        let mut host = Host { room: 10_000, datagrams, ..Host::default() };
        sending.drive(Timestamp::ZERO, &mut host);
        sending.stop(ms(30));
        assert!(sending.has_ended() && sending.notice() == Notice::WhenSettled);
        assert_eq!(sending.next_timeout(), None);
        sending.drive(ms(100), &mut host);
        let (outcome, _) = receiving.into_outcome(sending);
        assert_eq!((outcome.status, outcome.samples.len()), (FlowStatus::Partial, 1));
    }
}

#[test]
fn what_a_sender_still_has_when_it_is_stopped_was_not_given_up() {
    for fails in [false, true] {
        let (mut sending, _) = ends("tcp");
        let mut host = Host { room: 1_000, ..Host::default() };
        sending.drive(Timestamp::ZERO, &mut host);
        let before = sending.counts();
        assert!(before.offered > 0 && !before.stopped);
        if fails {
            sending.fail(ms(30), "it broke".to_owned());
        } else {
            sending.stop(ms(30));
        }
        let after = sending.counts();
        assert_eq!((after.offered, after.given_up, after.lost), (before.offered, 0, 0));
        assert_eq!((after.cut_off, after.stopped), (1, !fails), "what was being written");
    }
}

#[test]
fn a_socket_that_breaks_while_it_drains_fails_the_flow_with_its_own_words() {
    let (mut sending, receiving) = ends("tcp");
    let mut host = Host { room: 1 << 20, ..Host::default() };
    let ended = send(&mut sending, &mut host, |now, host| host.broken = now >= ms(1_500));
    assert!((ms(1_500)..=ms(1_550)).contains(&ended), "{ended}");
    let (outcome, _) = receiving.into_outcome(sending);
    assert_eq!(outcome.status, FlowStatus::Failed("sender: write: Connection timed out".to_owned()));
}

#[test]
fn a_receiver_of_datagrams_ends_when_it_is_told_and_takes_nothing_after_that() {
    let (mut sending, mut receiving) = ends("udp-blocking");
    let mut host = Host { room: 1 << 20, datagrams: true, ..Host::default() };
    let mut last = Vec::new();
    let ended = send(&mut sending, &mut host, |now, host| {
        let mut datagrams = std::mem::take(&mut host.waiting);
        last = datagrams.pop().unwrap_or(std::mem::take(&mut last));
        for datagram in &datagrams {
            receiving.handle_arrival(now, MOVIE_CHANNEL, Arrival::Datagram(datagram));
        }
    });
    assert_eq!(sending.notice(), Notice::WhenSettled);
    assert!(!receiving.poll(ended, &mut host) && receiving.wants(ended, MOVIE_CHANNEL));
    assert_eq!(receiving.wait(), Wait::default());
    receiving.handle_other_ended(ended);
    assert!(!receiving.poll(ended, &mut host) && receiving.has_ended());
    receiving.handle_arrival(ended, MOVIE_CHANNEL, Arrival::Datagram(&last));
    let (outcome, _) = receiving.into_outcome(sending);
    assert_eq!(outcome.status, FlowStatus::Complete);
    assert_eq!(outcome.received.complete_frames + outcome.received.incomplete_frames, FRAMES);
    assert!(outcome.received.complete_frames < FRAMES, "the last datagram of each came too late");
}

#[test]
fn a_movie_that_cannot_be_written_ends_its_receiver_and_says_why() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("no space left"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (mut sending, mut receiving) = ends_into("udp-blocking", MovieSink::Writer(Box::new(Full)));
    let mut host = Host { room: 1 << 20, datagrams: true, ..Host::default() };
    for now in [0, 40, 80].map(ms) {
        sending.drive(now, &mut host);
    }
    assert!(host.waiting.len() > 10);
    while receiving.poll(ms(80), &mut host) {}
    assert!(receiving.has_ended());
    sending.stop(ms(80));
    let (outcome, _) = receiving.into_outcome(sending);
    let expected = "receiver: received movie cannot be written: no space left".to_owned();
    assert_eq!(outcome.status, FlowStatus::Failed(expected));
}

/// A network that so many packets have entered, and so many of them have left.
struct Network(u64, u64);

impl UnderWay for Network {
    fn entered(&self) -> u64 {
        self.0
    }

    fn has_settled(&self, packets: u64) -> bool {
        self.1 >= packets
    }
}

#[test]
fn settling_ends_with_the_last_packet_and_at_its_deadline() {
    let mut settling = Settling::of(ms(100), &Network(7, 0));
    assert_eq!(settling.next_look(), ms(150));
    assert!(!settling.has_ended(ms(149), &Network(9, 9)), "it is not looked yet");
    assert!(!settling.has_ended(ms(150), &Network(9, 6)));
    assert_eq!(settling.next_look(), ms(200));
    assert!(settling.has_ended(ms(200), &Network(9, 7)), "what entered later does not matter");
    let mut late = Settling::of(ms(100), &Network(7, 0));
    assert!(!late.has_ended(ms(5_099), &Network(7, 0)));
    assert!(late.has_ended(ms(5_149), &Network(7, 0)));
    let mut counted_later = Settling::from(ms(100));
    assert!(!counted_later.has_ended(ms(150), &Network(8, 7)), "it had entered by the first look");
    assert!(counted_later.has_ended(ms(200), &Network(20, 8)));
    let mut hurried = Settling::of(ms(100), &Network(7, 0));
    hurried.hurry();
    assert!(!hurried.has_ended(ms(399), &Network(7, 0)));
    assert_eq!(hurried.next_look(), ms(400));
    assert!(hurried.has_ended(ms(400), &Network(7, 0)));
}

#[test]
fn a_bulk_application_ends_once_and_is_sampled_until_nothing_is_left() {
    let mut sending = BulkSending::new(ms(100), Some(ms(170)), Samples::default());
    assert_eq!(sending.next_timeout(|| true), Some(ms(100)));
    assert!(!sending.is_sample_due(ms(99), || true) && sending.is_sample_due(ms(100), || true));
    sending.sample(ms(100), [FlowSample::default()]);
    assert_eq!(sending.next_timeout(|| true), Some(ms(150)));
    sending.sample(ms(150), []);
    assert_eq!(sending.next_timeout(|| true), Some(ms(170)), "its end");
    assert!(!sending.poll_end(ms(169)) && sending.poll_end(ms(170)) && !sending.poll_end(ms(171)));
    assert_eq!(sending.next_timeout(|| true), Some(ms(200)), "what is left is sampled");
    assert_eq!(sending.next_timeout(|| false), None);
    sending.end(ms(300), false);
    let outcome = sending.into_outcome(5_000, None);
    let totals = outcome.bulk.expect("it has ended");
    assert_eq!((totals.start, totals.end, totals.received), (ms(100), ms(170), 5_000));
    assert_eq!((outcome.status, outcome.samples.len()), (FlowStatus::Complete, 1));
}

#[test]
fn a_bulk_flow_that_is_cut_off_before_it_begins_has_carried_nothing() {
    let mut sending = BulkSending::new(ms(1_000), None, Samples::default());
    sending.end(ms(400), true);
    let outcome = sending.into_outcome(0, None);
    let totals = outcome.bulk.expect("it has ended");
    assert_eq!((totals.start, totals.end), (ms(400), ms(400)));
    assert_eq!(outcome.status, FlowStatus::Partial);
}
