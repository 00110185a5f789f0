//! The entries: one for each transport that is named in its own right.

use framewire_units::DataSize;

use super::Profile;
use super::format::{Format, RtpContent};
use super::parts::{Parts, Queue, Session, SocketKind};
use crate::datagram::Overflow;

/// Every entry, in the order in which they are shown.
pub(super) const ENTRIES: [&Profile; 21] = [
    &UDP_BLOCKING,
    &UDP,
    &UDP_WHOLE,
    &UDP_IFD,
    &UDP_DEPENDENCY,
    &TCP,
    &TCP_IFD,
    &TCP_IFD_OPTIMISED,
    &TCP_DEPENDENCY,
    &TCP_LEAKY,
    &TCP_KEYFRAME,
    &TCP_OBS,
    &RTP_TCP,
    &TS,
    &TS_RTP,
    &TS_TCP,
    &HTTP,
    &HTTP_TS,
    &HTTP_FMP4,
    &RTSP,
    &RTSP_UDP,
];

/// The entry of these parts.
pub(super) fn entry_of(parts: Parts) -> Option<&'static Profile> {
    ENTRIES.into_iter().find(|entry| entry.parts == parts)
}

/// RTP over UDP.
const fn rtp(queue: Queue, overflow: Overflow) -> Parts {
    Parts {
        queue,
        format: Format::Rtp(RtpContent::Frames),
        session: Session::None,
        socket: SocketKind::Datagram(overflow),
    }
}

/// The elementary stream over TCP.
const fn stream(queue: Queue) -> Parts {
    Parts { queue, format: Format::ElementaryStream, session: Session::None, socket: SocketKind::Stream }
}

/// `net.core.wmem_default` of Linux with 4 KiB pages (`SK_WMEM_MAX`, include/net/sock.h): what getsockopt reports on
/// a socket that was left as it is.
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

pub(super) const UDP_BLOCKING: Profile = Profile {
    name: "udp-blocking",
    summary: "RTP over UDP; a send waits for room in the send buffer.",
    parts: rtp(Queue::Direct, Overflow::Wait),
    send_buffer: Some(KERNEL_DEFAULT_SEND_BUFFER),
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "the send buffer admits at most 93 full packets (2,304 B of kernel memory each), fewer than the device \
             queue holds, so that the socket fills first and a send waits: nothing overflows",
};

pub(super) const UDP: Profile = Profile {
    name: "udp",
    summary: "RTP over UDP; what does not fit is dropped.",
    parts: rtp(Queue::Direct, Overflow::Drop),
    send_buffer: Some(DOUBLED_SEND_BUFFER),
    device_queue: AIRONET_ERA_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "the send buffer admits 185 full packets, more than the device queue of 100 holds, so that the device \
             queue overflows and the socket never says so",
};

pub(super) const UDP_WHOLE: Profile = Profile {
    name: "udp-whole",
    summary: "As udp, but once a packet of a frame did not fit, the rest of the frame is not sent.",
    parts: rtp(Queue::Direct, Overflow::DropRestOfFrame),
    send_buffer: Some(KERNEL_DEFAULT_SEND_BUFFER),
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "the send buffer is full before the device queue is, so that every overflow is one that the socket \
             reports, and the rest of the frame can be kept back",
};

pub(super) const UDP_IFD: Profile = Profile {
    name: "udp+ifd",
    summary: "I-Frame Delay over blocking UDP sends.",
    parts: rtp(Queue::Ifd, Overflow::Wait),
    send_buffer: Some(DataSize::from_bytes(160 * 1024)),
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "a send buffer of 72 full packets takes most of an I frame and keeps the rest in the frame queue, where it \
             can still be given up; a smaller one lowers the latency, but an I frame then fills S for three frame \
             intervals also on a link that is fast enough, and the B frame that finds W taken is lost",
};

pub(super) const UDP_DEPENDENCY: Profile = Profile {
    name: "udp+dependency",
    summary: "Dropping by dependency over blocking UDP sends.",
    parts: rtp(Queue::Dependency, Overflow::Wait),
    send_buffer: Some(DataSize::from_bytes(160 * 1024)),
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "as udp+ifd",
};

pub(super) const TCP: Profile = Profile {
    name: "tcp",
    summary: "The elementary stream over TCP.",
    parts: stream(Queue::Direct),
    send_buffer: None,
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: None,
    reason: "the kernel's defaults, as an application gets them: the send buffer grows with the congestion window",
};

pub(super) const TCP_IFD: Profile = Profile {
    name: "tcp+ifd",
    summary: "I-Frame Delay over TCP.",
    parts: stream(Queue::Ifd),
    send_buffer: None,
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: Some(UNSENT_LIMIT),
    reason: "unsent bytes are bounded so that data waits in the frame queue; the send buffer is left alone, because \
             shrinking it would bound the congestion window and with it the throughput",
};

