//! Packets of RTP in a stream, each behind its length.

use bytes::{Bytes, BytesMut};
use framewire_wire::rfc4571::{LENGTH_FIELD, put_packet};
use framewire_wire::rtp::RtpHeader;
use framewire_wire::rtp_payload::{Datagram, Packetizer};
use framewire_wire::rtsp::{FRAME_HEADER, put_interleaved};

use super::format::{NotedPacket, Packets, Piece, StreamFormat};
use crate::frame::OutgoingFrame;
use crate::packets::SoundPackets;
use crate::sound::OutgoingSound;

/// Frames as packets of RTP, each behind its length; sound, where there is any, from a source of its own.
#[derive(Debug)]
pub struct RtpPackets {
    frames: Packetizer,
    framing: Framing,
    sound: Option<(SoundPackets, Framing)>,
}

/// How the length of a packet of RTP stands before it.
#[derive(Clone, Copy, Debug)]
enum Framing {
    /// In two bytes (RFC 4571).
    Length,
    /// Behind a dollar sign and the number of its channel (RFC 2326, section 10.12).
    Interleaved(u8),
}

impl RtpPackets {
    /// Each packet behind its length (RFC 4571).
    pub fn behind_lengths(frames: Packetizer) -> Self {
        Self { frames, framing: Framing::Length, sound: None }
    }

    /// On this channel of a connection of RTSP, between its [messages](super::StreamSender::handle_message) (RFC 2326, section 10.12).
    /// When each of them was written is an event.
    pub fn interleaved(frames: Packetizer, channel: u8) -> Self {
        Self { framing: Framing::Interleaved(channel), ..Self::behind_lengths(frames) }
    }

    /// The same with sound as well, where there is any, from a source of its own in the same session (RFC 8860, section 4).
    #[must_use]
    pub fn with_sound(self, sound: Option<SoundPackets>) -> Self {
        let framing = self.framing;
        Self { sound: sound.map(|sound| (sound, framing)), ..self }
    }

    /// The same with sound, where there is any, on a channel of its own in a connection of RTSP.
    #[must_use]
    pub fn with_interleaved_sound(self, sound: Option<SoundPackets>, channel: u8) -> Self {
        Self { sound: sound.map(|sound| (sound, Framing::Interleaved(channel))), ..self }
    }
}

impl StreamFormat for RtpPackets {
    fn of_frame(&mut self, frame: &OutgoingFrame) -> Option<Piece> {
        let packets = self.frames.packetize(&frame.bytes, frame.rtp_timestamp).ok()?;
        Some(self.framing.piece(&packets))
    }

    fn of_sound(&mut self, sound: &OutgoingSound) -> Option<Piece> {
        let (packets, framing) = self.sound.as_mut()?;
        Some(framing.piece(&packets.packetize(sound).ok()?))
    }

    fn next_numbers(&self) -> [Option<u16>; 2] {
        [Some(self.frames.next_number()), self.sound.as_ref().map(|(sound, _)| sound.next_number())]
    }
}

impl Framing {
    /// Bytes before a packet.
    const fn header(self) -> usize {
        match self {
            Self::Length => LENGTH_FIELD,
            Self::Interleaved(_) => FRAME_HEADER,
        }
    }

    /// Packets, each behind its length.
    fn piece(self, packets: &[Datagram]) -> Piece {
        let size = packets.iter().map(|packet| self.header() + packet.bytes.len()).sum();
        let (mut stream, mut ends) = (BytesMut::with_capacity(size), Vec::with_capacity(packets.len()));
        for packet in packets {
            match self {
                Self::Length => put_packet(&packet.bytes, &mut stream),
                Self::Interleaved(channel) => put_interleaved(channel, &packet.bytes, &mut stream),
            }
            ends.push(stream.len());
        }
        let bytes: Bytes = stream.freeze();
        let noted = match self {
            Self::Length => Vec::new(),
            Self::Interleaved(_) => packets.iter().zip(&ends).filter_map(|(packet, &end)| noted(packet, end)).collect(),
        };
        Piece { bytes, packets: Packets::Ending(ends), noted }
    }
}

fn noted(packet: &Datagram, end: usize) -> Option<NotedPacket> {
    let (header, payload) = RtpHeader::parse(&packet.bytes).ok()?;
    Some(NotedPacket { end, timestamp: header.timestamp, octets: payload.len() as u32 })
}
