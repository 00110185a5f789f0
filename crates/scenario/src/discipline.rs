//! `queue_discipline`: a word, or a table with the discipline's own numbers.

use std::borrow::Cow;

use framewire_link::{Discipline, Setting, SettingValue};
use framewire_units::{DataSize, Duration, Probability};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};
use toml::Value;

use crate::error::ScenarioError;
use crate::names;
use crate::section::{Section, Shown, string_value, text_value};
use crate::text::Text;

/// The key of the discipline's name in its table.
const KIND: &str = "kind";
/// The key in the table of a wire or an access point.
const KEY: &str = "queue_discipline";

/// Takes the discipline of a queue out of the table of what has the queue.
pub(crate) fn read(section: &mut Section) -> Result<Discipline, ScenarioError> {
    let path = section.key(KEY);
    match section.take(KEY) {
        None => Ok(Discipline::default()),
        Some(value @ Value::String(_)) => named(&path, value),
        Some(Value::Table(mut table)) => {
            let kind_path = format!("{path}.{KIND}");
            let kind = table.remove(KIND).ok_or_else(|| {
                let allowed = format!("one of {}", words().join(", "));
                ScenarioError::missing(&kind_path, allowed)
            })?;
            let discipline = named(&kind_path, kind)?;
            let keys: Vec<&'static str> = discipline.settings().iter().map(|setting| setting.name).collect();
            read_settings(discipline, Section::new(path, table, keys)?)
        }
        Some(other) => {
            let allowed = "a word such as \"codel\", or a table such as { kind = \"codel\", target = \"5 ms\" }";
            Err(ScenarioError::value(&path, Shown(&other), allowed))
        }
    }
}

fn named(path: &str, value: Value) -> Result<Discipline, ScenarioError> {
    let shown = Shown(&value).to_string();
    let word = string_value(path, value)?;
    let found = names::find(&word, Discipline::ALL, |one| one.as_str());
    found.map_err(|allowed| ScenarioError::value(path, shown, allowed))
}

fn words() -> Vec<&'static str> {
    Discipline::ALL.iter().map(Discipline::as_str).collect()
}

fn read_settings(mut discipline: Discipline, mut section: Section) -> Result<Discipline, ScenarioError> {
    for setting in discipline.settings() {
        let path = section.key(setting.name);
        let Some(written) = section.take(setting.name) else { continue };
        let value = read_value(&path, setting, &written)?;
        discipline = discipline.with(setting.name, value).map_err(|_| {
            let allowed = format!("{} to {}", show(setting.least), show(setting.most));
            ScenarioError::value(&path, Shown(&written), allowed)
        })?;
    }
    discipline
        .validate()
        .map_err(|error| ScenarioError::value(&section.key(&error.key), error.value, error.allowed))?;
    Ok(discipline)
}

/// A value of the setting's kind.
fn read_value(path: &str, setting: &Setting, written: &Value) -> Result<SettingValue, ScenarioError> {
    let wrong = |allowed: &str| ScenarioError::value(path, Shown(written), allowed);
    Ok(match setting.default {
        SettingValue::Time(_) => SettingValue::Time(text_value::<Duration>(path, written)?),
        SettingValue::Size(_) => SettingValue::Size(text_value::<DataSize>(path, written)?),
        SettingValue::Share(_) => SettingValue::Share(text_value::<Probability>(path, written)?),
        SettingValue::Count(_) => {
            let count = written.as_integer().and_then(|count| count.try_into().ok());
            SettingValue::Count(count.ok_or_else(|| wrong("a whole number"))?)
        }
        SettingValue::Number(_) => {
            let whole = written.as_integer().map(|number| number as f64);
            SettingValue::Number(written.as_float().or(whole).ok_or_else(|| wrong("a number"))?)
        }
        SettingValue::Flag(_) => SettingValue::Flag(written.as_bool().ok_or_else(|| wrong("true or false"))?),
    })
}

/// The value as the file has it.
fn show(value: SettingValue) -> String {
    match value {
        SettingValue::Time(time) => time.show(),
        SettingValue::Size(size) => size.show(),
        SettingValue::Share(share) => share.show(),
        SettingValue::Count(count) => count.to_string(),
        SettingValue::Number(number) => number.to_string(),
        SettingValue::Flag(flag) => flag.to_string(),
    }
}

/// A discipline with its defaults is its word; one with other numbers a table of all of them.
pub(crate) fn serialize<S: Serializer>(discipline: &Discipline, serializer: S) -> Result<S::Ok, S::Error> {
    if Discipline::ALL.contains(discipline) {
        return serializer.serialize_str(discipline.as_str());
    }
    let mut table = serializer.serialize_map(None)?;
    table.serialize_entry(KIND, discipline.as_str())?;
    for setting in discipline.settings() {
        let value = discipline.get(setting.name).expect("invariant: a discipline has what it lists");
        table.serialize_entry(setting.name, &Written(value))?;
    }
    table.end()
}

/// A value on its way into a file.
struct Written(SettingValue);

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            SettingValue::Count(count) => serializer.serialize_u32(count),
            SettingValue::Number(number) => serializer.serialize_f64(number),
            SettingValue::Flag(flag) => serializer.serialize_bool(flag),
            other => serializer.serialize_str(&show(other)),
        }
    }
}

pub(crate) fn schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Described>()
}

/// The schema of all disciplines, defined once.
struct Described;

impl JsonSchema for Described {
    fn schema_name() -> Cow<'static, str> {
        "Discipline".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let word =
            |one: &Discipline| json_schema!({ "description": one.meaning(), "type": "string", "const": one.as_str() });
        let words = Discipline::ALL.iter().map(word);
        let with_settings = Discipline::ALL.iter().filter(|one| !one.settings().is_empty());
        let tables: Vec<Schema> = with_settings.map(|one| table_schema(one, generator)).collect();
        let all: Vec<Schema> = words.chain(tables).collect();
        json_schema!({ "description": "What becomes of what waits in a queue.", "oneOf": all })
    }
}

fn table_schema(discipline: &Discipline, generator: &mut SchemaGenerator) -> Schema {
    let mut properties = Map::new();
    properties.insert(KIND.to_owned(), serde_json::json!({ "const": discipline.as_str() }));
    for setting in discipline.settings() {
        let mut value = value_schema(setting, generator).to_value();
        value["description"] = Json::from(setting.meaning);
        properties.insert(setting.name.to_owned(), value);
    }
    json_schema!({
        "description": discipline.meaning(),
        "type": "object",
        "additionalProperties": false,
        "required": [KIND],
        "properties": properties,
    })
}

fn value_schema(setting: &Setting, generator: &mut SchemaGenerator) -> Schema {
    match (setting.default, setting.least, setting.most) {
        (SettingValue::Time(_), ..) => Duration::schema(generator),
        (SettingValue::Size(_), ..) => DataSize::schema(generator),
        (SettingValue::Share(_), ..) => Probability::schema(generator),
        (_, SettingValue::Count(least), SettingValue::Count(most)) => {
            json_schema!({ "type": "integer", "minimum": least, "maximum": most })
        }
        (_, SettingValue::Number(least), SettingValue::Number(most)) => {
            json_schema!({ "type": "number", "minimum": least, "maximum": most })
        }
        _ => json_schema!({ "type": "boolean" }),
    }
}
