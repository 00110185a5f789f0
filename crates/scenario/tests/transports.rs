//! A transport by its name, by the words of its parts, and as a table of them.

use framewire_scenario::{FlowKind, Parts, Scenario, Transport};

fn transport(value: &str) -> Result<Transport, String> {
    let text = format!("limit = \"60 s\"\nmovie.ladder = \"lab-mild\"\n[[flow]]\ntransport = {value}\n");
    let without_ladder = || Scenario::parse(&text.replacen("movie.ladder = \"lab-mild\"\n", "", 1), &[]);
    let scenario = Scenario::parse(&text, &[]).or_else(|_| without_ladder());
    scenario.map(|scenario| scenario.flows[0].transport()).map_err(|error| error.to_string())
}

#[test]
fn names_and_tables_of_parts_are_the_same_transport() {
    for (name, parts) in [
        ("udp", r#"{ socket = "datagram", overflow = "drop" }"#),
        ("udp-blocking", r#"{ socket = "datagram" }"#),
        ("udp+leaky", r#"{ queue = "leaky", socket = "datagram" }"#),
        ("tcp", r#"{ socket = "stream" }"#),
        (
            "tcp+dependency",
            r#"{ queue = "dependency", format = "elementary-stream", session = "none", socket = "stream", overflow = "wait" }"#,
        ),
        ("ts+rtp", r#"{ format = "ts+rtp", socket = "datagram" }"#),
        ("ts+rtp", r#"{ format = "ts", session = "rtp", socket = "datagram" }"#),
        ("vtp-hybrid", r#"{ queue = "vtp-hybrid", socket = "datagram" }"#),
        ("tfrc", r#"{ queue = "tfrc", format = "vtp", session = "tfrc", socket = "datagram", overflow = "wait" }"#),
        ("bulk", r#"{ format = "filler", socket = "stream" }"#),
    ] {
        let named = transport(&format!("{name:?}")).unwrap();
        assert_eq!(named.as_str(), name);
        assert_eq!(transport(parts), Ok(named));
    }
}

#[test]
fn the_resolved_form_of_a_combination_has_its_name_and_its_settings() {
    let text = "[[flow]]\ntransport = { queue = \"leaky\", socket = \"datagram\" }\n";
    let scenario = Scenario::parse(text, &[]).unwrap();
    let flow = &scenario.flows[0];
    assert_eq!((flow.name.as_str(), flow.transport().as_str()), ("udp+leaky", "udp+leaky"));
    let FlowKind::Datagram(own) = &flow.kind else { panic!("it is over datagrams") };
    let limits = own.queue.limits().unwrap();
    assert_eq!((limits.frames, own.send_buffer.unwrap().as_bytes()), (Some(200), 212_992));
    assert!(scenario.to_toml().contains("transport = \"udp+leaky\""));
    assert_eq!(Scenario::parse(&scenario.to_toml(), &[]), Ok(scenario));
}

#[test]
fn a_flow_without_a_name_is_called_as_its_transport_is_written() {
    let flow = |keys: &str| Scenario::parse(&format!("[[flow]]\n{keys}\n"), &[]);
    for (keys, name, transport) in [
        ("transport = \"rtp\"", "rtp", "udp-blocking"),
        ("transport = \"rtp+dependency\"", "rtp+dependency", "udp+dependency"),
        ("transport = \"ts+udp-blocking\"", "ts+udp-blocking", "ts"),
        ("transport = \"mp4+tcp\"", "mp4+tcp", "http"),
        ("transport = \"rtp\"\ncount = 1", "rtp-1", "udp-blocking"),
        ("transport = \"udp-blocking\"", "udp-blocking", "udp-blocking"),
        ("transport = \"rtp\"\nname = \"camera\"", "camera", "udp-blocking"),
        ("transport = { socket = \"datagram\" }", "udp-blocking", "udp-blocking"),
    ] {
        let scenario = flow(keys).unwrap_or_else(|error| panic!("{keys}: {error}"));
        let read = &scenario.flows[0];
        assert_eq!((read.name.as_str(), read.transport().as_str()), (name, transport), "{keys}");
        assert_eq!(Scenario::parse(&scenario.to_toml(), &[]), Ok(scenario), "{keys}");
    }
    let both = flow("transport = \"rtp\"\n[[flow]]\ntransport = \"udp-blocking\"").unwrap();
    assert_eq!(both.flows.iter().map(|flow| &flow.name[..]).collect::<Vec<_>>(), ["rtp", "udp-blocking"]);
    let twice = flow("transport = \"rtp\"\n[[flow]]\ntransport = \"rtp\"").unwrap_err().to_string();
    assert!(twice.contains("flow.1.name: \"rtp\""), "{twice}");
    let unknown = flow("transport = \"rtpx\"").unwrap_err().to_string();
    assert!(unknown.contains("one of udp-blocking, rtp, udp, udp-whole"), "{unknown}");
}

#[test]
fn receivers_of_files_sessions_and_levels_ask_and_others_do_not() {
    for one in Transport::every() {
        let first = one.as_str().split('+').next().unwrap();
        let asks = one.is_adaptive() || ["http", "rtsp"].contains(&first);
        assert_eq!(one.parts().is_some_and(|parts| parts.asks), asks, "{one}");
    }
}

#[test]
fn every_transport_reads_back_to_itself() {
    for one in Transport::every() {
        if let Some(parts) = one.parts() {
            assert_eq!(transport(&format!("\"{one}\"")), Ok(one));
            let Parts { queue, format, session, socket, overflow, asks: _ } = parts;
            let overflow = overflow.map(|overflow| format!(", overflow = \"{overflow}\"")).unwrap_or_default();
            let table = format!(
                "{{ queue = \"{queue}\", format = \"{format}\", session = \"{session}\", socket = \"{socket}\"{overflow} }}"
            );
            assert_eq!(transport(&table), Ok(one), "{table}");
        }
        assert_eq!(one.parts().is_none(), one == Transport::External, "what applications do is theirs");
        assert_eq!(Transport::named(one.as_str()), Some(one));
    }
}

#[test]
fn what_makes_no_sense_is_an_error_that_says_why() {
    for (value, parts) in [
        ("\"udp-whole+ifd\"", &["flow.0.transport: ", "makes no sense", "could be given up"][..]),
        (r#"{ queue = "ifd", socket = "datagram", overflow = "drop" }"#, &["flow.0.transport: ", "given up"]),
        (r#"{ format = "elementary-stream", socket = "datagram" }"#, &["flow.0.transport: ", "\"rtp\" does"]),
        (r#"{ socket = "stream", overflow = "drop" }"#, &["flow.0.transport.overflow: ", "loses nothing"]),
        (r#"{ queue = "ifd" }"#, &["flow.0.transport.socket: is missing", "datagram or stream"]),
        (
            r#"{ queue = "lifo", socket = "stream" }"#,
            &["flow.0.transport.queue: ", "direct, ifd, ifd-optimised", "obs, vtp, "],
        ),
        (r#"{ socket = "stream", sesion = "none" }"#, &["flow.0.transport.sesion: ", "`session`"]),
        (
            r#"{ format = "mp4+rtp", socket = "datagram" }"#,
            &["flow.0.transport.format: ", "no payload format", "ts+rtp"],
        ),
        (r#"{ session = "rtp", socket = "datagram" }"#, &["flow.0.transport: ", "RTP is a format", "\"ts+rtp\""]),
        (
            r#"{ format = "vtp", socket = "datagram" }"#,
            &["flow.0.transport: ", "a rate control chooses", "queue \"vtp\""],
        ),
        (r#"{ queue = "dependency", session = "vtp", socket = "datagram" }"#, &["a rate control chooses"]),
        (r#"{ queue = "vtp", format = "rtp", socket = "datagram" }"#, &["of which level it is", "format \"vtp\""]),
        (r#"{ queue = "tfrc", session = "vtp", socket = "datagram" }"#, &["loss event rate", "session \"tfrc\""]),
        (r#"{ queue = "vtp", session = "tfrc", socket = "datagram" }"#, &["control packets", "session \"vtp\""]),
        (r#"{ queue = "rap", session = "rtsp", socket = "datagram" }"#, &["control packets", "session \"vtp\""]),
        (r#"{ queue = "vtp", socket = "stream" }"#, &["place of TCP's", "socket \"datagram\""]),
        (r#"{ queue = "vtp", socket = "datagram", overflow = "drop" }"#, &["overflow \"wait\""]),
        (r#"{ queue = "ifd", format = "filler", socket = "stream" }"#, &["no frames", "queue \"direct\""]),
        (r#"{ format = "filler", session = "http", socket = "stream" }"#, &["session \"none\""]),
        (r#"{ format = "filler", socket = "datagram" }"#, &["socket \"stream\""]),
        ("\"udp+dependancy\"", &["flow.0.transport: ", "did you mean \"udp+dependency\"?"]),
        ("7", &["flow.0.transport: 7 is not allowed", "a name in quotes, or a table of queue, format"]),
    ] {
        let error = transport(value).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{value}: {error}");
    }
}
