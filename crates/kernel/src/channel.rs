//! One channel: a socket of datagrams, or a connection that one end opens and for which the other one listens.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use framewire_session::half::{ChannelId, End};
use framewire_session::{ChannelSetup, SocketsSetup};
use framewire_sockets::{
    OpenError, TcpListener, TcpOptions, TcpRead, TcpReceiver, TcpSender, UdpOptions, UdpRead, UdpReceiver, UdpSender,
    UdpSocket,
};
use framewire_transport::socket::SocketError;
use framewire_units::DataSize;

use crate::addresses::{FlowAddresses, Listened};
use crate::options::{options_of, udp_options};

/// Datagrams and connections of others that one look passes over.
const PASSED_OVER: usize = 64;

/// A channel of one end.
pub(crate) struct Channel {
    pub(crate) id: ChannelId,
    pub(crate) is_media: bool,
    pub(crate) socket: Socket,
    pub(crate) listened: Listened,
    /// Nothing more comes on it.
    pub(crate) has_ended: bool,
}

pub(crate) enum Socket {
    /// Datagrams to and from a peer that is known.
    Datagram(UdpSender, UdpReceiver),
    /// Datagrams of the sender that is heard first, and answers to it.
    Bound(UdpSocket),
    Listening(TcpListener),
    /// A connection that this end is to open.
    Closed(TcpOptions, Option<SocketAddr>, SocketAddr),
    Open(TcpSender, TcpReceiver),
}

impl Socket {
    fn datagrams(own: SocketAddr, peer: SocketAddr, options: &UdpOptions) -> Result<Self, OpenError> {
        let mut sender = UdpSender::open(own, peer, options)?;
        // A peer that is not there yet, or no more, loses what is sent to it.
        sender.ignore_refusal();
        let receiver = sender.receiver().map_err(system)?;
        Ok(Self::Datagram(sender, receiver))
    }
}

/// What one look at a channel gave.
pub(crate) enum Taken {
    Nothing,
    Opened,
    /// So many bytes, with the kernel's stamp.
    Datagram(usize, Option<u64>),
    Bytes(usize, Option<u64>),
    Ended,
}

impl Channel {
    /// Opens what can be opened before the flow begins: not the connections of this end.
    pub(crate) fn open(
        setup: &ChannelSetup,
        addresses: &FlowAddresses,
        shared: Option<DataSize>,
    ) -> Result<Self, OpenError> {
        let (own, peer) = (addresses.own(setup.port), addresses.peer(setup.port));
        let socket = match &setup.sockets {
            SocketsSetup::Stream(opened_by, settings) => {
                let options = options_of(addresses.end, settings);
                match peer {
                    Some(peer) if *opened_by == addresses.end => {
                        Socket::Closed(options, Some(own).filter(|own| own.port() > 0), peer)
                    }
                    _ => Socket::Listening(TcpListener::bind(own, &options)?),
                }
            }
            SocketsSetup::Datagram(ends) => {
                let own_end = if addresses.end == End::Sender { 0 } else { 1 };
                let options = udp_options(&ends[own_end], shared);
                match peer {
                    Some(peer) => Socket::datagrams(own, peer, &options)?,
                    None => Socket::Bound(UdpSocket::bind(own, &options)?),
                }
            }
        };
        let listened = Listened::default();
        Ok(Self { id: setup.id, is_media: setup.is_media(), socket, listened, has_ended: false })
    }

    /// That of datagrams of a host, whatever their port, which comes to a port of this one: 0 is any.
    pub(crate) fn of_host(setup: &ChannelSetup, own: SocketAddr, from: IpAddr) -> Result<Self, OpenError> {
        let addresses = FlowAddresses { end: End::Receiver, own, peer: None };
        let channel = Self::open(&ChannelSetup { port: 0, ..setup.clone() }, &addresses, None)?;
        Ok(Self { listened: Listened { expected: Some(from), ..Listened::default() }, ..channel })
    }

    /// That of reports to a peer, which its host answers from whatever ports: some programs do not take them at the one from which they
    /// send their own.
    pub(crate) fn of_reports(setup: &ChannelSetup, own: SocketAddr, peer: SocketAddr) -> Result<Self, OpenError> {
        let channel = Self::of_host(setup, own, peer.ip())?;
        Ok(Self { listened: Listened { port: Some(peer.port()), is_host: true, ..channel.listened }, ..channel })
    }

    /// That of datagrams to and from a peer, at a port of this host: 0 is any.
    pub(crate) fn of_datagrams(setup: &ChannelSetup, own: SocketAddr, peer: SocketAddr) -> Result<Self, OpenError> {
        let SocketsSetup::Datagram([sender, _]) = &setup.sockets else {
            unreachable!("invariant: a channel of datagrams has sockets of datagrams")
        };
        let socket = Socket::datagrams(own, peer, &udp_options(sender, None))?;
        let listened = Listened::default();
        Ok(Self { id: setup.id, is_media: setup.is_media(), socket, listened, has_ended: false })
    }

