//! Flows over datagrams, in virtual time: what blocks, what is lost and where.

use crate::common;
use common::{LIVE, movie, run, scenario, summaries};
use framewire_media::Movie;
use framewire_recording::ledger::Ledger;
use framewire_recording::record::{FlowStatus, LossPlace};
use framewire_recording::summary::Summary;
use framewire_sim::EarlyEnd;
use framewire_units::Duration;

fn summary(text: &str, movie: &Movie) -> Summary {
    summaries(&run(&scenario(text), movie, false)).remove(0)
}

const WIFI: &str = "[network]\nkind = \"wifi\"\n[network.wifi]\nerror_floor = \"0 %\"\n";

fn wired(rate: &str, bottleneck: &str) -> String {
    format!(
        "[network]\nkind = \"wired\"\nbottleneck = \"{bottleneck}\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"5 ms\"\n"
    )
}

#[test]
fn a_fast_network_brings_every_frame_and_every_byte() {
    let movie = movie(3.0, 4);
    for bottleneck in ["local-device", "remote"] {
        for transport in ["udp-blocking", "udp", "udp-whole", "udp+ifd"] {
            let text = format!("{}[[flow]]\ntransport = \"{transport}\"", wired("100 Mbit/s", bottleneck));
            let simulated = run(&scenario(&text), &movie, false);
            assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{transport}");
            assert!(simulated.movies[0] == movie.to_bytes(), "{transport}, {bottleneck}: the movie was changed");
            let summary = &summaries(&simulated)[0];
            assert_eq!((summary.fates.unwrap().lost, summary.packets_lost), (0, Some(0)), "{transport}, {bottleneck}");
            // The last datagram of the largest frame, 22 kB, waits for some 1.8 ms of others; the wire has 5 ms.
            let latency = summary.latency_ms.unwrap();
            assert!((5.0..5.9).contains(&latency[0]) && latency[3] < 8.0, "{transport}, {bottleneck}: {latency:?}");
        }
    }
}

#[test]
fn a_narrow_local_device_makes_blocking_sends_take_as_long_as_the_bytes_need() {
    let movie = movie(6.0, 8);
    let text = format!("{}[[flow]]\ntransport = \"udp-blocking\"", wired("4 Mbit/s", "local-device"));
    let simulated = run(&scenario(&text), &movie, true);
    let summary = &summaries(&simulated)[0];
    assert_eq!((summary.fates.unwrap().lost, summary.packets_lost), (0, Some(0)));
    let bits: u64 = simulated.logs[0].packets.iter().map(|packet| u64::from(packet.size) * 8).sum();
    let needed = bits as f64 / 4e6;
    let took = summary.duration_s.unwrap();
    assert!((took - needed).abs() < 0.02 * needed, "took {took} s, its packets need {needed}");
    // SO_SNDBUF of 212,992 bytes admits 93 packets of 2,304, or more where some are small; the one on the air among them.
    let largest = simulated.logs[0].samples.iter().filter_map(|sample| sample.queued_bytes).max().unwrap();
    assert!((212_992..212_992 + 2_304).contains(&largest), "{largest}");
}

#[test]
fn an_overflowing_device_queue_drops_silently_and_keeps_the_clock() {
    let movie = movie(6.0, 8);
    let text = format!("{}[[flow]]\ntransport = \"udp\"", wired("4 Mbit/s", "local-device"));
    let simulated = run(&scenario(&text), &movie, true);
    let summary = &summaries(&simulated)[0];
    assert!(
        simulated.logs[0].datagrams_sent.iter().all(|datagram| datagram.sent),
        "a silent queue lets a send succeed"
    );
    assert_eq!(summary.places.unwrap().sender_socket, summary.fates.unwrap().lost);
    let sent: u64 = simulated.logs[0].packets.iter().map(|packet| u64::from(packet.size)).sum();
    let lost = f64::from(summary.packets_lost.unwrap()) / f64::from(summary.packets_sent.unwrap());
    let expected = 1.0 - 4e6 * 8.2 / (sent as f64 * 8.0);
    assert!((lost - expected).abs() < 0.04, "lost {lost}, the arithmetic says {expected}");
    assert!(summary.duration_s.unwrap() < 8.5, "{:?}", summary.duration_s);
}

#[test]
fn a_remote_queue_drops_and_no_send_ever_blocks() {
    let movie = movie(6.0, 6);
    for transport in ["udp-blocking", "udp"] {
        let text = format!(
            "{}[[flow]]\ntransport = \"{transport}\"",
            wired("4 Mbit/s", "remote").replace("delay =", "queue = \"50 packets\"\ndelay =")
        );
        let simulated = run(&scenario(&text), &movie, false);
        let summary = &summaries(&simulated)[0];
        assert!(summary.fates.unwrap().lost > 30, "{}", summary.fates.unwrap().lost);
        assert_eq!(summary.places.unwrap().intermediate_queue, summary.fates.unwrap().lost);
        assert!(simulated.logs[0].samples.iter().all(|sample| sample.queued_bytes == Some(0)));
    }
}

#[test]
fn a_packet_that_does_not_fit_dooms_the_rest_of_its_frame() {
    let movie = movie(6.0, 6);
    let text = format!("{}[[flow]]\ntransport = \"udp-whole\"", wired("4 Mbit/s", "local-device"));
    let simulated = run(&scenario(&text), &movie, false);
    let unsent = simulated.logs[0].datagrams_sent.iter().filter(|datagram| !datagram.sent).count();
    let summary = &summaries(&simulated)[0];
    assert_eq!(summary.packets_lost, Some(unsent as u32), "nothing is lost behind the socket");
    assert_eq!(summary.places.unwrap().sender_socket, summary.fates.unwrap().lost);
    assert!(summary.fates.unwrap().lost > 0);
}

