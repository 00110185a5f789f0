//! What packets carry through the network of a simulation.

use framewire_adaptive::datagram::Channel;
use framewire_session::half::ChannelId;
use framewire_tcp::Segment;
use framewire_units::DataSize;

use crate::socket;

/// A packet of a flow.
pub(crate) struct Cargo {
    pub(crate) flow: u16,
    /// Number of the connection, where the flow is several; of datagrams of a movie and of reports about them that of the
    /// channel.
    pub(crate) connection: u8,
    /// Bytes above UDP or TCP.
    pub(crate) payload: u32,
    pub(crate) body: Body,
}

/// What a packet is.
pub(crate) enum Body {
    /// A datagram of a movie's transport; its bytes.
    Datagram(Vec<u8>),
    /// A datagram of an adaptive stream, with the sequence number of what it carries, where it carries video or audio.
    Session(Channel, Option<u32>, Vec<u8>),
    /// A segment; the bytes of its payload are beside the endpoints.
    Segment(Segment),
}

impl Cargo {
    /// A datagram of a movie's transport, from the socket of this channel.
    pub(crate) fn datagram(flow: usize, channel: ChannelId, bytes: Vec<u8>) -> Self {
        Self { flow: flow as u16, connection: channel.0, payload: bytes.len() as u32, body: Body::Datagram(bytes) }
    }

    /// A datagram of RTCP, from the socket of this channel.
    pub(crate) fn report(flow: usize, channel: ChannelId, bytes: Vec<u8>) -> Self {
        Self { connection: channel.0, ..Self::session(flow, Channel::Control, None, bytes) }
    }

    pub(crate) fn session(flow: usize, channel: Channel, sequence: Option<u32>, bytes: Vec<u8>) -> Self {
        let payload = bytes.len() as u32;
        Self { flow: flow as u16, connection: 0, payload, body: Body::Session(channel, sequence, bytes) }
    }

    pub(crate) fn segment(flow: usize, segment: Segment) -> Self {
        Self::segment_of(flow, 0, segment)
    }

    pub(crate) fn segment_of(flow: usize, connection: u8, segment: Segment) -> Self {
        Self { flow: flow as u16, connection, payload: segment.payload, body: Body::Segment(segment) }
    }

    /// Bytes of its IP packet; before its body was taken.
    pub(crate) fn packet_size(&self) -> u64 {
        match &self.body {
            Body::Datagram(bytes) | Body::Session(_, _, bytes) => {
                socket::packet_size(DataSize::from_bytes(bytes.len() as u64)).as_bytes()
            }
            Body::Segment(segment) => segment.packet_size().as_bytes(),
        }
    }

    /// What it is; a datagram's bytes are moved out.
    pub(crate) fn take_body(&mut self) -> Body {
        match &mut self.body {
            Body::Datagram(bytes) => Body::Datagram(std::mem::take(bytes)),
            Body::Session(channel, sequence, bytes) => Body::Session(*channel, *sequence, std::mem::take(bytes)),
            Body::Segment(segment) => Body::Segment(*segment),
        }
    }
}
