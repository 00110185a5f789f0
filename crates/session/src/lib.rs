//! Sans-IO assembly of one run, the same in every world: frame clock, flow wiring, playout, events into the ledger.
//!
//! A world owns clocks and sockets. It gives a [`SenderSession`] its socket whenever that is writable or a frame is
//! due, and a [`ReceiverSession`] whatever arrived. Both only record; the ledger is made of their logs. What a flow does
//! from its begin to its end, in every world, is in [`lifecycle`], and what its two halves have in common in [`half`].
#![warn(unreachable_pub)]

mod adaptive;
mod announcement;
mod content;
mod dependencies;
pub mod exchange;
mod flow;
pub mod half;
pub mod lifecycle;
mod plan;
mod receiver;
mod rtcp;
mod rtcp_records;
mod sender;
pub mod served;
mod sound;

pub use adaptive::{AdaptiveReceiver, AdaptiveSender, LadderContent, LadderContentError, channel_id, channel_of};
pub use announcement::{Announcement, AnnouncementError};
pub use content::{ContentLog, ContentMatcher};
pub use flow::{
    AdaptiveSetup, BuildError, BulkSetup, CommonSetup, ConnectionSettings, DatagramSetup, ExternalSetup, FlowRecording,
    FlowSetup, StreamSetup,
};
pub use plan::SendingPlan;
pub use receiver::{ReceiverLog, ReceiverSession, ReceivingHalf};
pub use rtcp::{RTCP_CHANNEL, RtcpLog};
pub use rtcp_records::rtcp_records;
pub use sender::{
    MOVIE_CHANNEL, SenderLog, SenderProgress, SenderSession, SenderSocket, SenderWait, SendingHalf, as_sent,
};
pub use sound::{SOUND_CHANNEL, SOUND_RTCP_CHANNEL, Sound, SoundError};
