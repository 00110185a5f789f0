//! Transport streams of constant rate, over datagrams and connections, in virtual time.

use framewire_media::Movie;
use framewire_recording::ledger::Ledger;
use framewire_recording::record::{FlowLog, FlowStatus};
use framewire_sim::{Content, Options, Received, Simulated, Simulation};

use crate::common::{LIVE, movie, movies, run, scenario, summaries};
use crate::sound::with_sound;

const TRANSPORTS: [&str; 4] = ["ts", "ts+rtp", "ts+tcp", "http+ts"];

fn wired(rate: &str, more: &str) -> String {
    format!("[network]\nkind = \"wired\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"5 ms\"\n{more}")
}

fn flow(network: &str, transport: &str, ts_rate: &str) -> String {
    format!("{network}[[flow]]\ntransport = \"{transport}\"\nts_rate = \"{ts_rate}\"")
}

#[test]
fn every_frame_comes_and_the_rest_is_stuffing() {
    for movie in movies() {
        for transport in TRANSPORTS {
            let text = flow(&wired("100 Mbit/s", ""), transport, "20 Mbit/s");
            let simulated = run(&scenario(&text), &movie, false);
            assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{transport}");
            assert!(simulated.movies[0] == movie.to_bytes(), "{transport}: the movie was changed");
            let summary = &summaries(&simulated)[0];
            assert_eq!((summary.fates.unwrap().lost, summary.fates.unwrap().late), (0, 0), "{transport}");
            let seconds = summary.duration_s.unwrap();
            let arrived = summary.packet_throughput_bps.unwrap();
            let [least, most] = rates_of_payload(&simulated.logs[0], transport, 20e6);
            assert!((least..most).contains(&arrived), "{transport}: {arrived} bit/s, not from {least} to {most}");
            let sent = simulated.logs[0].stuffing.unwrap();
            let [came, headers] = payload(&simulated.logs[0], transport);
            let of_http = if transport == "http+ts" { 1..100 } else { 0..1 };
            assert!(of_http.contains(&(came - headers - sent.of)), "{transport}: {sent:?}, and {came} came");
            let stuffing = sent.bytes as f64 * 8.0 / seconds;
            let frames = summary.frame_throughput_bps.unwrap();
            let rest = 20e6 - stuffing - frames;
            // Clock references in every seventh packet where datagrams have nothing else, headers, tables.
            assert!((0.1e6..4.5e6).contains(&rest), "{transport}: {stuffing} stuffed, {frames} of frames");
        }
    }
}

/// Bytes of payload that came, and of headers of RTP in them, 12 before each datagram (RFC 3550, 5.1).
fn payload(log: &FlowLog, transport: &str) -> [u64; 2] {
    let of_datagrams: u64 = log.datagrams_received.iter().map(|one| u64::from(one.size)).sum();
    let of_reads = log.stream_reads.iter().map(|one| one.total).max().unwrap_or(0);
    let headers = if transport == "ts+rtp" { 12 * log.datagrams_received.len() as u64 } else { 0 };
    [of_datagrams + of_reads, headers]
}

/// The rate of payload at this rate of the transport stream. The time of the last group, of up to seven packets, is not seen: it
/// comes when its time begins. A connection of one round trip, 10 ms, is made when the stream has begun, and so its first bytes
/// come that much later; where they were asked for over it, headers of 100 bytes come first.
fn rates_of_payload(log: &FlowLog, transport: &str, rate: f64) -> [f64; 2] {
    let [came, headers] = payload(log, transport);
    let (payload, packets) = (came as f64, (came - headers) as f64);
    let before = match transport {
        "ts+tcp" => 0.0105,
        "http+ts" => 100.0 * 8.0 / rate,
        _ => 0.0,
    };
    let unseen = 7.0 * 188.0 * 8.0 / rate + before;
    let seconds = packets * 8.0 / rate;
    // One part in ten thousand: groups that are not full are on the link for less time.
    let exact = rate * payload / packets;
    [0.9999 * exact, 1.0001 * exact * seconds / (seconds - unseen)]
}

