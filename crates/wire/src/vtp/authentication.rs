//! The shared key of control packets, and the cookies that prove addresses: both HMAC-SHA-256 (RFC 2104, RFC 6234).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use super::error::PacketError;
use super::opening::{COOKIE_LENGTH, Title};

/// Bytes of the tag after an authenticated packet: half of the hash, as RFC 4868 truncates HMAC-SHA-256.
pub(crate) const TAG_LENGTH: usize = 16;

/// Which side sent a packet: part of what the tag covers, so that no packet can be reflected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// A key that server and client share. Everything but video is authenticated with it; an old control packet is
/// recognised by its report number, which the tag covers.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl Key {
    /// A key from bytes, or `None` when there are fewer than 16 (RFC 2104, section 3, advises against short ones).
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (bytes.len() >= 16).then(|| Self(mac(bytes)))
    }

    /// Appends the tag to a packet.
    pub fn seal(&self, origin: Origin, packet: &mut Vec<u8>) {
        let tag = self.tagged(origin, packet).finalize().into_bytes();
        packet.extend_from_slice(&tag[..TAG_LENGTH]);
    }

    /// Takes the tag off a packet.
    ///
    /// # Errors
    /// [`PacketError::Authentication`] when it is not the tag of this key, this packet and this origin. The comparison
    /// takes the same time wherever they differ.
    pub fn open<'a>(&self, origin: Origin, datagram: &'a [u8]) -> Result<&'a [u8], PacketError> {
        let Some((packet, tag)) = datagram.split_last_chunk::<TAG_LENGTH>() else {
            return Err(PacketError::Authentication);
        };
        self.tagged(origin, packet).verify_truncated_left(tag).map_err(|_| PacketError::Authentication)?;
        Ok(packet)
    }

    fn tagged(&self, origin: Origin, packet: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(match origin {
            Origin::Client => b"vtp client",
            Origin::Server => b"vtp server",
        });
        mac.update(packet);
        mac
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// What an address has to return to prove that it receives what is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie(pub [u8; COOKIE_LENGTH]);

/// The server's own secret, which cookies are made with: nothing is remembered of an address before it has returned
/// one (the idea of RFC 4987, section 3.6).
#[derive(Clone)]
pub struct Secret(Hmac<Sha256>);

impl Secret {
    /// A secret from random bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(mac(&bytes))
    }

    /// The cookie of an address, a session and a title in a slot of time.
    pub fn cookie(&self, address: SocketAddr, channel: u8, session: u64, title: &Title, slot: u64) -> Cookie {
        let tag = self.covered(address, channel, session, title, slot).finalize().into_bytes();
        let mut cookie = [0; COOKIE_LENGTH];
        cookie.copy_from_slice(&tag[..COOKIE_LENGTH]);
        Cookie(cookie)
    }

    /// Whether this is that cookie.
    pub fn accepts(
        &self,
        cookie: Cookie,
        address: SocketAddr,
        channel: u8,
        session: u64,
        title: &Title,
        slot: u64,
    ) -> bool {
        self.covered(address, channel, session, title, slot).verify_truncated_left(&cookie.0).is_ok()
    }

    fn covered(&self, address: SocketAddr, channel: u8, session: u64, title: &Title, slot: u64) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        match address.ip() {
            IpAddr::V4(ip) => mac.update(&ip.to_ipv6_mapped().octets()),
            IpAddr::V6(ip) => mac.update(&ip.octets()),
        }
        mac.update(&address.port().to_be_bytes());
        mac.update(&[channel]);
        mac.update(&session.to_be_bytes());
        mac.update(&slot.to_be_bytes());
        mac.update(title.as_str().as_bytes());
        mac
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

fn mac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("invariant: HMAC takes keys of every length")
}
