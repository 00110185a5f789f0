//! Flows of a transport stream, over datagrams with RTP and without and over a byte stream, in virtual time.

use crate::common;
use common::{LIVE, movie, movies, run, scenario, summaries};
use framewire_recording::ledger::Ledger;
use framewire_recording::record::FlowStatus;

fn wired(rate: &str, bottleneck: &str, more: &str) -> String {
    format!(
        "[network]\nkind = \"wired\"\nbottleneck = \"{bottleneck}\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"5 ms\"\n{more}"
    )
}

#[test]
fn a_fast_network_brings_every_frame_of_every_codec() {
    for (number, movie) in movies().into_iter().enumerate() {
        for transport in ["ts", "ts+rtp", "ts+udp", "ts+tcp", "ts+dependency", "ts+rtp+ifd", "ts+tcp+dependency"] {
            // The others begin with an open group, whose first frames a queue that knows references leaves out.
            if number > 0 && transport.contains("dependency") {
                continue;
            }
            let text = format!("{}[[flow]]\ntransport = \"{transport}\"", wired("100 Mbit/s", "remote", ""));
            let simulated = run(&scenario(&text), &movie, false);
            assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{transport}");
            assert!(simulated.movies[0] == movie.to_bytes(), "{transport}: the movie was changed");
            let summary = &summaries(&simulated)[0];
            assert_eq!(summary.fates.unwrap().lost, 0, "{transport}");
            let lost = (!transport.contains("tcp")).then_some(0);
            assert_eq!(summary.packets_lost, lost, "{transport}");
        }
    }
}

/// A frame in packets ends behind their headers: on a link without a queue it comes 5 ms after its last byte was sent.
#[test]
fn frames_in_packets_over_a_connection_come_after_they_were_sent() {
    let movie = movie(3.0, 4);
    for transport in ["tcp", "rtp+tcp", "ts+tcp"] {
        let text = format!("{}[[flow]]\ntransport = \"{transport}\"", wired("100 Mbit/s", "remote", ""));
        let simulated = run(&scenario(&text), &movie, false);
        // The first flight of the connection is slower.
        for row in Ledger::build(&simulated.logs[0], LIVE).rows.iter().skip(10) {
            let under_way = row.arrival.unwrap().nanos_since(row.last_byte.unwrap());
            assert!((5_000_000..30_000_000).contains(&under_way), "{transport}, frame {}: {under_way} ns", row.frame);
        }
    }
}

/// A frame is lost when a packet of it is: what the receiver gives out are the frames that the ledger has as complete, also
/// where bursts of a queue that overflows take a multiple of 16 packets.
#[test]
fn what_the_receiver_gives_out_are_the_frames_that_the_ledger_calls_complete() {
    for movie in movies() {
        let bytes = movie.to_bytes().len() as f64;
        let seconds = movie.index.frames.last().unwrap().decode_time.as_secs_f64();
        let share = |share: f64| format!("{} kbit/s", (bytes * 8.0 / seconds * share / 1e3) as u64);
        let narrow = wired(&share(0.5), "remote", "queue = \"40 packets\"\n");
        let lossy = wired("100 Mbit/s", "remote", "loss = \"2 %\"\n");
        let local = wired(&share(0.5), "local-device", "");
        let wider = wired(&share(0.75), "local-device", "");
        let short = "\ndevice_queue = 30";
        for (transport, network, more) in [
            ("ts", &narrow, ""),
            ("ts+rtp", &narrow, ""),
            ("ts", &lossy, ""),
            ("ts+rtp", &lossy, ""),
            ("ts+udp", &wider, short),
            ("ts+udp-whole", &wider, short),
            ("ts+rtp+udp-whole", &wider, short),
            ("ts+dependency", &local, ""),
            ("ts+tcp+dependency", &local, ""),
        ] {
            let text = format!("{network}[[flow]]\ntransport = \"{transport}\"{more}");
            let simulated = run(&scenario(&text), &movie, true);
            let ledger = Ledger::build(&simulated.logs[0], LIVE);
            let complete: Vec<bool> = ledger.rows.iter().map(|row| row.complete).collect();
            assert!(complete.contains(&false) && complete.contains(&true), "{transport}: {} frames", complete.len());
            // A queue that leaves frames out may change the numbers in the headers of others.
            if !transport.contains("dependency") {
                let frames = (0..complete.len()).filter(|&frame| complete[frame]);
                let expected: Vec<u8> = frames.flat_map(|frame| movie.frame_bytes(frame)).collect();
                assert!(simulated.movies[0] == expected, "{transport}: {} bytes", simulated.movies[0].len());
            }
            let lost = complete.iter().filter(|complete| !**complete).count() as u32;
            assert_eq!(summaries(&simulated)[0].fates.unwrap().lost, lost, "{transport}");
            // Every packet of the flow is known by its number, and the frames that the link took say where.
            if !transport.contains("tcp") {
                assert!(simulated.logs[0].packets.iter().all(|packet| packet.sequence.is_some()), "{transport}");
                assert!(ledger.rows.iter().all(|row| row.complete || row.root_cause.is_some()), "{transport}");
            }
        }
    }
}
