//! How frames become packets and packets frames: RTP's payload formats, or a transport stream.

use framewire_units::{Duration, Timestamp};
use framewire_wire::mpeg_ts::{self, UnitError};
use framewire_wire::rtp_payload::{self, Arrival, Datagram, FirstPacket, FrameError, ReceivedFrame, RejectReason};

use crate::frame::OutgoingFrame;
use crate::sound::OutgoingSound;

pub use framewire_wire::mpeg_ts::CLOCK_WRAP;

/// What a datagram carries by which it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatagramNumber {
    /// The sequence number of RTP (RFC 3550, section 5.1), which wraps after 16 bits.
    Rtp(u16),
    /// The clock reference of a transport stream, which wraps at [`CLOCK_WRAP`].
    Clock(u64),
}

impl DatagramNumber {
    /// That of a datagram of the movie.
    pub fn of(datagram: &[u8]) -> Option<Self> {
        match datagram {
            [mpeg_ts::SYNC_BYTE, ..] => mpeg_ts::reference(datagram).map(Self::Clock),
            [_, _, high, low, ..] => Some(Self::Rtp(u16::from_be_bytes([*high, *low]))),
            _ => None,
        }
    }
}

/// What cuts frames into datagrams.
#[derive(Clone, Debug)]
pub enum Packetizer {
    /// RTP, by the payload format of the movie's codec.
    Rtp(Box<rtp_payload::Packetizer>),
    /// A transport stream, with RTP or without.
    TransportStream(Box<mpeg_ts::Packetizer>),
    /// Sound alone, in a session of RTP of its own.
    Sound(Box<SoundPackets>),
}

/// What cuts sound into packets of RTP.
#[derive(Clone, Debug)]
pub struct SoundPackets {
    packetizer: rtp_payload::Packetizer,
    clock_rate: u32,
}

impl SoundPackets {
    /// By this packetizer, whose stream has a clock of so many hertz.
    pub fn new(packetizer: rtp_payload::Packetizer, clock_rate: u32) -> Self {
        Self { packetizer, clock_rate }
    }

    /// The sequence number of its next packet.
    pub fn next_number(&self) -> u16 {
        self.packetizer.next_number()
    }

    /// The packets of a packet of sound.
    pub(crate) fn packetize(&mut self, sound: &OutgoingSound) -> Result<Vec<Datagram>, FrameError> {
        self.packetizer.packetize(&sound.bytes, sound.timestamp(self.clock_rate))
    }
}

impl From<SoundPackets> for Packetizer {
    fn from(packets: SoundPackets) -> Self {
        Self::Sound(Box::new(packets))
    }
}

impl From<rtp_payload::Packetizer> for Packetizer {
    fn from(packetizer: rtp_payload::Packetizer) -> Self {
        Self::Rtp(Box::new(packetizer))
    }
}

impl From<mpeg_ts::Packetizer> for Packetizer {
    fn from(packetizer: mpeg_ts::Packetizer) -> Self {
        Self::TransportStream(Box::new(packetizer))
    }
}

impl Packetizer {
    /// The sequence number of its next packet of RTP; `None` where it makes none.
    pub(crate) fn next_number(&self) -> Option<u16> {
        match self {
            Self::Rtp(packetizer) => Some(packetizer.next_number()),
            Self::Sound(packets) => Some(packets.next_number()),
            Self::TransportStream(_) => None,
        }
    }

    /// The datagrams of a frame.
    pub(crate) fn packetize(&mut self, frame: &OutgoingFrame) -> Result<Vec<Datagram>, FrameError> {
        match self {
            Self::Rtp(packetizer) => packetizer.packetize(&frame.bytes, frame.rtp_timestamp),
            Self::TransportStream(packetizer) => Ok(packetizer.packetize(&in_transport_stream(frame))?),
            Self::Sound(_) => Err("a frame of the movie does not go in packets of sound".into()),
        }
    }
}

