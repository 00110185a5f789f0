use framewire_units::{DataSize, Timestamp};

use super::error::{PacketError, check_length};
use super::header::{HEADER_LENGTH, Header, PacketType, emit_time, time_at, u32_at};

/// Bytes of a control packet without authentication.
pub(crate) const CONTROL_LENGTH: usize = HEADER_LENGTH + EXTENSION_LENGTH;

const EXTENSION_LENGTH: usize = 20;

/// No statement about the buffer.
const BUFFER_UNKNOWN: u32 = u32::MAX;

/// A control packet (section 4.1): the header of the video packet that asked for it, with the receiver's time stamp
/// and SIZE filled in, and an extension that the paper does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlPacket {
    /// The session, from the copied header.
    pub session: u64,
    /// Sequence number of the video packet that asked.
    pub sequence: u32,
    /// Sender's time stamp of the video packet that asked.
    pub sender_time: Timestamp,
    /// When the video packet that asked arrived: t_k of equation 1.
    pub receiver_time: Timestamp,
    /// SIZE: bytes of video received since the previous control packet, the packet that asked included: the sum of
    /// equation 1.
    pub size: DataSize,
    /// Counts the control packets of the session from 0: an old one is recognised, also when it is a replay.
    pub report: u32,
    /// When the first packet counted in `size` arrived: t_1 of equation 1, which the printed header cannot carry.
    pub first_arrival: Timestamp,
    /// Packets counted in `size`.
    pub packets: u32,
    /// Free room in the client's buffer (the suggestion of section 4.2); the paper's client does not say.
    pub buffer_free: Option<DataSize>,
}

impl ControlPacket {
    pub(super) fn parse(header: &Header, body: &[u8]) -> Result<Self, PacketError> {
        check_length("control packet", HEADER_LENGTH + body.len(), CONTROL_LENGTH)?;
        let free = u32_at(body, 16);
        Ok(Self {
            session: header.session,
            sequence: header.sequence,
            sender_time: header.sender_time,
            receiver_time: header.receiver_time,
            size: header.size,
            report: u32_at(body, 0),
            first_arrival: time_at(body, 4)?,
            packets: u32_at(body, 12),
            buffer_free: (free != BUFFER_UNKNOWN).then(|| DataSize::from_bytes(u64::from(free))),
        })
    }

    /// Appends the packet to `out`. Sizes beyond 32 bits are written as the largest that the field has.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let header = Header {
            packet_type: PacketType::Control,
            session: self.session,
            sequence: self.sequence,
            sender_time: self.sender_time,
            receiver_time: self.receiver_time,
            size: self.size,
        };
        header.emit(out);
        out.extend(self.report.to_be_bytes());
        emit_time(self.first_arrival, out);
        out.extend(self.packets.to_be_bytes());
        let free = self.buffer_free.map_or(BUFFER_UNKNOWN, |free| {
            u32::try_from(free.as_bytes()).map_or(BUFFER_UNKNOWN - 1, |free| free.min(BUFFER_UNKNOWN - 1))
        });
        out.extend(free.to_be_bytes());
    }
}
