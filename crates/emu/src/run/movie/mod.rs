//! A flow of the movie: both of its ends, over this kernel's sockets.

mod asked;
mod receiving;
mod reports;
mod sending;
mod socket;

use framewire_emu::{Clock, Lane};
use framewire_session::lifecycle::{FlowOutcome, MovieSending};
use framewire_sockets::OpenError;

pub use self::receiving::{Files, Listening};
use self::sending::send;
pub use self::socket::SenderSocket;
use crate::control::{Failure, FlowProgress, StopFlag};

/// What both threads of a flow of the movie are given.
pub struct MovieFlow<'a> {
    /// Its network.
    pub lane: Lane<'a>,
    /// The run's clock.
    pub clock: Clock,
    /// What is shown of it.
    pub progress: &'a FlowProgress,
    /// Ends it early.
    pub stop: &'a StopFlag,
}

impl MovieFlow<'_> {
    /// Both ends, to the end: `session` sends over the socket that `open` opens in the sender's host, and `settle` waits until
    /// nothing is under way in the network.
    ///
    /// # Errors
    /// When the kernel does not let a thread into a host, or a thread panics.
    pub fn stream(
        &self,
        (sending, open): (MovieSending, impl FnOnce() -> Result<SenderSocket, OpenError> + Send),
        listening: Listening,
        settle: impl FnOnce(),
    ) -> Result<FlowOutcome, Failure> {
        let end = StopFlag::new()?;
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| listening.receive(self, &end));
            let sent = self.lane.in_sender(|| send(self, sending, open));
            if !sent.as_ref().is_ok_and(MovieSending::tells_its_end) {
                settle();
                end.raise();
            }
            let received =
                receiver.join().map_err(|_| Failure::run("a receiver panicked; please report this defect"))?;
            Ok(received.into_outcome(sent?).0)
        })
    }
}
