//! Sound beside the movie in packets of RTP of its own: a session of its own over UDP (RFC 3550, section 5.2), a source of its own
//! over a stream of bytes (RFC 8860, section 4).

use framewire_media::audio::{AudioCodec, AudioFormat};
use framewire_transport::SoundPackets;
use framewire_transport::registry::sound_format;
use framewire_units::{DataSize, OPUS_CLOCK_RATE};
use framewire_wire::rtp_payload::{
    CLOCK_RATE, Depacketizer, FrameError, Limits, PacketRule, Packetizer, PayloadFormat, StreamDescription,
    StreamOrigin,
};
use framewire_wire::rtsp::StreamStart;
use framewire_wire::sdp::{self, Described};

use super::rtp_seed;
use crate::sound::Sound;

/// The packets of a flow's sound, which both ends know.
#[derive(Clone, Debug)]
pub(crate) struct SoundStream {
    packetizer: Packetizer,
    described: DescribedSound,
}

impl SoundStream {
    /// Of this sound, whose stream begins so.
    ///
    /// # Errors
    /// When its first packet is none that RTP carries, or the MTU leaves no room for packets, or not for the largest packet of a
    /// codec whose packets are not cut (RFC 7587, section 4.2).
    pub(super) fn new(sound: &Sound, mtu: DataSize, start: StreamStart) -> Result<Self, FrameError> {
        let format = sound_format(sound.format().codec);
        let description = format.description(&sound.bytes(0))?;
        let origin = rtp_seed::origin(start);
        let described = DescribedSound::new(sound.format().codec, description)?.beginning_at(origin);
        let packetizer =
            Packetizer::new(format, PacketRule::Full, mtu, origin)?.with_initial_timestamp(start.timestamp);
        let largest = (0..sound.len()).map(|number| sound.bytes(number)).max_by_key(|bytes| bytes.len());
        let largest = largest.expect("invariant: sound has at least one packet");
        let too_large =
            |error: FrameError| format!("mtu = {}: the largest packet of its sound: {error}", mtu.as_bytes());
        packetizer.clone().packetize(&largest, 0).map_err(too_large)?;
        Ok(Self { packetizer, described })
    }

    /// Cuts sound into packets.
    pub(super) fn packets(&self) -> SoundPackets {
        SoundPackets::new(self.packetizer.clone(), self.clock_rate())
    }

    /// The same, whose first packet has this number and the first time stamp is this one: for one of several receivers.
    pub(super) fn packets_from(&self, (sequence, timestamp): (u16, u32)) -> SoundPackets {
        let packetizer = self.packetizer.clone().with_initial_sequence(sequence).with_initial_timestamp(timestamp);
        SoundPackets::new(packetizer, self.clock_rate())
    }

    /// What a receiver has to know of them.
    pub(super) fn described(&self) -> &DescribedSound {
        &self.described
    }

    /// How it is described.
    pub(super) fn description(&self) -> (&'static PayloadFormat, &StreamDescription) {
        (sound_format(self.described.codec), &self.described.description)
    }

    /// Of its time stamps, in hertz.
    pub(super) fn clock_rate(&self) -> u32 {
        self.described.description.clock_rate
    }
}

/// A stream of sound in RTP, as its receiver knows it: as a session description says, or its sender announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedSound {
    /// How it is coded. Of MPEG audio no description says the layer: this is then layer II.
    pub codec: AudioCodec,
    payload_type: u8,
    description: StreamDescription,
    /// Where its packets begin; `None`: of the source that is heard first.
    origin: Option<StreamOrigin>,
}

