//! How a flow carries what it carries: the table of all transports, made of those of the crates that carry them out.

use std::fmt;

use framewire_adaptive::rate_control::RateControl;
use framewire_transport::{Profile, TransportKind, UnknownTransport};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use toml::Value;

use crate::error::ScenarioError;
use crate::names;
use crate::parts::{self, Parts};
use crate::section::{Section, Shown};
use crate::suggestions::not_built;

/// How a flow carries its movie, or what else it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// The lab's own sender of the movie.
    Movie(TransportKind),
    /// A server that chooses among the levels of a ladder by this rate control.
    Adaptive(RateControl),
    /// TCP connections that always have data, and no movie.
    Bulk,
    /// Applications of the user's own at both ends.
    External,
}

/// What carries a flow, as far as its settings depend on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// The movie in datagrams.
    Datagram,
    /// The movie as a stream of bytes.
    Stream,
    /// Levels of a ladder, in datagrams.
    Adaptive,
    /// Filler bytes over TCP, as a file transfer would send.
    Bulk,
    /// What applications send.
    External,
}

impl Family {
    const ALL: [Self; 5] = [Self::Datagram, Self::Stream, Self::Adaptive, Self::Bulk, Self::External];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Datagram => "datagram",
            Self::Stream => "stream",
            Self::Adaptive => "adaptive",
            Self::Bulk => "bulk",
            Self::External => "external",
        }
    }

    /// What all of a family of several are called.
    const fn phrase(self) -> Option<&'static str> {
        match self {
            Self::Datagram => Some("datagram transports"),
            Self::Stream => Some("stream transports"),
            Self::Adaptive => Some("adaptive streams"),
            Self::Bulk | Self::External => None,
        }
    }
}

const COUNT: usize = TransportKind::ALL.len() + RateControl::ALL.len() + 2;

const fn all() -> [Transport; COUNT] {
    let mut all = [Transport::External; COUNT];
    let mut filled = 0;
    while filled < TransportKind::ALL.len() {
        all[filled] = Transport::Movie(TransportKind::ALL[filled]);
        filled += 1;
    }
    let mut rate_control = 0;
    while rate_control < RateControl::ALL.len() {
        all[filled] = Transport::Adaptive(RateControl::ALL[rate_control]);
        filled += 1;
        rate_control += 1;
    }
    all[filled] = Transport::Bulk;
    all
}

impl Transport {
    /// All that have an entry of their own, in the order of the documentation.
    pub const ALL: &[Self] = &all();

    /// The same by every name that they have: `rtp` is another one of `udp-blocking`.
    pub fn called() -> Vec<(Self, &'static str)> {
        let names = |&one: &Self| [one.as_str()].into_iter().chain(one.also_called()).map(move |name| (one, name));
        Self::ALL.iter().flat_map(names).collect()
    }

