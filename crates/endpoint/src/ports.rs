use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use framewire_adaptive::datagram::Channel;
use framewire_sockets::{UdpOptions, UdpRead, UdpSocket, wait_any};
use framewire_transport::socket::DatagramSend;
use framewire_units::{DataSize, Duration, Timestamp};

use crate::clock::{Clock, MonotonicClock};
use crate::error::EndpointError;

/// Room in either direction: a tenth of a second of a thousand streams of 1 Mbit/s. The kernel may give less.
const BUFFER: DataSize = DataSize::from_bytes(4 << 20);

/// The largest datagram there can be (RFC 768).
const LARGEST: usize = 65_535;

/// Datagrams that are read before something else is done.
const BATCH: usize = 64;

/// The two sockets of section 5.1, at either end of a session, and the clock that their datagrams are stamped by.
pub struct Ports<C = MonotonicClock> {
    sockets: [UdpSocket; 2],
    /// What a full socket did not take.
    waiting: [VecDeque<(SocketAddr, Vec<u8>)>; 2],
    buffer: Vec<u8>,
    clock: C,
}

impl<C: Clock> Ports<C> {
    /// Opens sockets at these addresses: for video, and for control. Port 0 takes any that is free.
    ///
    /// # Errors
    /// When an address is in use or is not this host's.
    pub fn open(addresses: [SocketAddr; 2], clock: C) -> Result<Self, EndpointError> {
        let open = |address| match UdpSocket::bind(address, &with_buffers(Some(BUFFER))) {
            // More than an unprivileged process may have.
            Err(framewire_sockets::OpenError::Buffer { .. }) => UdpSocket::bind(address, &with_buffers(None)),
            opened => opened,
        };
        let sockets = [open(addresses[0])?, open(addresses[1])?];
        Ok(Self { sockets, waiting: Default::default(), buffer: vec![0; LARGEST], clock })
    }

    /// The clock's time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The addresses: for video, and for control.
    ///
    /// # Errors
    /// When a socket is broken.
    pub fn addresses(&self) -> Result<[SocketAddr; 2], EndpointError> {
        Ok([self.sockets[0].local_address()?, self.sockets[1].local_address()?])
    }

    /// Whether something more may be sent.
    pub fn has_room(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }

    /// Sends a datagram, or keeps it until there is room. An address that cannot be reached loses it, as a network does.
    pub fn send(&mut self, channel: Channel, to: SocketAddr, bytes: Vec<u8>) {
        let place = place(channel);
        if self.waiting[place].is_empty() {
            match self.sockets[place].send_to(&bytes, to) {
                Ok(DatagramSend::WouldBlock) => {}
                Ok(DatagramSend::Sent | DatagramSend::Dropped) | Err(_) => return,
            }
        }
        self.waiting[place].push_back((to, bytes));
    }

    /// Sends what waited.
    pub fn flush(&mut self) {
        for (socket, waiting) in self.sockets.iter_mut().zip(&mut self.waiting) {
            while let Some((to, bytes)) = waiting.front() {
                if let Ok(DatagramSend::WouldBlock) = socket.send_to(bytes, *to) {
                    break;
                }
                waiting.pop_front();
            }
        }
    }

    /// Reads what is there, up to a batch of each socket; true when something was.
    ///
    /// # Errors
    /// When a socket is broken.
    pub fn receive(
        &mut self,
        mut handle: impl FnMut(Timestamp, Channel, SocketAddr, &[u8]),
    ) -> Result<bool, EndpointError> {
        let mut any = false;
        for channel in Channel::BOTH {
            for _ in 0..BATCH {
                match self.sockets[place(channel)].receive(&mut self.buffer)? {
                    UdpRead::Nothing => break,
                    UdpRead::Datagram { length, from, realtime_nanos, .. } => {
                        any = true;
                        handle(self.clock.arrival(realtime_nanos), channel, from, &self.buffer[..length]);
                    }
                }
            }
        }
        Ok(any)
    }

    /// Waits until something can be read, or what waits can be sent, or `until`, and no longer than a tenth of a second.
    ///
    /// # Errors
    /// When the kernel refuses to wait.
    pub fn wait(&self, until: Option<Timestamp>) -> Result<(), EndpointError> {
        self.wait_or(until, &[])
    }

    /// The same, and no longer than until one of `others` can be read.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_or(&self, until: Option<Timestamp>, others: &[BorrowedFd<'_>]) -> Result<(), EndpointError> {
        let left = until.map_or(crate::TICK, |until| until.saturating_since(self.now()).min(crate::TICK));
        if left == Duration::ZERO {
            return Ok(());
        }
        let own = [0, 1].map(|place| (self.sockets[place].as_fd(), !self.waiting[place].is_empty()));
        let fds: Vec<_> = own.into_iter().chain(others.iter().map(|&other| (other, false))).collect();
        Ok(wait_any(&fds, left)?)
    }
}

fn place(channel: Channel) -> usize {
    match channel {
        Channel::Data => 0,
        Channel::Control => 1,
    }
}

fn with_buffers(size: Option<DataSize>) -> UdpOptions {
    UdpOptions { send_buffer: size, receive_buffer: size, ..UdpOptions::default() }
}
