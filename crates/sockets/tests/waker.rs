//! Waiting for a socket and for other threads at once, and what the elements ask of sockets beside writing.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of the kernel's sockets use clocks and threads"
)]

use std::io::Write;
use std::net::{TcpListener as StdListener, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use framewire_sockets::{Poller, Ready, TcpListener, TcpOptions, TcpSender, UdpOptions, UdpSender, Waker, Watch};
use framewire_transport::socket::{DatagramSend, DatagramSocket, StreamSocket};

const PATIENCE: Duration = Duration::from_secs(30);
const BOTH: Watch = Watch { write: true, read: true };

#[test]
fn a_wake_up_is_kept_and_counts_once() {
    let waker = Waker::new().unwrap();
    waker.wake();
    waker.wake();
    assert_eq!(waker.wait(None, Some(PATIENCE)).unwrap(), Ready { woken: true, ..Ready::default() });
    let begun = Instant::now();
    assert_eq!(waker.wait(None, Some(Duration::from_millis(30))).unwrap(), Ready::default());
    assert!(begun.elapsed() >= Duration::from_millis(30));
}

#[test]
fn another_thread_wakes_one_that_waits() {
    let waker = Waker::new().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            waker.wake();
        });
        assert!(waker.wait(None, Some(PATIENCE)).unwrap().woken);
    });
}

#[test]
fn a_socket_says_when_it_connects_when_it_has_input_and_when_it_breaks() {
    let listener = StdListener::bind("127.0.0.1:0").unwrap();
    let mut sender = TcpSender::start(None, listener.local_addr().unwrap(), &TcpOptions::default()).unwrap();
    let waker = Waker::new().unwrap();
    let wait = |sender: &TcpSender, watch| waker.wait(Some((sender.as_fd(), watch)), Some(PATIENCE)).unwrap();
    assert!(wait(&sender, Watch { write: true, read: false }).write);
    let (mut peer, _) = listener.accept().unwrap();
    assert_eq!(sender.discard_input(), Ok(false));

    peer.write_all(&[7; 10_000]).unwrap();
    assert!(wait(&sender, Watch { write: false, read: true }).read);
    assert_eq!(sender.discard_input(), Ok(false));
    peer.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(wait(&sender, BOTH).read);
    assert_eq!(sender.discard_input(), Ok(true));

    // With input that was never read, closing resets the connection.
    framewire_transport::socket::StreamSocket::write(&mut sender, &[1, 2, 3]).unwrap();
    assert_eq!(peer.peek(&mut [0; 3]).unwrap(), 3, "it has come, and is not read");
    drop(peer);
    let ready = wait(&sender, Watch::default());
    assert!(ready.broken && !ready.woken, "{ready:?}");
    assert!(sender.check().unwrap_err().to_string().contains("closed the connection"));
}

#[test]
fn nobody_on_a_port_is_an_error_or_not_as_asked() {
    // An address that no other test uses: no other socket takes the port in between.
    let free = UdpSocket::bind("127.0.0.4:0").unwrap().local_addr().unwrap();
    let waker = Waker::new().unwrap();
    let sender = || UdpSender::open("127.0.0.1:0".parse().unwrap(), free, &UdpOptions::default()).unwrap();
    let mut strict = sender();
    let is_told = |sender: &UdpSender, patience| {
        waker.wait(Some((sender.as_fd(), Watch::default())), Some(patience)).unwrap().broken
    };
    assert_eq!(strict.send(b"1"), Ok(DatagramSend::Sent));
    assert!(is_told(&strict, PATIENCE));
    assert!(strict.send(b"1").is_err(), "ICMP port unreachable is reported");
    assert_eq!(strict.send(b"1"), Ok(DatagramSend::Sent));
    assert!(is_told(&strict, PATIENCE));
    assert!(strict.check().is_err() && strict.check().is_ok(), "once");

    let mut patient = sender();
    patient.ignore_refusal();
    for _ in 0..10 {
        assert_eq!(patient.send(b"1"), Ok(DatagramSend::Sent));
    }
    assert!(is_told(&patient, PATIENCE) && patient.check().is_ok());
    // Every datagram has its own refusal; each is reported at most once.
    let times =
        (0..10).take_while(|_| is_told(&patient, Duration::from_millis(100)) && patient.check().is_ok()).count();
    assert!(times < 10, "what was told is told again");
    let receiver = UdpSocket::bind(free).unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(patient.send(b"late"), Ok(DatagramSend::Sent));
    let mut buffer = [0; 16];
    assert_eq!(receiver.recv(&mut buffer).unwrap(), 4, "one who listens later gets what is sent then");
}

/// What is told of, by the sockets' numbers, within the time.
fn polled(poller: &mut Poller, timeout: Duration) -> Vec<(u64, bool, bool)> {
    let told = poller.wait(timeout).unwrap().map(|one| (one.token, one.ready.read, one.ready.write));
    let mut told: Vec<_> = told.collect();
    told.sort_unstable();
    told
}

#[test]
fn a_poller_tells_of_the_sockets_that_are_ready_for_what_they_are_watched_for() {
    let (read, both) = (Watch { read: true, write: false }, Watch { read: true, write: true });
    let mut listener = TcpListener::bind_for("127.0.0.1:0".parse().unwrap(), &TcpOptions::default(), 1_000).unwrap();
    let address = listener.local_address().unwrap();
    let connect = || TcpSender::connect(None, address, &TcpOptions::default(), PATIENCE).unwrap();
    let mut poller = Poller::new().unwrap();
    poller.add(listener.as_fd(), 7, read).unwrap();
    let started = Instant::now();
    assert_eq!(polled(&mut poller, Duration::from_millis(20)), []);
    assert!(started.elapsed() >= Duration::from_millis(20), "it waits until the time is over");
    let (mut one, other) = (connect(), connect());
    assert_eq!(polled(&mut poller, PATIENCE), [(7, true, false)]);
    let accepted = [listener.accept().unwrap().unwrap(), listener.accept().unwrap().unwrap()];
    for (connection, token) in accepted.iter().zip([1, 2]) {
        poller.add(connection.as_fd(), token, read).unwrap();
    }
    assert_eq!(polled(&mut poller, Duration::ZERO), []);
    assert_eq!(one.write(b"!"), Ok(1));
    assert_eq!(polled(&mut poller, PATIENCE), [(1, true, false)]);
    poller.change(accepted[1].as_fd(), 2, both).unwrap();
    assert_eq!(polled(&mut poller, PATIENCE), [(1, true, false), (2, false, true)]);
    poller.change(accepted[1].as_fd(), 2, read).unwrap();
    drop(accepted);
    assert_eq!(polled(&mut poller, Duration::ZERO), [], "what is closed is not told of");
    drop(other);
}
