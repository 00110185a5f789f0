use std::net::SocketAddr;

use framewire_units::{Duration, Timestamp};
use framewire_wire::vtp::{Description, Key, Origin, Reason, Request, Secret, Start, Teardown};

use crate::datagram::Channel;

/// A cookie is good for the slot of time it was made in and the next one.
const COOKIE_SLOT: Duration = Duration::from_secs(10);

/// From when a cookie was made, it is good for less than this.
pub(crate) const COOKIE_LIFE: Duration = Duration::from_secs(20);

/// The way in: answers requests without remembering anything of them, and knows its own cookies again.
///
/// Nothing it sends to an address is longer than what came in the address's name, and one answer goes out for one
/// datagram that came in, so that a forged sender gains nothing. It stands apart for servers of many sessions: one
/// admission answers requests, and a [`Server`](super::Server) with the same secret is made when a start is
/// [admitted](Self::admits).
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    secret: Secret,
    key: Option<Key>,
}

impl Admission {
    /// An admission with the server's secret, and the shared key if there is one.
    pub(crate) fn new(secret: Secret, key: Option<Key>) -> Self {
        Self { secret, key }
    }

    /// The answer to a request: this description, with session and cookie filled in.
    pub(crate) fn describe(
        &self,
        now: Timestamp,
        channel: Channel,
        from: SocketAddr,
        request: &Request,
        mut description: Description,
    ) -> Vec<u8> {
        description.session = request.session;
        description.cookie =
            self.secret.cookie(from, channel.index() as u8, request.session, &request.title, slot(now));
        let mut bytes = vec![];
        description.emit(&mut bytes);
        self.seal(&mut bytes);
        bytes
    }

    /// The answer to a request that cannot be fulfilled.
    pub(crate) fn refuse(&self, session: u64, reason: Reason) -> Vec<u8> {
        let mut bytes = vec![];
        Teardown { session, reason }.emit(&mut bytes);
        self.seal(&mut bytes);
        bytes
    }

    /// Whether a start carries a cookie that was handed out to its address lately.
    pub(crate) fn admits(&self, now: Timestamp, channel: Channel, from: SocketAddr, start: &Start) -> bool {
        let channel = channel.index() as u8;
        let slot = slot(now);
        [slot, slot.wrapping_sub(1)]
            .into_iter()
            .any(|slot| self.secret.accepts(start.cookie, from, channel, start.session, &start.title, slot))
    }

    pub(super) fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    pub(super) fn seal(&self, bytes: &mut Vec<u8>) {
        if let Some(key) = &self.key {
            key.seal(Origin::Server, bytes);
        }
    }
}

fn slot(now: Timestamp) -> u64 {
    now.as_nanos() / COOKIE_SLOT.as_nanos() as u64
}
