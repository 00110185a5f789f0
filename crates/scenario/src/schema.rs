//! The JSON schema of the file, for editors.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::flow::list::OWN_STATION;
use crate::scenario::Scenario;

/// The JSON schema (2020-12) of a scenario file: the resolved form, in which all but the flows and their transport
/// may be left out, and what a flow may have before it is resolved. It describes names and shapes; [`Scenario::parse`] alone decides about values.
pub fn json_schema() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Scenario>();
    let mut schema = schema.to_value();
    leave_out_instead_of_null(&mut schema);
    schema["required"] = json!(["flow"]);
    add_what_is_resolved(&mut schema["$defs"]["Flow"]["properties"]);
    add_both_directions(&mut schema["$defs"]);
    if let Some(definitions) = schema["$defs"].as_object_mut() {
        for (name, definition) in definitions {
            let required: &[&str] = match name.as_str() {
                "Flow" => &["transport"],
                "GraphNetwork" => &["kind", "link"],
                "WiredLink" => &["between"],
                "Cell" => &["access_point", "stations"],
                "Oven" => &["on"],
                "GilbertElliott" => &["good_to_bad", "bad_to_good"],
                "FramingTable" => &["kind"],
                "Shaper" | "Policer" => &["rate", "burst"],
                _ => &[],
            };
            if definition.get("properties").is_some() {
                definition["required"] = json!(required);
            }
        }
    }
    schema
}

/// Several equal flows, and wireless senders of their own, are numbers and names in the resolved form.
fn add_what_is_resolved(flow: &mut Value) {
    flow["count"] = json!({
        "description": "So many equal flows, named NAME-1, NAME-2 and so on.",
        "type": "integer",
        "minimum": 1,
        "maximum": 64,
    });
    let number = flow["station"].take();
    flow["station"] = json!({ "description": number["description"], "anyOf": [number, { "const": OWN_STATION }] });
}

/// What is said of a link holds for both of its directions.
fn add_both_directions(definitions: &mut Value) {
    let direction = definitions["LinkDirection"]["properties"].clone();
    if let (Some(link), Value::Object(keys)) = (definitions["WiredLink"]["properties"].as_object_mut(), direction) {
        link.extend(keys);
    }
}

/// What is optional is left out: TOML has no null.
fn leave_out_instead_of_null(value: &mut Value) {
    let null = json!({ "type": "null" });
    match value {
        Value::Object(members) => {
            if let Some(Value::Array(mut alternatives)) = members.remove("anyOf") {
                alternatives.retain(|alternative| *alternative != null);
                match (alternatives.len(), alternatives.first().cloned()) {
                    (1, Some(Value::Object(only))) => members.extend(only),
                    _ => drop(members.insert("anyOf".to_owned(), Value::Array(alternatives))),
                }
            }
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            members.values_mut().for_each(leave_out_instead_of_null);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out_instead_of_null),
        _ => {}
    }
}
