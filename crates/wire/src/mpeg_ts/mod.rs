//! MPEG transport streams (ISO/IEC 13818-1, which is also ITU-T H.222.0): packets of 188 bytes with elementary streams,
//! tables and a clock.
//!
//! Clauses without a name are those of ISO/IEC 13818-1. A [`Multiplexer`] turns access units of one program into packets,
//! in datagrams of their own or one behind the other, at a variable or a constant rate; a [`Demultiplexer`] turns packets,
//! whatever arrives, back into access units. A [`Packetizer`] and a [`Depacketizer`] do so for the frames of one video
//! track, in datagrams of their own, with RTP or without.

mod adaptation;
mod buffers;
mod clock;
mod constant;
mod constant_packetizer;
mod continuity;
mod crc;
mod delimiter;
mod demultiplexer;
pub(crate) mod depacketizer;
mod description;
mod elementary;
mod least_rate;
mod multiplexer;
mod packet;
mod packetizer;
mod pes;
mod received;
mod section;
mod settings;
mod stream_type;
mod sync;
mod tables;
#[cfg(test)]
mod tests;
mod variable;
mod writer;

pub use adaptation::Adaptation;
pub use clock::{CLOCK_WRAP, Unwrapper};
pub use constant_packetizer::{ConstantPacketizer, FramePart, Group};
pub use demultiplexer::Demultiplexer;
pub use depacketizer::Depacketizer;
pub use least_rate::PlannedUnit;
pub use multiplexer::{Multiplexer, Unit, UnitError};
pub use packet::{HEADER_LENGTH, NULL_PID, PACKET_LENGTH, Packet, PacketError, SYNC_BYTE};
pub use packetizer::{Frame, PAYLOAD_TYPE, Packetizer, reference};
pub use pes::PesError;
pub use received::{Counters, Fault, ReceivedUnit};
pub use section::SectionError;
pub use settings::{Layout, Rate, Settings, SettingsError};
pub use stream_type::StreamType;
pub use tables::{MOST_TRACKS, Program, Track};
