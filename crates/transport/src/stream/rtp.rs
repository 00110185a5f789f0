//! Packets of RTP in a stream, each behind its length.

use bytes::{Bytes, BytesMut};
use framewire_units::Timestamp;
use framewire_wire::rfc4571::{LENGTH_FIELD, PacketReader, put_packet};
use framewire_wire::rtp::RtpHeader;
use framewire_wire::rtp_payload::{Datagram, Depacketizer, Packetizer};
use framewire_wire::rtsp::{FRAME_HEADER, put_interleaved};

use super::format::{NotedPacket, Packets, Piece, StreamFormat, StreamReader};
use crate::datagram::DatagramReceiver;
use crate::event::ReceiverEvent;
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

/// Puts frames together from packets of RTP in a stream, and packets of sound among them.
#[derive(Debug)]
pub struct RtpReader {
    /// Where packets stand behind their lengths.
    lengths: Option<PacketReader>,
    frames: DatagramReceiver,
    sound: Option<(SoundIs, DatagramReceiver)>,
}

/// The track of sound beside a movie.
const SOUND_TRACK: u8 = 1;

/// By what packets of sound are told from others (RFC 3550, section 5.1).
#[derive(Clone, Copy, Debug)]
enum SoundIs {
    /// Their synchronisation source.
    OfSource(u32),
    /// Their payload type.
    OfType(u8),
}

impl RtpReader {
    /// Of packets that each stand behind their length (RFC 4571).
    pub fn behind_lengths(depacketizer: Depacketizer) -> Self {
        Self { lengths: Some(PacketReader::default()), ..Self::of_packets(depacketizer) }
    }

    /// Of packets that are given one at a time.
    pub fn of_packets(depacketizer: Depacketizer) -> Self {
        Self { lengths: None, frames: DatagramReceiver::new(depacketizer), sound: None }
    }

    /// The same with sound as its second track: packets from this synchronisation source.
    #[must_use]
    pub fn with_sound(self, ssrc: u32, depacketizer: Depacketizer) -> Self {
        self.with_sound_that(SoundIs::OfSource(ssrc), depacketizer)
    }

    /// The same of packets of this payload type, from any source.
    #[must_use]
    pub fn with_sound_of_type(self, payload_type: u8, depacketizer: Depacketizer) -> Self {
        self.with_sound_that(SoundIs::OfType(payload_type), depacketizer)
    }

    fn with_sound_that(self, is_sound: SoundIs, depacketizer: Depacketizer) -> Self {
        let sound = DatagramReceiver::new(depacketizer).of_track(SOUND_TRACK);
        Self { sound: Some((is_sound, sound)), ..self }
    }

    fn handle_packet(&mut self, now: Timestamp, packet: &[u8]) {
        match &mut self.sound {
            Some((is_sound, sound)) if is_sound.holds(packet) => sound.handle_datagram(now, packet),
            _ => self.frames.handle_datagram(now, packet),
        }
    }
}

impl StreamReader for RtpReader {
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        let Some(lengths) = &mut self.lengths else { return self.handle_packet(now, bytes) };
        lengths.feed(bytes);
        while let Some(packet) = self.lengths.as_mut().and_then(PacketReader::poll_packet) {
            self.handle_packet(now, &packet);
        }
    }

    fn handle_end(&mut self, now: Timestamp) {
        self.frames.handle_end(now);
        if let Some((_, sound)) = &mut self.sound {
            sound.handle_end(now);
        }
    }

    /// That a packet came says nothing beside the bytes read.
    fn poll_event(&mut self, _now: Timestamp) -> Option<ReceiverEvent> {
        std::iter::from_fn(|| {
            self.frames.poll_event().or_else(|| self.sound.as_mut().and_then(|(_, sound)| sound.poll_event()))
        })
        .find(|event| !matches!(event, ReceiverEvent::Datagram { .. }))
    }
}

impl SoundIs {
    fn holds(self, packet: &[u8]) -> bool {
        match self {
            Self::OfSource(source) => packet.get(8..).is_some_and(|rest| rest.starts_with(&source.to_be_bytes())),
            Self::OfType(payload_type) => packet.get(1).is_some_and(|second| second & 0x7F == payload_type),
        }
    }
}