impl DescribedSound {
    /// Of a session description.
    ///
    /// # Errors
    /// When it is not received; with the reason.
    pub fn of(described: &Described) -> Result<Self, String> {
        let name = &described.encoding_name;
        let is_named = |codec: &AudioCodec| sound_format(*codec).encoding_name.eq_ignore_ascii_case(name);
        let codec = [AudioCodec::Aac, AudioCodec::Mp2, AudioCodec::Opus].into_iter().find(is_named);
        let codec = codec.ok_or_else(|| format!("{name} is not received"))?;
        sdp::check_parameters(sound_format(codec), &described.parameters)?;
        // The clock of MPEG audio is that of video (RFC 2250, section 3.5).
        let (clock_rate, channels) = described.clock.unwrap_or((CLOCK_RATE, None));
        let parameters = Some(described.parameters.clone()).filter(|parameters| !parameters.is_empty());
        let sound = Self::new(codec, StreamDescription { clock_rate, channels, parameters })?;
        Ok(Self { payload_type: described.payload_type, ..sound })
    }

    /// As a sender of the lab's announces it: its format, and the parameters of a session description.
    ///
    /// # Errors
    /// When they are not those of such a stream.
    pub(crate) fn announced(format: AudioFormat, parameters: Option<&str>) -> Result<Self, String> {
        let clock_rate = match format.codec {
            AudioCodec::Aac => format.sample_rate,
            AudioCodec::Opus => OPUS_CLOCK_RATE,
            AudioCodec::Mp2 | AudioCodec::Mp3 => CLOCK_RATE,
        };
        let parameters = parameters.filter(|parameters| !parameters.is_empty()).map(str::to_owned);
        Self::new(format.codec, StreamDescription { clock_rate, channels: Some(format.channels), parameters })
    }

    /// Of packets with the payload type of their format.
    fn new(codec: AudioCodec, description: StreamDescription) -> Result<Self, String> {
        let described = Self { codec, payload_type: sound_format(codec).payload_type, description, origin: None };
        described.try_depacketizer()?;
        Ok(described)
    }

    /// The same of a stream that begins there.
    pub(crate) fn beginning_at(self, origin: StreamOrigin) -> Self {
        Self { origin: Some(origin), ..self }
    }

    /// Puts sound together from packets.
    pub(crate) fn depacketizer(&self) -> Depacketizer {
        self.try_depacketizer().expect("invariant: there was one when it was described")
    }

    /// The payload type of its packets.
    pub(crate) fn payload_type(&self) -> u8 {
        self.payload_type
    }

    /// Ticks of the clock of its time stamps in a second.
    pub(crate) fn clock_rate(&self) -> u32 {
        self.description.clock_rate
    }

    /// Where its packets begin, where that is known.
    pub(crate) fn origin(&self) -> Option<StreamOrigin> {
        self.origin
    }

    /// Its synchronisation source, where that is known.
    pub(crate) fn ssrc(&self) -> Option<u32> {
        self.origin.map(|origin| origin.ssrc)
    }

    /// The parameters of its session description.
    pub(crate) fn parameters(&self) -> Option<&str> {
        self.description.parameters.as_deref()
    }

    /// What is said of it in a session description, of packets that go to this port.
    pub(crate) fn stream(&self, port: u16) -> sdp::Stream<'_> {
        sdp::Stream { format: sound_format(self.codec), port, description: &self.description }
    }

    /// Of sound whose packets do not play by themselves, what a file of them says in front: of Opus, of which RTP says neither how many
    /// channels were coded nor what is not to be heard (RFC 7587, section 7): so all of it is. `None` of any other.
    pub fn file_format(&self) -> Option<AudioFormat> {
        let channels = self.description.channels.filter(|channels| (1..=2).contains(channels)).unwrap_or(2);
        (self.codec == AudioCodec::Opus).then_some(AudioFormat {
            codec: self.codec,
            sample_rate: OPUS_CLOCK_RATE,
            channels,
            pre_skip: 0,
        })
    }

    fn try_depacketizer(&self) -> Result<Depacketizer, String> {
        let format = sound_format(self.codec);
        let packets = Depacketizer::of_described(format, &self.description, self.origin, Limits::default())?;
        Ok(packets.with_payload_type(self.payload_type))
    }
}
