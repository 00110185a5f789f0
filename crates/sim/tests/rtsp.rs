//! Flows whose receiver asks for the movie by RTSP, in virtual time.

use crate::common;
use common::{LIVE, movie, run, scenario, summaries};
use framewire_recording::ledger::Ledger;
use framewire_recording::record::{FlowStatus, RtcpRecord};
use framewire_sim::Simulated;

/// A network of a round trip of 100 ms, whose bottleneck is there.
fn wired(bottleneck: &str, rate: &str) -> String {
    format!(
        "[network]\nkind = \"wired\"\nbottleneck = \"{bottleneck}\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"50 ms\"\n"
    )
}

fn simulated(network: &str, flow: &str, seconds: usize) -> Simulated {
    run(&scenario(&format!("{network}[[flow]]\n{flow}")), &movie(3.0, seconds), true)
}

#[test]
fn the_movie_comes_as_it_is_with_every_kind_of_reports_and_every_queue() {
    let movie_bytes = movie(3.0, 8).to_bytes();
    for bottleneck in ["remote", "local-device"] {
        for flow in [
            "transport = \"rtsp\"",
            "transport = \"rtsp\"\nrtcp = \"no-receiver-reports\"",
            "transport = \"rtsp\"\nrtcp = \"none\"",
            "transport = \"rtsp\"\npacing = \"none\"",
            "transport = \"rtsp+dependency\"",
            "transport = \"rtsp+leaky\"\nrtcp = \"none\"",
            "transport = \"rtsp+obs\"",
            "transport = \"rtsp+udp\"",
            "transport = \"rtsp+udp\"\nrtcp = \"no-receiver-reports\"",
            "transport = \"rtsp+udp\"\nrtcp = \"none\"",
            "transport = \"rtsp+udp-blocking\"",
            "transport = \"rtsp+udp-whole\"",
            "transport = \"rtsp+udp+ifd\"",
            "transport = \"rtsp+udp+ifd-optimised\"",
            "transport = \"rtsp+udp+dependency\"",
            "transport = \"rtsp+udp+leaky\"\nrtcp = \"none\"",
            "transport = \"rtsp+udp+keyframe\"",
            "transport = \"rtsp+udp+obs\"",
        ] {
            let simulated = simulated(&wired(bottleneck, "100 Mbit/s"), flow, 8);
            let what = format!("{flow}, {bottleneck}");
            assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{what}");
            assert!(simulated.movies[0] == movie_bytes, "{what}: the movie was changed");
            let summary = &summaries(&simulated)[0];
            let fates = summary.fates.unwrap();
            assert_eq!((fates.lost, fates.late, fates.whole()), (0, 0, 200), "{what}");
            assert_eq!(simulated.outcomes[0].received.complete_frames, 200, "{what}");
        }
    }
}

/// A connection takes a round trip, and OPTIONS, DESCRIBE and SETUP one each; PLAY comes half a one later. The frame clock
/// starts then, and the player counts from the first packet.
#[test]
fn the_movie_begins_with_play_and_what_was_before_is_a_part_of_the_start_up() {
    let simulated = simulated(&wired("remote", "100 Mbit/s"), "transport = \"rtsp\"", 4);
    let rows = Ledger::build(&simulated.logs[0], LIVE).rows.to_vec();
    let due: Vec<f64> = rows.iter().map(|row| row.due.as_secs_f64()).collect();
    assert!((0.45..0.46).contains(&due[0]), "{}", due[0]);
    for (number, due_at) in due.iter().enumerate() {
        assert!((due_at - due[0] - 0.04 * number as f64).abs() < 1e-6, "frame {number} is due at {due_at}");
    }
    let offered: Vec<f64> = rows.iter().map(|row| row.offered.unwrap().as_secs_f64()).collect();
    assert_eq!(offered[10..], due[10..], "nothing waits behind the first flight of the connection");
    // The first frame is more than that flight; later ones are there half a round trip later.
    let latency = |number: usize| rows[number].arrival.unwrap().as_secs_f64() - due[number];
    assert!((0.05..0.26).contains(&latency(0)), "{}", latency(0));
    assert!((50..100).all(|number| (0.05..0.06).contains(&latency(number))));
    let deadline = rows[0].deadline.unwrap().as_secs_f64();
    assert!((due[0] + 1.05..due[0] + 1.06).contains(&deadline), "one second after the first packet: {deadline}");
}

