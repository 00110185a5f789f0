//! UDP over loopback, with this kernel's own sockets.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of the kernel's sockets use clocks and processes"
)]

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use framewire_sockets::{Interest, OpenError, SEND_MOST, UdpOptions, UdpRead, UdpReceiver, UdpSender, UdpSocket, wait};
use framewire_transport::socket::{DatagramSend, DatagramSocket};
use framewire_units::DataSize;

const PATIENCE: Duration = Duration::from_secs(30);

fn any(ip: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), 0)
}

fn pair(ip: &str, options: &UdpOptions) -> (UdpSender, UdpReceiver) {
    let receiver = UdpReceiver::bind(any(ip), &UdpOptions::default()).unwrap();
    let sender = UdpSender::open(any(ip), receiver.local_address().unwrap(), options).unwrap();
    (sender, receiver)
}

#[test]
fn datagrams_keep_their_boundaries_their_sender_and_their_time() {
    for ip in ["127.0.0.1", "::1"] {
        let (mut sender, mut receiver) = pair(ip, &UdpOptions::default());
        let mut buffer = [0; 2_000];
        assert_eq!(receiver.receive(&mut buffer), Ok(UdpRead::Nothing));
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        for size in [1_472, 0, 10] {
            assert_eq!(sender.send(&vec![7; size]), Ok(DatagramSend::Sent));
        }
        for size in [1_472, 0, 10] {
            assert!(wait(&receiver, Interest::Read, PATIENCE).unwrap());
            let UdpRead::Datagram { length, truncated, from, realtime_nanos } = receiver.receive(&mut buffer).unwrap()
            else {
                panic!("a datagram of {size} bytes was sent")
            };
            assert_eq!((length, truncated, from), (size, false, sender.local_address().unwrap()));
            let after = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
            assert!((before..=after).contains(&realtime_nanos.unwrap()), "{before} {realtime_nanos:?} {after}");
        }
    }
}

#[test]
fn a_small_buffer_truncates_and_says_so() {
    let (mut sender, mut receiver) = pair("127.0.0.1", &UdpOptions::default());
    sender.send(&[1; 100]).unwrap();
    wait(&receiver, Interest::Read, PATIENCE).unwrap();
    let read = receiver.receive(&mut [0; 40]).unwrap();
    assert!(matches!(read, UdpRead::Datagram { length: 40, truncated: true, .. }), "{read:?}");
}

#[test]
fn the_send_buffer_is_what_was_asked_for() {
    for bytes in [32 * 1024, 212_992, 425_984] {
        let asked = DataSize::from_bytes(bytes);
        let (mut sender, _receiver) =
            pair("127.0.0.1", &UdpOptions { send_buffer: Some(asked), ..UdpOptions::default() });
        assert_eq!(sender.send_buffer(), asked);
        assert_eq!(sender.free_room(), Ok(asked), "nothing was sent");
    }
    // SOCK_MIN_SNDBUF is two packets: less is not possible, and not taken for granted.
    let options = UdpOptions { send_buffer: Some(DataSize::from_bytes(100)), ..UdpOptions::default() };
    let error = UdpSender::open(any("127.0.0.1"), "127.0.0.1:9".parse().unwrap(), &options).unwrap_err();
    assert!(matches!(error, OpenError::Buffer { which: "send", .. }), "{error}");
    assert!(error.to_string().contains("100 B"), "{error}");
}

#[test]
fn a_peer_that_is_not_there_is_named() {
    let options = UdpOptions { report_errors: true, ..UdpOptions::default() };
    let (mut sender, receiver) = pair("127.0.0.1", &options);
    let port = receiver.local_address().unwrap().port();
    drop(receiver);
    assert_eq!(sender.send(b"one"), Ok(DatagramSend::Sent));
    assert!(wait(&sender, Interest::Read, PATIENCE).unwrap(), "a socket with an error is ready");
    let error = sender.send(b"two").unwrap_err();
    assert_eq!(error.operation, "send");
    assert!(error.reason.contains(&port.to_string()), "{error}");
    assert_eq!(sender.send(b"three"), Ok(DatagramSend::Sent), "the error was taken off the queue");
}

