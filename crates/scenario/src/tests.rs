//! What is read back, what is filled in, what is refused.

use framewire_link::disciplines::CodelSettings;
use framewire_link::{
    BottleneckPlace, Discipline, Exceeding, Framing, GilbertElliott, Interval, LineKind, LossConfig, Mains, QueueLimit,
};
use framewire_transport::{Spread, TransportKind};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Timestamp};
use framewire_wire::rtp_payload::PacketRule;
use proptest::prelude::*;

use crate::*;

const FLOW: &str = "[[flow]]\ntransport = \"udp\"\n";

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, &[])
}

fn named(transport: &str) -> Transport {
    Transport::named(transport).expect("a name")
}

fn with(overrides: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let owned: Vec<_> = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::parse(FLOW, &owned)
}

/// The error names the key, and says every part.
fn assert_refused(outcome: Result<Scenario, ScenarioError>, key: &str, parts: &[&str]) {
    let error = outcome.expect_err(key);
    assert_eq!(error.key(), key, "{error}");
    let text = error.to_string();
    assert!(parts.iter().all(|part| text.contains(part)), "{text} should say {parts:?}");
}

#[test]
fn a_flow_is_enough() {
    let scenario = parse(FLOW).unwrap();
    assert_eq!(scenario.name, "scenario");
    assert_eq!(scenario.limit, Some(Duration::from_secs(300)));
    assert_eq!(scenario.movie.bitrate, Some(Bitrate::from_mbps(6)));
    assert_eq!(scenario.network.as_path().unwrap().bottleneck, BottleneckPlace::LocalDevice);
    let wifi = scenario.network.as_path().unwrap().wifi.as_ref().unwrap();
    assert_eq!((wifi.retry, wifi.rate), (4, WifiRate::Auto));
    assert_eq!(with(&[("network.wifi.retry", "0")]).unwrap().network.as_path().unwrap().wifi.clone().unwrap().retry, 0);
    let wired = with(&[("network.kind", "wired")]).unwrap().network;
    let wired = wired.as_path().unwrap();
    assert_eq!((wired.bottleneck, wired.wifi.as_ref()), (BottleneckPlace::Remote, None));
}

fn flow_of(transport: &str) -> Flow {
    parse(&format!("[[flow]]\ntransport = \"{transport}\"")).unwrap().flows.remove(0)
}

fn common(transport: TransportKind, device_queue: u32, kind: FlowKind) -> Flow {
    Flow { name: transport.to_string(), from: None, to: None, station: 0, mtu: 1_500, device_queue, kind }
}

#[test]
fn every_datagram_transport_has_its_defaults() {
    let kib = |count: u64| Some(DataSize::from_bytes(count * 1024));
    let expected = [
        ("udp-blocking", kib(208), 1_000, Some(Pacing::Sender)),
        ("udp", kib(416), 100, None),
        ("udp-whole", kib(208), 1_000, None),
        ("udp+ifd", kib(160), 1_000, None),
        ("udp+dependency", kib(160), 1_000, None),
        ("ts", kib(208), 1_000, Some(Pacing::Sender)),
        ("ts+rtp", kib(208), 1_000, Some(Pacing::Sender)),
        ("rtsp+udp", kib(416), 100, None),
    ];
    assert_eq!(expected.len(), Transport::ALL.iter().filter(|transport| transport.is_datagram()).count());
    for (name, send_buffer, device_queue, pacing) in expected {
        let transport: TransportKind = name.parse().unwrap();
        let kind = FlowKind::Datagram(DatagramFlow {
            transport,
            overflow: transport.overflow().unwrap(),
            packets: PacketRule::Full,
            spread: Spread::AtOnce,
            damaged: Damaged::Discard,
            rtcp: (name == "rtsp+udp").then_some(Rtcp::Full),
            send_buffer,
            pacing,
            ts_rate: None,
            queue: transport.queue(),
        });
        assert_eq!(flow_of(name), common(transport, device_queue, kind));
    }
}

#[test]
fn every_stream_transport_has_its_defaults() {
    let small = Some(DataSize::from_bytes(32 * 1024));
    let expected = [
        ("tcp", Some(Pacing::Sender), None),
        ("tcp+ifd", None, small),
        ("tcp+ifd-optimised", None, small),
        ("tcp+dependency", None, small),
        ("tcp+leaky", None, None),
        ("tcp+keyframe", None, None),
        ("tcp+obs", None, None),
        ("rtp+tcp", Some(Pacing::Sender), None),
        ("ts+tcp", Some(Pacing::Sender), None),
        ("http", Some(Pacing::Unpaced), None),
        ("http+ts", Some(Pacing::Sender), None),
        ("http+fmp4", Some(Pacing::Sender), None),
        ("rtsp", Some(Pacing::Sender), None),
    ];
    assert_eq!(expected.len(), Transport::ALL.iter().filter(|one| one.family() == Family::Stream).count());
    for (name, pacing, unsent_limit) in expected {
        let transport: TransportKind = name.parse().unwrap();
        let tcp = Tcp { send_buffer: None, congestion: "cubic".to_owned(), ecn: false, unsent_limit, options: None };
        let rtcp = (name == "rtsp").then_some(Rtcp::Full);
        let kind =
            FlowKind::Stream(StreamFlow { transport, pacing, ts_rate: None, rtcp, tcp, queue: transport.queue() });
        assert_eq!(flow_of(name), common(transport, 1_000, kind));
    }
}

#[test]
fn a_file_has_no_frame_clock() {
    let paced =
        |transport: &str, pacing: &str| parse(&format!("[[flow]]\ntransport = \"{transport}\"\npacing = \"{pacing}\""));
    assert!(paced("http", "none").is_ok() && paced("http+ts", "none").is_ok());
    for pacing in ["sender", "receiver"] {
        let told = ["\"none\" for transport http: the file is there from the beginning", pacing];
        assert_refused(paced("http", pacing), "flow.0.pacing", &told);
    }
    assert_refused(paced("http+ts", "receiver"), "flow.0.pacing", &["one of sender, none"]);
}

