//! How fast a stream is indexed: `cargo bench -p framewire-benches --bench scan`. With FRAMEWIRE_BENCH_MOVIE a movie of one's own.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use framewire_media::access_unit::{AccessUnitReader, Framing};
use framewire_media::{FrameIndex, Movie, Scanner};

#[path = "../../crates/media/tests/support/mod.rs"]
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
    let indexed = Movie::parse(movie.clone().into()).expect("it is a movie");
    let codec = indexed.index.sequence.codec;
    let units: Vec<_> = (0..indexed.index.frames.len()).map(|number| indexed.frame_bytes(number)).collect();
    group.bench_function("access units", |bencher| {
        bencher.iter(|| {
            let mut reader = AccessUnitReader::new(codec, Framing::ByteStream).expect("movies are byte streams");
            units.iter().filter(|unit| reader.read(black_box(unit)).is_ok()).count()
        });
    });
    for chunk in [1_500, 65_536] {
        group.bench_function(format!("chunks of {chunk}"), |bencher| {
            bencher.iter(|| {
                let mut scanner = Scanner::of(codec).expect("movies are scanned");
                let mut bytes = 0;
                movie.chunks(chunk).for_each(|chunk| scanner.feed(chunk, &mut |frame| bytes += frame.size));
                scanner.finish(&mut |frame| bytes += frame.size).map(|_| bytes)
            });
        });
    }
    group.finish();
    criterion.final_summary();
}
