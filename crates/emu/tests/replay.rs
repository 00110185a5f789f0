//! A live run can be replayed: the link model decides the same, to the nanosecond, when it is given the arrivals of
//! the log in virtual time.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests of a world use sockets and wait")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use framewire_emu::{Clock, EmuError, Lane, LaneConfig, LaneRecord, RECEIVER_ADDRESS, SENDER_ADDRESS, World};
use framewire_link::disciplines::CodelSettings;
use framewire_link::{
    BottleneckPlace, Discipline, DropCause, HopRecord, Network, NetworkConfig, NetworkEvent, Outcome, Packet, PacketId,
    QueueLimit, WifiConfig, WifiNetworkConfig, WireConfig, WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Probability, Seed, Timestamp};

/// A lossy 802.11b link with a short queue, so that there is something to decide.
fn wireless() -> NetworkConfig {
    NetworkConfig::Wifi(WifiNetworkConfig {
        wifi: WifiConfig { retry: 2, error_floor: Probability::new(0.2).unwrap(), ..WifiConfig::default() },
        station_queue: QueueLimit::Packets(20),
        access_point_queue: QueueLimit::Packets(20),
        wire: WireConfig { delay: Duration::from_millis(2), ..WireConfig::default() },
        bottleneck: BottleneckPlace::LocalDevice,
        ..WifiNetworkConfig::default()
    })
}

/// A wire that is slower than what is sent, with CoDel: what is dropped is decided when packets leave the queue.
fn managed(place: BottleneckPlace) -> NetworkConfig {
    let wire = WireConfig {
        rate: Some(Bitrate::from_mbps(3)),
        queue_discipline: Discipline::Codel(CodelSettings::default()),
        delay: Duration::from_millis(2),
        ..WireConfig::default()
    };
    NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, place))
}

fn network(config: &NetworkConfig) -> Network {
    Network::new(config, Seed(42)).unwrap()
}

fn live(config: &NetworkConfig, traffic: impl FnOnce(&Lane<'_>)) -> Option<LaneRecord> {
    let place = match config {
        NetworkConfig::Wired(wired) => wired.bottleneck,
        NetworkConfig::Wifi(wifi) => wifi.bottleneck,
        NetworkConfig::Graph(_) => BottleneckPlace::Remote,
    };
    let lane = LaneConfig::new("lane", Box::new(network(config)), place);
    match World::start(vec![lane], Clock::start()) {
        Ok(world) => {
            traffic(&world.lane(0));
            wait_until_settled(&world.lane(0));
            Some(world.stop().unwrap().remove(0))
        }
        Err(error @ (EmuError::Namespace { .. } | EmuError::NoGate { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Waits until nothing is under way any more: what is stopped earlier is not decided yet.
fn wait_until_settled(lane: &Lane<'_>) {
    let begun = Instant::now();
    // The acknowledgement of a segment may be held back for 40 ms, and a segment repeated after 200 ms.
    let mut last = (lane.counters(), Instant::now());
    while last.1.elapsed() < Duration::from_millis(300) {
        assert!(begun.elapsed() < Duration::from_secs(60), "the network does not come to rest: {:?}", last.0);
        thread::sleep(Duration::from_millis(10));
        let now = lane.counters();
        let is_under_way = [now.forward, now.backward].iter().any(|side| side.packets > side.delivered + side.dropped);
        if is_under_way || now != last.0 {
            last = (now, Instant::now());
        }
    }
}

type Decisions = (BTreeMap<PacketId, Vec<HopRecord>>, BTreeMap<PacketId, Timestamp>);

fn replay(config: &NetworkConfig, record: &LaneRecord) -> Decisions {
    let mut network = network(config);
    let (mut hops, mut deliveries) = Decisions::default();
    let mut drain = |network: &mut Network| {
        while let Some(event) = network.poll_event() {
            match event {
                NetworkEvent::Hop { record, .. } => hops.entry(record.packet).or_default().push(record),
                NetworkEvent::Deliver { packet, at } => drop(deliveries.insert(packet.id, at)),
                _ => {}
            }
        }
    };
    let mut arrivals: Vec<_> = record.packets.iter().collect();
    arrivals.sort_by_key(|packet| packet.arrived);
    for arrival in arrivals {
        while network.next_timeout().is_some_and(|timeout| timeout.at < arrival.arrived) {
            network.handle_timeout(arrival.arrived);
            drain(&mut network);
        }
        let packet = Packet::new(arrival.id, DataSize::from_bytes(u64::from(arrival.size)));
        network.handle_packet(arrival.arrived, arrival.arrived, arrival.from, packet);
        drain(&mut network);
    }
    while let Some(timeout) = network.next_timeout() {
        network.handle_timeout(timeout.at + Duration::from_nanos(1));
        drain(&mut network);
    }
    (hops, deliveries)
}

fn assert_replayable(config: &NetworkConfig, record: &LaneRecord) {
    if record.accuracy.clamped > 0 {
        eprintln!("machine too busy: {} arrivals were seen too late", record.accuracy.clamped);
        return;
    }
    let (hops, deliveries) = replay(config, record);
    let dropped = record.packets.iter().filter(|packet| packet.delivered.is_none()).count();
    assert!(record.packets.len() > 200 && dropped > 0, "{} packets, {dropped} dropped", record.packets.len());
    for packet in &record.packets {
        assert_eq!(Some(&packet.hops), hops.get(&packet.id));
        assert_eq!(packet.delivered.map(|release| release.intended), deliveries.get(&packet.id).copied());
    }
}

/// 5 Mbit/s for a second, in bursts.
fn send_datagrams(lane: &Lane<'_>) {
    let _receiver = lane.in_receiver(|| UdpSocket::bind((RECEIVER_ADDRESS, 5_004)).unwrap()).unwrap();
    let sender = lane.in_sender(|| UdpSocket::bind((SENDER_ADDRESS, 5_004)).unwrap()).unwrap();
    for _ in 0..20 {
        for _ in 0..25 {
            sender.send_to(&[0; 1_000], (RECEIVER_ADDRESS, 5_004)).unwrap();
        }
        thread::sleep(Duration::from_millis(40));
    }
}

#[test]
fn datagrams_meet_the_same_link_again() {
    let config = wireless();
    let record = live(&config, send_datagrams);
    record.iter().for_each(|record| assert_replayable(&config, record));
}

#[test]
fn datagrams_meet_the_same_managed_queue_again() {
    for place in [BottleneckPlace::LocalDevice, BottleneckPlace::Remote] {
        let config = managed(place);
        let record = live(&config, send_datagrams);
        if let Some(record) = &record {
            assert_replayable(&config, record);
            let hops = record.packets.iter().flat_map(|packet| packet.into_owned().hops);
            let managed = hops.filter(|hop| hop.outcome == Outcome::Dropped(DropCause::ActiveQueueManagement)).count();
            assert!(managed > 3, "{managed} packets dropped by CoDel");
        }
    }
}

#[test]
fn a_stream_and_its_acknowledgements_meet_the_same_link_again() {
    let config = wireless();
    let record = live(&config, |lane| {
        let listener = lane.in_receiver(|| TcpListener::bind((RECEIVER_ADDRESS, 5_000)).unwrap()).unwrap();
        let mut sender = lane.in_sender(|| TcpStream::connect((RECEIVER_ADDRESS, 5_000)).unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        let reader = thread::spawn(move || receiver.read_to_end(&mut Vec::new()).unwrap());
        sender.write_all(&[7; 400_000]).unwrap();
        drop(sender);
        assert_eq!(reader.join().unwrap(), 400_000);
    });
    record.iter().for_each(|record| assert_replayable(&config, record));
}
