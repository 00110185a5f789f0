//! Any text as a scenario, with values laid over it, as TOML and as JSON: refused with a short message, or a resolved form
//! that reads back to itself.
//!
//! A zero byte ends the file; each further piece that one ends is KEY=VALUE.

use framewire_scenario::Scenario;

/// Keys and values are cut where a message shows them.
const LONGEST_MESSAGE: usize = 4_000;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut pieces = text.split('\0');
    let file = pieces.next().unwrap_or_default();
    let pair = |piece: &str| piece.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    let overrides: Vec<(String, String)> = pieces.filter_map(pair).collect();
    for parsed in [
        Scenario::parse(file, &overrides),
        Scenario::parse_json_from(file, &overrides, framewire_scenario::Origin::default()),
    ] {
        match parsed {
            Ok(scenario) => {
                assert_eq!(Scenario::parse(&scenario.to_toml(), &[]).expect("the resolved form is valid"), scenario);
            }
            Err(error) => assert!(error.to_string().len() <= LONGEST_MESSAGE, "{}", error.to_string().len()),
        }
    }
}
