//! Streams from end to end, and the run that is made of both ends.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use framewire_media::access_unit::Codec;
use framewire_real::{Event, RealError, join, receive, send};
use framewire_wire::exchange::{Exchange, Kind};
use serde_json::Value;

use crate::support::{Scratch, both, both_within, content, movie_file, receiving, scenario, sending};

fn document(directory: &std::path::Path) -> Value {
    serde_json::from_slice(&fs::read(directory.join("run.json")).unwrap()).unwrap()
}

/// Two seconds of 2 Mbit/s by a transport, whole at both ends, and joined.
fn comes_whole(transport: &str) {
    let scratch = Scratch::new();
    let file = movie_file(&scratch.0, 50, 270);
    let ends = ["sender", "receiver"].map(|name| scratch.directory(name));
    let never = AtomicBool::new(false);
    let began = Instant::now();
    let (sent, received) = both(transport, &file, ends.clone(), [&never, &never]);
    let (sent, received) = (sent.unwrap(), received.unwrap());
    assert!(began.elapsed() > Duration::from_millis(1_900), "{transport}: paced by the frame clock");
    assert_eq!((sent.status, sent.ended_by, sent.failure), ("complete", None, None), "{transport}");
    assert_eq!((received.status, received.ended_by, received.failure), ("complete", None, None), "{transport}");
    assert_eq!((sent.frames, received.frames), ((50, 0), (50, 0)), "{transport}");
    assert_eq!(fs::read(&received.movie).unwrap(), fs::read(&file).unwrap(), "{transport}: to the byte");
    let out = scratch.directory("joined");
    let joined = join(&ends[0], &ends[1], &out).unwrap();
    assert_eq!((joined.status, joined.failure), ("complete", None), "{transport}");
    let fates = joined.summary.fates.unwrap();
    assert_eq!((fates.shown, fates.lost), (50, 0), "{transport}");
    let error = joined.clock_error_s.expect("they answer each other");
    assert!(error > 0.0 && error < 0.05, "{transport}: {error} s");
    let [p50, .., largest] = joined.summary.latency_ms.unwrap();
    assert!(
        p50 > -1_000.0 * error && p50 < 60.0,
        "{transport}: frames of this machine take {p50} ms, at most {largest}"
    );
    let run = document(&out);
    assert_eq!((run["world"].as_str(), run["side"].as_str()), (Some("real"), None));
    assert_eq!(run["clocks"]["aligned_by"], "exchange");
    let accuracy = &run["accuracy"][transport];
    let wakes = &accuracy["wakes"]["sender"];
    let [count, largest_us] = ["count", "max_us"].map(|key| wakes[key].as_u64().unwrap());
    assert!((50..1_000).contains(&count), "{transport}: a frame or a sample each: {wakes}");
    assert_eq!(document(&ends[0])["accuracy"][transport]["wakes"]["sender"], *wakes, "{transport}");
    assert_eq!(accuracy["disturbed"], accuracy["late"], "{transport}: both ends agree");
    if !accuracy["late"].is_null() {
        println!("machine too busy: {transport}: {accuracy}");
    }
    assert!(largest_us <= 40_000 || accuracy["late"].is_string(), "{transport}: {accuracy}");
    assert_eq!(fs::read(out.join(format!("received/{transport}.m2v"))).unwrap(), fs::read(&file).unwrap());
}

#[test]
fn a_movie_comes_whole_by_datagrams() {
    for transport in ["udp", "udp+dependency"] {
        comes_whole(transport);
    }
}

#[test]
fn a_movie_comes_whole_by_streams_and_in_transport_streams() {
    for transport in ["tcp", "rtp+tcp", "ts", "ts+rtp", "ts+tcp+dependency"] {
        comes_whole(transport);
    }
}

