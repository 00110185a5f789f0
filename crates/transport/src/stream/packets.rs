//! The receiving half of packets over a byte stream: of RTP, of a transport stream, or the samples of a file.

use std::collections::VecDeque;

use framewire_units::Timestamp;
use framewire_wire::mp4;
use framewire_wire::mpeg_ts::Demultiplexer;
use framewire_wire::rfc4571::PacketReader;
use framewire_wire::rtp_payload::Depacketizer;

use crate::datagram::DatagramReceiver;
use crate::event::ReceiverEvent;

/// Receives RTP packets that each stand behind their length (RFC 4571), a transport stream or an MP4 file, and puts frames together.
///
/// Contract: give it what the socket has with [`handle_bytes`](Self::handle_bytes), or where a session has taken the packets
/// [apart](Self::of_packets), one packet at a time; at the end
/// [`handle_end`](Self::handle_end); drain [`poll_event`](Self::poll_event) after each. It has no timeouts. A `Read` event
/// says how many bytes were read so far, length fields included.
#[derive(Debug)]
pub struct PacketStreamReceiver {
    packets: Packets,
    total: u64,
    events: VecDeque<ReceiverEvent>,
}

#[derive(Debug)]
enum Packets {
    /// Behind their lengths, or each by itself; with sound among them.
    Rtp(Option<PacketReader>, DatagramReceiver, Option<(SoundIs, DatagramReceiver)>),
    TransportStream(Box<Demultiplexer>),
    File(Box<mp4::Demultiplexer>),
}

impl PacketStreamReceiver {
    /// A receiving half at the start of a stream of RTP packets.
    pub fn new(depacketizer: Depacketizer) -> Self {
        Self::of(Packets::Rtp(Some(PacketReader::default()), DatagramReceiver::new(depacketizer), None))
    }

    /// The same that is given each packet of RTP by itself.
    pub fn of_packets(depacketizer: Depacketizer) -> Self {
        Self::of(Packets::Rtp(None, DatagramReceiver::new(depacketizer), None))
    }

    /// The same with sound as its second track: packets of RTP from this synchronisation source.
    ///
    /// # Panics
    /// Where it receives a transport stream or a file, which has its own.
    #[must_use]
    pub fn with_sound(self, ssrc: u32, depacketizer: Depacketizer) -> Self {
        self.with_sound_that(SoundIs::OfSource(ssrc), depacketizer)
    }

    /// The same of packets of this payload type, from any source.
    ///
    /// # Panics
    /// As [`with_sound`](Self::with_sound).
    #[must_use]
    pub fn with_sound_of_type(self, payload_type: u8, depacketizer: Depacketizer) -> Self {
        self.with_sound_that(SoundIs::OfType(payload_type), depacketizer)
    }

    fn with_sound_that(self, is_sound: SoundIs, depacketizer: Depacketizer) -> Self {
        match self.packets {
            Packets::Rtp(reader, packets, _) => {
                let sound = DatagramReceiver::new(depacketizer).of_track(SOUND_TRACK);
                Self { packets: Packets::Rtp(reader, packets, Some((is_sound, sound))), ..self }
            }
            Packets::TransportStream(..) | Packets::File(_) => panic!("it has its sound in it"),
        }
    }

    /// The same of a transport stream.
    pub fn of_transport_stream(demultiplexer: Demultiplexer) -> Self {
        Self::of(Packets::TransportStream(Box::new(demultiplexer)))
    }

    /// The same of an MP4 file.
    pub fn of_file(demultiplexer: mp4::Demultiplexer) -> Self {
        Self::of(Packets::File(Box::new(demultiplexer)))
    }

    fn of(packets: Packets) -> Self {
        Self { packets, total: 0, events: VecDeque::new() }
    }

    /// Takes the next bytes of the stream.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        self.events.push_back(ReceiverEvent::Read { total: self.total, at: now });
        match &mut self.packets {
            Packets::Rtp(reader, packets, sound) => {
                let mut take = |packet: &[u8]| match sound {
                    Some((is_sound, sound)) if is_sound.holds(packet) => sound.handle_datagram(now, packet),
                    _ => packets.handle_datagram(now, packet),
                };
                match reader {
                    None => take(bytes),
                    Some(reader) => {
                        reader.feed(bytes);
                        std::iter::from_fn(|| reader.poll_packet()).for_each(|packet| take(&packet));
                    }
                }
            }
            Packets::TransportStream(demultiplexer) => demultiplexer.handle_bytes(now, bytes),
            Packets::File(demultiplexer) => demultiplexer.handle_bytes(now, bytes),
        }
        self.report(now);
    }

    /// The stream has ended: what is still missing is given up.
    pub fn handle_end(&mut self, now: Timestamp) {
        match &mut self.packets {
            Packets::Rtp(_, packets, sound) => {
                packets.handle_end(now);
                if let Some((_, sound)) = sound {
                    sound.handle_end(now);
                }
            }
            Packets::TransportStream(demultiplexer) => demultiplexer.finish(now),
            Packets::File(demultiplexer) => demultiplexer.finish(now),
        }
        self.report(now);
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    /// Frames, and what was refused. That a packet of the stream came says nothing beside the bytes read.
    fn report(&mut self, now: Timestamp) {
        match &mut self.packets {
            Packets::Rtp(_, packets, sound) => {
                let happened = std::iter::from_fn(|| {
                    packets.poll_event().or_else(|| sound.as_mut().and_then(|(_, sound)| sound.poll_event()))
                });
                self.events.extend(happened.filter(|event| !matches!(event, ReceiverEvent::Datagram { .. })));
            }
            Packets::TransportStream(demultiplexer) => {
                while let Some(fault) = demultiplexer.poll_fault() {
                    self.events.push_back(ReceiverEvent::Rejected { at: now, reason: fault.to_string() });
                }
                while let Some(unit) = demultiplexer.poll_unit() {
                    let program = demultiplexer.program();
                    let Some(track) = program.and_then(|program| program.track_number(unit.track.pid)) else {
                        continue;
                    };
                    self.events.push_back(ReceiverEvent::Frame {
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
            Packets::File(demultiplexer) => {
                let fault = demultiplexer.poll_fault();
                self.events.extend(fault.map(|fault| ReceiverEvent::Rejected { at: now, reason: fault.to_string() }));
                while let Some(unit) = demultiplexer.poll_unit() {
                    let is_video = demultiplexer.tracks()[unit.track].coding.is_video();
                    self.events.push_back(ReceiverEvent::Frame {
                        track: u8::from(!is_video),
                        rtp_timestamp: None,
                        at: unit.arrival,
                        complete: unit.complete,
                        discarded: None,
                        handed_on: None,
                        bytes: unit.bytes,
                    });
                }
            }
        }
    }
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

impl SoundIs {
    fn holds(self, packet: &[u8]) -> bool {
        match self {
            Self::OfSource(source) => packet.get(8..).is_some_and(|rest| rest.starts_with(&source.to_be_bytes())),
            Self::OfType(payload_type) => packet.get(1).is_some_and(|second| second & 0x7F == payload_type),
        }
    }
}
