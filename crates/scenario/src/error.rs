use std::fmt;

use crate::suggestions;

/// Why a scenario was refused. The text is made for the person who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    key: String,
    problem: String,
}

impl ScenarioError {
    /// The dotted path of the key, for instance `network.wifi.retry`; empty when the text is not TOML at all.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into() }
    }

    /// `allowed` ends the sentence "allowed is ...".
    pub(crate) fn value(key: &str, value: impl fmt::Display, allowed: impl fmt::Display) -> Self {
        Self { key: key.to_owned(), problem: format!("{value} is not allowed; allowed is {allowed}") }
    }

    pub(crate) fn missing(key: &str, allowed: impl fmt::Display) -> Self {
        Self { key: key.to_owned(), problem: format!("is missing: {allowed}") }
    }

    pub(crate) fn unknown_key(key: String, name: &str, known: &[&str]) -> Self {
        let hint = match suggestions::key(&key, name, known) {
            // The same file runs in each of them.
            None if key == "world" => {
                "the world is chosen when it is run (framewire run --world simulated); ".to_owned()
            }
            Some(guess) => format!("did you mean {guess}? "),
            None => String::new(),
        };
        let allowed = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
        Self { key, problem: format!("unknown key: {hint}allowed here: {allowed}") }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() { f.write_str(&self.problem) } else { write!(f, "{}: {}", self.key, self.problem) }
    }
}

impl std::error::Error for ScenarioError {}
