//! One `[[flow]]`: what every flow has, and what those of its family have. A family is a file: its settings, the keys that
//! it knows, how they are read, and their resolved form. A key is added there and nowhere else.

mod adaptive;
mod bulk;
mod damaged;
mod datagram;
mod external;
pub(crate) mod list;
mod pacing;
mod player;
mod queue;
mod rtcp;
mod spread;
mod stream;
mod tcp;
mod tcp_options;
mod ts_rate;
mod vtp;

use std::borrow::Cow;

use framewire_transport::Profile;
use framewire_units::{DataSize, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Map;
use toml::{Table, Value};

pub use adaptive::AdaptiveFlow;
pub use bulk::BulkFlow;
pub use damaged::Damaged;
pub use datagram::DatagramFlow;
pub use external::ExternalFlow;
pub use pacing::Pacing;
pub use player::Player;
pub use rtcp::Rtcp;
pub use stream::StreamFlow;
pub use tcp::{Tcp, needs_ecn};
pub use tcp_options::TcpOptions;
pub use vtp::Vtp;

use crate::error::ScenarioError;
use crate::section::Section;
use crate::text::Text;
use crate::transport::Transport;

/// One `[[flow]]`: the movie over one transport, a stream of the ladder's levels, or bulk connections.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Flow {
    /// Its name, unique in the run, and the name of its files; by default the transport's, as that is written.
    pub name: String,
    /// The node that sends, where the network is a graph.
    pub from: Option<String>,
    /// The node that receives, where the network is a graph.
    pub to: Option<String>,
    /// Which wireless sender it sits on; above 0 only where several flows share the channel from senders of their own.
    #[schemars(range(min = 0, max = 63))]
    pub station: u8,
    /// Largest IP packet in bytes.
    #[schemars(range(min = 576, max = 9000))]
    pub mtu: u16,
    /// Length of the device queue in packets (`txqueuelen`).
    #[schemars(range(min = 1, max = 100_000))]
    pub device_queue: u32,
    /// How it carries what it carries, with the settings of its family.
    #[schemars(flatten)]
    pub kind: FlowKind,
}

/// The families of flows, each with the settings that it has.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FlowKind {
    /// The movie in datagrams.
    Datagram(DatagramFlow),
    /// The movie as a stream of bytes.
    Stream(StreamFlow),
    /// Levels of a ladder, in datagrams.
    Adaptive(AdaptiveFlow),
    /// Filler bytes over TCP, as a file transfer would send.
    Bulk(BulkFlow),
    /// What applications send.
    External(ExternalFlow),
}

impl FlowKind {
    /// The keys that a transport has beside those of every flow.
    fn keys(transport: Transport) -> Vec<&'static str> {
        match transport {
            Transport::Movie(kind) if kind.is_stream() => StreamFlow::keys(kind),
            Transport::Movie(kind) => DatagramFlow::keys(kind),
            Transport::Adaptive(rate_control) => AdaptiveFlow::keys(rate_control),
            Transport::Bulk => BulkFlow::keys(),
            Transport::External => ExternalFlow::KEYS.to_vec(),
        }
    }

    fn read(section: &mut Section, transport: Transport) -> Result<Self, ScenarioError> {
        let defaults = transport.settings();
        Ok(match transport {
            Transport::Movie(kind) => match kind.overflow() {
                Some(overflow) => Self::Datagram(DatagramFlow::read(section, kind, overflow)?),
                None => Self::Stream(StreamFlow::read(section, kind)?),
            },
            Transport::Adaptive(rate_control) => Self::Adaptive(AdaptiveFlow::read(section, rate_control, defaults)?),
            Transport::Bulk => Self::Bulk(BulkFlow::read(section, defaults)?),
            Transport::External => Self::External(ExternalFlow::read(section)?),
        })
    }
}

