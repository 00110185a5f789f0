//! Drivers of a medium in virtual time, for the tests that compare it with theory and with ns-3.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use framewire_link::wifi::{Medium, MediumEvent, StationConfig, StationId};
use framewire_link::{Discipline, Hop, HopRecord, Outcome, Packet, PacketId, QueueLimit, WifiConfig};
use framewire_units::{DataSize, Probability, Seed, Timestamp};

pub const IP_UDP: u64 = 28;

pub fn station_config(queue: u32) -> StationConfig {
    let queue = QueueLimit::Packets(queue);
    StationConfig {
        queue,
        queue_discipline: Discipline::DropTail,
        hop: Hop::SenderDevice,
        retry: None,
        saturated: None,
    }
}

/// What saturated stations achieved.
#[derive(Debug, Default)]
pub struct Saturated {
    pub records: Vec<HopRecord>,
    pub seconds: f64,
}

impl Saturated {
    pub fn delivered(&self) -> usize {
        self.records.iter().filter(|record| record.outcome == Outcome::Delivered).count()
    }

    pub fn transmissions(&self) -> usize {
        self.records.iter().map(|record| record.transmissions.len()).sum()
    }

    pub fn transmissions_per_packet(&self) -> f64 {
        self.transmissions() as f64 / self.records.len() as f64
    }

    pub fn loss(&self) -> f64 {
        1.0 - self.delivered() as f64 / self.records.len() as f64
    }

    pub fn goodput_mbps(&self, payload: u64) -> f64 {
        self.delivered() as f64 * payload as f64 * 8.0 / self.seconds / 1e6
    }

    /// Share of the transmissions at a rate, in Mbit/s.
    pub fn share_at(&self, mbps: f64) -> f64 {
        let all = self.records.iter().flat_map(|record| record.transmissions.iter());
        let at = all.filter(|rate| (rate.as_mbps_f64() - mbps).abs() < 1e-9).count();
        at as f64 / self.transmissions() as f64
    }

    /// Share of the packets with so many transmissions.
    pub fn share_with(&self, transmissions: usize) -> f64 {
        let with = self.records.iter().filter(|record| record.transmissions.len() == transmissions).count();
        with as f64 / self.records.len() as f64
    }
}

/// The medium of `config`, with the physical channel or with one frame error rate.
pub fn medium(config: &WifiConfig, seed: u64, frame_errors: Option<f64>) -> Medium {
    match frame_errors {
        None => Medium::new(config, Seed(seed)).unwrap(),
        Some(errors) => Medium::with_frame_errors(config, Seed(seed), Probability::new(errors).unwrap()).unwrap(),
    }
}

/// `stations` stations that always have a packet of `ip_size` bytes to send.
pub fn saturate(mut medium: Medium, stations: usize, ip_size: u64, seconds: u64) -> Saturated {
    let mut next_id = 0;
    let mut send = |medium: &mut Medium, station: StationId, at: Timestamp| {
        let packet = Packet::new(PacketId(next_id), DataSize::from_bytes(ip_size));
        next_id += 1;
        medium.handle_packet(station, at, packet);
    };
    for _ in 0..stations {
        let station = medium.add_station(station_config(10));
        send(&mut medium, station, Timestamp::ZERO);
        send(&mut medium, station, Timestamp::ZERO);
    }
    let end = Timestamp::from_secs(seconds);
    let mut result = Saturated { records: Vec::new(), seconds: seconds as f64 };
    while let Some(timeout) = medium.next_timeout() {
        if timeout.at > end {
            break;
        }
        medium.handle_timeout(timeout.at);
        while let Some(event) = medium.poll_event() {
            if let MediumEvent::Done { station, verdict } = event {
                send(&mut medium, station, verdict.released);
                result.records.push(verdict.record);
            }
        }
    }
    result
}