/// The same four round trips before the first packet, which then comes in one half of one, as it is in no window.
#[test]
fn over_udp_the_movie_begins_with_play_too() {
    let simulated = simulated(&wired("remote", "100 Mbit/s"), "transport = \"rtsp+udp\"", 4);
    let rows = Ledger::build(&simulated.logs[0], LIVE).rows.to_vec();
    let due: Vec<f64> = rows.iter().map(|row| row.due.as_secs_f64()).collect();
    assert!((0.45..0.46).contains(&due[0]), "{}", due[0]);
    let latency = |number: usize| rows[number].arrival.unwrap().as_secs_f64() - due[number];
    assert!((0..100).all(|number| (0.05..0.06).contains(&latency(number))), "{}", latency(0));
    let of = |protocol: &str, forward: bool| {
        let packets = simulated.logs[0].packets.iter();
        packets.filter(|packet| (packet.protocol, packet.forward) == (protocol, forward)).count()
    };
    // 1.5 MB in packets of up to 1,400 bytes; what is said beside them, and reports.
    assert!((1_200..1_450).contains(&of("udp", true)), "{}", of("udp", true));
    assert!((5..40).contains(&of("tcp", true)) && (5..40).contains(&of("tcp", false)));
    assert!((1..4).contains(&of("udp", false)), "{}", of("udp", false));
}

/// Loss is reported as over UDP alone, and what is said on the connection comes all the same: the session ends by TEARDOWN.
#[test]
fn over_udp_reports_say_what_was_lost_and_the_session_ends_by_itself() {
    let lossy = format!("{}loss = \"2 %\"\n", wired("remote", "20 Mbit/s"));
    let simulated = simulated(&lossy, "transport = \"rtsp+udp\"", 120);
    assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete);
    let (from_sender, from_receiver) = reports(&simulated);
    for sent in [&from_sender, &from_receiver] {
        assert!((18..=34).contains(&sent.len()), "{} in 120 s", sent.len());
    }
    assert!(from_sender.last().unwrap().bye);
    let blocks: Vec<_> = from_receiver.iter().filter(|report| report.lost.is_some()).collect();
    for report in &blocks {
        let (said, so) = (i64::from(report.lost.unwrap()), report.true_lost.unwrap() as i64);
        assert!((0..=3).contains(&(so - said)), "{said} lost, {so} in truth");
    }
    let last = blocks.last().unwrap();
    let share = last.true_lost.unwrap() as f64 / f64::from(last.highest_sequence.unwrap());
    assert!((0.012..0.03).contains(&share), "{share}");
    let fates = summaries(&simulated)[0].fates.unwrap();
    assert!((300..1_500).contains(&fates.lost), "{fates:?}");
    assert_eq!(simulated.outcomes[0].received.complete_frames, fates.whole());
}

/// Nothing comes through from the last frame on: the sender waits some seconds for an answer to its BYE, and not for ever.
#[test]
fn over_udp_a_farewell_that_is_lost_ends_the_session_after_a_time() {
    let seconds = |outage: &str| {
        let network = format!("{}{outage}", wired("remote", "20 Mbit/s"));
        let simulated = simulated(&network, "transport = \"rtsp+udp\"", 8);
        assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete);
        simulated.logs[0].samples.iter().last().unwrap().at.as_secs_f64()
    };
    // The last frame is due at 8.41 s; BYE, TEARDOWN and the sample behind that take a round trip and some.
    let (answered, alone) = (seconds(""), seconds("outages = [[\"8.4 s\", \"20 s\"]]\n"));
    assert!((8.45..8.7).contains(&answered), "{answered}");
    assert!((11.4..11.6).contains(&alone), "{alone}");
}

/// Those from the sender, and those from the receiver.
fn reports(simulated: &Simulated) -> (Vec<&RtcpRecord>, Vec<&RtcpRecord>) {
    simulated.logs[0].rtcp.iter().partition(|report| report.from_sender)
}

