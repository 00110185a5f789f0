//! The transports by name, each with its parts, its defaults and the reasons for them.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use framewire_units::DataSize;

use crate::datagram::Overflow;
use crate::dependency::DependencyQueue;
use crate::frame::Payload;
use crate::ifd::IfdPolicy;
use crate::queue::{FrameQueue, QueueKind};
use crate::rivals::{KeyframeRecovery, LeakyDownstream, Thresholds};

/// A transport: a frame queue, a writer, and the kernel settings that make it what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransportKind {
    /// RTP over UDP; a send waits for room.
    UdpBlocking,
    /// RTP over UDP; the device queue overflows silently.
    Udp,
    /// RTP over UDP; once a packet did not fit, the rest of its frame is not sent.
    UdpWhole,
    /// I-Frame Delay over blocking UDP sends.
    UdpIfd,
    /// The elementary stream over TCP.
    Tcp,
    /// I-Frame Delay over TCP.
    TcpIfd,
    /// I-Frame Delay over TCP that also gives up what refers to a frame given up.
    TcpIfdOptimised,
    /// Dropping by dependency over blocking UDP sends.
    UdpDependency,
    /// Dropping by dependency over TCP.
    TcpDependency,
    /// As GStreamer's `queue leaky=downstream ! tcpclientsink`.
    TcpLeaky,
    /// As GStreamer's `tcpserversink recover-policy=keyframe`.
    TcpKeyframe,
    /// As the RTMP output of OBS Studio.
    TcpObs,
}

/// The kind of socket that a transport writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// RTP packets (RFC 2250), one per datagram.
    Datagram(Overflow),
    /// The elementary stream as bytes.
    Stream,
}

/// What a transport is made of, and its default settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Its name in scenario files.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What it writes to, and what it does when that is full.
    pub socket: SocketKind,
    /// Which frame goes next.
    pub queue: QueueKind,
    /// `SO_SNDBUF` as getsockopt reports it; `None`: the kernel's own (for TCP: autotuned).
    pub send_buffer: Option<DataSize>,
    /// Length of the sending device's queue (txqueuelen) in packets.
    pub device_queue: u32,
    /// `TCP_NOTSENT_LOWAT`; `None`: not set.
    pub unsent_limit: Option<DataSize>,
    /// Why these settings.
    pub reason: &'static str,
}

impl TransportKind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 12] = [
        Self::UdpBlocking,
        Self::Udp,
        Self::UdpWhole,
        Self::UdpIfd,
        Self::UdpDependency,
        Self::Tcp,
        Self::TcpIfd,
        Self::TcpIfdOptimised,
        Self::TcpDependency,
        Self::TcpLeaky,
        Self::TcpKeyframe,
        Self::TcpObs,
    ];

    /// Its parts and defaults.
    pub const fn profile(self) -> &'static Profile {
        match self {
            Self::UdpBlocking => &UDP_BLOCKING,
            Self::Udp => &UDP,
            Self::UdpWhole => &UDP_WHOLE,
            Self::UdpIfd => &UDP_IFD,
            Self::Tcp => &TCP,
            Self::TcpIfd => &TCP_IFD,
            Self::TcpIfdOptimised => &TCP_IFD_OPTIMISED,
            Self::UdpDependency => &UDP_DEPENDENCY,
            Self::TcpDependency => &TCP_DEPENDENCY,
            Self::TcpLeaky => &TCP_LEAKY,
            Self::TcpKeyframe => &TCP_KEYFRAME,
            Self::TcpObs => &TCP_OBS,
        }
    }

    /// Its name in scenario files.
    pub const fn name(self) -> &'static str {
        self.profile().name
    }

    /// True where it waits for room and gives no frame up, so that the frame clock can be left out.
    pub const fn waits_for_room(self) -> bool {
        let profile = self.profile();
        matches!(profile.queue, QueueKind::Direct)
            && matches!(profile.socket, SocketKind::Stream | SocketKind::Datagram(Overflow::Wait))
    }

    /// True over a byte stream.
    pub const fn is_stream(self) -> bool {
        matches!(self.profile().socket, SocketKind::Stream)
    }

    /// What it does when the socket is full; `None` over a byte stream.
    pub const fn overflow(self) -> Option<Overflow> {
        match self.profile().socket {
            SocketKind::Datagram(overflow) => Some(overflow),
            SocketKind::Stream => None,
        }
    }

    /// True when the socket is to report drops in the device queue (IP_RECVERR): `udp-whole` lives on such reports,
    /// while `udp` is what an application gets that does not ask.
    pub const fn wants_error_reports(self) -> bool {
        matches!(self.overflow(), Some(Overflow::DropRestOfFrame))
    }

    /// A new frame queue of its kind.
    pub fn frame_queue<P: Payload>(self) -> FrameQueue<P> {
        FrameQueue::new(self.profile().queue)
    }
}

