//! One flow of a scenario, made into a sender's and a receiver's session.

use framewire_media::access_unit::Codec;
use framewire_scenario as scenario;
use framewire_transport::queue::FrameQueue;
use framewire_transport::{
    DatagramReceiver, DatagramSender, Limits as QueueLimits, Pacing as ReceiverPacing, Spread, StreamReceiver,
    StreamSender, TransportKind,
};
use framewire_units::{DataSize, Timestamp};
use framewire_wire::mpeg_video::{Depacketizer, Limits, PAYLOAD_TYPE, PacketRule, Packetizer, StreamOrigin};

use crate::plan::SendingPlan;
use crate::receiver::{ReceiverSession, ReceivingHalf};
use crate::sender::{Pacing, SenderSession, SendingHalf};

/// First RTP sequence number. RFC 3550, 5.1 wants it random against known-plaintext attacks; nothing is encrypted
/// here, and runs are to be repeatable.
const INITIAL_SEQUENCE: u16 = 0;

/// One flow, ready to be built in any world.
#[derive(Clone, Debug)]
pub struct FlowSetup {
    flow: scenario::Flow,
    /// `None` where applications of the user's own carry it.
    kind: Option<TransportKind>,
    plan: SendingPlan,
    /// Synchronisation source of the flow's RTP stream (RFC 3550, section 5.1).
    ssrc: u32,
}

/// A flow that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("flow {flow}: {reason}")]
pub struct BuildError {
    flow: String,
    reason: String,
}

impl FlowSetup {
    /// A flow of a scenario that sends `plan`. `ssrc` tells its RTP stream from others.
    pub fn new(flow: &scenario::Flow, plan: SendingPlan, ssrc: u32) -> Self {
        let kind = (flow.transport != scenario::Transport::External)
            .then(|| flow.transport.as_str().parse().expect("invariant: every transport of a scenario exists"));
        Self { flow: flow.clone(), kind, plan, ssrc }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.flow.name
    }

    /// Name of its transport.
    pub fn transport(&self) -> &'static str {
        self.flow.transport.as_str()
    }

    /// Its transport.
    ///
    /// # Panics
    /// For a flow between applications of the user's own: see [`is_external`](Self::is_external).
    pub fn kind(&self) -> TransportKind {
        self.kind.expect("invariant: who has a sender or a receiver of the lab's own asks")
    }

    /// True for a flow between applications of the user's own, which has no sender and no receiver here.
    pub fn is_external(&self) -> bool {
        self.kind.is_none()
    }

    /// The same flow with its first frame due at `start`.
    pub fn starting_at(&self, start: Timestamp) -> Self {
        Self { plan: self.plan.starting_at(start), ..self.clone() }
    }

    /// Its settings.
    pub fn settings(&self) -> &scenario::Flow {
        &self.flow
    }

    /// What it sends.
    pub fn plan(&self) -> &SendingPlan {
        &self.plan
    }

    /// The sender's side.
    ///
    /// # Errors
    /// When the MTU leaves no room for packets, or the movie is of a codec that the datagram transports do not carry.
    ///
    /// # Panics
    /// As [`kind`](Self::kind).
    pub fn sender(&self) -> Result<SenderSession, BuildError> {
        let limits =
            QueueLimits { frames: self.flow.queue_frames, bytes: self.flow.queue_bytes, time: self.flow.queue_time };
        let queue = FrameQueue::new(self.kind().profile().queue.with_limits(limits));
        let half = match self.kind().overflow() {
            Some(overflow) => {
                let half = DatagramSender::new(queue, self.packetizer()?, overflow);
                SendingHalf::Datagram(half.with_spread(self.spread()))
            }
            None => SendingHalf::Stream(StreamSender::new(queue, self.flow.unsent_limit)),
        };
        let pacing = match self.flow.pacing {
            Some(scenario::Pacing::Receiver) => Pacing::Receiver,
            Some(scenario::Pacing::Nobody) => Pacing::Nobody,
            Some(scenario::Pacing::Sender) | None => Pacing::Sender,
        };
        Ok(SenderSession::new(self.plan.clone(), pacing, half))
    }

    /// The receiver's side.
    ///
    /// # Panics
    /// As [`kind`](Self::kind).
    pub fn receiver(&self) -> ReceiverSession {
        let half = match self.kind().is_stream() {
            true => ReceivingHalf::Stream(StreamReceiver::new(self.receiver_pacing()).of_codec(self.codec())),
            false => {
                // The receiver knows the stream from its description (RFC 3550, 5.1: SSRC and first sequence number
                // are agreed out of band here), so that the loss of the very first packets is seen.
                let origin = StreamOrigin { ssrc: self.ssrc, initial_sequence: INITIAL_SEQUENCE };
                let depacketizer = Depacketizer::new(PAYLOAD_TYPE, Some(origin), Limits::default());
                ReceivingHalf::Datagram(DatagramReceiver::new(depacketizer))
            }
        };
        ReceiverSession::new(half)
    }

    fn receiver_pacing(&self) -> ReceiverPacing {
        match self.flow.pacing {
            Some(scenario::Pacing::Receiver) => ReceiverPacing::Playout { frame_rate: self.plan.frame_rate() },
            Some(scenario::Pacing::Sender | scenario::Pacing::Nobody) | None => ReceiverPacing::Immediate,
        }
    }

    fn spread(&self) -> Spread {
        match self.flow.spread {
            Some(scenario::Spread::FrameInterval) => Spread::FrameInterval,
            Some(scenario::Spread::Gap(gap)) => Spread::Gap(gap),
            Some(scenario::Spread::None) | None => Spread::AtOnce,
        }
    }

    fn codec(&self) -> Codec {
        self.plan.movie().index.sequence.codec
    }

    fn packetizer(&self) -> Result<Packetizer, BuildError> {
        if self.codec() != Codec::MpegVideo {
            let (transport, codec) = (self.transport(), self.codec());
            let reason = format!(
                "{transport} sends RTP as RFC 2250 has it, which carries MPEG-1 and MPEG-2 video; the movie is {codec}: \
                 a transport over TCP carries it"
            );
            return Err(BuildError { flow: self.flow.name.clone(), reason });
        }
        let rule = match self.flow.packets {
            Some(scenario::PacketRule::Slices) => PacketRule::Slices,
            Some(scenario::PacketRule::Thesis) => PacketRule::Thesis,
            Some(scenario::PacketRule::Full) | None => PacketRule::Full,
        };
        let mtu = DataSize::from_bytes(u64::from(self.flow.mtu));
        Packetizer::new(rule, mtu, self.ssrc, INITIAL_SEQUENCE, PAYLOAD_TYPE)
            .map_err(|error| BuildError { flow: self.flow.name.clone(), reason: error.to_string() })
    }
}
