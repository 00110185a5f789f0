//! A receiver that requests a movie of any server, by HTTP or RTSP.

use framewire_media::access_unit::Codec;
use framewire_transport::PacketStreamReceiver;
use framewire_transport::registry::{Session, payload_format};
use framewire_units::{Seed, Timestamp};
use framewire_wire::rtsp::Account;

use crate::channels::{ChannelSetup, MOVIE_CHANNEL};
use crate::exchange::rtsp::RtspClientExchange;
use crate::exchange::{ClientExchange, HttpClientExchange};
use crate::flow::packets::ExpectedPackets;
use crate::flow::{DescribedSound, FlowRecording};
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf, RequestChannel};

/// What a receiver requests of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientRequest {
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

impl ClientRequest {
    /// The receiver, which has its first request ready at `now`. What it draws is of this seed.
    ///
    /// # Errors
    /// When RTP does not carry the codec.
    pub fn receiver(&self, recording: &FlowRecording, now: Timestamp, seed: Seed) -> Result<ReceiverSession, String> {
        let (half, exchange): (_, Box<dyn ClientExchange>) = match self {
            Self::Http { host, path, is_file } => {
                let packets = match is_file {
                    true => ExpectedPackets::File,
                    false => ExpectedPackets::AnyTransportStream { in_rtp: false },
                };
                (packets.receiver(Session::Http), Box::new(HttpClientExchange::at(host, path)))
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
                (half, Box::new(RtspClientExchange::at(url, account.clone(), clock_rate, now, seed)))
            }
        };
        let session = ReceiverSession::new(half, ReceiverLog::new(recording));
        let session = session.over(vec![ChannelSetup::of_asked().channel()]);
        Ok(session.with_requests(Some(RequestChannel::new(exchange, MOVIE_CHANNEL))))
    }
}
