//! The list of `[[flow]]`: each is read, and one with a `count` stands for several equal ones.

use toml::{Table, Value};

use super::{Flow, check_name};
use crate::error::ScenarioError;
use crate::section::{Section, Shown};
use crate::transport::Transport;

/// Flows of a scenario, which is also the number of wireless senders.
const MOST: usize = 64;
const ALLOWED: &str = "one [[flow]] or more, each with a transport";

/// The word for a wireless sender of its own.
pub(crate) const OWN_STATION: &str = "own";

/// Reads the flows as they are written, one after the other, and puts the copies of each in its place. Also returns of
/// each in which place it is written.
///
/// # Errors
/// When there is none or more than 64, or one is wrong; keys name the flow by where it is written, counted from 0.
pub(crate) fn read(value: Option<Value>) -> Result<(Vec<Flow>, Vec<usize>), ScenarioError> {
    let written = match value {
        None => return Err(ScenarioError::missing("flow", ALLOWED)),
        Some(Value::Array(flows)) => flows,
        Some(other) => return Err(ScenarioError::value("flow", Shown(&other), ALLOWED)),
    };
    check_number(written.len())?;
    let written = written.into_iter().enumerate().map(read_one).collect::<Result<Vec<Written>, _>>()?;
    check_number(written.iter().map(|flow| flow.count.unwrap_or(1)).sum())?;
    let taken: Vec<u8> = written.iter().filter(|flow| !flow.own_station).map(|flow| flow.flow.station).collect();
    let mut free = (0..=63).filter(|station| !taken.contains(station));
    let (mut flows, mut places) = (Vec::new(), Vec::new());
    for (index, one) in written.into_iter().enumerate() {
        for name in one.names(index)? {
            let mut next = || free.next().expect("invariant: no more flows than stations, as was checked above");
            let station = if one.own_station { next() } else { one.flow.station };
            flows.push(Flow { name, station, ..one.flow.clone() });
            places.push(index);
        }
    }
    Ok((flows, places))
}

/// The names that flows have in the file, one for each as they are written.
pub(crate) fn names_as_written(scenario: &Table) -> Vec<Option<String>> {
    let flows = scenario.get("flow").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let name = |flow: &Value| flow.get("name")?.as_str().filter(|name| check_name("", name).is_ok()).map(str::to_owned);
    flows.iter().map(name).collect()
}

fn check_number(flows: usize) -> Result<(), ScenarioError> {
    if (1..=MOST).contains(&flows) {
        return Ok(());
    }
    Err(ScenarioError::value("flow", format!("{flows} flows"), format!("1 to {MOST} flows")))
}

/// A flow as it is written.
struct Written {
    flow: Flow,
    count: Option<usize>,
    own_station: bool,
}

impl Written {
    /// NAME-1, NAME-2 and so on where it has a `count`, also of 1: an axis that varies it keeps the names.
    fn names(&self, index: usize) -> Result<Vec<String>, ScenarioError> {
        let Some(count) = self.count else { return Ok(vec![self.flow.name.clone()]) };
        let names: Vec<String> = (1..=count).map(|number| format!("{}-{number}", self.flow.name)).collect();
        names.iter().try_for_each(|name| check_name(&format!("flow.{index}.name"), name))?;
        Ok(names)
    }
}

fn read_one((index, value): (usize, Value)) -> Result<Written, ScenarioError> {
    let path = format!("flow.{index}");
    match value {
        Value::Table(mut table) => {
            let own_station = take_own_station(&mut table);
            let station_key = format!("{path}.station");
            let mut section = Flow::section(path, table)?;
            let count = read_count(&mut section)?;
            let flow = Flow::read(section)?;
            if own_station && flow.transport() == Transport::External {
                return Err(ScenarioError::value(&station_key, "\"own\"", "0 for applications"));
            }
            Ok(Written { flow, count, own_station })
        }
        other => Err(ScenarioError::value(&path, Shown(&other), ALLOWED)),
    }
}

fn read_count(section: &mut Section) -> Result<Option<usize>, ScenarioError> {
    Ok(section.number::<u8>("count", 1..=64)?.map(usize::from))
}

fn take_own_station(table: &mut Table) -> bool {
    let own = table.get("station").and_then(Value::as_str) == Some(OWN_STATION);
    if own {
        table.remove("station");
    }
    own
}
