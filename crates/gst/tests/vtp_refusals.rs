//! What `vtpsink` and `vtpsrc` say when there is no stream: who cannot serve, who gets nothing, and who hears nothing more.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

mod common;
#[path = "common/streaming.rs"]
mod streaming;

use std::sync::atomic::Ordering;

use common::wait_until;
use gst::prelude::*;
use streaming::*;

#[test]
fn a_server_that_vanishes_is_an_error() {
    let Some((path, _)) = mpeg4("vanish", 500) else { return };
    let (server, ports) = serve(&path, "");
    let network = Network::to(ports);
    let (client, buffers) = receive(network.ports, "timeout=700000000 startup-delay=0", "fakesink sync=false");
    client.set_state(gst::State::Playing).unwrap();
    wait_until("a frame", || buffers.lock().unwrap().len() > 3);
    network.is_dead.store(true, Ordering::Relaxed);
    let error = text_of(&wait_for_error(&client));
    assert!(error.contains("nothing was heard of the server at 127.0.0.1"), "{error}");
    stop(&client);
    stop(&server);
}

fn wait_for_error(pipeline: &gst::Pipeline) -> gst::Message {
    wait_for(pipeline, gst::MessageType::Error)
}

/// The error with which a client ends that has these properties.
fn refused(ports: [u16; 2], properties: &str) -> String {
    let (client, buffers) = receive(ports, properties, "fakesink sync=false");
    let _ = client.set_state(gst::State::Playing);
    let error = text_of(&wait_for_error(&client));
    assert!(buffers.lock().unwrap().is_empty());
    stop(&client);
    error
}

#[test]
fn a_client_that_gets_nothing_says_why() {
    let Some((path, _)) = mpeg4("refused", 500) else { return };
    let keys = [("right", "correct horse battery"), ("wrong", "another horse battery"), ("short", "horse")];
    let [right, wrong, short] = keys.map(|(name, key)| {
        let path = common::movie::directory().join(format!("{name}.key"));
        std::fs::write(&path, key).unwrap();
        format!("key-file={}", path.display())
    });
    let (server, ports) = serve(&path, &format!("title=other max-clients=1 {right}"));
    let cases = [
        (format!("title=movie {right}"), "has no movie \"movie\""),
        ("title=other timeout=600000000".to_owned(), "nothing was heard of the server"),
        (format!("title=other timeout=600000000 {wrong}"), "nothing was heard of the server"),
        (format!("title=other {short}"), "short.key\" has 5 bytes, at least 16 are needed"),
        ("key-file=/no/such/file".to_owned(), "key-file \"/no/such/file\""),
        ("host=no.such.name.invalid".to_owned(), "host \"no.such.name.invalid\""),
    ];
    for (properties, expected) in cases {
        let error = refused(ports, &properties);
        assert!(error.contains(expected), "{properties}: {error}");
    }
    let (first, buffers) = receive(ports, &format!("title=other {right} startup-delay=0"), "fakesink sync=false");
    first.set_state(gst::State::Playing).unwrap();
    wait_until("a frame", || !buffers.lock().unwrap().is_empty());
    let error = refused(ports, &format!("title=other {right}"));
    assert!(error.contains("takes no more sessions"), "{error}");
    stop(&first);
    stop(&server);
}

#[test]
fn a_server_that_cannot_serve_says_why() {
    let Some((path, _)) = mpeg4("bad", 20) else { return };
    let good = path.display();
    let bytes = std::fs::read(&path).unwrap();
    let cut = common::movie::directory().join("cut.vtp");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    // The version (docs/ladder.md).
    let later = common::movie::directory().join("later.vtp");
    std::fs::write(&later, [&bytes[..8], &[0, 9], &bytes[10..]].concat()).unwrap();
    let (server, ports) = serve(&path, "");
    let cases = [
        ("data-port=0".to_owned(), "location is not set"),
        ("location=/no/such/file".to_owned(), "\"/no/such/file\""),
        (format!("location={}", cut.display()), "cut.vtp\""),
        (format!("location={}", later.display()), "version 9"),
        (format!("location={good} address=here"), "address \"here\" is no IP address"),
        (format!("location={good} key-file=/no/such/key"), "key-file \"/no/such/key\""),
        (format!("location={good} data-port={}", ports[0]), &ports[0].to_string()),
    ];
    for (properties, expected) in cases {
        let pipeline = gst::Pipeline::new();
        pipeline.add(&gst::parse::launch(&format!("vtpsink {properties}")).unwrap()).unwrap();
        assert!(pipeline.set_state(gst::State::Playing).is_err(), "{properties}");
        let error = text_of(&wait_for_error(&pipeline));
        assert!(error.contains(expected), "{properties}: {error}");
        stop(&pipeline);
    }
    stop(&server);
}
