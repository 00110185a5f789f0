//! What is at the two ends of a flow.

use framewire_units::Seed;

use super::{AdaptiveSetup, BuildError, BulkSetup, DatagramSetup, ExternalSetup, FlowSetup, StreamSetup};
use crate::lifecycle::{AdaptiveServing, AdaptiveViewing, MovieReceiving, MovieSending, ReceivedMovie};
use crate::plan::SendingPlan;
use crate::receiver::ReceiverSession;

/// What is at the two ends of a flow.
#[derive(Clone, Copy, Debug)]
pub enum Ends<'a> {
    /// The two halves of a session.
    Halves(Halves<'a>),
    /// Connections into which a world writes whatever they take.
    Bulk(&'a BulkSetup),
    /// Applications of the user's own.
    Applications(&'a ExternalSetup),
}

/// A flow that consists of the two halves of a session.
#[derive(Clone, Copy, Debug)]
pub enum Halves<'a> {
    /// The movie in datagrams.
    Datagram(&'a DatagramSetup),
    /// The movie as a stream of bytes.
    Stream(&'a StreamSetup),
    /// Levels of a ladder.
    Adaptive(&'a AdaptiveSetup),
}

impl FlowSetup {
    /// What is at its two ends.
    pub fn ends(&self) -> Ends<'_> {
        match self {
            Self::Datagram(setup) => Ends::Halves(Halves::Datagram(setup)),
            Self::Stream(setup) => Ends::Halves(Halves::Stream(setup)),
            Self::Adaptive(setup) => Ends::Halves(Halves::Adaptive(setup)),
            Self::Bulk(setup) => Ends::Bulk(setup),
            Self::External(setup) => Ends::Applications(setup),
        }
    }
}

impl DatagramSetup {
    /// Both ends; what comes whole of the movie and of its sound is kept so.
    pub fn ends(&self, received: [ReceivedMovie; 2]) -> (MovieSending, MovieReceiving) {
        let sending = MovieSending::new(self.sender(), self.common.samples());
        (sending, receiving(self.receiver(), self.plan(), received))
    }
}

impl StreamSetup {
    /// Both ends; what comes whole of the movie and of its sound is kept so.
    pub fn ends(&self, received: [ReceivedMovie; 2]) -> (MovieSending, MovieReceiving) {
        let sending = MovieSending::new(self.sender(), self.common.samples());
        (sending, receiving(self.receiver(), self.plan(), received))
    }
}

fn receiving(half: ReceiverSession, plan: &SendingPlan, [movie, sound]: [ReceivedMovie; 2]) -> MovieReceiving {
    let receiving = MovieReceiving::new(half, movie);
    match plan.sound() {
        Some(track) => receiving.with_sound(sound, Some(track.format())),
        None => receiving,
    }
}

impl AdaptiveSetup {
    /// Both ends, which draw from `session`; what comes whole of the movie is kept so.
    ///
    /// # Errors
    /// When the ladder cannot be served.
    pub fn ends(&self, session: Seed, movie: ReceivedMovie) -> Result<(AdaptiveServing, AdaptiveViewing), BuildError> {
        let serving = AdaptiveServing::new(self.sender(session)?, self.start, self.common.samples());
        Ok((serving, AdaptiveViewing::new(self.receiver(session), self.start, movie)))
    }
}
