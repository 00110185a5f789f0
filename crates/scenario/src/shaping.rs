//! What a wire has beside its rate: `framing`, `shaper` and `policer`.

use framewire_link::{Exceeding, Framing, LineKind, PolicerConfig, TokenBucket};
use framewire_units::{Bitrate, DataSize};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use toml::Value;

use crate::error::ScenarioError;
use crate::names;
use crate::section::{Section, Shown};
use crate::text::{self, Text};

names::text_keywords! { LineKind Exceeding }

/// The most bytes that may stand around a packet: no encapsulation has as many.
const MOST_OVERHEAD: u64 = 1_000;

/// Bytes around a packet, which may be none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Overhead(DataSize);

impl Text for Overhead {
    const PATTERN: &str = DataSize::PATTERN;

    fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<DataSize>() {
            Ok(size) if size.as_bytes() <= MOST_OVERHEAD => Ok(Self(size)),
            _ => Err(format!("\"0 B\" to \"{MOST_OVERHEAD} B\"")),
        }
    }

    fn show(&self) -> String {
        format!("{} B", self.0.as_bytes())
    }
}

/// The framing of a line: a word for its usual headers, bytes around each packet, or a table of both.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "Framing")]
enum Written {
    /// With the usual headers of such a line.
    Kind(
        #[serde(serialize_with = "text::serialize")]
        #[schemars(schema_with = "text::schema::<LineKind>")]
        LineKind,
    ),
    /// So many bytes around each packet, without cells or blocks.
    Bytes(
        #[serde(serialize_with = "text::serialize")]
        #[schemars(schema_with = "text::schema::<Overhead>")]
        Overhead,
    ),
    /// With other headers.
    Table(FramingTable),
}

/// A kind of line and the bytes around each packet.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "FramingTable")]
struct FramingTable {
    /// What kind of line it is.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<LineKind>")]
    kind: LineKind,
    /// Bytes around each packet before the line's own cells or blocks.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Overhead>")]
    overhead: Overhead,
}

/// `#[serde(serialize_with = ...)]` for the framing of a wire.
pub(crate) fn serialize<S: Serializer>(framing: &Framing, serializer: S) -> Result<S::Ok, S::Error> {
    let Framing { kind, overhead } = *framing;
    let written = match kind {
        kind if *framing == Framing::of(kind) => Written::Kind(kind),
        LineKind::Plain => Written::Bytes(Overhead(overhead)),
        kind => Written::Table(FramingTable { kind, overhead: Overhead(overhead) }),
    };
    written.serialize(serializer)
}

pub(crate) fn schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Written>()
}

/// Nothing is written where there is none.
pub(crate) fn is_none(framing: &Framing) -> bool {
    *framing == Framing::NONE
}

/// Takes the framing out of a wire's table.
pub(crate) fn read_framing(section: &mut Section) -> Result<Framing, ScenarioError> {
    let path = section.key("framing");
    match section.take("framing") {
        None => Ok(Framing::NONE),
        Some(Value::String(word)) => {
            match (names::find(&word, LineKind::ALL, LineKind::as_str), Overhead::parse(&word)) {
                (Ok(kind), _) => Ok(Framing::of(kind)),
                (_, Ok(Overhead(overhead))) => Ok(Framing { kind: LineKind::Plain, overhead }),
                (Err(words), Err(bytes)) => {
                    let allowed = format!("{words}, or bytes around each packet, {bytes}");
                    Err(ScenarioError::value(&path, format!("\"{word}\""), allowed))
                }
            }
        }
        Some(Value::Table(table)) => {
            let mut table = Section::new(path, table, &["kind", "overhead"] as &[&'static str])?;
            let kind = required::<LineKind>(&mut table, "kind", "one of plain, atm, ptm, docsis, ethernet")?;
            let overhead = table.text::<Overhead>("overhead")?.map(|Overhead(bytes)| bytes);
            Ok(Framing { kind, overhead: overhead.unwrap_or(Framing::of(kind).overhead) })
        }
        Some(other) => {
            let allowed = "a word such as \"atm\", bytes such as \"20 B\", or a table such as { kind = \"atm\", overhead = \"32 B\" }";
            Err(ScenarioError::value(&path, Shown(&other), allowed))
        }
    }
}

fn required<T: Text>(section: &mut Section, key: &str, allowed: &str) -> Result<T, ScenarioError> {
    let path = section.key(key);
    section.text(key)?.ok_or_else(|| ScenarioError::missing(&path, allowed))
}

/// The `[network.wire.shaper]` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Shaper {
    /// What leaves the queue in the long run.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Bitrate>")]
    pub rate: Bitrate,
    /// What may leave it at once after a pause.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub burst: DataSize,
}

/// The `[network.wire.policer]` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Policer {
    /// What comes into the queue in the long run.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Bitrate>")]
    pub rate: Bitrate,
    /// What may come at once after a pause.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub burst: DataSize,
    /// What becomes of the rest.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Exceeding>")]
    pub exceeding: Exceeding,
}

const RATE: &str = "a rate such as \"5 Mbit/s\"";
const BURST: &str = "a size such as \"16 KiB\", which is what may pass at once";

impl Shaper {
    pub(crate) fn read(section: &mut Section) -> Result<Option<Self>, ScenarioError> {
        let Some(mut table) = section.section("shaper", &["rate", "burst"])? else { return Ok(None) };
        Ok(Some(Self { rate: required(&mut table, "rate", RATE)?, burst: required(&mut table, "burst", BURST)? }))
    }

    /// The same for the link model.
    pub fn bucket(self) -> TokenBucket {
        TokenBucket { rate: self.rate, burst: self.burst }
    }
}

impl Policer {
    pub(crate) fn read(section: &mut Section) -> Result<Option<Self>, ScenarioError> {
        let Some(mut table) = section.section("policer", &["rate", "burst", "exceeding"])? else { return Ok(None) };
        Ok(Some(Self {
            rate: required(&mut table, "rate", RATE)?,
            burst: required(&mut table, "burst", BURST)?,
            exceeding: table.text("exceeding")?.unwrap_or(Exceeding::Drop),
        }))
    }

    /// The same for the link model.
    pub fn config(self) -> PolicerConfig {
        PolicerConfig { bucket: TokenBucket { rate: self.rate, burst: self.burst }, exceeding: self.exceeding }
    }
}
