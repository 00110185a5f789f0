//! FFmpeg and GStreamer play streams of our server of RTSP, and our client plays them too, over loopback.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test against other programs needs sockets and time"
)]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::PoisonError;
use std::time::Instant;

use framewire_units::{Duration, Seed, Timestamp};
use framewire_wire::rtcp::{Compound, is_rtcp};
use framewire_wire::rtp_payload::PacketRule;
use framewire_wire::rtsp::{
    Account, Client, ClientEvent, ClientSettings, Delivery, NptRange, Playing, Presentation, SESSION_TIMEOUT, Server,
    ServerEvent, ServerSettings, StreamStart, Want, put_interleaved,
};
use framewire_wire::sdp;

use crate::interop::{ONE_AT_A_TIME, assert_same};
use crate::nal_interop::{datagrams, units_of};
use crate::support;
use crate::support::nal::{Codec, access_units, with_start_codes};
use crate::support::programs::{Running, Scratch, are_there, free_port_pair, size};

/// How long a client may take for a stream of a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);

fn account() -> Account {
    Account { user: "viewer".to_owned(), password: "s3cret: word".to_owned() }
}

/// A stream, and the sockets that it is served from.
struct Serving {
    listener: TcpListener,
    rtp: UdpSocket,
    rtcp: UdpSocket,
    packets: Vec<Vec<u8>>,
    settings: ServerSettings,
    /// From which packets go in datagrams; reports go from the next one.
    port: u16,
}

/// What came of one connection.
#[derive(Default)]
struct Served {
    /// How the client wanted the packets.
    delivery: Option<Delivery>,
    /// Reports of RTCP that it sent.
    reports: usize,
    /// It was asked to stop by the client.
    stopped: bool,
}

