use std::path::Path;

use framewire_units::{Bitrate, Duration, Seed};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

use crate::error::ScenarioError;
use crate::flow::{Flow, check_name};
use crate::names::words;
use crate::network::{Bottleneck, Network, NetworkKind, admits_a_packet};
use crate::overrides;
use crate::section::{Section, Shown};
use crate::text::{self, LONGEST, Text, from_directory};

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
    /// What is streamed.
    pub movie: Movie,
    /// What lies between sender and receiver.
    pub network: Network,
    /// The player at the receiver.
    pub playout: Playout,
    /// The flows, at least one.
    #[serde(rename = "flow")]
    #[schemars(length(min = 1, max = 64))]
    pub flows: Vec<Flow>,
}

words! {
    /// Whether flows share a network.
    Layout {
        /// Every flow in its own copy of the network, with the same seed, at once.
        SideBySide = "side-by-side",
        /// All flows in one network.
        Together = "together",
    }
}

/// The `[movie]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Movie {
    /// `"lab"`, the lab's own test movie, or the path of a file.
    pub source: String,
    /// Encode in this; only beside a rate. Default: MPEG-2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codec: Option<MovieCodec>,
    /// Encode to this rate; absent: use a video elementary stream as it is.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Bitrate>")]
    pub bitrate: Option<Bitrate>,
    /// Length of the lab movie, or cut the file to this; absent: all of it.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub duration: Option<Duration>,
}

words! {
    /// What a movie is encoded in.
    MovieCodec {
        /// MPEG-2: IBBP, a group every 15 frames.
        Mpeg2 = "mpeg2",
        /// H.264: three B frames to which nothing refers, a closed group every 50 frames.
        H264 = "h264",
        /// H.264: as before, and the middle one of three B frames is referred to.
        H264Pyramid = "h264-pyramid",
        /// H.265: a pyramid of B frames, a closed group every 50 frames.
        H265 = "h265",
    }
}

words! {
    /// How the player treats what arrives.
    PlayoutPolicy {
        /// A frame after its deadline is late.
        Live = "live",
        /// The player waits; stalls are counted, nothing is late.
        Stall = "stall",
    }
}

words! {
    /// What latencies are counted from.
    Timing {
        /// The time at which a frame was due at the sender.
        Clock = "clock",
        /// The stream's own time codes and the first arrival, as the thesis did.
        Thesis = "thesis",
    }
}

/// The `[playout]` table.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Playout {
    /// How the player treats what arrives.
    pub policy: PlayoutPolicy,
    /// Time between the first arrival and the first frame shown.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Duration>")]
    pub startup: Duration,
    /// What latencies are counted from.
    pub timing: Timing,
}

