//! Where reports go, and whose are taken.

use std::time::{Duration, Instant};

use framewire_kernel::FlowAddresses;
use framewire_session::half::End;
use framewire_session::{ChannelSetup, FlowRecording, RTCP_CHANNEL};
use framewire_units::Seed;

use super::*;

const ANY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

fn socket(at: SocketAddr) -> UdpSocket {
    UdpSocket::bind(at, &UdpOptions::default()).expect("there are ports")
}

fn address(socket: &UdpSocket) -> SocketAddr {
    socket.local_address().expect("it is bound")
}

/// A socket, and the one at the port above it.
fn pair() -> [UdpSocket; 2] {
    for _ in 0..100 {
        let first = socket(ANY);
        let second = above(address(&first)).and_then(|at| UdpSocket::bind(at, &UdpOptions::default()).ok());
        if let Some(second) = second {
            return [first, second];
        }
    }
    panic!("no two ports that follow each other are free")
}

fn comes(socket: &mut UdpSocket) -> Option<Vec<u8>> {
    let (mut buffer, start) = ([0; READ_SIZE], Instant::now());
    while start.elapsed() < Duration::from_millis(300) {
        if let UdpRead::Datagram { length, .. } = socket.receive(&mut buffer).expect("it is not broken") {
            return Some(buffer[..length].to_vec());
        }
    }
    None
}

fn report(ssrc: u32) -> Vec<u8> {
    Compound { reports: vec![Report { ssrc, ..Report::default() }], ..Compound::default() }.emit().expect("it is short")
}

#[test]
fn reports_go_above_the_packets_and_then_where_the_senders_own_come_from() {
    let clock = RunClock::start();
    let own = address(&pair()[0]);
    let addresses = FlowAddresses { end: End::Receiver, own, peer: None };
    let mut sockets = FlowSockets::open(&[ChannelSetup::of_announced(false)], &addresses, clock).expect("it is free");
    let mut answers = Answers::listen(above(own).expect("there is one"), clock).expect("it is free");
    let announced = Announcement::parse("transport=udp codec=h264 ssrc=7 rtcp=25000:75000").expect("it is one");
    let mut reports = Reports::open(&announced, own, None, &mut answers).expect("there is no port to open");
    let session =
        announced.reporting_receiver(&FlowRecording::default(), clock.now(), Seed(1)).expect("it can be received");
    let mut receiving = MovieReceiving::new(session, framewire_session::lifecycle::ReceivedMovie::default());
    let says = |bytes: &[u8], sockets: &mut FlowSockets<RunClock>, answers: &mut Answers, reports: &mut Reports| {
        Reporting { sockets, answers, reports }.send(RTCP_CHANNEL, bytes, None).expect("it is not broken")
    };
    assert_eq!(says(b"0", &mut sockets, &mut answers, &mut reports), DatagramSend::Dropped, "nothing has come");
    // Reports that are there before the stream wait until it is known whose it is.
    let to = above(own).expect("there is one");
    let (mut early, mut other) = (socket(ANY), socket(SocketAddr::from(([127, 0, 0, 2], 0))));
    early.send_to(&report(7), to).expect("it is there");
    other.send_to(&report(7), to).expect("it is there");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(answers.answer().expect("it is not broken"), None, "none is a question");
    reports.take(&mut answers, &sockets, clock, &mut receiving).expect("it is not broken");
    assert_eq!(reports.of_others, 0);
    let [mut rtp, mut rtcp] = pair();
    rtp.send_to(&[0x80, 96, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0], own).expect("it is there");
    std::thread::sleep(Duration::from_millis(20));
    assert!(sockets.take(clock.now(), &|_| true).expect("it is not broken").is_some());
    assert_eq!(says(b"1", &mut sockets, &mut answers, &mut reports), DatagramSend::Sent);
    assert_eq!(comes(&mut rtcp), Some(b"1".to_vec()), "the port above the packets");
    reports.take(&mut answers, &sockets, clock, &mut receiving).expect("it is not broken");
    assert_eq!(reports.of_others, 1);
    assert_eq!(says(b"early", &mut sockets, &mut answers, &mut reports), DatagramSend::Sent);
    assert_eq!(comes(&mut early), Some(b"early".to_vec()), "where the early one came from");

    let (mut elsewhere, mut wrong) = (socket(ANY), socket(ANY));
    elsewhere.send_to(&report(7), to).expect("it is there");
    wrong.send_to(&report(8), to).expect("it is there");
    wrong.send_to(b"nonsense", to).expect("it is there");
    other.send_to(&report(7), to).expect("it is there");
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(answers.answer().expect("it is not broken"), None, "none is a question");
    reports.take(&mut answers, &sockets, clock, &mut receiving).expect("it is not broken");
    assert_eq!(reports.of_others, 2);
    assert_eq!(says(b"2", &mut sockets, &mut answers, &mut reports), DatagramSend::Sent);
    assert_eq!(comes(&mut elsewhere), Some(b"2".to_vec()), "where those of the source come from");
    assert_eq!([&mut rtcp, &mut wrong, &mut other].map(comes), [None, None, None]);

    // A flood is bounded: what does not fit is lost.
    for _ in 0..200 {
        elsewhere.send_to(&report(7), to).expect("it is there");
    }
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(answers.answer().expect("it is not broken"), None);
    assert_eq!(answers.take_beside().len(), MOST_AT_ONCE);
}
