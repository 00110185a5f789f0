use std::path::Path;

use framewire_link::Interval;
use framewire_units::{DataSize, Duration, Playout, Seed, Timestamp};
use framewire_wire::rtp_payload::PacketRule;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use toml::Table;

use crate::error::ScenarioError;
use crate::flow::{Flow, FlowKind, check_name, list};
use crate::movie::{Movie, MovieCodec};
use crate::names::keywords;
use crate::network::{Network, Wire, admits_a_packet};
use crate::section::Section;
use crate::text::{self, LONGEST, Text, show_interval};
use crate::{overrides, playout};

/// Everything that one run needs, with every default filled in.
///
/// Serialises as the file is written (quantities are texts with units), and deserialises through the same checks
/// as [`Scenario::parse`].
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(
    deny_unknown_fields,
    description = "Everything that one run of framewire needs; docs/scenario.md describes it."
)]
pub struct Scenario {
    /// Version of the format; 1.
    #[schemars(range(min = 1, max = 1))]
    pub version: u32,
    /// Name of the scenario, and of its run directories.
    pub name: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// Whether flows share a network.
    pub layout: Layout,
    /// When a run is ended at the latest. Absent only while the length of the movie is not known: by default it is 4
    /// times that and 60 s.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub limit: Option<Duration>,
    /// What the captures of the emulated world keep.
    pub captures: Captures,
    /// What is streamed.
    pub movie: Movie,
    /// What lies between sender and receiver.
    pub network: Network,
    /// The player at the receiver.
    #[serde(serialize_with = "playout::serialize")]
    #[schemars(with = "playout::Table")]
    pub playout: Playout,
    /// The flows, at least one.
    #[serde(rename = "flow")]
    #[schemars(length(min = 1, max = 64))]
    pub flows: Vec<Flow>,
}

keywords! {
    /// What the captures of the emulated world keep of packets.
    Captures {
        /// What Wireshark needs to follow TCP connections and RTP streams: headers, with the packets' lengths.
        Headers = "headers",
        /// Everything.
        Full = "full",
        /// There are none.
        None = "none",
    }
}

keywords! {
    /// Whether flows share a network.
    Layout {
        /// Every flow in its own copy of the network, with the same seed, at once.
        SideBySide = "side-by-side",
        /// All flows in one network.
        Together = "together",
    }
}

/// What the text itself does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// Name of a scenario that states none; default `scenario`.
    pub name: Option<&'a str>,
    /// Directory that a relative movie path is relative to; default: left as it is.
    pub directory: Option<&'a Path>,
    /// Length of the movie, or of the ladder where that is longer, once it is known: fills the limit and bounds schedules
    /// where the file states no duration.
    pub movie_duration: Option<Duration>,
}

impl Scenario {
    /// Reads the file and lays overrides over it, as `--set` gives them: a dotted path (flows by name, by index or
    /// `*`) and a value in TOML or as a bare text.
    ///
    /// # Errors
    /// When the text is not TOML, a key is unknown, or a value is out of range; the error names the key, the value
    /// and what is allowed.
    pub fn parse(text: &str, overrides: &[(String, String)]) -> Result<Self, ScenarioError> {
        Self::parse_from(text, overrides, Origin::default())
    }

