use framewire_units::{DataSize, Duration};
use schemars::JsonSchema;
use serde::Serialize;

use crate::application::{Receiver, Sender};
use crate::error::ScenarioError;
use crate::names::words;
use crate::queue::QueueLimits;
use crate::section::Section;
use crate::spread::Spread;
use crate::text::{self, Text};

words! {
    /// How a flow carries its movie.
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
        /// Applications of the user's own at both ends.
        External = "external",
    }
}

words! {
    /// How frames are cut into RFC 2250 packets.
    PacketRule {
        /// Filled to the MTU across slices where the RFC allows.
        Full = "full",
        /// Whole slices up to a limit, the tail of a fragmented slice alone.
        Slices = "slices",
        /// A mean payload of about 740 bytes, as the thesis' throughput implies.
        Thesis = "thesis",
    }
}

words! {
    /// What paces a sender that waits for room.
    Pacing {
        /// The frame clock.
        Sender = "sender",
        /// The receiver's playout, through the window; only for `tcp`.
        Receiver = "receiver",
        /// Nothing: the time stamps of the frames are ignored, and the next is offered as soon as the transport takes it.
        Nobody = "none",
    }
}

/// One `[[flow]]`: the movie over one transport.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Flow {
    /// Its name, unique in the run, and the name of its files.
    pub name: String,
    /// How it carries the movie.
    pub transport: Transport,
    /// Which wireless sender it sits on; above 0 only where several flows share the channel from senders of their own.
    #[schemars(range(min = 0, max = 63))]
    pub station: u8,
    /// RFC 2250 packet rule; present exactly for datagram transports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketRule>,
    /// When the packets of a frame leave; only for datagram transports, absent: all at once.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Spread>")]
    pub spread: Option<Spread>,
    /// Largest IP packet in bytes.
    #[schemars(range(min = 576, max = 9000))]
    pub mtu: u16,
    /// `SO_SNDBUF` as getsockopt reports it; absent: the kernel's own (autotuned on TCP).
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub send_buffer: Option<DataSize>,
    /// Length of the device queue in packets (`txqueuelen`).
    #[schemars(range(min = 1, max = 100_000))]
    pub device_queue: u32,
    /// What paces the sender; present exactly for `tcp` and `udp-blocking`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// TCP congestion control, by the kernel's name; present for the TCP family, and for applications, of whose hosts it
    /// is the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// `TCP_NOTSENT_LOWAT`; only for the TCP family, absent: no limit.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub unsent_limit: Option<DataSize>,
    /// How long the oldest frame may wait in the frame queue, in time of the stream; only where that has limits.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub queue_time: Option<Duration>,
    /// How many frames may wait there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100_000))]
    pub queue_frames: Option<u32>,
    /// How many bytes may wait there.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub queue_bytes: Option<DataSize>,
    /// The application that sends; present exactly for `external`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<Sender>,
    /// The application that receives; present exactly for `external`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Receiver>,
}

impl Transport {
    /// True when frames travel as datagrams, false for a byte stream.
    pub const fn is_datagram(self) -> bool {
        matches!(self, Self::UdpBlocking | Self::Udp | Self::UdpWhole | Self::UdpIfd | Self::UdpDependency)
    }

    /// True where the lab's own sender has a TCP connection.
    const fn has_connection(self) -> bool {
        !self.is_datagram() && !matches!(self, Self::External)
    }

    /// True where the frame clock can be left out: the transport waits for room and gives no frame up.
    const fn has_pacing(self) -> bool {
        matches!(self, Self::UdpBlocking | Self::Tcp)
    }

    /// Defaults of send buffer, device queue and unsent limit; docs/scenario.md says why.
    fn defaults(self) -> (Option<DataSize>, u32, Option<DataSize>) {
        let kib = |count: u64| Some(DataSize::from_bytes(count * 1024));
        match self {
            Self::UdpBlocking | Self::UdpWhole => (kib(208), 1_000, None),
            Self::Udp => (kib(416), 100, None),
            Self::UdpIfd | Self::UdpDependency => (kib(160), 1_000, None),
            Self::Tcp | Self::TcpLeaky | Self::TcpKeyframe | Self::TcpObs | Self::External => (None, 1_000, None),
            Self::TcpIfd | Self::TcpIfdOptimised | Self::TcpDependency => (None, 1_000, kib(32)),
        }
    }
}

