//! How fast a stream is indexed: `cargo bench -p framewire-media`. With FRAMEWIRE_BENCH_MOVIE a movie of one's own.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use framewire_media::{FrameIndex, Scanner};

#[path = "../tests/support/mod.rs"]
mod support;

fn movie() -> Option<Vec<u8>> {
    let path = match std::env::var_os("FRAMEWIRE_BENCH_MOVIE") {
        Some(path) => path.into(),
        None => support::generated_streams()?.join("m2v_720x576p25_open_gop.m2v"),
    };
    Some(std::fs::read(path).expect("the movie can be read"))
}

fn main() {
    let Some(movie) = movie() else { return };
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("scan");
    group.throughput(Throughput::Bytes(movie.len() as u64));
    group.bench_function("index", |bencher| bencher.iter(|| FrameIndex::scan(black_box(&movie))));
    for chunk in [1_500, 65_536] {
        group.bench_function(format!("chunks of {chunk}"), |bencher| {
            bencher.iter(|| {
                let mut scanner = Scanner::new();
                let mut bytes = 0;
                movie.chunks(chunk).for_each(|chunk| scanner.feed(chunk, &mut |frame| bytes += frame.size));
                scanner.finish(&mut |frame| bytes += frame.size).map(|_| bytes)
            });
        });
    }
    group.finish();
    criterion.final_summary();
}