/// Sound of the last half second comes behind the last picture, with null packets: what is counted of them has its time.
#[test]
fn payload_has_the_rate_however_short_the_run_is() {
    for (seconds, text, rate) in [(1, "6 Mbit/s", 6e6), (2, "4 Mbit/s", 4e6), (8, "4 Mbit/s", 4e6)] {
        let movie = movie(2.0, seconds);
        for transport in TRANSPORTS {
            let text = flow(&wired("100 Mbit/s", ""), transport, text);
            let alone = run(&scenario(&text), &movie, false);
            let with_sound = with_sound(&text, &movie, seconds as f64, Received::Memory);
            for simulated in [&alone, &with_sound] {
                let summary = &summaries(simulated)[0];
                let arrived = summary.packet_throughput_bps.unwrap();
                let [least, most] = rates_of_payload(&simulated.logs[0], transport, rate);
                assert!((least..most).contains(&arrived), "{transport}, {seconds} s: {arrived}, not {least} to {most}");
            }
            let tail = tail(&with_sound.logs[0]);
            assert!((0.3..0.7).contains(&tail), "{transport}, {seconds} s: {tail} s behind the last picture");
        }
    }
}

/// Seconds from the last picture's arrival to the last byte's.
fn tail(log: &FlowLog) -> f64 {
    let rows = Ledger::build(log, LIVE).rows.to_vec();
    let last_picture = rows.iter().filter(|row| row.track == 0).filter_map(|row| row.arrival).max().unwrap();
    let came = log.datagrams_received.iter().map(|one| one.at).chain(log.stream_reads.iter().map(|one| one.at));
    came.max().unwrap().saturating_since(last_picture).as_secs_f64()
}

/// What leaves is spread evenly: a datagram of seven packets every 2.632 ms at 4 Mbit/s.
#[test]
fn datagrams_leave_at_the_rate() {
    let movie = movie(2.0, 4);
    let simulated = run(&scenario(&flow(&wired("100 Mbit/s", ""), "ts", "4 Mbit/s")), &movie, true);
    let datagrams = simulated.logs[0].datagrams_sent.to_vec();
    let begin = datagrams[0].at;
    let mut bytes = 0u64;
    for datagram in &datagrams {
        let due = bytes * 8 * 1_000_000_000 / 4_000_000;
        assert!(datagram.at.nanos_since(begin).abs_diff(due as i64) < 100, "{bytes} bytes before, due after {due} ns");
        bytes += u64::from(datagram.size);
    }
    let without = datagrams.iter().filter(|datagram| datagram.frame.is_none()).count();
    assert!((datagrams.len() / 4..datagrams.len() / 2).contains(&without), "{without} of {}", datagrams.len());
    let variable = run(&scenario("[[flow]]\ntransport = \"ts\""), &movie, false);
    assert_eq!(variable.logs[0].stuffing, None);
}

#[test]
fn what_is_lost_of_it_is_lost_of_frames_or_of_stuffing() {
    let movie = movie(2.0, 8);
    for transport in ["ts", "ts+rtp"] {
        let text = flow(&wired("100 Mbit/s", "loss = \"2 %\"\n"), transport, "4 Mbit/s");
        let simulated = run(&scenario(&text), &movie, true);
        let ledger = Ledger::build(&simulated.logs[0], LIVE);
        let complete: Vec<bool> = ledger.rows.iter().map(|row| row.complete).collect();
        let whole = (0..complete.len()).filter(|&frame| complete[frame]);
        let expected: Vec<u8> = whole.flat_map(|frame| movie.frame_bytes(frame).to_vec()).collect();
        assert!(simulated.movies[0] == expected, "{transport}: what came is what the ledger calls complete");
        let lost = complete.iter().filter(|&&complete| !complete).count();
        assert!((5..complete.len() / 2).contains(&lost), "{transport}: {lost} of {}", complete.len());
        assert!(ledger.rows.iter().all(|row| row.complete || row.root_cause.is_some()), "{transport}");
    }
}

