use std::fmt;

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
        let hint = match nearest(name, known) {
            // The same file runs in each of them.
            None if key == "world" => {
                "the world is chosen when it is run (framewire run --world simulated); ".to_owned()
            }
            Some(guess) => format!("did you mean `{guess}`? "),
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

/// The known word nearest to `word`, when it is near enough to be what was meant.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = known.iter().filter(|candidate| is_misspelt(word, candidate));
    let best = near.map(|&candidate| (edit_distance(&word.to_ascii_lowercase(), candidate), candidate)).min()?;
    (best.0 <= 1 + word.chars().count().min(64) / 4).then_some(best.1)
}

/// False where `word` is rather the name of another thing: another letter in an acronym of three, and another letter or
/// digit in the number of a standard, make another one.
fn is_misspelt(word: &str, known: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().take(64).filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let is_standard = known.starts_with(|first: char| first.is_ascii_digit());
    let is_acronym = known.len() <= 3 && word.chars().count() == known.len();
    !(is_standard || is_acronym) || letters(word) == letters(known)
}

/// Levenshtein distance, over at most 64 characters of each word.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_levenshtein() {
        for (a, b, distance) in [("retry", "retry", 0), ("retrys", "retry", 1), ("kitten", "sitting", 3), ("", "ab", 2)]
        {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} {a}");
        }
    }

    #[test]
    fn the_name_of_another_thing_is_not_taken_for_a_slip() {
        assert_eq!(nearest("rtp", &["rap", "tcp", "udp"]), None);
        assert_eq!(nearest("tc", &["rap", "tcp", "udp"]), Some("tcp"));
        assert_eq!(nearest("UDP", &["rap", "tcp", "udp"]), Some("udp"));
        assert_eq!(nearest("802.11ac", &["802.11b", "802.11a"]), None);
        assert_eq!(nearest("802.11A", &["802.11b", "802.11a"]), Some("802.11a"));
    }

    #[test]
    fn only_near_words_are_guessed() {
        assert_eq!(nearest("retries", &["retry", "rate"]), None);
        assert_eq!(nearest("send_bufer", &["send_buffer", "packets"]), Some("send_buffer"));
        assert_eq!(nearest("colour", &["retry", "rate"]), None);
    }
}