    /// As [`Scenario::parse`], knowing where the text comes from.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_from(text: &str, overrides: &[(String, String)], origin: Origin<'_>) -> Result<Self, ScenarioError> {
        let mut table = read_toml(text, "not a scenario in TOML")?;
        overrides::apply(&mut table, overrides)?;
        let names = list::names_as_written(&table);
        Self::read(table, origin).map_err(|error| error.among_flows(&names))
    }

    /// As [`Scenario::parse_from`], from the same document in JSON.
    ///
    /// # Errors
    /// As [`Scenario::parse`].
    pub fn parse_json_from(
        text: &str,
        overrides: &[(String, String)],
        origin: Origin<'_>,
    ) -> Result<Self, ScenarioError> {
        let mut table: Table = serde_json::from_str(text)
            .map_err(|error| ScenarioError::new("", format!("not a scenario in JSON: {error}")))?;
        overrides::apply(&mut table, overrides)?;
        let names = list::names_as_written(&table);
        Self::read(table, origin).map_err(|error| error.among_flows(&names))
    }

    /// The same scenario when the length of the movie, or of the ladder where that is longer, is known: as if its
    /// [origin](Origin) had said so.
    ///
    /// # Errors
    /// When a schedule begins after the movie, or ends after the run.
    pub fn lasting(self, movie: Duration) -> Result<Self, ScenarioError> {
        let written: Vec<usize> = (0..self.flows.len()).collect();
        let names: Vec<Option<String>> = self.flows.iter().map(Flow::own_name).collect();
        self.settled(Some(movie), &written).map_err(|error| error.among_flows(&names))
    }

    /// The same scenario with another seed.
    ///
    /// # Errors
    /// When the file could not state it.
    pub fn seeded(self, seed: u64) -> Result<Self, ScenarioError> {
        if i64::try_from(seed).is_err() {
            return Err(ScenarioError::value("seed", seed, format!("a whole number from 0 to {}", i64::MAX)));
        }
        Ok(Self { seed, ..self })
    }

    /// The resolved form as TOML: every default written out. It parses back to the same scenario.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("invariant: texts, whole numbers, lists and tables have a form in TOML")
    }

    /// A key of a flow for a message, with the flow's name where it has one: `flow.3.mtu (camera)`.
    pub fn flow_key(&self, index: usize, key: &str) -> String {
        let name = self.flows.get(index).and_then(Flow::own_name);
        format!("flow.{index}.{key}{}", name.map_or(String::new(), |name| format!(" ({name})")))
    }

    /// What of this scenario only the simulated world has, with its key; `None` when every world can run it.
    pub fn needs_simulation(&self) -> Option<String> {
        let reason = |(index, flow): (usize, &Flow)| {
            let (key, what) = only_simulated(flow)?;
            let key = self.flow_key(index, &key);
            Some(format!("{key}: {what} only in the simulated world (--world simulated)"))
        };
        let graph = "network.kind = \"graph\": several hops exist only in the simulated world (--world simulated)";
        let graph = self.network.as_graph().map(|_| graph.to_owned());
        graph.or_else(|| self.flows.iter().enumerate().find_map(reason))
    }

    /// True where a flow sends the movie.
    pub fn streams_movie(&self) -> bool {
        self.flows.iter().any(|flow| flow.transport().has_movie())
    }

    /// True where a flow sends the levels of the ladder.
    pub fn streams_ladder(&self) -> bool {
        self.flows.iter().any(|flow| flow.transport().is_adaptive())
    }

    /// True where no flow ends by itself: the run lasts until its limit.
    pub fn is_bulk_only(&self) -> bool {
        self.flows.iter().all(|flow| matches!(flow.kind, FlowKind::Bulk(_)))
    }

    /// The seed of every random draw.
    pub fn seed(&self) -> Seed {
        Seed(self.seed)
    }

    /// When a run ends at the latest if the scenario does not say: 4 times the movie and 60 s.
    pub fn default_limit(movie: Duration) -> Duration {
        (movie.saturating_mul(4)).saturating_add(Duration::from_secs(60)).min(LONGEST)
    }

    pub(crate) const KEYS: &'static [&'static str] =
        &["version", "name", "seed", "layout", "limit", "captures", "movie", "network", "playout", "flow"];

    fn read(table: Table, origin: Origin<'_>) -> Result<Self, ScenarioError> {
        let mut section = Section::new(String::new(), table, Self::KEYS)?;
        section.integer("version", 1..=1)?;
        let name = section.string("name")?;
        let name = name.unwrap_or_else(|| file_name(origin.name.unwrap_or("scenario")));
        check_name("name", &name)?;
        let seed = section.integer("seed", 0..=i64::MAX)?.unwrap_or(1);
        let movie = section.section_or_empty("movie", Movie::KEYS)?;
        let (flows, written) = list::read(section.take("flow"))?;
        let movie = Movie::read(movie, origin.directory, &flows)?;
        let scenario = Self {
            version: 1,
            name,
            seed: u64::try_from(seed).expect("invariant: the range was checked when it was read"),
            layout: section.text("layout")?.unwrap_or(Layout::SideBySide),
            limit: section.text("limit")?,
            captures: section.text("captures")?.unwrap_or(Captures::Headers),
            movie,
            network: Network::read(section.section_or_empty("network", Network::KEYS)?, origin.directory)?,
            playout: playout::read(section.section_or_empty("playout", playout::KEYS)?)?,
            flows,
        };
        scenario.settled(origin.movie_duration, &written)
    }

    /// With the limit that follows from the length of the movie, as far as that is known, and checked as a whole.
    fn settled(mut self, found: Option<Duration>, written: &[usize]) -> Result<Self, ScenarioError> {
        let adaptive = self.flows.iter().filter(|flow| flow.transport().is_adaptive());
        let last_start = adaptive.filter_map(Flow::latest_start).max().unwrap_or_default();
        let offered = self.movie.length(found).map(|movie| movie.saturating_add(last_start));
        self.limit = self.limit.or(offered.map(Self::default_limit));
        self.check_whole(offered, written)?;
        Ok(self)
    }

    /// What no table can check alone. `written` has for each flow where in the file it stands.
    fn check_whole(&self, movie: Option<Duration>, written: &[usize]) -> Result<(), ScenarioError> {
        if self.limit.is_some_and(|limit| limit.is_zero()) {
            return Err(ScenarioError::value("limit", "\"0 s\"", "a time above zero"));
        }
        if self.limit.is_none() && self.is_bulk_only() {
            let allowed = "a time such as \"60 s\", because nothing else ends a run of bulk flows";
            return Err(ScenarioError::missing("limit", allowed));
        }
        for (key, interval) in self.network.schedules() {
            check_within_run(&key, &interval, movie, self.limit)?;
        }
        for (at, (flow, &index)) in self.flows.iter().zip(written).enumerate() {
            if let Some(first) = self.flows[..at].iter().position(|other| other.name == flow.name) {
                let first = written[first];
                let allowed = format!("a name that no other flow has (flow {first} has it, counted from 0)");
                return Err(ScenarioError::value(&format!("flow.{index}.name"), format!("\"{}\"", flow.name), allowed));
            }
            self.check_station(index, flow)?;
            self.check_payload(index, flow)?;
            self.check_source(index, flow)?;
            self.check_times(index, flow)?;
            self.check_hosts(index, flow)?;
            let narrow = |(_, wire): &(String, &Wire)| !admits_a_packet(&wire.queue, flow.mtu);
            if let Some((key, wire)) = self.network.wires().into_iter().find(narrow) {
                let shown = format!("\"{}\"", wire.queue.show());
                let allowed = format!("room for a packet of {} bytes, the mtu of flow {}", flow.mtu, flow.name);
                return Err(ScenarioError::value(&format!("{key}.queue"), shown, allowed));
            }
            let largest = DataSize::from_bytes(u64::from(flow.mtu));
            for (key, wire) in self.network.wires() {
                if let Some((bucket, burst)) = wire.bursts().find(|(_, burst)| *burst < largest) {
                    let (key, shown) = (format!("{key}.{bucket}"), format!("\"{}\"", burst.show()));
                    let allowed = format!("at least a packet of {} bytes, the mtu of flow {}", flow.mtu, flow.name);
                    return Err(ScenarioError::value(&key, shown, allowed));
                }
            }
        }
        Ok(())
    }

    /// The packets of the thesis are of MPEG-2. Of a file the codec is not known here.
    fn check_payload(&self, index: usize, flow: &Flow) -> Result<(), ScenarioError> {
        let top_level = self.movie.source.is_none().then(|| self.movie.ladder_codec()).flatten();
        match (&flow.kind, self.movie.codec.or(top_level)) {
            (FlowKind::Datagram(own), Some(codec))
                if codec != MovieCodec::Mpeg2 && own.packets == PacketRule::Thesis =>
            {
                let shown = format!("\"{}\"", own.packets.show());
                let rules = if codec == MovieCodec::Mpeg4 { "\"full\"" } else { "one of full, slices" };
                let allowed = format!("{rules} with movie.codec = \"{}\": thesis is of MPEG-2", codec.show());
                Err(ScenarioError::value(&format!("flow.{index}.packets"), shown, allowed))
            }
            _ => Ok(()),
        }
    }

    /// What begins has to begin while the run lasts.
    fn check_times(&self, index: usize, flow: &Flow) -> Result<(), ScenarioError> {
        let latest = flow.start_within().and(flow.latest_start());
        for (name, time) in [("start", flow.start()), ("start_within", latest), ("stop", flow.stop())] {
            let Some((time, limit)) = time.zip(self.limit) else { continue };
            if time > limit || (name != "stop" && time == limit) {
                let allowed = format!("a time within the run, which lasts at most {} (key limit)", limit.show());
                return Err(ScenarioError::value(
                    &format!("flow.{index}.{name}"),
                    format!("\"{}\"", time.show()),
                    allowed,
                ));
            }
        }
        Ok(())
    }

    /// Senders of their own share one channel only in one network, and only on the wireless side of the access point.
    fn check_station(&self, index: usize, flow: &Flow) -> Result<(), ScenarioError> {
        let path = self.network.as_path();
        let wireless = path.is_some_and(|path| path.wifi.is_some() && self.network.holds_packets_of(None));
        if flow.station == 0 || (self.layout == Layout::Together && wireless) {
            return Ok(());
        }
        let allowed = "0, or more with layout = \"together\", network.kind = \"wifi\" and \
                       network.bottleneck = \"local-device\"";
        Err(ScenarioError::value(&format!("flow.{index}.station"), flow.station, allowed))
    }

    /// In a graph a flow goes from one of its nodes to another; else there is but one way.
    fn check_hosts(&self, index: usize, flow: &Flow) -> Result<(), ScenarioError> {
        let ends = [("from", &flow.from), ("to", &flow.to)];
        let Some(graph) = self.network.as_graph() else {
            return match ends.into_iter().find(|(_, node)| node.is_some()) {
                None => Ok(()),
                Some((end, _)) => {
                    let problem = "means nothing without nodes; it is a key with network.kind = \"graph\"";
                    Err(ScenarioError::new(format!("flow.{index}.{end}"), problem))
                }
            };
        };
        let nodes = graph.nodes();
        for (end, node) in ends {
            let (key, allowed) =
                (format!("flow.{index}.{end}"), format!("a node of the network: {}", nodes.join(", ")));
            match node {
                None => return Err(ScenarioError::missing(&key, allowed)),
                Some(node) if !nodes.contains(&node.as_str()) => {
                    return Err(ScenarioError::value(&key, format!("\"{node}\""), allowed));
                }
                Some(_) => {}
            }
        }
        if flow.from == flow.to {
            let shown = format!("\"{}\"", flow.to.as_deref().unwrap_or_default());
            return Err(ScenarioError::value(&format!("flow.{index}.to"), shown, "another node than that of from"));
        }
        Ok(())
    }
}

