//! Every session of the lab has one shape: what drives one drives all, and one with receiver reports and a second track too.

use std::collections::VecDeque;

use framewire_media::Movie;
use framewire_scenario::Scenario;
use framewire_session::half::{Arrival, Channel, ChannelId, ChannelKind, Channels, End, Half, Track, Wait};
use framewire_session::{FlowSetup, ReceiverSession, RtpSeed, SenderSession, SendingPlan};
use framewire_transport::TransportKind;
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Duration, Timestamp};

const DELAY: Duration = Duration::from_millis(5);

/// What is under way to one half: when it arrives, on which channel, and its bytes; none at the end of a stream.
type UnderWay = VecDeque<(Timestamp, ChannelId, Option<Vec<u8>>)>;

/// The channels of one half over a network that takes 5 ms and loses nothing; `refuse` is how many datagrams find no room.
struct Network {
    now: Timestamp,
    to_other: UnderWay,
    refuse: u32,
    sent: Vec<(ChannelId, Option<u32>)>,
}

impl Network {
    fn new(refuse: u32) -> Self {
        Self { now: Timestamp::ZERO, to_other: UnderWay::new(), refuse, sent: Vec::new() }
    }
}

impl Channels for Network {
    fn has_room(&self, _: ChannelId) -> bool {
        true
    }

    fn send(&mut self, id: ChannelId, datagram: &[u8], sequence: Option<u32>) -> Result<DatagramSend, SocketError> {
        if self.refuse > 0 {
            self.refuse -= 1;
            return Ok(DatagramSend::WouldBlock);
        }
        self.sent.push((id, sequence));
        self.to_other.push_back((self.now + DELAY, id, Some(datagram.to_vec())));
        Ok(DatagramSend::Sent)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::from_bytes(1 << 20))
    }

    fn write(&mut self, id: ChannelId, bytes: &[u8]) -> Result<usize, SocketError> {
        let taken = bytes.len().min(10_000);
        self.to_other.push_back((self.now + DELAY, id, Some(bytes[..taken].to_vec())));
        Ok(taken)
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn finish(&mut self, id: ChannelId) -> Result<(), SocketError> {
        self.to_other.push_back((self.now + DELAY, id, None));
        Ok(())
    }
}

fn is_stream(half: &dyn Half, id: ChannelId) -> bool {
    let channels = half.channels();
    let channel = channels.iter().find(|channel| channel.id == id).expect("what is sent has a channel");
    channel.kind != ChannelKind::Datagram
}

/// Hands over what has arrived by now.
fn deliver(half: &mut dyn Half, now: Timestamp, under_way: &mut UnderWay) {
    while under_way.front().is_some_and(|(at, id, _)| *at <= now && half.wants(now, *id)) {
        let (_, id, bytes) = under_way.pop_front().expect("there is one");
        let arrival = match &bytes {
            None => Arrival::Ended,
            Some(bytes) if is_stream(half, id) => Arrival::Bytes(bytes),
            Some(bytes) => Arrival::Datagram(bytes),
        };
        half.handle_arrival(now, id, arrival);
    }
}

/// Drives both halves, millisecond by millisecond, until the sender has finished and nothing is under way; returns when.
fn run(halves: [&mut dyn Half; 2], networks: &mut [Network; 2], most: Timestamp) -> Timestamp {
    let [sender, receiver] = halves;
    assert_eq!(sender.channels(), receiver.channels(), "both want the same");
    for now in (0..).map(Timestamp::from_millis) {
        assert!(now <= most, "it does not end");
        let [forward, backward] = networks;
        (forward.now, backward.now) = (now, now);
        deliver(sender, now, &mut backward.to_other);
        deliver(receiver, now, &mut forward.to_other);
        let wait = sender.drive(now, forward).expect("nothing breaks");
        receiver.drive(now, backward).expect("nothing breaks");
        if wait.finished && forward.to_other.is_empty() {
            return now;
        }
    }
    unreachable!("the times have no end")
}

/// Half a second of I pictures of MPEG-2 of one slice (ISO/IEC 13818-2, 6.2), at 25 Hz.
fn movie() -> Movie {
    let mut bytes = vec![0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18, 0, 0, 1, 0xb8, 0, 8, 0, 0x40];
    for reference in 0..12u8 {
        let start = bytes.len();
        bytes.extend([0, 0, 1, 0, reference >> 2, reference << 6 | 0x0f, 0xff, 0xf8, 0, 0, 1, 1, 0x13, 0x80]);
        bytes.resize(start + 4_000, 0x55);
    }
    Movie::parse(bytes.into()).expect("it is a movie")
}

