//! A sending half of the library with the socket that it writes to.

use std::os::fd::{AsFd, BorrowedFd};

use framewire_sockets::{TcpInfo, TcpSender, UdpSender};
use framewire_transport::event::SenderEvent;
use framewire_transport::frame::OutgoingFrame;
use framewire_transport::queue::FrameQueue;
use framewire_transport::socket::SocketError;
use framewire_transport::{DatagramSender, StreamSender, WriteProgress};
use framewire_units::{DataSize, Timestamp};

/// One connection, from its first byte to its end. The halves make the decisions; this only picks the one.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one per element, never moved in a hot path")]
pub(super) enum Connection {
    /// The frames as a byte stream.
    Stream(StreamSender, TcpSender),
    /// The frames as RTP packets.
    Datagrams(DatagramSender, UdpSender),
}

impl Connection {
    /// Takes a frame into the decision queue.
    pub(super) fn handle_frame(&mut self, now: Timestamp, frame: OutgoingFrame) {
        match self {
            Self::Stream(half, _) => half.handle_frame(now, frame),
            Self::Datagrams(half, _) => half.handle_frame(now, frame),
        }
    }

    /// No more frames come; the frame that was begun is still written.
    pub(super) fn handle_end(&mut self, now: Timestamp) {
        match self {
            Self::Stream(half, _) => half.handle_end(now),
            Self::Datagrams(half, _) => half.handle_end(now),
        }
    }

    /// Gives up everything that was not written.
    pub(super) fn handle_abort(&mut self, now: Timestamp) {
        match self {
            Self::Stream(half, _) => half.handle_abort(now),
            Self::Datagrams(half, _) => half.handle_abort(now),
        }
    }

    /// Gives up what waits; a frame that is being written is finished.
    pub(super) fn handle_flush(&mut self, now: Timestamp) {
        match self {
            Self::Stream(half, _) => half.handle_flush(now),
            Self::Datagrams(half, _) => half.handle_flush(now),
        }
    }

    /// Writes what the socket takes.
    pub(super) fn poll_write(&mut self, now: Timestamp) -> Result<WriteProgress, SocketError> {
        match self {
            Self::Stream(half, socket) => half.poll_write(now, socket),
            Self::Datagrams(half, socket) => half.poll_write(now, socket),
        }
    }

    /// When to write again, where the next packet is not due yet.
    pub(super) fn next_timeout(&self) -> Option<Timestamp> {
        match self {
            Self::Stream(..) => None,
            Self::Datagrams(half, _) => half.next_timeout(),
        }
    }

    /// What became of frames.
    pub(super) fn poll_event(&mut self) -> Option<SenderEvent> {
        match self {
            Self::Stream(half, _) => half.poll_event(),
            Self::Datagrams(half, _) => half.poll_event(),
        }
    }

    /// True when the end was signalled and everything is written.
    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::Stream(half, _) => half.is_finished(),
            Self::Datagrams(half, _) => half.is_finished(),
        }
    }

    /// The decision queue.
    pub(super) fn queue(&self) -> &FrameQueue {
        match self {
            Self::Stream(half, _) => half.queue(),
            Self::Datagrams(half, _) => half.queue(),
        }
    }

    /// Reads away what the peer has said; false when it will say no more, or says nothing that could harm.
    pub(super) fn discard_input(&mut self) -> Result<bool, SocketError> {
        match self {
            Self::Stream(_, socket) => socket.discard_input().map(|ended| !ended),
            Self::Datagrams(..) => Ok(false),
        }
    }

    /// Asks the kernel, which says that something is wrong with the socket, what it is.
    ///
    /// # Errors
    /// When the connection is broken. A datagram that was not received breaks nothing.
    pub(super) fn check(&mut self) -> Result<(), SocketError> {
        match self {
            Self::Stream(_, socket) => {
                let closed = SocketError { operation: "connection", reason: "closed by the receiver".to_owned() };
                socket.check().and(Err(closed))
            }
            Self::Datagrams(_, socket) => socket.check(),
        }
    }

    /// What the kernel knows of a TCP connection.
    pub(super) fn tcp_info(&self) -> Option<(TcpInfo, String)> {
        match self {
            Self::Stream(_, socket) => Some((socket.info().ok()?, socket.congestion().ok()?)),
            Self::Datagrams(..) => None,
        }
    }

    /// Bytes that the receiver has acknowledged; `None` where none does.
    pub(super) fn acknowledged(&self) -> Option<DataSize> {
        match self {
            Self::Stream(_, socket) => socket.info().ok()?.acknowledged,
            Self::Datagrams(..) => None,
        }
    }

    /// Bytes written that the receiver has not acknowledged, or, of datagrams, that the kernel still has.
    pub(super) fn undelivered(&self) -> DataSize {
        let queued = match self {
            Self::Stream(_, socket) => socket.queued(),
            Self::Datagrams(_, socket) => socket.queued(),
        };
        queued.unwrap_or(DataSize::ZERO)
    }

    /// Bytes that the kernel has and the network has not.
    pub(super) fn kernel_queue(&self) -> Option<DataSize> {
        match self {
            Self::Stream(_, socket) => socket.info().ok()?.unsent,
            Self::Datagrams(_, socket) => socket.queued().ok(),
        }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Stream(_, socket) => socket.as_fd(),
            Self::Datagrams(_, socket) => socket.as_fd(),
        }
    }
}
