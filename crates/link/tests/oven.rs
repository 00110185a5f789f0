//! The microwave oven against what the thesis saw.
//!
//! Calibrated: within the bounds of physics, the oven's strength and the length of a crossing were chosen once so that
//! the orders of magnitude of tables 3.2 and 3.3 (UDP, oven on all the time) come out, and the error floor so that the
//! part of table 3.2 without the oven does. Agreement with these two tables shows no more than that.
//!
//! Predicted: the durations of tables 3.7 (blocking UDP) and 3.13 (TCP), which no parameter was chosen for.
//!
//! The bounds are orders of magnitude on both sides.

use crate::common;
use common::{Saturated, medium, saturate};
use framewire_link::wifi::Standard;
use framewire_link::{Interval, Mains, OvenConfig, WifiConfig};
use framewire_units::Timestamp;

/// IP size of the thesis' packets on average: 740 bytes of payload.
const THESIS_IP: u64 = 768;

fn with_oven(retry: u16, strength_db: f64) -> WifiConfig {
    let on = vec![Interval { start: Timestamp::ZERO, end: Timestamp::from_secs(1000) }];
    WifiConfig { retry, oven: Some(OvenConfig { on, mains: Mains::Hz50, strength_db }), ..WifiConfig::default() }
}

fn run(config: &WifiConfig, ip: u64) -> Saturated {
    saturate(medium(config, 1, None), 1, ip, 120)
}

/// Calibrated (table 3.2).
#[test]
fn transmissions_per_packet_are_of_the_order_seen_in_the_thesis() {
    let disturbed = run(&with_oven(4, OvenConfig::DOMESTIC_STRENGTH_DB), THESIS_IP);
    let share = |n| disturbed.share_with(n);
    assert!((0.04..0.12).contains(&share(2)), "7 % in the thesis: {}", share(2));
    assert!((0.004..0.025).contains(&share(3)), "1.1 % in the thesis: {}", share(3));
    assert!((0.0001..0.004).contains(&share(4)), "0.1 % in the thesis: {}", share(4));
    let quiet = run(&WifiConfig::default(), THESIS_IP);
    assert!((0.001..0.005).contains(&quiet.share_with(2)), "0.2 to 0.3 % in the thesis: {}", quiet.share_with(2));
    assert!(quiet.share_with(3) < 0.0003, "none in the thesis: {}", quiet.share_with(3));
}

/// Calibrated (table 3.3).
#[test]
fn a_higher_retry_value_loses_less() {
    let losses: Vec<f64> =
        [1, 2, 3, 4].map(|retry| run(&with_oven(retry, OvenConfig::DOMESTIC_STRENGTH_DB), THESIS_IP).loss()).to_vec();
    assert!((0.01..0.12).contains(&losses[0]), "1.3 % in the thesis: {losses:?}");
    assert!((0.002..0.02).contains(&losses[1]), "0.7 % in the thesis: {losses:?}");
    assert!((0.00005..0.003).contains(&losses[2]), "0.06 % in the thesis: {losses:?}");
    assert!(losses[3] < 0.0005, "0.01 % in the thesis: {losses:?}");
}

/// Predicted (tables 3.7 and 3.13).
#[test]
fn twenty_seconds_of_oven_cost_seconds() {
    // The thesis' blocking UDP movie lasted 88 instead of 85 s, TCP 72 instead of 69 s.
    for ip in [THESIS_IP, 1500] {
        let quiet = run(&WifiConfig::default(), ip).goodput_mbps(ip);
        let disturbed = run(&with_oven(4, OvenConfig::DOMESTIC_STRENGTH_DB), ip).goodput_mbps(ip);
        let extra = 20.0 * (1.0 - disturbed / quiet);
        assert!((1.0..6.0).contains(&extra), "{ip} B: {extra} s");
    }
}

#[test]
fn a_stronger_oven_does_more_harm_and_none_does_none() {
    let goodput = |strength| run(&with_oven(4, strength), 1500).goodput_mbps(1500);
    let steps: Vec<f64> = [-40.0, -12.0, -6.0, 0.0, 12.0].map(goodput).to_vec();
    assert!(steps.windows(2).all(|pair| pair[0] > pair[1]), "{steps:?}");
    let quiet = run(&WifiConfig::default(), 1500).goodput_mbps(1500);
    assert!((steps[0] / quiet - 1.0).abs() < 0.002, "{} against {quiet}", steps[0]);
}

#[test]
fn the_sniffer_sees_its_share_of_transmissions() {
    use framewire_link::wifi::{MediumEvent, StationId};
    use framewire_link::{Packet, PacketId, SnifferConfig};
    use framewire_units::{DataSize, Probability};
    let sniffer = Some(SnifferConfig { capture: Probability::new(0.65).unwrap() });
    let config = WifiConfig { sniffer, ..with_oven(4, 0.0) };
    let mut medium = medium(&config, 1, None);
    let station: StationId = medium.add_station(common::station_config(20_000));
    for id in 0..20_000 {
        medium.handle_packet(station, Timestamp::ZERO, Packet::new(PacketId(id), DataSize::from_bytes(768)));
    }
    medium.handle_timeout(Timestamp::MAX);
    let (mut transmissions, mut seen) = (0, 0);
    while let Some(event) = medium.poll_event() {
        match event {
            MediumEvent::Done { verdict, .. } => transmissions += verdict.record.transmissions.len(),
            MediumEvent::Sniffed(frame) => {
                assert!((1..=4).contains(&frame.attempt));
                seen += 1;
            }
            MediumEvent::Received { .. } | MediumEvent::Released { .. } => {}
        }
    }
    let share = f64::from(seen) / transmissions as f64;
    // Five standard deviations of 20,000 draws.
    assert!((share - 0.65).abs() < 0.017, "{share}");
}

#[test]
fn an_oven_is_beside_80211g_and_out_of_reach_of_80211a() {
    let goodput = |standard, oven: bool| {
        let config = with_oven(4, OvenConfig::DOMESTIC_STRENGTH_DB);
        let oven = config.oven.clone().filter(|_| oven);
        saturate(medium(&WifiConfig { standard, oven, ..config }, 1, None), 1, 1500, 20).goodput_mbps(1500)
    };
    assert_eq!(goodput(Standard::Ieee80211a, true), goodput(Standard::Ieee80211a, false));
    let (disturbed, quiet) = (goodput(Standard::Ieee80211g, true), goodput(Standard::Ieee80211g, false));
    // Two crossings of 2 ms in 20 ms, which hardly a rate survives in the middle, cost a fifth; between them, ARF has no
    // time to climb back from 6 to 54 Mbit/s (seven times ten packets of half a millisecond).
    assert!((0.25..0.8).contains(&(disturbed / quiet)), "{disturbed} of {quiet} Mbit/s");
}