#[test]
fn frame_queues_have_limits_where_they_can_be_full() {
    let limits = |flow: &Flow| {
        let (FlowKind::Datagram(DatagramFlow { queue, .. }) | FlowKind::Stream(StreamFlow { queue, .. })) = &flow.kind
        else {
            panic!("{} has no frame queue", flow.name)
        };
        let limits = queue.limits().unwrap_or_default();
        (limits.time, limits.frames, limits.bytes.map(DataSize::as_bytes))
    };
    let second = Some(Duration::from_secs(1));
    let others = [Transport::External, named("tcp+obs")];
    let movies = Transport::ALL.iter().filter(|transport| transport.has_movie());
    for transport in movies.filter(|transport| !others.contains(transport)) {
        let expected = match transport.as_str() {
            "udp+dependency" | "tcp+dependency" | "tcp+keyframe" => (second, None, None),
            "tcp+leaky" => (second, Some(200), Some(10_485_760)),
            _ => (None, None, None),
        };
        let text = format!("[[flow]]\ntransport = \"{transport}\"");
        assert_eq!(limits(&parse(&text).unwrap().flows[0]), expected, "{transport}");
        let set = parse(&format!("{text}\nqueue_time = \"700 ms\"\nqueue_frames = 30\nqueue_bytes = \"1 MB\""));
        match expected.0 {
            Some(_) => {
                let set = set.unwrap();
                assert_eq!(limits(&set.flows[0]), (Some(Duration::from_millis(700)), Some(30), Some(1_000_000)));
                assert_eq!(Scenario::parse(&set.to_toml(), &[]).unwrap(), set);
            }
            None => assert_refused(set, "flow.0.queue_time", &["means nothing", "tcp+dependency"]),
        }
    }
    let obs = "[[flow]]\ntransport = \"tcp+obs\"";
    assert_eq!(limits(&parse(obs).unwrap().flows[0]), (Some(Duration::from_millis(900)), None, None));
    let set = parse(&format!("{obs}\nqueue_time = \"700 ms\"")).unwrap();
    assert_eq!(limits(&set.flows[0]), (Some(Duration::from_millis(700)), None, None));
    let frames = parse(&format!("{obs}\nqueue_frames = 30"));
    assert_refused(frames, "flow.0.queue_frames", &["means nothing", "tcp+leaky"]);
    let zero = parse("[[flow]]\ntransport = \"tcp+dependency\"\nqueue_frames = 0");
    assert_refused(zero, "flow.0.queue_frames", &["0", "1 to 100000"]);
    let zero = parse("[[flow]]\ntransport = \"tcp+dependency\"\nqueue_time = \"0 s\"");
    assert_refused(zero, "flow.0.queue_time", &["0 s", "above zero"]);
}

#[test]
fn unknown_keys_are_named_with_the_nearest_known_one() {
    assert_refused(parse(&format!("sed = 1\n{FLOW}")), "sed", &["did you mean `seed`", "version, name, seed"]);
    assert_refused(
        parse(&format!("world = \"simulated\"\n{FLOW}")),
        "world",
        &["framewire run --world simulated", "seed"],
    );
    assert_refused(with(&[("network.world", "simulated")]), "network.world", &["unknown key: allowed here"]);
    assert_refused(with(&[("network.wifi.oven.onn", "[]")]), "network.wifi.oven.onn", &["`on`", "mains"]);
    assert_refused(with(&[("flow.udp.transprot", "udp")]), "flow.0.transprot", &["`transport`"]);
    assert_refused(with(&[("network.wire.loss.burst", "1 %")]), "network.wire.loss.burst", &["good_to_bad"]);
    let endless = "{ good_to_bad = \"1 %\", bad_to_good = \"0 %\" }";
    assert_refused(with(&[("network.wire.loss", endless)]), "network.wire.loss.bad_to_good", &["never ends"]);
    let error = with(&[("network.wifi.colour", "blue")]).unwrap_err().to_string();
    assert!(!error.contains("did you mean"), "{error}");
    let of_levels = parse("[[flow]]\ntransport = \"vtp\"\npacket = \"full\"").unwrap_err().to_string();
    let keys = "name, transport, count, from, to, station, mtu, device_queue, send_buffer, start, start_within, ack_every, \
                estimate, estimate_header, alpha, step, send_tick, receive_tick";
    assert!(of_levels.ends_with(&format!("here: {keys}")), "{of_levels}");
    assert!(!of_levels.contains("did you mean"), "{of_levels}: it would be refused, too");
    let of_none = parse("[[flow]]\ntransport = \"vpt\"\npacket = \"full\"").unwrap_err().to_string();
    assert!(of_none.contains("did you mean `packets`"), "{of_none}");
    assert_refused(with(&[("network.wire.latency", "20 ms")]), "network.wire.latency", &["did you mean `delay`?"]);
    assert_refused(with(&[("network.rtt", "20 ms")]), "network.rtt", &["`network.wire.delay`, which is one way"]);
    assert_refused(with(&[("flow.udp.cc", "bbr")]), "flow.0.cc", &["unknown key: allowed here"]);
    assert_refused(parse("[[flow]]\ntransport = \"tcp\"\ncc = \"bbr\""), "flow.0.cc", &["did you mean `congestion`?"]);
}

#[test]
fn a_protocol_that_is_not_built_is_no_slip() {
    for transport in ["srt", "QUIC", "webrtc", "hls", "dash", "srt+ifd", "http+udp"] {
        let refused = parse(&format!("[[flow]]\ntransport = \"{transport}\"")).unwrap_err().to_string();
        assert!(!refused.contains("did you mean"), "{refused}");
        assert_eq!(
            refused.contains("is not built in; programs of your own that speak it run as transport = \"external\""),
            transport != "http+udp",
            "{refused}"
        );
    }
    let slip = parse("[[flow]]\ntransport = \"rtsp+upd\"").unwrap_err().to_string();
    assert!(slip.contains("did you mean \"rtsp+udp\"?"), "{slip}");
}

#[test]
fn a_flow_of_rtsp_in_datagrams_has_its_settings_and_is_called_as_what_is_asked_for() {
    let in_datagrams = |text: &str| {
        let scenario = parse(&format!("[movie]\nsource = \"a.mpg\"\n[[flow]]\n{text}")).unwrap();
        scenario.flows[0]
            .in_datagrams()
            .map(|flow| (Scenario { flows: vec![flow], ..scenario.clone() }, scenario.clone()))
    };
    for (text, transport) in [
        ("transport = \"rtsp\"\nmtu = 1200", "rtsp+udp"),
        ("transport = \"rtsp\"\nname = \"camera\"", "rtsp+udp"),
        ("transport = \"rtsp\"\nrtcp = \"none\"", "rtsp+udp"),
        ("transport = \"rtsp+ifd\"", "rtsp+udp+ifd"),
        ("transport = \"rtsp+dependency\"", "rtsp+udp+dependency"),
    ] {
        let (so, before) = in_datagrams(text).expect("it is one of RTSP");
        let (flow, own) = (&so.flows[0], &before.flows[0]);
        assert_eq!(flow.transport().to_string(), transport);
        assert_eq!(flow.name, if text.contains("camera") { "camera" } else { transport });
        assert_eq!((flow.mtu, flow.device_queue), (own.mtu, own.device_queue));
        let (FlowKind::Datagram(datagrams), FlowKind::Stream(stream)) = (&flow.kind, &own.kind) else {
            panic!("{text}")
        };
        assert_eq!((datagrams.queue, datagrams.rtcp), (stream.queue, stream.rtcp));
        let read = Scenario::parse(&so.to_toml(), &[]).unwrap().flows.remove(0);
        assert_eq!(
            (read.transport(), &read.name, read.mtu),
            (flow.transport(), &flow.name, flow.mtu),
            "it can be written"
        );
    }
    for transport in ["http+ts", "rtp+tcp", "udp", "rtsp+udp"] {
        assert!(in_datagrams(&format!("transport = \"{transport}\"")).is_none(), "{transport}");
    }
}