/// What the text itself does not say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Origin<'a> {
    /// Name of a scenario that states none; default `scenario`.
    pub name: Option<&'a str>,
    /// Directory that a relative movie path is relative to; default: left as it is.
    pub directory: Option<&'a Path>,
    /// Length of the movie, once it is known: fills the limit and bounds schedules where the file states no duration.
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
        let mut table: Table = text.parse().map_err(|error: toml::de::Error| not_toml(text, &error))?;
        overrides::apply(&mut table, overrides)?;
        Self::read(table, origin)
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
        Self::read(table, origin)
    }

    /// The resolved form as TOML: every default written out. It parses back to the same scenario.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("invariant: texts, whole numbers, lists and tables have a form in TOML")
    }

    /// What of this scenario only the simulated world has, with its key; `None` when every world can run it.
    pub fn needs_simulation(&self) -> Option<String> {
        let (index, flow) = self.flows.iter().enumerate().find(|(_, flow)| flow.station > 0)?;
        Some(format!(
            "flow.{index}.station = {}: several wireless senders exist only in the simulated world (--world simulated)",
            flow.station
        ))
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
        &["version", "name", "seed", "layout", "limit", "movie", "network", "playout", "flow"];

    fn read(table: Table, origin: Origin<'_>) -> Result<Self, ScenarioError> {
        let mut section = Section::new(String::new(), table, Self::KEYS)?;
        section.integer("version", 1..=1)?;
        let name = section.string("name")?;
        let name = name.unwrap_or_else(|| file_name(origin.name.unwrap_or("scenario")));
        check_name("name", &name)?;
        let seed = section.integer("seed", 0..=i64::MAX)?.unwrap_or(1);
        let movie = Movie::read(section.section_or_empty("movie", Movie::KEYS)?, origin.directory)?;
        let movie_duration = movie.duration.or(origin.movie_duration);
        let limit = section.text("limit")?;
        let scenario = Self {
            version: 1,
            name,
            seed: u64::try_from(seed).expect("invariant: the range was checked when it was read"),
            layout: section.text("layout")?.unwrap_or(Layout::SideBySide),
            limit: limit.or(movie_duration.map(Self::default_limit)),
            movie,
            network: Network::read(section.section_or_empty("network", Network::KEYS)?, origin.directory)?,
            playout: Playout::read(section.section_or_empty("playout", Playout::KEYS)?)?,
            flows: read_flows(section.take("flow"))?,
        };
        scenario.check_whole(movie_duration)?;
        Ok(scenario)
    }

    /// What no table can check alone.
    fn check_whole(&self, movie: Option<Duration>) -> Result<(), ScenarioError> {
        if self.limit.is_some_and(|limit| limit.is_zero()) {
            return Err(ScenarioError::value("limit", "\"0 s\"", "a time above zero"));
        }
        for (key, interval) in self.network.schedules() {
            check_within_run(key, interval, movie, self.limit)?;
        }
        for (index, flow) in self.flows.iter().enumerate() {
            if let Some(first) = self.flows[..index].iter().position(|other| other.name == flow.name) {
                let allowed = format!("a name that no other flow has (flow {first} has it, counted from 0)");
                return Err(ScenarioError::value(&format!("flow.{index}.name"), format!("\"{}\"", flow.name), allowed));
            }
            self.check_station(index, flow)?;
            self.check_payload(index, flow)?;
            if !admits_a_packet(&self.network.wire.queue, flow.mtu) {
                let shown = format!("\"{}\"", self.network.wire.queue.show());
                let allowed = format!("room for a packet of {} bytes, the mtu of flow {}", flow.mtu, flow.name);
                return Err(ScenarioError::value("network.wire.queue", shown, allowed));
            }
        }
        Ok(())
    }

    /// RFC 2250 carries MPEG video and nothing else.
    fn check_payload(&self, index: usize, flow: &Flow) -> Result<(), ScenarioError> {
        match self.movie.codec {
            Some(codec) if codec != MovieCodec::Mpeg2 && flow.transport.is_datagram() => {
                let allowed = format!("a transport over TCP, which carries movie.codec = \"{}\"", codec.show());
                let shown = format!("\"{}\"", flow.transport.show());
                Err(ScenarioError::value(&format!("flow.{index}.transport"), shown, allowed))
            }
            _ => Ok(()),
        }
    }

    /// Senders of their own share one channel only in one network, and only on the wireless side of the access point.
    fn check_station(&self, index: usize, flow: &Flow) -> Result<(), ScenarioError> {
        let wireless = self.network.kind == NetworkKind::Wifi && self.network.bottleneck == Bottleneck::LocalDevice;
        if flow.station == 0 || (self.layout == Layout::Together && wireless) {
            return Ok(());
        }
        let allowed = "0, or more with layout = \"together\", network.kind = \"wifi\" and \
                       network.bottleneck = \"local-device\"";
        Err(ScenarioError::value(&format!("flow.{index}.station"), flow.station, allowed))
    }
}

impl<'de> Deserialize<'de> for Scenario {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = Table::deserialize(deserializer)?;
        Self::read(table, Origin::default()).map_err(D::Error::custom)
    }
}

