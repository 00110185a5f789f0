//! The two ends of a flow, whatever it carries, as a world drives them that waits for sockets.

use framewire_units::{Seed, Timestamp};

use super::adaptive::{AdaptiveServing, AdaptiveViewing};
use super::outcome::FlowOutcome;
use super::received_movie::ReceivedMovie;
use super::receiving::MovieReceiving;
use super::sending::MovieSending;
use super::sockets::HostSockets;
use crate::flow::{BuildError, Halves};
use crate::frame_counts::FrameCounts;
use crate::half::{ChannelId, Wait};

/// What is shown of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndProgress {
    /// Its frames.
    pub frames: FrameCounts,
    /// All is written, and has still to leave the host.
    pub is_draining: bool,
}

/// How the other end of a flow comes to know that one has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The stream itself says so.
    InStream,
    /// The world says so, when what was under way has [settled](super::Settling).
    WhenSettled,
    /// The world says so at once: the other end waits as long as it has to.
    AtOnce,
}

/// One end of a flow.
///
/// Contract: from [`start`](Self::start) on, [`poll`](Self::poll) it as long as it says that there may be more, then wait for
/// what it [waits](Self::wait) for, for something on channels that it [wants](Self::wants), or for the other end, whose end it
/// is [told](Self::handle_other_ended): by then nothing is under way to it any more that it could wait for.
pub trait FlowEnd {
    /// When it begins.
    fn start(&self) -> Timestamp;

    /// When it has something to do first by its own clock, where it has one: what lateness is counted from.
    fn first_due(&self) -> Option<Timestamp> {
        None
    }

    /// Takes what came, does what is due, and sends what the sockets take. True where there may be more to take: it is to be
    /// called again at once.
    fn poll(&mut self, now: Timestamp, sockets: &mut dyn HostSockets) -> bool;

    /// Whether what comes on a channel is taken now.
    fn wants(&self, now: Timestamp, channel: ChannelId) -> bool;

    /// What it waits for.
    fn wait(&self) -> Wait;

    /// Ends it early.
    fn stop(&mut self, now: Timestamp);

    /// Ends it because the world cannot go on.
    fn fail(&mut self, now: Timestamp, reason: String);

    /// The other end has ended.
    fn handle_other_ended(&mut self, now: Timestamp);

    /// How the other end comes to know that this one has ended, which it has.
    fn notice(&self) -> Notice {
        Notice::AtOnce
    }

    /// What is shown of it.
    fn progress(&self) -> EndProgress;
}

/// Both ends of a flow.
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved in a hot path")]
pub enum FlowEnds {
    /// Of the movie.
    Movie(MovieSending, MovieReceiving),
    /// Of levels of a ladder.
    Levels(AdaptiveServing, AdaptiveViewing),
}

impl FlowEnds {
    /// Those of a flow whose halves draw from `session`; what comes whole of the movie and of its sound is kept so.
    ///
    /// # Errors
    /// When the flow cannot be built.
    pub fn of(halves: Halves<'_>, session: Seed, received: [ReceivedMovie; 2]) -> Result<Self, BuildError> {
        let (sending, receiving) = match halves {
            Halves::Datagram(setup) => setup.ends(received),
            Halves::Stream(setup) => setup.ends(received),
            Halves::Adaptive(setup) => {
                let [movie, _] = received;
                let (serving, viewing) = setup.ends(session, movie)?;
                return Ok(Self::Levels(serving, viewing));
            }
        };
        Ok(Self::Movie(sending, receiving))
    }

    /// Both, the sender first.
    pub fn both(&mut self) -> [&mut (dyn FlowEnd + Send); 2] {
        match self {
            Self::Movie(sending, receiving) => [sending, receiving],
            Self::Levels(serving, viewing) => [serving, viewing],
        }
    }

    /// What the flow leaves behind, now that both ends have ended, and the movie as received where that was kept in memory.
    pub fn into_outcome(self) -> (FlowOutcome, Vec<u8>) {
        match self {
            Self::Movie(sending, receiving) => receiving.into_outcome(sending),
            Self::Levels(serving, viewing) => viewing.into_outcome(serving),
        }
    }
}
