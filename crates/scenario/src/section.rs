//! Reading one table of the file: every key is known, has a type and a place.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use framewire_link::Interval;
use framewire_units::{Duration, Timestamp};
use toml::{Table, Value};

use crate::error::ScenarioError;
use crate::text::{Text, show_interval};

/// A table that is being read. Keys are taken out one by one; unknown ones were refused at the start.
pub(crate) struct Section {
    path: String,
    known: Cow<'static, [&'static str]>,
    table: Table,
}

impl Section {
    /// Refuses keys that are not in `known`.
    pub(crate) fn new(
        path: String,
        table: Table,
        known: impl Into<Cow<'static, [&'static str]>>,
    ) -> Result<Self, ScenarioError> {
        let known = known.into();
        Self::offering(path, table, known.clone(), &known)
    }

    /// The same; what is offered instead of an unknown key are those that mean something beside the others.
    pub(crate) fn offering(
        path: String,
        table: Table,
        known: impl Into<Cow<'static, [&'static str]>>,
        offered: &[&'static str],
    ) -> Result<Self, ScenarioError> {
        let section = Self { path, known: known.into(), table };
        match section.table.keys().find(|key| !section.known.contains(&key.as_str())) {
            Some(key) => Err(ScenarioError::unknown_key(section.key(key), key, offered)),
            None => Ok(section),
        }
    }

    /// The dotted path of a key of this table.
    pub(crate) fn key(&self, key: &str) -> String {
        let shown: String = key.chars().take(80).collect();
        if self.path.is_empty() { shown } else { format!("{}.{shown}", self.path) }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// A text that has not been taken yet, as it is written.
    pub(crate) fn written(&self, key: &str) -> Option<&str> {
        self.table.get(key).and_then(Value::as_str)
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        debug_assert!(self.known.contains(&key), "{key} is read but not known");
        self.table.remove(key)
    }

    /// A value that is written as text.
    pub(crate) fn text<T: Text>(&mut self, key: &str) -> Result<Option<T>, ScenarioError> {
        let path = self.key(key);
        self.take(key).map(|value| text_value(&path, &value)).transpose()
    }

    /// A word, as `parse` reads it; its error ends the sentence "allowed is ...".
    pub(crate) fn word<T>(
        &mut self,
        key: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ScenarioError> {
        let path = self.key(key);
        self.take(key).map(|value| parsed_value(&path, &value, parse)).transpose()
    }

    /// A free text.
    pub(crate) fn string(&mut self, key: &str) -> Result<Option<String>, ScenarioError> {
        let path = self.key(key);
        self.take(key).map(|value| string_value(&path, value)).transpose()
    }

    /// A whole number in a range.
    pub(crate) fn integer(&mut self, key: &str, allowed: RangeInclusive<i64>) -> Result<Option<i64>, ScenarioError> {
        let path = self.key(key);
        let describe = || format!("a whole number from {} to {}", allowed.start(), allowed.end());
        match self.take(key) {
            None => Ok(None),
            Some(Value::Integer(number)) if allowed.contains(&number) => Ok(Some(number)),
            Some(other) => Err(ScenarioError::value(&path, Shown(&other), describe())),
        }
    }

    /// The same as the type that holds it.
    pub(crate) fn number<T>(&mut self, key: &str, allowed: RangeInclusive<T>) -> Result<Option<T>, ScenarioError>
    where
        T: Copy + Into<i64> + TryFrom<i64, Error: fmt::Debug>,
    {
        let number = self.integer(key, (*allowed.start()).into()..=(*allowed.end()).into())?;
        Ok(number.map(|number| T::try_from(number).expect("invariant: the range was checked when it was read")))
    }

    /// Yes or no.
    pub(crate) fn boolean(&mut self, key: &str) -> Result<Option<bool>, ScenarioError> {
        let path = self.key(key);
        match self.take(key) {
            None => Ok(None),
            Some(Value::Boolean(value)) => Ok(Some(value)),
            Some(other) => Err(ScenarioError::value(&path, Shown(&other), "true or false")),
        }
    }

    /// A table below this one.
    pub(crate) fn section(
        &mut self,
        key: &str,
        known: &'static [&'static str],
    ) -> Result<Option<Section>, ScenarioError> {
        let path = self.key(key);
        match self.take(key) {
            None => Ok(None),
            Some(Value::Table(table)) => Self::new(path, table, known).map(Some),
            Some(other) => Err(ScenarioError::value(&path, Shown(&other), format!("a table [{path}]"))),
        }
    }

    /// A table below this one that may be left out when everything in it has a default.
    pub(crate) fn section_or_empty(
        &mut self,
        key: &str,
        known: &'static [&'static str],
    ) -> Result<Section, ScenarioError> {
        let path = self.key(key);
        Ok(self.section(key, known)?.unwrap_or(Self { path, known: known.into(), table: Table::new() }))
    }

    /// A list of `[from, to]` pairs: each forwards, in order, not overlapping.
    pub(crate) fn intervals(&mut self, key: &str) -> Result<Option<Vec<Interval>>, ScenarioError> {
        const ALLOWED: &str = "a list of [from, to] such as [[\"20 s\", \"40 s\"]]";
        let path = self.key(key);
        let Some(value) = self.take(key) else { return Ok(None) };
        let Value::Array(items) = &value else {
            return Err(ScenarioError::value(&path, Shown(&value), ALLOWED));
        };
        let mut intervals: Vec<Interval> = Vec::with_capacity(items.len());
        for item in items {
            let Some([from, to]) = item.as_array().map(Vec::as_slice) else {
                return Err(ScenarioError::value(&path, Shown(item), ALLOWED));
            };
            let at = |value| text_value::<Duration>(&path, value).map(|time| Timestamp::ZERO + time);
            let interval = Interval { start: at(from)?, end: at(to)? };
            let shown = show_interval(&interval);
            if interval.end <= interval.start {
                return Err(ScenarioError::value(&path, shown, "an end after the start"));
            }
            if let Some(previous) = intervals.last().filter(|previous| interval.start < previous.end) {
                let previous = show_interval(previous);
                let allowed = format!("a start at or after the end of {previous} (in order, without overlap)");
                return Err(ScenarioError::value(&path, shown, allowed));
            }
            intervals.push(interval);
        }
        Ok(Some(intervals))
    }
}

pub(crate) fn text_value<T: Text>(path: &str, value: &Value) -> Result<T, ScenarioError> {
    parsed_value(path, value, T::parse)
}

fn parsed_value<T>(path: &str, value: &Value, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, ScenarioError> {
    let outcome = match value.as_str() {
        Some(text) => parse(text),
        None => parse("").map_err(|allowed| format!("a text in quotes: {allowed}")),
    };
    outcome.map_err(|allowed| ScenarioError::value(path, Shown(value), allowed))
}

pub(crate) fn string_value(path: &str, value: Value) -> Result<String, ScenarioError> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(ScenarioError::value(path, Shown(&other), "a text in quotes")),
    }
}

/// A value as the file would write it, cut to a length that a message can bear.
pub(crate) struct Shown<'a>(pub(crate) &'a Value);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LONGEST: usize = 80;
        let text = match self.0 {
            Value::Table(_) => "a table".to_owned(),
            other => other.to_string(),
        };
        match text.char_indices().nth(LONGEST) {
            Some((end, _)) => write!(f, "{}...", &text[..end]),
            None => f.write_str(&text),
        }
    }
}
