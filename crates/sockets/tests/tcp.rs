//! TCP over loopback, with this kernel's own sockets.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of the kernel's sockets use clocks and processes"
)]

use std::sync::Once;
use std::time::{Duration, Instant};

use framewire_media::PictureType;
use framewire_sockets::{
    Interest, OpenError, TcpListener, TcpOptions, TcpRead, TcpReceiver, TcpSender, available_congestion_controls, wait,
};
use framewire_transport::StreamSender;
use framewire_transport::event::SenderEvent;
use framewire_transport::frame::{Dependencies, OutgoingFrame};
use framewire_transport::ifd::IfdPolicy;
use framewire_transport::queue::FrameQueue;
use framewire_transport::socket::StreamSocket;
use framewire_units::{DataSize, Timestamp};

const PATIENCE: Duration = Duration::from_secs(30);

/// The kernel begins to stamp soon after the first socket has asked for it, not at once (net_enable_timestamp in
/// net/core/dev.c). Waits for that once, and keeps a socket that asks.
fn wait_for_stamps() {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        let (mut sender, mut receiver) = connected(&TcpOptions::default());
        let began = Instant::now();
        loop {
            sender.write(b"stamped?").unwrap();
            assert!(wait(&receiver, Interest::Read, PATIENCE).unwrap() && began.elapsed() < PATIENCE, "no stamps");
            let read = receiver.read(&mut [0; 64]).unwrap();
            if matches!(read, TcpRead::Bytes { realtime_nanos: Some(_), .. }) {
                break;
            }
        }
        std::mem::forget((sender, receiver));
    });
}

fn pair(options: &TcpOptions) -> (TcpSender, TcpReceiver) {
    wait_for_stamps();
    connected(options)
}

fn connected(options: &TcpOptions) -> (TcpSender, TcpReceiver) {
    let small_window = TcpOptions { receive_buffer: Some(DataSize::from_bytes(32 * 1024)), ..TcpOptions::default() };
    let mut listener = TcpListener::bind("127.0.0.1:0".parse().unwrap(), &small_window).unwrap();
    let sender = TcpSender::connect(None, listener.local_address().unwrap(), options, PATIENCE).unwrap();
    assert!(wait(&listener, Interest::Read, PATIENCE).unwrap());
    let receiver = listener.accept().unwrap().expect("a connection waits");
    (sender, receiver)
}

/// Writes pieces of `piece` bytes until the socket takes no more; returns how many bytes it took.
fn fill(sender: &mut TcpSender, piece: usize) -> usize {
    let bytes = vec![0x55; piece];
    let mut total = 0;
    loop {
        match sender.write(&bytes).unwrap() {
            0 if !wait(sender, Interest::Write, Duration::from_millis(300)).unwrap() => return total,
            taken => total += taken,
        }
    }
}

fn frame(id: u32, size: usize) -> OutgoingFrame {
    OutgoingFrame {
        id,
        kind: PictureType::I,
        dependencies: Dependencies::default(),
        duration: Duration::from_millis(40),
        rtp_timestamp: 0,
        decode_timestamp: 0,
        bytes: vec![0; size].into(),
    }
}

/// Reads up to the end.
fn read_all(receiver: &mut TcpReceiver) -> Vec<u8> {
    let (mut all, mut buffer) = (vec![], [0; 64 * 1024]);
    loop {
        match receiver.read(&mut buffer).unwrap() {
            TcpRead::Bytes { length, realtime_nanos } => {
                assert!(realtime_nanos.is_some_and(|nanos| nanos > 1_600_000_000_000_000_000));
                all.extend_from_slice(&buffer[..length]);
            }
            TcpRead::Nothing => assert!(wait(receiver, Interest::Read, PATIENCE).unwrap(), "no end came"),
            TcpRead::End => return all,
        }
    }
}

#[test]
fn bytes_arrive_in_order_and_the_end_after_them() {
    let send_buffer = Some(DataSize::from_bytes(64 * 1024));
    let (mut sender, mut receiver) = pair(&TcpOptions { send_buffer, ..TcpOptions::default() });
    assert_eq!(Some(sender.send_buffer().unwrap()), send_buffer);
    let sent: Vec<u8> = (0..2_000_000u32).map(|n| (n / 7) as u8).collect();
    let expected = sent.clone();
    let reader = std::thread::spawn(move || assert!(read_all(&mut receiver) == expected));
    let mut written = 0;
    let mut partial = 0;
    while written < sent.len() {
        let rest = &sent[written..];
        match sender.write(rest).unwrap() {
            0 => assert!(wait(&sender, Interest::Write, PATIENCE).unwrap()),
            taken => {
                partial += u32::from(taken < rest.len());
                written += taken;
            }
        }
    }
    sender.finish().unwrap();
    reader.join().unwrap();
    assert!(partial > 0, "two megabytes do not fit into the send buffer at once");
    assert_eq!(sender.queued(), Ok(DataSize::ZERO), "all is acknowledged");
}

