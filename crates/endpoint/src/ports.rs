//! The two sockets at either end of a session: what a full socket does not take waits here, and nothing blocks but
//! waiting itself.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use framewire_adaptive::datagram::{Channel, Transmit};
use framewire_sockets::{OpenError, UdpOptions, UdpRead, UdpSocket, wait_any};
use framewire_units::{DataSize, Duration, Timestamp};

use crate::clock::{Clock, MonotonicClock};
use crate::error::EndpointError;
use crate::server_loop::{Handle, ServerSockets};

/// Room in either direction: a tenth of a second of a thousand streams of 1 Mbit/s. The kernel may give less.
const BUFFER: DataSize = DataSize::from_bytes(4 << 20);

/// The largest datagram there can be (RFC 768).
const LARGEST: usize = 65_535;

/// Datagrams of each socket that [`Ports::receive`] reads before something else is done.
const BATCH: usize = 64;

/// The two sockets of section 5.1, at either end of a session, and the clock that their datagrams are stamped by.
pub struct Ports<C = MonotonicClock> {
    sockets: [UdpSocket; 2],
    /// What is to be sent, and was not yet or not taken by a full socket.
    waiting: [VecDeque<Transmit>; 2],
    buffer: Vec<u8>,
    clock: C,
}

impl<C: Clock> Ports<C> {
    /// Opens sockets at these addresses: for video, and for control. Port 0 takes any that is free.
    ///
    /// # Errors
    /// When an address is in use or is not this host's.
    pub fn open(addresses: [SocketAddr; 2], clock: C) -> Result<Self, EndpointError> {
        match Self::open_with(addresses, &with_buffers(Some(BUFFER)), clock) {
            // More than an unprivileged process may have.
            Err(EndpointError::Open(OpenError::Buffer { .. })) => {
                Self::open_with(addresses, &with_buffers(None), clock)
            }
            opened => opened,
        }
    }

    /// The same with settings of both sockets.
    ///
    /// # Errors
    /// As [`open`](Self::open); when a buffer cannot be as large as the settings say.
    fn open_with(addresses: [SocketAddr; 2], options: &UdpOptions, clock: C) -> Result<Self, EndpointError> {
        let open = |address| UdpSocket::bind(address, options);
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

    /// Kernel memory of the datagrams that have not left this host by a socket.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn queued(&self, channel: Channel) -> Result<DataSize, EndpointError> {
        Ok(self.sockets[channel.index()].queued()?)
    }

    /// Whether something more may be sent.
    pub fn has_room(&self) -> bool {
        self.waiting.iter().all(VecDeque::is_empty)
    }

    /// Sends a datagram, or keeps it until there is room. An address that cannot be reached loses it, as a network
    /// does.
    pub fn send(&mut self, channel: Channel, to: SocketAddr, bytes: Vec<u8>) {
        self.waiting[channel.index()].push_back(Transmit::answer(channel, to, bytes));
        self.flush();
    }

    /// Sends what waited.
    pub fn flush(&mut self) {
        self.flush_and_tell(&mut |_, _| {});
    }

    /// Sends what waits as far as there is room, many datagrams by one call of the kernel, and reports when each that
    /// had a due time has left: at the return of its call.
    fn flush_and_tell(&mut self, left: &mut dyn FnMut(Timestamp, Timestamp)) {
        for (socket, waiting) in self.sockets.iter_mut().zip(&mut self.waiting) {
            while !waiting.is_empty() {
                let done = match socket.send_many(waiting.iter().map(|sent| (&sent.bytes[..], sent.to))) {
                    Ok(0) => break,
                    Ok(done) => done,
                    Err(_) => 1, // lost: there is no receiver at that address
                };
                let now = self.clock.now();
                waiting.drain(..done).filter_map(|sent| sent.due).for_each(|due| left(due, now));
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
        self.read(BATCH, &mut handle)
    }

    /// Sleeps until then, whatever comes.
    pub(crate) fn pause(&self, until: Timestamp) -> Result<(), EndpointError> {
        Ok(wait_any(&[], until.saturating_since(self.now()))?)
    }

    /// Waits until something can be read, or what waits can be sent, or `until`, and no longer than a tenth of a
    /// second.
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
    pub(crate) fn wait_or(&self, until: Option<Timestamp>, others: &[BorrowedFd<'_>]) -> Result<(), EndpointError> {
        let left = until.map_or(crate::TICK, |until| until.saturating_since(self.now()).min(crate::TICK));
        if left == Duration::ZERO {
            return Ok(());
        }
        let own = [0, 1].map(|place| (self.sockets[place].as_fd(), !self.waiting[place].is_empty()));
        let fds: Vec<_> = own.into_iter().chain(others.iter().map(|&other| (other, false))).collect();
        Ok(wait_any(&fds, left)?)
    }
}

impl<C: Clock> ServerSockets for Ports<C> {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn has_room(&self) -> bool {
        Ports::has_room(self)
    }

    fn send_all(&mut self, batch: &mut Vec<Transmit>, left: &mut dyn FnMut(Timestamp, Timestamp)) {
        for sent in batch.drain(..) {
            self.waiting[sent.channel.index()].push_back(sent);
        }
        self.flush_and_tell(left);
    }

    fn read(&mut self, most: usize, handle: &mut Handle<'_>) -> Result<bool, EndpointError> {
        let mut any = false;
        for channel in Channel::BOTH {
            for _ in 0..most {
                match self.sockets[channel.index()].receive(&mut self.buffer)? {
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
}

fn with_buffers(size: Option<DataSize>) -> UdpOptions {
    UdpOptions { send_buffer: size, receive_buffer: size, ..UdpOptions::default() }
}
