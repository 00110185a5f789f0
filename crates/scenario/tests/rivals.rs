//! Adaptive streams of a ladder, and bulk connections.

use framewire_adaptive::vtp::Estimate;
use framewire_scenario::{
    AdaptiveFlow, BulkFlow, Flow, FlowKind, MovieCodec, Origin, Scenario, ScenarioError, TcpOptions, Transport,
};
use framewire_units::{DataSize, Duration, Probability};

const LADDER: &str = "movie.ladder = \"lab-mild\"\n";
const VTP: &str = "[[flow]]\ntransport = \"vtp\"\n";
const BULK: &str = "[[flow]]\ntransport = \"bulk\"\n";
const TCP: &str = "[[flow]]\ntransport = \"tcp\"\n";
const UDP: &str = "[[flow]]\ntransport = \"udp\"\n";

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::parse(text, &[])
}

/// The error names the key, and says every part.
fn assert_refused(text: &str, key: &str, parts: &[&str]) {
    let error = parse(text).expect_err(text);
    assert_eq!(error.key(), key, "{error}");
    let said = error.to_string();
    assert!(parts.iter().all(|part| said.contains(part)), "{said} should say {parts:?}");
}

fn assert_fixed_point(text: &str) -> Scenario {
    let scenario = parse(text).unwrap();
    assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario, "{}", scenario.to_toml());
    let json = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario, "{json}");
    scenario
}

fn adaptive(flow: &Flow) -> &AdaptiveFlow {
    let FlowKind::Adaptive(own) = &flow.kind else { panic!("{} is an adaptive stream", flow.name) };
    own
}

fn bulk(flow: &Flow) -> &BulkFlow {
    let FlowKind::Bulk(own) = &flow.kind else { panic!("{} is bulk", flow.name) };
    own
}

#[test]
fn adaptive_streams_have_a_start_and_a_k_and_no_key_of_others() {
    let kib = |count: u64| Some(DataSize::from_bytes(count * 1024));
    for &transport in Transport::ALL.iter().filter(|transport| transport.is_adaptive()) {
        let scenario = assert_fixed_point(&format!("{LADDER}[[flow]]\ntransport = \"{transport}\""));
        let flow = &scenario.flows[0];
        let own = adaptive(flow);
        assert_eq!((own.start, flow.stop(), own.ack_every), (Duration::ZERO, None, 5), "{transport}");
        assert_eq!((own.send_buffer, flow.device_queue), (kib(416), 100), "{transport}");
        assert_eq!((flow.congestion(), flow.tcp()), (None, None), "{transport}");
        assert!(!transport.has_movie() && !transport.is_datagram(), "{transport}");
    }
    let set = assert_fixed_point(&format!("{LADDER}{VTP}start = \"2 s\"\nack_every = 20"));
    let own = adaptive(&set.flows[0]);
    assert_eq!((own.start, own.ack_every), (Duration::from_secs(2), 20));
    for line in
        ["congestion = \"reno\"", "packets = \"full\"", "pacing = \"none\"", "stop = \"9 s\"", "connections = 2"]
    {
        let key = format!("flow.0.{}", line.split(' ').next().unwrap());
        assert_refused(&format!("{LADDER}{VTP}{line}"), &key, &["means nothing for transport vtp"]);
    }
    assert_refused(&format!("{LADDER}{VTP}ack_every = 0"), "flow.0.ack_every", &["0", "1 to 65535"]);
    assert_refused(&format!("{TCP}ack_every = 5"), "flow.0.ack_every", &["adaptive streams"]);
    assert_refused(&format!("{TCP}start = \"1 s\""), "flow.0.start", &["tcp", "adaptive streams", "bulk"]);
}

