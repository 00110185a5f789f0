use framewire_units::{DataSize, Duration};
use schemars::JsonSchema;
use serde::Serialize;
use toml::{Table, Value};

use crate::application::{Receiver, Sender};
use crate::error::ScenarioError;
use crate::estimate::{self, Estimate};
use crate::names::words;
use crate::queue;
use crate::section::Section;
use crate::spread::Spread;
use crate::text::{self, Text};
use crate::times::Times;
use crate::transport::Transport;

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

/// One `[[flow]]`: the movie over one transport, a stream of the ladder's levels, or bulk connections.
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
    /// When it begins; present exactly for adaptive streams and `bulk`.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub start: Option<Duration>,
    /// When `bulk` ends its streams; absent: with the run.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub stop: Option<Duration>,
    /// How many TCP connections it is; present exactly for `bulk`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub connections: Option<u8>,
    /// k: every k-th packet of video asks for a control packet; present exactly for adaptive streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_535))]
    pub ack_every: Option<u16>,
    /// How equation 1 is read; present exactly for `vtp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// Bytes of header that the estimate counts of each packet; only where it is "bytes over gaps", absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_500))]
    pub estimate_header: Option<u16>,
    /// The application that sends; present exactly for `external`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<Sender>,
    /// The application that receives; present exactly for `external`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Receiver>,
}

impl Flow {
    pub(crate) const KEYS: &'static [&'static str] = &[
        "name",
        "transport",
        "count",
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
        "start",
        "stop",
        "connections",
        "ack_every",
        "estimate",
        "estimate_header",
        "sender",
        "receiver",
    ];

    /// The table of a flow; an unknown key is answered with those of its transport.
    pub(crate) fn section(path: String, table: Table) -> Result<Section, ScenarioError> {
        let name = table.get("transport").and_then(Value::as_str);
        let transport = name.and_then(Transport::named);
        let is_foreign =
            |key: &str| transport.is_some_and(|of| KEYS_OF_SOME.iter().any(|(known, has)| *known == key && !has(of)));
        let offered: Vec<&str> = Self::KEYS.iter().copied().filter(|key| !is_foreign(key)).collect();
        Section::offering(path, table, Self::KEYS, &offered)
    }

    pub(crate) fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let transport = read_transport(&mut section)?;
        refuse_foreign_keys(&section, transport)?;
        let (sender, receiver) = read_applications(&mut section, transport)?;
        let defaults = transport.settings();
        let queue = queue::read(&mut section, transport)?;
        let times = Times::read(&mut section, transport)?;
        let (estimate, estimate_header) = estimate::read(&mut section, transport)?;
        let datagram = transport.is_datagram();
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
            send_buffer: buffer(&mut section, "send_buffer")?.or(defaults.send_buffer),
            device_queue: section.integer("device_queue", 1..=100_000)?.map_or(defaults.device_queue, |packets| {
                u32::try_from(packets).expect("invariant: the range was checked when it was read")
            }),
            pacing: pacing(&mut section, transport)?.or(transport.has_pacing().then_some(Pacing::Sender)),
            congestion: congestion(&mut section)?.or(has_congestion(transport).then(|| "cubic".to_owned())),
            unsent_limit: buffer(&mut section, "unsent_limit")?.or(defaults.unsent_limit),
            queue_time: queue.time,
            queue_frames: queue.frames,
            queue_bytes: queue.bytes,
            start: times.start,
            stop: times.stop,
            connections: connections(&mut section)?.or((transport == Transport::Bulk).then_some(1)),
            ack_every: ack_every(&mut section)?.or(transport.is_adaptive().then_some(PAPER_ACK_EVERY)),
            estimate,
            estimate_header,
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
    Transport::read(section)?.or(external).ok_or(missing)
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

/// A key, and whether a transport has it.
type KeyOfSome = (&'static str, fn(Transport) -> bool);

/// The keys that not every transport has.
const KEYS_OF_SOME: [KeyOfSome; 17] = [
    ("packets", Transport::is_datagram),
    ("spread", Transport::is_datagram),
    ("pacing", Transport::has_pacing),
    ("congestion", has_congestion),
    ("unsent_limit", Transport::has_connection),
    ("queue_time", |transport| transport.queue_limits().is_some()),
    ("queue_frames", Transport::has_queue_counts),
    ("queue_bytes", Transport::has_queue_counts),
    ("start", |transport| !transport.has_movie()),
    ("stop", |transport| transport == Transport::Bulk),
    ("connections", |transport| transport == Transport::Bulk),
    ("ack_every", Transport::is_adaptive),
    ("estimate", |transport| transport == estimate::OWNER),
    ("estimate_header", |transport| transport == estimate::OWNER),
    ("send_buffer", |transport| transport != Transport::External),
    ("sender", |transport| transport == Transport::External),
    ("receiver", |transport| transport == Transport::External),
];

/// The lab's own connections, and what an application's hosts have by default.
fn has_congestion(transport: Transport) -> bool {
    transport.has_connection() || transport == Transport::External
}

/// Refuses keys that mean nothing for the transport: they would be ignored otherwise.
fn refuse_foreign_keys(section: &Section, transport: Transport) -> Result<(), ScenarioError> {
    match KEYS_OF_SOME.into_iter().find(|(key, has)| section.has(key) && !has(transport)) {
        Some((key, has)) => Err(ScenarioError::new(
            section.key(key),
            format!("means nothing for transport {transport}; it is a key of {}", Transport::names_of(has)),
        )),
        None => Ok(()),
    }
}

/// k of the paper's experiments (section 6.1).
const PAPER_ACK_EVERY: u16 = 5;

fn connections(section: &mut Section) -> Result<Option<u8>, ScenarioError> {
    let count = section.integer("connections", 1..=64)?;
    Ok(count.map(|count| u8::try_from(count).expect("invariant: the range was checked when it was read")))
}

fn ack_every(section: &mut Section) -> Result<Option<u16>, ScenarioError> {
    let packets = section.integer("ack_every", 1..=65_535)?;
    Ok(packets.map(|packets| u16::try_from(packets).expect("invariant: the range was checked when it was read")))
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
