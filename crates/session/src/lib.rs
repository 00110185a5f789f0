//! Sans-IO assembly of one run, the same in every world: frame clock, flow wiring, playout, events into the ledger.
//!
//! A world owns clocks and sockets. It opens what a flow's [channels](ChannelSetup) say, and drives the two ends of the flow
//! ([`lifecycle`]), which are made of two [halves](half): [`SenderSession`] and [`ReceiverSession`] of the movie, and those of
//! an adaptive stream. Both only record; the ledger is made of their logs.
#![warn(unreachable_pub)]

mod adaptive;
mod announcement;
mod channels;
mod client_request;
mod content;
mod dependencies;
mod exchange;
mod flow;
mod frame_counts;
pub mod half;
pub mod lifecycle;
mod plan;
mod receivable;
mod receiver;
mod rtcp;
mod rtcp_records;
mod sender;
pub mod served;
mod sound;

pub use adaptive::{AdaptiveReceiver, AdaptiveSender, LadderContent, LadderContentError};
pub use announcement::{ASSUMED_RATE, Announcement, AnnouncementError, ReportedSession};
pub use channels::{
    Carries, ChannelSetup, DatagramSocketSetup, MOVIE_CHANNEL, RTCP_CHANNEL, SOUND_PORTS, SendBuffer, SocketsSetup,
};
pub use client_request::ClientRequest;
pub use content::{ContentLog, ContentMatcher};
pub use flow::{
    AdaptiveSetup, BuildError, BulkSetup, CommonSetup, ConnectionSettings, DatagramSetup, DescribedSound, Ends,
    ExternalSetup, FlowRecording, FlowSetup, Halves, RtpSeed, StreamSetup,
};
pub use frame_counts::{FrameCounts, FrameFates};
pub use plan::SendingPlan;
pub use receivable::{ReceivableSound, codec_of, codec_of_file};
pub use receiver::{ReceiverLog, ReceiverSession, ReceivingHalf};
pub use rtcp::RtcpLog;
pub use rtcp_records::{rtcp_records, rtcp_records_of_sender};
pub use sender::{SenderLog, SenderSession, SendingHalf, as_sent};
pub use sound::{Sound, SoundError};
