//! What packets carry through the network of a simulation.

use framewire_tcp::Segment;

use crate::record::PacketRecorder;
use crate::wires::Wires;

/// The network of a simulation of flows.
pub(crate) type FlowWires = Wires<Cargo, PacketRecorder>;

/// A packet of a flow.
pub(crate) struct Cargo {
    pub(crate) flow: u16,
    /// Bytes above UDP or TCP.
    pub(crate) payload: u32,
    pub(crate) body: Body,
}

/// What a packet is.
pub(crate) enum Body {
    /// A datagram; its bytes.
    Datagram(Vec<u8>),
    /// A segment; the bytes of its payload are beside the endpoints.
    Segment(Segment),
}

impl Cargo {
    pub(crate) fn datagram(flow: usize, bytes: Vec<u8>) -> Self {
        Self { flow: flow as u16, payload: bytes.len() as u32, body: Body::Datagram(bytes) }
    }

    pub(crate) fn segment(flow: usize, segment: Segment) -> Self {
        Self { flow: flow as u16, payload: segment.payload, body: Body::Segment(segment) }
    }

    /// What it is; a datagram's bytes are moved out.
    pub(crate) fn take_body(&mut self) -> Body {
        match &mut self.body {
            Body::Datagram(bytes) => Body::Datagram(std::mem::take(bytes)),
            Body::Segment(segment) => Body::Segment(*segment),
        }
    }
}