#[test]
fn values_out_of_range_are_named_with_what_is_allowed() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("version", "2", &["2", "1 to 1"]),
        ("seed", "-1", &["-1", "0 to"]),
        ("name", "../../etc", &["../../etc", "letters"]),
        ("name", "", &["1 to 64"]),
        ("layout", "side", &["side-by-side, together"]),
        ("limit", "0 s", &["above zero"]),
        ("limit", "2 days", &["2 days", "min, s, ms"]),
        ("limit", "1441 min", &["1440 min"]),
        ("movie.bitrate", "0 Mbit/s", &["0 Mbit/s", "above zero"]),
        ("movie.bitrate", "6 MB/s", &["6 MB/s", "Mbit/s"]),
        ("movie.bitrate", "6000000", &["6000000", "in quotes", "Mbit/s"]),
        ("movie.duration", "0 s", &["0 s", "0.2 s"]),
        ("movie.source", "", &["lab"]),
        ("movie.codec", "vp9", &["\"vp9\" is not allowed; allowed is one of mpeg2, h264, h264-pyramid, h265, mpeg4"]),
        ("network.kind", "wlan", &["wifi, wired"]),
        ("network.bottleneck", "local", &["local-device, remote"]),
        ("network.wifi.standard", "802.11n", &["802.11n", "802.11b, 802.11g, 802.11a"]),
        ("network.wifi.rate", "54 Mbit/s", &["54 Mbit/s", "5.5 Mbit/s"]),
        ("network.wifi.rate", "11.0005 Mbit/s", &["\"11 Mbit/s\""]),
        ("network.wifi.retry", "256", &["256", "0 to 255"]),
        ("network.wifi.retry", "four", &["four", "0 to 255"]),
        ("network.wifi.retry", "4.5", &["4.5", "whole number"]),
        ("network.wifi.queue", "0 packets", &["0 packets", "1 packets"]),
        ("network.wifi.queue", "64 KiB", &["64 KiB", "counts frames"]),
        ("network.wifi.error_floor", "101 %", &["101 %", "100 %"]),
        ("network.wifi.error_floor", "1.0", &["1.0"]),
        ("network.wifi.error_floor", "100 %", &["less than 100 %"]),
        ("network.wifi.oven", "{}", &["say when"]),
        ("network.wifi.oven.on", "20 s", &["20 s", "[from, to]"]),
        ("network.wifi.oven.on", "[[\"20 s\"]]", &["[from, to]"]),
        ("network.wifi.oven.on", "[[\"40 s\", \"20 s\"]]", &["[\"40 s\", \"20 s\"]", "end after the start"]),
        ("network.wifi.oven.on", "[[\"20 s\", \"20 s\"]]", &["end after the start"]),
        ("network.wifi.oven.on", "[[\"1 s\", \"5 s\"], [\"4 s\", \"6 s\"]]", &["\"4 s\"", "without overlap"]),
        ("network.wifi.oven.on", "[[\"4 s\", \"6 s\"], [\"1 s\", \"2 s\"]]", &["in order"]),
        ("network.wifi.oven.on", "[[\"60 s\", \"61 s\"]]", &["within the movie, which lasts 60 s"]),
        ("network.wire.outages", "[[\"50 s\", \"301 s\"]]", &["within the run", "300 s", "limit"]),
        ("network.wifi.sniffer.capture", "1.5", &["1.5"]),
        ("network.wire", "fast", &["[network.wire]"]),
        ("network.wire.rate", "0 bit/s", &["above zero"]),
        ("network.wire.trace", "", &["Mahimahi"]),
        ("network.wire.delay", "-1 ms", &["-1 ms"]),
        ("network.wire.queue", "1499 B", &["1499 B", "1500 bytes"]),
        ("network.wire.queue", "0 ms", &["50 ms"]),
        ("network.wire.tick", "1100 ms", &["\"0 s\" (exact) to \"1 s\""]),
        ("network.wire.queue_discipline", "codle", &["codle", "red, codel, fq-codel", "did you mean \"codel\""]),
        ("network.wifi.queue_discipline", "fifo", &["fifo", "one of drop-tail, head-drop"]),
        ("network.wire.queue_discipline", "5", &["5", "a word such as \"codel\"", "kind = \"codel\""]),
        ("network.wire.queue_discipline.kind", "codle", &["codle", "did you mean \"codel\""]),
        ("network.wire.loss", "2", &["2", "\"1 %\""]),
        ("playout.policy", "wait", &["live, stall"]),
        ("playout.timing", "wall", &["clock, thesis"]),
        ("playout.low_mark", "-1 s", &["-1 s"]),
        ("flow", "udp", &["[[flow]]"]),
        ("flow", "[]", &["0 flows", "1 to 64"]),
    ];
    for (key, value, parts) in cases {
        let at = match *key {
            "network.wifi.oven" => "network.wifi.oven.on",
            other => other,
        };
        assert_refused(with(&[(key, value)]), at, parts);
    }
}

#[test]
fn a_player_goes_on_with_no_less_than_it_pauses_at() {
    let marks = |keys: &[(&str, &str)]| with(keys).map(|scenario| scenario.playout.marks);
    let both = marks(&[("playout.low_mark", "0.5 s"), ("playout.high_mark", "2 s")]).unwrap();
    assert_eq!((both.low, both.high), (Duration::from_millis(500), Duration::from_secs(2)));
    assert_eq!(marks(&[("playout.low_mark", "0.5 s")]).unwrap().high, Duration::from_millis(500), "as low as allowed");
    let too_low = with(&[("playout.low_mark", "0.5 s"), ("playout.high_mark", "499 ms")]);
    assert_refused(too_low, "playout.high_mark", &["499 ms", "low_mark (500 ms) and more"]);
}

