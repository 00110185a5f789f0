//! The keys of `[network.wifi]` and of the stations, from the file to the resolved form.
#![allow(missing_docs, reason = "a test binary")]

use framewire_scenario::{Scenario, ScenarioError};

const FLOW: &str = "[[flow]]\ntransport = \"udp\"\n";

fn with(overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> = overrides.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    Scenario::parse(FLOW, &overrides)
}

/// Accepted, and its resolved form reads back to itself.
fn accepted(overrides: &[(&str, &str)]) -> Scenario {
    let scenario = with(overrides).unwrap();
    assert_eq!(Scenario::parse(&scenario.to_toml(), &[]).unwrap(), scenario);
    scenario
}

fn refused(overrides: &[(&str, &str)], key: &str, parts: &[&str]) {
    let error = with(overrides).unwrap_err();
    assert_eq!(error.key(), key, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{part} in: {error}");
    }
}

#[test]
fn carrier_sense_is_a_time_up_to_a_slot_and_by_default_the_standards() {
    let key = "network.wifi.carrier_sense";
    let (g, protected) = ((STANDARD, "802.11g"), ("network.wifi.protection", "cts-to-self"));
    // The standard's two times: assessing the channel, and turning from receiving to sending; and its slot.
    let rows: [(&[(&str, &str)], _, _, _); 4] =
        [(&[], 20, 5, 20), (&[g], 9, 5, 9), (&[g, protected], 20, 5, 20), (&[(STANDARD, "802.11a")], 6, 2, 9)];
    for (network, both, turnaround, slot) in rows {
        let micros = |more: &[(&str, &str)]| {
            let wifi = accepted(&[network, more].concat()).network.as_path().unwrap().wifi.clone().unwrap();
            wifi.carrier_sense.as_nanos() as f64 / 1000.0
        };
        assert_eq!(micros(&[]), f64::from(both));
        // Words of earlier versions, of which one said "standard" and was not the standard's.
        let [word, default] = [turnaround, both].map(|time| format!("\"{time} us\""));
        refused(&[network, &[(key, "standard")]].concat(), key, &["\"standard\"", &word, "turnaround alone", &default]);
        refused(&[network, &[(key, "instant")]].concat(), key, &["\"instant\"", "stood for \"0 s\"", &default]);
        assert_eq!(micros(&[(key, "0 us")]), 0.0);
        assert_eq!(micros(&[(key, &format!("{slot} us"))]), f64::from(slot));
        let longer = [network, &[(key, "20.001 us")]].concat();
        refused(&longer, key, &["20.001 us", &format!("to a slot, here \"{slot} us\"")]);
    }
    refused(&[(key, "soon")], key, &["soon", "a time from \"0 us\""]);
}

const STANDARD: &str = "network.wifi.standard";
const RATE: &str = "network.wifi.rate";

#[test]
fn each_standard_has_its_rates() {
    let rates = [
        ("802.11b", &["1", "2", "5.5", "11"][..], &["6", "54"][..]),
        ("802.11g", &["1", "2", "5.5", "6", "9", "11", "12", "18", "24", "36", "48", "54"], &[]),
        ("802.11a", &["6", "9", "12", "18", "24", "36", "48", "54"], &["1", "11"]),
    ];
    for (standard, own, foreign) in rates {
        for rate in own {
            accepted(&[(STANDARD, standard), (RATE, &format!("{rate} Mbit/s"))]);
        }
        for rate in foreign {
            let last = format!("\"{} Mbit/s\"", own.last().unwrap());
            refused(&[(STANDARD, standard), (RATE, &format!("{rate} Mbit/s"))], RATE, &[rate, standard, &last]);
        }
        accepted(&[(STANDARD, standard), (RATE, "auto"), ("network.wifi.fallback", "packets")]);
    }
    refused(&[(RATE, "22 Mbit/s")], RATE, &["22 Mbit/s", "54 Mbit/s"]);
}

#[test]
fn protection_and_preamble_belong_to_their_standards() {
    let protection = "network.wifi.protection";
    for value in ["cts-to-self", "rts-cts"] {
        accepted(&[(STANDARD, "802.11g"), (protection, value)]);
        for standard in ["802.11b", "802.11a"] {
            refused(&[(STANDARD, standard), (protection, value)], protection, &[value, standard, "802.11g"]);
        }
    }
    accepted(&[(STANDARD, "802.11g"), ("network.wifi.preamble", "short")]);
    refused(&[(STANDARD, "802.11a"), ("network.wifi.preamble", "short")], "network.wifi.preamble", &["802.11b"]);
    // An oven beside 802.11a is allowed, and does nothing.
    accepted(&[(STANDARD, "802.11a"), ("network.wifi.oven.on", "[[\"1 s\", \"2 s\"]]")]);
}

#[test]
fn contenders_and_the_access_points_retry_value_are_bounded() {
    let scenario = accepted(&[("network.wifi.contenders", "250"), ("network.wifi.contender_packet", "40 B")]);
    assert_eq!(scenario.network.as_path().unwrap().wifi.clone().unwrap().contenders, 250);
    refused(&[("network.wifi.contenders", "251")], "network.wifi.contenders", &["251", "0 to 250"]);
    let packet = "network.wifi.contender_packet";
    for size in ["27 B", "2297 B", "1 MB"] {
        refused(&[(packet, size)], packet, &["28 B", "2296 B"]);
    }
    let wifi = |overrides: &[(&str, &str)]| accepted(overrides).network.as_path().unwrap().wifi.clone().unwrap();
    assert_eq!(wifi(&[]).access_point_retry, None);
    assert_eq!(wifi(&[("network.wifi.access_point_retry", "7")]).access_point_retry, Some(7));
    refused(&[("network.wifi.access_point_retry", "256")], "network.wifi.access_point_retry", &["0 to 255"]);
}

#[test]
fn a_station_of_its_own_needs_one_network_and_the_simulated_world() {
    let together = ("layout", "together");
    let scenario = accepted(&[together, ("flow.0.station", "2")]);
    let reason = scenario.needs_simulation().unwrap();
    assert!(reason.contains("flow.0.station = 2") && reason.contains("simulated"), "{reason}");
    assert_eq!(accepted(&[together]).needs_simulation(), None);
    let key = "flow.0.station";
    refused(&[(key, "1")], key, &["1", "together"]);
    refused(&[together, (key, "1"), ("network.kind", "wired")], key, &["wifi"]);
    refused(&[together, (key, "1"), ("network.bottleneck", "remote")], key, &["local-device"]);
    refused(&[together, (key, "64")], key, &["0 to 63"]);
}