impl fmt::Display for TransportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is not one of a transport.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{name}\" is not a transport; {} are", names())]
pub struct UnknownTransport {
    name: String,
}

fn names() -> String {
    TransportKind::ALL.map(TransportKind::name).join(", ")
}

impl FromStr for TransportKind {
    type Err = UnknownTransport;

    fn from_str(name: &str) -> Result<Self, UnknownTransport> {
        let mut kinds = Self::ALL.into_iter();
        kinds.find(|kind| kind.name() == name).ok_or_else(|| UnknownTransport { name: name.to_owned() })
    }
}

/// `net.core.wmem_default` of Linux with 4 KiB pages (`SK_WMEM_MAX`, include/net/sock.h): what getsockopt reports on
/// a socket that nobody touched.
const KERNEL_DEFAULT_SEND_BUFFER: DataSize = DataSize::from_bytes(212_992);

/// What `setsockopt(SO_SNDBUF, 212992)` makes of it: the kernel doubles the value (socket(7)).
const DOUBLED_SEND_BUFFER: DataSize = DataSize::from_bytes(425_984);

/// `DEFAULT_TX_QUEUE_LEN` of Linux (include/net/pkt_sched.h).
const TODAYS_DEVICE_QUEUE: u32 = 1_000;

/// txqueuelen of wireless drivers of the thesis' time; today's would hold 1,000.
const AIRONET_ERA_DEVICE_QUEUE: u32 = 100;

/// About two frames of a 3 Mbit/s movie, and half of its I frames: what is left of one enters the socket within a frame
/// interval on a link that is fast enough, and no B frame is lost to it. It costs 51 ms of latency at 5.1 Mbit/s.
const UNSENT_LIMIT: DataSize = DataSize::from_bytes(32 * 1024);

const UDP_BLOCKING: Profile = Profile {
    name: "udp-blocking",
    summary: "RTP over UDP; a send waits for room in the send buffer.",
    socket: SocketKind::Datagram(Overflow::Wait),
    queue: QueueKind::Direct,
    send_buffer: Some(KERNEL_DEFAULT_SEND_BUFFER),
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "the send buffer admits at most 93 full packets (2,304 B of kernel memory each), fewer than the device \
             queue holds, so that the socket fills first and a send waits: nothing overflows",
};

const UDP: Profile = Profile {
    name: "udp",
    summary: "RTP over UDP; what does not fit is dropped.",
    socket: SocketKind::Datagram(Overflow::Drop),
    queue: QueueKind::Direct,
    send_buffer: Some(DOUBLED_SEND_BUFFER),
    device_queue: AIRONET_ERA_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "the send buffer admits 185 full packets, more than the device queue of 100 holds, so that the device \
             queue overflows and the socket never says so",
};

const UDP_WHOLE: Profile = Profile {
    name: "udp-whole",
    summary: "As udp, but once a packet of a frame did not fit, the rest of the frame is not sent.",
    socket: SocketKind::Datagram(Overflow::DropRestOfFrame),
    queue: QueueKind::Direct,
    send_buffer: Some(KERNEL_DEFAULT_SEND_BUFFER),
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "the send buffer is full before the device queue is, so that every overflow is one that the socket \
             reports, and the rest of the frame can be kept back",
};

const UDP_IFD: Profile = Profile {
    name: "udp+ifd",
    summary: "I-Frame Delay over blocking UDP sends.",
    socket: SocketKind::Datagram(Overflow::Wait),
    queue: QueueKind::Ifd(IfdPolicy::Basic),
    send_buffer: Some(DataSize::from_bytes(160 * 1024)),
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "a send buffer of 72 full packets takes most of an I frame and keeps the rest in the frame queue, where it \
             can still be given up; a smaller one lowers the latency, but an I frame then fills S for three frame \
             intervals also on a link that is fast enough, and the B frame that finds W taken is lost",
};

const TCP: Profile = Profile {
    name: "tcp",
    summary: "The elementary stream over TCP.",
    socket: SocketKind::Stream,
    queue: QueueKind::Direct,
    send_buffer: None,
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "the kernel's defaults, as an application gets them: the send buffer grows with the congestion window",
};

const TCP_IFD: Profile = Profile {
    name: "tcp+ifd",
    summary: "I-Frame Delay over TCP.",
    socket: SocketKind::Stream,
    queue: QueueKind::Ifd(IfdPolicy::Basic),
    send_buffer: None,
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: Some(UNSENT_LIMIT),
    reason: "unsent bytes are bounded so that data waits in the frame queue; the send buffer is left alone, because \
             shrinking it would bound the congestion window and with it the throughput",
};