#[test]
fn flows_are_checked_one_by_one_and_together() {
    let refused = |text: &str, key: &str, parts: &[&str]| assert_refused(parse(text), key, parts);
    refused("", "flow", &["is missing", "transport"]);
    refused("[[flow]]\nname = \"x\"", "flow.0.transport", &["is missing", "udp-blocking, rtp, udp"]);
    refused(
        "[[flow]]\ntransport = \"udpp\"",
        "flow.0.transport",
        &["\"udpp\" is not allowed; did you mean \"udp\"? allowed is one of udp-blocking, rtp", "tcp+ifd-optimised"],
    );
    refused(
        "[[flow]]\ntransport = \"rtp/udp\"",
        "flow.0.transport",
        &["one of udp-blocking, rtp, udp", "RTP over UDP is \"udp\""],
    );
    for (text, key) in [("[[flow]]\ntransport = \"rtp/udp\"", None), (FLOW, Some("802.11ac"))] {
        let refused = key.map_or_else(|| parse(text), |standard| with(&[("network.wifi.standard", standard)]));
        assert!(!refused.unwrap_err().to_string().contains("did you mean"), "another name is no slip");
    }
    refused(&format!("{FLOW}{FLOW}"), "flow.1.name", &["\"udp\"", "no other flow has"]);
    refused("[[flow]]\ntransport = \"udp-blocking\"\npacing = \"receiver\"", "flow.0.pacing", &["sender, none"]);
    for transport in ["tcp", "udp-blocking"] {
        let flow = parse(&format!("[[flow]]\ntransport = \"{transport}\"\npacing = \"none\"")).unwrap().flows.remove(0);
        let (FlowKind::Datagram(DatagramFlow { pacing, .. }) | FlowKind::Stream(StreamFlow { pacing, .. })) = flow.kind
        else {
            panic!("{transport} sends the movie")
        };
        assert_eq!(pacing, Some(Pacing::Unpaced));
    }
    let mine = [
        ("tcp", "packets = \"full\"", "udp-blocking"),
        ("tcp", "spread = \"none\"", "udp-blocking"),
        ("udp", "unsent_limit = \"16 KiB\"", "stream transports (tcp, tcp+ifd,"),
        ("udp", "congestion = \"reno\"", "tcp"),
        (
            "tcp+ifd",
            "pacing = \"sender\"",
            "a key of udp-blocking, rtp, ts, ts+rtp, tcp, rtp+tcp, ts+tcp, http, http+ts, http+fmp4 and rtsp",
        ),
        (
            "udp",
            "pacing = \"none\"",
            "a key of udp-blocking, rtp, ts, ts+rtp, tcp, rtp+tcp, ts+tcp, http, http+ts, http+fmp4 and rtsp",
        ),
    ];
    for (transport, line, owner) in mine {
        let key = line.split(' ').next().unwrap();
        let text = format!("[[flow]]\ntransport = \"{transport}\"\n{line}");
        refused(&text, &format!("flow.0.{key}"), &["means nothing", transport, owner]);
    }
    for (line, allowed) in [
        ("mtu = 575", "576 to 9000"),
        ("spread = \"evenly\"", "frame-interval"),
        ("spread = \"0 s\"", "above 0 s"),
        ("spread = \"1001 ms\"", "up to"),
        ("device_queue = 0", "1 to 100000"),
        ("send_buffer = \"1023 B\"", "1 KiB"),
        ("send_buffer = \"2 GB\"", "1024 MiB"),
        ("name = \"a.b\"", "letters, digits"),
        ("name = \"a/b\"", "letters, digits"),
    ] {
        refused(&format!("{FLOW}{line}"), &format!("flow.0.{}", line.split(' ').next().unwrap()), &[allowed]);
    }
    let many: String = (0..65).map(|index| format!("[[flow]]\nname = \"f{index}\"\ntransport = \"tcp\"\n")).collect();
    refused(&many, "flow", &["65 flows", "1 to 64"]);
    refused("[[flow]]\ntransport = \"tcp\"\ncongestion = \"a b\"", "flow.0.congestion", &["cubic"]);
    refused("[network]\nkind = \"wired\"\n[network.wifi]\n[[flow]]\ntransport = \"udp\"", "network.wifi", &["kind"]);
}

#[test]
fn packets_are_spread_only_where_the_file_says_so() {
    let flow = |line: &str| parse(&format!("{FLOW}{line}")).unwrap().flows.remove(0);
    assert_eq!(flow("spread = \"none\""), flow(""));
    for (text, spread) in
        [("frame-interval", Spread::FrameInterval), ("0.2 ms", Spread::Gap(Duration::from_micros(200)))]
    {
        let scenario = parse(&format!("{FLOW}spread = \"{text}\"")).unwrap();
        let FlowKind::Datagram(flow) = &scenario.flows[0].kind else { panic!("it is udp") };
        assert_eq!(flow.spread, spread);
        assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario);
    }
    assert!(!parse(FLOW).unwrap().to_toml().contains("spread"), "a scenario without it stays what it was");
}

#[test]
fn a_transport_stream_has_a_constant_rate_where_nothing_is_given_up() {
    let flow = |transport: &str, more: &str| parse(&format!("[[flow]]\ntransport = \"{transport}\"\n{more}"));
    for transport in ["ts", "ts+rtp", "ts+udp", "ts+tcp", "http+ts"] {
        let scenario = flow(transport, "ts_rate = \"4 Mbit/s\"").unwrap();
        let rate = match &scenario.flows[0].kind {
            FlowKind::Datagram(own) => own.ts_rate,
            FlowKind::Stream(own) => own.ts_rate,
            other => panic!("{other:?}"),
        };
        assert_eq!(rate, Some(Bitrate::from_mbps(4)), "{transport}");
        assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario);
        assert!(!flow(transport, "").unwrap().to_toml().contains("ts_rate"), "a scenario without it stays what it was");
    }
    let refused = |transport: &str, more: &str| {
        flow(transport, &format!("ts_rate = \"4 Mbit/s\"\n{more}")).unwrap_err().to_string()
    };
    for transport in ["ts+dependency", "ts+tcp+ifd", "http+ts+dependency", "ts+udp-whole", "udp", "http"] {
        let told = refused(transport, "");
        assert!(
            told.contains("it is a key of ts, ts+rtp, ts+tcp and http+ts, transport streams that give no frames up"),
            "{told}"
        );
    }
    assert!(refused("ts", "pacing = \"none\"").contains("leave pacing out"));
    assert!(refused("ts", "spread = \"frame-interval\"").contains("leave spread out"));
    let told = flow("ts", "ts_rate = \"100 kbit/s\"").unwrap_err().to_string();
    assert!(told.contains("\"200 kbit/s\" to \"1 Gbit/s\""), "{told}");
    assert!(flow("ts", "ts_rate = \"constant\"").is_err());
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_line() {
    let error = parse("seed = 1\nlimit = \n").unwrap_err();
    assert!(error.key().is_empty() && error.to_string().contains("line 2"), "{error}");
    let error = Scenario::parse_json_from("{\"seed\": }", &[], Origin::default()).unwrap_err();
    assert!(error.to_string().contains("JSON"), "{error}");
}

