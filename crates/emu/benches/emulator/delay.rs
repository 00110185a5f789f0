//! Punctuality: how late packets are released.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use framewire_emu::{Distribution, FixedDelay, LaneRecord, RECEIVER_ADDRESS, World};
use framewire_link::{BottleneckPlace, Network, NetworkConfig, NodeId, QueueLimit, WireConfig, WiredNetworkConfig};
use framewire_units::{Bitrate, Seed};

use crate::report::{Case, errors, losses, scheduling};
use crate::traffic::{Received, Receiver, send_paced, sockets, world};

const DELAYS_MS: [u64; 3] = [10, 40, 100];
const P50_US: Option<f64> = Some(25.0);
const P99_US: Option<f64> = Some(100.0);

/// 1,000 datagrams per second over a plain delay.
pub fn idle() -> Vec<Case> {
    DELAYS_MS.iter().flat_map(|&delay| idle_at(Duration::from_millis(delay))).collect()
}

fn idle_at(delay: Duration) -> Vec<Case> {
    let world = world(Box::new(FixedDelay::new(delay)), BottleneckPlace::Remote);
    let (sender, receiver) = sockets(&world, 0);
    let receiver = Receiver::start(receiver, world.clock());
    send_paced(&sender, 200, 1_000, Duration::from_millis(1), Duration::from_secs(5));
    thread::sleep(delay + Duration::from_millis(200));
    let received = receiver.end();
    let record = stop(world);
    let name = format!("{} ms, 1,000 packets/s", delay.as_millis());
    let mut cases = errors(&name, record.accuracy.release_error, P50_US, P99_US);
    cases[0].note = scheduling(record.accuracy.scheduling);
    let seen = seen_by_receiver(&record, &received);
    cases.push(Case::unbounded(
        format!("{name}: as the receiver's kernel saw it, p50"),
        seen.p50_ns as f64 / 1e3,
        "us",
    ));
    cases.push(Case::unbounded(
        format!("{name}: as the receiver's kernel saw it, p99"),
        seen.p99_ns as f64 / 1e3,
        "us",
    ));
    cases.push(losses(&name, &record));
    cases
}

/// The independent view: the stamp of the receiver's kernel less the intended time, when nothing was lost or reordered.
fn seen_by_receiver(record: &LaneRecord, received: &Received) -> Distribution {
    let intended =
        record.packets.iter().filter(|packet| packet.from == NodeId::SENDER).filter_map(|packet| packet.delivered);
    Distribution::of(intended.zip(&received.stamps).map(|(release, stamp)| stamp.nanos_since(release.intended)))
}

/// The same while TCP fills a bottleneck of 50 Mbit/s.
pub fn under_tcp() -> Vec<Case> {
    DELAYS_MS.iter().flat_map(|&delay| under_tcp_at(Duration::from_millis(delay))).collect()
}

fn under_tcp_at(delay: Duration) -> Vec<Case> {
    let wire = WireConfig {
        rate: Some(Bitrate::from_mbps(50)),
        queue: QueueLimit::Time(Duration::from_millis(50)),
        delay,
        ..WireConfig::default()
    };
    let config = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
    let network = Network::new(&config, Seed(1)).expect("the values make sense");
    let world = world(Box::new(network), BottleneckPlace::Remote);
    let goodput = bulk_transfer(&world, Duration::from_secs(5));
    let record = stop(world);
    let name = format!("{} ms, TCP at 50 Mbit/s", delay.as_millis());
    let mut cases = errors(&name, record.accuracy.release_error, P50_US, P99_US);
    cases[0].note = scheduling(record.accuracy.scheduling);
    cases.push(Case::unbounded(format!("{name}: goodput"), goodput / 1e6, "Mbit/s"));
    cases.push(losses(&name, &record));
    cases
}

/// Writes as fast as TCP takes it for `time`; returns bits per second received.
pub fn bulk_transfer(world: &World, time: Duration) -> f64 {
    let lane = world.lane(0);
    let listener = lane.in_receiver(|| TcpListener::bind((RECEIVER_ADDRESS, 5_000))).expect("the lane runs");
    let listener = listener.expect("the lane's addresses exist");
    let sender = lane.in_sender(|| TcpStream::connect((RECEIVER_ADDRESS, 5_000))).expect("the lane runs");
    let mut sender = sender.expect("the lane carries packets");
    let (mut receiver, _) = listener.accept().expect("the connection stands");
    let reader = thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        let (began, mut total) = (Instant::now(), 0);
        while let Ok(count @ 1..) = receiver.read(&mut buffer) {
            total += count;
        }
        total as f64 * 8.0 / began.elapsed().as_secs_f64()
    });
    let chunk = vec![0x5a; 65_536];
    let began = Instant::now();
    while began.elapsed() < time && sender.write_all(&chunk).is_ok() {}
    drop(sender);
    let goodput = reader.join().expect("the reader does not panic");
    thread::sleep(Duration::from_millis(300));
    goodput
}

/// Ends a world of one lane.
pub fn stop(world: World) -> LaneRecord {
    world.stop().expect("the world ran").remove(0)
}
