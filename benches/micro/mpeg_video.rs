//! How fast access units become datagrams and datagrams access units: one second of a 6 Mbit/s movie per iteration.
//! 25 frames in an iteration; throughput is in bytes of the elementary stream.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use framewire_units::{DataSize, Timestamp};
use framewire_wire::rtp_payload::{Depacketizer, Limits, PacketRule, Packetizer, StreamOrigin, mpeg_video};

const FRAMES: usize = 25;
const SLICES: usize = 36;
const SLICE: usize = 833;

/// Frames of 36 slices, as 720x576 has them, of 833 bytes each: 6 Mbit/s at 25 frames per second.
fn frames() -> Vec<Vec<u8>> {
    let mut noise = 1u32;
    let mut byte = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Coded video is close to random: zeros occur, start codes do not.
        if noise >> 24 == 1 { 2 } else { (noise >> 24) as u8 }
    };
    let mut frame = || {
        let mut frame = vec![0, 0, 1, 0, 0, 0x0F, 0xFF, 0xF8, 0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF3, 0x41, 0x80];
        for row in 1..=SLICES {
            frame.extend([0, 0, 1, row as u8]);
            frame.extend((4..SLICE).map(|_| byte()));
        }
        frame
    };
    (0..FRAMES).map(|_| frame()).collect()
}

fn packetizer(rule: PacketRule) -> Packetizer {
    Packetizer::new(
        &mpeg_video::FORMAT,
        rule,
        DataSize::from_bytes(1_500),
        StreamOrigin { ssrc: 1, initial_sequence: 0 },
    )
    .expect("the configuration is valid")
}

fn mpeg_video(criterion: &mut Criterion) {
    let frames = frames();
    let bytes: usize = frames.iter().map(Vec::len).sum();
    let mut group = criterion.benchmark_group("mpeg_video");
    group.throughput(Throughput::Bytes(bytes as u64));
    for &rule in PacketRule::ALL {
        let mut packetizer = packetizer(rule);
        group.bench_function(format!("packetize {rule}"), |bencher| {
            bencher.iter(|| {
                let packets = |frame: &Vec<u8>| packetizer.packetize(frame, 0).expect("an access unit").len();
                frames.iter().map(packets).sum::<usize>()
            });
        });
    }
    let mut sender = packetizer(PacketRule::Thesis);
    let numbered = frames.iter().enumerate();
    let sent: Vec<_> =
        numbered.flat_map(|(number, frame)| sender.packetize(frame, number as u32).expect("an access unit")).collect();
    group.bench_function("depacketize thesis", |bencher| {
        bencher.iter(|| {
            let mut receiver = Depacketizer::new(&mpeg_video::FORMAT, None, Limits::default());
            let mut whole = 0;
            for datagram in &sent {
                receiver.handle_datagram(Timestamp::ZERO, &datagram.bytes).expect("a packet of the stream");
                whole += receiver.poll_frame().map_or(0, |frame| frame.bytes.len());
            }
            assert!(whole > bytes * 9 / 10);
            whole
        });
    });
    group.finish();
}

criterion_group!(benches, mpeg_video);
criterion_main!(benches);
