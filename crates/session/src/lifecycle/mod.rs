//! A flow from its begin to its end, the same in every world: stream, drain, settle, samples and status.
//!
//! Sans-IO: time is an argument, [sockets](HostSockets) are a trait, and nothing waits. A world calls in when what was asked for
//! has come, and looks at the answer.
//!
//! - [`FlowEnds`] are the two ends of any flow that has them, each a [`FlowEnd`]:
//! - [`MovieSending`] and [`MovieReceiving`] are the two ends of a flow of the movie, and [`Settling`] the time between them.
//! - [`AdaptiveServing`] and [`AdaptiveViewing`] are those of a stream of levels of a ladder.
//! - [`BulkSending`] is the application of connections that always have data.
//! - [`ReceivedMovie`] is where the frames go that came whole, states are noted every [`SAMPLE_INTERVAL`], and
//!   [`FlowOutcome`] is what a flow leaves behind.

mod adaptive;
mod bulk;
mod end;
mod outcome;
mod received_movie;
mod receiving;
#[cfg(test)]
mod request_tests;
mod sampling;
mod sending;
mod settling;
mod sockets;
#[cfg(test)]
mod tests;

pub use self::adaptive::{AdaptiveServing, AdaptiveViewing};
pub use self::bulk::BulkSending;
pub use self::end::{EndProgress, FlowEnd, FlowEnds, Notice};
pub use self::outcome::FlowOutcome;
pub use self::received_movie::{MovieSink, ReceivedMovie};
pub use self::receiving::MovieReceiving;
pub use self::sampling::SAMPLE_INTERVAL;
pub use self::sending::MovieSending;
pub use self::settling::{Settling, UnderWay};
pub use self::sockets::{Came, HostSockets};