#[test]
fn what_is_stopped_at_the_sender_is_a_partial_run_at_both_ends() {
    for transport in ["udp", "tcp"] {
        let scratch = Scratch::new();
        let file = movie_file(&scratch.0, 250, 270);
        let ends = ["sender", "receiver"].map(|name| scratch.directory(name));
        let (stop, never) = (AtomicBool::new(false), AtomicBool::new(false));
        let (sent, received) = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(1_500));
                stop.store(true, Ordering::Relaxed);
            });
            both(transport, &file, ends.clone(), [&stop, &never])
        });
        let (sent, received) = (sent.unwrap(), received.unwrap());
        assert_eq!((sent.status, sent.ended_by), ("partial", Some("interrupted")), "{transport}");
        assert_eq!(received.status, "complete", "{transport}: all that was sent came");
        assert!((10..100).contains(&received.frames.0), "{transport}: {:?}", received.frames);
        let joined = join(&ends[0], &ends[1], &scratch.directory("joined")).unwrap();
        let fates = joined.summary.fates.unwrap();
        assert_eq!(joined.status, "partial");
        assert_eq!(fates.shown + fates.lost + fates.not_offered, 250, "{transport}: {fates:?}");
        assert!(fates.not_offered > 150 && fates.lost < 3, "{transport}: {fates:?}");
    }
}

#[test]
fn a_stream_that_nobody_receives_is_sent_all_the_same_by_datagrams_only() {
    let scratch = Scratch::new();
    let file = movie_file(&scratch.0, 10, 100);
    // A port of this machine that is nobody's: bound once, and left.
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let directory = scratch.directory("sender");
    let mut told = 0;
    let mut count = |event: &Event| told += usize::from(matches!(event, Event::Unreachable(_)));
    let sent = send(&scenario("udp"), &content(&file), &sending(free, directory.clone()), &|| false, &mut count);
    let sent = sent.unwrap();
    assert!(told == 1 && sent.unreachable > 1, "it is told once, and counted: {told}, {}", sent.unreachable);
    assert_eq!(document(&directory)["unreachable"], sent.unreachable);
    assert_eq!((sent.status, sent.frames, sent.clock_error_s), ("complete", (10, 0), None));
    assert_eq!(document(&directory)["flows"][0]["received_frames"], Value::Null, "not known here");
    let refused = send(&scenario("tcp"), &content(&file), &sending(free, directory), &|| false, &mut |_| {});
    assert!(
        matches!(&refused, Err(RealError::Failed(reason)) if reason.contains("refuses the connection")),
        "{refused:?}"
    );
}

/// RFC 3556, section 2: a description says that there is no RTCP, or none of receivers.
#[test]
fn a_description_says_what_reports_may_take() {
    let scratch = Scratch::new();
    let file = movie_file(&scratch.0, 3, 270);
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (transport, rtcp) in [("udp", "none"), ("udp", "no-receiver-reports"), ("ts+rtp", "none"), ("udp", "")] {
        let description = scratch.0.join("film.sdp");
        let options = sending(free, scratch.directory(&format!("{transport}-{rtcp}")));
        let options = framewire_real::SendOptions { description: Some(description.clone()), ..options };
        let key = if rtcp.is_empty() { String::new() } else { format!("rtcp = \"{rtcp}\"") };
        let text = format!("[[flow]]\ntransport = \"{transport}\"\n{key}");
        let scenario = framewire_scenario::Scenario::parse(&text, &[]).unwrap();
        send(&scenario, &content(&file), &options, &|| false, &mut |_| {}).unwrap();
        let text = fs::read_to_string(description).unwrap();
        let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("m=")).collect();
        let (senders, receivers) = (lines[1].strip_prefix("b=RS:").unwrap(), lines[2]);
        assert_eq!(receivers, "b=RR:0", "{text}");
        assert!(lines[3].starts_with("a=rtpmap:"), "bandwidth stands before attributes: {text}");
        // A quarter of 5 % of the movie's rate (RFC 3550, section 6.2), which is about 2 Mbit/s.
        let senders: u64 = senders.parse().unwrap();
        assert!(
            if rtcp == "no-receiver-reports" { (20_000..35_000).contains(&senders) } else { senders == 0 },
            "{text}"
        );
    }
}

