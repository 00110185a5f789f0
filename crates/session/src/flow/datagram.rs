//! The movie in RTP packets over UDP.

use framewire_scenario as scenario;
use framewire_transport::{DatagramReceiver, DatagramSender, Overflow, Spread};
use framewire_units::DataSize;
use framewire_wire::mpeg_video::{Depacketizer, Limits, PAYLOAD_TYPE, PacketRule, Packetizer, StreamOrigin};

use super::movie::MovieSetup;
use super::{BuildError, CommonSetup};
use crate::plan::SendingPlan;
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf};
use crate::sender::{SenderSession, SendingHalf};

/// First RTP sequence number. RFC 3550, 5.1 wants it random against known-plaintext attacks; nothing is encrypted
/// here, and runs are to be repeatable.
const INITIAL_SEQUENCE: u16 = 0;

/// A flow of the movie over datagrams.
#[derive(Clone, Debug)]
pub struct DatagramSetup {
    /// What all flows have.
    pub common: CommonSetup,
    movie: MovieSetup,
    overflow: Overflow,
    error_reports: bool,
    packets: PacketRule,
    spread: Spread,
    /// Synchronisation source of the flow's RTP stream (RFC 3550, section 5.1).
    ssrc: u32,
}

impl DatagramSetup {
    pub(super) fn new(common: CommonSetup, own: &scenario::DatagramFlow, plan: SendingPlan, ssrc: u32) -> Self {
        let packets = match own.packets {
            scenario::PacketRule::Slices => PacketRule::Slices,
            scenario::PacketRule::Thesis => PacketRule::Thesis,
            scenario::PacketRule::Full => PacketRule::Full,
        };
        Self {
            common,
            movie: MovieSetup::new(plan, own.transport, own.queue, own.pacing),
            overflow: own.overflow,
            error_reports: own.transport.wants_error_reports(),
            packets,
            spread: own.spread,
            ssrc,
        }
    }

    /// What it sends.
    pub fn plan(&self) -> &SendingPlan {
        &self.movie.plan
    }

    /// True when the socket is to report drops in the device queue (IP_RECVERR).
    pub fn wants_error_reports(&self) -> bool {
        self.error_reports
    }

    /// The sender's side.
    ///
    /// # Errors
    /// When the MTU leaves no room for packets, or the movie is of a codec that the datagram transports do not carry.
    pub fn sender(&self) -> Result<SenderSession, BuildError> {
        let half = DatagramSender::new(self.movie.queue(), self.packetizer()?, self.overflow);
        Ok(self.movie.sender(SendingHalf::Datagram(half.with_spread(self.spread)), &self.common))
    }

    /// The receiver's side.
    pub fn receiver(&self) -> ReceiverSession {
        // The receiver knows the stream from its description (RFC 3550, 5.1: SSRC and first sequence number are agreed
        // out of band here), so that the loss of the very first packets is seen.
        let origin = StreamOrigin { ssrc: self.ssrc, initial_sequence: INITIAL_SEQUENCE };
        let depacketizer = Depacketizer::new(PAYLOAD_TYPE, Some(origin), Limits::default());
        let half = ReceivingHalf::Datagram(DatagramReceiver::new(depacketizer));
        ReceiverSession::new(half, ReceiverLog::in_directory(self.common.scratch.clone()))
    }

    fn packetizer(&self) -> Result<Packetizer, BuildError> {
        let settings = &self.common.settings;
        self.movie.check_codec().map_err(|reason| self.common.refuse(reason))?;
        let mtu = DataSize::from_bytes(u64::from(settings.mtu));
        Packetizer::new(self.packets, mtu, self.ssrc, INITIAL_SEQUENCE, PAYLOAD_TYPE)
            .map_err(|error| self.common.refuse(error))
    }
}
