//! `--set key=value`: values laid over the file before it is read.

use toml::{Table, Value};

use crate::error::ScenarioError;

/// Parts that a dotted path may have: more than any key of a scenario has.
const MOST_PARTS: usize = 16;

/// Lays every override over `table`, in order, so that the last one of a key counts.
pub(crate) fn apply(table: &mut Table, overrides: &[(String, String)]) -> Result<(), ScenarioError> {
    overrides.iter().try_for_each(|(path, text)| {
        let keys: Vec<&str> = path.split('.').collect();
        if keys.iter().any(|key| key.is_empty()) {
            return Err(ScenarioError::new(path, "is not a key; allowed is a dotted path such as network.wifi.retry"));
        }
        if keys.len() > MOST_PARTS {
            let shown: String = path.chars().take(80).collect();
            let problem = format!("is not a key: it has {} parts, and at most {MOST_PARTS} are allowed", keys.len());
            return Err(ScenarioError::new(format!("{shown}..."), problem));
        }
        let value = read_value(text);
        match keys.as_slice() {
            ["flow", flow, rest @ ..] if !rest.is_empty() => set_in_flows(table, path, flow, rest, &value),
            _ => set(table, path, &keys, &value),
        }
    })
}

/// A value in TOML (`3`, `"50 Hz"`, `[["20 s", "40 s"]]`), or else the text itself (`6 Mbit/s`).
fn read_value(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok();
    let only = parsed.filter(|table| table.len() == 1).and_then(|mut table| table.remove("value"));
    match only {
        Some(Value::Datetime(_)) | None => Value::String(text.to_owned()),
        Some(value) => value,
    }
}

fn set(table: &mut Table, path: &str, keys: &[&str], value: &Value) -> Result<(), ScenarioError> {
    match keys {
        [] => Ok(()),
        [last] => {
            table.insert((*last).to_owned(), value.clone());
            Ok(())
        }
        [first, rest @ ..] => match table.entry(*first).or_insert_with(|| Value::Table(Table::new())) {
            Value::Table(below) => set(below, path, rest, value),
            _ => Err(ScenarioError::new(path, format!("cannot be set: `{first}` is not a table"))),
        },
    }
}

fn set_in_flows(
    table: &mut Table,
    path: &str,
    wanted: &str,
    keys: &[&str],
    value: &Value,
) -> Result<(), ScenarioError> {
    let flows = match table.get_mut("flow") {
        Some(Value::Array(flows)) => flows.as_mut_slice(),
        _ => &mut [],
    };
    let names: Vec<String> = flows.iter().map(name_of).collect();
    let by_name = |index: &usize| wanted == "*" || names[*index] == wanted;
    let mut chosen: Vec<usize> = (0..flows.len()).filter(by_name).collect();
    if chosen.is_empty() {
        chosen.extend(wanted.parse::<usize>().ok().filter(|&index| index < flows.len()));
    }
    if chosen.is_empty() {
        let known = if names.is_empty() { "this scenario has none".to_owned() } else { names.join(", ") };
        return Err(ScenarioError::new(path, format!("there is no flow \"{wanted}\"; the flows are: {known}")));
    }
    chosen.into_iter().try_for_each(|index| match &mut flows[index] {
        Value::Table(flow) => set(flow, path, keys, value),
        _ => Err(ScenarioError::new(path, "cannot be set: the flow is not a table")),
    })
}

/// The name that a flow has or will have: its own, or its transport's.
fn name_of(flow: &Value) -> String {
    let text = |key: &str| flow.get(key).and_then(Value::as_str).map(str::to_owned);
    text("name").or_else(|| text("transport")).unwrap_or_else(|| "?".to_owned())
}
