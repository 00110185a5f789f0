//! The movie in packets over UDP.

use framewire_scenario::{self as scenario, Rtcp};
use framewire_transport::queue::FrameQueue;
use framewire_transport::{DatagramReceiver, DatagramSender, Overflow, Spread};
use framewire_units::{Seed, Timestamp};
use framewire_wire::rtp_payload::CLOCK_RATE;

use super::movie::MovieSetup;
use super::packets::MoviePackets;
use super::sound::SoundStream;
use super::{BuildError, CommonSetup};
use crate::plan::SendingPlan;
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf};
use crate::rtcp::{RtcpSetup, UDP_HEADERS};
use crate::sender::{MOVIE_CHANNEL, SenderSession, SendingHalf};
use crate::sound::SOUND_CHANNEL;

/// A flow of the movie over datagrams.
#[derive(Clone, Debug)]
pub struct DatagramSetup {
    /// What all flows have.
    pub common: CommonSetup,
    movie: MovieSetup,
    overflow: Overflow,
    error_reports: bool,
    packets: MoviePackets,
    spread: Spread,
    rtcp: Vec<RtcpSetup>,
}

impl DatagramSetup {
    pub(super) fn new(
        common: CommonSetup,
        own: &scenario::DatagramFlow,
        plan: SendingPlan,
        ssrc: u32,
    ) -> Result<Self, BuildError> {
        let movie = MovieSetup::new(plan, own.transport, own.queue, own.pacing);
        let packets = MoviePackets::new(&movie, &common, own.packets, ssrc)?
            .expect("invariant: an elementary stream does not go in datagrams");
        let error_reports = own.transport.wants_error_reports();
        let (flow, session) = (common.name().to_owned(), movie.plan.mean_rate());
        let setup = |ssrc, rate, media, clock_rate| RtcpSetup {
            flow: flow.clone(),
            ssrc,
            bandwidth: RtcpSetup::bandwidth(rate, own.rtcp == Some(Rtcp::Full)),
            seed: Seed(u64::from(ssrc)),
            media,
            clock_rate,
            lower_headers: UDP_HEADERS,
        };
        let of_sound = packets.sound().zip(movie.plan.sound());
        let of_sound =
            of_sound.map(|(stream, sound)| setup(stream.ssrc(), sound.mean_rate(), SOUND_CHANNEL, stream.clock_rate()));
        let of_movie = setup(ssrc, session, MOVIE_CHANNEL, CLOCK_RATE);
        let rtcp = if own.rtcp.unwrap_or(Rtcp::Off) == Rtcp::Off {
            vec![]
        } else {
            [of_movie].into_iter().chain(of_sound).collect()
        };
        Ok(Self { common, movie, overflow: own.overflow, error_reports, packets, spread: own.spread, rtcp })
    }

    /// What it sends.
    pub(crate) fn plan(&self) -> &SendingPlan {
        &self.movie.plan
    }

    /// True when the socket is to report drops in the device queue (IP_RECVERR).
    pub fn wants_error_reports(&self) -> bool {
        self.error_reports
    }

    /// True where both ends have a socket for RTCP beside that of the movie, at the next port up, and so beside that of sound.
    pub fn has_rtcp(&self) -> bool {
        !self.rtcp.is_empty()
    }

    /// True where both ends have sockets for sound beside those of the movie.
    pub fn has_sound_apart(&self) -> bool {
        self.packets.sound().is_some()
    }

    /// The same flow, whose RTCP draws from this seed.
    pub(super) fn seeded(&mut self, seed: Seed) {
        self.rtcp.iter_mut().for_each(|rtcp| rtcp.seed = seed);
    }

    /// The sender's side.
    pub fn sender(&self) -> SenderSession {
        let half = DatagramSender::new(self.movie.queue(), self.packets.packetizer(), self.overflow);
        let half = SendingHalf::Datagram(half.with_spread(self.spread));
        // Sound is never given up for want of room.
        let of_sound = |sound: &SoundStream| DatagramSender::new(FrameQueue::direct(), sound.packets(), Overflow::Wait);
        let session = self.movie.sender(half, &self.common).with_sound(self.packets.sound().map(of_sound));
        session.with_reports(self.rtcp.iter().map(|rtcp| rtcp.sender(Timestamp::ZERO)).collect())
    }

    /// The receiver's side.
    pub fn receiver(&self) -> ReceiverSession {
        let half = ReceivingHalf::Datagram(DatagramReceiver::new(self.packets.expected().depacketizer()));
        let sound = self.packets.sound().map(|sound| DatagramReceiver::new(sound.depacketizer()));
        let session = ReceiverSession::new(half, ReceiverLog::new(&self.common.recording)).with_sound(sound);
        session.with_reports(self.rtcp.iter().map(|rtcp| rtcp.receiver(Timestamp::ZERO)).collect())
    }
}
