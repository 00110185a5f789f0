//! Sound beside the movie in packets of RTP of its own: a session of its own over UDP (RFC 3550, section 5.2), a source of its own
//! over a stream of bytes (RFC 8860, section 4).

use framewire_transport::SoundPackets;
use framewire_transport::registry::sound_format;
use framewire_units::DataSize;
use framewire_wire::rtp_payload::{
    Depacketizer, FrameError, Limits, PacketRule, Packetizer, PayloadFormat, StreamDescription, StreamOrigin,
};

use super::packets::INITIAL_SEQUENCE;
use crate::sound::Sound;

/// The bit by which the synchronisation source of sound is another one than that of the picture: no flow's picture has it, as a
/// scenario has 64 flows, whose numbers those are.
const SOURCE: u32 = 1 << 16;

/// The packets of a flow's sound, which both ends know.
#[derive(Clone, Debug)]
pub(crate) struct SoundStream {
    packetizer: Packetizer,
    format: &'static PayloadFormat,
    description: StreamDescription,
    origin: StreamOrigin,
}

impl SoundStream {
    /// Of this sound; `ssrc` is the synchronisation source of the picture.
    ///
    /// # Errors
    /// When its first packet is none that RTP carries, or the MTU leaves no room for packets.
    pub(super) fn new(sound: &Sound, mtu: DataSize, ssrc: u32) -> Result<Self, FrameError> {
        let format = sound_format(sound.format().codec);
        let description = format.description(&sound.bytes(0))?;
        let origin = StreamOrigin { ssrc: ssrc ^ SOURCE, initial_sequence: INITIAL_SEQUENCE };
        let packetizer = Packetizer::new(format, PacketRule::Full, mtu, origin)?;
        let described = Self { packetizer, format, description, origin };
        described.try_depacketizer()?;
        Ok(described)
    }

    /// Cuts sound into packets.
    pub(super) fn packets(&self) -> SoundPackets {
        SoundPackets::new(self.packetizer.clone(), self.clock_rate())
    }

    /// Puts sound together from packets.
    pub(super) fn depacketizer(&self) -> Depacketizer {
        self.try_depacketizer().expect("invariant: there was one when the flow was set up")
    }

    /// How it is described.
    pub(super) fn description(&self) -> (&'static PayloadFormat, &StreamDescription) {
        (self.format, &self.description)
    }

    /// The sequence number of its first packet.
    pub(super) fn sequence(&self) -> u16 {
        self.origin.initial_sequence
    }

    /// Its synchronisation source.
    pub(super) fn ssrc(&self) -> u32 {
        self.origin.ssrc
    }

    /// Of its time stamps, in hertz.
    pub(super) fn clock_rate(&self) -> u32 {
        self.description.clock_rate
    }

    fn try_depacketizer(&self) -> Result<Depacketizer, String> {
        Depacketizer::of_described(self.format, &self.description, Some(self.origin), Limits::default())
    }
}
