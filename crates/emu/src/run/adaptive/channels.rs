//! The two sockets of an adaptive session at one host, as its half sees them.

use std::net::{Ipv4Addr, SocketAddr};

use framewire_adaptive::datagram::Channel;
use framewire_emu::Clock;
use framewire_endpoint::{EndpointError, Ports};
use framewire_session::half::{Arrival, ChannelId, Channels};
use framewire_session::{channel_id, channel_of};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::{DataSize, Timestamp};

use super::address;
use crate::run::sockets::wrong_kind;

/// The sockets, connected to those of the other host.
pub struct SessionChannels {
    pub ports: Ports<Clock>,
    peer: Ipv4Addr,
    port: u16,
    /// Datagrams that may still be made at this moment: each has the time at which it left.
    allowed: usize,
}

impl SessionChannels {
    /// These sockets, whose peers have this address.
    pub fn new(ports: Ports<Clock>, peer: Ipv4Addr, port: u16) -> Self {
        Self { ports, peer, port, allowed: 0 }
    }

    /// The same for one datagram; what was made is sent before the next is.
    pub fn for_one(&mut self) -> &mut Self {
        self.allowed = 1;
        self
    }

    /// True where the one was sent.
    pub fn has_sent(&self) -> bool {
        self.allowed == 0
    }

    /// Hands over what came from the other host; returns how many bytes that was, and whether anything came at all.
    ///
    /// # Errors
    /// When a socket is broken.
    pub fn receive(
        &mut self,
        mut handle: impl FnMut(Timestamp, ChannelId, Arrival<'_>),
    ) -> Result<(u64, bool), EndpointError> {
        let (mut came, peer, port) = (0, self.peer, self.port);
        let any = self.ports.receive(|at, channel, from, bytes| {
            if from == address(peer, port, channel) {
                came += bytes.len() as u64;
                handle(at, channel_id(channel), Arrival::Datagram(bytes));
            }
        })?;
        Ok((came, any))
    }

    fn to(&self, channel: Channel) -> SocketAddr {
        address(self.peer, self.port, channel)
    }
}

impl Channels for SessionChannels {
    fn has_room(&self, _: ChannelId) -> bool {
        self.allowed > 0 && self.ports.has_room()
    }

    fn send(&mut self, id: ChannelId, datagram: &[u8], _: Option<u32>) -> Result<DatagramSend, SocketError> {
        let Some(channel) = channel_of(id) else { return Err(wrong_kind("send")) };
        self.allowed = self.allowed.saturating_sub(1);
        self.ports.send(channel, self.to(channel), datagram.to_vec());
        Ok(DatagramSend::Sent)
    }

    fn free_room(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Err(wrong_kind("free_room"))
    }

    fn write(&mut self, _: ChannelId, _: &[u8]) -> Result<usize, SocketError> {
        Err(wrong_kind("write"))
    }

    fn unsent(&mut self, _: ChannelId) -> Result<DataSize, SocketError> {
        Err(wrong_kind("unsent"))
    }

    fn finish(&mut self, _: ChannelId) -> Result<(), SocketError> {
        Err(wrong_kind("finish"))
    }
}
