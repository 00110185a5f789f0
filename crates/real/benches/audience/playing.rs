//! A client that plays by RTSP.

use framewire_units::{Seed, Timestamp};
use framewire_wire::rtp::RtpHeader;
use framewire_wire::rtp_payload::CLOCK_RATE;
use framewire_wire::rtsp::{Client as Rtsp, ClientEvent, ClientSettings, Want};

use crate::{Client, Seen};

pub(crate) struct Playing {
    client: Rtsp,
    first: Option<u32>,
    bytes: u64,
    /// Of each frame's last packet, how long after its time stamp it came, in nanoseconds from an origin of the client's own.
    offsets: Vec<i64>,
    packets: u64,
    failed: bool,
}

impl Playing {
    pub(crate) fn new(url: &str, now: Timestamp, number: u64) -> Self {
        let (want, sound, account, user_agent) = (Want::Interleaved, None, None, None);
        let settings = ClientSettings { url: url.to_owned(), want, sound, account, user_agent };
        let client = Rtsp::new(settings, now, Seed(number).stream("audience", &[]));
        Self { client, first: None, bytes: 0, offsets: Vec::new(), packets: 0, failed: false }
    }

    fn take_events(&mut self, now: Timestamp) {
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Rtp(_, packet) => {
                    let Ok((header, _)) = RtpHeader::parse(&packet) else { continue };
                    self.packets += 1;
                    if header.marker {
                        let first = *self.first.get_or_insert(header.timestamp);
                        let ticks = i64::from(header.timestamp.wrapping_sub(first) as i32);
                        let due = ticks * 1_000_000_000 / i64::from(CLOCK_RATE);
                        self.offsets.push(now.as_nanos() as i64 - due);
                    }
                }
                ClientEvent::Ended(reason) => self.failed |= reason.is_some(),
                ClientEvent::Described(_) | ClientEvent::Playing(_) | ClientEvent::Rtcp(..) => {}
            }
        }
    }
}

impl Client for Playing {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.failed |= self.client.handle_bytes(now, bytes).is_err();
        self.take_events(now);
    }

    fn handle_close(&mut self, now: Timestamp) {
        self.client.handle_close();
        self.take_events(now);
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.client.poll_transmit()
    }

    fn is_over(&self) -> bool {
        self.client.is_over()
    }

    fn add_to(&self, seen: &mut Seen) {
        seen.bytes += self.bytes;
        seen.packets += self.packets;
        seen.whole += usize::from(!self.failed && self.packets > 0);
        let punctual = self.offsets.iter().min().copied().unwrap_or(0);
        seen.times.extend(self.offsets.iter().map(|offset| (offset - punctual).unsigned_abs()));
    }
}
