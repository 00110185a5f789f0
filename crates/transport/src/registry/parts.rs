//! The four parts of a transport of the movie, and which of them go together.

use framewire_units::keywords;

use super::format::{Format, RtpContent};
use crate::datagram::Overflow;
use crate::dependency::DependencyQueue;
use crate::ifd::IfdPolicy;
use crate::queue::QueueKind;
use crate::rivals::{KeyframeRecovery, LeakyDownstream, Thresholds};

keywords! {
    /// Which frame goes next, and which is given up.
    Queue {
        /// One frame at a time: the frame clock waits while it is written, and none is given up.
        Direct = "direct",
        /// I-Frame Delay: one frame waits, a more important one overwrites it.
        Ifd = "ifd",
        /// I-Frame Delay, and no frame without its references.
        IfdOptimised = "ifd-optimised",
        /// What the fewest frames depend on goes first, and no frame without its references.
        Dependency = "dependency",
        /// As GStreamer's queue leaky=downstream.
        Leaky = "leaky",
        /// As GStreamer's tcpserversink recover-policy=keyframe.
        Keyframe = "keyframe",
        /// As the RTMP output of OBS Studio.
        Obs = "obs",
    }
}

keywords! {
    /// What stands between the format and the socket.
    Session {
        /// Nothing.
        None = "none",
        /// The length of each packet before it (RFC 4571).
        Rfc4571 = "rfc4571",
        /// The body of a response of HTTP/1.1 (RFC 9112), for which the receiver asks.
        Http = "http",
        /// RTSP 1.0 (RFC 2326): the receiver asks for the movie, whose packets of RTP go between the messages, or in datagrams.
        Rtsp = "rtsp",
    }
}

keywords! {
    /// What the transport writes to.
    Socket {
        /// UDP: packets that arrive whole or not at all.
        Datagram = "datagram",
        /// TCP: a stream of bytes.
        Stream = "stream",
    }
}

/// What a transport writes to, and what it does when that is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// One packet per datagram.
    Datagram(Overflow),
    /// A stream of bytes; a write waits for room.
    Stream,
}

/// What a transport of the movie is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Which frame goes next.
    pub queue: Queue,
    /// How it becomes bytes.
    pub format: Format,
    /// What stands between the format and the socket.
    pub session: Session,
    /// Where the bytes go.
    pub socket: SocketKind,
}

impl Queue {
    /// The queue with its default limits.
    pub const fn kind(self) -> QueueKind {
        type Bytes = bytes::Bytes;
        match self {
            Self::Direct => QueueKind::Direct,
            Self::Ifd => QueueKind::Ifd(IfdPolicy::Basic),
            Self::IfdOptimised => QueueKind::Ifd(IfdPolicy::Optimised),
            Self::Dependency => QueueKind::Dependency(DependencyQueue::<Bytes>::DEFAULT_LIMITS),
            Self::Leaky => QueueKind::Leaky(LeakyDownstream::<Bytes>::DEFAULT_LIMITS),
            Self::Keyframe => QueueKind::Keyframe(KeyframeRecovery::<Bytes>::DEFAULT_SOFT_LIMITS),
            Self::Obs => QueueKind::Obs(Thresholds::DEFAULT),
        }
    }

    /// True for the rules of other programs, which are compared with: they have the socket as those programs have it.
    pub const fn is_rival(self) -> bool {
        matches!(self, Self::Leaky | Self::Keyframe | Self::Obs)
    }
}

impl Session {
    /// True where the receiver opens a connection, and asks for the movie on it; else the sender begins by itself.
    pub const fn asks(self) -> bool {
        match self {
            Self::None | Self::Rfc4571 => false,
            Self::Http | Self::Rtsp => true,
        }
    }

    /// What such packets or bytes need over a socket of this kind.
    pub const fn default_of(format: Format, socket: Socket) -> Self {
        match (format, socket) {
            (Format::Rtp(_), Socket::Stream) => Self::Rfc4571,
            (Format::Mp4 | Format::FragmentedMp4, Socket::Stream) => Self::Http,
            _ => Self::None,
        }
    }
}

impl SocketKind {
    /// Its kind alone.
    pub const fn socket(self) -> Socket {
        match self {
            Self::Datagram(_) => Socket::Datagram,
            Self::Stream => Socket::Stream,
        }
    }

