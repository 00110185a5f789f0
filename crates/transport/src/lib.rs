//! Sans-IO sender and receiver halves of every transport, over two small socket traits.
//!
//! A sending half is a [frame queue](queue::FrameQueue), which decides which frame goes next and which is given up,
//! and a writer, which decides how the bytes of a frame enter the socket: [`DatagramSender`] as RTP packets,
//! [`StreamSender`] as a byte stream. [`TransportKind`] names the combinations, with their defaults and the reasons
//! for them (`docs/transports.md`). Time is an argument everywhere; nothing here opens a socket, reads a clock or
//! waits.
//!
//! # How to drive a sending half
//! Hand in one thing (a due frame, the end, a writable socket), then drain: [`poll_write`](StreamSender::poll_write)
//! until it is `Idle` or `Blocked`, [`poll_event`](StreamSender::poll_event) until it is `None`. Then wait for the
//! frame clock, and for the socket if it said `Blocked`.
//!
//! ```
//! use framewire_media::PictureType::{B, I, P};
//! use framewire_transport::event::SenderEvent;
//! use framewire_transport::frame::{Dependencies, OutgoingFrame};
//! use framewire_transport::socket::{SocketError, StreamSocket};
//! use framewire_transport::{StreamSender, TransportKind, WriteProgress};
//! use framewire_units::{DataSize, Duration, Timestamp};
//!
//! /// A socket that takes 600 bytes each time it becomes writable.
//! struct Toy {
//!     room: usize,
//! }
//!
//! impl StreamSocket for Toy {
//!     fn write(&mut self, bytes: &[u8]) -> Result<usize, SocketError> {
//!         let taken = bytes.len().min(self.room);
//!         self.room -= taken;
//!         Ok(taken)
//!     }
//!     fn unsent(&mut self) -> Result<DataSize, SocketError> {
//!         Ok(DataSize::ZERO)
//!     }
//!     fn finish(&mut self) -> Result<(), SocketError> {
//!         Ok(())
//!     }
//! }
//!
//! let kind: TransportKind = "tcp+ifd".parse()?;
//! let mut half = StreamSender::new(kind.frame_queue(), kind.profile().unsent_limit);
//! let mut socket = Toy { room: 600 };
//!
//! // The frame clock offers a frame each 40 ms, ready or not; the socket takes 600 bytes in that time.
//! for (id, (kind, size)) in (0..).zip([(I, 1_500), (B, 400), (P, 500), (B, 400)]) {
//!     let now = Timestamp::from_millis(40 * u64::from(id));
//!     let frame = OutgoingFrame {
//!         id,
//!         kind,
//!         dependencies: Dependencies::default(), // I-Frame Delay goes by the type
//!         duration: Duration::from_millis(40),
//!         rtp_timestamp: 3_600 * id,
//!         decode_timestamp: 3_600 * id,
//!         bytes: vec![0; size].into(),
//!     };
//!     half.handle_frame(now, frame);
//!     socket.room = 600;
//!     half.poll_write(now, &mut socket)?;
//! }
//!
//! // The end: what waits is still written.
//! let end = Timestamp::from_millis(160);
//! half.handle_end(end);
//! while half.poll_write(end, &mut socket)? == WriteProgress::Blocked {
//!     socket.room = 600; // wait for writability here
//! }
//! assert!(half.is_finished());
//!
//! let mut given_up = vec![];
//! while let Some(event) = half.poll_event() {
//!     if let SenderEvent::Discarded { frame, rule, .. } = event {
//!         given_up.push((frame, rule));
//!     }
//! }
//! assert_eq!(given_up, [(1, "ifd: waiting B overwritten by a P")]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(unreachable_pub)]

mod access_unit;
pub mod arrivals;
mod backlog;
mod constant;
pub mod datagram;
pub mod decisions;
mod dependency;
pub mod event;
pub mod frame;
pub mod ifd;
mod limits;
pub mod live;
mod packets;
mod progress;
pub mod queue;
pub mod registry;
pub mod rivals;
mod rules;
pub mod socket;
mod sound;
mod stream;
#[cfg(test)]
mod testing;

pub use constant::{Carrier, ConstantSender};
pub use datagram::{DatagramReceiver, DatagramSender, Overflow, Spread};
pub use limits::Limits;
pub use packets::{CLOCK_WRAP, DatagramNumber, Depacketizer, Packetizer, SoundPackets};
pub use progress::WriteProgress;
pub use queue::QueueKind;
pub use registry::{Profile, SocketKind, TransportKind, UnknownTransport};
pub use sound::OutgoingSound;
pub use stream::{
    FileFragments, FileSamples, Pacing, PacketStreamReceiver, Piece, RtpPackets, RtpReader, SoundTimes, StreamFormat,
    StreamReader, StreamReceiver, StreamSender,
};
