//! Worlds with real sockets. They need root or user namespaces; without them each test says so and passes nothing off
//! as tested.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use the kernel's sockets and clocks"
)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use framewire_emu::{
    BottleneckPlace, Clock, EmuError, FixedDelay, LaneConfig, LaneRecord, Protocol, RECEIVER_ADDRESS, RateAndDelay,
    SENDER_ADDRESS, World,
};
use framewire_link::{
    DropCause, Exceeding, Network, NetworkConfig, NodeId, Outcome, PolicerConfig, TokenBucket, WireConfig,
    WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Ecn, Seed};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::Ipv4Tos;

/// Worlds share the machine's processors: one at a time keeps them from disturbing each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// How long a test waits for what must come before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Starts a world of one lane, or says why it cannot and skips.
fn start(config: LaneConfig) -> Option<World> {
    match World::start(vec![config], Clock::start()) {
        Ok(world) => Some(world),
        Err(error @ (EmuError::Namespace { .. } | EmuError::NoGate { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn udp_pair(world: &World) -> (UdpSocket, UdpSocket) {
    let lane = world.lane(0);
    let receiver = lane.in_receiver(|| UdpSocket::bind((RECEIVER_ADDRESS, 5_004)).unwrap()).unwrap();
    let sender = lane.in_sender(|| UdpSocket::bind((SENDER_ADDRESS, 5_004)).unwrap()).unwrap();
    sender.connect((RECEIVER_ADDRESS, 5_004)).unwrap();
    receiver.connect((SENDER_ADDRESS, 5_004)).unwrap();
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    sender.set_read_timeout(Some(PATIENCE)).unwrap();
    (sender, receiver)
}

fn stop(world: World) -> LaneRecord {
    let record = world.stop().unwrap().remove(0);
    eprintln!("{:#?}", record.accuracy);
    record
}

/// Nothing was lost beyond the model, and every packet crossed it.
fn assert_whole(record: &LaneRecord) {
    assert_eq!(record.accuracy.lost_outside_model, 0, "{:?}", record.evidence);
    assert_eq!(record.evidence.disagreement(), None, "{:?}", record.evidence);
}

fn datagrams_cross_both_ways(bottleneck: BottleneckPlace) {
    let _guard = ONE_AT_A_TIME.lock();
    let delay = Duration::from_millis(10);
    let Some(world) = start(LaneConfig::new("lane", Box::new(FixedDelay::new(delay)), bottleneck)) else { return };
    let (sender, receiver) = udp_pair(&world);
    let mut buffer = [0; 2_000];
    let mut round_trips = Vec::new();
    for number in 0..100u8 {
        let sent = Instant::now();
        sender.send(&[number; 1_000]).unwrap();
        assert_eq!(receiver.recv(&mut buffer).unwrap(), 1_000);
        assert_eq!(buffer[0], number);
        receiver.send(&[number; 500]).unwrap();
        assert_eq!(sender.recv(&mut buffer).unwrap(), 500);
        let round_trip = sent.elapsed();
        assert!(round_trip >= 2 * delay, "{round_trip:?}");
        round_trips.push(round_trip);
    }
    // A busy machine makes this test's own thread wait, and never hastens it: what the lane adds by itself, the
    // quickest tenth has as well.
    round_trips.sort();
    assert!(round_trips[10] < 2 * delay + Duration::from_millis(2), "{:?}", round_trips[10]);
    let counters = world.lane(0).counters();
    assert_eq!((counters.forward.delivered, counters.backward.delivered), (100, 100));
    assert_eq!(counters.forward.bytes_delivered, 100 * 1_028);
    let record = stop(world);
    assert_whole(&record);
    assert_eq!(record.packets.len(), 200);
    assert_eq!(record.accuracy.release_error.count, 200);
    for packet in &record.packets {
        let release = packet.delivered.expect("delivered");
        assert_eq!(release.intended.nanos_since(packet.arrived), 10_000_000);
        assert!(release.error_nanos() >= 0, "never early: {release:?}");
        let (size, payload) = if packet.from == NodeId::SENDER { (1_028, 1_000) } else { (528, 500) };
        assert_eq!((packet.size, packet.headers.payload), (size, payload));
        assert_eq!(packet.headers.protocol, Protocol::Udp);
        assert_eq!(
            packet.released.is_some(),
            bottleneck == BottleneckPlace::LocalDevice && packet.from == NodeId::SENDER
        );
    }
}

#[test]
fn datagrams_cross_a_remote_bottleneck() {
    datagrams_cross_both_ways(BottleneckPlace::Remote);
}

#[test]
fn datagrams_cross_a_local_bottleneck() {
    datagrams_cross_both_ways(BottleneckPlace::LocalDevice);
}

/// Bytes of the send buffer in use.
fn queued(socket: &impl AsRawFd) -> i32 {
    let mut value = 0;
    // SAFETY: SIOCOUTQ (TIOCOUTQ) writes one int.
    assert_eq!(unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &mut value) }, 0);
    value
}

#[test]
fn a_local_device_holds_packets_in_their_socket_and_frees_them_at_its_rate() {
    let _guard = ONE_AT_A_TIME.lock();
    let rate = Bitrate::from_mbps(4);
    let model = RateAndDelay::new(rate, Duration::from_millis(1));
    let Some(world) = start(LaneConfig::new("lane", Box::new(model), BottleneckPlace::LocalDevice)) else { return };
    let (sender, _receiver) = udp_pair(&world);
    sender.set_nonblocking(true).unwrap();
    // 1,500 bytes at 4 Mbit/s.
    let slot = Duration::from_millis(3);
    let slots = |time: Duration| (time.as_nanos() / slot.as_nanos()) as i32;
    let (mut sent, began) = (0, Instant::now());
    let error = loop {
        match sender.send(&[0; 1_472]) {
            Ok(_) => sent += 1,
            Err(error) => break error,
        }
        assert!(sent < 1_000, "the device does not hold packets");
    };
    // SO_SNDBUF of 212,992 bytes and 2,304 bytes for a full packet: 93 of them, and what left while they were sent.
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    assert!((93..=95 + slots(began.elapsed())).contains(&sent), "{sent} in {:?}", began.elapsed());
    // After 60 ms about 20 packets are free, in steps of exactly one packet.
    let outer = Instant::now();
    let full = queued(&sender);
    let inner = Instant::now();
    thread::sleep(Duration::from_millis(60));
    let slept = inner.elapsed();
    let freed = full - queued(&sender);
    let most = slots(outer.elapsed()) + 4;
    assert_eq!(freed % 2_304, 0, "{freed}");
    while queued(&sender) > 0 {
        assert!(outer.elapsed() < PATIENCE, "{} bytes stay in the socket", queued(&sender));
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(Duration::from_millis(20));
    let record = stop(world);
    assert_whole(&record);
    assert_eq!(record.evidence.sender_plug.received, 0, "nothing goes around the gate");
    // Those of which the lane itself says that they left its device late were freed late.
    let late = Duration::from_nanos(record.accuracy.device_release_error.max_ns.unsigned_abs());
    let least = slots(slept.saturating_sub(late)).min(full / 2_304) - 3;
    assert!((least..=most).contains(&(freed / 2_304)), "{freed} in {slept:?}: {least} to {most}");
    assert_at_the_rate_of(&record, slot);
    if record.accuracy.disturbed.is_none() {
        let achieved = record.accuracy.forward.rate_achieved_bps.unwrap();
        let requested = record.accuracy.forward.rate_requested_bps.unwrap();
        assert!(achieved.abs_diff(requested) * 1_000 < 5 * requested, "{achieved} for {requested}");
    }
}

/// Packets leave a slot apart, to the nanosecond, as long as another one waits.
fn assert_at_the_rate_of(record: &LaneRecord, slot: Duration) {
    let releases: Vec<_> = record.packets.iter().map(|packet| (packet.arrived, packet.released.unwrap())).collect();
    let mut apart = 0;
    for pair in releases.windows(2) {
        let [(_, before), (arrived, after)] = pair else { unreachable!() };
        let gap = after.intended.nanos_since(before.intended);
        if *arrived <= before.intended {
            assert_eq!(gap, slot.as_nanos() as i64);
            apart += 1;
        } else {
            assert!(gap > slot.as_nanos() as i64, "{gap} ns after a pause");
        }
        assert!(after.error_nanos() >= 0, "never early: {after:?}");
    }
    assert!(apart >= 60, "the buffer was full: only {apart} packets waited for another");
}

#[test]
fn a_stream_arrives_whole_at_the_rate_of_the_link() {
    for bottleneck in [BottleneckPlace::LocalDevice, BottleneckPlace::Remote] {
        let mut took = Vec::new();
        // A busy machine stretches a transfer, and never shortens it: a pause is not in all of three.
        while took.len() < 3 && took.iter().all(|&seconds| seconds >= 1.2) {
            match seconds_for_two_megabytes(bottleneck) {
                Some(seconds) => took.push(seconds),
                None => return,
            }
        }
        eprintln!("{bottleneck:?}: {took:?} s");
        // 1,448 bytes of every 1,500: 19.3 Mbit/s, so 0.83 s, and the start of the connection.
        assert!(took.iter().all(|&seconds| seconds >= 0.8), "{bottleneck:?}: {took:?} s");
        assert!(took.iter().any(|&seconds| seconds < 1.2), "{bottleneck:?}: {took:?} s");
    }
}

/// What a stream takes through a link of 20 Mbit/s; nothing of it is lost or changed.
fn seconds_for_two_megabytes(bottleneck: BottleneckPlace) -> Option<f64> {
    let _guard = ONE_AT_A_TIME.lock();
    let model = RateAndDelay::new(Bitrate::from_mbps(20), Duration::from_millis(5));
    let world = start(LaneConfig::new("lane", Box::new(model), bottleneck))?;
    let lane = world.lane(0);
    let listener = lane.in_receiver(|| TcpListener::bind((RECEIVER_ADDRESS, 5_000)).unwrap()).unwrap();
    let mut sender = lane.in_sender(|| TcpStream::connect((RECEIVER_ADDRESS, 5_000)).unwrap()).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let bytes: Vec<u8> = (0..2_000_000u32).map(|number| ((number * 31) >> 8) as u8).collect();
    let began = Instant::now();
    let copy = bytes.clone();
    let writer = thread::spawn(move || sender.write_all(&copy).unwrap());
    let mut received = Vec::new();
    receiver.read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    let seconds = began.elapsed().as_secs_f64();
    assert!(received == bytes, "{bottleneck:?}: the stream was changed");
    let record = stop(world);
    assert_whole(&record);
    assert!(record.packets.iter().all(|packet| packet.size <= 1_500));
    // A tail may be sent twice, as a probe; of each byte one copy counts.
    let segments = record.packets.iter().filter(|packet| packet.from == NodeId::SENDER);
    let once: BTreeMap<_, _> = segments.map(|packet| (packet.headers.tcp_sequence, packet.headers.payload)).collect();
    let payload: u64 = once.values().map(|&payload| u64::from(payload)).sum();
    assert_eq!(payload, 2_000_000, "{bottleneck:?}");
    Some(seconds)
}

/// A counter of the calling thread's network namespace, from the two lines of its group in `/proc/net/netstat`.
fn ip_counter(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/net/netstat").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("IpExt:"));
    let names = lines.next().unwrap().split_whitespace();
    let values = lines.next().unwrap().split_whitespace();
    let value = names.zip(values).find(|(key, _)| *key == name).map(|(_, value)| value.parse().unwrap());
    value.unwrap_or_else(|| panic!("no {name} in {text}"))
}

/// The receiver's kernel takes only datagrams whose header's checksum is right, and counts those that say Congestion
/// Experienced.
#[test]
fn a_marked_datagram_is_taken_by_the_kernel_and_says_so() {
    let _guard = ONE_AT_A_TIME.lock();
    // All but the first exceed the policer.
    let bucket = TokenBucket { rate: Bitrate::from_bps(8), burst: DataSize::from_bytes(1_500) };
    let policer = Some(PolicerConfig { bucket, exceeding: Exceeding::Mark });
    let wire = WireConfig { delay: Duration::from_millis(5), policer, ..WireConfig::default() };
    let config = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
    let model = Network::new(&config, Seed(1)).unwrap();
    let Some(world) = start(LaneConfig::new("lane", Box::new(model), BottleneckPlace::Remote)) else { return };
    let (sender, receiver) = udp_pair(&world);
    let mut buffer = [0; 2_000];
    for (tos, sent) in [(Ecn::Ect0, 50), (Ecn::Ect1, 50), (Ecn::NotEct, 10)] {
        setsockopt(&sender, Ipv4Tos, &i32::from(tos.bits())).unwrap();
        for number in 0..sent {
            sender.send(&[number; 1_000]).unwrap();
            // What does not know ECN is dropped.
            if tos.is_capable() {
                assert_eq!((receiver.recv(&mut buffer).unwrap(), buffer[0]), (1_000, number));
            }
        }
    }
    let counted = |name: &str| world.lane(0).in_receiver(|| ip_counter(name)).unwrap();
    assert_eq!([counted("InECT0Pkts"), counted("InECT1Pkts"), counted("InCEPkts")], [1, 0, 99]);
    assert_eq!(counted("InCsumErrors"), 0);
    while world.lane(0).counters().forward.dropped < 10 {
        thread::sleep(Duration::from_millis(1));
    }
    let record = stop(world);
    let hops = || record.packets.iter().flat_map(|packet| packet.hops.clone());
    assert_eq!(hops().filter(|hop| hop.marked).count(), 99);
    assert_eq!(hops().filter(|hop| hop.outcome == Outcome::Dropped(DropCause::Policed)).count(), 10);
}
