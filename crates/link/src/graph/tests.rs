use std::collections::BTreeMap;

use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::config::{
    BottleneckPlace, LossConfig, NetworkConfig, WifiConfig, WifiNetworkConfig, WireConfig, WiredNetworkConfig,
};
use crate::network::Network;
use crate::queue::{Discipline, QueueLimit};
use crate::verdict::{Hop, HopRecord, PacketId};

fn ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn wire(mbps: u64, delay_ms: u64) -> WireConfig {
    let rate = Some(Bitrate::from_mbps(mbps));
    WireConfig { rate, delay: Duration::from_millis(delay_ms), ..WireConfig::default() }
}

fn link(between: [u16; 2], wire: WireConfig) -> LinkConfig {
    let directions = [DirectionConfig::remote(wire.clone()), DirectionConfig::remote(wire)];
    LinkConfig { between: between.map(NodeId), directions }
}

fn graph(nodes: u16, links: Vec<LinkConfig>) -> GraphConfig {
    GraphConfig { nodes, links, ..GraphConfig::default() }
}

fn packet(id: u64, bytes: u64, to: u16) -> Packet {
    Packet { to: NodeId(to), ..Packet::new(PacketId(id), DataSize::from_bytes(bytes)) }
}

/// A packet at a time, from a node.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Timestamp,
    from: NodeId,
    packet: Packet,
}

/// All that a network says of packets that come in order of time; the world keeps every timeout.
fn run(config: &NetworkConfig, arrivals: &[Arrival]) -> Vec<NetworkEvent> {
    let mut network = Network::new(config, Seed(7)).unwrap();
    let mut events = Vec::new();
    for arrival in arrivals {
        while let Some(timeout) = network.next_timeout().filter(|timeout| timeout.at <= arrival.at) {
            network.handle_timeout(timeout.at);
        }
        network.handle_packet(arrival.at, arrival.at, arrival.from, arrival.packet);
        events.extend(std::iter::from_fn(|| network.poll_event()));
    }
    while let Some(timeout) = network.next_timeout() {
        network.handle_timeout(timeout.at);
    }
    events.extend(std::iter::from_fn(|| network.poll_event()));
    events
}

fn delivered(events: &[NetworkEvent]) -> BTreeMap<u64, Timestamp> {
    let delivered = events.iter().filter_map(|event| match event {
        NetworkEvent::Deliver { packet, at } => Some((packet.id.0, *at)),
        _ => None,
    });
    delivered.collect()
}

/// Three wires in a row: 10 ms and 1.2 ms of service each, and at the slowest 12 ms.
#[test]
fn times_add_up_over_hops() {
    let links = vec![link([0, 1], wire(10, 10)), link([1, 2], wire(1, 10)), link([2, 3], wire(10, 10))];
    let config = NetworkConfig::Graph(graph(4, links));
    let arrivals: Vec<_> =
        (0..3).map(|id| Arrival { at: ms(5), from: NodeId(0), packet: packet(id, 1500, 3) }).collect();
    let expected = |id: u64| ms(5) + Duration::from_micros(30_000 + 1_200 + 12_000 * (id + 1) + 1_200);
    assert_eq!(delivered(&run(&config, &arrivals)), (0..3).map(|id| (id, expected(id))).collect());
}

/// Two senders behind links of other delays meet at a queue: packets go in the order of their arrival there, not of sending.
#[test]
fn packets_of_several_links_enter_a_queue_in_the_order_of_their_arrival() {
    let links = vec![link([0, 2], wire(100, 50)), link([1, 2], wire(100, 1)), link([2, 3], wire(1, 0))];
    let config = NetworkConfig::Graph(graph(4, links));
    let arrivals = [
        Arrival { at: ms(0), from: NodeId(0), packet: packet(0, 1250, 3) },
        Arrival { at: ms(1), from: NodeId(1), packet: packet(1, 1250, 3) },
        Arrival { at: ms(45), from: NodeId(1), packet: packet(2, 1250, 3) },
    ];
    // 0.1 ms each at 100 Mbit/s, 10 ms at 1 Mbit/s: the third is in service from 46.1 to 56.1 ms, the first comes at 50.1.
    let times = [Duration::from_micros(66_100), Duration::from_micros(12_100), Duration::from_micros(56_100)];
    let expected = (0..).zip(times.map(|time| Timestamp::ZERO + time)).collect();
    assert_eq!(delivered(&run(&config, &arrivals)), expected);
}

