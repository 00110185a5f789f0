//! The movie as a stream of bytes over TCP.

use framewire_scenario as scenario;
use framewire_transport::{Pacing as ReceiverPacing, StreamReceiver, StreamSender};

use super::movie::MovieSetup;
use super::{CommonSetup, ConnectionSettings};
use crate::plan::SendingPlan;
use crate::receiver::{ReceiverLog, ReceiverSession, ReceivingHalf};
use crate::sender::{Pacing, SenderSession, SendingHalf};

/// A flow of the movie over a byte stream.
#[derive(Clone, Debug)]
pub struct StreamSetup {
    /// What all flows have.
    pub common: CommonSetup,
    movie: MovieSetup,
    /// What the sender's socket is to be like.
    pub connection: ConnectionSettings,
}

impl StreamSetup {
    pub(super) fn new(common: CommonSetup, own: &scenario::StreamFlow, plan: SendingPlan) -> Self {
        let connection = common.connection(&own.tcp);
        Self { common, movie: MovieSetup::new(plan, own.transport, own.queue, own.pacing), connection }
    }

    /// What it sends.
    pub fn plan(&self) -> &SendingPlan {
        &self.movie.plan
    }

    /// The sender's side.
    pub fn sender(&self) -> SenderSession {
        let half = StreamSender::new(self.movie.queue(), self.connection.unsent_limit);
        self.movie.sender(SendingHalf::Stream(half), &self.common)
    }

    /// The receiver's side.
    pub fn receiver(&self) -> ReceiverSession {
        let pacing = match self.movie.pacing {
            Pacing::Receiver => ReceiverPacing::Playout { frame_rate: self.plan().frame_rate() },
            Pacing::Sender | Pacing::Nobody => ReceiverPacing::Immediate,
        };
        let half = ReceivingHalf::Stream(StreamReceiver::new(pacing).of_codec(self.plan().codec()));
        ReceiverSession::new(half, ReceiverLog::in_directory(self.common.scratch.clone()))
    }
}