impl Flow {
    pub(crate) const KEYS: &'static [&'static str] = &[
        "name",
        "transport",
        "station",
        "packets",
        "spread",
        "mtu",
        "send_buffer",
        "device_queue",
        "pacing",
        "congestion",
        "unsent_limit",
        "queue_time",
        "queue_frames",
        "queue_bytes",
        "sender",
        "receiver",
    ];

    pub(crate) fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let transport = read_transport(&mut section)?;
        refuse_foreign_keys(&section, transport)?;
        let (sender, receiver) = read_applications(&mut section, transport)?;
        let (send_buffer, device_queue, unsent_limit) = transport.defaults();
        let queue = QueueLimits::read(&mut section, transport)?;
        let datagram = transport.is_datagram();
        let has_default_congestion = transport.has_connection() || transport == Transport::External;
        let name_key = section.key("name");
        let name = section.string("name")?.unwrap_or_else(|| transport.to_string());
        check_name(&name_key, &name)?;
        // Several senders exist in the simulated world only, and applications in the emulated one.
        let stations = if transport == Transport::External { 0..=0 } else { 0..=63 };
        Ok(Self {
            name,
            transport,
            station: section
                .integer("station", stations)?
                .map_or(0, |station| u8::try_from(station).expect("invariant: the range was checked when it was read")),
            packets: section.text("packets")?.or(datagram.then_some(PacketRule::Full)),
            spread: spread(&mut section)?,
            mtu: section
                .integer("mtu", 576..=9_000)?
                .map_or(1_500, |mtu| u16::try_from(mtu).expect("invariant: the range was checked when it was read")),
            send_buffer: buffer(&mut section, "send_buffer")?.or(send_buffer),
            device_queue: section.integer("device_queue", 1..=100_000)?.map_or(device_queue, |packets| {
                u32::try_from(packets).expect("invariant: the range was checked when it was read")
            }),
            pacing: pacing(&mut section, transport)?.or(transport.has_pacing().then_some(Pacing::Sender)),
            congestion: congestion(&mut section)?.or(has_default_congestion.then(|| "cubic".to_owned())),
            unsent_limit: buffer(&mut section, "unsent_limit")?.or(unsent_limit),
            queue_time: queue.time,
            queue_frames: queue.frames,
            queue_bytes: queue.bytes,
            sender,
            receiver,
        })
    }
}

/// The transport by its name; with applications of the user's own the name may be left out.
fn read_transport(section: &mut Section) -> Result<Transport, ScenarioError> {
    let external = (section.has("sender") || section.has("receiver")).then_some(Transport::External);
    let words: Vec<&str> = Transport::ALL.iter().map(|transport| transport.as_str()).collect();
    let allowed = format!("one of {}; or sender and receiver, for applications of your own", words.join(", "));
    let missing = ScenarioError::missing(&section.key("transport"), allowed);
    section.text("transport")?.or(external).ok_or(missing)
}

/// The applications of an external flow, which has both; any other flow has none.
fn read_applications(
    section: &mut Section,
    transport: Transport,
) -> Result<(Option<Sender>, Option<Receiver>), ScenarioError> {
    let missing = |key: String| ScenarioError::missing(&key, "sender and receiver, each with a pipeline or a command");
    let (sender_key, receiver_key) = (section.key("sender"), section.key("receiver"));
    let (sender, receiver) = (Sender::read(section)?, Receiver::read(section)?);
    match (transport, &sender, &receiver) {
        (Transport::External, None, _) => Err(missing(sender_key)),
        (Transport::External, _, None) => Err(missing(receiver_key)),
        _ => Ok((sender, receiver)),
    }
}