impl Flow {
    /// The keys of every flow.
    const COMMON_KEYS: &'static [&'static str] =
        &["name", "transport", "count", "from", "to", "station", "mtu", "device_queue"];

    /// Its name, where it is not called as its transport.
    pub(crate) fn own_name(&self) -> Option<String> {
        let is_its_transport = Transport::of_name(&self.name) == Ok(self.transport());
        (!is_its_transport).then(|| self.name.clone())
    }

    /// Its transport.
    pub const fn transport(&self) -> Transport {
        match &self.kind {
            FlowKind::Datagram(flow) => Transport::Movie(flow.transport),
            FlowKind::Stream(flow) => Transport::Movie(flow.transport),
            FlowKind::Adaptive(flow) => Transport::Adaptive(flow.rate_control),
            FlowKind::Bulk(_) => Transport::Bulk,
            FlowKind::External(_) => Transport::External,
        }
    }

    /// When it begins, where it does not follow the movie's frame clock.
    pub const fn start(&self) -> Option<Duration> {
        match &self.kind {
            FlowKind::Adaptive(flow) => Some(flow.start),
            FlowKind::Bulk(flow) => Some(flow.start),
            FlowKind::Datagram(_) | FlowKind::Stream(_) | FlowKind::External(_) => None,
        }
    }

    /// It begins at random within this time after its start, each of several connections at a time of its own.
    pub const fn start_within(&self) -> Option<Duration> {
        match &self.kind {
            FlowKind::Adaptive(flow) => flow.start_within,
            FlowKind::Bulk(flow) => flow.start_within,
            FlowKind::Datagram(_) | FlowKind::Stream(_) | FlowKind::External(_) => None,
        }
    }

    /// When it has begun at the latest, where it does not follow the movie's frame clock.
    pub(crate) fn latest_start(&self) -> Option<Duration> {
        self.start().map(|start| start.saturating_add(self.start_within().unwrap_or_default()))
    }

    /// When it is ended; `None` for with the run, and for what ends by itself.
    pub const fn stop(&self) -> Option<Duration> {
        if let FlowKind::Bulk(flow) = &self.kind { flow.stop } else { None }
    }

    /// `SO_SNDBUF` of the lab's own sender, as getsockopt reports it; `None`: the kernel's own, or an application's.
    pub const fn send_buffer(&self) -> Option<DataSize> {
        match &self.kind {
            FlowKind::Datagram(flow) => flow.send_buffer,
            FlowKind::Adaptive(flow) => flow.send_buffer,
            FlowKind::Stream(StreamFlow { tcp, .. }) | FlowKind::Bulk(BulkFlow { tcp, .. }) => tcp.send_buffer,
            FlowKind::External(_) => None,
        }
    }

    /// The connections of the lab's own sender, where it has any.
    pub const fn tcp(&self) -> Option<&Tcp> {
        match &self.kind {
            FlowKind::Stream(StreamFlow { tcp, .. }) | FlowKind::Bulk(BulkFlow { tcp, .. }) => Some(tcp),
            FlowKind::Datagram(_) | FlowKind::Adaptive(_) | FlowKind::External(_) => None,
        }
    }

    /// The congestion control of its connections, or the default of its applications' hosts; `None` over datagrams.
    pub fn congestion(&self) -> Option<&str> {
        match &self.kind {
            FlowKind::External(flow) => Some(&flow.congestion),
            _ => self.tcp().map(|tcp| tcp.congestion.as_str()),
        }
    }

    /// Whether its connections, or its applications' hosts, ask for explicit congestion notification.
    pub fn ecn(&self) -> bool {
        match &self.kind {
            FlowKind::External(flow) => flow.ecn,
            _ => self.tcp().is_some_and(|tcp| tcp.ecn),
        }
    }

    /// The same flow with another name for its congestion control, if it has one.
    pub fn with_congestion(mut self, name: &str) -> Self {
        match &mut self.kind {
            FlowKind::External(flow) => name.clone_into(&mut flow.congestion),
            FlowKind::Stream(StreamFlow { tcp, .. }) | FlowKind::Bulk(BulkFlow { tcp, .. }) => {
                name.clone_into(&mut tcp.congestion);
            }
            FlowKind::Datagram(_) | FlowKind::Adaptive(_) => {}
        }
        self
    }

    /// The same flow of RTSP, whose packets go in datagrams beside the connection: what a client gets that asks for it so. `None`
    /// of any other. A flow that is called as its transport is called as the new one.
    #[must_use]
    pub fn in_datagrams(&self) -> Option<Self> {
        let FlowKind::Stream(own) = &self.kind else { return None };
        let flow = own.in_datagrams()?;
        let name = self.own_name().unwrap_or_else(|| flow.transport.to_string());
        Some(Self { name, kind: FlowKind::Datagram(flow), ..self.clone() })
    }

    /// The keys that a transport has.
    fn keys(transport: Transport) -> Vec<&'static str> {
        [Self::COMMON_KEYS, &FlowKind::keys(transport)].concat()
    }

    /// The keys that some transport has.
    pub(crate) fn all_keys() -> Vec<&'static str> {
        let mut all: Vec<&'static str> = Vec::new();
        for key in Transport::ALL.iter().flat_map(|&transport| Self::keys(transport)) {
            if !all.contains(&key) {
                all.push(key);
            }
        }
        all
    }

    /// The table of a flow; an unknown key is answered with those of its transport.
    pub(crate) fn section(path: String, table: Table) -> Result<Section, ScenarioError> {
        let (all, name) = (Self::all_keys(), table.get("transport").and_then(Value::as_str));
        let offered = name.and_then(Transport::named).map_or_else(|| all.clone(), Self::keys);
        Section::offering(path, table, all, &offered)
    }

    pub(crate) fn read(mut section: Section) -> Result<Self, ScenarioError> {
        let written = section.written("transport").map(str::to_owned);
        let transport = read_transport(&mut section)?;
        refuse_foreign_keys(&section, transport)?;
        let kind = FlowKind::read(&mut section, transport)?;
        let name_key = section.key("name");
        let name = section.string("name")?.or(written).unwrap_or_else(|| transport.to_string());
        check_name(&name_key, &name)?;
        // Several senders exist in the simulated world only, and applications in the emulated one.
        let stations = if transport == Transport::External { 0..=0 } else { 0..=63 };
        Ok(Self {
            name,
            from: section.string("from")?,
            to: section.string("to")?,
            station: section.number("station", stations)?.unwrap_or(0),
            mtu: section.number("mtu", 576..=9_000)?.unwrap_or(1_500),
            device_queue: section.number("device_queue", 1..=100_000)?.unwrap_or(transport.settings().device_queue),
            kind,
        })
    }
}

