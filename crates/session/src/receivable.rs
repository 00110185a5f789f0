//! Which tracks of other programs' files and streams are received.

use framewire_media::access_unit::Codec;
use framewire_media::audio::{AudioCodec, AudioFormat};
use framewire_transport::registry::{file_coding, stream_type};
use framewire_units::OPUS_CLOCK_RATE;
use framewire_wire::mp4::{Coding, ReadTrack, Shape};
use framewire_wire::mpeg_ts::StreamType;

use crate::flow::DescribedSound;

/// Sound that is received, as far as is known before its first packet: its codec, and what makes a file of packets that do not play by
/// themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivableSound {
    /// The codec. Whether MPEG audio is of layer II or III its stream alone says: this is then layer II.
    pub codec: AudioCodec,
    /// The format, of Opus; `None` of sound that plays by itself.
    pub format: Option<AudioFormat>,
}

impl ReceivableSound {
    /// In a track of a file; `None` of what is no sound.
    ///
    /// # Errors
    /// When it is not received; with the reason.
    pub fn in_track(track: &ReadTrack) -> Option<Result<Self, String>> {
        let plain = |codec| Some(Ok(Self { codec, format: None }));
        match (track.coding, track.shape()) {
            (Coding::Aac, _) => plain(AudioCodec::Aac),
            (Coding::Mpeg1Audio | Coding::Mpeg2Audio, _) => plain(AudioCodec::Mp2),
            // Ogg has the clock of 48 kHz, whatever was coded (RFC 7845, section 4).
            (Coding::Opus, Some(Shape::Sound { channels, pre_skip, .. })) => {
                let (codec, sample_rate) = (AudioCodec::Opus, OPUS_CLOCK_RATE);
                Some(Ok(Self { codec, format: Some(AudioFormat { codec, sample_rate, channels, pre_skip }) }))
            }
            (Coding::Opus, _) => Some(Err("Opus of more than two channels is not received".to_owned())),
            _ => None,
        }
    }

    /// In a stream of a program; `None` of what is none that is received.
    pub fn in_program(stream: StreamType) -> Option<Self> {
        let codec = match stream {
            StreamType::AacAdts => AudioCodec::Aac,
            StreamType::Mpeg1Audio | StreamType::Mpeg2Audio => AudioCodec::Mp2,
            _ => return None,
        };
        Some(Self { codec, format: None })
    }

    /// In RTP, as it is described.
    pub fn in_rtp(sound: &DescribedSound) -> Self {
        Self { codec: sound.codec, format: sound.file_format() }
    }
}

/// The codec of a stream of a program; `None` of sound, and of what is not received.
pub fn codec_of(stream: StreamType) -> Option<Codec> {
    codec_that(|codec, mpeg2| stream_type(codec, mpeg2) == Some(stream))
}

/// The same of a track of a file.
pub fn codec_of_file(coding: Coding) -> Option<Codec> {
    codec_that(|codec, mpeg2| file_coding(codec, mpeg2) == Some(coding))
}

fn codec_that(is_so: impl Fn(Codec, bool) -> bool) -> Option<Codec> {
    Codec::ALL.iter().copied().find(|&codec| is_so(codec, true) || is_so(codec, false))
}