#[test]
fn reports_go_between_the_packets_and_say_what_was_so() {
    let full = simulated(&wired("remote", "100 Mbit/s"), "transport = \"rtsp\"", 120);
    let (from_sender, from_receiver) = reports(&full);
    for sent in [&from_sender, &from_receiver] {
        assert!((18..=34).contains(&sent.len()), "{} in 120 s", sent.len());
        assert!(sent.iter().all(|report| report.arrived.is_some()), "nothing is lost on a connection");
        assert!(sent.last().unwrap().bye && sent.iter().filter(|report| report.bye).count() == 1);
    }
    // MPEG video of 3 Mbit/s and 120 s: what RTP carries is the movie and four bytes of each packet's payload header.
    let last = from_sender.last().unwrap();
    let octets = u64::from(last.octets.unwrap()) - 4 * u64::from(last.packets.unwrap());
    assert_eq!(octets, movie(3.0, 120).to_bytes().len() as u64);
    for report in from_receiver.iter().filter(|report| report.lost.is_some()) {
        assert_eq!((report.lost, report.true_lost, report.fraction_lost), (Some(0), Some(0), Some(0.0)));
        let (Some(said), Some(so)) = (report.round_trip, report.true_round_trip) else { continue };
        assert!((said.as_secs_f64() - so.as_secs_f64()).abs() < 3.0 / 65_536.0, "{said:?}, {so:?}");
        assert!((0.1..0.14).contains(&so.as_secs_f64()), "{so:?}");
    }
    let silent = simulated(&wired("remote", "100 Mbit/s"), "transport = \"rtsp\"\nrtcp = \"no-receiver-reports\"", 60);
    let (from_sender, from_receiver) = reports(&silent);
    assert!((8..=19).contains(&from_sender.len()) && from_receiver.is_empty());
    let none = simulated(&wired("remote", "100 Mbit/s"), "transport = \"rtsp\"\nrtcp = \"none\"", 10);
    assert!(none.logs[0].rtcp.is_empty());
}

/// Signs of life are all that keeps a session without reports: it lasts longer than the 60 s after which a server ends it.
#[test]
fn a_session_without_reports_lasts_by_its_signs_of_life() {
    let simulated = simulated(&wired("remote", "20 Mbit/s"), "transport = \"rtsp\"\nrtcp = \"none\"", 140);
    assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete);
    assert_eq!(summaries(&simulated)[0].fates.unwrap().whole(), 3_500);
    let requests = simulated.logs[0].packets.iter().filter(|packet| !packet.forward && packet.payload > 0);
    let late = requests.filter(|packet| packet.enqueued.as_secs_f64() > 5.0).count();
    assert_eq!(late, 4, "GET_PARAMETER, every 30 s");
}

#[test]
fn what_is_given_up_is_given_up_and_what_comes_is_what_the_ledger_says() {
    for transport in ["rtsp+dependency", "rtsp+ifd", "rtp+tcp+dependency", "rtsp+udp+dependency", "rtsp+udp"] {
        // Datagrams wait at the sender only where the sender's own device is the narrow one.
        let bottleneck = if transport.contains("udp+") { "local-device" } else { "remote" };
        let simulated = simulated(&wired(bottleneck, "2 Mbit/s"), &format!("transport = \"{transport}\""), 20);
        assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{transport}");
        let fates = summaries(&simulated)[0].fates.unwrap();
        assert!((50..450).contains(&fates.lost), "{transport}: {} of 500", fates.lost);
        assert_eq!(simulated.outcomes[0].received.complete_frames, fates.whole(), "{transport}");
    }
}

#[test]
fn the_same_seed_has_the_same_exchange_and_another_one_has_another() {
    let requests = |seed: u64| {
        let text = format!("seed = {seed}\n{}[[flow]]\ntransport = \"rtsp\"", wired("remote", "20 Mbit/s"));
        let simulated = run(&scenario(&text), &movie(1.0, 30), true);
        (simulated.logs[0].rtcp.clone(), simulated.logs[0].packets.to_vec())
    };
    assert_eq!(requests(1), requests(1));
    assert_ne!(requests(1).0, requests(2).0);
}

/// A run that ends before the movie does is partial, and nothing is broken.
#[test]
fn a_run_that_is_cut_off_is_partial() {
    let text = format!("limit = \"3 s\"\n{}[[flow]]\ntransport = \"rtsp\"", wired("remote", "20 Mbit/s"));
    let simulated = run(&scenario(&text), &movie(1.0, 10), false);
    assert_eq!(simulated.outcomes[0].status, FlowStatus::Partial);
    let whole = summaries(&simulated)[0].fates.unwrap().whole();
    assert!((55..=65).contains(&whole), "{whole}");
}
