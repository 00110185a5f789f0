//! Flows between applications of the user's own.

use framewire_scenario::{ExternalFlow, FlowKind, Input, Placeholder, Program, Scenario, ScenarioError, Transport};
use proptest::prelude::*;

const PIPELINES: &str = r#"
[[flow]]
name = "plain"
sender.pipeline = "fdsrc ! mpegvideoparse ! tcpclientsink host={receiver} port={port}"
receiver.pipeline = "tcpserversrc host={address} port={port} ! fdsink"
"#;

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, &[])
}

fn with(key: &str, value: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(PIPELINES, &[(key.to_owned(), value.to_owned())])
}

fn applications(scenario: &Scenario) -> &ExternalFlow {
    let FlowKind::External(flow) = &scenario.flows[0].kind else { panic!("it is between applications") };
    flow
}

fn assert_refused(outcome: Result<Scenario, ScenarioError>, key: &str, parts: &[&str]) {
    let error = outcome.expect_err(key);
    assert_eq!(error.key(), key, "{error}");
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{text} should say {parts:?}");
}

#[test]
fn two_pipelines_are_a_flow() {
    let scenario = parse(PIPELINES).unwrap();
    let flow = &scenario.flows[0];
    assert_eq!(
        (flow.transport(), flow.name.as_str(), flow.mtu, flow.device_queue),
        (Transport::External, "plain", 1_500, 1_000)
    );
    assert_eq!(flow.send_buffer(), None);
    let ExternalFlow { congestion, sender, .. } = applications(&scenario);
    assert_eq!(congestion, "cubic", "as the lab's own, whatever this machine has");
    assert_eq!((sender.input, sender.listens), (Input::Frames, false), "fdsrc reads what the lab feeds");
    let value = |placeholder: Placeholder| format!("<{placeholder}>");
    assert_eq!(sender.program.arguments(value).last().unwrap(), "port=<port>");
    assert!(scenario.needs_emulation().unwrap().starts_with("flow.0.sender"));
    assert_eq!(parse("[[flow]]\ntransport = \"tcp\"").unwrap().needs_emulation(), None);
}

#[test]
fn the_resolved_form_reads_back_to_itself() {
    let commands = r#"
        [[flow]]
        transport = "external"
        sender = { command = ["ffmpeg", "-re", "-i", "{movie}", "tcp://{receiver}:{port}"], listens = true }
        receiver.command = ["sh", "-c", "exec cat '{{movie}}' \"$1\""]
    "#;
    for text in [PIPELINES, commands] {
        let scenario = parse(text).unwrap();
        assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario, "{}", scenario.to_toml());
        let json = serde_json::to_string(&scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario, "{json}");
    }
    let scenario = parse(commands).unwrap();
    let ExternalFlow { sender, receiver, .. } = applications(&scenario);
    assert_eq!((sender.input, sender.listens), (Input::Nothing, true));
    let words = receiver.program.arguments(|_| unreachable!("no placeholder is in it"));
    assert_eq!(words[2], "exec cat '{movie}' \"$1\"");
}

#[test]
fn what_cannot_run_is_refused_with_its_key() {
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("flow.0.sender.pipeline", "fdsrc ! x port={prot}", "flow.0.sender.pipeline", &["{prot}", "{port}", "{movie}"]),
        ("flow.0.receiver.pipeline", "filesrc location={movie}", "flow.0.receiver.pipeline", &["{movie}", "{port}"]),
        ("flow.0.sender.pipeline", "fdsrc ! x a=\"b", "flow.0.sender.pipeline", &["without an end"]),
        ("flow.0.sender.pipeline", " ", "flow.0.sender.pipeline", &["a program"]),
        ("flow.0.sender.pipeline", "videotestsrc ! x", "flow.0.sender.input", &["nothing of the movie", "frames"]),
        ("flow.0.sender.command", "[\"cat\"]", "flow.0.sender.command", &["beside pipeline"]),
        ("flow.0.sender.input", "file", "flow.0.sender.input", &["frames, none"]),
        ("flow.0.sender.listens", "\"yes\"", "flow.0.sender.listens", &["true or false"]),
        ("flow.0.sender.inputs", "1", "flow.0.sender.inputs", &["did you mean `input`"]),
        ("flow.0.sender", "cat", "flow.0.sender", &["a table"]),
        ("flow.0.transport", "tcp", "flow.0.sender", &["means nothing for transport tcp"]),
        ("flow.0.packets", "full", "flow.0.packets", &["means nothing for transport external"]),
        ("flow.0.pacing", "none", "flow.0.pacing", &["means nothing for transport external"]),
        ("flow.0.send_buffer", "64 KiB", "flow.0.send_buffer", &["an application sets its own"]),
        ("flow.0.station", "1", "flow.0.station", &["0 to 0"]),
    ];
    for (key, value, named, parts) in cases {
        assert_refused(with(key, value), named, parts);
    }
    let alone = "[[flow]]\nsender.command = [\"cat\", \"{movie}\"]";
    assert_refused(parse(alone), "flow.0.receiver", &["sender and receiver"]);
    assert_refused(parse("[[flow]]\ntransport = \"external\""), "flow.0.sender", &["sender and receiver"]);
    assert_refused(parse(&format!("{alone}\nreceiver = {{}}")), "flow.0.receiver.pipeline", &["command"]);
    let no_list = "[[flow]]\nsender.command = \"cat {movie}\"\nreceiver.command = [\"cat\"]";
    assert_refused(parse(no_list), "flow.0.sender.command", &["a list of texts"]);
    assert_refused(parse("[[flow]]\nname = \"x\""), "flow.0.transport", &["external", "sender and receiver"]);
}

#[test]
fn too_much_is_refused() {
    let endless = format!("fdsrc {}", "a ".repeat(2_000));
    assert_refused(with("flow.0.sender.pipeline", &endless), "flow.0.sender.pipeline", &["2001 words"]);
}

proptest! {
    #[test]
    fn no_pipeline_makes_it_panic(pipeline in "\\PC{0,80}|[{}a-z!\"' \\\\=]{0,60}") {
        let quoted = toml::Value::String(pipeline).to_string();
        if let Ok(scenario) = with("flow.0.sender.pipeline", &quoted) {
            let program = &applications(&scenario).sender.program;
            prop_assert!(matches!(program, Program::Pipeline(_)));
            prop_assert!(program.arguments(|_| String::new()).len() > 3);
            prop_assert_eq!(&parse(&scenario.to_toml()).unwrap(), &scenario);
        }
    }
}