impl Movie {
    pub(crate) const KEYS: &'static [&'static str] = &["source", "codec", "bitrate", "duration"];

    /// The source that means the lab's own test movie.
    pub const LAB: &'static str = "lab";

    /// True for the lab's own test movie, false for a file.
    pub fn is_lab(&self) -> bool {
        self.source == Self::LAB
    }

    fn read(mut section: Section, directory: Option<&Path>) -> Result<Self, ScenarioError> {
        let source = section.string("source")?.unwrap_or_else(|| Self::LAB.to_owned());
        let lab = source == Self::LAB;
        if source.is_empty() || source.contains('\0') {
            return Err(ScenarioError::value(
                &section.key("source"),
                format!("{source:?}"),
                "\"lab\" or the path of a file",
            ));
        }
        let duration_key = section.key("duration");
        let duration: Option<Duration> = section.text("duration")?;
        if let Some(duration) = duration.filter(|duration| duration.as_millis() < 200) {
            let shown = format!("\"{}\"", duration.show());
            return Err(ScenarioError::value(&duration_key, shown, "\"0.2 s\" or more: a few frames"));
        }
        let bitrate: Option<Bitrate> = section.text("bitrate")?;
        let (codec_key, codec) = (section.key("codec"), section.text::<MovieCodec>("codec")?);
        if let Some(codec) = codec.filter(|_| bitrate.is_none() && !lab) {
            let allowed = "only beside movie.bitrate: without it the file is used as it is";
            return Err(ScenarioError::value(&codec_key, format!("\"{}\"", codec.show()), allowed));
        }
        Ok(Self {
            codec,
            source: if lab { source } else { from_directory(directory, source) },
            bitrate: bitrate.or(lab.then_some(Bitrate::from_mbps(6))),
            duration: duration.or(lab.then_some(Duration::from_secs(60))),
        })
    }
}

impl Playout {
    pub(crate) const KEYS: &'static [&'static str] = &["policy", "startup", "timing"];

    fn read(mut section: Section) -> Result<Self, ScenarioError> {
        Ok(Self {
            policy: section.text("policy")?.unwrap_or(PlayoutPolicy::Live),
            startup: section.text("startup")?.unwrap_or(Duration::from_secs(1)),
            timing: section.text("timing")?.unwrap_or(Timing::Clock),
        })
    }
}

fn read_flows(value: Option<Value>) -> Result<Vec<Flow>, ScenarioError> {
    const MOST: usize = 64;
    const ALLOWED: &str = "one [[flow]] or more, each with a transport";
    let flows = match value {
        None => return Err(ScenarioError::missing("flow", ALLOWED)),
        Some(Value::Array(flows)) => flows,
        Some(other) => return Err(ScenarioError::value("flow", Shown(&other), ALLOWED)),
    };
    if !(1..=MOST).contains(&flows.len()) {
        return Err(ScenarioError::value("flow", format!("{} flows", flows.len()), format!("1 to {MOST} flows")));
    }
    let read = |(index, value): (usize, Value)| match value {
        Value::Table(table) => Flow::read(Section::new(format!("flow.{index}"), table, Flow::KEYS)?),
        other => Err(ScenarioError::value(&format!("flow.{index}"), Shown(&other), ALLOWED)),
    };
    flows.into_iter().enumerate().map(read).collect()
}

/// A schedule has to begin while the movie is offered and to end before the run must.
fn check_within_run(
    key: &str,
    interval: &text::Interval,
    movie: Option<Duration>,
    limit: Option<Duration>,
) -> Result<(), ScenarioError> {
    if let Some(movie) = movie.filter(|&movie| interval.from >= movie) {
        let allowed = format!("a start within the movie, which lasts {}", movie.show());
        return Err(ScenarioError::value(key, interval, allowed));
    }
    if let Some(limit) = limit.filter(|&limit| interval.to > limit) {
        let allowed = format!("an end within the run, which lasts at most {} (key limit)", limit.show());
        return Err(ScenarioError::value(key, interval, allowed));
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

fn not_toml(text: &str, error: &toml::de::Error) -> ScenarioError {
    let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
    let place = line.map_or(String::new(), |line| format!(" in line {line}"));
    ScenarioError::new("", format!("not a scenario in TOML: {}{place}", error.message().trim().replace('\n', ", ")))
}