pub(super) const TCP_IFD_OPTIMISED: Profile = Profile {
    name: "tcp+ifd-optimised",
    summary: "I-Frame Delay over TCP that also gives up what refers to a frame given up.",
    parts: stream(Queue::IfdOptimised),
    send_buffer: None,
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: Some(UNSENT_LIMIT),
    reason: "as tcp+ifd",
};

pub(super) const TCP_DEPENDENCY: Profile = Profile {
    name: "tcp+dependency",
    summary: "Dropping by dependency, over TCP.",
    parts: stream(Queue::Dependency),
    send_buffer: None,
    device_queue: TODAYS_DEVICE_QUEUE,
    unsent_limit: Some(UNSENT_LIMIT),
    reason: "as tcp+ifd",
};

/// What the programs have that are compared with: the socket as the kernel makes it.
pub(super) const TCP_LEAKY: Profile = Profile {
    name: "tcp+leaky",
    summary: "As GStreamer's queue leaky=downstream before tcpclientsink.",
    parts: stream(Queue::Leaky),
    ..TCP
};

pub(super) const TCP_KEYFRAME: Profile = Profile {
    name: "tcp+keyframe",
    summary: "As GStreamer's tcpserversink recover-policy=keyframe.",
    parts: stream(Queue::Keyframe),
    ..TCP
};

pub(super) const TCP_OBS: Profile =
    Profile { name: "tcp+obs", summary: "As the RTMP output of OBS Studio.", parts: stream(Queue::Obs), ..TCP };

/// RTP as from `udp`, over the socket of `tcp`.
pub(super) const RTP_TCP: Profile = Profile {
    name: "rtp+tcp",
    summary: "RTP over TCP, each packet behind its length (RFC 4571).",
    parts: Parts { session: Session::Rfc4571, socket: SocketKind::Stream, ..UDP.parts },
    ..TCP
};

/// A transport stream.
const fn transport_stream(session: Session, socket: SocketKind) -> Parts {
    Parts { queue: Queue::Direct, format: Format::Ts, session, socket }
}

/// A transport stream over the socket of `udp-blocking`: FFmpeg and VLC wait for room too.
pub(super) const TS: Profile = Profile {
    name: "ts",
    summary: "An MPEG transport stream over UDP, seven packets of 188 bytes per datagram; a send waits for room.",
    parts: transport_stream(Session::None, SocketKind::Datagram(Overflow::Wait)),
    ..UDP_BLOCKING
};

/// The same behind RTP's header.
pub(super) const TS_RTP: Profile = Profile {
    name: "ts+rtp",
    summary: "An MPEG transport stream in RTP over UDP (RFC 2250, section 2); a send waits for room.",
    parts: Parts { format: Format::Rtp(RtpContent::TransportStream), ..TS.parts },
    ..UDP_BLOCKING
};

/// The same packets over the socket of `tcp`.
pub(super) const TS_TCP: Profile = Profile {
    name: "ts+tcp",
    summary: "An MPEG transport stream over TCP.",
    parts: transport_stream(Session::None, SocketKind::Stream),
    ..TCP
};

/// A file that is fetched, over the socket of `tcp`.
pub(super) const HTTP: Profile = Profile {
    name: "http",
    summary: "An MP4 file over HTTP/1.1, fetched by the receiver as fast as TCP brings it (progressive download).",
    parts: Parts { queue: Queue::Direct, format: Format::Mp4, session: Session::Http, socket: SocketKind::Stream },
    ..TCP
};

/// What goes on until the connection is closed, over the same.
pub(super) const HTTP_TS: Profile = Profile {
    name: "http+ts",
    summary: "An MPEG transport stream over HTTP/1.1, which the receiver asks for and that is sent at its own pace.",
    parts: transport_stream(Session::Http, SocketKind::Stream),
    ..TCP
};

/// The same in fragments of a file.
pub(super) const HTTP_FMP4: Profile = Profile {
    name: "http+fmp4",
    summary: "An MP4 file in fragments over HTTP/1.1, one for each frame, which the receiver asks for and that is sent at its own pace.",
    parts: Parts {
        queue: Queue::Direct,
        format: Format::FragmentedMp4,
        session: Session::Http,
        socket: SocketKind::Stream,
    },
    ..TCP
};

/// RTP as from `udp`, interleaved in RTSP over the socket of `tcp`.
pub(super) const RTSP: Profile = Profile {
    name: "rtsp",
    summary: "RTP in a connection of RTSP, which the receiver opens to ask for the movie.",
    parts: Parts { session: Session::Rtsp, socket: SocketKind::Stream, ..UDP.parts },
    ..TCP
};

/// The same packets in datagrams beside that connection, over the socket of `udp`.
pub(super) const RTSP_UDP: Profile = Profile {
    name: "rtsp+udp",
    summary: "RTP over UDP, beside a connection of RTSP on which the receiver asks for the movie.",
    parts: Parts { session: Session::Rtsp, ..UDP.parts },
    ..UDP
};