#[test]
fn a_port_in_use_and_a_foreign_address_are_named() {
    let (_sender, receiver) = pair("127.0.0.1", &UdpOptions::default());
    let address = receiver.local_address().unwrap();
    let error = UdpReceiver::bind(address, &UdpOptions::default()).unwrap_err();
    assert_eq!(error, OpenError::PortInUse(address));
    assert!(error.to_string().contains(&address.port().to_string()), "{error}");
    let error = UdpReceiver::bind("192.0.2.1:0".parse().unwrap(), &UdpOptions::default()).unwrap_err();
    assert!(matches!(error, OpenError::NotLocal(_)) && error.to_string().contains("192.0.2.1"), "{error}");
}

#[test]
fn a_datagram_that_is_too_large_is_refused() {
    let (mut sender, _receiver) = pair("127.0.0.1", &UdpOptions::default());
    let error = sender.send(&vec![0; 70_000]).unwrap_err();
    assert!(error.reason.contains("larger"), "{error}");
    assert_eq!(sender.send(&vec![0; 60_000]), Ok(DatagramSend::Sent), "IP takes care of large datagrams");
}

fn next_of(receiver: &mut UdpReceiver) -> Vec<u8> {
    let mut buffer = [0; 2_000];
    assert!(wait(receiver, Interest::Read, PATIENCE).unwrap());
    match receiver.receive(&mut buffer).unwrap() {
        UdpRead::Datagram { length, .. } => buffer[..length].to_vec(),
        UdpRead::Nothing => panic!("it was ready"),
    }
}

#[test]
fn many_datagrams_leave_by_one_call_each_to_its_own_peer() {
    for ip in ["127.0.0.1", "::1"] {
        let mut receivers = [(); 2].map(|()| UdpReceiver::bind(any(ip), &UdpOptions::default()).unwrap());
        let peers = receivers.each_ref().map(|receiver| receiver.local_address().unwrap());
        let mut socket = UdpSocket::bind(any(ip), &UdpOptions::default()).unwrap();
        let datagrams: Vec<Vec<u8>> = (0..SEND_MOST + 8).map(|number| vec![number as u8; number * 10]).collect();
        let to = |from: usize| (from..).zip(&datagrams[from..]).map(|(number, bytes)| (&bytes[..], peers[number % 2]));
        assert_eq!(socket.send_many(to(0)), Ok(SEND_MOST));
        assert_eq!(socket.send_many(to(SEND_MOST)), Ok(8));
        assert_eq!(socket.send_many(to(SEND_MOST + 8)), Ok(0), "none is none");
        for (number, sent) in datagrams.iter().enumerate() {
            assert_eq!(&next_of(&mut receivers[number % 2]), sent);
        }
        for receiver in &mut receivers {
            assert_eq!(receiver.receive(&mut [0; 10]), Ok(UdpRead::Nothing));
        }
    }
}

#[test]
fn of_many_datagrams_the_first_bad_one_is_told_of_and_those_before_it_leave() {
    let mut receiver = UdpReceiver::bind(any("127.0.0.1"), &UdpOptions::default()).unwrap();
    let peer = receiver.local_address().unwrap();
    let mut socket = UdpSocket::bind(any("127.0.0.1"), &UdpOptions::default()).unwrap();
    let (good, bad) = (vec![1; 100], vec![2; 70_000]);
    let batch = [&good, &good, &bad, &good];
    let from = |first: usize| batch[first..].iter().map(|bytes| (&bytes[..], peer));
    assert_eq!(socket.send_many(from(0)), Ok(2));
    let error = socket.send_many(from(2)).unwrap_err();
    assert!(error.reason.contains("larger"), "{error}");
    assert_eq!(socket.send_many(from(3)), Ok(1));
    assert_eq!([(); 3].map(|()| next_of(&mut receiver)), [(); 3].map(|()| good.clone()));
}
