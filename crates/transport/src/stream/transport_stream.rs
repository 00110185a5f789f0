//! Packets of a transport stream, one behind the other.

use framewire_units::Timestamp;
use framewire_wire::mpeg_ts::{Demultiplexer, PACKET_LENGTH, Packetizer};

use super::format::{Piece, StreamFormat, StreamReader};
use crate::event::ReceiverEvent;
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

impl StreamReader for Demultiplexer {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        self.handle_bytes(now, bytes);
    }

    fn handle_end(&mut self, now: Timestamp) {
        self.finish(now);
    }

    fn poll_event(&mut self, now: Timestamp) -> Option<ReceiverEvent> {
        if let Some(fault) = self.poll_fault() {
            return Some(ReceiverEvent::Rejected { at: now, reason: fault.to_string() });
        }
        loop {
            let unit = self.poll_unit()?;
            let Some(track) = self.program().and_then(|program| program.track_number(unit.track.pid)) else {
                continue;
            };
            return Some(ReceiverEvent::Frame {
                track,
                rtp_timestamp: unit.presentation.map(|presentation| presentation as u32),
                at: unit.last_arrival,
                complete: unit.complete,
                discarded: None,
                handed_on: None,
                bytes: unit.bytes,
            });
        }
    }
}
