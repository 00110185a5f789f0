//! The movie as a stream of bytes over TCP: the elementary stream, RTP packets behind their lengths, or a transport stream.

use framewire_scenario::{self as scenario, Pacing};
use framewire_transport::registry::Session;
use framewire_transport::{Carrier, Pacing as ReceiverPacing, StreamReceiver, StreamSender};
use framewire_units::Timestamp;
use framewire_wire::rtp_payload::PacketRule;

use super::movie::MovieSetup;
use super::packets::MoviePackets;
use super::rtp_seed::RtpSeed;
use super::sound::{DescribedSound, SoundStream};
use super::{BuildError, CommonSetup, ConnectionSettings};
use crate::channels::{ChannelSetup, MOVIE_CHANNEL};
use crate::exchange::rtsp::RtspSetup;
use crate::exchange::{ClientExchange, Fetched, HttpClientExchange, HttpServerExchange, ServerExchange};
use crate::half::{Channel, End};
use crate::plan::SendingPlan;
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf, RequestChannel};
use crate::rtcp::INTERLEAVED_HEADERS;
use crate::sender::{ResponseChannel, SenderSession, SendingHalf};

/// A flow of the movie over a byte stream.
#[derive(Clone, Debug)]
pub struct StreamSetup {
    /// What all flows have.
    pub common: CommonSetup,
    pub(super) movie: MovieSetup,
    /// Where it goes in packets: how they are made, and put together.
    pub(super) packets: Option<MoviePackets>,
    /// Where the receiver asks for it by RTSP.
    pub(super) rtsp: Option<RtspSetup>,
    /// What the sender's socket is to be like.
    pub connection: ConnectionSettings,
}

impl StreamSetup {
    pub(super) fn new(
        common: CommonSetup,
        own: &scenario::StreamFlow,
        plan: SendingPlan,
        rtp: RtpSeed,
    ) -> Result<Self, BuildError> {
        let connection = common.connection(&own.tcp);
        let movie = MovieSetup::new(plan, own.transport, own.queue, own.pacing, rtp).at_rate(own.ts_rate);
        let packets = MoviePackets::new(&movie, &common, PacketRule::Full)?;
        let in_rtsp = packets.as_ref().filter(|_| movie.parts().session == Session::Rtsp);
        let reports = |packets: &MoviePackets| movie.reports(&common, packets.sound(), own.rtcp, INTERLEAVED_HEADERS);
        let rtsp = in_rtsp.map(|packets| packets.rtsp(&movie, &reports(packets)));
        Ok(Self { common, movie, packets, rtsp, connection })
    }

    /// Of what its streams of RTP draw.
    pub(crate) fn rtp(&self) -> RtpSeed {
        self.movie.rtp
    }

    /// Its only channel, which the receiver opens where it asks for the movie.
    pub(crate) fn channels(&self) -> Vec<ChannelSetup> {
        let opened_by = if self.movie.parts().session.asks() { End::Receiver } else { End::Sender };
        vec![ChannelSetup::of_stream(opened_by, &self.connection)]
    }

    fn channels_of_halves(&self) -> Vec<Channel> {
        self.channels().into_iter().map(|setup| setup.channel()).collect()
    }

    /// What the receiver asks for, where it does by HTTP.
    fn fetched(&self) -> Option<Fetched> {
        let over_http = self.movie.parts().session == Session::Http;
        over_http.then(|| match &self.packets {
            Some(MoviePackets::File(file)) => Fetched::file(file.length, file.index.clone()),
            Some(MoviePackets::Fragments(file)) => Fetched::fragments(file.index.clone()),
            _ => Fetched::transport_stream(),
        })
    }

    /// True where it sends sound beside the movie.
    pub fn has_sound(&self) -> bool {
        self.plan().sound().is_some()
    }

    /// What it sends.
    pub(crate) fn plan(&self) -> &SendingPlan {
        &self.movie.plan
    }

    /// Sound that has packets for itself, as a receiver knows it.
    pub(crate) fn described_sound(&self) -> Option<&DescribedSound> {
        self.packets.as_ref().and_then(MoviePackets::sound).map(SoundStream::described)
    }

    /// The sender's side.
    pub fn sender(&self) -> SenderSession {
        let exchange = self
            .fetched()
            .map(|fetched| Box::new(HttpServerExchange::new(&fetched, Timestamp::ZERO)) as Box<dyn ServerExchange>);
        let exchange = exchange.or_else(|| self.rtsp.as_ref().map(RtspSetup::server_exchange));
        let session = self.movie.sender(self.half(), &self.common).over(self.channels_of_halves());
        session.with_responses(exchange.map(|exchange| ResponseChannel::new(exchange, MOVIE_CHANNEL)))
    }

    /// What sends the movie from its beginning on.
    pub(super) fn half(&self) -> SendingHalf {
        let half = StreamSender::new(self.movie.queue(), self.connection.unsent_limit);
        let Some(packets) = &self.packets else { return SendingHalf::Stream(half) };
        let in_packets = || SendingHalf::Stream(packets.sender(half, self.movie.parts().session));
        packets.constant(Carrier::Stream).unwrap_or_else(in_packets)
    }

    /// True where it is sent as a file whose index has all its samples.
    pub fn is_file(&self) -> bool {
        self.file_length().is_some()
    }

    /// True where it is sent as a file in fragments.
    pub fn is_fragmented(&self) -> bool {
        matches!(&self.packets, Some(MoviePackets::Fragments(_)))
    }

    /// True where it is asked for by RTSP.
    pub fn is_rtsp(&self) -> bool {
        self.rtsp.is_some()
    }

    /// The bytes of the file that it is, where it is one.
    pub(crate) fn file_length(&self) -> Option<u64> {
        if let Some(MoviePackets::File(file)) = &self.packets { Some(file.length) } else { None }
    }

    /// The receiver's side.
    pub fn receiver(&self) -> ReceiverSession {
        let pacing = match self.movie.pacing {
            Pacing::Receiver => ReceiverPacing::Playout { frame_rate: self.plan().frame_rate() },
            Pacing::Sender | Pacing::Unpaced => ReceiverPacing::Immediate,
        };
        let half = match &self.packets {
            Some(packets) => packets.expected().receiver(self.movie.parts().session),
            None => ReceivingHalf::Stream(StreamReceiver::new(pacing).of_codec(self.plan().codec())),
        };
        let exchange =
            self.fetched().map(|fetched| Box::new(HttpClientExchange::new(&fetched)) as Box<dyn ClientExchange>);
        let exchange = exchange.or_else(|| self.rtsp.as_ref().map(RtspSetup::client_exchange));
        let session = ReceiverSession::new(half, ReceiverLog::new(&self.common.recording));
        session
            .over(self.channels_of_halves())
            .with_requests(exchange.map(|exchange| RequestChannel::new(exchange, MOVIE_CHANNEL)))
    }
}
