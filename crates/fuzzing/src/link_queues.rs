//! Any packets at any times through a queue of any discipline with any numbers: each leaves once, none before it came, and
//! the same traffic leaves alike however often the model is woken.

use std::collections::BTreeMap;

use framewire_link::{
    BottleneckPlace, Discipline, Exceeding, Framing, HopRecord, LineKind, Network, NetworkConfig, NetworkEvent, NodeId,
    Outcome, Packet, PacketId, PolicerConfig, QueueLimit, Setting, SettingValue, TokenBucket, WireConfig,
    WiredNetworkConfig,
};
use framewire_units::{Bitrate, DataSize, Duration, Ecn, Probability, Seed, Timestamp};

/// Time since the packet before, in microseconds, or seconds where it is long; bytes; and what it says of ECN and its
/// connection.
type Step = (u16, u16, u8);
/// Discipline, its numbers by their place in their range, limit, rate in kbit/s; shaper and policer in kbit/s; framing.
type Setup = (u8, [Option<u8>; 10], u16, Option<u16>, Option<u16>, Option<u16>, u8);

pub(crate) fn run(data: &[u8]) {
    let Some((setup, steps)) = crate::decoded::<(Setup, Vec<Step>)>(data) else { return };
    let config = config(setup);
    let mut now = Timestamp::ZERO;
    let packet = |(number, (wait, bytes, kind)): (usize, Step)| {
        let wait = u64::from(wait);
        now += if wait < 65_000 { Duration::from_micros(wait % 2_048) } else { Duration::from_secs(wait % 64) };
        let size = DataSize::from_bytes(u64::from(bytes % 1_473) + 28);
        let packet = Packet::new(PacketId(number as u64), size);
        (now, Packet { ecn: Ecn::from_bits(kind), flow: u32::from(kind >> 2), ..packet })
    };
    let packets: Vec<(Timestamp, Packet)> = steps.into_iter().take(2_000).enumerate().map(packet).collect();
    let (woken, asleep) = (records(&config, &packets, true), records(&config, &packets, false));
    assert_eq!(woken, asleep);
    assert_eq!(woken.len(), packets.len());
    for (record, (at, packet)) in woken.values().zip(&packets) {
        assert!(record.enqueued == *at && record.finished >= *at && record.size == packet.size);
        assert!(record.outcome != Outcome::Delivered || record.started >= Some(*at));
        assert!(!record.marked || packet.ecn.is_capable());
    }
}

fn config(setup: Setup) -> WireConfig {
    let (kind, numbers, limit, rate, shaper, policer, framing) = setup;
    let discipline = Discipline::ALL[usize::from(kind) % Discipline::ALL.len()];
    let set = |discipline: Discipline, (setting, number): (&Setting, Option<u8>)| {
        let value = number.map_or(setting.default, |number| between(setting, f64::from(number) / 255.0));
        discipline.with(setting.name, value).expect("it lies between the least and the most")
    };
    let changed = discipline.settings().iter().zip(numbers).fold(discipline, set);
    let rate_of = |kbps: u16| Bitrate::from_kbps(u64::from(kbps) + 1);
    let bucket = |kbps| TokenBucket { rate: rate_of(kbps), burst: DataSize::from_bytes(1_500 + u64::from(limit)) };
    let limit = match limit % 3 {
        0 => QueueLimit::Packets(u32::from(limit)),
        1 => QueueLimit::Bytes(DataSize::from_bytes(u64::from(limit))),
        _ => QueueLimit::Time(Duration::from_millis(u64::from(limit))),
    };
    let line = LineKind::ALL[usize::from(framing) % LineKind::ALL.len()];
    WireConfig {
        rate: rate.map(rate_of),
        framing: if rate.is_some() { Framing::of(line) } else { Framing::NONE },
        shaper: shaper.map(bucket),
        policer: policer.map(|kbps| PolicerConfig { bucket: bucket(kbps), exceeding: Exceeding::Mark }),
        queue: limit,
        queue_discipline: if changed.validate().is_ok() { changed } else { discipline },
        ..WireConfig::default()
    }
}

fn between(setting: &Setting, place: f64) -> SettingValue {
    let number = |least: f64, most: f64| least + (most - least) * place;
    match (setting.least, setting.most) {
        (SettingValue::Time(least), SettingValue::Time(most)) => SettingValue::Time(most.mul_f64(place).max(least)),
        (SettingValue::Size(least), SettingValue::Size(most)) => {
            let bytes = number(least.as_bytes() as f64, most.as_bytes() as f64);
            SettingValue::Size(DataSize::from_bytes(bytes as u64))
        }
        (SettingValue::Count(least), SettingValue::Count(most)) => {
            SettingValue::Count(number(f64::from(least), f64::from(most)) as u32)
        }
        (SettingValue::Share(least), SettingValue::Share(most)) => {
            SettingValue::Share(Probability::clamped(number(least.get(), most.get())))
        }
        (SettingValue::Number(least), SettingValue::Number(most)) => SettingValue::Number(number(least, most)),
        _ => SettingValue::Flag(place < 0.5),
    }
}

/// The record of each packet; woken at every timeout, or only at the end.
fn records(config: &WireConfig, packets: &[(Timestamp, Packet)], woken: bool) -> BTreeMap<PacketId, HopRecord> {
    let wired = WiredNetworkConfig::symmetric_delay(config.clone(), BottleneckPlace::Remote);
    let mut network = Network::new(&NetworkConfig::Wired(wired), Seed(1)).expect("the configuration is possible");
    for &(at, packet) in packets {
        while let Some(timeout) = network.next_timeout().filter(|timeout| woken && timeout.at <= at) {
            network.handle_timeout(timeout.at);
        }
        network.handle_packet(at, at, NodeId::SENDER, packet);
    }
    network.handle_timeout(Timestamp::MAX);
    let mut records = BTreeMap::new();
    while let Some(event) = network.poll_event() {
        if let NetworkEvent::Hop { record, .. } = event {
            assert!(records.insert(record.packet, record).is_none(), "a packet leaves once");
        }
    }
    records
}
