//! A receiver that requests a movie of any server, by HTTP or RTSP.

use framewire_media::access_unit::Codec;
use framewire_transport::registry::{Session, payload_format};
use framewire_transport::{DatagramReceiver, PacketStreamReceiver};
use framewire_units::{Seed, Timestamp};
use framewire_wire::rtsp::Account;

use crate::channels::{ChannelSetup, MOVIE_CHANNEL, REQUESTS_CHANNEL, SOUND_CHANNEL};
use crate::exchange::rtsp::{AskedServer, RtspClientExchange, reports_of_any};
use crate::exchange::{ClientExchange, HttpClientExchange};
use crate::flow::packets::ExpectedPackets;
use crate::flow::{DescribedSound, FlowRecording};
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf, RequestChannel};
use crate::rtcp::UDP_HEADERS;

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
    /// Of a server of RTSP: its first streams of video and sound.
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
        /// The ports of RTP and RTCP of each stream, to which their packets go in datagrams; none: they go in the connection.
        ports: Vec<(u16, u16)>,
    },
}

impl ClientRequest {
    /// The receiver, which has its first request ready at `now` and calls itself `user_agent` there (RFC 9110, section 10.1.5).
    /// What it draws is of this seed.
    ///
    /// # Errors
    /// When RTP does not carry the codec.
    pub fn receiver(
        &self,
        recording: &FlowRecording,
        user_agent: &str,
        now: Timestamp,
        seed: Seed,
    ) -> Result<ReceiverSession, String> {
        let (half, exchange): (_, Box<dyn ClientExchange>) = match self {
            Self::Http { host, path, is_file } => {
                let packets = match is_file {
                    true => ExpectedPackets::File,
                    false => ExpectedPackets::AnyTransportStream { in_rtp: false },
                };
                (packets.receiver(Session::Http), Box::new(HttpClientExchange::at(host, path, user_agent)))
            }
            Self::Rtsp { url, account, codec, payload_type, sound, ports } => {
                let format = payload_format(*codec).ok_or_else(|| format!("{codec} is not received in RTP"))?;
                let packets = ExpectedPackets::AnyRtp { format, payload_type: *payload_type };
                let asked = AskedServer { url, account: account.as_ref(), user_agent };
                if !ports.is_empty() {
                    let exchange = RtspClientExchange::at_over_udp(&asked, ports, now, seed);
                    return Ok(self.datagram_receiver(&packets, exchange, recording, seed));
                }
                let mut reader = packets.rtp_reader(Session::Rtsp);
                if let Some(sound) = sound {
                    reader = reader.with_sound_of_type(sound.payload_type(), sound.depacketizer());
                }
                let clock_rate = sound.as_ref().map(|sound| sound.clock_rate());
                let half = ReceivingHalf::Packets(PacketStreamReceiver::new(reader));
                (half, Box::new(RtspClientExchange::at(&asked, clock_rate, now, seed)))
            }
        };
        let session = ReceiverSession::new(half, ReceiverLog::new(recording));
        let session = session.over(vec![self.connection().channel()]);
        Ok(session.with_requests(Some(RequestChannel::new(exchange, MOVIE_CHANNEL))))
    }

    /// The connection on which it is requested.
    fn connection(&self) -> ChannelSetup {
        match self {
            Self::Rtsp { ports, .. } if !ports.is_empty() => ChannelSetup::beside_datagrams(),
            _ => ChannelSetup::of_asked(),
        }
    }

    /// The channels of each stream that may come in datagrams: of its packets, and of reports about them.
    pub fn datagram_channels(&self) -> Vec<[ChannelSetup; 2]> {
        let Self::Rtsp { sound, .. } = self else { return Vec::new() };
        let media = [Some(MOVIE_CHANNEL), sound.as_ref().map(|_| SOUND_CHANNEL)].into_iter().flatten();
        let of_packets = media.map(|id| ChannelSetup::of_packets(id, None, false));
        of_packets.map(|packets| [packets.clone(), ChannelSetup::of_reports(&packets)]).collect()
    }

    /// The same of a server of RTSP, whose packets go in datagrams to these ports of RTP and RTCP, of video and then of sound.
    #[must_use]
    pub fn over_udp(self, to: Vec<(u16, u16)>) -> Self {
        match self {
            Self::Rtsp { url, account, codec, payload_type, sound, .. } => {
                Self::Rtsp { url, account, codec, payload_type, sound, ports: to }
            }
            of_http => of_http,
        }
    }

    fn datagram_receiver(
        &self,
        packets: &ExpectedPackets,
        exchange: RtspClientExchange,
        recording: &FlowRecording,
        seed: Seed,
    ) -> ReceiverSession {
        let Self::Rtsp { sound, .. } = self else { unreachable!("invariant: it is asked of RTSP") };
        let half = ReceivingHalf::Datagram(DatagramReceiver::new(packets.depacketizer()));
        let clock_rate = sound.as_ref().map(|sound| sound.clock_rate());
        let reports = reports_of_any(clock_rate, seed, UDP_HEADERS);
        let requests = RequestChannel::new(Box::new(exchange), REQUESTS_CHANNEL).with_reports(reports);
        let channels = self.datagram_channels().into_iter().flatten().chain([self.connection()]);
        ReceiverSession::new(half, ReceiverLog::new(recording))
            .with_sound(sound.as_ref().map(|sound| DatagramReceiver::new(sound.depacketizer())))
            .over(channels.map(|setup| setup.channel()).collect())
            .with_requests(Some(requests))
            .awaiting_first_packets()
    }
}
