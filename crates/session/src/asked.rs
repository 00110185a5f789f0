//! A receiver that asks any server for a movie: what it asks for, and what it then expects.

use framewire_media::access_unit::Codec;
use framewire_media::audio::{AudioCodec, AudioFormat};
use framewire_transport::PacketStreamReceiver;
use framewire_transport::registry::{Session, file_coding, payload_format, stream_type};
use framewire_units::{OPUS_CLOCK_RATE, Seed, Timestamp};
use framewire_wire::mp4::{Coding, ReadTrack, Shape};
use framewire_wire::mpeg_ts::StreamType;
use framewire_wire::rtsp::Account;

use crate::channels::{ChannelSetup, MOVIE_CHANNEL};
use crate::exchange::rtsp::RtspAsking;
use crate::exchange::{Asking, HttpAsking};
use crate::flow::packets::ExpectedPackets;
use crate::flow::{DescribedSound, FlowRecording};
use crate::receiver::{Asked, ReceiverLog, ReceiverSession, ReceivingHalf};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskedFor {
    /// Of a server of HTTP.
    Http {
        /// Its name and port, as requests say them.
        host: String,
        /// The path, with escapes.
        path: String,
        /// An MP4 file; else a transport stream.
        is_file: bool,
    },
    /// Of a server of RTSP: its first streams of video and sound, interleaved.
    Rtsp {
        /// `rtsp://host:port/path`, without a name and password.
        url: String,
        /// Who asks, where the server wants to know.
        account: Option<Account>,
        /// The codec, as its description says.
        codec: Codec,
        /// The payload type of its packets, as its description says.
        payload_type: u8,
        /// The sound beside it; `None`: there is none that is received.
        sound: Option<Box<DescribedSound>>,
    },
}

impl AskedFor {
    /// The receiver, which has its first request ready at `now`. What it draws is of this seed.
    ///
    /// # Errors
    /// When RTP does not carry the codec.
    pub fn receiver(&self, recording: &FlowRecording, now: Timestamp, seed: Seed) -> Result<ReceiverSession, String> {
        let (half, asking): (_, Box<dyn Asking>) = match self {
            Self::Http { host, path, is_file } => {
                let packets = match is_file {
                    true => ExpectedPackets::File,
                    false => ExpectedPackets::AnyTransportStream { in_rtp: false },
                };
                (packets.receiver(Session::Http), Box::new(HttpAsking::at(host, path)))
            }
            Self::Rtsp { url, account, codec, payload_type, sound } => {
                let format = payload_format(*codec).ok_or_else(|| format!("{codec} is not received in RTP"))?;
                let packets = ExpectedPackets::AnyRtp { format, payload_type: *payload_type };
                let mut reader = packets.rtp_reader(Session::Rtsp);
                if let Some(sound) = sound {
                    reader = reader.with_sound_of_type(sound.payload_type(), sound.depacketizer());
                }
                let clock_rate = sound.as_ref().map(|sound| sound.clock_rate());
                let half = ReceivingHalf::Packets(PacketStreamReceiver::new(reader));
                (half, Box::new(RtspAsking::at(url, account.clone(), clock_rate, now, seed)))
            }
        };
        let session = ReceiverSession::new(half, ReceiverLog::new(recording));
        let session = session.over(vec![ChannelSetup::of_asked().channel()]);
        Ok(session.with_asking(Some(Asked::new(asking, MOVIE_CHANNEL))))
    }
}

/// Sound that is received, as far as is known before its first packet: its codec, and what makes a file of packets that do not play by
/// themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundSound {
    /// The codec. Whether MPEG audio is of layer II or III its stream alone says: this is then layer II.
    pub codec: AudioCodec,
    /// The format, of Opus; `None` of sound that plays by itself.
    pub format: Option<AudioFormat>,
}

impl FoundSound {
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
