//! The channels of a flow, and what each needs of the sockets behind it: said once by a flow's setup, and read by every world.

use framewire_units::DataSize;

use crate::flow::ConnectionSettings;
use crate::half::{Channel, ChannelId, ChannelKind, End};

/// The channel of the movie; the only one of a flow with neither RTCP nor sound with packets of its own.
pub const MOVIE_CHANNEL: ChannelId = ChannelId(0);

/// The channel of RTCP beside that of the movie: over UDP the next port up (RFC 3550, section 11).
pub const RTCP_CHANNEL: ChannelId = ChannelId(1);

/// The channel of sound that has packets of RTP for itself.
pub(crate) const SOUND_CHANNEL: ChannelId = ChannelId(2);

/// The channel on which a receiver asks for a movie that comes in datagrams.
pub(crate) const REQUESTS_CHANNEL: ChannelId = ChannelId(4);

/// By how much the port of a flow's sound is higher, where that has packets of RTP for itself: beyond the ports of 64 flows.
pub const SOUND_PORTS: u16 = 1_000;

/// The same of a flow that is alone between two machines: the next even port, as ports of RTP are even (RFC 3550, section 11).
pub(crate) const SOUND_PORT_BETWEEN_MACHINES: u16 = 2;

/// `SO_RCVBUF` of sockets to which packets of a stream come, as getsockopt reports it: what `net.core.rmem_max` of 212,992 bytes
/// allows without privilege, doubled by the kernel (socket(7)), in every world and on every machine.
const UDP_RECEIVE_BUFFER: DataSize = DataSize::from_bytes(425_984);

/// A channel of a flow, as a world opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelSetup {
    /// Its number.
    pub id: ChannelId,
    /// What goes on it.
    pub carries: Carries,
    /// By how much its port is higher than that of the flow, at both ends.
    pub port: u16,
    /// What its sockets are to be like.
    pub sockets: SocketsSetup,
}

/// What goes on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// The movie, from its sender.
    Movie,
    /// Its sound, from its sender.
    Sound,
    /// Levels of a ladder, from their server, and what asks for them.
    Levels,
    /// What the two ends say to each other about it.
    Control,
}

/// What the sockets of a channel are to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketsSetup {
    /// Of datagrams: at the sender, and at the receiver.
    Datagram([DatagramSocketSetup; 2]),
    /// Of a stream, which this end opens: at the sender. The receiver has the kernel's own settings.
    Stream(End, ConnectionSettings),
}

/// What a socket of datagrams is to be like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSocketSetup {
    /// Its send buffer.
    pub send_buffer: SendBuffer,
    /// `SO_RCVBUF` as getsockopt reports it; `None`: the kernel's own.
    pub receive_buffer: Option<DataSize>,
    /// It is to report drops in the device queue (IP_RECVERR).
    pub reports_errors: bool,
}

/// The send buffer of a socket of datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendBuffer {
    /// One of its own, of this `SO_SNDBUF` as getsockopt reports it; `None`: the kernel's own.
    Own(Option<DataSize>),
    /// In virtual time that of this channel; in a kernel, where each socket has its own, one of the same size.
    Of(ChannelId),
    /// The kernel's own, which never fills: in virtual time it is not counted.
    Ample,
}

impl DatagramSocketSetup {
    /// That of an end which says so little that its buffers do not matter.
    const AMPLE: Self = Self { send_buffer: SendBuffer::Ample, receive_buffer: None, reports_errors: false };

    /// The same to which packets of a stream come.
    const RECEIVING: Self = Self { receive_buffer: Some(UDP_RECEIVE_BUFFER), ..Self::AMPLE };
}

impl ChannelSetup {
    /// The channel itself.
    pub fn channel(&self) -> Channel {
        let kind = match self.sockets {
            SocketsSetup::Datagram(_) => ChannelKind::Datagram,
            SocketsSetup::Stream(opened_by, _) => ChannelKind::Stream(opened_by),
        };
        Channel { id: self.id, kind }
    }