#[test]
fn the_transports_of_a_movie_are_halves() {
    for transport in ["udp", "udp-blocking", "udp+ifd", "tcp", "tcp+ifd", "tcp+dependency"] {
        let scenario = Scenario::parse(&format!("[[flow]]\ntransport = \"{transport}\""), &[]).expect("well formed");
        let plan = SendingPlan::new(movie(), Timestamp::ZERO);
        let (mut sender, mut receiver) =
            match FlowSetup::of_movie(&scenario.flows[0], plan, RtpSeed::default()).expect("it sends it") {
                FlowSetup::Datagram(setup) => (setup.sender(), setup.receiver()),
                FlowSetup::Stream(setup) => (setup.sender(), setup.receiver()),
                other => panic!("{other:?}"),
            };
        assert_eq!(sender.tracks(), [Track::Video]);
        let mut networks = [Network::new(0), Network::new(0)];
        let ended = run([&mut sender, &mut receiver], &mut networks, Timestamp::from_secs(2));
        // The last of twelve frames is due at 440 ms, and arrives 5 ms later.
        assert!((Timestamp::from_millis(445)..=Timestamp::from_millis(500)).contains(&ended), "{transport}: {ended}");
        Half::stop(&mut receiver, ended);
        assert_eq!(receiver.complete_frames(), 12, "{transport}");
        assert!(networks[1].sent.is_empty(), "{transport} has no feedback");
    }
}

fn halves_of(setup: &FlowSetup) -> (SenderSession, ReceiverSession) {
    match setup {
        FlowSetup::Datagram(setup) => (setup.sender(), setup.receiver()),
        FlowSetup::Stream(setup) => (setup.sender(), setup.receiver()),
        other => panic!("{other:?}"),
    }
}

fn setup_of(transport: &str, more: &str) -> FlowSetup {
    let scenario =
        Scenario::parse(&format!("[[flow]]\ntransport = \"{transport}\"\n{more}"), &[]).expect("well formed");
    let plan = SendingPlan::new(movie(), Timestamp::ZERO);
    FlowSetup::of_movie(&scenario.flows[0], plan, RtpSeed::default()).expect("it sends it")
}

#[test]
fn what_a_setup_says_of_its_channels_is_what_both_halves_want() {
    let with_reports = [("udp", "rtcp = \"full\""), ("rtsp+udp", "rtcp = \"none\"")];
    let all = TransportKind::ALL.map(|kind| (kind.name(), "")).into_iter().chain(with_reports);
    let mut counts = Vec::new();
    for (transport, more) in all {
        let setup = setup_of(transport, more);
        let channels: Vec<Channel> = setup.channels().into_iter().map(|setup| setup.channel()).collect();
        let (sender, receiver) = halves_of(&setup);
        assert_eq!((sender.channels(), receiver.channels()), (channels.clone(), channels.clone()), "{transport}");
        if channels.len() > 1 {
            counts.push((transport, channels.len()));
        }
    }
    assert_eq!(counts, [("rtsp+udp", 3), ("udp", 2), ("rtsp+udp", 2)]);
}

#[test]
fn a_receiver_over_udp_to_which_nothing_comes_any_more_leaves_after_a_time() {
    let (mut sender, mut receiver) = halves_of(&setup_of("rtsp+udp", ""));
    let [mut forward, mut backward] = [Network::new(0), Network::new(0)];
    let begins = |what: &(Timestamp, ChannelId, Option<Vec<u8>>)| {
        what.2.as_ref().is_some_and(|bytes| bytes.starts_with(b"TEARDOWN"))
    };
    for now in (0..70_000).map(Timestamp::from_millis) {
        (forward.now, backward.now) = (now, now);
        deliver(&mut sender, now, &mut backward.to_other);
        if now < Timestamp::from_millis(300) {
            deliver(&mut receiver, now, &mut forward.to_other);
            sender.drive(now, &mut forward).expect("nothing breaks");
        }
        receiver.drive(now, &mut backward).expect("nothing breaks");
        if backward.to_other.iter().any(begins) {
            assert!((Timestamp::from_millis(60_200)..=Timestamp::from_millis(60_310)).contains(&now), "{now}");
            return;
        }
    }
    panic!("it waits for ever");
}