#[test]
fn vtp_says_how_it_reads_equation_1_and_the_others_do_not() {
    let read = |more: &str| {
        let flow = assert_fixed_point(&format!("{LADDER}{VTP}{more}")).flows.remove(0);
        adaptive(&flow).vtp.map(|vtp| vtp.estimate)
    };
    assert_eq!(read(""), Some(Estimate::PAPER));
    let without_headers = Estimate::BytesOverGaps { header: DataSize::ZERO };
    assert_eq!(read("estimate = \"bytes over gaps\"\nestimate_header = 0"), Some(without_headers));
    assert_eq!(read("estimate = \"k over k - 1\""), Some(Estimate::KOverKMinus1));
    let refused = |flow: &str, key: &str, parts: &[&str]| assert_refused(&format!("{LADDER}{flow}"), key, parts);
    let both = format!("{VTP}estimate = \"k over k - 1\"\nestimate_header = 28");
    refused(&both, "flow.0.estimate_header", &["counts no headers", "bytes over gaps"]);
    let large = format!("{VTP}estimate_header = 1501");
    refused(&large, "flow.0.estimate_header", &["1501", "0 to 1500"]);
    let misspelt = format!("{VTP}estimate = \"bytes over gap\"");
    refused(&misspelt, "flow.0.estimate", &["did you mean \"bytes over gaps\"", "k over k - 1"]);
    let other = "[[flow]]\ntransport = \"vtp-hybrid\"\n";
    for (key, value) in [("estimate", "\"k over k - 1\""), ("estimate_header", "28")] {
        refused(&format!("{other}{key} = {value}"), &format!("flow.0.{key}"), &["transport vtp-hybrid", "of vtp"]);
    }
}

#[test]
fn bulk_flows_have_connections_and_times_of_the_run() {
    let limit = "limit = \"60 s\"\n";
    let flow = assert_fixed_point(&format!("{limit}{BULK}")).flows.remove(0);
    let own = bulk(&flow);
    assert_eq!((own.start, own.stop, own.connections), (Duration::ZERO, None, 1));
    assert_eq!((own.tcp.congestion.as_str(), own.tcp.unsent_limit), ("cubic", None));
    let text =
        format!("{limit}{BULK}connections = 64\nstart = \"20 s\"\nstop = \"40 s\"\ncongestion = \"reno\"\nmtu = 1400");
    let flow = assert_fixed_point(&text).flows.remove(0);
    let own = bulk(&flow);
    assert_eq!((own.start, own.stop), (Duration::from_secs(20), Some(Duration::from_secs(40))));
    assert_eq!((own.connections, flow.mtu), (64, 1_400));
    for (line, parts) in [
        ("connections = 0", &["0", "1 to 64"][..]),
        ("connections = 65", &["65", "1 to 64"]),
        ("start = \"60 s\"", &["60 s", "within the run"]),
        ("stop = \"61 s\"", &["61 s", "within the run"]),
        ("stop = \"0 s\"", &["0 s", "after its start"]),
        ("start = \"tomorrow\"", &["tomorrow"]),
    ] {
        assert_refused(&format!("{limit}{BULK}{line}"), &format!("flow.0.{}", line.split(' ').next().unwrap()), parts);
    }
    assert_refused(&format!("{limit}{BULK}start = \"9 s\"\nstop = \"9 s\""), "flow.0.stop", &["after its start, 9 s"]);
}

#[test]
fn a_random_start_is_within_the_run_and_in_the_simulated_world() {
    let limit = "limit = \"60 s\"\n";
    let scenario = assert_fixed_point(&format!("{limit}{BULK}start = \"2 s\"\nstart_within = \"5 s\""));
    assert_eq!(scenario.flows[0].start_within(), Some(Duration::from_secs(5)));
    let reason = scenario.needs_simulation().unwrap();
    assert!(reason.contains("flow.0.start_within = \"5 s\": a random start exists only in the simulated"), "{reason}");
    let none = assert_fixed_point(&format!("{limit}{BULK}start_within = \"0 s\""));
    assert_eq!((none.flows[0].start_within(), none.needs_simulation()), (None, None));
    let refused = |lines: &str, key: &str, part: &str| assert_refused(&format!("{limit}{BULK}{lines}"), key, &[part]);
    refused("start_within = \"60 s\"", "flow.0.start_within", "within the run");
    refused("start_within = \"5 s\"\nstop = \"4 s\"", "flow.0.stop", "after its start, 5 s");
    assert_refused(&format!("{UDP}start_within = \"1 s\""), "flow.0.start_within", &["transport udp", "bulk"]);
}