#[test]
fn transports_whose_receiver_asks_are_refused_at_either_end() {
    let scratch = Scratch::new();
    let (file, directory) = (movie_file(&scratch.0, 10, 100), scratch.directory("either"));
    for transport in ["http", "http+ts", "http+fmp4"] {
        let at = sending("127.0.0.1:9".parse().unwrap(), directory.clone());
        let sent = send(&scenario(transport), &content(&file), &at, &|| false, &mut |_| {}).map(|_| ());
        let received = receive(&receiving(transport, directory.clone()), &|| false, &mut |_| {}).map(|_| ());
        for refused in [sent, received] {
            let reason = "its receiver asks for the movie; framewire ";
            assert!(matches!(&refused, Err(RealError::Input(told)) if told.contains(reason)), "{refused:?}");
        }
    }
}

#[test]
fn what_is_not_carried_between_machines_is_refused() {
    let scratch = Scratch::new();
    let file = movie_file(&scratch.0, 10, 100);
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let options = sending(free, scratch.directory("sender"));
    let refused = |text: &str| {
        let scenario = framewire_scenario::Scenario::parse(text, &[]).unwrap();
        send(&scenario, &content(&file), &options, &|| false, &mut |_| {}).unwrap_err().to_string()
    };
    assert!(refused("[[flow]]\ntransport = \"udp\"\n[[flow]]\ntransport = \"tcp\"").contains("one flow at a time"));
    assert!(refused("limit = \"1 s\"\n[[flow]]\ntransport = \"bulk\"").contains("sends no movie"));
}

#[test]
fn a_receiver_to_which_nothing_comes_ends_and_says_so() {
    let scratch = Scratch::new();
    let mut options = receiving("udp", scratch.directory("receiver"));
    options.patience = Duration::from_millis(300);
    let began = Instant::now();
    let nothing = receive(&options, &|| false, &mut |_| {}).unwrap_err().to_string();
    assert!(nothing.contains("nothing came in 0.3 s"), "{nothing}");
    assert!((Duration::from_millis(300)..Duration::from_secs(3)).contains(&began.elapsed()));
}

#[test]
fn strangers_do_not_end_what_waits_for_a_sender() {
    for transport in ["udp", "tcp"] {
        let scratch = Scratch::new();
        let mut options = receiving(transport, scratch.directory("receiver"));
        options.patience = Duration::from_millis(1_800);
        let mut said = Vec::new();
        let mut listener = |event: &Event| {
            said.push(event.clone());
            let Event::Listening(address) = event else { return };
            for number in 0..20u8 {
                match transport {
                    "udp" => {
                        let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
                        stranger.send_to(&[number; 300], address).unwrap();
                        stranger.send_to(&[number; 300], (address.ip(), address.port() + 1)).unwrap();
                    }
                    _ => drop(std::net::TcpStream::connect_timeout(address, Duration::from_millis(20))),
                }
            }
        };
        let nothing = receive(&options, &|| false, &mut listener).unwrap_err().to_string();
        assert!(nothing.contains("nothing that is announced came in 1.8 s"), "{transport}: {nothing}");
        assert_eq!(said.iter().filter(|event| **event == Event::Unannounced).count(), 1, "{transport}: said once");
    }
}

