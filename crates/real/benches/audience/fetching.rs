//! A client that fetches by HTTP.

use framewire_units::Timestamp;
use framewire_wire::http::{Client as Http, ClientEvent, Fetch};

use crate::{Client, Seen};

pub(crate) struct Fetching {
    client: Http,
    begun: Timestamp,
    bytes: u64,
    ended: Option<Timestamp>,
    over: bool,
}

impl Fetching {
    pub(crate) fn new(path: &str, now: Timestamp) -> Self {
        let mut client = Http::default();
        client.fetch(&Fetch { host: "localhost".to_owned(), path: path.to_owned(), range: None, is_last: true });
        Self { client, begun: now, bytes: 0, ended: None, over: false }
    }

    fn take_events(&mut self, now: Timestamp) {
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Body(bytes) => self.bytes += bytes.len() as u64,
                ClientEvent::Complete => (self.ended, self.over) = (Some(now), true),
                ClientEvent::Failed(_) => self.over = true,
                ClientEvent::Found { .. } => {}
            }
        }
    }
}

impl Client for Fetching {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        self.over |= self.client.handle_bytes(bytes).is_err();
        self.take_events(now);
    }

    fn handle_close(&mut self, now: Timestamp) {
        drop(self.client.handle_close());
        self.take_events(now);
    }

    fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.client.poll_transmit()
    }

    fn is_over(&self) -> bool {
        self.over
    }

    fn add_to(&self, seen: &mut Seen) {
        seen.bytes += self.bytes;
        if let Some(ended) = self.ended {
            seen.whole += 1;
            seen.times.push(ended.saturating_since(self.begun).as_nanos() as u64);
        }
    }
}
