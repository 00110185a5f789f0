//! The sending half of a flow, over either kind of socket.

use bytes::Bytes;
use framewire_transport::event::SenderEvent;
use framewire_transport::frame::OutgoingFrame;
use framewire_transport::queue::FrameQueue;
use framewire_transport::socket::SocketError;
use framewire_transport::{ConstantSender, DatagramSender, OutgoingSound, StreamSender, WriteProgress};
use framewire_units::Timestamp;

use crate::half::OneChannel;

/// The sending half of a flow, over either kind of socket.
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved in a hot path")]
pub enum SendingHalf {
    /// Over datagrams.
    Datagram(DatagramSender),
    /// Over a byte stream.
    Stream(StreamSender),
    /// Over either as a transport stream of constant rate.
    Constant(ConstantSender),
}

impl SendingHalf {
    pub(super) fn wants_frame(&self) -> bool {
        match self {
            Self::Datagram(half) => half.wants_frame(),
            Self::Stream(half) => half.wants_frame(),
            Self::Constant(half) => half.wants_frame(),
        }
    }

    pub(super) fn handle_frame(&mut self, now: Timestamp, frame: OutgoingFrame) {
        match self {
            Self::Datagram(half) => half.handle_frame(now, frame),
            Self::Stream(half) => half.handle_frame(now, frame),
            Self::Constant(half) => half.handle_frame(now, frame),
        }
    }

    pub(super) fn handle_sound(&mut self, now: Timestamp, sound: OutgoingSound) {
        match self {
            Self::Datagram(half) => half.handle_sound(now, sound),
            Self::Stream(half) => half.handle_sound(now, sound),
            Self::Constant(half) => half.handle_sound(now, sound),
        }
    }

    pub(super) fn handle_end(&mut self, now: Timestamp) {
        match self {
            Self::Datagram(half) => half.handle_end(now),
            Self::Stream(half) => half.handle_end(now),
            Self::Constant(half) => half.handle_end(now),
        }
    }

    /// Takes a message of the session, which goes on the same stream.
    pub(super) fn handle_message(&mut self, message: Vec<u8>) {
        match self {
            Self::Stream(half) => half.handle_message(message),
            Self::Constant(half) => half.handle_message(message),
            Self::Datagram(_) => {}
        }
    }

    /// What has to be written of it, where the stream goes on in another way; nothing of datagrams.
    pub(super) fn take_begun(&mut self) -> Vec<Bytes> {
        if let Self::Stream(half) = self { half.take_begun() } else { Vec::new() }
    }

    pub(super) fn handle_abort(&mut self, now: Timestamp) {
        match self {
            Self::Datagram(half) => half.handle_abort(now),
            Self::Stream(half) => half.handle_abort(now),
            Self::Constant(half) => half.handle_abort(now),
        }
    }

    /// What waits is given up, and the queue is another one.
    pub(super) fn handle_seek(&mut self, now: Timestamp, queue: FrameQueue) {
        match self {
            Self::Datagram(half) => half.handle_seek(now, queue),
            Self::Stream(half) => half.handle_seek(now, queue),
            Self::Constant(_) => {
                unreachable!("invariant: what is gone to another place in is RTSP, which carries no transport stream")
            }
        }
    }

    /// The sequence numbers of the next packets of RTP, of frames and of sound; `None` where it makes none.
    pub(super) fn next_numbers(&self) -> [Option<u16>; 2] {
        match self {
            Self::Datagram(half) => [half.next_number(), None],
            Self::Stream(half) => half.next_numbers(),
            Self::Constant(_) => [None; 2],
        }
    }

    pub(super) fn poll_write(
        &mut self,
        now: Timestamp,
        socket: &mut OneChannel<'_>,
    ) -> Result<WriteProgress, SocketError> {
        match self {
            Self::Datagram(half) => half.poll_write(now, socket),
            Self::Stream(half) => half.poll_write(now, socket),
            Self::Constant(half) => half.poll_write(now, socket),
        }
    }

    /// All was given to it, and the end is signalled when it has left.
    pub(super) fn handle_complete(&mut self) {
        if let Self::Constant(half) = self {
            half.handle_complete();
        }
    }

    /// True where nothing is left of what was given, and null packets go until there is more.
    pub(super) fn sends_stuffing_alone(&self) -> bool {
        if let Self::Constant(half) = self { half.sends_stuffing_alone() } else { false }
    }

    pub(super) fn next_timeout(&self) -> Option<Timestamp> {
        match self {
            Self::Datagram(half) => half.next_timeout(),
            Self::Stream(_) => None,
            Self::Constant(half) => half.next_timeout(),
        }
    }

    pub(super) fn poll_event(&mut self) -> Option<SenderEvent> {
        match self {
            Self::Datagram(half) => half.poll_event(),
            Self::Stream(half) => half.poll_event(),
            Self::Constant(half) => half.poll_event(),
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        match self {
            Self::Datagram(half) => half.is_finished(),
            Self::Stream(half) => half.is_finished(),
            Self::Constant(half) => half.is_finished(),
        }
    }
}
