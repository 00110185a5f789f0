//! The movie in packets over UDP.

use framewire_scenario as scenario;
use framewire_transport::{DatagramReceiver, DatagramSender, Overflow, Spread};

use super::movie::MovieSetup;
use super::packets::MoviePackets;
use super::{BuildError, CommonSetup};
use crate::plan::SendingPlan;
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf};
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
        Ok(Self { common, movie, overflow: own.overflow, error_reports, packets, spread: own.spread })
    }

    /// What it sends.
    pub(crate) fn plan(&self) -> &SendingPlan {
        &self.movie.plan
    }

    /// True when the socket is to report drops in the device queue (IP_RECVERR).
    pub fn wants_error_reports(&self) -> bool {
        self.error_reports
    }

    /// The sender's side.
    pub fn sender(&self) -> SenderSession {
        let half = DatagramSender::new(self.movie.queue(), self.packets.packetizer(), self.overflow);
        self.movie.sender(SendingHalf::Datagram(half.with_spread(self.spread)), &self.common)
    }

    /// The receiver's side.
    pub fn receiver(&self) -> ReceiverSession {
        let half = ReceivingHalf::Datagram(DatagramReceiver::new(self.packets.depacketizer()));
        ReceiverSession::new(half, ReceiverLog::new(&self.common.recording))
    }
}
