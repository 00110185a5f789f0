//! How frames become bytes of a stream, and bytes frames: two traits, which each format carries out in a file of its own.

use std::fmt::Debug;

use bytes::Bytes;
use framewire_units::Timestamp;

use crate::event::ReceiverEvent;
use crate::frame::OutgoingFrame;
use crate::sound::OutgoingSound;

/// How frames, and sound beside them, become bytes of a stream.
///
/// A format is given the frames and the packets of sound in the order in which they go into the stream, each once.
pub trait StreamFormat: Debug + Send {
    /// The bytes of a frame; `None` where it cannot be carried.
    fn of_frame(&mut self, frame: &OutgoingFrame) -> Option<Piece>;

    /// The same of a packet of sound; `None` where the format has no place for it.
    fn of_sound(&mut self, _sound: &OutgoingSound) -> Option<Piece> {
        None
    }

    /// The sequence numbers of the next packets of RTP that are made, of frames and of sound; `None` where none is.
    fn next_numbers(&self) -> [Option<u16>; 2] {
        [None; 2]
    }
}

/// How bytes of a stream become frames again, and packets of sound.
pub trait StreamReader: Debug + Send {
    /// Takes the next bytes.
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]);

    /// The stream has ended: what is still missing is given up.
    fn handle_end(&mut self, now: Timestamp);

    /// What came, and what was refused, oldest first. To be drained after each of the others.
    fn poll_event(&mut self, now: Timestamp) -> Option<ReceiverEvent>;
}

/// A piece of the stream: a frame, a packet of sound, or a message.
#[derive(Debug)]
pub struct Piece {
    /// What goes into the stream.
    pub(super) bytes: Bytes,
    /// Where something else may go before the rest of it.
    pub(super) packets: Packets,
    /// Of its packets of RTP those of which is said when they were written to the end, in order of that.
    pub(super) noted: Vec<NotedPacket>,
}

/// What a piece of the stream consists of.
#[derive(Debug)]
pub(super) enum Packets {
    /// It stays together.
    One,
    /// Packets of so many bytes.
    Every(usize),
    /// Packets that end there, in order.
    Ending(Vec<usize>),
}

/// A packet of RTP of which is said when it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotedPacket {
    /// When the piece was written up to here.
    pub(super) end: usize,
    pub(super) timestamp: u32,
    /// Bytes of payload.
    pub(super) octets: u32,
}

impl Piece {
    /// One that stays together.
    pub fn whole(bytes: Bytes) -> Self {
        Self { bytes, packets: Packets::One, noted: Vec::new() }
    }

    /// One between whose packets, of so many bytes each, something else may go.
    pub fn of_packets(bytes: Bytes, length: usize) -> Self {
        Self { packets: Packets::Every(length), ..Self::whole(bytes) }
    }

    /// The same in one: nothing goes between its packets, and all are written when the last one is.
    pub(super) fn together(mut self) -> Self {
        let end = self.bytes.len();
        self.noted.iter_mut().for_each(|packet| packet.end = end);
        Self { packets: Packets::One, ..self }
    }

    /// The end of the packet of which so many bytes of the piece are written, or of the next one where none is begun.
    pub(super) fn end_of_packet(&self, written: usize) -> usize {
        let end = match &self.packets {
            Packets::One => self.bytes.len(),
            Packets::Every(length) => written.next_multiple_of(*length),
            Packets::Ending(ends) => {
                let next = ends.partition_point(|&end| end < written);
                ends.get(next).copied().unwrap_or(self.bytes.len())
            }
        };
        end.min(self.bytes.len())
    }
}
