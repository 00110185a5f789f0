//! The kernel's socket of one end's RTCP, beside that of the movie.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use framewire_emu::{Clock, RECEIVER_ADDRESS, SENDER_ADDRESS};
use framewire_sockets::{OpenError, UdpOptions, UdpRead, UdpSocket};
use framewire_transport::socket::{DatagramSend, SocketError};
use framewire_units::Timestamp;

use crate::run::sockets::{READ_SIZE, stamp};

/// A socket at the port above that of the movie, or of its sound (RFC 3550, section 11), in either host.
pub struct ReportSocket {
    socket: UdpSocket,
    peer: SocketAddr,
    buffer: Vec<u8>,
}

impl ReportSocket {
    /// That of the sender of the flow with this port.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn of_sender(port: u16) -> Result<Self, OpenError> {
        Self::open(SENDER_ADDRESS, RECEIVER_ADDRESS, port + 1)
    }

    /// That of its receiver.
    ///
    /// # Errors
    /// When the port is taken.
    pub fn of_receiver(port: u16) -> Result<Self, OpenError> {
        Self::open(RECEIVER_ADDRESS, SENDER_ADDRESS, port + 1)
    }

    fn open(host: Ipv4Addr, peer: Ipv4Addr, port: u16) -> Result<Self, OpenError> {
        let socket = UdpSocket::bind(SocketAddr::from((host, port)), &UdpOptions::default())?;
        Ok(Self { socket, peer: SocketAddr::from((peer, port)), buffer: vec![0; READ_SIZE] })
    }

    /// Sends a report without waiting.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn send(&mut self, report: &[u8]) -> Result<DatagramSend, SocketError> {
        self.socket.send_to(report, self.peer)
    }

    /// The next report of the other end, and when it came on the run's clock. What others send is passed over.
    ///
    /// # Errors
    /// When the socket is broken.
    pub fn receive(&mut self, clock: Clock) -> Result<Option<(Timestamp, &[u8])>, SocketError> {
        loop {
            match self.socket.receive(&mut self.buffer)? {
                UdpRead::Nothing => return Ok(None),
                UdpRead::Datagram { length, realtime_nanos, from, .. } if from == self.peer => {
                    return Ok(Some((stamp(clock, realtime_nanos), &self.buffer[..length])));
                }
                UdpRead::Datagram { .. } => {}
            }
        }
    }

    /// What poll(2) waits for.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