    /// Another name of it.
    pub fn also_called(self) -> Option<&'static str> {
        if let Self::Movie(kind) = self { kind.also_called() } else { None }
    }

    /// All of them: those, and the other combinations of their parts.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().chain(TransportKind::combinations().map(Self::Movie))
    }

    /// The one of this name, which may be one that it had in an earlier version.
    pub fn named(name: &str) -> Option<Self> {
        let current = Self::every().find(|one| one.as_str() == name);
        current.or_else(|| name.parse().ok().map(Self::Adaptive))
    }

    /// The word that the file uses.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Movie(kind) => kind.name(),
            Self::Adaptive(rate_control) => rate_control.as_str(),
            Self::Bulk => "bulk",
            Self::External => "external",
        }
    }

    /// What it does, in a line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Movie(kind) => kind.profile().summary,
            Self::Adaptive(rate_control) => rate_control.summary(),
            Self::Bulk => "TCP connections that always have data, and no movie.",
            Self::External => "Applications of the user's own at both ends.",
        }
    }

    /// What it is made of; `None` of what applications do.
    pub fn parts(self) -> Option<Parts> {
        match self {
            Self::Movie(kind) => Some(Parts::of_movie(kind.profile().parts)),
            Self::Adaptive(rate_control) => Some(Parts::of_levels(rate_control)),
            Self::Bulk => Some(Parts::of_bulk()),
            Self::External => None,
        }
    }

    /// What carries it.
    pub const fn family(self) -> Family {
        match self {
            Self::Movie(kind) if kind.is_stream() => Family::Stream,
            Self::Movie(_) => Family::Datagram,
            Self::Adaptive(_) => Family::Adaptive,
            Self::Bulk => Family::Bulk,
            Self::External => Family::External,
        }
    }

    /// True for RTP over UDP, false for a byte stream and for adaptive streaming.
    pub const fn is_datagram(self) -> bool {
        matches!(self.family(), Family::Datagram)
    }

    /// True where a server chooses among the levels of a ladder.
    pub const fn is_adaptive(self) -> bool {
        matches!(self, Self::Adaptive(_))
    }

    /// True where the movie is sent: neither the levels of a ladder, nor filler bytes.
    pub const fn has_movie(self) -> bool {
        matches!(self, Self::Movie(_) | Self::External)
    }

    /// True where it carries the sound of a movie beside it.
    pub const fn carries_sound(self) -> bool {
        matches!(self, Self::Movie(kind) if kind.carries_sound())
    }

    /// Its defaults of send buffer, device queue and unsent limit are those of this transport: an adaptive stream has the
    /// sockets of `udp`, and connections without a frame queue have those of `tcp`.
    pub const fn settings(self) -> &'static Profile {
        match self {
            Self::Movie(kind) => kind.profile(),
            Self::Adaptive(_) => TransportKind::UDP.profile(),
            Self::Bulk | Self::External => TransportKind::TCP.profile(),
        }
    }

    /// Those that something is true of, for messages: whole families by what they are, others by their names.
    pub(crate) fn names_of(is_meant: impl Fn(Self) -> bool) -> String {
        if Self::ALL.iter().all(|&one| is_meant(one) != (one == Self::External)) {
            return "the lab's own transports; an application sets its own".to_owned();
        }
        let mut phrases: Vec<String> = Vec::new();
        for family in Family::ALL {
            let of_family = Self::ALL.iter().filter(|one| one.family() == family);
            let (meant, others): (Vec<&Self>, Vec<&Self>) = of_family.partition(|&&one| is_meant(one));
            let names = || meant.iter().flat_map(|one| [one.as_str()].into_iter().chain(one.also_called()));
            match family.phrase() {
                Some(phrase) if others.is_empty() => {
                    phrases.push(format!("{phrase} ({})", names().collect::<Vec<_>>().join(", ")));
                }
                _ => phrases.extend(names().map(str::to_owned)),
            }
        }
        match phrases.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
            _ => phrases.concat(),
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Transport {
    /// Reads the key `transport`: a name, or a table of parts.
    pub(crate) fn read(section: &mut Section) -> Result<Option<Self>, ScenarioError> {
        let path = section.key("transport");
        match section.take("transport") {
            None => Ok(None),
            Some(Value::String(name)) => Self::parse(&path, &name).map(Some),
            Some(Value::Table(table)) => parts::read(&path, Section::new(path.clone(), table, parts::KEYS)?).map(Some),
            Some(other) => {
                let allowed = format!("a name in quotes, or a table of {}", parts::KEYS.join(", "));
                Err(ScenarioError::value(&path, Shown(&other), allowed))
            }
        }
    }

    /// The transport that a scenario calls so, by any of its names: `rtp` is `udp-blocking`.
    ///
    /// # Errors
    /// As of a scenario that names it: no transport is called so, or its parts make no sense together.
    pub fn of_name(name: &str) -> Result<Self, ScenarioError> {
        Self::parse("transport", name)
    }

    fn parse(path: &str, name: &str) -> Result<Self, ScenarioError> {
        // One that is called otherwise now is still read by the name that it had.
        let called = Self::called();
        let word = |(_, word): (Self, &'static str)| word;
        let find = |name| names::find(name, &called, word).map(|(one, _)| one);
        let known = |name| find(name).ok().or_else(|| Self::named(name));
        match name.parse() {
            Ok(kind) => Ok(Self::Movie(kind)),
            Err(senseless @ UnknownTransport::Senseless { .. }) => Err(ScenarioError::new(path, senseless.to_string())),
            Err(UnknownTransport::Unknown { .. }) => known(name).ok_or_else(|| {
                let listed = names::one_of(&called, word);
                if let Some(protocol) = not_built(name) {
                    let others =
                        "programs of your own that speak it run as transport = \"external\" (docs/applications.md)";
                    let problem = format!("{protocol} is not built in; {others}; built in are {listed}");
                    return ScenarioError::new(path, problem);
                }
                // A name of other programs is no slip, whatever it resembles.
                if name.eq_ignore_ascii_case("rtp/udp") {
                    let allowed =
                        format!("{listed} (RTP over UDP is \"udp\" here, or \"rtp\" where nothing is to be dropped)");
                    return ScenarioError::value(path, Shown(&Value::from(name)), allowed);
                }
                // In front of the list, which is long.
                let hint = names::meant(name, &called, word).map(|guess| format!("did you mean \"{guess}\"? "));
                let (shown, hint) = (Shown(&Value::from(name)), hint.unwrap_or_default());
                ScenarioError::new(path, format!("{shown} is not allowed; {hint}allowed is {listed}"))
            }),
        }
    }
}

impl Serialize for Transport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl JsonSchema for Transport {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Transport".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let name = |one: Self| json_schema!({ "description": one.summary(), "type": "string", "const": one.as_str() });
        let mut alternatives: Vec<Schema> = Self::every().map(name).collect();
        alternatives.push(parts::schema());
        json_schema!({ "description": "How a flow carries its movie, or what else it is.", "oneOf": alternatives })
    }
}
