//! Channels between two ends on this host.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use framewire_endpoint::RunClock;
use framewire_session::half::{Arrival, ChannelId, ChannelSet, Channels, End, Wait};
use framewire_session::lifecycle::{EndProgress, FlowEnd, HostSockets};
use framewire_session::{Carries, ChannelSetup, ConnectionSettings, MOVIE_CHANNEL, RTCP_CHANNEL, SocketsSetup};
use framewire_sockets::{UdpOptions, UdpRead, UdpSocket};
use framewire_transport::socket::DatagramSend;
use framewire_units::{DataSize, Timestamp};

use super::*;

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

type Sockets = FlowSockets<RunClock>;

fn open(setups: &[ChannelSetup], end: End, own: SocketAddr, peer: Option<SocketAddr>) -> Sockets {
    FlowSockets::open(setups, &FlowAddresses { end, own, peer }, RunClock::start()).expect("there are ports")
}

fn stream(opened_by: End) -> ChannelSetup {
    let congestion = Some("reno".to_owned());
    let settings =
        ConnectionSettings { congestion, ecn: false, send_buffer: None, unsent_limit: None, options: None, mtu: 1_500 };
    let sockets = SocketsSetup::Stream(opened_by, settings);
    ChannelSetup { id: MOVIE_CHANNEL, carries: Carries::Movie, port: 0, sockets }
}

/// What comes within ten seconds.
fn next(sockets: &mut Sockets) -> (ChannelId, Vec<u8>) {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < Duration::from_secs(10), "nothing comes");
        let Some(came) = sockets.take(Timestamp::ZERO, &|_| true).expect("it is not broken") else { continue };
        let what = match came.arrival {
            Arrival::Opened => b"opened",
            Arrival::Ended => b"ended".as_slice(),
            Arrival::Datagram(bytes) | Arrival::Bytes(bytes) => bytes,
        };
        return (came.channel, what.to_vec());
    }
}

#[test]
fn either_end_opens_a_connection_on_which_both_speak() {
    for opened_by in [End::Sender, End::Receiver] {
        let setups = [stream(opened_by)];
        let other = if opened_by == End::Sender { End::Receiver } else { End::Sender };
        let mut listens = open(&setups, other, ANY, None);
        let address = listens.local_address().expect("it is not broken").expect("it listens");
        assert_eq!(listens.take(Timestamp::ZERO, &|_| true).expect("it is not broken"), None);
        assert_eq!(listens.write(MOVIE_CHANNEL, b"nobody is there"), Ok(0));
        let mut connects = open(&setups, opened_by, ANY, Some(address));
        assert_eq!(connects.write(MOVIE_CHANNEL, b"not yet"), Ok(0));
        connects.connect().expect("it listens");
        let patience = Duration::from_secs(10);
        assert_eq!(connects.wait_for_peer(patience, patience, &|| false), Ok(true));
        assert_eq!(next(&mut listens).1, b"opened");
        assert_eq!(connects.write(MOVIE_CHANNEL, b"please"), Ok(6));
        assert_eq!(next(&mut listens).1, b"please");
        assert_eq!(listens.write(MOVIE_CHANNEL, b"here"), Ok(4));
        assert_eq!(next(&mut connects).1, b"here");
        assert_eq!((connects.came(), connects.take_count(), connects.take_count()), (4, 4, 0));
        let sender = if opened_by == End::Sender { &mut connects } else { &mut listens };
        let sample = sender.sample(Timestamp::ZERO).expect("the kernel knows the connection");
        assert!(sample.cwnd_packets.is_some_and(|packets| packets > 0));
        connects.finish(MOVIE_CHANNEL).expect("it is open");
        assert_eq!(next(&mut listens).1, b"ended");
        assert_eq!(listens.take(Timestamp::ZERO, &|_| true).expect("it is not broken"), None, "it has ended once");
    }
}

/// A flow of packets, with reports at the next port.
fn packets() -> Vec<ChannelSetup> {
    let movie = ChannelSetup::of_announced(false);
    let reports = ChannelSetup { id: RTCP_CHANNEL, carries: Carries::Control, port: 1, ..movie.clone() };
    vec![movie, reports]
}

/// Two ports that follow each other and are free.
fn two_ports() -> SocketAddr {
    let bind = |address| UdpSocket::bind(address, &UdpOptions::default());
    for _ in 0..100 {
        let one = bind(ANY).expect("there are ports").local_address().expect("it is bound");
        if let Some(above) = one.port().checked_add(1)
            && bind(SocketAddr::new(one.ip(), above)).is_ok()
        {
            return one;
        }
    }
    panic!("there are no two free ports");
}

