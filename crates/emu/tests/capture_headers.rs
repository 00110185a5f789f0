//! A capture of headers shows the same as one of whole packets, in Wireshark, and in a fraction of the size.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests of a world use sockets and programs")]

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use framewire_emu::{
    BottleneckPlace, Clock, EmuError, Lane, LaneConfig, RECEIVER_ADDRESS, SENDER_ADDRESS, World, keep_headers,
};
use framewire_link::{Network, NetworkConfig, QueueLimit, WifiConfig, WifiNetworkConfig, WireConfig};
use framewire_units::{Probability, Seed};

/// Loses one packet in fifteen or so.
fn network() -> Network {
    let config = NetworkConfig::Wifi(WifiNetworkConfig {
        wifi: WifiConfig { retry: 1, error_floor: Probability::new(0.1).unwrap(), ..WifiConfig::default() },
        station_queue: QueueLimit::Packets(50),
        access_point_queue: QueueLimit::Packets(50),
        wire: WireConfig { delay: Duration::from_millis(2), ..WireConfig::default() },
        ..WifiNetworkConfig::default()
    });
    Network::new(&config, Seed(7)).unwrap()
}

/// 200 RTP packets of MPEG video (RFC 3550, 5.1; RFC 2250, 3.4: B pictures, and a slice at the beginning of each), of
/// which ten numbers are left out, and beside them RTCP sender reports.
fn send_rtp(lane: &Lane<'_>) {
    let bind = |port| move || UdpSocket::bind((RECEIVER_ADDRESS, port)).unwrap();
    // A listener, so that no error is sent back.
    let _receivers = [5_004, 5_005].map(|port| lane.in_receiver(bind(port)).unwrap());
    let socket = lane.in_sender(|| UdpSocket::bind((SENDER_ADDRESS, 5_004)).unwrap()).unwrap();
    let report = [[0x80, 200, 0, 6].as_slice(), &[0, 0, 0, 9], &[3; 20]].concat();
    for number in (0..210_u32).filter(|number| number % 21 != 7) {
        let mut packet = vec![0x80, 32];
        packet.extend_from_slice(&(number as u16).to_be_bytes());
        packet.extend_from_slice(&(number / 10 * 3_600).to_be_bytes());
        packet.extend_from_slice(&[0, 0, 0, 9, 0, 1, 0x1b, 0x77, 0, 0, 1, 1]);
        packet.extend_from_slice(&vec![number as u8; 900]);
        socket.send_to(&packet, (RECEIVER_ADDRESS, 5_004)).unwrap();
        if number % 40 == 0 {
            socket.send_to(&report, (RECEIVER_ADDRESS, 5_005)).unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn send_tcp(lane: &Lane<'_>) {
    let listener = lane.in_receiver(|| TcpListener::bind((RECEIVER_ADDRESS, 5_006)).unwrap()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || listener.accept().unwrap().0.read_to_end(&mut Vec::new()).unwrap());
        let mut stream = lane.in_sender(|| TcpStream::connect((RECEIVER_ADDRESS, 5_006)).unwrap()).unwrap();
        stream.write_all(&vec![5; 100_000]).unwrap();
    });
}

fn tshark(capture: &Path, arguments: &[&str]) -> String {
    let output = Command::new("tshark").arg("-r").arg(capture).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn wireshark_reads_the_same_of_connections_and_streams() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    let whole = std::env::temp_dir().join(format!("framewire-whole-{}.pcapng", std::process::id()));
    let mut config = LaneConfig::new("lane", Box::new(network()), BottleneckPlace::Remote);
    config.capture = Some(whole.clone());
    let world = match World::start(vec![config], Clock::start()) {
        Ok(world) => world,
        Err(error @ EmuError::Namespace { .. }) => return eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    };
    send_rtp(&world.lane(0));
    send_tcp(&world.lane(0));
    let record = world.stop().unwrap().remove(0);
    let headers = whole.with_extension("short");
    fs::copy(&whole, &headers).unwrap();
    assert!(!keep_headers(&headers, || true).unwrap(), "there was no time");
    assert_eq!(fs::read(&headers).unwrap(), fs::read(&whole).unwrap(), "it stays as it was");
    assert!(!headers.with_extension("headers").exists());
    assert!(keep_headers(&headers, || false).unwrap());
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!((4..12).contains(&(size(&whole) / size(&headers))), "{} and {}", size(&whole), size(&headers));
    let fields = |names: &'static str| {
        let fields = names.split(' ').flat_map(|name| ["-e", name]);
        ["-d", "udp.port==5004,rtp", "-T", "fields"].into_iter().chain(fields).collect::<Vec<_>>()
    };
    let connections = "frame.time_epoch frame.interface_id frame.len tcp.seq tcp.ack tcp.len tcp.window_size \
                       tcp.options.timestamp.tsval tcp.options.sack_le tcp.analysis.retransmission \
                       tcp.analysis.fast_retransmission tcp.analysis.duplicate_ack tcp.analysis.lost_segment \
                       tcp.analysis.out_of_order tcp.analysis.ack_rtt tcp.analysis.bytes_in_flight";
    let streams = "udp.length rtp.seq rtp.timestamp rtp.marker rtp.p_type rtp.ssrc rtcp.pt rtcp.senderssrc \
                   rtcp.sender.packetcount rtp.payload_mpeg_tr";
    let questions = [
        fields(connections),
        fields(streams),
        vec!["-q", "-d", "udp.port==5004,rtp", "-z", "rtp,streams"],
        vec!["-q", "-z", "conv,tcp"],
        vec!["-q", "-z", "conv,udp"],
    ];
    for question in &questions {
        let answers = [&whole, &headers].map(|capture| tshark(capture, question));
        assert!(answers[0].lines().count() > 3 && answers[0] == answers[1], "{question:?}: {}", answers[1]);
    }
    // What is compared is there: losses of the stream, repeated segments of the connection, and sender reports.
    let streams = tshark(&headers, &questions[2]);
    assert!(streams.contains("0x00000009"), "{streams}");
    let lost = record.packets.iter().filter(|packet| packet.delivered.is_none()).count();
    assert!((8..150).contains(&lost), "{lost}");
    let repeated = tshark(&headers, &["-Y", "tcp.analysis.retransmission || tcp.analysis.fast_retransmission"]);
    assert!(repeated.lines().count() > 1, "{repeated}");
    assert_eq!(tshark(&headers, &["-Y", "rtcp && frame.interface_id == 0"]).lines().count(), 6);
    [whole, headers].iter().for_each(|path| fs::remove_file(path).unwrap());
}
