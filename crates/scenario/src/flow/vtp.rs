//! What VTP alone has among the adaptive streams.

use framewire_adaptive::vtp::Estimate;
use framewire_units::{DataSize, Probability};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use crate::error::ScenarioError;
use crate::names;
use crate::section::Section;
use crate::text::{self, Text};

/// What VTP alone has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Vtp {
    /// How equation 1 of its paper is read.
    #[serde(flatten, serialize_with = "serialize_estimate")]
    #[schemars(flatten, with = "EstimateKeys")]
    pub estimate: Estimate,
    /// α of equation 2: the weight of the history, below 1; absent: that of the estimate.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    pub alpha: Option<Probability>,
    /// By how much the rate rises in a step, in bytes per second; absent: 1 kB.
    #[serde(serialize_with = "text::serialize_optional", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "text::schema::<DataSize>")]
    pub step: Option<DataSize>,
}

/// The reading as it is written.
#[derive(Serialize, JsonSchema)]
struct EstimateKeys {
    /// How equation 1 is read; present exactly for `vtp`.
    #[schemars(schema_with = "estimate_schema")]
    estimate: &'static str,
    /// Bytes of header that the estimate counts of each packet; only where it is "bytes over gaps", absent: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1_500))]
    estimate_header: Option<u16>,
}

impl Vtp {
    pub(super) const KEYS: &'static [&'static str] = &["estimate", "estimate_header", "alpha", "step"];

    pub(super) fn read(section: &mut Section) -> Result<Self, ScenarioError> {
        Ok(Self { estimate: read_estimate(section)?, alpha: alpha(section)?, step: section.text("step")? })
    }
}

fn alpha(section: &mut Section) -> Result<Option<Probability>, ScenarioError> {
    let path = section.key("alpha");
    match section.text("alpha")? {
        Some(Probability::ONE) => {
            Err(ScenarioError::value(&path, "\"1\"", "0 to below 1: the history would be all there is"))
        }
        alpha => Ok(alpha),
    }
}

fn read_estimate(section: &mut Section) -> Result<Estimate, ScenarioError> {
    let estimate = section.text("estimate")?.unwrap_or(Estimate::PAPER);
    let path = section.key("estimate_header");
    let header = section.number::<u16>("estimate_header", 0..=1_500)?;
    match (estimate, header) {
        (Estimate::BytesOverGaps { .. }, Some(header)) => {
            Ok(Estimate::BytesOverGaps { header: DataSize::from_bytes(header.into()) })
        }
        (Estimate::KOverKMinus1, Some(_)) => {
            let problem =
                "means nothing with estimate \"k over k - 1\", which counts no headers; it is of \"bytes over gaps\"";
            Err(ScenarioError::new(path, problem))
        }
        (estimate, None) => Ok(estimate),
    }
}

/// The header is written where it is not all that a packet has.
fn serialize_estimate<S: Serializer>(estimate: &Estimate, serializer: S) -> Result<S::Ok, S::Error> {
    let estimate_header = match estimate {
        Estimate::BytesOverGaps { header } if *header != Estimate::PAPER_HEADER => {
            Some(u16::try_from(header.as_bytes()).expect("invariant: the range was checked when it was read"))
        }
        Estimate::BytesOverGaps { .. } | Estimate::KOverKMinus1 => None,
    };
    EstimateKeys { estimate: estimate.as_str(), estimate_header }.serialize(serializer)
}

impl Text for Estimate {
    const PATTERN: &str = ""; // the schema lists the words

    fn parse(text: &str) -> Result<Self, String> {
        names::find(text, &READINGS, Self::as_str)
    }

    fn show(&self) -> String {
        self.as_str().to_owned()
    }
}

/// The readings, the paper's protocol first.
const READINGS: [Estimate; 2] = [Estimate::PAPER, Estimate::KOverKMinus1];

fn estimate_schema(_: &mut SchemaGenerator) -> Schema {
    let word = |reading: Estimate| {
        let description = match reading {
            Estimate::BytesOverGaps { .. } => {
                "The bytes since the last control packet over the time since then, as section 4.1 tells it."
            }
            Estimate::KOverKMinus1 => {
                "The bytes of k packets over the k - 1 gaps between them, by the indices of the equation."
            }
        };
        json_schema!({ "description": description, "type": "string", "const": reading.as_str() })
    };
    json_schema!({ "oneOf": READINGS.map(word) })
}
