//! A transport by its name, by the words of its parts, and as a table of them.

use framewire_scenario::{FlowKind, Scenario, Transport};

fn transport(value: &str) -> Result<Transport, String> {
    let scenario = Scenario::parse(&format!("[[flow]]\ntransport = {value}\n"), &[]);
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
fn every_transport_reads_back_to_itself() {
    for one in Transport::every() {
        if one.parts().is_some() {
            assert_eq!(transport(&format!("\"{one}\"")), Ok(one));
        }
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
        (r#"{ queue = "lifo", socket = "stream" }"#, &["flow.0.transport.queue: ", "direct, ifd, ifd-optimised"]),
        (r#"{ socket = "stream", sesion = "none" }"#, &["flow.0.transport.sesion: ", "`session`"]),
        ("\"udp+dependancy\"", &["flow.0.transport: ", "did you mean \"udp+dependency\"?"]),
        ("7", &["flow.0.transport: 7 is not allowed", "a name in quotes, or a table of queue, format"]),
    ] {
        let error = transport(value).unwrap_err();
        assert!(parts.iter().all(|part| error.contains(part)), "{value}: {error}");
    }
}
