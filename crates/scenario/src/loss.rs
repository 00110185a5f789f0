//! `network.wire.loss`: a probability, or the table of a Gilbert-Elliott chain.

use framewire_link::{GilbertElliott, LossConfig};
use framewire_units::Probability;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use toml::Value;

use crate::error::ScenarioError;
use crate::section::{Section, Shown, text_value};
use crate::text;

/// A loss process, per packet.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Loss {
    /// Each packet on its own.
    Bernoulli(
        #[serde(serialize_with = "text::serialize")]
        #[schemars(schema_with = "text::schema::<Probability>")]
        Probability,
    ),
    /// In bursts.
    GilbertElliott(#[serde(with = "Chain")] GilbertElliott),
}

/// Two states with a loss probability each; the state changes before each packet (Gilbert 1960, Elliott 1963).
#[derive(Serialize, JsonSchema)]
#[serde(remote = "GilbertElliott")]
#[schemars(deny_unknown_fields, rename = "GilbertElliott")]
struct Chain {
    /// Probability to leave the good state.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    good_to_bad: Probability,
    /// Probability to leave the bad state.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    bad_to_good: Probability,
    /// Loss in the good state.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    loss_good: Probability,
    /// Loss in the bad state.
    #[serde(serialize_with = "text::serialize")]
    #[schemars(schema_with = "text::schema::<Probability>")]
    loss_bad: Probability,
}

pub(crate) const KEYS: &[&str] = &["good_to_bad", "bad_to_good", "loss_good", "loss_bad"];

pub(crate) fn serialize<S: Serializer>(loss: &LossConfig, serializer: S) -> Result<S::Ok, S::Error> {
    let written = match *loss {
        LossConfig::None => Loss::Bernoulli(Probability::ZERO),
        LossConfig::Bernoulli(probability) => Loss::Bernoulli(probability),
        LossConfig::GilbertElliott(chain) => Loss::GilbertElliott(chain),
    };
    written.serialize(serializer)
}

pub(crate) fn schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Loss>()
}

pub(crate) fn read(key: &str, value: Value) -> Result<LossConfig, ScenarioError> {
    match value {
        Value::String(_) => text_value(key, &value).map(|probability| match probability {
            Probability::ZERO => LossConfig::None,
            probability => LossConfig::Bernoulli(probability),
        }),
        Value::Table(table) => {
            let section = Section::new(key.to_owned(), table, KEYS)?;
            read_chain(section).map(LossConfig::GilbertElliott)
        }
        other => {
            let allowed = "a probability such as \"1 %\", or a table with good_to_bad and bad_to_good";
            Err(ScenarioError::value(key, Shown(&other), allowed))
        }
    }
}

fn read_chain(mut section: Section) -> Result<GilbertElliott, ScenarioError> {
    let mut required = |key: &str| {
        let path = section.key(key);
        section.text(key)?.ok_or_else(|| ScenarioError::missing(&path, "a probability such as \"1 %\""))
    };
    let (good_to_bad, bad_to_good) = (required("good_to_bad")?, required("bad_to_good")?);
    if good_to_bad != Probability::ZERO && bad_to_good == Probability::ZERO {
        let allowed = "more than 0 %, or the bad state never ends";
        return Err(ScenarioError::value(&section.key("bad_to_good"), "\"0 %\"", allowed));
    }
    Ok(GilbertElliott {
        good_to_bad,
        bad_to_good,
        loss_good: section.text("loss_good")?.unwrap_or(Probability::ZERO),
        loss_bad: section.text("loss_bad")?.unwrap_or(Probability::ONE),
    })
}
