//! What the lab's own senders of the movie have in common, over datagrams and over a stream.

use bytes::Bytes;
use framewire_scenario as scenario;
use framewire_transport::queue::FrameQueue;
use framewire_transport::{Limits, TransportKind};

use super::CommonSetup;
use crate::plan::SendingPlan;
use crate::sender::{Pacing, SenderLog, SenderSession, SendingHalf};

/// The movie, its frame queue and its pace.
#[derive(Clone, Debug)]
pub(super) struct MovieSetup {
    pub(super) plan: SendingPlan,
    kind: TransportKind,
    limits: Limits,
    pub(super) pacing: Pacing,
}

impl MovieSetup {
    pub(super) fn new(flow: &scenario::Flow, plan: SendingPlan, kind: TransportKind) -> Self {
        let pacing = match flow.pacing {
            Some(scenario::Pacing::Receiver) => Pacing::Receiver,
            Some(scenario::Pacing::Nobody) => Pacing::Nobody,
            Some(scenario::Pacing::Sender) | None => Pacing::Sender,
        };
        let limits = Limits { frames: flow.queue_frames, bytes: flow.queue_bytes, time: flow.queue_time };
        Self { plan, kind, limits, pacing }
    }

    pub(super) fn queue(&self) -> FrameQueue<Bytes> {
        FrameQueue::new(self.kind.queue().with_limits(self.limits))
    }

    /// Whether the transport carries the movie's codec; the error says what would.
    pub(super) fn check_codec(&self) -> Result<(), String> {
        self.kind.check_codec(self.plan.codec())
    }

    pub(super) fn sender(&self, half: SendingHalf, common: &CommonSetup) -> SenderSession {
        SenderSession::new(self.plan.clone(), self.pacing, half, SenderLog::in_directory(common.scratch.clone()))
    }
}