/// A node that forwards may send itself: its packets wait for what comes before them.
#[test]
fn a_host_that_forwards_sends_in_the_order_of_time() {
    let config = NetworkConfig::Graph(graph(3, vec![link([0, 1], wire(100, 5)), link([1, 2], wire(1, 0))]));
    let arrivals = [
        Arrival { at: ms(0), from: NodeId(0), packet: packet(0, 1250, 2) },
        Arrival { at: ms(6), from: NodeId(1), packet: packet(1, 1250, 2) },
    ];
    let times = [15_100, 25_100].map(|micros| Timestamp::ZERO + Duration::from_micros(micros));
    assert_eq!(delivered(&run(&config, &arrivals)), (0..).zip(times).collect());
}

/// Where packets go that a short form has from its sender and its receiver.
fn two_hosts(count: u64, nodes: [u16; 2]) -> Vec<Arrival> {
    let arrival = |id: u64| {
        let [from, to] = if id % 4 == 3 { [nodes[1], nodes[0]] } else { nodes };
        let at = Timestamp::from_micros(id * 900 + id * id % 700);
        Arrival { at, from: NodeId(from), packet: packet(id, 40 + id * 7919 % 1461, to) }
    };
    (0..count).map(arrival).collect()
}

/// What a network says, but for the names of hops and nodes and the order of telling.
fn told(events: Vec<NetworkEvent>) -> Vec<String> {
    let mut told: Vec<String> = events
        .into_iter()
        .map(|event| match event {
            NetworkEvent::Hop { record, .. } => format!("{:?}", HopRecord { hop: Hop::Wire, ..record }),
            NetworkEvent::Deliver { packet, at } => format!("{:?}", (packet.id, at)),
            other => format!("{other:?}"),
        })
        .collect();
    told.sort();
    told
}

fn lossy_wire() -> WireConfig {
    let loss = LossConfig::Bernoulli(Probability::clamped(0.02));
    WireConfig { loss, jitter: Duration::from_micros(300), queue: QueueLimit::Packets(20), ..wire(8, 3) }
}

#[test]
fn a_graph_of_one_wire_is_the_network_of_one_wire() {
    for (place, in_device) in [(BottleneckPlace::Remote, false), (BottleneckPlace::LocalDevice, true)] {
        for &queue_discipline in Discipline::ALL {
            let forward = WireConfig { queue_discipline, ..lossy_wire() };
            let wired = WiredNetworkConfig::symmetric_delay(forward.clone(), place);
            // The way back of the short form is the receiver's own device.
            let back = DirectionConfig { wire: wired.backward.clone(), in_device: true };
            let directions = [DirectionConfig { wire: forward, in_device }, back];
            let one = graph(2, vec![LinkConfig { between: [NodeId(0), NodeId(1)], directions }]);
            let arrivals = two_hosts(4_000, [0, 1]);
            let short = run(&NetworkConfig::Wired(wired), &arrivals);
            assert!(short.iter().any(
                |event| matches!(event, NetworkEvent::Hop { record, .. } if record.outcome != Outcome::Delivered)
            ));
            assert_eq!(told(run(&NetworkConfig::Graph(one), &arrivals)), told(short), "{place:?} {queue_discipline:?}");
        }
    }
}

#[test]
fn a_graph_of_a_cell_and_a_wire_is_the_wireless_network() {
    let wifi = WifiConfig { signal_to_noise_db: 12.0, ..WifiConfig::default() };
    let short = WifiNetworkConfig { wifi: wifi.clone(), wire: lossy_wire(), ..WifiNetworkConfig::default() };
    // Node 0 is the station, 1 the far host, 2 the access point.
    let cell = CellConfig { wifi, ..CellConfig::quiet(NodeId(2), &[NodeId(0)]) };
    let far = |wire| DirectionConfig { wire, in_device: false };
    let out = LinkConfig {
        between: [NodeId(2), NodeId(1)],
        directions: [far(lossy_wire()), DirectionConfig { wire: lossy_wire(), in_device: true }],
    };
    let config = GraphConfig { cells: vec![cell], ..graph(3, vec![out]) };
    let arrivals = two_hosts(4_000, [0, 1]);
    let expected = told(run(&NetworkConfig::Wifi(short), &arrivals));
    let found = told(run(&NetworkConfig::Graph(config), &arrivals));
    let differing = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
    assert_eq!((found.len(), differing), (expected.len(), 0));
}