#[test]
fn hosts_of_other_times_have_other_tcp_options_in_the_simulated_world() {
    let text = format!(
        "limit = \"60 s\"\n{BULK}[flow.tcp]\nsack = false\ntimestamps = false\ninitial_window = 2\nmin_rto = \"1 s\"\n\
         receive_buffer = \"32 KiB\"\ndelayed_acks = false\n"
    );
    let scenario = assert_fixed_point(&text);
    let options = TcpOptions {
        sack: false,
        timestamps: false,
        initial_window: Some(2),
        receive_buffer: Some(DataSize::from_bytes(32_768)),
        min_rto: Some(Duration::from_secs(1)),
        delayed_acks: false,
    };
    assert_eq!(scenario.flows[0].tcp().unwrap().options, Some(options));
    assert!(scenario.needs_simulation().unwrap().starts_with("flow.0.tcp: other options of TCP"));
    let as_linux = assert_fixed_point(&format!("{TCP}tcp = {{ sack = true }}"));
    assert_eq!((as_linux.flows[0].tcp().unwrap().options.clone(), as_linux.needs_simulation()), (None, None));
    let refused = |line: &str, part: &str| {
        let key = format!("flow.0.tcp.{}", line.split(' ').next().unwrap());
        assert_refused(&format!("{TCP}[flow.tcp]\n{line}"), &key, &[part]);
    };
    refused("sack = \"no\"", "true or false");
    refused("initial_window = 0", "1 to 1000");
    refused("min_rto = \"0 s\"", "above zero");
    refused("receive_buffer = \"9 B\"", "1 KiB");
    refused("fack = true", "delayed_acks");
    assert_refused(&format!("{UDP}tcp = {{ sack = false }}"), "flow.0.tcp", &["stream transports", "bulk"]);
}

#[test]
fn a_stream_may_have_constants_and_clocks_of_its_own() {
    let text =
        format!("{LADDER}{VTP}alpha = \"0.95\"\nstep = \"8 kB\"\nsend_tick = \"10 ms\"\nreceive_tick = \"4 ms\"\n");
    let scenario = assert_fixed_point(&text);
    let flow = adaptive(&scenario.flows[0]);
    assert_eq!(
        (flow.vtp.unwrap().alpha, flow.vtp.unwrap().step),
        (Probability::new(0.95), Some(DataSize::from_bytes(8_000)))
    );
    assert_eq!(flow.send_tick.zip(flow.receive_tick), Some((Duration::from_millis(10), Duration::from_millis(4))));
    assert!(scenario.needs_simulation().unwrap().starts_with("flow.0.send_tick = \"10 ms\": coarse clocks"));
    let hybrid = assert_fixed_point(&format!(
        "{LADDER}[[flow]]\ntransport = \"vtp-hybrid\"\nrepeats = false\nplayer_buffer = \"1 MB\""
    ));
    assert_eq!((adaptive(&hybrid.flows[0]).player.unwrap().repeats, hybrid.needs_simulation()), (Some(false), None));
    assert_eq!(adaptive(&hybrid.flows[0]).player.unwrap().player_buffer, Some(DataSize::from_bytes(1_000_000)));
    let former = Scenario::parse(&format!("{LADDER}[[flow]]\ntransport = \"better\""), &[]).unwrap();
    assert_eq!(former.flows[0].transport().as_str(), "vtp-hybrid", "its name in files of earlier versions");
    let refused = |line: &str, key: &str, parts: &[&str]| assert_refused(&format!("{LADDER}{VTP}{line}"), key, parts);
    refused("alpha = \"1\"", "flow.0.alpha", &["below 1"]);
    refused("step = \"0 B\"", "flow.0.step", &["above zero"]);
    refused("repeats = false", "flow.0.repeats", &["transport vtp", "of vtp-hybrid"]);
    refused("send_tick = \"2 s\"", "flow.0.send_tick", &["to \"1 s\""]);
}

#[test]
fn nothing_but_a_limit_ends_bulk_flows_alone() {
    assert_refused(BULK, "limit", &["is missing", "bulk"]);
    let alone = parse(&format!("limit = \"30 s\"\n{BULK}")).unwrap();
    assert!(alone.is_bulk_only() && !alone.streams_movie() && !alone.streams_ladder());
    assert_eq!((alone.movie.source.as_deref(), alone.movie.bitrate), (None, None), "no movie is made for nobody");
    assert_refused(&format!("limit = \"30 s\"\nmovie.source = \"lab\"\n{BULK}"), "movie.source", &["no flow sends"]);
    let beside = parse(&format!("{BULK}{UDP}")).unwrap();
    assert_eq!(beside.limit, Some(Duration::from_secs(300)), "as without it");
    assert!(!beside.is_bulk_only() && beside.streams_movie());
}