#[test]
fn datagrams_go_both_ways_on_each_channel_and_a_peer_that_is_gone_loses_them() {
    let (own, peer) = (two_ports(), two_ports());
    let mut sender = open(&packets(), End::Sender, own, Some(peer));
    assert_eq!(sender.send(MOVIE_CHANNEL, b"nobody is there", None), Ok(DatagramSend::Sent));
    assert_eq!(sender.send(RTCP_CHANNEL, b"yet", None), Ok(DatagramSend::Sent));
    assert_eq!(sender.take(Timestamp::ZERO, &|_| true).expect("that is no error"), None);
    let mut receiver = open(&packets(), End::Receiver, peer, Some(own));
    for (id, bytes) in [(MOVIE_CHANNEL, b"a picture"), (RTCP_CHANNEL, b"a report!")] {
        assert_eq!(sender.send(id, bytes, None), Ok(DatagramSend::Sent));
        assert_eq!(next(&mut receiver), (id, bytes.to_vec()));
    }
    assert_eq!(receiver.came(), 9, "reports are not counted");
    assert_eq!(receiver.send(RTCP_CHANNEL, b"so it is", None), Ok(DatagramSend::Sent));
    assert_eq!(next(&mut sender), (RTCP_CHANNEL, b"so it is".to_vec()));
    // Every channel is taken when it is wanted.
    assert_eq!(sender.send(MOVIE_CHANNEL, b"1", None), Ok(DatagramSend::Sent));
    assert_eq!(sender.send(RTCP_CHANNEL, b"2", None), Ok(DatagramSend::Sent));
    std::thread::sleep(Duration::from_millis(50));
    let came = receiver.take(Timestamp::ZERO, &|id| id == RTCP_CHANNEL).expect("it is not broken");
    assert_eq!(came.map(|came| came.arrival), Some(Arrival::Datagram(b"2")));
    assert!(sender.free_room(MOVIE_CHANNEL).is_ok_and(|room| room > DataSize::ZERO));
    assert!(sender.write(MOVIE_CHANNEL, b"no stream").is_err());
    drop(receiver);
    assert_eq!(sender.refusals(), 1, "nobody was there yet");
    assert_eq!(sender.send(MOVIE_CHANNEL, b"3", None), Ok(DatagramSend::Sent));
    let start = Instant::now();
    while sender.refusals() < 2 {
        assert!(start.elapsed() < Duration::from_secs(10), "nobody is there any more");
        assert_eq!(sender.take(Timestamp::ZERO, &|_| true).expect("that is no error"), None);
    }
    for _ in 0..3 {
        assert_eq!(sender.send(RTCP_CHANNEL, b"bye", None), Ok(DatagramSend::Sent));
        assert_eq!(sender.take(Timestamp::ZERO, &|_| true).expect("that is no error"), None);
    }
}

#[test]
fn who_is_heard_first_is_taken_and_others_are_counted() {
    let setups = [ChannelSetup::of_announced(false)];
    let mut receiver = open(&setups, End::Receiver, ANY, None);
    let address = receiver.local_address().expect("it is not broken").expect("it is bound");
    let [mut sender, mut stranger] =
        [(); 2].map(|()| UdpSocket::bind(ANY, &UdpOptions::default()).expect("there are ports"));
    sender.send_to(b"first", address).expect("it is there");
    assert_eq!(next(&mut receiver).1, b"first");
    assert_eq!(receiver.heard(), sender.local_address().ok());
    stranger.send_to(b"of another", address).expect("it is there");
    sender.send_to(b"second", address).expect("it is there");
    assert_eq!(next(&mut receiver).1, b"second");
    assert_eq!(receiver.of_others(), 1);
    receiver.stop_reading();
    sender.send_to(b"third", address).expect("it is there");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(receiver.take(Timestamp::ZERO, &|_| true).expect("it is not broken"), None);
}

/// RFC 3550, section 11: RTP at an even port, and RTCP at the next one.
#[test]
fn a_pair_hears_one_host_and_answers_where_it_is_told() {
    let movie = ChannelSetup::of_announced(false);
    let reports = ChannelSetup { id: RTCP_CHANNEL, carries: Carries::Control, port: 1, ..movie.clone() };
    let mut receiver = open(&[stream(End::Sender)], End::Receiver, ANY, None);
    let (rtp, rtcp) = receiver.listen_pair(&[movie, reports], ANY.ip(), ANY.ip()).expect("there are ports");
    assert!(rtp % 2 == 0 && rtcp == rtp + 1, "{rtp}, {rtcp}");
    assert_eq!(receiver.send(RTCP_CHANNEL, b"to nobody yet", None), Ok(DatagramSend::Dropped));
    let [mut server, mut other, mut answered] =
        [(); 3].map(|()| UdpSocket::bind(ANY, &UdpOptions::default()).expect("there are ports"));
    server.send_to(b"a picture", SocketAddr::new(ANY.ip(), rtp)).expect("it is there");
    assert_eq!(next(&mut receiver), (MOVIE_CHANNEL, b"a picture".to_vec()));
    other.send_to(b"a forgery", SocketAddr::new(ANY.ip(), rtp)).expect("it is there");
    server.send_to(b"a report", SocketAddr::new(ANY.ip(), rtcp)).expect("it is there");
    assert_eq!(next(&mut receiver), (RTCP_CHANNEL, b"a report".to_vec()));
    assert_eq!((receiver.came(), receiver.of_others()), (9, 1));
    let heard = |socket: &mut UdpSocket| {
        let (mut buffer, start) = ([0; 64], Instant::now());
        loop {
            assert!(start.elapsed() < Duration::from_secs(10), "nothing comes");
            if let UdpRead::Datagram { length, from, .. } = socket.receive(&mut buffer).expect("it is not broken") {
                return (buffer[..length].to_vec(), from.port());
            }
        }
    };
    // Where a server says nothing of its ports, to where its reports come from; else to where it says.
    assert_eq!(receiver.send(RTCP_CHANNEL, b"so it is", None), Ok(DatagramSend::Sent));
    assert_eq!(heard(&mut server), (b"so it is".to_vec(), rtcp));
    receiver.answer_to(RTCP_CHANNEL, answered.local_address().expect("it is bound").port());
    assert_eq!(receiver.send(RTCP_CHANNEL, b"there", None), Ok(DatagramSend::Sent));
    assert_eq!(heard(&mut answered), (b"there".to_vec(), rtcp));
}

