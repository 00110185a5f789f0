//! The rule `thesis` on one movie at the bitrates of the thesis.

use crate::support;
use std::path::PathBuf;
use std::process::Command;

use framewire_units::DataSize;
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin, mpeg_video};
use support::programs::{Scratch, are_there};

/// Bitrates of the thesis, in Mbit/s.
const MEGABITS: [u32; 4] = [3, 4, 5, 6];

/// A textured picture that moves, with noise, 4 s long, in the encoding of the thesis' movies:
/// 720x576, 25 frames per second, IBBPBBPBBPBBPBB, constant bitrate. It is drawn once and encoded at each bitrate.
fn encode(scratch: &Scratch) -> [PathBuf; 4] {
    let source = "mandelbrot=size=720x576:rate=25:start_scale=0.8:end_scale=0.3,noise=alls=8:allf=t";
    let mut command = Command::new("ffmpeg");
    command.args(["-v", "error", "-nostdin", "-y", "-f", "lavfi", "-i", source]);
    let paths = MEGABITS.map(|megabits| scratch.file(&format!("{megabits}.m2v")));
    for (megabits, path) in MEGABITS.iter().zip(&paths) {
        let rate = format!("{megabits}M");
        command.args(["-t", "4", "-c:v", "mpeg2video", "-g", "15", "-bf", "2"]);
        command.args(["-b_strategy", "0", "-sc_threshold", "1000000000"]);
        command.args(["-b:v", &rate, "-minrate", &rate, "-maxrate", &rate, "-bufsize", "1835k", "-f", "mpeg2video"]);
        command.arg(path);
    }
    assert!(command.status().unwrap().success());
    paths
}

#[test]
fn the_mean_is_that_of_the_thesis_at_every_bitrate_and_the_sizes_vary() {
    if !are_there(&["ffmpeg"]) {
        return;
    }
    let scratch = Scratch::new("thesis-rule");
    for (megabits, path) in MEGABITS.into_iter().zip(encode(&scratch)) {
        let stream = std::fs::read(path).unwrap();
        let mtu = DataSize::from_bytes(1_500);
        let mut packetizer = Packetizer::new(
            &mpeg_video::FORMAT,
            PacketRule::Thesis,
            mtu,
            StreamOrigin { ssrc: 1, initial_sequence: 0 },
        )
        .unwrap();
        let mut sizes = Vec::new();
        for unit in support::access_units(&stream) {
            sizes.extend(packetizer.packetize(&stream[unit], 0).unwrap().iter().map(|packet| packet.bytes.len()));
        }
        let count = sizes.len() as f64;
        let mean = sizes.iter().sum::<usize>() as f64 / count;
        let deviation = (sizes.iter().map(|&size| (size as f64 - mean).powi(2)).sum::<f64>() / count).sqrt();
        println!("{megabits} Mbit/s: {count} packets, mean {mean:.1}, standard deviation {deviation:.0}");
        assert!((735.0..745.0).contains(&mean), "{megabits} Mbit/s: mean {mean}");
        assert!((200.0..450.0).contains(&deviation), "{megabits} Mbit/s: standard deviation {deviation}");
        assert!(sizes.iter().all(|&size| size <= 1_100));
        let small = sizes.iter().filter(|&&size| size < 50).count();
        assert!(small as f64 <= 0.01 * count, "{megabits} Mbit/s: {small} of {count} packets are under 50 bytes");
    }
}