    /// What it does when it is full; `None` over a byte stream, which waits.
    pub const fn overflow(self) -> Option<Overflow> {
        match self {
            Self::Datagram(overflow) => Some(overflow),
            Self::Stream => None,
        }
    }
}

impl Parts {
    /// Whether the parts go together.
    ///
    /// # Errors
    /// When they do not; with the reason.
    pub const fn check(self) -> Result<(), &'static str> {
        match (self.format, self.session, self.socket) {
            (Format::ElementaryStream, Session::None, SocketKind::Datagram(_)) => Err(
                "a datagram has to say which frame it is of and what is missing before it, which an elementary stream does \
                 not: format \"rtp\" does",
            ),
            (Format::Rtp(RtpContent::TransportStream), _, SocketKind::Stream) => {
                Err("RTP here carries a transport stream in datagrams")
            }
            (Format::Rtp(RtpContent::Frames), Session::None, SocketKind::Stream) => {
                Err("a stream of bytes does not say where an RTP packet ends: session \"rfc4571\" does")
            }
            (format, Session::Rtsp, _) if !matches!(format, Format::Rtp(RtpContent::Frames)) => {
                Err("RTSP here carries packets of RTP with frames in them: format \"rtp\"")
            }
            (_, Session::Rfc4571, SocketKind::Datagram(_)) => {
                Err("RFC 4571 says where packets end in a stream of bytes; a datagram ends by itself")
            }
            (Format::ElementaryStream, Session::Rfc4571, SocketKind::Stream) => {
                Err("RFC 4571 says where packets end, and an elementary stream has none: format \"rtp\" does")
            }
            (Format::Ts, Session::Rfc4571, SocketKind::Stream) => {
                Err("RFC 4571 says where packets end, and those of a transport stream have 188 bytes: session \"none\"")
            }
            (Format::Mp4, _, SocketKind::Datagram(_)) => Err(
                "the index of an MP4 file says where in it every frame stands, and datagrams may be missing: format \"ts\" goes \
                 in them",
            ),
            (Format::FragmentedMp4, _, SocketKind::Datagram(_)) => Err(
                "a fragment of an MP4 file is found behind the one before it, and datagrams may be missing: format \"ts\" goes in them",
            ),
            (_, Session::Http, SocketKind::Datagram(_)) => Err("HTTP/1.1 is spoken over a stream of bytes"),
            (Format::Mp4 | Format::FragmentedMp4, Session::None | Session::Rfc4571, SocketKind::Stream) => {
                Err("an MP4 file is fetched by its receiver: session \"http\" does that")
            }
            (format, Session::Http, SocketKind::Stream)
                if !matches!(format, Format::Mp4 | Format::FragmentedMp4 | Format::Ts) =>
            {
                Err("HTTP carries files and transport streams here: format \"mp4\", \"fmp4\" or \"ts\"")
            }
            (Format::Mp4, Session::Http, SocketKind::Stream) if !matches!(self.queue, Queue::Direct) => Err(
                "the index of an MP4 file says where every frame stands before the first one is sent, so that none can be given \
                 up: formats \"fmp4\" and \"ts\" keep frames apart",
            ),
            (format, Session::Rfc4571, SocketKind::Stream) if !matches!(format, Format::Rtp(RtpContent::Frames)) => {
                Err("RFC 4571 here carries packets of RTP with frames in them: format \"rtp\"")
            }
            (format, _, SocketKind::Datagram(_)) if !matches!(format, Format::Rtp(_) | Format::Ts) => {
                Err("datagrams here carry packets of RTP and of transport streams: format \"rtp\" or \"ts\"")
            }
            (_, _, SocketKind::Datagram(Overflow::Drop | Overflow::DropRestOfFrame))
                if !matches!(self.queue, Queue::Direct) =>
            {
                Err(
                    "a send that does not wait for room empties the frame queue at once, so that nothing waits there that \
                     could be given up: overflow \"wait\" keeps it there",
                )
            }
            _ => Ok(()),
        }
    }

    /// The same parts without a frame queue.
    pub(super) fn direct(self) -> Self {
        Self { queue: Queue::Direct, ..self }
    }
}