/// Refuses keys that mean nothing for the transport: they would be ignored otherwise.
fn refuse_foreign_keys(section: &Section, transport: Transport) -> Result<(), ScenarioError> {
    let connection = transport.has_connection();
    let external = transport == Transport::External;
    let limits = QueueLimits::of(transport).is_some();
    let limits_beside_time = QueueLimits::beside_time(transport);
    let foreign = [
        ("packets", !transport.is_datagram(), "datagram transports (their names begin with udp)"),
        ("spread", !transport.is_datagram(), "datagram transports (their names begin with udp)"),
        ("pacing", !transport.has_pacing(), "tcp and udp-blocking"),
        ("congestion", !connection && !external, "stream transports (their names begin with tcp)"),
        ("unsent_limit", !connection, "stream transports (their names begin with tcp)"),
        ("queue_time", !limits, QueueLimits::OWNERS_OF_TIME),
        ("queue_frames", !limits_beside_time, QueueLimits::OWNERS),
        ("queue_bytes", !limits_beside_time, QueueLimits::OWNERS),
        ("send_buffer", external, "the lab's own transports; an application sets its own"),
        ("sender", !external, "transport external"),
        ("receiver", !external, "transport external"),
    ];
    match foreign.iter().find(|(key, is_foreign, _)| *is_foreign && section.has(key)) {
        Some((key, _, owners)) => Err(ScenarioError::new(
            section.key(key),
            format!("means nothing for transport {transport}; it is a key of {owners}"),
        )),
        None => Ok(()),
    }
}

/// Names become file names: letters, digits, `+`, `-` and `_`, and no dot, which separates keys in overrides.
pub(crate) fn check_name(key: &str, name: &str) -> Result<(), ScenarioError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_');
    if (1..=64).contains(&name.len()) && name.chars().all(fits) && !name.starts_with('-') {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    let allowed = "1 to 64 letters, digits, +, - and _, not beginning with -";
    Err(ScenarioError::value(key, format!("{shown:?}"), allowed))
}

/// A buffer size that the kernel's interfaces can hold (`int`).
pub(crate) fn buffer(section: &mut Section, key: &str) -> Result<Option<DataSize>, ScenarioError> {
    const SMALLEST: DataSize = DataSize::from_bytes(1024);
    const LARGEST: DataSize = DataSize::from_bytes(1 << 30);
    let path = section.key(key);
    match section.text::<DataSize>(key)? {
        Some(size) if !(SMALLEST..=LARGEST).contains(&size) => {
            Err(ScenarioError::value(&path, format!("\"{}\"", size.show()), "\"1 KiB\" to \"1024 MiB\""))
        }
        size => Ok(size),
    }
}

/// Datagrams have no window through which a receiver could pace them.
fn pacing(section: &mut Section, transport: Transport) -> Result<Option<Pacing>, ScenarioError> {
    let path = section.key("pacing");
    match section.text("pacing")? {
        Some(Pacing::Receiver) if transport.is_datagram() => {
            Err(ScenarioError::value(&path, "\"receiver\"", format!("one of sender, none for transport {transport}")))
        }
        pacing => Ok(pacing),
    }
}

/// Absent where it is "none", so that a scenario that does not spread is the same with and without the key.
fn spread(section: &mut Section) -> Result<Option<Spread>, ScenarioError> {
    Ok(section.text("spread")?.filter(|spread| *spread != Spread::None))
}

fn congestion(section: &mut Section) -> Result<Option<String>, ScenarioError> {
    /// `TCP_CA_NAME_MAX` of the kernel, less the terminator.
    const LONGEST: usize = 15;
    let path = section.key("congestion");
    let name = section.string("congestion")?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+');
    match name {
        Some(name) if !(1..=LONGEST).contains(&name.len()) || !name.chars().all(fits) => {
            let shown: String = name.chars().take(80).collect();
            let allowed = "the name of a congestion control of this kernel, such as \"cubic\" or \"reno\"";
            Err(ScenarioError::value(&path, format!("{shown:?}"), allowed))
        }
        name => Ok(name),
    }
}