#[test]
fn the_ladder_is_there_exactly_where_its_levels_are_sent() {
    assert_refused(VTP, "movie.ladder", &["is missing", "flow.0 (vtp)", "lab-mild", "streaming file"]);
    assert_refused(&format!("{LADDER}{TCP}"), "movie.ladder", &["means nothing"]);
    let shorter = format!("movie.duration = \"20 s\"\n{LADDER}{VTP}");
    assert_refused(&shorter, "movie.duration", &["only levels of the ladder; a shorter", "movie ladder --duration"]);
    assert_refused(&format!("movie.ladder = \"lab-wild\"\n{VTP}"), "movie.ladder", &["lab-wild", "lab-strong"]);
    assert_refused(&format!("movie.ladder = \"\"\n{VTP}"), "movie.ladder", &["\"\"", "streaming file"]);
    let origin = Origin { directory: Some("/films".as_ref()), ..Origin::default() };
    let file = Scenario::parse_from(&format!("movie.ladder = \"film.vtp\"\n{VTP}"), &[], origin).unwrap();
    assert_eq!(file.movie.ladder.as_deref(), Some("/films/film.vtp"));
    assert_eq!((file.movie.ladder_codec(), file.limit), (None, None), "it is not known before the file is opened");
    let known = Origin { movie_duration: Some(Duration::from_secs(70)), ..Origin::default() };
    let late = format!("{LADDER}{VTP}start = \"10 s\"");
    assert_eq!(Scenario::parse_from(&late, &[], known).unwrap().limit, Some(Duration::from_secs(4 * 80 + 60)));
}

#[test]
fn others_send_the_ladders_top_level_or_a_movie_of_their_own() {
    let mild = parse(&format!("{LADDER}{VTP}")).unwrap();
    assert_eq!((mild.movie.source.clone(), mild.movie.ladder_codec()), (None, Some(MovieCodec::Mpeg4)));
    let coded = format!("movie.codec = \"h264\"\n{LADDER}{VTP}{TCP}");
    assert_eq!(assert_fixed_point(&coded).movie.ladder_codec(), Some(MovieCodec::H264));
    let as_it_is = assert_fixed_point(&format!("{LADDER}{VTP}{TCP}{UDP}"));
    assert_eq!((as_it_is.movie.source, as_it_is.flows.len()), (None, 3));
    let cut = format!("{LADDER}{VTP}{UDP}packets = \"thesis\"\n");
    assert_refused(&cut, "flow.1.packets", &["thesis", "\"full\" with movie.codec = \"mpeg4\""]);
    let in_packets = format!("movie.codec = \"h264\"\n{LADDER}{VTP}{UDP}");
    assert_eq!(assert_fixed_point(&in_packets).movie.ladder_codec(), Some(MovieCodec::H264));
    assert_refused(&format!("{in_packets}packets = \"thesis\"\n"), "flow.1.packets", &["thesis", "h264"]);
    let both = assert_fixed_point(&format!("movie.source = \"lab\"\n{LADDER}{VTP}{UDP}"));
    assert_eq!((both.movie.source.as_deref(), both.movie.ladder_codec()), (Some("lab"), Some(MovieCodec::Mpeg4)));
    for key in ["bitrate = \"1 Mbit/s\"", "duration = \"9 s\""] {
        let name = format!("movie.{}", key.split(' ').next().unwrap());
        assert_refused(&format!("movie.{key}\n{LADDER}{VTP}"), &name, &["means nothing"]);
        let beside = format!("movie.{key}\nmovie.codec = \"h264\"\n{LADDER}{VTP}{TCP}");
        assert_refused(&beside, &name, &["without movie.source"]);
    }
    assert_refused(&format!("movie.codec = \"mpeg2\"\n{LADDER}{VTP}"), "movie.codec", &["mpeg4, h264, h265"]);
    assert_refused(&format!("movie.codec = \"h264\"\nmovie.ladder = \"a.vtp\"\n{VTP}"), "movie.codec", &["as it is"]);
    assert_refused(&format!("movie.codec = \"av1\"\n{TCP}"), "movie.codec", &["h265, mpeg4", "AV1 is sent as it is"]);
}

#[test]
fn they_run_in_both_worlds() {
    for flows in [format!("{LADDER}{VTP}{BULK}"), format!("{UDP}{BULK}")] {
        let scenario = parse(&flows).unwrap();
        assert_eq!((scenario.needs_simulation(), scenario.needs_emulation()), (None, None));
    }
}
