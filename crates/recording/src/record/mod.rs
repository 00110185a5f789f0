//! Raw records of one flow, as the worlds and the session collect them. The ledger is made of them.

mod flow;
mod frames;
mod packets;
mod rtcp;
mod samples;

pub use self::flow::{BulkTotals, FlowLog, FlowStatus, PacketsAhead, Stuffing};
pub use self::frames::{FoundStream, FrameEvent, FrameEventKind, FrameFacts, FrameFound, LossPlace};
pub use self::packets::{
    AirCounts, DatagramReceived, DatagramSent, FIRST_OF_SOUND, HandedOn, PacketRecord, ReleaseRecord, StreamRead,
    TransmissionCounts,
};
pub use self::rtcp::RtcpRecord;
pub use self::samples::{FlowSample, RateSample};