#[test]
fn i_frame_delay_over_datagrams_sheds_b_frames_and_keeps_up() {
    let movie = movie(6.0, 10);
    let summary = summary(&format!("{}[[flow]]\ntransport = \"udp+ifd\"", wired("5 Mbit/s", "local-device")), &movie);
    assert_eq!(summary.places.unwrap().sender_pipeline, summary.fates.unwrap().lost);
    assert_eq!((summary.types.unwrap().lost_i, summary.types.unwrap().lost_p), (0, 0));
    assert!(summary.types.unwrap().lost_b > 20, "{:?}", summary.types);
    assert!(summary.duration_s.unwrap() < 10.6);
}

#[test]
fn the_summary_is_the_same_with_and_without_the_packet_table() {
    let movie = movie(6.0, 6);
    let sniffer = "[network.wifi.oven]\non = [[\"1 s\", \"4 s\"]]\n[network.wifi.sniffer]\ncapture = \"65 %\"\n";
    let text = format!(
        "{}{sniffer}[[flow]]\ntransport = \"udp\"\n[[flow]]\ntransport = \"udp-blocking\"\npackets = \"thesis\"\n",
        WIFI.replace("error_floor = \"0 %\"", "retry = 2")
    );
    for layout in ["side-by-side", "together"] {
        let scenario = scenario(&format!("layout = \"{layout}\"\n{text}"));
        let (with, without) = (run(&scenario, &movie, true), run(&scenario, &movie, false));
        let (sums, lean) = (summaries(&with), summaries(&without));
        assert_eq!(sums, lean);
        assert!(sums[0].transmissions.unwrap().mean > 1.0 && sums[0].sniffed.unwrap().unique > 100);
        for (one, other) in with.logs.iter().zip(&without.logs) {
            assert_eq!(Ledger::build(one, LIVE), Ledger::build(other, LIVE));
            assert!(one.packets.len() > 2 * other.packets.len());
            assert!(one.packets.iter().all(|packet| !packet.clamped), "virtual time knows no late arrival");
        }
        // The tallies are those that the packets show.
        let mut by_packets = with.logs;
        by_packets.iter_mut().for_each(|log| log.air = None);
        let again: Vec<Summary> =
            by_packets.iter().map(|log| Summary::build(&Ledger::build(log, LIVE), log, &LIVE)).collect();
        assert_eq!(again, sums);
    }
}

#[test]
fn flows_that_share_a_network_share_its_rate() {
    let movie = movie(3.0, 6);
    let flow = |name: &str| format!("[[flow]]\nname = \"{name}\"\ntransport = \"udp-blocking\"\n");
    let text = format!("{}{}{}", wired("4 Mbit/s", "local-device"), flow("a"), flow("b"));
    let together = run(&scenario(&format!("layout = \"together\"\n{text}")), &movie, false);
    let alone = run(&scenario(&text), &movie, false);
    for (together, alone) in summaries(&together).iter().zip(&summaries(&alone)) {
        assert_eq!((together.fates.unwrap().lost, alone.fates.unwrap().lost), (0, 0));
        assert!(alone.duration_s.unwrap() < 6.2 && together.duration_s.unwrap() > 8.0);
    }
    assert!(alone.simulated > together.simulated);
}

#[test]
fn a_run_is_ended_at_its_limit() {
    let movie = movie(6.0, 8);
    let text = format!("limit = \"5 s\"\n{}[[flow]]\ntransport = \"udp-blocking\"", wired("4 Mbit/s", "local-device"));
    let simulated = run(&scenario(&text), &movie, false);
    assert_eq!(simulated.ended_by, Some(EarlyEnd::TimeLimit));
    assert_eq!(simulated.outcomes[0].status, FlowStatus::Partial);
    assert!(simulated.simulated >= Duration::from_secs(5) && simulated.simulated < Duration::from_secs(6));
    let ledger = Ledger::build(&simulated.logs[0], LIVE);
    let causes: Vec<_> = ledger.rows.iter().filter_map(|row| row.into_owned().root_cause).collect();
    assert!(causes.iter().all(|cause| cause.place == LossPlace::SenderPipeline), "{:?}", causes[0]);
}

#[test]
fn a_flow_of_datagrams_waits_for_its_own_packets_and_not_for_those_of_others() {
    let network = wired("8 Mbit/s", "remote");
    let ends = |others: &str| {
        let text = format!("layout = \"together\"\n{network}[[flow]]\ntransport = \"udp\"\n{others}");
        let simulated = run(&scenario(&text), &movie(1.0, 3), false);
        let summary = summaries(&simulated).remove(0);
        let fates = summary.fates.unwrap();
        (simulated.simulated, fates.shown + fates.late + fates.undecodable + fates.lost, simulated.movies[0].len())
    };
    let (alone, frames, bytes) = ends("");
    // The other fills a queue of 250 packets: those before the stream's last take 0.4 s, and nothing of it may be missed.
    let (beside, same, most) = ends("[[flow]]\ntransport = \"bulk\"\n");
    assert_eq!(same, frames);
    assert!(most <= bytes && most > bytes / 2, "{most} of {bytes}");
    let longer = beside.as_secs_f64() - alone.as_secs_f64();
    assert!((0.0..0.6).contains(&longer), "{alone:?}, {beside:?}");
}
