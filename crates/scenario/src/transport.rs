//! How a flow carries what it carries, and what follows from that.

use framewire_units::DataSize;

use crate::names::words;

words! {
    /// How a flow carries its movie, or what else it is.
    Transport {
        /// RTP over UDP; a send waits for room in the send buffer.
        UdpBlocking = "udp-blocking",
        /// RTP over UDP; what does not fit is dropped.
        Udp = "udp",
        /// As `udp`, but once a packet of a frame did not fit, the rest of the frame is not sent.
        UdpWhole = "udp-whole",
        /// I-Frame Delay over blocking UDP sends.
        UdpIfd = "udp+ifd",
        /// Dropping by dependency over blocking UDP sends.
        UdpDependency = "udp+dependency",
        /// The elementary stream over TCP.
        Tcp = "tcp",
        /// I-Frame Delay over TCP.
        TcpIfd = "tcp+ifd",
        /// I-Frame Delay with disturbed groups of pictures, over TCP.
        TcpIfdOptimised = "tcp+ifd-optimised",
        /// Dropping by dependency, over TCP.
        TcpDependency = "tcp+dependency",
        /// As GStreamer's `queue leaky=downstream` before `tcpclientsink`.
        TcpLeaky = "tcp+leaky",
        /// As GStreamer's `tcpserversink recover-policy=keyframe`.
        TcpKeyframe = "tcp+keyframe",
        /// As the RTMP output of OBS Studio.
        TcpObs = "tcp+obs",
        /// Adaptive streaming of the ladder by the Video Transport Protocol.
        Vtp = "vtp",
        /// Adaptive streaming by a rate control that was made better than VTP's.
        Better = "better",
        /// Adaptive streaming by TFRC (RFC 5348).
        Tfrc = "tfrc",
        /// Adaptive streaming by the Rate Adaptation Protocol.
        Rap = "rap",
        /// Adaptive streaming by the binomial control SQRT.
        Sqrt = "sqrt",
        /// Adaptive streaming by additive increase and multiplicative decrease.
        Aimd = "aimd",
        /// The ladder's top level by its plan, whatever the network does.
        Fixed = "fixed",
        /// TCP connections that always have data, and no movie.
        Bulk = "bulk",
        /// Applications of the user's own at both ends.
        External = "external",
    }
}

impl Transport {
    /// True for RTP over UDP, false for a byte stream and for adaptive streaming.
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::UdpBlocking | Self::Udp | Self::UdpWhole | Self::UdpIfd | Self::UdpDependency)
    }

    /// True where a server chooses among the levels of a ladder.
    pub const fn is_adaptive(self) -> bool {
        matches!(self, Self::Vtp | Self::Better | Self::Tfrc | Self::Rap | Self::Sqrt | Self::Aimd | Self::Fixed)
    }

    /// True where the movie is sent: neither the levels of a ladder, nor bytes of no meaning.
    pub const fn has_movie(self) -> bool {
        !self.is_adaptive() && !matches!(self, Self::Bulk)
    }

    /// True where the lab's own sender has a TCP connection.
    pub(crate) const fn has_connection(self) -> bool {
        !self.is_datagram() && !self.is_adaptive() && !matches!(self, Self::External)
    }

    /// True where the frame clock can be left out: the transport waits for room and gives no frame up.
    pub(crate) const fn has_pacing(self) -> bool {
        matches!(self, Self::UdpBlocking | Self::Tcp)
    }

    /// Defaults of send buffer, device queue and unsent limit; docs/scenario.md says why.
    pub(crate) fn defaults(self) -> (Option<DataSize>, u32, Option<DataSize>) {
        let kib = |count: u64| Some(DataSize::from_bytes(count * 1024));
        match self {
            Self::UdpBlocking | Self::UdpWhole => (kib(208), 1_000, None),
            Self::Udp => (kib(416), 100, None),
            Self::UdpIfd | Self::UdpDependency => (kib(160), 1_000, None),
            Self::Tcp | Self::TcpLeaky | Self::TcpKeyframe | Self::TcpObs => (None, 1_000, None),
            Self::TcpIfd | Self::TcpIfdOptimised | Self::TcpDependency => (None, 1_000, kib(32)),
            Self::Vtp | Self::Better | Self::Tfrc | Self::Rap | Self::Sqrt | Self::Aimd | Self::Fixed => {
                (kib(416), 100, None)
            }
            Self::Bulk | Self::External => (None, 1_000, None),
        }
    }
}
