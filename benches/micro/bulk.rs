//! How fast an endpoint is: bulk data through a pipe, without a simulator around it. The elements are data packets.
#![allow(missing_docs, reason = "the macros of criterion make undocumented items")]

#[path = "../../crates/tcp/tests/common/mod.rs"]
mod common;

use common::{Fate, Pipe};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use framewire_tcp::TcpConfig;
use framewire_tcp::congestion::Algorithm;
use framewire_units::{Bitrate, Duration, Timestamp};

/// Mbit/s, round trip in ms, one packet in so many lost (0 for none), simulated seconds.
const PATHS: [(u64, u64, u64, u64); 5] =
    [(10, 120, 0, 60), (10, 120, 1_000, 60), (20, 40, 0, 60), (100, 40, 0, 20), (1_000, 40, 10_000, 4)];

fn bulk(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bulk");
    group.sample_size(10);
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        for path @ (rate, rtt, loss, seconds) in PATHS {
            group.throughput(Throughput::Elements(transfer(algorithm, path)));
            let name = format!("{algorithm}, {rate} Mbit/s, {rtt} ms, loss of 1 in {loss}, {seconds} s");
            group.bench_function(&name, |bench| bench.iter(|| transfer(algorithm, path)));
        }
    }
    group.finish();
}

/// Runs one and returns how many data packets it sent.
fn transfer(algorithm: Algorithm, (rate, rtt, loss, seconds): (u64, u64, u64, u64)) -> u64 {
    let config = TcpConfig { congestion: algorithm, ..TcpConfig::default() };
    let (rate, rtt) = (Bitrate::from_mbps(rate), Duration::from_millis(rtt));
    let queue = (rate * rtt).as_bytes() as usize / 1500;
    let mut pipe = Pipe::path(&config, rate, queue.max(10), rtt).bulk(u64::MAX / 4);
    if loss > 0 {
        // Knuth's MMIX generator: any that is fixed will do.
        let mut state = 1_u64;
        pipe.lanes[0].script = Box::new(move |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33).is_multiple_of(loss) { Fate::Drop } else { Fate::Pass }
        });
    }
    pipe.run(Timestamp::from_secs(seconds));
    pipe.ends[0].info().sent
}

criterion_group!(benches, bulk);
criterion_main!(benches);
