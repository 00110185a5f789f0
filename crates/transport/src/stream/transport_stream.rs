//! Packets of a transport stream, one behind the other.

use framewire_wire::mpeg_ts::{PACKET_LENGTH, Packetizer};

use super::format::{Piece, StreamFormat};
use crate::frame::OutgoingFrame;
use crate::packets::{in_transport_stream, sound_in_transport_stream};
use crate::sound::OutgoingSound;

impl StreamFormat for Packetizer {
    fn of_frame(&mut self, frame: &OutgoingFrame) -> Option<Piece> {
        let packets = self.packets(&in_transport_stream(frame)).ok()?;
        Some(Piece::of_packets(packets, PACKET_LENGTH))
    }

    fn of_sound(&mut self, sound: &OutgoingSound) -> Option<Piece> {
        let packets = self.packets(&sound_in_transport_stream(sound)).ok()?;
        Some(Piece::of_packets(packets, PACKET_LENGTH))
    }
}