#[test]
fn overrides_reach_tables_and_flows() {
    let text = "[[flow]]\ntransport = \"udp\"\n[[flow]]\nname = \"1\"\ntransport = \"tcp\"";
    let set = |pairs: &[(&str, &str)]| {
        let pairs: Vec<_> = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Scenario::parse(text, &pairs)
    };
    let mtus = |scenario: Scenario| scenario.flows.iter().map(|flow| flow.mtu).collect::<Vec<_>>();
    assert_eq!(mtus(set(&[("flow.udp.mtu", "1400")]).unwrap()), [1400, 1500]);
    assert_eq!(mtus(set(&[("flow.0.mtu", "1400")]).unwrap()), [1400, 1500]);
    assert_eq!(mtus(set(&[("flow.1.mtu", "1400")]).unwrap()), [1500, 1400], "a name wins over an index");
    assert_eq!(mtus(set(&[("flow.*.mtu", "1400"), ("flow.1.mtu", "1300")]).unwrap()), [1400, 1300]);
    assert_eq!(set(&[("movie.bitrate", "3 Mbit/s")]), set(&[("movie.bitrate", "\"3 Mbit/s\"")]));
    assert_eq!(set(&[("name", "x\"\nseed = 7")]).unwrap_err().key(), "name", "a value cannot smuggle in keys");
    assert_refused(set(&[("flow.quic.mtu", "1400")]), "flow.quic.mtu", &["\"quic\"", "udp, 1"]);
    assert_refused(set(&[("seed.x", "1")]), "seed", &["a table", "whole number"]);
    assert_refused(set(&[("flow.0.transport.x", "1")]), "flow.0.transport.x", &["`transport` is not a table"]);
    assert_refused(set(&[("network..retry", "1")]), "network..retry", &["dotted path"]);
    assert_refused(set(&[("", "1")]), "", &["dotted path"]);
}

#[test]
fn what_the_text_does_not_say_comes_from_its_origin() {
    let origin = Origin {
        name: Some("my film"),
        directory: Some("/films".as_ref()),
        movie_duration: Some(Duration::from_secs(10)),
    };
    let text = format!("movie.source = \"film.m2v\"\nnetwork.wire.trace = \"lte.down\"\n{FLOW}");
    let scenario = Scenario::parse_from(&text, &[], origin).unwrap();
    assert_eq!((scenario.name.as_str(), scenario.movie.source.as_deref()), ("my-film", Some("/films/film.m2v")));
    assert_eq!(scenario.network.as_path().unwrap().wire.trace.as_deref(), Some("/films/lte.down"));
    assert_eq!((scenario.movie.bitrate, scenario.movie.duration), (None, None));
    assert_eq!(scenario.limit, Some(Duration::from_secs(100)));
    assert_eq!(parse(FLOW).unwrap().seeded(7), with(&[("seed", "7")]));
    assert_refused(parse(FLOW).unwrap().seeded(u64::MAX), "seed", &["18446744073709551615", "9223372036854775807"]);
    assert_eq!(parse(&text).unwrap().limit, None);
    let late = format!("network.wire.outages = [[\"10 s\", \"11 s\"]]\n{text}");
    assert_refused(Scenario::parse_from(&late, &[], origin), "network.wire.outages", &["lasts 10 s"]);
    assert!(parse(&late).is_ok(), "the length of a file is not known before it is opened");
    let (known, later) = (origin.movie_duration.unwrap(), parse(&text).unwrap());
    assert_eq!(later.lasting(known).unwrap().limit, scenario.limit);
    assert_refused(parse(&late).unwrap().lasting(known), "network.wire.outages", &["lasts 10 s"]);
    let lab = Scenario::parse_from(FLOW, &[], origin).unwrap();
    assert_eq!((lab.movie.source.as_deref(), lab.limit), (Some("lab"), Some(Duration::from_secs(300))));
}

#[test]
fn a_recorded_link_has_no_rate_beside_it() {
    let both = [("network.wire.trace", "lte.down"), ("network.wire.rate", "6 Mbit/s")];
    assert_refused(with(&both), "network.wire.rate", &["6 Mbit/s", "network.wire.trace = \"lte.down\""]);
    let recorded = with(&both[..1]).unwrap();
    assert_eq!(recorded.network.as_path().unwrap().wire.rate, None);
    assert!(!recorded.to_toml().contains("100 Mbit/s"), "{}", recorded.to_toml());
    assert_eq!(with(&both[1..]).unwrap().network.as_path().unwrap().wire.rate, Some(Bitrate::from_mbps(6)));
    assert_eq!(parse(FLOW).unwrap().network.as_path().unwrap().wire.rate, Some(Bitrate::from_mbps(100)));
}

/// Just what is allowed there: a codec of ladders is none of movies, and the other way.
#[test]
fn a_wrong_codec_is_answered_with_those_that_are_allowed_there() {
    const OF_A_LADDER: &str = "movie.ladder = \"lab-mild\"\n[[flow]]\ntransport = \"vtp\"";
    let message = |codec: &str, rest: &str| {
        let file = format!("movie.codec = {codec}\n{rest}");
        parse(&file).map(|scenario| scenario.movie.codec).map_err(|error| error.to_string())
    };
    let refused = |codec: &str, rest: &str, allowed: &str| {
        let expected = format!("movie.codec: {codec} is not allowed; allowed is {allowed}");
        assert_eq!(message(codec, rest), Err(expected));
    };
    let of_a_movie = "one of mpeg2, h264, h264-pyramid, h265, mpeg4";
    refused("\"vp9\"", FLOW, of_a_movie);
    refused("\"h263\"", FLOW, &format!("{of_a_movie} (did you mean \"h264\"?)"));
    refused("\"av1\"", FLOW, &format!("{of_a_movie}; a file in AV1 is sent as it is, without movie.bitrate"));
    refused("4", FLOW, &format!("a text in quotes: {of_a_movie}"));
    let of_a_ladder = "one of mpeg4, h264, h265";
    refused("\"vp9\"", OF_A_LADDER, of_a_ladder);
    refused("\"mpeg-4\"", OF_A_LADDER, &format!("{of_a_ladder} (did you mean \"mpeg4\"?)"));
    refused("\"mpeg2\"", OF_A_LADDER, &format!("{of_a_ladder}; mpeg2 is no codec of ladders"));
    refused("\"h264-pyramid\"", OF_A_LADDER, of_a_ladder);
    refused(
        "\"h264\"",
        &format!("movie.source = \"film.h264\"\n{FLOW}"),
        "only beside movie.bitrate: without it the file is used as it is",
    );
    let file = "movie.ladder = \"own.vtp\"\n[[flow]]\ntransport = \"vtp\"";
    refused("\"h264\"", file, "only of a ladder of the lab's: a file is used as it is");
    let both = format!("movie.source = \"lab\"\n{OF_A_LADDER}\n[[flow]]\ntransport = \"tcp\"");
    refused("\"vp9\"", &both, of_a_movie);
    assert_eq!(message("\"mpeg4\"", FLOW), Ok(Some(MovieCodec::Mpeg4)));
    assert_eq!(message("\"mpeg2\"", FLOW), Ok(Some(MovieCodec::Mpeg2)));
    assert_eq!(message("\"mpeg4\"", OF_A_LADDER), Ok(Some(MovieCodec::Mpeg4)));
}

