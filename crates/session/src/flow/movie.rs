//! What the lab's own senders of the movie have in common, over datagrams and over a stream.

use bytes::Bytes;
use framewire_scenario::Pacing;
use framewire_transport::TransportKind;
use framewire_transport::queue::{FrameQueue, QueueKind};
use framewire_transport::registry::Parts;

use super::CommonSetup;
use crate::plan::SendingPlan;
use crate::sender::{SenderLog, SenderSession, SendingHalf};

/// The movie, its frame queue and its pace.
#[derive(Clone, Debug)]
pub(super) struct MovieSetup {
    pub(super) plan: SendingPlan,
    kind: TransportKind,
    queue: QueueKind,
    pub(super) pacing: Pacing,
}

impl MovieSetup {
    pub(super) fn new(plan: SendingPlan, kind: TransportKind, queue: QueueKind, pacing: Option<Pacing>) -> Self {
        let pacing = pacing.unwrap_or(Pacing::Sender);
        Self { plan, kind, queue, pacing }
    }

    pub(super) fn queue(&self) -> FrameQueue<Bytes> {
        FrameQueue::new(self.queue)
    }

    /// What its transport is made of.
    pub(super) fn parts(&self) -> Parts {
        self.kind.profile().parts
    }

    /// Whether the transport carries the movie's codec, and sound where there is any; the error says what would.
    pub(super) fn check_codec(&self) -> Result<(), String> {
        if let Some(sound) = self.plan.sound() {
            self.kind.check_sound(sound.format())?;
        }
        self.kind.check_codec(self.plan.codec())
    }

    pub(super) fn sender(&self, half: SendingHalf, common: &CommonSetup) -> SenderSession {
        SenderSession::new(self.plan.clone(), self.pacing, half, SenderLog::new(&common.recording))
    }
}