    /// The channel of packets of the movie, or of its sound, whose sender's socket is like this; at the port of the flow.
    pub(crate) fn of_packets(id: ChannelId, send_buffer: Option<DataSize>, reports_errors: bool) -> Self {
        let carries = if id == SOUND_CHANNEL { Carries::Sound } else { Carries::Movie };
        let sender = DatagramSocketSetup {
            send_buffer: SendBuffer::Own(send_buffer),
            reports_errors,
            ..DatagramSocketSetup::AMPLE
        };
        let sockets = SocketsSetup::Datagram([sender, DatagramSocketSetup::RECEIVING]);
        Self { id, carries, port: 0, sockets }
    }

    /// The same at a port that is higher by so much.
    #[must_use]
    pub fn at(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// That of the reports about the packets of a channel: at the next port up (RFC 3550, section 11).
    pub(crate) fn of_reports(media: &Self) -> Self {
        let sockets = SocketsSetup::Datagram([DatagramSocketSetup::AMPLE; 2]);
        Self { id: rtcp_of(media.id), carries: Carries::Control, port: media.port + 1, sockets }
    }

    /// The channel of a movie in a stream of bytes, which this end opens.
    pub(crate) fn of_stream(opened_by: End, connection: &ConnectionSettings) -> Self {
        let sockets = SocketsSetup::Stream(opened_by, connection.clone());
        Self { id: MOVIE_CHANNEL, carries: Carries::Movie, port: 0, sockets }
    }

    /// That of a connection beside a movie in datagrams, of which no more is known: the receiver opens it.
    pub fn beside_datagrams() -> Self {
        Self::of_requests(1_500)
    }

    /// That on which a receiver asks for a movie in packets, which it opens; packets of the network have at most `mtu` bytes.
    pub(crate) fn of_requests(mtu: u16) -> Self {
        let sockets = SocketsSetup::Stream(End::Receiver, ConnectionSettings::of_kernel(mtu));
        Self { id: REQUESTS_CHANNEL, carries: Carries::Control, port: 0, sockets }
    }

    /// The two channels of levels of a ladder: for packets, and at the next port up for control (section 5.1 of the VTP paper).
    pub(crate) fn of_levels([packets, control]: [ChannelId; 2], send_buffer: Option<DataSize>) -> Vec<Self> {
        let of = |id, carries, port, send_buffer| {
            let sender = DatagramSocketSetup { send_buffer, ..DatagramSocketSetup::RECEIVING };
            let sockets = SocketsSetup::Datagram([sender, DatagramSocketSetup::RECEIVING]);
            Self { id, carries, port, sockets }
        };
        let own = SendBuffer::Own(send_buffer);
        vec![of(packets, Carries::Levels, 0, own), of(control, Carries::Control, 1, SendBuffer::Of(packets))]
    }

    /// The channel of a movie of which no more is known than its socket: of a stream that is announced.
    pub fn of_announced(is_stream: bool) -> Self {
        match is_stream {
            true => Self::of_stream(End::Sender, &ConnectionSettings::of_kernel(1_500)),
            false => Self::of_packets(MOVIE_CHANNEL, None, false),
        }
    }

    /// The channel of sound that has packets for itself, beside that of a movie of which no more is known; at the port of the flow.
    pub(crate) fn of_announced_sound() -> Self {
        Self::of_packets(SOUND_CHANNEL, None, false)
    }

    /// The same of a stream that is asked for: the receiver opens it.
    pub fn of_asked() -> Self {
        Self::of_stream(End::Receiver, &ConnectionSettings::of_kernel(1_500))
    }

    /// True where what its sockets hold is a part of the stream, and not said about it.
    pub fn is_media(&self) -> bool {
        self.carries != Carries::Control
    }
}

/// The channel of the reports about the packets of a channel.
pub(crate) const fn rtcp_of(media: ChannelId) -> ChannelId {
    ChannelId(media.0 + 1)
}
