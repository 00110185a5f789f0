//! How the sockets of an end are opened: one by one, in pairs of RTP and RTCP, and connections.

use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};

use framewire_endpoint::Clock;
use framewire_session::half::ChannelId;
use framewire_session::{ChannelSetup, SendBuffer, SocketsSetup};
use framewire_sockets::{Interest, OpenError, TcpReceiver, wait};
use framewire_transport::socket::SocketError;
use framewire_units::Duration;

use super::{FlowSockets, READ_SIZE, Stream};
use crate::addresses::FlowAddresses;
use crate::channel::{Channel, Socket};

/// How often two ports that follow each other are looked for: half of all that are free are odd.
const PAIRS_TRIED: u32 = 64;

impl<C: Clock> FlowSockets<C> {
    /// Opens the channels of a flow at one of its ends, but for the connections that this end opens, which
    /// [`connect`](Self::connect) does; inside the host where they are to be.
    ///
    /// # Errors
    /// When a port is taken, or the kernel does not make a socket as the flow says.
    pub fn open(setups: &[ChannelSetup], addresses: &FlowAddresses, clock: C) -> Result<Self, OpenError> {
        let send_buffer_of = |setup: &ChannelSetup| {
            let SocketsSetup::Datagram([sender, _]) = &setup.sockets else { return None };
            let SendBuffer::Of(other) = sender.send_buffer else { return None };
            let other = setups.iter().find(|setup| setup.id == other)?;
            let SocketsSetup::Datagram([sender, _]) = &other.sockets else { return None };
            if let SendBuffer::Own(size) = sender.send_buffer { size } else { None }
        };
        let channels = setups.iter().map(|setup| Channel::open(setup, addresses, send_buffer_of(setup)));
        Ok(Self::of(channels.collect::<Result<_, _>>()?, vec![0; READ_SIZE], clock))
    }

    /// Those of a connection that was accepted for one of many peers: that is its only channel so far. A peer that takes nothing for as
    /// long as `patience` has broken it. Every read is given its buffer, with [`take_into`](Self::take_into).
    ///
    /// # Errors
    /// When it is gone already.
    pub fn of_connection(
        accepted: TcpReceiver,
        id: ChannelId,
        patience: Duration,
        clock: C,
    ) -> Result<Self, SocketError> {
        let sender = accepted.sender()?;
        sender.set_user_timeout(patience)?;
        Ok(Self::of(vec![Channel::of_connection(id, sender, accepted)], Vec::new(), clock))
    }

    /// Opens two channels of datagrams more, at two free ports of this host that follow each other, of which the first is even (RFC 3550,
    /// section 11), to these ports of the other one; in place of those that there were. Which ports those are.
    ///
    /// # Errors
    /// When there are none, or the kernel does not make a socket as it is to be.
    pub fn open_pair(
        &mut self,
        setups: &[ChannelSetup; 2],
        own: IpAddr,
        peers: [SocketAddr; 2],
    ) -> Result<(u16, u16), OpenError> {
        self.open_even_pair(own, setups, |number, at| Channel::of_datagrams(&setups[number], at, peers[number]))
    }

    /// The same of the packets and the reports of a session: the other host's reports are taken from any of its ports.
    ///
    /// # Errors
    /// As [`open_pair`](Self::open_pair).
    pub fn open_reported(
        &mut self,
        setups: &[ChannelSetup; 2],
        own: IpAddr,
        peers: [SocketAddr; 2],
    ) -> Result<(u16, u16), OpenError> {
        self.open_even_pair(own, setups, |number, at| match number {
            0 => Channel::of_datagrams(&setups[0], at, peers[0]),
            _ => Channel::of_reports(&setups[1], at, peers[1]),
        })
    }

    /// The same to which another host sends, from whatever ports: what is heard first on each is its peer.
    ///
    /// # Errors
    /// As [`open_pair`](Self::open_pair).
    pub fn listen_pair(
        &mut self,
        setups: &[ChannelSetup; 2],
        own: IpAddr,
        from: IpAddr,
    ) -> Result<(u16, u16), OpenError> {
        self.open_even_pair(own, setups, |number, at| Channel::of_host(&setups[number], at, from))
    }

    /// Opens two channels at two free ports that follow each other, the first one at an even one.
    fn open_even_pair(
        &mut self,
        own: IpAddr,
        setups: &[ChannelSetup; 2],
        open: impl Fn(usize, SocketAddr) -> Result<Channel, OpenError>,
    ) -> Result<(u16, u16), OpenError> {
        self.channels.retain(|channel| setups.iter().all(|setup| setup.id != channel.id));
        let mut tries = 0;
        loop {
            tries += 1;
            let one = open(0, SocketAddr::new(own, 0))?;
            let port = one.port();
            let other = match port % 2 {
                0 => open(1, SocketAddr::new(own, port + 1)),
                _ => Err(OpenError::PortInUse(SocketAddr::new(own, port))),
            };
            match other {
                Ok(other) => {
                    self.channels.extend([one, other]);
                    return Ok((port, port + 1));
                }
                Err(OpenError::PortInUse(_)) if tries < PAIRS_TRIED => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What is said on a channel that [listens](Self::listen_pair) goes to this port of the host that it is of.
    pub fn answer_to(&mut self, channel: ChannelId, port: u16) {
        let listening = self.channels.iter_mut().filter(|one| one.id == channel);
        listening.for_each(|one| one.listened.port = Some(port));
    }

    /// Opens one more channel of datagrams, in place of the one of this number if there is one, which is listened to as the first one is.
    ///
    /// # Errors
    /// When its port is taken, or the kernel does not make a socket as it is to be.
    pub fn add(&mut self, setup: &ChannelSetup, addresses: &FlowAddresses) -> Result<(), OpenError> {
        self.channels.retain(|channel| channel.id != setup.id);
        let mut channel = Channel::open(setup, addresses, None)?;
        channel.listened.expected = self.channels.first().and_then(|first| first.listened.expected);
        self.channels.push(channel);
        Ok(())
    }

    fn of(channels: Vec<Channel>, buffer: Vec<u8>, clock: C) -> Self {
        let (stream, asked_for_more) = (Stream::default(), Cell::new(false));
        Self { channels, clock, buffer, stream, counted: 0, has_sent: false, asked_for_more, is_deaf: false }
    }

    /// The same on another clock.
    #[must_use]
    pub fn on(self, clock: C) -> Self {
        Self { clock, ..self }
    }

    /// Begins to open the connections that this end opens; inside its host.
    ///
    /// # Errors
    /// When the kernel does not make a socket, or nothing listens at the other end.
    pub fn connect(&mut self) -> Result<(), OpenError> {
        self.channels.iter_mut().try_for_each(Channel::connect)
    }

    /// Waits for the connections of this end as long as `patience`; from then on a peer that takes nothing for as long has
    /// broken them. False where `is_stopped` ended that, which is asked every `tick`.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn wait_for_peer(
        &self,
        patience: Duration,
        tick: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<bool, OpenError> {
        let system = |error: SocketError| OpenError::System { operation: error.operation, reason: error.reason };
        for channel in &self.channels {
            let Socket::Open(sender, _) = &channel.socket else { continue };
            let mut left = patience;
            while !wait(sender, Interest::Write, left.min(tick)).map_err(system)? {
                left = left.saturating_sub(tick);
                if left.is_zero() {
                    return Err(OpenError::NoAnswer(sender.peer()));
                }
                if is_stopped() {
                    return Ok(false);
                }
            }
            sender.connected()?;
            sender.set_user_timeout(patience).map_err(system)?;
        }
        Ok(true)
    }
}
