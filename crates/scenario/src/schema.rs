//! The JSON schema of the file, for editors.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::scenario::Scenario;

/// The JSON schema (2020-12) of a scenario file: the resolved form, in which all but the flows and their transport
/// may be left out. It describes names and shapes; [`Scenario::parse`] alone decides about values.
pub fn json_schema() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Scenario>();
    let mut schema = schema.to_value();
    schema["required"] = json!(["flow"]);
    if let Some(definitions) = schema["$defs"].as_object_mut() {
        for (name, definition) in definitions {
            let required: &[&str] = match name.as_str() {
                "Flow" => &["transport"],
                "Oven" => &["on"],
                "GilbertElliott" => &["good_to_bad", "bad_to_good"],
                _ => &[],
            };
            if definition.get("properties").is_some() {
                definition["required"] = json!(required);
            }
        }
    }
    schema
}
