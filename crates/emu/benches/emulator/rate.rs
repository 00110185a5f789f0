//! Rates: how exactly a configured rate is kept, and how the kernel's own token bucket does.

use std::process::Command;
use std::thread;
use std::time::Duration;

use framewire_emu::{Distribution, FixedDelay, HOST_DEVICE};
use framewire_link::{BottleneckPlace, Network, NetworkConfig, NodeId, QueueLimit, WireConfig, WiredNetworkConfig};
use framewire_units::{Bitrate, Seed, Timestamp};

use crate::delay::stop;
use crate::report::{Case, losses};
use crate::traffic::{HEADERS, Receiver, send_paced, sockets, world};

const RATES_MBPS: [u64; 4] = [1, 11, 100, 500];
const PAYLOAD: usize = 1_472;
const TIME: Duration = Duration::from_secs(3);

/// Datagrams at 1.3 times the rate; the rate at which they leave is measured by the receiver's kernel.
pub fn configured() -> Vec<Case> {
    RATES_MBPS.iter().flat_map(|&rate| configured_at(Bitrate::from_mbps(rate))).collect()
}

fn configured_at(rate: Bitrate) -> Vec<Case> {
    let wire =
        WireConfig { rate: Some(rate), queue: QueueLimit::Time(Duration::from_millis(100)), ..WireConfig::default() };
    let config = NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, BottleneckPlace::Remote));
    let network = Network::new(&config, Seed(1)).expect("the values make sense");
    let world = world(Box::new(network), BottleneckPlace::Remote);
    let (sender, receiver) = sockets(&world, 0);
    let receiver = Receiver::start(receiver, world.clock());
    saturate(&sender, rate);
    thread::sleep(Duration::from_millis(300));
    let received = receiver.end();
    let record = stop(world);
    let name = format!("rate of {rate}");
    vec![
        deviation(&name, &received.stamps, rate).at_most(0.1),
        spacing(&name, &received.stamps),
        losses(&name, &record),
    ]
}

fn saturate(sender: &std::net::UdpSocket, rate: Bitrate) {
    let packets = rate.as_bps() * 13 / 10 / (8 * (PAYLOAD + HEADERS) as u64);
    send_paced(sender, PAYLOAD, packets, Duration::from_millis(2), TIME);
}

/// How far the rate of IP packets is from the one that was asked for, in percent.
fn deviation(name: &str, stamps: &[Timestamp], asked: Bitrate) -> Case {
    // The first packets leave while the queue fills; from then on the bottleneck is always busy.
    let steady = &stamps[stamps.len() / 10..];
    let (Some(first), Some(last)) = (steady.first(), steady.last()) else {
        return Case::unbounded(format!("{name}: deviation"), f64::INFINITY, "%");
    };
    let bits = ((steady.len() - 1) * (PAYLOAD + HEADERS) * 8) as f64;
    let achieved = bits / (last.nanos_since(*first) as f64 / 1e9);
    let deviation = (achieved / asked.as_bps() as f64 - 1.0).abs() * 100.0;
    Case::unbounded(format!("{name}: deviation"), deviation, "%").note(format!("{:.4} Mbit/s", achieved / 1e6))
}

/// How uneven the time between packets is.
fn spacing(name: &str, stamps: &[Timestamp]) -> Case {
    let steady = &stamps[stamps.len() / 10..];
    let gaps: Vec<i64> = steady.windows(2).map(|pair| pair[1].nanos_since(pair[0])).collect();
    let mean = gaps.iter().sum::<i64>() / gaps.len().max(1) as i64;
    let uneven = Distribution::of(gaps.iter().map(|gap| (gap - mean).abs()));
    Case::unbounded(format!("{name}: spacing error p99"), uneven.p99_ns as f64 / 1e3, "us").note(format!(
        "p50 {:.1} us, max {:.1} us",
        uneven.p50_ns as f64 / 1e3,
        uneven.max_ns as f64 / 1e3
    ))
}

/// The same with the kernel's token bucket filter on the sender's device and nothing in the link model. What leaves it
/// is stamped by the kernel at the other end of the device, so the pump has no part in the figure.
pub fn token_bucket() -> Vec<Case> {
    RATES_MBPS.iter().flat_map(|&rate| token_bucket_at(Bitrate::from_mbps(rate))).collect()
}

fn token_bucket_at(rate: Bitrate) -> Vec<Case> {
    let name = format!("tbf of {rate}");
    let world = world(Box::new(FixedDelay::default()), BottleneckPlace::Remote);
    let (sender, receiver) = sockets(&world, 0);
    let installed = world.lane(0).in_sender(|| install_token_bucket(rate)).expect("the lane runs");
    if let Err(reason) = installed {
        return vec![Case::unbounded(format!("{name}: not measured"), 0.0, "").note(reason)];
    }
    let receiver = Receiver::start(receiver, world.clock());
    saturate(&sender, rate);
    thread::sleep(Duration::from_millis(300));
    receiver.end();
    let record = stop(world);
    let stamps: Vec<Timestamp> =
        record.packets.iter().filter(|packet| packet.from == NodeId::SENDER).map(|packet| packet.arrived).collect();
    vec![deviation(&name, &stamps, rate), spacing(&name, &stamps)]
}

fn install_token_bucket(rate: Bitrate) -> Result<(), String> {
    let rate = format!("{}bit", rate.as_bps());
    let output = Command::new("tc")
        .args(["qdisc", "add", "dev", HOST_DEVICE, "root", "tbf", "rate", &rate, "burst", "3100", "latency", "100ms"])
        .output()
        .map_err(|error| format!("tc: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()) }
}
