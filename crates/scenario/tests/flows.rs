//! Several equal flows, written once.

use framewire_scenario::{Flow, Scenario};
use framewire_units::Duration;

fn parsed(flows: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let overrides: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(&format!("layout = \"together\"\n{flows}"), &overrides).map_err(|error| error.to_string())
}

fn names_and_stations(flows: &str, overrides: &[(&str, &str)]) -> Vec<(String, u8)> {
    let scenario = parsed(flows, overrides).unwrap();
    scenario.flows.iter().map(|flow| (flow.name.clone(), flow.station)).collect()
}

fn named(expected: &[(&str, u8)]) -> Vec<(String, u8)> {
    expected.iter().map(|(name, station)| ((*name).to_owned(), *station)).collect()
}

#[test]
fn a_count_stands_for_so_many_equal_flows() {
    let flows = "[[flow]]\ntransport = \"tcp\"\ncount = 3\nmtu = 1400\n[[flow]]\ntransport = \"udp\"";
    assert_eq!(names_and_stations(flows, &[]), named(&[("tcp-1", 0), ("tcp-2", 0), ("tcp-3", 0), ("udp", 0)]));
    let scenario = parsed(flows, &[]).unwrap();
    let equal = |flow: &Flow| Flow { name: "tcp-1".into(), ..flow.clone() } == scenario.flows[0];
    assert!(equal(&scenario.flows[1]) && equal(&scenario.flows[2]) && !equal(&scenario.flows[3]));
    assert_eq!(scenario.flows[2].mtu, 1400);
    // The resolved form has no count, and reads back to itself.
    assert_eq!(Scenario::parse(&scenario.to_toml(), &[]).unwrap(), scenario);
}

#[test]
fn a_count_of_one_keeps_the_names_of_an_axis() {
    let flow = "[[flow]]\nname = \"cam\"\ntransport = \"udp\"\ncount = 1";
    assert_eq!(names_and_stations(flow, &[]), named(&[("cam-1", 0)]));
    assert_eq!(names_and_stations(flow, &[("flow.cam.count", "2")]), named(&[("cam-1", 0), ("cam-2", 0)]));
}

#[test]
fn stations_of_their_own_are_the_numbers_that_no_other_flow_has() {
    let own = "[[flow]]\ntransport = \"udp\"\ncount = 3\nstation = \"own\"";
    assert_eq!(names_and_stations(own, &[]), named(&[("udp-1", 0), ("udp-2", 1), ("udp-3", 2)]));
    let beside = format!("{own}\n[[flow]]\ntransport = \"tcp\"\nstation = 1");
    assert_eq!(names_and_stations(&beside, &[]), named(&[("udp-1", 0), ("udp-2", 2), ("udp-3", 3), ("tcp", 1)]));
    let all = own.replace('3', "63") + "\n[[flow]]\ntransport = \"tcp\"\nstation = 5";
    let stations: Vec<u8> = parsed(&all, &[]).unwrap().flows.iter().map(|flow| flow.station).collect();
    assert_eq!(stations.iter().collect::<std::collections::BTreeSet<_>>().len(), 64);
}

#[test]
fn wrong_counts_are_refused_by_the_flow_as_it_is_written() {
    let refused = |flows: &str, texts: &[&str]| {
        let error = parsed(flows, &[]).unwrap_err();
        assert!(texts.iter().all(|text| error.contains(text)), "{error}");
    };
    let count = |count: &str| format!("[[flow]]\ntransport = \"udp\"\n[[flow]]\ntransport = \"tcp\"\ncount = {count}");
    refused(&count("0"), &["flow.1.count", "0 is not allowed", "1 to 64"]);
    refused(&count("65"), &["flow.1.count", "1 to 64"]);
    refused(&count("\"3\""), &["flow.1.count", "1 to 64"]);
    refused(&count("64"), &["flow: 65 flows is not allowed", "1 to 64 flows"]);
    refused(&(count("2") + "\nmtu = 1"), &["flow.1.mtu"]);
    let long = format!("[[flow]]\ntransport = \"udp\"\nname = \"{}\"\ncount = 10", "n".repeat(62));
    refused(&long, &["flow.0.name", "1 to 64 letters"]);
    refused(
        &(count("2") + "\n[[flow]]\ntransport = \"udp\"\nname = \"tcp-2\""),
        &["flow.2.name", "tcp-2", "flow 1 has it"],
    );
    let external = "[[flow]]\nstation = \"own\"\nsender.command = [\"a\", \"{movie}\"]\nreceiver.command = [\"b\"]";
    refused(external, &["flow.0.station", "0 for applications"]);
    refused("[[flow]]\ntransport = \"udp\"\nstation = \"mine\"", &["flow.0.station", "0 to 63"]);
}

#[test]
fn a_message_about_a_flow_says_its_name_where_it_has_one() {
    let told = |flows: &str, set: &[(&str, &str)]| {
        let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::parse(flows, &set).unwrap_err().to_string()
    };
    let two = "[[flow]]\ntransport = \"udp\"\n[[flow]]\nname = \"camera\"\ntransport = \"tcp\"\n";
    assert!(told(&format!("{two}mtu = 1"), &[]).starts_with("flow.1.mtu (camera): 1 is not allowed; allowed is "));
    assert!(told(&format!("{two}foo = 1"), &[]).starts_with("flow.1.foo (camera): unknown key: "));
    assert!(told(two, &[("flow.camera.mtu", "1")]).starts_with("flow.1.mtu (camera): "));
    assert!(told(two, &[("flow.0.mtu", "1")]).starts_with("flow.0.mtu: "), "it has none");
    let renamed = [("flow.0.name", "camera")];
    assert!(told(two, &renamed).starts_with("flow.1.name: \"camera\""), "which says it");
    let error = Scenario::parse(&format!("{two}mtu = 1"), &[]).unwrap_err();
    assert_eq!(error.key(), "flow.1.mtu");
    let start = two.replace("\"tcp\"", "\"bulk\"\nstart = \"90 s\"");
    let start = format!("[movie]\nsource = \"film.mp4\"\n{start}");
    let later = Scenario::parse(&start, &[]).unwrap().lasting(Duration::from_secs(2));
    assert!(later.unwrap_err().to_string().starts_with("flow.1.start (camera): "));
    let scenario = Scenario::parse(two, &[]).unwrap();
    assert_eq!([0, 1].map(|flow| scenario.flow_key(flow, "mtu")), ["flow.0.mtu", "flow.1.mtu (camera)"]);
}