#[test]
fn a_receiver_that_was_started_after_its_sender_says_so_and_ends_when_the_stream_has() {
    let scratch = Scratch::new();
    let file = movie_file(&scratch.0, 100, 100);
    let mut options = receiving("udp", scratch.directory("receiver"));
    (options.silence, options.patience) = (Duration::from_millis(700), Duration::from_secs(30));
    options.address = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ends = ["sender", "late"].map(|name| scratch.directory(name));
    let peer = options.address;
    let (sent, late, told, ended) = thread::scope(|scope| {
        let sender = scope
            .spawn(|| send(&scenario("udp"), &content(&file), &sending(peer, ends[0].clone()), &|| false, &mut |_| {}));
        // Its questions have 1.2 s to be answered.
        thread::sleep(Duration::from_millis(2_000));
        let mut told = 0;
        let mut count = |event: &Event| told += usize::from(*event == Event::Unannounced);
        let late = receive(&options, &|| false, &mut count).unwrap_err().to_string();
        let ended = Instant::now();
        (sender.join().unwrap().unwrap(), late, told, ended)
    });
    assert_eq!((sent.status, sent.clock_error_s, told), ("complete", None, 1));
    assert!(late.contains("a stream came that was not announced, and has ended: "), "{late}");
    assert!(late.contains("start the receiver first") && late.contains("--codec"), "{late}");
    assert!(ended.elapsed() < Duration::from_secs(3), "well before it is patient no more");
    // What the user says of the stream is enough to receive what is left of it.
    let known = framewire_real::ReceiveOptions {
        codec: Codec::ALL.iter().copied().find(|codec| codec.file_suffix() == "m2v"),
        directory: ends[1].clone(),
        ..options
    };
    let received = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            send(&scenario("udp"), &content(&file), &sending(peer, scratch.directory("again")), &|| false, &mut |_| {})
        });
        thread::sleep(Duration::from_millis(2_000));
        let received = receive(&known, &|| false, &mut |_| {}).unwrap();
        sender.join().unwrap().unwrap();
        received
    });
    assert_eq!((received.status, received.ended_by), ("complete", Some("silence")));
    assert!((40..100).contains(&received.frames.0), "{:?}", received.frames);
}

#[test]
fn a_stream_that_is_larger_than_allowed_or_falls_silent_is_a_partial_run() {
    let scratch = Scratch::new();
    let file = movie_file(&scratch.0, 50, 270);
    let never = AtomicBool::new(false);
    let limited = |most: u64| {
        let ends = ["sender", "receiver"].map(|name| scratch.directory(&format!("{name}-{most}")));
        let (_, received) = both_within("udp", &file, ends, [&never, &never], most);
        received.unwrap()
    };
    let received = limited(100_000);
    assert_eq!((received.status, received.ended_by), ("partial", Some("size limit")));
    assert!((100_000..110_000).contains(&received.bytes), "{}", received.bytes);
    // A sender that says what comes, and then is gone: its questions come from a socket of this test's.
    let mut options = receiving("udp", scratch.directory("silent"));
    options.silence = Duration::from_millis(400);
    let mut listener = |event: &Event| {
        let Event::Listening(address) = event else { return };
        let (kind, text) = (Kind::Question, "transport=udp codec=m2v mpeg2=1 ssrc=1");
        let question = Exchange { kind, ssrc: 1, session: 1, number: 1, asked: 1, came: 0, answered: 0, text };
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.send_to(&question.to_bytes(), (address.ip(), address.port() + 1)).unwrap();
    };
    let silent = receive(&options, &|| false, &mut listener).unwrap();
    assert_eq!((silent.status, silent.ended_by, silent.frames), ("partial", Some("silence"), (0, 0)));
}

#[test]
fn directories_of_two_streams_are_not_one_run() {
    let scratch = Scratch::new();
    let file = movie_file(&scratch.0, 10, 100);
    let never = AtomicBool::new(false);
    let ends = ["sender", "receiver"].map(|name| scratch.directory(name));
    let (sent, received) = both("udp", &file, ends.clone(), [&never, &never]);
    assert!(sent.is_ok() && received.is_ok());
    let out = scratch.directory("out");
    let refused = |one, other| join(one, other, &out).unwrap_err().to_string();
    assert!(refused(&ends[1], &ends[0]).contains("it is a receiver's directory, and a sender's is needed"));
    assert!(refused(&scratch.0, &ends[1]).contains("run.json cannot be read"));
    let mut other = document(&ends[1]);
    other["session"] = "0000000000000001".into();
    fs::write(ends[1].join("run.json"), other.to_string()).unwrap();
    assert!(refused(&ends[0], &ends[1]).contains("another stream"));
}
