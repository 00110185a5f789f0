//! Flows over a byte stream, in virtual time.

use crate::common;
use common::{movie, run, scenario, summaries};
use framewire_recording::record::FlowStatus;
use framewire_sim::{EarlyEnd, Simulated};
use framewire_units::Duration;

fn wired(rate: &str, bottleneck: &str) -> String {
    format!(
        "[network]\nkind = \"wired\"\nbottleneck = \"{bottleneck}\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"5 ms\"\n"
    )
}

fn flow(network: &str, transport: &str, mbps: f64, seconds: usize) -> (Simulated, usize) {
    let movie = movie(mbps, seconds);
    let simulated = run(&scenario(&format!("{network}[[flow]]\n{transport}")), &movie, true);
    (simulated, movie.to_bytes().len())
}

#[test]
fn a_fast_network_brings_every_frame_and_every_byte() {
    let movie = movie(3.0, 4);
    for bottleneck in ["local-device", "remote"] {
        for transport in ["tcp", "tcp+ifd", "tcp+ifd-optimised", "rtp+tcp", "rtp+tcp+ifd"] {
            let text = format!("{}[[flow]]\ntransport = \"{transport}\"", wired("100 Mbit/s", bottleneck));
            let simulated = run(&scenario(&text), &movie, false);
            assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{transport}");
            assert!(simulated.movies[0] == movie.to_bytes(), "{transport}, {bottleneck}: the movie was changed");
            let summary = &summaries(&simulated)[0];
            assert_eq!(summary.fates.unwrap().lost, 0, "{transport}, {bottleneck}");
            let latency = summary.latency_ms.unwrap();
            // Nothing waits but the first frame, for the handshake of 10 ms and three round trips of a slow start.
            assert!((5.0..17.0).contains(&latency[0]) && latency[3] < 60.0, "{transport}, {bottleneck}: {latency:?}");
        }
    }
}

#[test]
fn a_narrow_link_makes_tcp_take_as_long_as_its_bytes_need() {
    for bottleneck in ["local-device", "remote"] {
        let (simulated, bytes) = flow(&wired("4 Mbit/s", bottleneck), "transport = \"tcp\"", 6.0, 10);
        let summary = &summaries(&simulated)[0];
        assert_eq!((simulated.outcomes[0].status.clone(), summary.fates.unwrap().lost), (FlowStatus::Complete, 0));
        // 1,448 bytes of every 1,500.
        let needed = bytes as f64 * 8.0 / 4e6 * 1_500.0 / 1_448.0;
        let took = summary.duration_s.unwrap();
        assert!(took > 0.99 * needed && took < 1.08 * needed, "{bottleneck}: took {took} s, its bytes need {needed}");
    }
}

#[test]
fn a_local_device_holds_segments_in_their_socket_and_a_remote_queue_drops_them() {
    let drops = |bottleneck| {
        let network = wired("4 Mbit/s", bottleneck).replace("delay =", "queue = \"30 packets\"\ndelay =");
        let (simulated, _) = flow(&network, "transport = \"tcp\"", 6.0, 10);
        let packets = &simulated.logs[0].packets;
        let waited = packets.iter().filter(|packet| packet.forward && packet.started.is_some());
        let longest = waited.map(|packet| packet.started.unwrap().saturating_since(packet.enqueued));
        (packets.iter().filter(|packet| packet.dropped.is_some()).count(), longest.max().unwrap())
    };
    let (lost, _) = drops("remote");
    assert!(lost > 5, "{lost}");
    let (lost, longest) = drops("local-device");
    // TCP small queues: two packets in the device, or a millisecond of the pacing rate.
    assert_eq!(lost, 0);
    assert!(longest < Duration::from_millis(20), "{longest:?}");
}

#[test]
fn i_frame_delay_over_tcp_sheds_b_frames_and_keeps_up() {
    for transport in ["tcp+ifd", "tcp+ifd-optimised"] {
        let text = format!("transport = \"{transport}\"");
        let (simulated, _) = flow(&wired("5 Mbit/s", "local-device"), &text, 6.0, 10);
        let summary = &summaries(&simulated)[0];
        assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete);
        assert_eq!(summary.places.unwrap().sender_pipeline, summary.fates.unwrap().lost);
        assert_eq!((summary.types.unwrap().lost_i, summary.types.unwrap().lost_p), (0, 0), "{transport}");
        assert!(summary.types.unwrap().lost_b > 20, "{transport}: {:?}", summary.types);
        assert!(summary.duration_s.unwrap() < 10.6, "{transport}: {:?}", summary.duration_s);
        let unsent = simulated.logs[0].samples.iter().filter_map(|sample| sample.unsent_bytes).max().unwrap();
        assert!(unsent <= 32 * 1024, "{transport}: {unsent} bytes unsent");
    }
}

#[test]
fn a_receiver_that_paces_consumes_frames_at_their_rate() {
    let text = "transport = \"tcp\"\npacing = \"receiver\"";
    let (simulated, bytes) = flow(&wired("20 Mbit/s", "remote"), text, 6.0, 20);
    let summary = &summaries(&simulated)[0];
    assert_eq!((summary.fates.unwrap().lost, simulated.outcomes[0].kept_bytes), (0, bytes as u64));
    let took = summary.duration_s.unwrap();
    assert!((took - 20.0).abs() < 0.1, "{took}");
    // The window closes: the sender gets ahead by its own and the receiver's buffers and no further.
    let offered = |frame: u32| {
        let events = &simulated.logs[0].frame_events;
        events.iter().find(|event| event.frame == frame).unwrap().at
    };
    let ahead =
        Duration::from_millis(40 * 450).saturating_sub(offered(450).saturating_since(framewire_units::Timestamp::ZERO));
    assert!(ahead > Duration::from_millis(200) && ahead < Duration::from_secs(18), "{ahead:?}");
}

#[test]
fn a_run_is_ended_at_its_limit() {
    let network = format!("limit = \"5 s\"\n{}", wired("4 Mbit/s", "local-device"));
    let (simulated, _) = flow(&network, "transport = \"tcp\"", 6.0, 10);
    assert_eq!(simulated.ended_by, Some(EarlyEnd::TimeLimit));
    assert_eq!(simulated.outcomes[0].status, FlowStatus::Partial);
    assert!(simulated.simulated < Duration::from_secs(11));
}

#[test]
fn a_dead_link_fails_the_flow_by_name() {
    let network = "limit = \"60 min\"\n".to_owned()
        + &wired("4 Mbit/s", "remote").replace("delay =", "outages = [[\"1 s\", \"3500 s\"]]\ndelay =");
    let (simulated, _) = flow(&network, "transport = \"tcp\"", 3.0, 10);
    let FlowStatus::Failed(reason) = &simulated.outcomes[0].status else {
        panic!("{:?}", simulated.outcomes[0].status)
    };
    assert!(reason.contains("timed out"), "{reason}");
}

#[test]
fn an_unknown_congestion_control_is_named() {
    let movie = movie(3.0, 1);
    let scenario = scenario("[[flow]]\ntransport = \"tcp\"\ncongestion = \"fast\"");
    let error = framewire_sim::Simulation::run(&scenario, &common::content(&movie), &Default::default())
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("fast") && error.contains("cubic"), "{error}");
}