impl Serving {
    fn new(codec: Codec, stream: &[u8], password: bool) -> Self {
        let units = access_units(codec, stream);
        // FFmpeg writes a frame once it has seen the start of the next: the first frame follows the last.
        let again: Vec<_> = units.iter().chain(&units[..1]).cloned().collect();
        let packets = datagrams(codec, &again, PacketRule::Full);
        let port = free_port_pair();
        let bind = |port| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let first = with_start_codes(&units[0]);
        let settings = ServerSettings {
            presentations: [Presentation {
                path: "/movie".to_owned(),
                description: sdp::describe(codec.format(), Ipv4Addr::UNSPECIFIED.into(), 0, &first),
                streams: vec![StreamStart { ssrc: 0xFEED_BEEF, sequence: 65_000, timestamp: 0 }],
                length: None,
            }]
            .into(),
            over_udp: true,
            account: password.then(|| ("camera".to_owned(), account())),
            timeout: SESSION_TIMEOUT,
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        Self { listener, port, rtp: bind(port), rtcp: bind(port + 1), packets, settings }
    }

    fn url(&self) -> String {
        format!("rtsp://127.0.0.1:{}/movie", self.listener.local_addr().unwrap().port())
    }

    /// Serves one client until it has all that it is to have, or has closed the connection.
    fn serve(&self, mut has_all: impl FnMut() -> bool) -> Served {
        let (mut connection, _) = self.listener.accept().unwrap();
        connection.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
        let (start, mut served, mut next) = (Instant::now(), Served::default(), None);
        let mut server = Server::new(self.settings.clone(), Timestamp::ZERO, Seed(7).stream("server", &[]));
        let mut buffer = [0; 4_096];
        while !server.is_over() && !has_all() {
            assert!(start.elapsed() < PATIENCE, "the client takes too long; {:?}", served.delivery);
            let now = Timestamp::ZERO + start.elapsed();
            match connection.read(&mut buffer) {
                Ok(0) => server.handle_close(),
                Ok(length) => server.handle_bytes(now, &buffer[..length]).unwrap(),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => server.handle_close(),
            }
            while let Ok(length) = self.rtcp.recv(&mut buffer) {
                served.reports += usize::from(Compound::parse(&buffer[..length]).is_ok());
                server.handle_life(now);
            }
            while let Some(event) = server.poll_event() {
                match event {
                    ServerEvent::Open { .. } => server.handle_opened(now, Some((self.port, self.port + 1))).unwrap(),
                    ServerEvent::Play { movie, deliveries, .. } => {
                        (served.delivery, next) = (deliveries[0], Some(0));
                        let streams = server.presentation(movie).streams.clone();
                        let range = NptRange::from(Duration::ZERO, None);
                        server.handle_playing(now, Ok(Playing { range, streams })).unwrap();
                    }
                    ServerEvent::Pause | ServerEvent::Answered(_) => {}
                    ServerEvent::Rtcp(_, packet) => served.reports += usize::from(Compound::parse(&packet).is_ok()),
                    ServerEvent::Stop => (served.stopped, next) = (true, None),
                }
            }
            while let Some(message) = server.poll_transmit() {
                connection.write_all(&message).unwrap();
            }
            if let (Some(delivery), Some(sent)) = (served.delivery, &mut next) {
                // Slowly enough for any receiver: eight packets each time.
                for packet in self.packets[*sent..].iter().take(8) {
                    self.send(&mut connection, delivery, packet);
                    *sent += 1;
                }
            }
        }
        served
    }

    fn send(&self, connection: &mut TcpStream, delivery: Delivery, packet: &[u8]) {
        match delivery {
            Delivery::Interleaved(channel, _) => {
                let mut frame = Vec::new();
                put_interleaved(channel, packet, &mut frame);
                let _ = connection.write_all(&frame); // It may have gone.
            }
            Delivery::Udp(port, _) => {
                self.rtp.send_to(packet, (Ipv4Addr::LOCALHOST, port)).unwrap();
            }
        }
    }
}

/// The first stream of the test data of each codec.
fn streams() -> Vec<(Codec, Vec<u8>)> {
    let first =
        |codec: Codec| support::streams_of(codec.suffix()).into_iter().next().map(|(_, stream)| (codec, stream));
    [Codec::H264, Codec::H265].into_iter().filter_map(first).collect()
}

/// The file has all that is expected, and behind it nothing but what came until its writer ended: of the first frame, which
/// follows the last.
fn assert_written(codec: Codec, out: &Path, mut expected: Vec<u8>, stream: &[u8], carriage: &str) {
    let (written, all) = (units_of(out), expected.len());
    expected.extend(with_start_codes(&access_units(codec, stream)[0]));
    assert!((all..=expected.len()).contains(&written.len()), "{carriage}: {} bytes of {all}", written.len());
    assert_same(&written, &expected[..written.len()], &format!("{} {carriage}", codec.suffix()));
}

#[test]
fn ffmpeg_plays_a_stream_interleaved_and_over_udp() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("rtsp-ffmpeg");
    for (codec, stream) in streams() {
        for (carriage, password) in [("tcp", false), ("tcp", true), ("udp", true)] {
            let serving = Serving::new(codec, &stream, password);
            let out = scratch.file(&format!("{carriage}.{}", codec.suffix()));
            let _ = std::fs::remove_file(&out);
            // Of a URL's name and password, what would end them is written as its code.
            let url = match password {
                true => serving.url().replace("rtsp://", "rtsp://viewer:s3cret%3A%20word@"),
                false => serving.url(),
            };
            let mut command = Command::new("ffmpeg");
            command.args(["-v", "error", "-nostdin", "-y", "-rtsp_transport", carriage, "-probesize", "32"]);
            command.args(["-buffer_size", "2000000"]);
            command.args(["-analyzeduration", "0", "-i", &url, "-c", "copy", "-flush_packets", "1", "-f"]);
            command.arg(if codec == Codec::H264 { "h264" } else { "hevc" }).arg(&out);
            let ffmpeg = Running::start(&mut command);
            let sent = with_start_codes(&access_units(codec, &stream).concat());
            let served = serving.serve(|| size(&out) >= sent.len() as u64);
            drop(ffmpeg);
            let is_wanted = match served.delivery {
                Some(Delivery::Interleaved(..)) => carriage == "tcp",
                Some(Delivery::Udp(..)) => carriage == "udp",
                None => false,
            };
            assert!(is_wanted, "{carriage}: {:?}", served.delivery);
            assert_written(codec, &out, sent, &stream, carriage);
        }
    }
}

