//! What captures keep, and what applications may do.

use framewire_scenario::{Capabilities, Captures, ExternalFlow, FlowKind, Placeholder, Scenario};

const COMMANDS: &str = r#"
movie.source = "film.mp4"
[[flow]]
name = "own"
sender.command = ["ffmpeg", "-re", "-i", "{source}", "-c", "copy", "-f", "rtp", "rtp://{receiver}:{port}"]
receiver.command = ["cat"]
"#;

fn with(settings: &[(&str, &str)]) -> Result<Scenario, String> {
    let settings: Vec<_> = settings.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Scenario::parse(COMMANDS, &settings).map_err(|error| error.to_string())
}

fn applications(scenario: &Scenario) -> &ExternalFlow {
    let FlowKind::External(flow) = &scenario.flows[0].kind else { panic!("it is between applications") };
    flow
}

#[test]
fn captures_keep_headers_unless_told_otherwise() {
    let scenario = with(&[]).unwrap();
    assert_eq!(scenario.captures, Captures::Headers);
    for captures in Captures::ALL {
        let scenario = with(&[("captures", captures.as_str())]).unwrap();
        assert_eq!(scenario.captures, *captures);
        let read: Scenario = serde_json::from_value(serde_json::to_value(&scenario).unwrap()).unwrap();
        assert_eq!(read, scenario);
    }
    let refused = with(&[("captures", "header")]).unwrap_err();
    assert!(refused.contains("headers, full, none") && refused.contains("did you mean"), "{refused}");
}

#[test]
fn applications_have_no_capabilities_unless_told_otherwise() {
    let ends = |scenario: &Scenario| {
        let ExternalFlow { sender, receiver, .. } = applications(scenario);
        (sender.capabilities, receiver.capabilities)
    };
    assert_eq!(ends(&with(&[]).unwrap()), (Capabilities::None, Capabilities::None));
    let scenario = with(&[("flow.own.receiver.capabilities", "all")]).unwrap();
    assert_eq!(ends(&scenario), (Capabilities::None, Capabilities::All));
    let read: Scenario = serde_json::from_value(serde_json::to_value(&scenario).unwrap()).unwrap();
    assert_eq!(read, scenario);
    assert!(with(&[("flow.own.sender.capabilities", "some")]).unwrap_err().contains("none, all"));
}

#[test]
fn the_original_is_named_only_where_it_is_what_is_sent() {
    let scenario = with(&[]).unwrap();
    let program = &applications(&scenario).sender.program;
    let value = |placeholder: Placeholder| format!("<{placeholder}>");
    assert_eq!(program.arguments(value)[3], "<source>");
    assert_eq!(scenario.movie.original().unwrap().to_str(), Some("film.mp4"));
    let encoded = with(&[("movie.bitrate", "2 Mbit/s")]).unwrap_err();
    assert!(encoded.starts_with("flow.0.sender.command") && encoded.contains("encodes the file anew"), "{encoded}");
    let lab = with(&[("movie.source", "lab")]).unwrap_err();
    assert!(lab.contains("{movie} here: the lab makes the movie"), "{lab}");
    let receiver = with(&[("flow.own.receiver.command", "[\"cat\", \"{source}\"]")]).unwrap_err();
    assert!(receiver.starts_with("flow.0.receiver.command") && !receiver.contains("{movie}"), "{receiver}");
}
