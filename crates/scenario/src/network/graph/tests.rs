use super::*;
use crate::{NetworkKind, Scenario};

/// A flat behind a line, and a server behind an exchange.
const FLAT: &str = r#"
[network]
kind = "graph"
[network.link.line]
between = ["exchange", "home"]
rate = "16 Mbit/s"
delay = "8 ms"
backward = { rate = "1 Mbit/s", queue = "50 packets" }
[network.link.backbone]
between = ["server", "exchange"]
rate = "1 Gbit/s"
delay = "5 ms"
forward = { in_device = true }
[network.link.flat]
access_point = "home"
stations = ["laptop", "phone"]
wifi = { standard = "802.11g" }
[[flow]]
transport = "udp"
from = "server"
to = "laptop"
"#;

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, &[]).map_err(|error| error.to_string())
}

fn refused(set: &[(&str, &str)], expected: &[&str]) {
    let set: Vec<(String, String)> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let error = Scenario::parse(FLAT, &set).unwrap_err().to_string();
    for part in expected {
        assert!(error.contains(part), "{error}\nlacks {part}");
    }
}

#[test]
fn what_is_said_of_a_link_holds_for_both_directions_unless_one_says_otherwise() {
    let scenario = parse(FLAT).unwrap();
    let graph = scenario.network.as_graph().unwrap();
    assert_eq!(graph.kind, NetworkKind::Graph);
    assert_eq!(graph.nodes(), ["exchange", "home", "laptop", "phone", "server"]);
    let wired: Vec<_> = graph.wired().collect();
    let [(backbone_name, backbone), (_, line)] = wired.as_slice() else { panic!("{wired:?}") };
    assert_eq!(*backbone_name, "backbone");
    let rates = [&backbone.forward, &line.forward, &line.backward].map(|way| way.wire.rate.unwrap().as_bps());
    assert_eq!(rates, [1_000_000_000, 16_000_000, 1_000_000]);
    assert_eq!(line.forward.wire.delay, line.backward.wire.delay);
    assert!(backbone.forward.in_device && !backbone.backward.in_device);
    let held = |node| scenario.network.holds_packets_of(Some(node));
    assert_eq!(["server", "laptop", "home", "exchange"].map(held), [true, true, false, false]);
}

#[test]
fn the_resolved_form_is_a_fixed_point() {
    let routes = format!(
        "{}\n",
        FLAT.replace("kind = \"graph\"", "kind = \"graph\"\nroute = [[\"server\", \"exchange\", \"home\"]]")
    );
    for text in [FLAT, &routes] {
        let scenario = parse(text).unwrap();
        let toml = scenario.to_toml();
        assert_eq!(parse(&toml).unwrap(), scenario, "{toml}");
        let json = serde_json::to_string(&scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
    }
}

#[test]
fn a_recording_of_one_direction_takes_the_place_of_the_rate_of_both() {
    let scenario =
        parse(&FLAT.replace("backward = { rate = \"1 Mbit/s\",", "backward = { trace = \"up.trace\",")).unwrap();
    let Link::Wired(line) = &scenario.network.as_graph().unwrap().links["line"] else { panic!("it is wired") };
    assert_eq!((line.forward.wire.rate.is_some(), line.backward.wire.rate), (true, None));
    assert!(line.backward.wire.trace.as_deref().is_some_and(|path| path.ends_with("up.trace")));
}

#[test]
fn a_network_that_cannot_be_is_refused_by_name() {
    refused(
        &[("network.link.backbone.between", "[\"server\", \"server\"]")],
        &["network.link.backbone.between", "two different"],
    );
    refused(&[("network.link.backbone.between", "[\"server\", \"moon\"]")], &["network.link", "moon", "in no way"]);
    refused(&[("network.link.line.forward.in_device", "true")], &["network.link.line.forward.in_device", "exchange"]);
    refused(&[("network.link.flat.stations", "[\"home\"]")], &["network.link.flat.stations", "access point home"]);
    refused(&[("network.link.flat.stations", "[]")], &["network.link.flat.stations", "a list of nodes"]);
    refused(&[("network.link.spare.rate", "1 Mbit/s")], &["network.link.spare.between", "either between"]);
    refused(&[("network.link.line.forward.speed", "1 Mbit/s")], &["network.link.line.forward.speed"]);
    refused(&[("network.wire.rate", "1 Mbit/s")], &["network.wire", "\"wifi\" or \"wired\""]);
    refused(&[("network.route", "[[\"server\", \"laptop\"]]")], &["network.route.0", "neighbours"]);
    refused(&[("network.route", "[[\"server\"]]")], &["network.route", "a list of ways"]);
    refused(&[("network.route", "[[\"server\", \"moon\"]]")], &["network.route.0", "moon"]);
    refused(&[("flow.0.to", "\"moon\"")], &["flow.0.to", "exchange, home, laptop"]);
    refused(&[("flow.0.to", "\"server\"")], &["flow.0.to", "another node"]);
    refused(&[("network.link.line.queue", "100 B")], &["network.link.line.forward.queue", "1500 bytes"]);
    let error = parse(&FLAT.replace("to = \"laptop\"", "")).unwrap_err();
    assert!(error.contains("flow.0.to") && error.contains("laptop"), "{error}");
    let error = parse("[[flow]]\ntransport = \"udp\"\nfrom = \"a\"").unwrap_err();
    assert!(error.contains("flow.0.from") && error.contains("graph"), "{error}");
}

#[test]
fn it_runs_in_the_simulated_world_alone() {
    let reason = parse(FLAT).unwrap().needs_simulation().unwrap();
    assert!(reason.contains("network.kind = \"graph\"") && reason.contains("--world simulated"), "{reason}");
}