#[test]
fn every_transport_of_the_movie_carries_what_the_lab_encodes() {
    let coded = |transport: &str| format!("movie.codec = \"h265\"\n[[flow]]\ntransport = \"{transport}\"");
    assert_eq!(parse(&coded("tcp+ifd")).unwrap().movie.codec, Some(MovieCodec::H265));
    assert_eq!(parse(&coded("udp")).unwrap().movie.codec, Some(MovieCodec::H265));
    assert_eq!(parse(&coded("rtp+tcp")).unwrap().movie.codec, Some(MovieCodec::H265));
    let cut = |codec: &str, rule: &str| {
        parse(&format!("movie.codec = \"{codec}\"\n[[flow]]\ntransport = \"udp\"\npackets = \"{rule}\""))
    };
    assert_refused(cut("h265", "thesis"), "flow.0.packets", &["thesis", "full, slices", "h265", "MPEG-2"]);
    assert!(cut("h265", "slices").is_ok() && cut("mpeg2", "thesis").is_ok());
    let paced = parse("[[flow]]\ntransport = \"rtp+tcp\"\npacing = \"receiver\"");
    assert_refused(paced, "flow.0.pacing", &["receiver", "sender, none"]);
    let file = format!("movie = {{ source = \"film.h264\", codec = \"h264\" }}\n{FLOW}");
    assert_refused(parse(&file), "movie.codec", &["only beside movie.bitrate"]);
    let sized = format!("movie = {{ source = \"film.mp4\", size = \"640x360\" }}\n{FLOW}");
    assert_refused(parse(&sized), "movie.size", &["640x360", "only beside movie.bitrate"]);
}

#[test]
fn a_message_ends_with_the_last_thing_that_is_allowed() {
    for (value, last) in [("frame_rate = \"25\"", "\"30000/1001 Hz\""), ("size = \"640\"", "\"640x360\"")] {
        let told = parse(&format!("movie = {{ source = \"a.mp4\", bitrate = \"1 Mbit/s\", {value} }}\n{FLOW}"));
        let told = told.unwrap_err().to_string();
        assert!(told.ends_with(last), "{told}");
    }
}

#[test]
fn a_file_may_have_another_size_and_frame_rate_and_the_lab_movie_has_its_own() {
    let encoded =
        "movie = { source = \"a.mp4\", bitrate = \"1 Mbit/s\", size = \"640x360\", frame_rate = \"29.97 Hz\" }";
    let resolved = parse(&format!("{encoded}\n{FLOW}")).unwrap();
    assert!(resolved.to_toml().contains("frame_rate = \"30000/1001 Hz\""), "{}", resolved.to_toml());
    assert_eq!(parse(&resolved.to_toml()).unwrap().movie, resolved.movie);
    let as_it_is = parse(&format!("movie = {{ source = \"film.h264\", frame_rate = \"25 Hz\" }}\n{FLOW}")).unwrap();
    assert_eq!((as_it_is.movie.bitrate, as_it_is.movie.size), (None, None));
    for (key, value) in [("size", "640x360"), ("frame_rate", "25 Hz")] {
        let lab = format!("movie.{key} = \"{value}\"\n{FLOW}");
        assert_refused(parse(&lab), &format!("movie.{key}"), &[value, "only for a file"]);
        let none = format!("movie.{key} = \"{value}\"\nlimit = \"9 s\"\n[[flow]]\ntransport = \"bulk\"");
        assert_refused(parse(&none), &format!("movie.{key}"), &["means nothing"]);
    }
}

#[test]
fn the_schema_names_the_keys_that_are_read() {
    let schema = json_schema();
    let keys = |definition: &serde_json::Value| {
        let mut keys: Vec<String> = definition["properties"].as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    let sorted = |keys: &[&str]| {
        let mut keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&schema), sorted(Scenario::KEYS));
    let tables = [
        ("Movie", Movie::KEYS),
        ("PathNetwork", PathNetwork::KEYS),
        ("GraphNetwork", GraphNetwork::KEYS),
        ("WiredLink", &[WiredLink::OWN_KEYS, LinkDirection::OWN_KEYS, Wire::KEYS].concat()),
        ("Cell", Cell::KEYS),
        ("Wifi", Wifi::KEYS),
        ("Oven", Oven::KEYS),
        ("Sniffer", Sniffer::KEYS),
        ("Wire", Wire::KEYS),
        ("GilbertElliott", loss::KEYS),
        ("Playout", crate::playout::KEYS),
        ("Flow", &Flow::all_keys()),
    ];
    for (name, known) in tables {
        assert_eq!(keys(&schema["$defs"][name]), sorted(known), "{name}");
    }
    assert!(!schema.to_string().contains("null"), "TOML has no null");
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (1u64..86_400_000).prop_map(Duration::from_millis),
        (200_000_000u64..1 << 46).prop_map(Duration::from_nanos)
    ]
}

fn rate() -> impl Strategy<Value = Bitrate> {
    prop_oneof![(1u64..100_000).prop_map(Bitrate::from_kbps), (1u64..100_000_000_000).prop_map(Bitrate::from_bps)]
}

fn size() -> impl Strategy<Value = DataSize> {
    (9_000u64..1 << 30).prop_map(DataSize::from_bytes)
}

fn probability() -> impl Strategy<Value = Probability> {
    prop_oneof![
        (1e-9f64..0.999).prop_map(Probability::clamped),
        (1u32..1000).prop_map(|p| Probability::clamped(f64::from(p) / 1e3))
    ]
}

fn queue() -> impl Strategy<Value = QueueLimit> {
    let time = duration().prop_map(QueueLimit::Time);
    prop_oneof![(1u32..=1_000_000).prop_map(QueueLimit::Packets), size().prop_map(QueueLimit::Bytes), time]
}

fn loss() -> impl Strategy<Value = LossConfig> {
    let burst = [probability(), probability(), probability(), probability()];
    let burst = burst.prop_map(|[good_to_bad, bad_to_good, loss_good, loss_bad]| {
        LossConfig::GilbertElliott(GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad })
    });
    prop_oneof![
        probability().prop_filter("0 % is none", |loss| *loss != Probability::ZERO).prop_map(LossConfig::Bernoulli),
        burst
    ]
}

/// With its defaults, or with some number at an end of its range.
fn discipline() -> impl Strategy<Value = Discipline> {
    (prop::sample::select(Discipline::ALL), any::<prop::sample::Index>(), any::<bool>()).prop_map(
        |(one, index, most)| {
            if one.settings().is_empty() {
                return one;
            }
            let setting = index.get(one.settings());
            let changed = one.with(setting.name, if most { setting.most } else { setting.least }).unwrap();
            if changed.validate().is_ok() { changed } else { one }
        },
    )
}