const TCP_IFD_OPTIMISED: Profile = Profile {
    name: "tcp+ifd-optimised",
    summary: "I-Frame Delay over TCP that also gives up what refers to a frame given up.",
    socket: SocketKind::Stream,
    queue: QueueKind::Ifd(IfdPolicy::Optimised),
    send_buffer: None,
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: Some(UNSENT_LIMIT),
    reason: "as tcp+ifd",
};

const UDP_DEPENDENCY: Profile = Profile {
    name: "udp+dependency",
    summary: "Dropping by dependency over blocking UDP sends.",
    socket: SocketKind::Datagram(Overflow::Wait),
    queue: QueueKind::Dependency(DependencyQueue::<Bytes>::DEFAULT_LIMITS),
    send_buffer: Some(DataSize::from_bytes(160 * 1024)),
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "as udp+ifd",
};

const TCP_DEPENDENCY: Profile = Profile {
    name: "tcp+dependency",
    summary: "Dropping by dependency, over TCP.",
    socket: SocketKind::Stream,
    queue: QueueKind::Dependency(DependencyQueue::<Bytes>::DEFAULT_LIMITS),
    send_buffer: None,
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: Some(UNSENT_LIMIT),
    reason: "as tcp+ifd",
};

/// What the programs have that are compared with: the socket as the kernel makes it.
const TCP_LEAKY: Profile = Profile {
    name: "tcp+leaky",
    summary: "As GStreamer's queue leaky=downstream before tcpclientsink.",
    queue: QueueKind::Leaky(LeakyDownstream::<Bytes>::DEFAULT_LIMITS),
    ..TCP
};

const TCP_KEYFRAME: Profile = Profile {
    name: "tcp+keyframe",
    summary: "As GStreamer's tcpserversink recover-policy=keyframe.",
    queue: QueueKind::Keyframe(KeyframeRecovery::<Bytes>::DEFAULT_SOFT_LIMITS),
    ..TCP
};

const TCP_OBS: Profile = Profile {
    name: "tcp+obs",
    summary: "As the RTMP output of OBS Studio.",
    queue: QueueKind::Obs(Thresholds::DEFAULT),
    ..TCP
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernel memory of a datagram (skb truesize on x86-64, measured): from 700 B of payload, and up to 100 B.
    const FULL_PACKET_TRUESIZE: u64 = 2_304;
    const SMALL_PACKET_TRUESIZE: u64 = 832;

    /// Datagrams that a send buffer admits: the check is made before each one, so the last may go over.
    fn admitted(kind: TransportKind, truesize: u64) -> u64 {
        kind.profile().send_buffer.expect("a datagram transport states it").as_bytes().div_ceil(truesize)
    }

    #[test]
    fn names_round_trip() {
        for kind in TransportKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let message = "rtmp".parse::<TransportKind>().unwrap_err().to_string();
        assert!(message.contains("rtmp"));
        for kind in TransportKind::ALL {
            assert!(message.contains(kind.name()), "{message} lacks {kind}");
        }
    }

    #[test]
    fn what_fills_first_is_as_the_reasons_say() {
        assert_eq!(admitted(TransportKind::UdpBlocking, FULL_PACKET_TRUESIZE), 93);
        assert_eq!(admitted(TransportKind::Udp, FULL_PACKET_TRUESIZE), 185);
        assert_eq!(admitted(TransportKind::UdpIfd, FULL_PACKET_TRUESIZE), 72);
        for truesize in [SMALL_PACKET_TRUESIZE, FULL_PACKET_TRUESIZE] {
            for kind in [
                TransportKind::UdpBlocking,
                TransportKind::UdpWhole,
                TransportKind::UdpIfd,
                TransportKind::UdpDependency,
            ] {
                let queue = u64::from(kind.profile().device_queue);
                assert!(admitted(kind, truesize) < queue, "{kind}: the socket fills first");
            }
            let udp = TransportKind::Udp;
            let queue = u64::from(udp.profile().device_queue);
            assert!(admitted(udp, truesize) > queue, "the device queue fills first");
        }
    }

    #[test]
    fn parts_follow_the_name() {
        for kind in TransportKind::ALL {
            assert_eq!(kind.is_stream(), kind.name().starts_with("tcp"));
            assert_eq!(kind.overflow().is_none(), kind.is_stream());
            assert_eq!(kind.frame_queue::<Bytes>().accepts_while_writing(), kind.name().contains('+'));
            assert_eq!(kind.wants_error_reports(), kind == TransportKind::UdpWhole);
            let ours_over_tcp = ["tcp+ifd", "tcp+ifd-optimised", "tcp+dependency"].contains(&kind.name());
            assert_eq!(kind.profile().unsent_limit.is_some(), ours_over_tcp);
        }
    }
}
