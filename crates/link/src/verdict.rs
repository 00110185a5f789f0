//! What goes into a network and what comes out.

use framewire_units::{Bitrate, DataSize, Ecn, Timestamp};

use crate::rates::Rates;

/// Number of a packet, chosen by the world and unique in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u64);

/// A packet as a link sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its number.
    pub id: PacketId,
    /// Size of the IP datagram; each link adds its own framing.
    pub size: DataSize,
    /// Its ECN field. A queue may change it on the way, so it is given again where the packet comes out.
    pub ecn: Ecn,
    /// Names its connection, so that a queue can keep connections apart (RFC 8290, section 4.1.1): packets with the same
    /// addresses, ports and protocol have the same number, others another one.
    pub flow: u32,
    /// The node that it is for. Between two hosts the network knows that itself.
    pub to: NodeId,
}

impl Packet {
    /// A packet to the receiver, of a transport that does not know ECN, of connection 0.
    pub const fn new(id: PacketId, size: DataSize) -> Self {
        Self { id, size, ecn: Ecn::NotEct, flow: 0, to: NodeId::RECEIVER }
    }
}

/// A node of a network, where packets enter and leave, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u16);

impl NodeId {
    /// The streaming sender's host in a network between two hosts.
    pub const SENDER: Self = Self(0);
    /// The streaming receiver's host in a network between two hosts.
    pub const RECEIVER: Self = Self(1);

    /// The host that is a wireless station of number `number` on the sender's side
    /// ([`WifiNetworkConfig::further_stations`](crate::WifiNetworkConfig)); station 0 is the sender itself.
    pub const fn station(number: u16) -> Self {
        if number == 0 { Self::SENDER } else { Self(number + 1) }
    }
}

/// A stage of the way where a packet can wait or die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hop {
    /// Queue and medium of the sending host's own interface.
    SenderDevice,
    /// Queue and medium of the access point, towards its stations.
    AccessPoint,
    /// The queue of a wired bottleneck beyond the host.
    Bottleneck,
    /// A wired link that is not the bottleneck.
    Wire,
    /// A link of a [graph](crate::GraphConfig): of wired links each direction by its number, and behind them of each cell its
    /// stations and its access point.
    Link(u16),
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropCause {
    /// The queue had no room.
    QueueFull,
    /// No acknowledgement after the maximal number of transmissions.
    RetryLimit,
    /// The link's loss process took it.
    RandomLoss,
    /// The link was down.
    Outage,
    /// The discipline of the queue dropped it although there was room (RFC 7567).
    ActiveQueueManagement,
    /// A policer had no tokens for it (RFC 2697).
    Policed,
}

/// The verdict of one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It reached the other end of the hop.
    Delivered,
    /// It did not.
    Dropped(DropCause),
}

/// One packet's life on one hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopRecord {
    /// The packet.
    pub packet: PacketId,
    /// The hop.
    pub hop: Hop,
    /// IP bytes.
    pub size: DataSize,
    /// When it entered the hop's queue.
    pub enqueued: Timestamp,
    /// True when it was seen too late and its arrival was moved to the model's present.
    pub clamped: bool,
    /// When it left the queue and its first transmission began; `None` when it never did.
    pub started: Option<Timestamp>,
    /// When the hop was done with it: arrival at the other end, or the moment of the drop.
    pub finished: Timestamp,
    /// Rate of every transmission, in order; one entry on a wired link, none when dropped in the queue.
    pub transmissions: Rates,
    /// The hop's queue saw congestion and said so in the packet's ECN field (RFC 3168, section 5).
    pub marked: bool,
    /// What became of it.
    pub outcome: Outcome,
}

/// A transmission that the sniffer beside the sender captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SniffedFrame {
    /// The packet.
    pub packet: PacketId,
    /// When its transmission ended.
    pub at: Timestamp,
    /// 1 for the first transmission.
    pub attempt: u16,
    /// Rate on the air.
    pub rate: Bitrate,
}

/// The next moment at which a model has something to do, and which part asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// When.
    pub at: Timestamp,
    /// The part that asked.
    pub reason: TimeoutReason,
}

/// The part of a link model that asked to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutReason {
    /// A queue's head has been serialised.
    Departure,
    /// A packet on the wire arrives.
    Propagation,
    /// A station's access to the medium is settled.
    Contention,
    /// An exchange on the air ends.
    ExchangeEnd,
}