impl Packetizer {
    /// The datagrams of a packet of sound, which is the second track of a transport stream or has packets of its own.
    pub(crate) fn packetize_sound(&mut self, sound: &OutgoingSound) -> Result<Vec<Datagram>, FrameError> {
        match self {
            Self::Rtp(_) => Err(UnitError::Track { track: SOUND_TRACK, tracks: 1 }.into()),
            Self::TransportStream(packetizer) => Ok(packetizer.packetize(&sound_in_transport_stream(sound))?),
            Self::Sound(packets) => packets.packetize(sound),
        }
    }
}

/// Which track of the program is its sound.
const SOUND_TRACK: usize = 1;

/// A packet of sound as the second track of a transport stream.
pub(crate) fn sound_in_transport_stream(sound: &OutgoingSound) -> mpeg_ts::Frame<'_> {
    mpeg_ts::Frame {
        track: SOUND_TRACK,
        bytes: &sound.bytes,
        presentation: sound.timestamp(rtp_payload::CLOCK_RATE),
        decode: sound.timestamp(rtp_payload::CLOCK_RATE),
        duration: Duration::ZERO,
        // Decoding can begin with every packet (ISO/IEC 13818-1, 2.4.3.5: of audio, an access unit is enough).
        random_access: true,
    }
}

/// A frame as the first track of a transport stream.
pub(crate) fn in_transport_stream(frame: &OutgoingFrame) -> mpeg_ts::Frame<'_> {
    mpeg_ts::Frame {
        track: 0,
        bytes: &frame.bytes,
        presentation: frame.rtp_timestamp,
        decode: frame.decode_timestamp,
        duration: frame.duration,
        random_access: frame.dependencies.key.is_some(),
    }
}

/// What puts frames together from datagrams.
#[derive(Debug)]
pub enum Depacketizer {
    /// RTP, which may carry a transport stream.
    Rtp(Box<rtp_payload::Depacketizer>),
    /// A transport stream without RTP.
    TransportStream(Box<mpeg_ts::Depacketizer>),
}

impl From<rtp_payload::Depacketizer> for Depacketizer {
    fn from(depacketizer: rtp_payload::Depacketizer) -> Self {
        Self::Rtp(Box::new(depacketizer))
    }
}

impl From<mpeg_ts::Depacketizer> for Depacketizer {
    fn from(depacketizer: mpeg_ts::Depacketizer) -> Self {
        Self::TransportStream(Box::new(depacketizer))
    }
}

impl Depacketizer {
    /// Its sender says which packet of RTP it sends first.
    pub(crate) fn handle_first_packet(&mut self, first: FirstPacket) {
        if let Self::Rtp(depacketizer) = self {
            depacketizer.handle_first_packet(first);
        }
    }

    pub(crate) fn handle_datagram(&mut self, now: Timestamp, datagram: &[u8]) -> Result<(), RejectReason> {
        match self {
            Self::Rtp(depacketizer) => depacketizer.handle_datagram(now, datagram),
            Self::TransportStream(depacketizer) => depacketizer.handle_datagram(now, datagram),
        }
    }

    pub(crate) fn flush(&mut self) {
        match self {
            Self::Rtp(depacketizer) => depacketizer.flush(),
            Self::TransportStream(depacketizer) => depacketizer.flush(),
        }
    }

    pub(crate) fn poll_arrival(&mut self) -> Option<Arrival> {
        match self {
            Self::Rtp(depacketizer) => depacketizer.poll_arrival(),
            Self::TransportStream(depacketizer) => depacketizer.poll_arrival(),
        }
    }

    pub(crate) fn poll_frame(&mut self) -> Option<ReceivedFrame> {
        match self {
            Self::Rtp(depacketizer) => depacketizer.poll_frame(),
            Self::TransportStream(depacketizer) => depacketizer.poll_frame(),
        }
    }
}
