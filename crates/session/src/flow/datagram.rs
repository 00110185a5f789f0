//! The movie in packets over UDP.

use framewire_scenario::{self as scenario, Rtcp};
use framewire_transport::{DatagramReceiver, DatagramSender, Overflow, Spread};
use framewire_units::Seed;

use super::movie::MovieSetup;
use super::packets::MoviePackets;
use super::{BuildError, CommonSetup};
use crate::plan::SendingPlan;
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf};
use crate::rtcp::{RtcpEnd, RtcpSetup};
use crate::sender::{SenderSession, SendingHalf};

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
    rtcp: Option<RtcpSetup>,
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
        let rtcp = (own.rtcp != Rtcp::Off).then(|| RtcpSetup {
            flow,
            ssrc,
            bandwidth: RtcpSetup::bandwidth(session, own.rtcp == Rtcp::Full),
            seed: Seed(u64::from(ssrc)),
        });
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

    /// True where both ends have a socket for RTCP beside that of the movie, at the next port up.
    pub fn has_rtcp(&self) -> bool {
        self.rtcp.is_some()
    }

    /// The same flow, whose RTCP draws from this seed.
    pub(super) fn seeded(&mut self, seed: Seed) {
        if let Some(rtcp) = &mut self.rtcp {
            rtcp.seed = seed;
        }
    }

    /// The sender's side.
    pub fn sender(&self) -> SenderSession {
        let half = DatagramSender::new(self.movie.queue(), self.packets.packetizer(), self.overflow);
        let half = SendingHalf::Datagram(half.with_spread(self.spread));
        self.movie.sender(half, &self.common).with_rtcp(self.rtcp.as_ref().map(RtcpSetup::sender))
    }

    /// The receiver's side.
    pub fn receiver(&self) -> ReceiverSession {
        let half = ReceivingHalf::Datagram(DatagramReceiver::new(self.packets.expected().depacketizer()));
        let rtcp: Option<RtcpEnd> = self.rtcp.as_ref().map(RtcpSetup::receiver);
        ReceiverSession::new(half, ReceiverLog::new(&self.common.recording)).with_rtcp(rtcp)
    }
}