#[test]
fn unsent_bytes_are_bounded_without_a_smaller_send_buffer() {
    let limit = DataSize::from_bytes(16 * 1024);
    let (mut bounded, _reader) = pair(&TcpOptions { unsent_limit: Some(limit), ..TcpOptions::default() });
    let (mut unbounded, _other_reader) = pair(&TcpOptions::default());
    let (taken, taken_without) = (fill(&mut bounded, 1_000), fill(&mut unbounded, 1_000));
    // Nothing reads: the receive window fills, and what is behind it is unsent.
    let unsent = bounded.unsent().unwrap();
    // The kernel looks before each piece, so that the last one may go over.
    assert!(unsent.as_bytes() > 0 && unsent.as_bytes() < limit.as_bytes() + 1_000, "{unsent}");
    assert!(unbounded.unsent().unwrap() > limit + limit, "{taken} {taken_without}");
    assert_eq!(bounded.info().unwrap().unsent, Some(unsent), "TCP_INFO says the same");
    assert_eq!(bounded.send_buffer(), unbounded.send_buffer(), "both are left to autotuning");
    assert!(bounded.queued().unwrap() >= unsent);
}

/// A sending half keeps the bound exactly, however large the frames are.
#[test]
fn a_sending_half_never_has_more_unsent_than_its_limit() {
    let limit = DataSize::from_bytes(16 * 1024);
    let (mut socket, mut receiver) = pair(&TcpOptions { unsent_limit: Some(limit), ..TcpOptions::default() });
    let mut half = StreamSender::new(FrameQueue::ifd(IfdPolicy::Basic), Some(limit));
    let (mut largest, mut read, mut buffer) = (DataSize::ZERO, 0, vec![0; 20_000]);
    let mut accepted = 0;
    for id in 0..200 {
        half.handle_frame(Timestamp::ZERO, frame(id, 40_000));
        half.poll_write(Timestamp::ZERO, &mut socket).unwrap();
        largest = largest.max(socket.unsent().unwrap());
        while let Some(event) = half.poll_event() {
            accepted += usize::from(matches!(event, SenderEvent::LastByte { .. })) * 40_000;
        }
        // What is on its way comes, be it later on a busy machine.
        wait(&receiver, Interest::Read, Duration::from_millis(100)).unwrap();
        if let TcpRead::Bytes { length, .. } = receiver.read(&mut buffer).unwrap() {
            read += length;
        }
    }
    assert!(largest <= limit && largest.as_bytes() > limit.as_bytes() / 2, "{largest}");
    assert!(read > 1_000_000 && accepted > 1_000_000, "the stream moves: {read} {accepted}");
}

#[test]
fn the_kernel_tells_of_the_connection() {
    let options = TcpOptions { congestion: Some("reno".to_owned()), no_delay: true, ..TcpOptions::default() };
    let (mut sender, mut receiver) = pair(&options);
    assert_eq!(sender.congestion().unwrap(), "reno");
    sender.write(&[1; 10_000]).unwrap();
    sender.finish().unwrap();
    assert_eq!(read_all(&mut receiver).len(), 10_000);
    let info = sender.info().unwrap();
    assert!(info.cwnd_packets >= 10, "the initial window is 10 (RFC 6928): {info:?}");
    assert!(info.srtt > Duration::ZERO && info.srtt < PATIENCE, "{info:?}");
    assert_eq!((info.ssthresh_packets, info.total_retransmissions), (None, 0));
    assert!(info.total_timeouts.is_none_or(|timeouts| timeouts == 0), "{info:?}");
    assert!(info.min_rtt.is_some_and(|rtt| rtt <= info.srtt), "{info:?}");
    assert!(info.delivery_rate.is_some() && info.mss > 1_000, "{info:?}");
}