impl Serialize for Flow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The keys in the order in which they are written.
        #[derive(Serialize)]
        struct Written<'a> {
            name: &'a str,
            transport: Transport,
            #[serde(skip_serializing_if = "Option::is_none")]
            from: &'a Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            to: &'a Option<String>,
            station: u8,
            mtu: u16,
            device_queue: u32,
            #[serde(flatten)]
            kind: &'a FlowKind,
        }
        let Self { name, from, to, station, mtu, device_queue, kind } = self;
        let (transport, station, mtu, device_queue) = (self.transport(), *station, *mtu, *device_queue);
        Written { name, transport, from, to, station, mtu, device_queue, kind }.serialize(serializer)
    }
}

/// The keys of all families beside each other: an editor offers them all, and reading decides which belong together.
impl JsonSchema for FlowKind {
    fn schema_name() -> Cow<'static, str> {
        "FlowKind".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let families = [
            DatagramFlow::json_schema(generator),
            StreamFlow::json_schema(generator),
            AdaptiveFlow::json_schema(generator),
            BulkFlow::json_schema(generator),
            ExternalFlow::json_schema(generator),
        ];
        let mut properties = Map::new();
        let mut transport = generator.subschema_for::<Transport>();
        transport.insert("description".to_owned(), "How it carries the movie.".into());
        properties.insert("transport".to_owned(), transport.to_value());
        for family in &families {
            let own = family.get("properties").and_then(serde_json::Value::as_object);
            for (key, schema) in own.expect("invariant: a family is a table with keys") {
                properties.entry(key).or_insert_with(|| schema.clone());
            }
        }
        json_schema!({ "type": "object", "properties": properties })
    }
}

/// The transport by its name; with applications of the user's own the name may be left out.
fn read_transport(section: &mut Section) -> Result<Transport, ScenarioError> {
    let external = (section.has("sender") || section.has("receiver")).then_some(Transport::External);
    let words: Vec<&str> = Transport::called().into_iter().map(|(_, word)| word).collect();
    let allowed = format!("one of {}; or sender and receiver, for applications of your own", words.join(", "));
    let missing = ScenarioError::missing(&section.key("transport"), allowed);
    Transport::read(section)?.or(external).ok_or(missing)
}

/// Refuses keys that mean nothing for the transport, and would be ignored; the message says whose they are.
fn refuse_foreign_keys(section: &Section, transport: Transport) -> Result<(), ScenarioError> {
    let own = Flow::keys(transport);
    match Flow::all_keys().into_iter().find(|key| section.has(key) && !own.contains(key)) {
        None => Ok(()),
        Some(foreign) => {
            let owners = Transport::names_of(|transport| FlowKind::keys(transport).contains(&foreign));
            let reason = match foreign {
                "damaged" => format!(", {}", damaged::REASON),
                "rtcp" => format!(", {}", rtcp::REASON),
                "ts_rate" => format!(", {}", ts_rate::REASON),
                _ => String::new(),
            };
            let problem = format!("means nothing for transport {transport}; it is a key of {owners}{reason}");
            Err(ScenarioError::new(section.key(foreign), problem))
        }
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
fn buffer(section: &mut Section, key: &str) -> Result<Option<DataSize>, ScenarioError> {
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

/// The send buffer of the lab's own sender.
fn send_buffer(section: &mut Section, defaults: &Profile) -> Result<Option<DataSize>, ScenarioError> {
    Ok(buffer(section, "send_buffer")?.or(defaults.send_buffer))
}

/// The time in which a flow begins at random after its start; absent where there is none.
fn start_within(section: &mut Section) -> Result<Option<Duration>, ScenarioError> {
    Ok(section.text::<Duration>("start_within")?.filter(|within| !within.is_zero()))
}
