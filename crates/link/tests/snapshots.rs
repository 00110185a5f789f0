//! 802.11b, pinned to the bit: every event of a few networks, as one hash each.
//!
//! A hash that changes means that every result of 802.11b changed. Where that is intended, run the test and copy the
//! hashes that it prints; say in the change log why.

use framewire_link::wifi::{DataRate, Preamble, RatePolicy};
use framewire_link::{
    BottleneckPlace, GilbertElliott, Hop, HopRecord, Interval, LossConfig, Mains, Network, NetworkConfig, NetworkEvent,
    NodeId, OvenConfig, Packet, PacketId, QueueLimit, SnifferConfig, WifiConfig, WifiNetworkConfig, WireConfig,
    WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed, Timestamp};

/// FNV-1a of 64 bits over numbers in order: the same on every machine and in every build.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    fn add(&mut self, numbers: impl IntoIterator<Item = u64>) {
        for byte in numbers.into_iter().flat_map(u64::to_le_bytes) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn add_event(&mut self, event: &NetworkEvent) {
        match event {
            NetworkEvent::Deliver { packet, at } => {
                self.add([1, packet.id.0, u64::from(packet.to.0), at.as_nanos()]);
            }
            NetworkEvent::Released { packet, at } => {
                self.add([2, packet.0, at.as_nanos()]);
            }
            NetworkEvent::Hop { record, .. } => self.add_record(record),
            NetworkEvent::Sniffed(frame) => {
                self.add([4, frame.packet.0, frame.at.as_nanos(), u64::from(frame.attempt), frame.rate.as_bps()]);
            }
        }
    }

    fn add_record(&mut self, record: &HopRecord) {
        let started = record.started.map_or(u64::MAX, |at| at.as_nanos());
        let outcome = match record.outcome {
            framewire_link::Outcome::Delivered => 0,
            framewire_link::Outcome::Dropped(cause) => 1 + cause as u64,
        };
        self.add([
            3,
            record.packet.0,
            number_of(record.hop),
            u64::from(sender_of(record.packet.0).0),
            record.size.as_bytes(),
            record.enqueued.as_nanos(),
        ]);
        self.add([u64::from(record.clamped), started, record.finished.as_nanos(), outcome]);
        self.add([record.transmissions.len() as u64]);
        self.add(record.transmissions.iter().map(|rate| rate.as_bps()));
    }
}

fn number_of(hop: Hop) -> u64 {
    match hop {
        Hop::SenderDevice => 0,
        Hop::AccessPoint => 1,
        Hop::Bottleneck => 2,
        Hop::Wire => 3,
        Hop::Link(number) => 4 + u64::from(number),
    }
}

/// Where a packet comes from.
fn sender_of(id: u64) -> NodeId {
    if id % 4 == 3 { NodeId::RECEIVER } else { NodeId::SENDER }
}

/// Four seconds of packets of many sizes, three of four from the sender, a little faster than the link.
fn run(config: &NetworkConfig, seed: u64) -> u64 {
    let mut network = Network::new(config, Seed(seed)).expect("the configuration is valid");
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    let drain = |network: &mut Network, hash: &mut Hash| {
        while let Some(event) = network.poll_event() {
            hash.add_event(&event);
        }
    };
    for id in 0..4000u64 {
        let at = Timestamp::from_micros(id * 1000 + id * id % 700);
        let from = sender_of(id);
        let to = if from == NodeId::SENDER { NodeId::RECEIVER } else { NodeId::SENDER };
        let size = DataSize::from_bytes(40 + id * 7919 % 1461);
        network.handle_timeout(at);
        network.handle_packet(at, at, from, Packet { to, ..Packet::new(PacketId(id), size) });
        drain(&mut network, &mut hash);
    }
    network.handle_timeout(Timestamp::MAX);
    drain(&mut network, &mut hash);
    hash.0
}

fn wifi(wifi: WifiConfig, bottleneck: BottleneckPlace) -> NetworkConfig {
    let wire = WireConfig {
        rate: Some(Bitrate::from_mbps(100)),
        delay: Duration::from_micros(100),
        jitter: Duration::from_micros(30),
        loss: LossConfig::Bernoulli(Probability::clamped(0.01)),
        ..WireConfig::default()
    };
    NetworkConfig::Wifi(WifiNetworkConfig {
        wifi,
        station_queue: QueueLimit::Packets(100),
        access_point_queue: QueueLimit::Packets(100),
        wire,
        bottleneck,
        ..WifiNetworkConfig::default()
    })
}