fn wire() -> impl Strategy<Value = Wire> {
    let queue = (queue(), discipline());
    (rate(), duration(), duration(), queue, loss()).prop_map(
        |(rate, delay, jitter, (queue, queue_discipline), loss)| {
            let (delay, jitter) = (delay.min(Duration::from_secs(86_400)), jitter.min(Duration::from_secs(86_400)));
            let trace = (jitter.as_millis() % 2 == 0).then(|| "/traces/lte.down".to_owned());
            let rate = trace.is_none().then_some(rate);
            let tick = (delay.as_millis() % 2 == 1).then_some(Duration::from_millis(10));
            let burst = DataSize::from_bytes(10_000 + delay.as_millis() as u64 % 1_000);
            let bucket = |wanted: bool| wanted.then_some((Bitrate::from_mbps(3), burst));
            let shaper =
                bucket(trace.is_none() && delay.as_micros() % 2 == 0).map(|(rate, burst)| Shaper { rate, burst });
            let policer = bucket(jitter.as_micros() % 2 == 0);
            let policer = policer.map(|(rate, burst)| Policer { rate, burst, exceeding: Exceeding::Mark });
            let overhead = DataSize::from_bytes(jitter.as_micros() as u64 % 40);
            let kind = LineKind::ALL[delay.as_micros() as usize % LineKind::ALL.len()];
            let framing = if trace.is_some() { Framing::NONE } else { Framing { kind, overhead } };
            let outages = vec![];
            Wire { rate, framing, trace, delay, jitter, tick, policer, shaper, queue, queue_discipline, outages, loss }
        },
    )
}

fn oven() -> impl Strategy<Value = Oven> {
    (1u64..1_000, 1u64..1_000, -100.0f64..100.0).prop_map(|(gap, length, strength)| {
        let at = |count: u64| Timestamp::from_micros(count * (gap + length));
        let on = (0..3).map(|i| Interval { start: at(i), end: at(i) + Duration::from_micros(length) }).collect();
        Oven { on, mains: Mains::Hz60, strength: Decibel(strength) }
    })
}

fn flow() -> impl Strategy<Value = Flow> {
    let is_own = |kind: &Transport| kind.has_movie() && *kind != Transport::External;
    let own: Vec<Transport> = Transport::ALL.iter().copied().filter(is_own).collect();
    (0..own.len(), 576u16..=9_000, 1u32..=100_000, size()).prop_map(move |(index, mtu, device_queue, size)| {
        let text = format!("[[flow]]\ntransport = \"{}\"", own[index]);
        let mut flow = Flow { mtu, device_queue, ..parse(&text).unwrap().flows.remove(0) };
        match &mut flow.kind {
            FlowKind::Datagram(own) => own.send_buffer = Some(size),
            FlowKind::Stream(own) => own.tcp.send_buffer = Some(size),
            other => panic!("{other:?} is no transport of the movie"),
        }
        flow
    })
}

proptest! {
    /// The resolved form reads back to itself, from TOML and from JSON.
    #[test]
    fn the_resolved_form_is_a_fixed_point(
        seed in 0..=i64::MAX as u64, wire in wire(), oven in oven(), flow in flow(), error_floor in probability(),
        bitrate in rate(), capture in probability(), retry: u8,
    ) {
        let mut scenario = parse(FLOW).unwrap();
        (scenario.seed, scenario.flows, scenario.movie.bitrate) = (seed, vec![flow], Some(bitrate));
        let Network::Path(network) = &mut scenario.network else { unreachable!("the default is a path") };
        network.wire = wire;
        let wifi = network.wifi.as_mut().unwrap();
        (wifi.retry, wifi.error_floor, wifi.oven, wifi.sniffer) = (retry, error_floor, Some(oven), Some(Sniffer { capture }));
        let toml = scenario.to_toml();
        prop_assert_eq!(&parse(&toml).unwrap(), &scenario, "{}", toml);
        let json = serde_json::to_string(&scenario).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Scenario>(&json).unwrap(), &scenario, "{}", json);
    }

    /// Whatever is written and whatever is set, there is an answer, and an accepted one is a fixed point.
    #[test]
    fn nothing_written_makes_it_panic(text in "\\PC{0,200}", key in "[a-z._0-9*]{0,30}", value in "\\PC{0,40}") {
        let set = [(key, value)];
        for text in [text.clone(), FLOW.to_owned(), format!("{FLOW}{text}"), format!("{text}\n{FLOW}")] {
            if let Ok(scenario) = Scenario::parse(&text, &set) {
                prop_assert_eq!(&parse(&scenario.to_toml()).unwrap(), &scenario);
            }
        }
    }

    /// The same for values in the right places.
    #[test]
    fn no_value_makes_it_panic(place in 0usize..20, value in "(-?[0-9.]{1,20} ?(s|ms|min|%|dB|packets|KiB|Mbit/s|bit/s|GB|)|\\[\\[\"[0-9]{1,5} s\", \"[0-9]{1,5} s\"\\]\\])") {
        const PLACES: [&str; 20] = [
            "seed", "limit", "movie.bitrate", "movie.duration", "network.wifi.rate", "network.wifi.retry",
            "network.wifi.queue", "network.wifi.error_floor", "network.wifi.oven.on", "network.wifi.sniffer.capture",
            "network.wire.rate", "network.wire.delay", "network.wire.jitter", "network.wire.queue",
            "network.wire.loss", "network.wire.outages", "playout.startup", "flow.0.send_buffer", "flow.0.mtu",
            "flow.0.device_queue",
        ];
        if let Ok(scenario) = with(&[(PLACES[place], &value)]) {
            prop_assert_eq!(&parse(&scenario.to_toml()).unwrap(), &scenario, "{} = {}", PLACES[place], value);
        }
    }
}

/// Fifty thousand of anything within each other are refused at once, and with little memory: the message comes from the
/// parser of TOML.
#[test]
fn what_is_nested_deeper_than_any_scenario_is_refused() {
    let many = 50_000;
    let dotted = vec!["a"; many].join(".");
    let texts = [
        format!("x = {}{}", "[".repeat(many), "]".repeat(many)),
        format!("x = {}1{}", "{ a = ".repeat(many), " }".repeat(many)),
        format!("{dotted} = 1"),
        format!("[{dotted}]\nb = 1"),
        format!("[[{dotted}]]\nb = 1"),
    ];
    for text in texts {
        let refused = Scenario::parse(&text, &[]).unwrap_err().to_string();
        assert!(refused.starts_with("not a scenario in TOML: ") && refused.contains("recur"), "{refused}");
        assert!(check_toml(&text).unwrap_err().to_string().starts_with("not TOML: "));
    }
    assert_eq!(check_toml("a.b.c = [[1, 2], { d = 3 }]"), Ok(()));
    let refused = with(&[(&format!("network.{dotted}"), "1")]).unwrap_err().to_string();
    assert!(refused.contains("has 50001 parts, and at most 16") && refused.len() < 200, "{refused}");
}

#[test]
fn units_as_they_are_written_elsewhere_are_recognised() {
    let cases = [
        ("network.wire.rate", "6 Mbps", "6 Mbit/s"),
        ("network.wire.rate", "800 kbps", "800 kbit/s"),
        ("movie.bitrate", "800 Kb", "800 kbit/s"),
        ("flow.0.send_buffer", "64 KB", "64 kB"),
        ("network.wire.queue", "64 KB", "64 kB"),
        ("network.wire.queue", "50 msec", "50 ms"),
        ("network.wire.delay", "40 msec", "40 ms"),
    ];
    for (key, written, meant) in cases {
        assert_refused(with(&[(key, written)]), key, &[written, &format!("did you mean \"{meant}\"?")]);
        assert!(with(&[(key, meant)]).is_ok(), "{key} = {meant}");
    }
}

