//! What packets carry through the network of a simulation.

use framewire_session::half::ChannelId;
use framewire_tcp::Segment;
use framewire_units::{DataSize, Ecn};

use crate::wires::Carried;

/// Bytes of the headers of IPv4 (RFC 791, 3.1) and UDP (RFC 768).
const IP_AND_UDP_HEADERS: u64 = 28;

/// A packet of a flow.
pub(crate) struct PacketContent {
    pub(crate) flow: u16,
    /// Number of its channel; of a bulk flow that of the connection.
    pub(crate) connection: u8,
    /// Bytes above UDP or TCP.
    pub(crate) payload: u32,
    pub(crate) body: Body,
}

/// What a packet is.
pub(crate) enum Body {
    /// A datagram; with the sequence number of what it carries, where its sender counts that.
    Datagram(Option<u32>, Vec<u8>),
    /// A segment; the bytes of its payload are beside the endpoints.
    Segment(Segment),
}

impl Carried for PacketContent {
    fn ecn(&self) -> Ecn {
        match &self.body {
            Body::Datagram(..) => Ecn::NotEct,
            Body::Segment(segment) => segment.ecn,
        }
    }

    fn mark(&mut self) {
        if let Body::Segment(segment) = &mut self.body {
            segment.ecn = Ecn::Ce;
        }
    }

    fn connection(&self) -> u32 {
        u32::from(self.flow) << 8 | u32::from(self.connection)
    }
}

impl PacketContent {
    /// A datagram from the socket of this channel.
    pub(crate) fn datagram(flow: usize, channel: ChannelId, sequence: Option<u32>, bytes: Vec<u8>) -> Self {
        let payload = bytes.len() as u32;
        Self { flow: flow as u16, connection: channel.0, payload, body: Body::Datagram(sequence, bytes) }
    }

    /// A segment of this connection.
    pub(crate) fn segment(flow: usize, connection: u8, segment: Segment) -> Self {
        Self { flow: flow as u16, connection, payload: segment.payload, body: Body::Segment(segment) }
    }

    /// Bytes of its IP packet; before its body was taken.
    pub(crate) fn packet_size(&self) -> DataSize {
        match &self.body {
            Body::Datagram(_, bytes) => DataSize::from_bytes(bytes.len() as u64 + IP_AND_UDP_HEADERS),
            Body::Segment(segment) => segment.packet_size(),
        }
    }

    /// What it is; a datagram's bytes are moved out.
    pub(crate) fn take_body(&mut self) -> Body {
        match &mut self.body {
            Body::Datagram(sequence, bytes) => Body::Datagram(*sequence, std::mem::take(bytes)),
            Body::Segment(segment) => Body::Segment(*segment),
        }
    }
}
