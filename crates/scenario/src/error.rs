use std::fmt;

use crate::suggestions;

/// Why a scenario was refused. The text is made for the person who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    key: String,
    problem: String,
    /// What the flow is called that the key is of, where it has a name.
    flow: Option<String>,
}

impl ScenarioError {
    /// The dotted path of the key, for instance `network.wifi.retry`; empty when the text is not TOML at all.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn new(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { key: key.into(), problem: problem.into(), flow: None }
    }

    /// `allowed` ends the sentence "allowed is ...".
    pub(crate) fn value(key: &str, value: impl fmt::Display, allowed: impl fmt::Display) -> Self {
        Self::new(key, format!("{value} is not allowed; allowed is {allowed}"))
    }

    pub(crate) fn missing(key: &str, allowed: impl fmt::Display) -> Self {
        Self::new(key, format!("is missing: {allowed}"))
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
        Self::new(key, format!("unknown key: {hint}allowed here: {allowed}"))
    }

    /// The same, with the name of the flow that it is about: `names` has those of flows that have one, by where they are
    /// written.
    pub(crate) fn among_flows(self, names: &[Option<String>]) -> Self {
        let mut parts = self.key.split('.');
        let number = parts.next().filter(|&first| first == "flow").and(parts.next()).and_then(|one| one.parse().ok());
        let name = number.and_then(|number: usize| names.get(number).cloned().flatten());
        Self { flow: name.filter(|_| parts.next() != Some("name")), ..self }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.flow {
            _ if self.key.is_empty() => f.write_str(&self.problem),
            Some(flow) => write!(f, "{} ({flow}): {}", self.key, self.problem),
            None => write!(f, "{}: {}", self.key, self.problem),
        }
    }
}

impl std::error::Error for ScenarioError {}