    /// That of a connection which is open, and on which the peer asks.
    pub(crate) fn of_connection(id: ChannelId, sender: TcpSender, receiver: TcpReceiver) -> Self {
        let (socket, listened) = (Socket::Open(sender, receiver), Listened::default());
        Self { id, is_media: false, socket, listened, has_ended: false }
    }

    /// Begins to open the connection, where this end does so.
    pub(crate) fn connect(&mut self) -> Result<(), OpenError> {
        let Socket::Closed(options, own, peer) = &self.socket else { return Ok(()) };
        let sender = TcpSender::start(*own, *peer, options)?;
        let receiver = sender.receiver().map_err(system)?;
        self.socket = Socket::Open(sender, receiver);
        Ok(())
    }

    /// Takes what one call gives.
    pub(crate) fn take(&mut self, buffer: &mut [u8]) -> Result<Taken, SocketError> {
        let taken = match &mut self.socket {
            Socket::Datagram(_, receiver) => match receiver.receive(buffer)? {
                UdpRead::Nothing => Taken::Nothing,
                UdpRead::Datagram { length, realtime_nanos, .. } => Taken::Datagram(length, realtime_nanos),
            },
            Socket::Bound(receiver) => {
                for _ in 0..PASSED_OVER {
                    let UdpRead::Datagram { length, realtime_nanos, from, .. } = receiver.receive(buffer)? else {
                        break;
                    };
                    if self.listened.takes(from) {
                        return Ok(Taken::Datagram(length, realtime_nanos));
                    }
                }
                Taken::Nothing
            }
            Socket::Listening(listener) => {
                for _ in 0..PASSED_OVER {
                    let Some(receiver) = listener.accept()? else { break };
                    // One that is gone already has no address.
                    let Ok(from) = receiver.peer_address() else { continue };
                    if self.listened.takes(from) {
                        self.socket = Socket::Open(receiver.sender()?, receiver);
                        return Ok(Taken::Opened);
                    }
                }
                Taken::Nothing
            }
            Socket::Closed(..) => Taken::Nothing,
            Socket::Open(_, receiver) => match receiver.read(buffer)? {
                TcpRead::Nothing => Taken::Nothing,
                TcpRead::End => {
                    self.has_ended = true;
                    Taken::Ended
                }
                TcpRead::Bytes { length, realtime_nanos } => Taken::Bytes(length, realtime_nanos),
            },
        };
        Ok(taken)
    }

    /// Throws away the next that came, a datagram or a connection, and counts it as of others.
    pub(crate) fn discard(&mut self, buffer: &mut [u8]) -> Result<(), SocketError> {
        match &mut self.socket {
            Socket::Datagram(_, receiver) => drop(receiver.receive(buffer)?),
            Socket::Bound(socket) => drop(socket.receive(buffer)?),
            Socket::Listening(listener) => drop(listener.accept()?),
            Socket::Closed(..) | Socket::Open(..) => return Ok(()),
        }
        self.listened.of_others += 1;
        Ok(())
    }

    /// Where it listens, or is bound; `None` of a connection.
    pub(crate) fn local_address(&self) -> Result<Option<SocketAddr>, SocketError> {
        match &self.socket {
            Socket::Datagram(sender, _) => sender.local_address().map(Some),
            Socket::Bound(receiver) => receiver.local_address().map(Some),
            Socket::Listening(listener) => listener.local_address().map(Some),
            Socket::Closed(..) | Socket::Open(..) => Ok(None),
        }
    }

    /// How often the other host has said that nothing listens there.
    pub(crate) fn refusals(&self) -> u64 {
        if let Socket::Datagram(sender, _) = &self.socket { sender.refusals() } else { 0 }
    }

    /// Its port here; 0 of a connection.
    pub(crate) fn port(&self) -> u16 {
        self.local_address().ok().flatten().map_or(0, |address| address.port())
    }

    /// What has not left this host, or is not acknowledged.
    pub(crate) fn queued(&self) -> Result<DataSize, SocketError> {
        match &self.socket {
            Socket::Datagram(sender, _) => sender.queued(),
            Socket::Open(sender, _) => sender.queued(),
            Socket::Bound(socket) => socket.queued(),
            Socket::Listening(_) | Socket::Closed(..) => Ok(DataSize::ZERO),
        }
    }

    /// What poll(2) waits for; `None` of a connection that was not opened yet.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.socket {
            Socket::Datagram(sender, _) => Some(sender.as_fd()),
            Socket::Bound(receiver) => Some(receiver.as_fd()),
            Socket::Listening(listener) => Some(listener.as_fd()),
            Socket::Open(sender, _) => Some(sender.as_fd()),
            Socket::Closed(..) => None,
        }
    }
}

fn system(error: SocketError) -> OpenError {
    OpenError::System { operation: error.operation, reason: error.reason }
}