#[test]
fn gstreamer_plays_a_stream_interleaved_and_over_udp() {
    if !are_there(&["gst-launch-1.0"]) {
        return;
    }
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::new("rtsp-gstreamer");
    for (codec, stream) in streams() {
        for (carriage, password) in [("tcp", true), ("udp", false)] {
            let serving = Serving::new(codec, &stream, password);
            let out = scratch.file(&format!("{carriage}.{}", codec.suffix()));
            let byte_stream = format!("video/x-{},stream-format=byte-stream,alignment=au", codec.suffix());
            let mut command = Command::new("gst-launch-1.0");
            command.args(["-e", "-q", "rtspsrc", &format!("location={}", serving.url()), "latency=0"]);
            command.args([&format!("protocols={carriage}"), "udp-buffer-size=2000000", "is-live=true"]);
            if password {
                command.args(["user-id=viewer", "user-pw=s3cret: word"]);
            }
            command.args(["!", &format!("rtp{}depay", codec.suffix()), "!", &byte_stream, "!", "filesink"]);
            command.args(["buffer-mode=unbuffered", "sync=false", &format!("location={}", out.display())]);
            let mut gstreamer = Running::start(&mut command);
            let sent = access_units(codec, &stream).concat();
            // It writes the parameter sets of the description before the stream, which has them as well.
            let is_set =
                |nal: &&&[u8]| matches!((codec, codec.type_of(nal)), (Codec::H264, 7 | 8) | (Codec::H265, 32..=34));
            let sets: Vec<&[u8]> = access_units(codec, &stream)[0].iter().filter(is_set).copied().collect();
            let expected = with_start_codes(&[sets, sent].concat());
            let served = serving.serve(|| size(&out) >= expected.len() as u64);
            gstreamer.interrupt();
            let is_wanted = match served.delivery {
                Some(Delivery::Interleaved(..)) => carriage == "tcp",
                Some(Delivery::Udp(..)) => carriage == "udp",
                None => false,
            };
            assert!(is_wanted, "{carriage}: {:?}", served.delivery);
            assert_written(codec, &out, expected, &stream, carriage);
        }
    }
}

/// Plays by the client until so many packets came; the packets, and how it ended.
fn play(url: &str, want: Want, sockets: [&UdpSocket; 2], packets: usize) -> (Vec<Vec<u8>>, Option<ClientEvent>) {
    let port = url.split(':').nth(2).unwrap().split('/').next().unwrap().parse::<u16>().unwrap();
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    connection.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let (start, mut buffer, mut came) = (Instant::now(), vec![0; 65_536], Vec::new());
    let settings =
        ClientSettings { url: url.to_owned(), want, sound: None, account: Some(account()), user_agent: None };
    let mut client = Client::new(settings, Timestamp::ZERO, Seed(8).stream("client", &[]));
    let mut ended = None;
    while !client.is_over() {
        assert!(start.elapsed() < PATIENCE, "the stream takes too long");
        let now = Timestamp::ZERO + start.elapsed();
        while let Some(message) = client.poll_transmit() {
            connection.write_all(&message).unwrap();
        }
        match connection.read(&mut buffer) {
            Ok(0) => client.handle_close(),
            Ok(length) => client.handle_bytes(now, &buffer[..length]).unwrap(),
            Err(_) => {}
        }
        for socket in sockets {
            while let Ok(length) = socket.recv(&mut buffer) {
                came.extend((!is_rtcp(&buffer[..length])).then(|| buffer[..length].to_vec()));
            }
        }
        while let Some(event) = client.poll_event() {
            match event {
                ClientEvent::Rtp(_, packet) => came.push(packet.to_vec()),
                ClientEvent::Ended(_) => ended = Some(event),
                ClientEvent::Described(_) | ClientEvent::Playing(_) | ClientEvent::Rtcp(..) => {}
            }
        }
        if came.len() >= packets {
            client.stop(now);
        }
    }
    (came, ended)
}

#[test]
fn our_client_plays_what_our_server_serves() {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    for (codec, stream) in streams() {
        let port = free_port_pair();
        let bind = |port| {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let sockets = [bind(port), bind(port + 1)];
        for want in [Want::Interleaved, Want::InterleavedWithoutReports, Want::Udp(port, port + 1)] {
            let serving = Serving::new(codec, &stream, true);
            let (url, count) = (serving.url(), serving.packets.len());
            let (came, ended, served) = std::thread::scope(|scope| {
                let playing = scope.spawn(|| play(&url, want, [&sockets[0], &sockets[1]], count));
                let served = serving.serve(|| false);
                let (came, ended) = playing.join().unwrap();
                (came, ended, served)
            });
            assert_eq!(ended, Some(ClientEvent::Ended(None)), "{want:?}");
            assert!(served.stopped, "{want:?}: by TEARDOWN");
            assert!(came == serving.packets, "{want:?}: {} packets of {count}", came.len());
        }
    }
}
