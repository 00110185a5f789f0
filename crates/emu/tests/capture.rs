//! Captures, read back by a reader of the format and by Wireshark's tools where they are installed.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests of a world use sockets and programs")]

use std::fs::File;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use framewire_emu::{
    BottleneckPlace, CAPTURE_SIZE, Clock, EmuError, FixedDelay, Kept, LaneConfig, LaneRecord, RECEIVER_ADDRESS,
    SENDER_ADDRESS, World,
};
use pcap_file::pcapng::{Block, PcapNgReader};

const DATAGRAMS: usize = 50;

/// Streams over a lane with a capture of headers; `None` when this machine does not allow worlds.
fn captured(path: &Path, size: u64) -> Option<LaneRecord> {
    let mut config =
        LaneConfig::new("lane", Box::new(FixedDelay::new(Duration::from_millis(3))), BottleneckPlace::LocalDevice);
    config.capture = Some(path.to_owned());
    config.kept = Kept::Headers;
    config.capture_size = size;
    let world = match World::start(vec![config], Clock::start()) {
        Ok(world) => world,
        Err(error @ (EmuError::Namespace { .. } | EmuError::NoGate { .. })) => {
            eprintln!("skipped: {error}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let lane = world.lane(0);
    let receiver = lane.in_receiver(|| UdpSocket::bind((RECEIVER_ADDRESS, 5_004)).unwrap()).unwrap();
    let sender = lane.in_sender(|| UdpSocket::bind((SENDER_ADDRESS, 5_004)).unwrap()).unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    for number in 0..DATAGRAMS {
        sender.send_to(&[number as u8; 700], (RECEIVER_ADDRESS, 5_004)).unwrap();
        receiver.recv(&mut [0; 1_000]).unwrap();
    }
    Some(world.stop().unwrap().remove(0))
}

#[test]
fn both_ends_are_in_the_file_with_the_delay_between_them() {
    let path = std::env::temp_dir().join(format!("framewire-capture-{}.pcapng", std::process::id()));
    let Some(record) = captured(&path, CAPTURE_SIZE) else { return };
    let outcome = record.capture.expect("a capture was asked for");
    assert_eq!((outcome.written, outcome.left_out, outcome.error), (2 * DATAGRAMS as u64, 0, None));
    let mut stamps = [Vec::new(), Vec::new()];
    let mut reader = PcapNgReader::new(File::open(&path).unwrap()).unwrap();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.unwrap() {
            assert_eq!((packet.original_len, packet.data.len()), (742, 14 + 20 + 8 + 60));
            stamps[packet.interface_id as usize].push(packet.timestamp);
        }
    }
    assert_eq!((stamps[0].len(), stamps[1].len()), (DATAGRAMS, DATAGRAMS));
    for ((left, arrived), packet) in stamps[0].iter().zip(&stamps[1]).zip(&record.packets) {
        let in_log = packet.delivered.unwrap().actual.nanos_since(packet.arrived);
        let in_file = (*arrived - *left).as_nanos() as i64;
        assert_eq!(in_file, in_log);
    }
    check_with_capinfos(&path);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_capture_ends_at_its_size_and_says_what_is_missing() {
    let path = std::env::temp_dir().join(format!("framewire-capture-full-{}.pcapng", std::process::id()));
    const SIZE: u64 = 4_000;
    let Some(record) = captured(&path, SIZE) else { return };
    let outcome = record.capture.expect("a capture was asked for");
    assert_eq!((outcome.full_at, &outcome.error), (Some(SIZE), &None));
    assert_eq!(outcome.written + outcome.left_out, 2 * DATAGRAMS as u64);
    let size = std::fs::metadata(&path).unwrap().len();
    assert!((SIZE..SIZE + 1_000).contains(&size), "with its head: {size}");
    let mut reader = PcapNgReader::new(File::open(&path).unwrap()).unwrap();
    let mut blocks = 0;
    while let Some(block) = reader.next_block() {
        blocks += u64::from(matches!(block.unwrap(), Block::EnhancedPacket(_)));
    }
    assert_eq!(blocks, outcome.written);
    std::fs::remove_file(path).unwrap();
}

/// The independent reader, where it is installed.
fn check_with_capinfos(path: &Path) {
    let Ok(output) = Command::new("capinfos").arg(path).output() else {
        eprintln!("capinfos is not installed: not checked with it");
        return;
    };
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(words.contains(&format!("Number of packets:   {}", 2 * DATAGRAMS)), "{words}");
    assert!(words.contains("Number of interfaces in file: 2"), "{words}");
    assert!(words.contains("nanoseconds (9)"), "{words}");
}

#[test]
fn a_capture_that_cannot_be_written_is_refused_at_once_with_its_name() {
    for path in ["/nonexistent/lane.pcapng", "/dev/full"] {
        let mut config = LaneConfig::new("lane", Box::new(FixedDelay::default()), BottleneckPlace::Remote);
        config.capture = Some(path.into());
        match World::start(vec![config], Clock::start()) {
            Ok(_) => panic!("the capture was accepted"),
            Err(EmuError::Namespace { .. }) => eprintln!("skipped: no namespaces"),
            Err(error) => assert!(error.to_string().contains(path), "{error}"),
        }
    }
}

#[test]
fn an_mtu_out_of_range_is_refused_with_what_is_allowed() {
    for mtu in [0, 575, 9_001] {
        let mut config = LaneConfig::new("lane", Box::new(FixedDelay::default()), BottleneckPlace::Remote);
        config.mtu = mtu;
        let message = World::start(vec![config], Clock::start()).err().expect("refused").to_string();
        assert!(message.contains(&mtu.to_string()) && message.contains("576 to 9000"), "{message}");
    }
}
