//! Seven streams at once, each over its own 802.11b link, as in a comparison of transports.

use std::thread;
use std::time::{Duration, Instant};

use framewire_emu::LaneConfig;
use framewire_link::{BottleneckPlace, Network, NetworkConfig, QueueLimit, WifiConfig, WifiNetworkConfig, WireConfig};
use framewire_units::Seed;

use crate::report::{Case, errors, losses, scheduling};
use crate::traffic::{Receiver, sockets, start};

const STREAMS: usize = 7;
const TIME: Duration = Duration::from_secs(10);
/// 6 Mbit/s at 25 frames per second.
const FRAME: usize = 30_000;
const FRAME_INTERVAL: Duration = Duration::from_millis(40);
const PAYLOAD: usize = 1_400;

/// The error of the worst of seven streams.
pub fn seven() -> Vec<Case> {
    let lanes =
        (0..STREAMS).map(|number| LaneConfig::new(format!("stream {number}"), wifi(), BottleneckPlace::LocalDevice));
    let world = start(lanes.collect());
    let pairs: Vec<_> = (0..STREAMS).map(|lane| sockets(&world, lane)).collect();
    let streams: Vec<_> = pairs
        .into_iter()
        .map(|(sender, receiver)| {
            let receiver = Receiver::start(receiver, world.clock());
            (thread::spawn(move || send_frames(&sender)), receiver)
        })
        .collect();
    for (sender, receiver) in streams {
        sender.join().expect("the sender does not panic");
        thread::sleep(Duration::from_millis(50));
        receiver.end();
    }
    let records = world.stop().expect("the world ran");
    let worst = records.iter().max_by_key(|record| record.accuracy.release_error.p99_ns).expect("there are seven");
    let mut cases = errors("seven streams, worst one", worst.accuracy.release_error, None, Some(1_000.0));
    cases[0].note = scheduling(worst.accuracy.scheduling);
    let device = records.iter().map(|record| record.accuracy.device_release_error.p99_ns).max().unwrap_or(0);
    cases.push(
        Case::unbounded("seven streams, worst one: device release error p99", device as f64 / 1e3, "us").at_most(1e3),
    );
    let clamped: u64 = records.iter().map(|record| record.accuracy.clamped).sum();
    cases.push(Case::unbounded("seven streams: arrivals seen too late", clamped as f64, "packets"));
    let disturbed = records.iter().filter(|record| record.accuracy.disturbed.is_some()).count();
    cases.push(Case::unbounded("seven streams: disturbed", disturbed as f64, "streams"));
    cases.extend(
        records
            .iter()
            .filter(|record| record.accuracy.lost_outside_model > 0)
            .map(|record| losses(&record.name, record)),
    );
    cases
}

fn wifi() -> Box<Network> {
    let config = NetworkConfig::Wifi(WifiNetworkConfig {
        wifi: WifiConfig::default(),
        station_queue: QueueLimit::Packets(100),
        access_point_queue: QueueLimit::Packets(100),
        wire: WireConfig { delay: Duration::from_millis(1), ..WireConfig::default() },
        bottleneck: BottleneckPlace::LocalDevice,
        ..WifiNetworkConfig::default()
    });
    Box::new(Network::new(&config, Seed(1)).expect("the values make sense"))
}

/// A frame every 40 ms, written as fast as the socket takes it.
fn send_frames(socket: &std::net::UdpSocket) {
    let datagram = [0x80; PAYLOAD];
    let began = Instant::now();
    for number in 1.. {
        for _ in 0..FRAME.div_ceil(PAYLOAD) {
            socket.send(&datagram).expect("the lane carries packets");
        }
        let next = FRAME_INTERVAL * number;
        if next > TIME {
            return;
        }
        thread::sleep(next.saturating_sub(began.elapsed()));
    }
}