/// What of a flow no kernel does: the key, with its value where a word is enough, and what it is.
fn only_simulated(flow: &Flow) -> Option<(String, &'static str)> {
    let time = |key: &str, time: Option<Duration>| Some(format!("{key} = \"{}\"", time?.show()));
    let station = (flow.station > 0).then(|| format!("station = {}", flow.station));
    let options = flow.tcp().and_then(|tcp| tcp.options.as_ref()).map(|_| "tcp".to_owned());
    let ticks = if let FlowKind::Adaptive(own) = &flow.kind { [own.send_tick, own.receive_tick] } else { [None; 2] };
    let clock = time("send_tick", ticks[0]).or(time("receive_tick", ticks[1]));
    let every = [
        (station, "several wireless senders exist"),
        (time("start_within", flow.start_within()), "a random start exists"),
        (options, "other options of TCP than this kernel's exist"),
        (clock, "coarse clocks of a stream exist"),
    ];
    every.into_iter().find_map(|(key, what)| Some((key?, what)))
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = Table::deserialize(deserializer)?;
        Self::read(table, Origin::default()).map_err(D::Error::custom)
    }
}

/// A schedule has to begin while the movie is offered and to end before the run must.
fn check_within_run(
    key: &str,
    interval: &Interval,
    movie: Option<Duration>,
    limit: Option<Duration>,
) -> Result<(), ScenarioError> {
    if let Some(movie) = movie.filter(|&movie| interval.start >= Timestamp::ZERO + movie) {
        let allowed = format!("a start within the movie, which lasts {}", movie.show());
        return Err(ScenarioError::value(key, show_interval(interval), allowed));
    }
    if let Some(limit) = limit.filter(|&limit| interval.end > Timestamp::ZERO + limit) {
        let allowed = format!("an end within the run, which lasts at most {} (key limit)", limit.show());
        return Err(ScenarioError::value(key, show_interval(interval), allowed));
    }
    Ok(())
}

/// A file's name as a scenario's name: what does not fit becomes a hyphen.
fn file_name(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_');
    let name: String = text.chars().take(64).map(|c| if fits(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches('-');
    if name.is_empty() { "scenario".to_owned() } else { name.to_owned() }
}

/// Refuses a text that is not TOML, or nested deeper than any file that is read here: what passes can be given to a reader
/// that has no limit of its own.
///
/// # Errors
/// When it is not, with the line.
pub fn check_toml(text: &str) -> Result<(), ScenarioError> {
    read_toml(text, "not TOML").map(drop)
}

/// The parser bounds how deep tables, lists and dotted keys are nested.
fn read_toml(text: &str, problem: &str) -> Result<Table, ScenarioError> {
    text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        let place = line.map_or(String::new(), |line| format!(" in line {line}"));
        ScenarioError::new("", format!("{problem}: {}{place}", error.message().trim().replace('\n', ", ")))
    })
}