/// A sender of numbered packets of two tracks that sends again what its receiver reports missing.
struct Repeating {
    left: VecDeque<u32>,
    next: Timestamp,
    acknowledged: u32,
    reports: u32,
}

/// Its receiver, which reports on a channel of its own what it has not got.
#[derive(Default)]
struct Reporting {
    came: Vec<u32>,
    highest: u32,
    report: Option<u32>,
    to_lose: Vec<u32>,
}

const MEDIA: ChannelId = ChannelId(0);
const REPORTS: ChannelId = ChannelId(1);
const PACKETS: u32 = 40;

fn two_channels() -> Vec<Channel> {
    let reports = Channel { id: REPORTS, kind: ChannelKind::Stream(End::Receiver) };
    vec![Channel { id: MEDIA, kind: ChannelKind::Datagram }, reports]
}

impl Half for Repeating {
    fn channels(&self) -> Vec<Channel> {
        two_channels()
    }

    fn tracks(&self) -> Vec<Track> {
        vec![Track::Video, Track::Audio(1)]
    }

    fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        assert_eq!(channel, REPORTS);
        if let Arrival::Bytes(&[missing, ..]) = arrival {
            self.reports += 1;
            match u32::from(missing) {
                PACKETS => self.acknowledged = PACKETS,
                missing => self.left.push_front(missing),
            }
            self.next = now;
        }
    }

    fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        let mut room = None;
        while let Some(&number) = self.left.front().filter(|_| self.next <= now) {
            if channels.send(MEDIA, &[number as u8], Some(number))? == DatagramSend::WouldBlock {
                room = Some(MEDIA);
                break;
            }
            self.left.pop_front();
            self.next = now + Duration::from_millis(2);
        }
        let timeout = if self.left.is_empty() { None } else { Some(self.next) };
        Ok(Wait { room: room.into(), timeout, finished: self.acknowledged == PACKETS })
    }

    fn stop(&mut self, _: Timestamp) {
        self.left.clear();
    }
}

impl Half for Reporting {
    fn channels(&self) -> Vec<Channel> {
        two_channels()
    }

    fn handle_arrival(&mut self, _: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        let Arrival::Datagram(&[number]) = arrival else { return };
        assert_eq!(channel, MEDIA);
        let number = u32::from(number);
        if let Some(place) = self.to_lose.iter().position(|&lost| lost == number) {
            self.to_lose.remove(place);
            return;
        }
        self.came.push(number);
        self.highest = self.highest.max(number);
        let missing = (0..=self.highest).find(|number| !self.came.contains(number));
        let all = (self.came.len() as u32 == PACKETS).then_some(PACKETS);
        self.report = all.or(missing.filter(|_| number == self.highest));
    }

    fn drive(&mut self, _: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        if let Some(report) = self.report.take() {
            channels.write(REPORTS, &[report as u8])?;
        }
        Ok(Wait::default())
    }

    fn stop(&mut self, _: Timestamp) {}
}

#[test]
fn a_session_with_feedback_on_a_stream_of_its_receiver_is_two_halves_as_well() {
    let mut sender = Repeating { left: (0..PACKETS).collect(), next: Timestamp::ZERO, acknowledged: 0, reports: 0 };
    let mut receiver = Reporting { to_lose: vec![7, 20], ..Reporting::default() };
    assert_eq!(sender.tracks().iter().map(|track| track.number()).collect::<Vec<_>>(), [0, 1]);
    let mut networks = [Network::new(3), Network::new(0)];
    let ended = run([&mut sender, &mut receiver], &mut networks, Timestamp::from_secs(1));
    receiver.came.sort_unstable();
    receiver.came.dedup();
    assert_eq!(receiver.came, (0..PACKETS).collect::<Vec<_>>());
    // 40 packets at 2 ms, two and more sent again, three times no room, and 10 ms there and back.
    assert!((Timestamp::from_millis(90)..=Timestamp::from_millis(160)).contains(&ended), "{ended}");
    let repeated = networks[0].sent.len() as u32 - PACKETS;
    assert!((2..=20).contains(&repeated), "{repeated} were sent again");
    assert!(networks[0].sent.iter().all(|(channel, sequence)| *channel == MEDIA && sequence.is_some()));
    assert!(sender.reports >= 3);
}