fn oven() -> Option<OvenConfig> {
    let on = vec![Interval { start: Timestamp::from_millis(500), end: Timestamp::from_secs(3) }];
    Some(OvenConfig { on, mains: Mains::Hz50, strength_db: OvenConfig::DOMESTIC_STRENGTH_DB })
}

/// Seven networks whose stations do not notice another's beginning for a time.
fn results_of_80211b(carrier_sense: Option<Duration>) -> [u64; 7] {
    let quiet = WifiConfig { carrier_sense, ..WifiConfig::default() };
    let disturbed = WifiConfig {
        oven: oven(),
        sniffer: Some(SnifferConfig { capture: Probability::clamped(0.65) }),
        ..quiet.clone()
    };
    let noisy = WifiConfig { error_floor: Probability::clamped(0.2), retry: 2, ..quiet.clone() };
    let fixed = WifiConfig {
        rate: RatePolicy::Fixed(DataRate::Mbps5_5),
        preamble: Preamble::Short,
        retry: 0,
        ..disturbed.clone()
    };
    let once = WifiConfig { retry: 1, ..disturbed.clone() };
    let local = BottleneckPlace::LocalDevice;
    [
        run(&wifi(quiet.clone(), local), 1),
        run(&wifi(disturbed.clone(), local), 2),
        run(&wifi(noisy, local), 3),
        run(&wifi(fixed, local), 4),
        run(&wifi(once, local), 5),
        run(&wifi(disturbed, BottleneckPlace::Remote), 6),
        run(&wifi(quiet, BottleneckPlace::Remote), 7),
    ]
}

#[test]
fn results_of_80211b_are_what_they_were() {
    // The default, and what it was before there was a time: at once.
    for (carrier_sense, expected) in [(None, EXPECTED_WIFI), (Some(Duration::ZERO), EXPECTED_WIFI_AT_ONCE)] {
        let runs = results_of_80211b(carrier_sense);
        let shown: Vec<String> = runs.iter().map(|hash| format!("0x{hash:016x}")).collect();
        assert_eq!(runs, expected, "{carrier_sense:?}: now [{}]", shown.join(", "));
    }
}

#[test]
fn results_of_wires_are_what_they_were() {
    let wire = WireConfig {
        rate: Some(Bitrate::from_mbps(5)),
        queue: QueueLimit::Time(Duration::from_millis(40)),
        delay: Duration::from_millis(10),
        ..WireConfig::default()
    };
    let bursts = LossConfig::GilbertElliott(GilbertElliott {
        good_to_bad: Probability::clamped(0.01),
        bad_to_good: Probability::clamped(0.3),
        loss_good: Probability::ZERO,
        loss_bad: Probability::ONE,
    });
    let outages = vec![Interval { start: Timestamp::from_secs(1), end: Timestamp::from_millis(1100) }];
    let rough = WireConfig { jitter: Duration::from_millis(3), loss: bursts, outages, ..wire.clone() };
    let network = |wire, place| NetworkConfig::Wired(WiredNetworkConfig::symmetric_delay(wire, place));
    let runs = [run(&network(wire, BottleneckPlace::LocalDevice), 1), run(&network(rough, BottleneckPlace::Remote), 2)];
    let shown: Vec<String> = runs.iter().map(|hash| format!("0x{hash:016x}")).collect();
    assert_eq!(runs, EXPECTED_WIRED, "now [{}]", shown.join(", "));
}

const EXPECTED_WIFI: [u64; 7] = [
    0x6906_752c_561a_db68,
    0xb29a_4af3_0129_4b21,
    0x3ead_9708_5e20_a2e9,
    0x33ca_ed12_8e21_ee24,
    0x74c2_94f9_8ef8_c3d9,
    0x2920_eeea_25ae_8967,
    0xa85c_c2bd_5e49_086b,
];

const EXPECTED_WIFI_AT_ONCE: [u64; 7] = [
    0x3e69_1345_ea07_da47,
    0xb568_aa4c_b517_56b8,
    0xb4f6_2397_eb34_ad11,
    0x9293_4a10_59fb_3ffa,
    0xc255_fe2a_b482_99ad,
    0x5baa_7dc9_9b61_4765,
    0x2865_7445_3c4b_4879,
];
const EXPECTED_WIRED: [u64; 2] = [0x0572_ad19_1632_9d0d, 0x2353_7a2c_fb08_ee13];
