//! A caricature of an 802.11b link: packets one after the other, errors now and then, many while an oven is on.

use framewire_recording::record::{LossPlace, PacketRecord, ReleaseRecord};
use framewire_units::{Bitrate, Duration, Probability, RandomStream, Seed, Timestamp};

/// Time on the air that does not depend on the size: spacing, contention, preambles, acknowledgement.
const OVERHEAD: Duration = Duration::from_micros(860);
const RATE: Bitrate = Bitrate::from_mbps(11);
const RETRY: usize = 4;

/// The link of one flow.
pub struct Channel {
    random: RandomStream,
    /// When the packets sent so far are through.
    pub free_at: Timestamp,
    pub packets: Vec<PacketRecord>,
    pub releases: Vec<ReleaseRecord>,
}

impl Channel {
    pub fn new(flow: u64) -> Self {
        Self {
            random: Seed(1).stream("synthetic channel", &[flow]),
            free_at: Timestamp::ZERO,
            packets: Vec::new(),
            releases: Vec::new(),
        }
    }

    /// Time until a packet sent now would begin its transmission.
    pub fn backlog(&self, now: Timestamp) -> Duration {
        self.free_at.saturating_since(now)
    }

    /// Sends a packet and returns when it arrived, `None` when it did not.
    pub fn send(&mut self, now: Timestamp, protocol: &'static str, sequence: u64, payload: u32) -> Option<Timestamp> {
        let headers = if protocol == "udp" { 28 } else { 52 };
        let started = now.max(self.free_at);
        let mut end = started;
        let mut transmissions = Vec::new();
        let mut delivered = false;
        while !delivered && transmissions.len() < RETRY {
            end += OVERHEAD + RATE.transmit_time(framewire_units::DataSize::from_bytes(u64::from(payload + headers)));
            transmissions.push(RATE);
            delivered = !self.random.chance(Probability::clamped(if oven(end) { 0.38 } else { 0.02 }));
        }
        let sniffed = transmissions.iter().filter(|_| self.random.chance(Probability::clamped(0.65))).count() as u16;
        self.free_at = end;
        let packet = self.packets.len() as u64;
        self.packets.push(PacketRecord {
            packet,
            forward: true,
            protocol,
            size: payload + headers,
            sequence: Some(sequence),
            payload,
            hop: "sender-device",
            enqueued: now,
            started: Some(started),
            finished: end,
            transmissions,
            dropped: (!delivered).then_some((LossPlace::Link, "retry limit")),
            marked: false,
            clamped: false,
            sniffed: Some(sniffed),
        });
        let arrival = end + Duration::from_micros(100);
        if delivered {
            let error = Duration::from_nanos(5_000 + u64::from(self.random.next_inclusive(40_000)));
            self.releases.push(ReleaseRecord { packet, intended: arrival, actual: arrival + error });
        }
        delivered.then_some(arrival)
    }
}

/// On from second 20 to second 40, for half of every 20 ms period of the mains.
fn oven(at: Timestamp) -> bool {
    let seconds = at.as_secs_f64();
    (20.0..40.0).contains(&seconds) && at.as_nanos() % 20_000_000 < 10_000_000
}
