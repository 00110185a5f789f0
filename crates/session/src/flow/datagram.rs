//! The movie in packets over UDP.

use framewire_scenario::{self as scenario, Damaged, Rtcp};
use framewire_transport::queue::FrameQueue;
use framewire_transport::registry::Session;
use framewire_transport::{Carrier, DatagramReceiver, DatagramSender, Overflow, Spread};
use framewire_units::Timestamp;
use framewire_wire::rtcp::RtcpBandwidth;

use super::movie::MovieSetup;
use super::packets::MoviePackets;
use super::rtp_seed::RtpSeed;
use super::sound::{DescribedSound, SoundStream};
use super::{BuildError, CommonSetup};
use crate::channels::{
    ChannelSetup, MOVIE_CHANNEL, REQUESTS_CHANNEL, SOUND_CHANNEL, SOUND_PORT_BETWEEN_MACHINES, SOUND_PORTS,
};
use crate::exchange::rtsp::RtspSetup;
use crate::half::Channel;
use crate::plan::SendingPlan;
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf, RequestChannel};
use crate::rtcp::{RtcpSetup, UDP_HEADERS};
use crate::sender::{ResponseChannel, SenderSession, SendingHalf};

/// A flow of the movie over datagrams.
#[derive(Clone, Debug)]
pub struct DatagramSetup {
    /// What all flows have.
    pub common: CommonSetup,
    movie: MovieSetup,
    overflow: Overflow,
    error_reports: bool,
    packets: MoviePackets,
    /// By how much the port of its sound is higher.
    sound_port: u16,
    spread: Spread,
    passes_damaged: bool,
    rtcp: Vec<RtcpSetup>,
    /// It is said that there are none.
    refuses_reports: bool,
    /// Where the receiver asks for it by RTSP.
    rtsp: Option<RtspSetup>,
}

impl DatagramSetup {
    pub(super) fn new(
        common: CommonSetup,
        own: &scenario::DatagramFlow,
        plan: SendingPlan,
        rtp: RtpSeed,
    ) -> Result<Self, BuildError> {
        let movie = MovieSetup::new(plan, own.transport, own.queue, own.pacing, rtp).at_rate(own.ts_rate);
        let packets = MoviePackets::new(&movie, &common, own.packets)?
            .expect("invariant: an elementary stream does not go in datagrams");
        let error_reports = own.transport.wants_error_reports();
        let rtcp = movie.reports(&common, packets.sound(), own.rtcp, UDP_HEADERS);
        let passes_damaged = own.damaged == Damaged::Pass;
        let in_rtsp = movie.parts().session == Session::Rtsp;
        let rtsp = in_rtsp.then(|| packets.rtsp(&movie, &rtcp));
        Ok(Self {
            common,
            movie,
            overflow: own.overflow,
            error_reports,
            packets,
            sound_port: SOUND_PORTS,
            spread: own.spread,
            passes_damaged,
            rtcp,
            refuses_reports: own.rtcp == Some(Rtcp::Off),
            rtsp,
        })
    }

    /// The same alone between two machines: its sound goes to the next even port, and reports of its sender
    /// with both, by which a receiver knows what is presented together, where nothing else is said.
    pub(super) fn between_machines(&mut self) {
        self.sound_port = SOUND_PORT_BETWEEN_MACHINES;
        let sound = self.packets.sound();
        if self.rtcp.is_empty() && !self.refuses_reports && self.rtsp.is_none() && sound.is_some() {
            let wanted = Some(Rtcp::NoReceiverReports);
            self.rtcp = self.movie.reports(&self.common, sound, wanted, UDP_HEADERS);
        }
        self.rtcp.iter_mut().for_each(|rtcp| rtcp.at_once = true);
    }

    /// Of what its streams of RTP draw.
    pub(crate) fn rtp(&self) -> RtpSeed {
        self.movie.rtp
    }

    /// What it sends.
    pub(crate) fn plan(&self) -> &SendingPlan {
        &self.movie.plan
    }

    /// Sound that has packets for itself, as a receiver knows it.
    pub(crate) fn described_sound(&self) -> Option<&DescribedSound> {
        self.packets.sound().map(SoundStream::described)
    }

