//! UDP through a device that holds packets, as a network card does, and not at once as loopback: a loopback device
//! with a queueing discipline in a network namespace of its own. Needs `unshare`, `ip` and `tc` and the right to make
//! a namespace; without them a test says that it skips.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of the kernel's sockets use clocks and processes"
)]

use std::process::Command;
use std::time::{Duration, Instant};

use framewire_sockets::{Interest, UdpOptions, UdpReceiver, UdpSender, wait};
use framewire_transport::socket::{DatagramSend, DatagramSocket};
use framewire_units::DataSize;

/// Kernel memory of a datagram of 1,500 IP bytes (skb truesize).
const FULL_PACKET_TRUESIZE: u64 = 2_304;

/// Set in the process that runs inside the namespace.
const INSIDE: &str = "FRAMEWIRE_TEST_INSIDE";

/// Runs the test `name` again in a new namespace whose loopback device has the queueing discipline `discipline`.
/// Returns true inside, where the test is to go on.
fn inside(name: &str, discipline: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let script = format!("ip link set lo mtu 1500 up && tc qdisc add dev lo root {discipline} && exec \"$0\" \"$@\"");
    let namespace = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "sh", "-c", script]);
        command
    };
    let possible = namespace(&format!("ip link set lo up && tc qdisc add dev lo root {discipline}")).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: unshare, ip or tc is missing, or namespaces are not permitted here");
        return false;
    }
    let this = std::env::current_exe().unwrap();
    let mut command = namespace(&script);
    let output =
        command.arg(this).args(["--exact", &format!("held::{name}"), "--nocapture"]).env(INSIDE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "the test ran inside: {text}");
    false
}

fn sender(options: &UdpOptions) -> (UdpSender, UdpReceiver) {
    let receiver = UdpReceiver::bind("127.0.0.1:0".parse().unwrap(), &UdpOptions::default()).unwrap();
    let peer = receiver.local_address().unwrap();
    (UdpSender::open("127.0.0.1:0".parse().unwrap(), peer, options).unwrap(), receiver)
}

/// Sends full packets until the outcome is another than `Sent`; returns how many were sent, and the outcome.
fn send_until(sender: &mut UdpSender, most: u64) -> (u64, DatagramSend) {
    for sent in 0..most {
        match sender.send(&[0; 1_472]).unwrap() {
            DatagramSend::Sent => {}
            outcome => return (sent, outcome),
        }
    }
    (most, DatagramSend::Sent)
}

/// Full packets, of 1,514 bytes with their headers, that 1 Mbit/s lets through in this time.
fn left_in(time: Duration) -> u64 {
    time.as_micros() as u64 / 12_112
}

#[test]
fn a_full_send_buffer_blocks_and_wakes() {
    if !inside("a_full_send_buffer_blocks_and_wakes", "tbf rate 1mbit burst 1600 limit 10000000") {
        return;
    }
    for send_buffer in [212_992, 32 * 1024] {
        let options = UdpOptions { send_buffer: Some(DataSize::from_bytes(send_buffer)), ..UdpOptions::default() };
        let (mut sender, _receiver) = sender(&options);
        let begin = Instant::now();
        let (sent, outcome) = send_until(&mut sender, 10_000);
        assert_eq!(outcome, DatagramSend::WouldBlock);
        // The discipline lets its burst through, and what leaves at 1 Mbit/s in the meantime.
        let admitted = send_buffer.div_ceil(FULL_PACKET_TRUESIZE);
        let most = admitted + 4 + left_in(begin.elapsed());
        assert!((admitted..most).contains(&sent), "{send_buffer} B admit {admitted}, {sent} were sent");
        let queued = sender.queued().unwrap().as_bytes();
        assert_eq!(queued % FULL_PACKET_TRUESIZE, 0, "{queued}");
        let room = sender.free_room().unwrap().as_bytes();
        assert!(room < FULL_PACKET_TRUESIZE * (1 + left_in(begin.elapsed())), "{room}");
        // It is writable again once the buffer is half empty (sock_writeable in include/net/sock.h).
        let writable = wait(&sender, Interest::Write, Duration::ZERO).unwrap();
        let half = send_buffer / 2 / FULL_PACKET_TRUESIZE;
        assert!(!writable || left_in(begin.elapsed()) >= half - 4, "writable after {:?}", begin.elapsed());
        assert!(wait(&sender, Interest::Write, Duration::from_secs(30)).unwrap());
        let (queued, waited) = (sender.queued().unwrap().as_bytes(), begin.elapsed());
        assert!(queued <= send_buffer / 2, "writable with {queued} of {send_buffer} B");
        assert!(left_in(waited) >= half - 4, "half of the buffer was gone after {waited:?}");
        // It slept no longer than for that, but for the time that this thread was not woken.
        let woken_late = Duration::from_millis(500);
        assert!(left_in(waited.saturating_sub(woken_late)) < half + 8, "{waited:?}");
        assert_eq!(sender.send(&[0; 1_472]), Ok(DatagramSend::Sent));
        while sender.queued().unwrap() > DataSize::ZERO {
            assert!(begin.elapsed() < Duration::from_secs(60), "the discipline keeps its packets");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_full_device_queue_is_silent_unless_errors_are_asked_for() {
    let discipline = "tbf rate 1mbit burst 1600 limit 15000";
    if !inside("a_full_device_queue_is_silent_unless_errors_are_asked_for", discipline) {
        return;
    }
    // Ten packets fit into the queue, 92 into the socket.
    let (mut silent, _receiver) = sender(&UdpOptions::default());
    assert_eq!(send_until(&mut silent, 200), (200, DatagramSend::Sent));
    while silent.queued().unwrap() > DataSize::ZERO {
        std::thread::sleep(Duration::from_millis(20));
    }
    let begin = Instant::now();
    let (mut told, _receiver) = sender(&UdpOptions { report_errors: true, ..UdpOptions::default() });
    let (sent, outcome) = send_until(&mut told, 200);
    assert_eq!(outcome, DatagramSend::Dropped);
    assert!((5..20 + left_in(begin.elapsed())).contains(&sent), "{sent} in {:?}", begin.elapsed());
    // There is room in the socket all the while: nothing to wait for.
    assert!(wait(&told, Interest::Write, Duration::ZERO).unwrap());
}
