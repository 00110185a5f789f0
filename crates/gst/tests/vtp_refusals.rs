//! What `vtpsink` and `vtpsrc` report when there is no stream: nothing to serve, no answer, or silence later.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests of a world use clocks, threads and sockets"
)]

use crate::common;
use crate::streaming;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::wait_until;
use framewire_units::{Bitrate, DataSize, Timestamp};
use framewire_wire::vtp::{Cookie, Description, Packet, VideoHeader};
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

/// Frames of no bytes that the server of no good sends.
const EMPTY_FRAMES: u32 = 20_000;

/// Opens a session on the sockets of both channels, data and control, as a server does; the client's address for data and
/// the number of the session.
fn open_session(sockets: &[UdpSocket; 2]) -> (SocketAddr, u64) {
    let mut started = [None; 2];
    while started.contains(&None) {
        for (socket, started) in sockets.iter().zip(&mut started) {
            let mut buffer = [0; 2_000];
            let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
            match Packet::parse(&buffer[..length]) {
                Ok(Packet::Request(request)) => {
                    let description = Description {
                        session: request.session,
                        cookie: Cookie([7; 16]),
                        frames: EMPTY_FRAMES,
                        duration: Duration::from_millis(40) * EMPTY_FRAMES,
                        buffer: DataSize::ZERO,
                        payload: 1_000,
                        ack_every: 5,
                        rates: vec![Bitrate::from_kbps(100)],
                        audio: None,
                    };
                    let mut answer = Vec::new();
                    Packet::Description(description).emit(&mut answer);
                    socket.send_to(&answer, from).unwrap();
                }
                Ok(Packet::Start(start)) => *started = Some((from, start.session)),
                _ => {}
            }
        }
    }
    started[0].unwrap()
}

/// Whole frames one after the other, in packets without video.
fn send_empty_frames(socket: &UdpSocket, client: SocketAddr, session: u64) {
    for frame in 0..EMPTY_FRAMES {
        let header = VideoHeader {
            ack_request: false,
            session,
            sequence: frame,
            sender_time: Timestamp::ZERO,
            size: DataSize::ZERO,
            frame,
            index: 0,
            level: 0,
            last: true,
            key: frame == 0,
            media_time: Duration::from_millis(40) * frame,
            round_trip: Duration::ZERO,
            repeats: None,
            audio: false,
        };
        let mut packet = Vec::new();
        header.emit(&[], &mut packet);
        socket.send_to(&packet, client).unwrap();
        if frame % 20 == 19 {
            // The client's socket does not hold all of them.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

#[test]
fn frames_of_no_bytes_fill_no_more_memory_than_is_allowed() {
    common::init();
    let sockets = [0; 2].map(|port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
    sockets.iter().for_each(|socket| socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap());
    let ports = [0, 1].map(|channel: usize| sockets[channel].local_addr().unwrap().port());
    let properties = "startup-delay=0 buffer-size=100000 caps=video/x-h264";
    let (client, _) = receive(ports, properties, "fakesink sync=true");
    // Downstream stands.
    client.set_state(gst::State::Paused).unwrap();
    let (address, session) = open_session(&sockets);
    send_empty_frames(&sockets[0], address, session);
    let count = |field: &str| stats(&client, "client").get::<u64>(field).unwrap();
    wait_until("a frame for which there is no room", || count("dropped-datagrams") > 0);
    // Half of the buffer is for what waits, and a frame in it takes more than 128 bytes, with or without video.
    let (frames, waiting) = (count("frames-in-time") + count("frames-late"), count("waiting-bytes"));
    assert!((100..50_000 / 128).contains(&frames), "{frames} frames wait");
    assert!((90_000..=101_000).contains(&waiting), "{waiting} bytes wait");
    stop(&client);
}
