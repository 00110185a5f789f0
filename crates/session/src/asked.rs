//! A receiver that asks any server for a movie: what it asks for, and what it then expects.

use framewire_media::access_unit::Codec;
use framewire_media::audio::AudioCodec;
use framewire_transport::PacketStreamReceiver;
use framewire_transport::registry::{Session, file_coding, payload_format, stream_type};
use framewire_units::{Seed, Timestamp};
use framewire_wire::mp4::Coding;
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

/// The codec of sound in a program or file that plays by itself; `None` of what is none, and of Opus. Whether MPEG audio is of layer II or
/// III its stream alone says.
pub fn sound_codec_of(coding: Coding) -> Option<AudioCodec> {
    match coding {
        Coding::Aac => Some(AudioCodec::Aac),
        Coding::Mpeg1Audio | Coding::Mpeg2Audio => Some(AudioCodec::Mp2),
        _ => None,
    }
}

/// The same of a stream of a program.
pub fn sound_codec_of_stream(stream: StreamType) -> Option<AudioCodec> {
    match stream {
        StreamType::AacAdts => Some(AudioCodec::Aac),
        StreamType::Mpeg1Audio | StreamType::Mpeg2Audio => Some(AudioCodec::Mp2),
        _ => None,
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
