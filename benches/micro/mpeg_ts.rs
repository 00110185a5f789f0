//! How fast access units become transport packets and back: one second of a 6 Mbit/s movie per iteration, 25 frames;
//! throughput is in bytes of the elementary stream.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use framewire_units::{DataSize, Timestamp};
use framewire_wire::mpeg_ts::{Demultiplexer, Layout, Multiplexer, Program, Settings, StreamType, Unit};

const FRAMES: u64 = 25;
const FRAME_TICKS: u64 = 3_600;

/// Frames of 30 kB: 6 Mbit/s at 25 frames per second.
fn frames() -> Vec<Vec<u8>> {
    let mut noise = 1u32;
    let mut byte = || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (noise >> 24) as u8 | 2
    };
    (0..FRAMES)
        .map(|_| [0, 0, 1, 0].into_iter().chain(std::iter::repeat_with(&mut byte)).take(30_000).collect())
        .collect()
}

fn settings(layout: Layout, descriptions: bool) -> Settings {
    Settings { descriptions, ..Settings::new(Program::of_video(StreamType::Mpeg2Video), layout) }
}

fn multiplex(multiplexer: &mut Multiplexer, frames: &[Vec<u8>], out: &mut Vec<u8>) {
    for (number, bytes) in (0..).zip(frames) {
        let time = number * FRAME_TICKS;
        let unit = Unit {
            track: 0,
            bytes,
            presentation: time,
            decode: time,
            duration: FRAME_TICKS,
            random_access: number == 0,
        };
        multiplexer.put(&unit, out).expect("an access unit");
    }
}

fn mpeg_ts(criterion: &mut Criterion) {
    let frames = frames();
    let bytes: usize = frames.iter().map(Vec::len).sum();
    let mut group = criterion.benchmark_group("mpeg_ts");
    group.throughput(Throughput::Bytes(bytes as u64));
    let ways = [
        ("continuous", settings(Layout::Continuous, false)),
        ("continuous, described", settings(Layout::Continuous, true)),
        ("datagrams, described", settings(Layout::Datagrams(7), true)),
    ];
    for (name, settings) in ways {
        let mut multiplexer = Multiplexer::new(settings.clone()).expect("settings that can be");
        let mut packets = Vec::new();
        group.bench_function(format!("multiplex {name}"), |bencher| {
            bencher.iter(|| {
                packets.clear();
                multiplex(&mut multiplexer, &frames, &mut packets);
                packets.len()
            });
        });
        packets.clear();
        multiplex(&mut Multiplexer::new(settings).expect("settings that can be"), &frames, &mut packets);
        group.bench_function(format!("demultiplex {name}"), |bencher| {
            bencher.iter(|| {
                let mut demultiplexer = Demultiplexer::new(None, DataSize::from_bytes(1 << 20));
                packets.chunks(7 * 188).for_each(|datagram| demultiplexer.handle_datagram(Timestamp::ZERO, datagram));
                demultiplexer.finish(Timestamp::ZERO);
                let whole: usize = std::iter::from_fn(|| demultiplexer.poll_unit()).map(|unit| unit.bytes.len()).sum();
                assert_eq!(whole, bytes);
                whole
            });
        });
    }
    group.finish();
}

criterion_group!(benches, mpeg_ts);
criterion_main!(benches);