#[test]
fn ecn_is_asked_for_where_the_file_or_the_congestion_control_says_so() {
    let ecn = |text: &str| parse(text).unwrap().flows[0].ecn();
    for (keys, expected) in [
        ("", false),
        ("ecn = true", true),
        ("ecn = false", false),
        ("congestion = \"dctcp\"", true),
        ("congestion = \"dctcp\"\necn = true", true),
    ] {
        for transport in ["tcp", "bulk"] {
            let text = format!("limit = \"9 s\"\n[[flow]]\ntransport = \"{transport}\"\n{keys}");
            assert_eq!(ecn(&text), expected, "{text}");
        }
    }
    let unwilling = "[[flow]]\ntransport = \"bulk\"\ncongestion = \"dctcp\"\necn = false";
    assert_refused(parse(unwilling), "flow.0.ecn", &["dctcp", "true"]);
    assert_refused(parse("[[flow]]\ntransport = \"udp\"\necn = true"), "flow.0.ecn", &["tcp"]);
}

#[test]
fn a_discipline_is_a_word_or_a_table_with_its_numbers() {
    let read = |written: &str| {
        let text = format!(
            "[network]\nkind = \"wired\"\n[network.wire]\nqueue_discipline = {written}\n[[flow]]\ntransport = \"udp\""
        );
        parse(&text).map(|scenario| scenario.network.as_path().unwrap().wire.queue_discipline)
    };
    for discipline in Discipline::ALL {
        assert_eq!(read(&format!("\"{}\"", discipline.as_str())).unwrap(), *discipline);
        assert_eq!(read(&format!("{{ kind = \"{}\" }}", discipline.as_str())).unwrap(), *discipline);
    }
    let codel = read("{ kind = \"codel\", target = \"10 ms\", ecn = true }").unwrap();
    let settings = CodelSettings { target: Duration::from_millis(10), ecn: true, ..CodelSettings::default() };
    assert_eq!(codel, Discipline::Codel(settings));
    for (written, parts) in [
        ("{ target = \"5 ms\" }", ["queue_discipline.kind", "is missing", "one of drop-tail"]),
        ("{ kind = \"codel\", targt = \"5 ms\" }", ["targt", "did you mean `target`", "interval"]),
        ("{ kind = \"codel\", target = \"0 s\" }", ["queue_discipline.target", "\"0 s\"", "1 us to 60 s"]),
        ("{ kind = \"codel\", ecn = \"yes\" }", ["queue_discipline.ecn", "\"yes\"", "true or false"]),
        ("{ kind = \"codel\", queues = 5 }", ["queues", "unknown key", "target, interval, ecn"]),
        ("{ kind = \"drop-tail\", ecn = true }", ["ecn", "unknown key", "allowed here: nothing"]),
        ("{ kind = \"fq-codel\", queues = 70000 }", ["queue_discipline.queues", "70000", "1 to 65536"]),
        ("{ kind = \"pie\", alpha = -1 }", ["queue_discipline.alpha", "-1", "0 to 1000"]),
        ("{ kind = \"red\", min_threshold = 20 }", ["queue_discipline.max_threshold", "15", "min_threshold = 20"]),
        ("{ kind = 5 }", ["queue_discipline.kind", "5", "a text in quotes"]),
    ] {
        let error = read(written).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{written}: {error}");
    }
}

#[test]
fn a_line_has_a_framing_by_word_by_bytes_or_by_both() {
    let read = |written: &str| {
        let text = format!("[network]\nkind = \"wired\"\n[network.wire]\n{written}\n[[flow]]\ntransport = \"udp\"");
        parse(&text).map(|scenario| scenario.network.as_path().unwrap().wire.clone())
    };
    let bytes = DataSize::from_bytes;
    for (written, expected) in [
        ("framing = \"atm\"", Framing::of(LineKind::Atm)),
        ("framing = \"20 B\"", Framing { kind: LineKind::Plain, overhead: bytes(20) }),
        ("framing = \"0 B\"", Framing::NONE),
        ("framing = { kind = \"docsis\" }", Framing::of(LineKind::Docsis)),
        ("framing = { kind = \"atm\", overhead = \"32 B\" }", Framing { kind: LineKind::Atm, overhead: bytes(32) }),
        ("", Framing::NONE),
    ] {
        assert_eq!(read(written).unwrap().framing, expected, "{written}");
    }
    let wire = read(
        "shaper = { rate = \"5 Mbit/s\", burst = \"16 KiB\" }\npolicer = { rate = \"6 Mbit/s\", burst = \"9 kB\" }",
    );
    let wire = wire.unwrap();
    assert_eq!(wire.shaper, Some(Shaper { rate: Bitrate::from_mbps(5), burst: bytes(16_384) }));
    let policer = Policer { rate: Bitrate::from_mbps(6), burst: bytes(9_000), exceeding: Exceeding::Drop };
    assert_eq!(wire.policer, Some(policer));
    for (written, parts) in [
        ("framing = \"ethernt\"", ["network.wire.framing", "\"ethernt\"", "mean \"ethernet\"", "\"1000 B\""]),
        ("framing = 20", ["network.wire.framing", "20", "\"20 B\"", "kind = \"atm\""]),
        ("framing = { overhead = \"20 B\" }", ["network.wire.framing.kind", "is missing", "plain, atm", "ethernet"]),
        (
            "framing = { kind = \"atm\", overhead = \"2 kB\" }",
            ["framing.overhead", "\"2 kB\"", "\"0 B\"", "\"1000 B\""],
        ),
        ("framing = \"atm\"\ntrace = \"a\"", ["network.wire.framing", "nothing beside", "trace", "opportunities"]),
        ("shaper = { rate = \"5 Mbit/s\" }", ["network.wire.shaper.burst", "is missing", "16 KiB", "at once"]),
        ("shaper = \"5 Mbit/s\"", ["network.wire.shaper", "5 Mbit/s", "a table", "[network.wire.shaper]"]),
        (
            "shaper = { rate = \"5 Mbit/s\", burst = \"16 KiB\" }\ntrace = \"a\"",
            ["network.wire.shaper", "nothing beside", "trace", "opportunities"],
        ),
        (
            "policer = { rate = \"5 Mbit/s\", burst = \"1 kB\" }",
            ["network.wire.policer.burst", "\"1 kB\"", "1500 bytes", "flow udp"],
        ),
        (
            "policer = { rate = \"5 Mbit/s\", burst = \"9 kB\", exceeding = \"delay\" }",
            ["network.wire.policer.exceeding", "\"delay\"", "one of", "drop, mark"],
        ),
    ] {
        let error = read(written).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{written}: {error}");
    }
}