    /// Its channels: of the movie, and of its sound where that has packets for itself, each with that of the reports about it;
    /// and where the receiver asks for it, the one on which it does.
    pub(crate) fn channels(&self) -> Vec<ChannelSetup> {
        let sound = self.packets.sound().map(|_| SOUND_CHANNEL);
        let of_packets = |id| {
            let port = if id == SOUND_CHANNEL { self.sound_port } else { 0 };
            ChannelSetup::of_packets(id, self.common.send_buffer(), self.error_reports).at(port)
        };
        let media: Vec<ChannelSetup> = [MOVIE_CHANNEL].into_iter().chain(sound).map(of_packets).collect();
        let has_reports = |of: &&ChannelSetup| self.rtcp.iter().any(|rtcp| rtcp.media == of.id);
        let reports: Vec<ChannelSetup> = media.iter().filter(has_reports).map(ChannelSetup::of_reports).collect();
        let requests = self.rtsp.as_ref().map(|_| ChannelSetup::of_requests(self.common.settings.mtu));
        media.into_iter().chain(reports).chain(requests).collect()
    }

    /// What reports may take of its video, and of its sound where that has packets for itself; nothing where there are none.
    pub(super) fn rtcp_bandwidths(&self) -> Vec<RtcpBandwidth> {
        let sound = self.packets.sound().map(|_| SOUND_CHANNEL);
        let of = |media| self.rtcp.iter().find(|rtcp| rtcp.media == media);
        let media = [MOVIE_CHANNEL].into_iter().chain(sound);
        media.map(|media| of(media).map_or(RtcpBandwidth::NONE, |rtcp| rtcp.bandwidth)).collect()
    }

    /// What RTCP may take of its sessions, the video's first, where receivers report of them; none where they do not.
    pub(crate) fn receivers_reports(&self) -> Vec<RtcpBandwidth> {
        let bandwidths = self.rtcp_bandwidths();
        let may_report = bandwidths.iter().all(|bandwidth| bandwidth.receivers.as_bps() > 0);
        if may_report { bandwidths } else { Vec::new() }
    }

    fn channels_of_halves(&self) -> Vec<Channel> {
        self.channels().into_iter().map(|setup| setup.channel()).collect()
    }

    /// The sender's side.
    pub fn sender(&self) -> SenderSession {
        let half = self.packets.constant(Carrier::Datagrams(self.overflow)).unwrap_or_else(|| {
            let half = DatagramSender::new(self.movie.queue(), self.packets.packetizer(), self.overflow);
            SendingHalf::Datagram(half.with_spread(self.spread))
        });
        // Sound is never given up for want of room.
        let of_sound = |sound: &SoundStream| DatagramSender::new(FrameQueue::direct(), sound.packets(), Overflow::Wait);
        let session = self.movie.sender(half, &self.common).over(self.channels_of_halves());
        let session = session.with_sound(self.packets.sound().map(of_sound));
        match &self.rtsp {
            None => session.with_reports(self.rtcp.iter().map(|rtcp| rtcp.sender(Timestamp::ZERO)).collect()),
            Some(rtsp) => {
                let responses = ResponseChannel::new(rtsp.server_exchange_over_udp(self.common.port), REQUESTS_CHANNEL);
                session.with_responses(Some(responses.with_reports(self.rtcp.clone())))
            }
        }
    }

    /// The receiver's side.
    pub fn receiver(&self) -> ReceiverSession {
        let half = ReceivingHalf::Datagram(DatagramReceiver::new(self.packets.expected().depacketizer()));
        let sound = self.packets.sound().map(|sound| DatagramReceiver::new(sound.described().depacketizer()));
        let session = ReceiverSession::new(half, ReceiverLog::new(&self.common.recording)).with_sound(sound);
        let session = session.passing_damaged(self.passes_damaged).over(self.channels_of_halves());
        match &self.rtsp {
            None => session.with_reports(self.rtcp.iter().map(|rtcp| rtcp.receiver(Timestamp::ZERO)).collect()),
            Some(rtsp) => {
                let requests = RequestChannel::new(rtsp.client_exchange_over_udp(self.common.port), REQUESTS_CHANNEL);
                session.with_requests(Some(requests.with_reports(self.rtcp.clone())))
            }
        }
    }
}