#[test]
fn an_unavailable_congestion_control_is_named_with_those_that_are_there() {
    for name in ["no-such", "", "a-name-that-is-much-too-long"] {
        let options = TcpOptions { congestion: Some(name.to_owned()), ..TcpOptions::default() };
        let error = TcpListener::bind("127.0.0.1:0".parse().unwrap(), &options).unwrap_err().to_string();
        assert!(error.contains(&format!("\"{name}\"")), "{error}");
        assert!(!available_congestion_controls().is_empty());
        for available in available_congestion_controls() {
            assert!(error.contains(&available), "{error}");
        }
    }
}

#[test]
fn a_port_in_use_is_named() {
    let options = TcpOptions::default();
    // An address that no other test uses: no other socket takes the port in between.
    let listener = TcpListener::bind("127.0.0.3:0".parse().unwrap(), &options).unwrap();
    let address = listener.local_address().unwrap();
    let error = TcpListener::bind(address, &options).unwrap_err();
    assert_eq!(error, OpenError::PortInUse(address));
    assert!(error.to_string().contains(&address.port().to_string()), "{error}");
    drop(listener);
    assert_eq!(TcpSender::connect(None, address, &options, PATIENCE).unwrap_err(), OpenError::Refused(address));
    TcpListener::bind(address, &options).expect("free again at once");
}

#[test]
fn a_peer_that_goes_away_breaks_the_write() {
    let (mut sender, receiver) = pair(&TcpOptions::default());
    fill(&mut sender, 10_000);
    drop(receiver);
    assert!(wait(&sender, Interest::Write, PATIENCE).unwrap(), "a broken socket is ready");
    let error = sender.write(b"more").unwrap_err();
    assert_eq!(error.operation, "write");
    assert!(error.reason.contains("closed the connection"), "{error}");
}

#[test]
fn writing_before_the_connection_stands_takes_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap(), &TcpOptions::default()).unwrap();
    let local = "127.0.0.2:0".parse().unwrap();
    let sender = TcpSender::start(Some(local), listener.local_address().unwrap(), &TcpOptions::default()).unwrap();
    assert!(wait(&sender, Interest::Write, PATIENCE).unwrap());
    sender.connected().unwrap();
    assert_eq!(sender.local_address().unwrap().ip(), local.ip());
}

#[test]
fn connections_that_come_at_once_all_stand_before_the_first_is_accepted() {
    let options = TcpOptions::default();
    let mut listener = TcpListener::bind_for("127.0.0.1:0".parse().unwrap(), &options, 8).unwrap();
    let address = listener.local_address().unwrap();
    let connect = || TcpSender::connect(None, address, &options, Duration::from_millis(500));
    let senders: Vec<TcpSender> = (0..8).map(|_| connect().expect("it has a place in the queue")).collect();
    let accepted = std::iter::from_fn(|| listener.accept().unwrap());
    let mut peers: Vec<_> = accepted.map(|receiver| receiver.peer_address().unwrap()).collect();
    let mut locals: Vec<_> = senders.iter().map(|sender| sender.local_address().unwrap()).collect();
    peers.sort_unstable();
    locals.sort_unstable();
    assert_eq!(peers, locals);
}

#[test]
fn a_connection_carries_bytes_in_both_directions_whoever_opened_it() {
    let (mut opener, mut accepted) = pair(&TcpOptions::default());
    let mut answers = opener.receiver().expect("a descriptor");
    let mut back = accepted.sender().expect("a descriptor");
    assert_eq!(opener.write(b"please"), Ok(6));
    let mut buffer = [0; 16];
    assert!(wait(&accepted, Interest::Read, PATIENCE).unwrap());
    assert!(matches!(accepted.read(&mut buffer), Ok(TcpRead::Bytes { length: 6, realtime_nanos: Some(_) })));
    assert_eq!(back.write(b"here"), Ok(4));
    assert!(wait(&answers, Interest::Read, PATIENCE).unwrap());
    assert!(matches!(answers.read(&mut buffer), Ok(TcpRead::Bytes { length: 4, realtime_nanos: Some(_) })));
    assert_eq!(&buffer[..4], b"here");
    // The end of one direction is not that of the other, and a connection is open as long as either is held.
    drop(answers);
    back.finish().unwrap();
    assert_eq!(opener.write(b"!"), Ok(1));
    assert!(wait(&accepted, Interest::Read, PATIENCE).unwrap());
    assert!(matches!(accepted.read(&mut buffer), Ok(TcpRead::Bytes { length: 1, .. })));
    drop(opener);
    assert!(wait(&accepted, Interest::Read, PATIENCE).unwrap());
    assert_eq!(accepted.read(&mut buffer), Ok(TcpRead::End));
}