/// RFC 3550, section 11; reports come from the port at which the receiver takes them, or from another one.
#[test]
fn reports_are_taken_from_any_port_of_the_receivers_host_and_of_no_other() {
    let movie = ChannelSetup::of_announced(false);
    let reports = ChannelSetup { id: RTCP_CHANNEL, carries: Carries::Control, port: 1, ..movie.clone() };
    let mut sender = open(&[stream(End::Receiver)], End::Receiver, ANY, None);
    let mut bound = [(); 3].map(|()| UdpSocket::bind(ANY, &UdpOptions::default()).expect("there are ports"));
    let peers = [0, 1].map(|place| bound[place].local_address().expect("it is bound"));
    let any = SocketAddr::from(([0; 4], 0)).ip();
    let (rtp, rtcp) = sender.open_reported(&[movie, reports], any, peers).expect("there are ports");
    assert!(rtp % 2 == 0 && rtcp == rtp + 1, "{rtp}, {rtcp}");
    let at = SocketAddr::new(ANY.ip(), rtcp);
    for (place, bytes) in [(1, b"one"), (2, b"two"), (1, b"six")] {
        bound[place].send_to(bytes, at).expect("it is there");
        assert_eq!(next(&mut sender), (RTCP_CHANNEL, bytes.to_vec()));
    }
    assert_eq!(sender.send(RTCP_CHANNEL, b"a report", None), Ok(DatagramSend::Sent));
    std::thread::sleep(Duration::from_millis(20));
    let mut buffer = [0; 64];
    assert!(
        matches!(bound[1].receive(&mut buffer), Ok(UdpRead::Datagram { length: 8, from, .. }) if from.port() == rtcp)
    );
    // Another address of this machine is another host.
    let other = SocketAddr::from(([127, 0, 0, 2], 0));
    let mut other = UdpSocket::bind(other, &UdpOptions::default()).expect("there are ports");
    other.send_to(b"a forgery", at).expect("it is there");
    bound[2].send_to(b"last", at).expect("it is there");
    assert_eq!(next(&mut sender), (RTCP_CHANNEL, b"last".to_vec()));
    assert_eq!(sender.of_others(), 1);
}

/// An end that wants to read its reports, and waits for room for the movie.
struct Waiting;

impl FlowEnd for Waiting {
    fn start(&self) -> Timestamp {
        Timestamp::ZERO
    }
    fn poll(&mut self, _: Timestamp, _: &mut dyn HostSockets) -> bool {
        false
    }
    fn wants(&self, _: Timestamp, channel: ChannelId) -> bool {
        channel == RTCP_CHANNEL
    }
    fn wait(&self) -> Wait {
        Wait { room: ChannelSet::of(MOVIE_CHANNEL), timeout: Some(Timestamp::from_secs(3_600)), finished: false }
    }
    fn stop(&mut self, _: Timestamp) {}
    fn fail(&mut self, _: Timestamp, _: String) {}
    fn handle_other_ended(&mut self, _: Timestamp) {}
    fn progress(&self) -> EndProgress {
        EndProgress::default()
    }
}

#[test]
fn what_an_end_waits_for_is_watched_and_nothing_else() {
    let mut sender = open(&packets(), End::Sender, two_ports(), Some(two_ports()));
    let (watched, until) = sender.watched(&Waiting);
    let flags: Vec<_> = watched.iter().map(|(_, watch)| (watch.read, watch.write)).collect();
    assert_eq!((flags, until), (vec![(false, true), (true, false)], Some(Timestamp::from_secs(3_600))));
    // A datagram that says when it left is one at a moment: another one is another moment, which has come.
    assert!(sender.has_room(MOVIE_CHANNEL));
    sender.send(MOVIE_CHANNEL, b"one", None).expect("it is not broken");
    assert!(!sender.has_room(MOVIE_CHANNEL));
    let (_, until) = sender.watched(&Waiting);
    assert!(until.is_some_and(|until| until < Timestamp::from_secs(60)));
    assert_eq!(sender.take(Timestamp::ZERO, &|_| true).expect("it is not broken"), None);
    assert!(sender.has_room(MOVIE_CHANNEL));
    assert_eq!(sender.watched(&Waiting).1, Some(Timestamp::from_secs(3_600)));
}