/// Stuffing or not, a link that is slower than the stream makes it late: over a connection nothing is lost.
#[test]
fn a_link_below_the_rate_makes_a_connection_late() {
    let movie = movie(2.0, 6);
    let last = |rate: &str| {
        let simulated = run(&scenario(&flow(&wired(rate, ""), "ts+tcp", "5 Mbit/s")), &movie, false);
        assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{rate}");
        assert!(simulated.movies[0] == movie.to_bytes());
        let rows = Ledger::build(&simulated.logs[0], LIVE).rows.to_vec();
        rows.iter().filter_map(|row| row.latency_nanos).max().unwrap() as f64 / 1e9
    };
    let (fast, slow) = (last("100 Mbit/s"), last("4 Mbit/s"));
    assert!(fast < 0.1, "{fast} s");
    // 5 Mbit/s of 6 s take 7.5 s of 4 Mbit/s, less its headers.
    assert!((1.4..2.2).contains(&slow), "{slow} s");
}

/// What is fetched ends as what is sent does, behind its last frame: not when no null packet waits for room, which a link that is
/// slower than the stream never lets happen.
#[test]
fn an_answer_ends_behind_the_last_frame_where_the_link_is_below_the_rate() {
    let movie = movie(2.0, 6);
    let sent = |transport: &str| {
        let text = flow(&wired("4.5 Mbit/s", ""), transport, "5 Mbit/s");
        [run(&scenario(&text), &movie, false), with_sound(&text, &movie, 6.0, Received::Memory)].map(|simulated| {
            assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete, "{transport}");
            assert!(simulated.movies[0] == movie.to_bytes(), "{transport}: the movie was changed");
            let log = &simulated.logs[0];
            let ended = log.stream_reads.iter().map(|read| read.at).max().unwrap().as_secs_f64();
            (ended, log.stuffing.unwrap())
        })
    };
    // The sound plays for half a second behind the last picture.
    let seconds = [6.0, 6.5];
    for ((seconds, fetched), (of_tcp, least)) in seconds.into_iter().zip(sent("http+ts")).zip(sent("ts+tcp")) {
        let (ended, stuffing) = fetched;
        // The request takes a round trip, 10 ms, that the other has for its first packets.
        assert!((of_tcp..of_tcp + 0.03).contains(&ended), "{ended} s, not {of_tcp} s");
        // 5 Mbit/s take 1.11 times as long at 4.5 Mbit/s, and headers and round trips at most 7 % more.
        assert!((1.11 * seconds..1.19 * seconds).contains(&ended), "{ended} s of {seconds} s");
        // One group of seven packets: in front of the first frame or behind the last one.
        let more = stuffing.bytes as i64 - least.bytes as i64;
        assert!((-7 * 188..=7 * 188).contains(&more), "{stuffing:?}, not {least:?}");
    }
}

fn refused(text: &str, movie: &Movie) -> String {
    let content = Content::of_movie("movie.m2v", movie.clone());
    let simulated: Result<Simulated, _> = Simulation::run(&scenario(text), &content, &Options::default());
    simulated.map(drop).unwrap_err().to_string()
}

#[test]
fn a_rate_that_is_too_low_is_refused_with_the_one_that_is_needed() {
    let movie = movie(4.0, 4);
    for transport in TRANSPORTS {
        let told = refused(&flow("", transport, "3 Mbit/s"), &movie);
        let needed = told.split("this movie needs ").nth(1).and_then(|rest| rest.split(" for every").next());
        let needed = needed.unwrap_or_else(|| panic!("{told}"));
        let mbps: f64 = needed.strip_suffix(" Mbit/s").and_then(|number| number.parse().ok()).expect(needed);
        // 16 Mbit in 4 s and the 700 ms until the last frame is decoded, and 3 to 13 % of headers, tables and clocks.
        assert!((3.5..3.85).contains(&mbps), "{transport}: {needed}");
        let simulated = run(&scenario(&flow(&wired("100 Mbit/s", ""), transport, needed)), &movie, false);
        assert_eq!(summaries(&simulated)[0].fates.unwrap().shown, 100, "{transport} at {needed}");
    }
}
