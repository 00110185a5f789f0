use crate::*;
use framewire_units::{Bitrate, DataSize, Duration};

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, &[])
}

#[test]
fn a_flow_is_enough() {
    let scenario = parse("[[flow]]\ntransport = \"udp\"").unwrap();
    println!("{}", scenario.to_toml());
    println!("{}", serde_json::to_string_pretty(&json_schema()).unwrap());
    assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario);
    assert_eq!(scenario.limit, Some(Duration::from_secs(300)));
    assert_eq!(scenario.flows[0].send_buffer, Some(DataSize::from_bytes(425_984)));
    assert_eq!(scenario.movie.bitrate, Some(Bitrate::from_mbps(6)));
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
}