#[test]
fn stations_of_a_cell_speak_by_their_access_point() {
    let cell = CellConfig::quiet(NodeId(1), &[NodeId(2), NodeId(3)]);
    let config = GraphConfig { cells: vec![cell], ..graph(4, vec![link([0, 1], wire(100, 1))]) };
    let arrivals: Vec<_> = (0..300)
        .map(|id| {
            let (from, to) = [(2, 3), (3, 2), (2, 0), (0, 3), (0, 2)][id as usize % 5];
            Arrival { at: ms(10 * id), from: NodeId(from), packet: packet(id, 1000, to) }
        })
        .collect();
    let events = run(&NetworkConfig::Graph(config), &arrivals);
    for event in &events {
        if let NetworkEvent::Deliver { packet, .. } = event {
            assert_eq!(packet.to, arrivals[packet.id.0 as usize].packet.to);
        }
    }
    let hops = |id: u64| {
        let of = |event: &&NetworkEvent| matches!(event, NetworkEvent::Hop { record, .. } if record.packet.0 == id);
        events.iter().filter(of).count()
    };
    assert_eq!((hops(0), hops(2), hops(3)), (2, 2, 2), "station to station is two frames, and a frame and a wire");
    assert!(delivered(&events).len() > 290);
}

fn any_wire() -> impl Strategy<Value = WireConfig> {
    let disciplines = proptest::sample::select(Discipline::ALL.to_vec());
    (1..50u64, 0..20u64, 1..30u32, disciplines, 0..20u32).prop_map(|(mbps, delay, packets, queue_discipline, loss)| {
        WireConfig {
            queue: QueueLimit::Packets(packets),
            queue_discipline,
            loss: LossConfig::Bernoulli(Probability::clamped(f64::from(loss) / 100.0)),
            ..wire(mbps, delay)
        }
    })
}

/// A tree of up to eight nodes with a cell at its root, and packets between any of them.
fn any_network() -> impl Strategy<Value = (GraphConfig, Vec<Arrival>)> {
    let parents = proptest::collection::vec((0..100u16, any_wire()), 1..6);
    (parents, 0..3u16, proptest::collection::vec((0..2_000u64, 0..100u16, 0..100u16, 40..1500u64), 1..200)).prop_map(
        |(parents, stations, packets)| {
            let wired = parents.len() as u16 + 1;
            let links = (1..).zip(parents).map(|(node, (parent, wire))| link([parent % node, node], wire)).collect();
            let members: Vec<NodeId> = (wired..wired + stations).map(NodeId).collect();
            let cells = if stations > 0 { vec![CellConfig::quiet(NodeId(0), &members)] } else { Vec::new() };
            let nodes = wired + stations;
            let mut at = 0;
            let arrivals = (0..).zip(packets).map(|(id, (gap, from, to, size))| {
                at += gap;
                let from = from % nodes;
                let to = (from + 1 + to % (nodes - 1)) % nodes;
                Arrival { at: Timestamp::from_micros(at), from: NodeId(from), packet: packet(id, size, to) }
            });
            let arrivals = arrivals.collect();
            (GraphConfig { cells, ..graph(nodes, links) }, arrivals)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_has_one_fate_one_release_and_one_last_record((config, arrivals) in any_network()) {
        let events = run(&NetworkConfig::Graph(config), &arrivals);
        let mut counts = vec![[0; 3]; arrivals.len()];
        let mut ended = vec![false; arrivals.len()];
        for event in events {
            match event {
                NetworkEvent::Deliver { packet, at } => {
                    let sent = arrivals[packet.id.0 as usize];
                    prop_assert!(packet == sent.packet && at >= sent.at);
                    counts[packet.id.0 as usize][0] += 1;
                }
                NetworkEvent::Hop { record, last } => {
                    let id = record.packet.0 as usize;
                    prop_assert!(!ended[id] && !record.clamped && record.enqueued <= record.finished, "{:?}", record);
                    ended[id] = last;
                    counts[id][0] += usize::from(record.outcome != Outcome::Delivered);
                    counts[id][2] += usize::from(last);
                }
                NetworkEvent::Released { packet, at } => {
                    prop_assert!(at >= arrivals[packet.0 as usize].at);
                    counts[packet.0 as usize][1] += 1;
                }
                NetworkEvent::Sniffed(_) => {}
            }
        }
        prop_assert!(counts.iter().all(|count| *count == [1, 1, 1]), "{:?}", counts);
    }

    /// However late the world looks, the network says the same.
    #[test]
    fn when_the_world_wakes_changes_nothing((config, arrivals) in any_network(), late in 1..50_000u64) {
        let config = NetworkConfig::Graph(config);
        let expected = run(&config, &arrivals);
        let mut network = Network::new(&config, Seed(7)).unwrap();
        let mut events = Vec::new();
        let mut looked = Timestamp::ZERO;
        for arrival in &arrivals {
            if arrival.at.saturating_since(looked) > Duration::from_micros(late) {
                looked = arrival.at;
                network.handle_timeout(looked);
            }
            network.handle_packet(arrival.at, arrival.at, arrival.from, arrival.packet);
        }
        network.handle_timeout(Timestamp::MAX);
        events.extend(std::iter::from_fn(|| network.poll_event()));
        prop_assert_eq!(told(events), told(expected));
    }
}
