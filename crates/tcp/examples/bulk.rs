//! How fast an endpoint is: bulk data through a pipe, without a simulator around it.
//!
//! `cargo run --release -p framewire-tcp --example bulk`
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark reads the clock")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{Fate, Pipe};
use framewire_tcp::TcpConfig;
use framewire_tcp::congestion::Algorithm;
use framewire_units::{Bitrate, Duration, Timestamp};

fn main() {
    println!("algorithm   rate      rtt     loss   data packets/s   simulated s/s   goodput Mbit/s   outstanding");
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        for (rate, rtt, loss, seconds) in [
            (10, 120, 0, 600),
            (10, 120, 1000, 600),
            (20, 40, 0, 600),
            (100, 40, 0, 120),
            (1000, 40, 0, 20),
            (1000, 40, 10_000, 20),
        ] {
            run(algorithm, Bitrate::from_mbps(rate), Duration::from_millis(rtt), loss, seconds);
        }
    }
}

/// One packet in `loss` is lost, where that is not zero.
fn run(algorithm: Algorithm, rate: Bitrate, rtt: Duration, loss: u64, seconds: u64) {
    let config = TcpConfig { congestion: algorithm, ..TcpConfig::default() };
    let path = (rate * rtt).as_bytes() as usize / 1500;
    let mut pipe = Pipe::path(&config, rate, path.max(10), rtt).bulk(u64::MAX / 4);
    if loss > 0 {
        let mut state = 1_u64;
        pipe.lanes[0].script = Box::new(move |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33).is_multiple_of(loss) { Fate::Drop } else { Fate::Pass }
        });
    }
    let begin = Instant::now();
    pipe.run(Timestamp::from_secs(seconds));
    let wall = begin.elapsed().as_secs_f64();
    let info = pipe.ends[0].info();
    let goodput = pipe.applications[1].read as f64 * 8.0 / seconds as f64 / 1e6;
    println!(
        "{:<11} {:<9} {:<7} {:<6} {:>14.0} {:>15.1} {:>16.2} {:>13}",
        algorithm.to_string(),
        rate.to_string(),
        format!("{} ms", rtt.as_millis()),
        if loss == 0 { "0".to_owned() } else { format!("1/{loss}") },
        info.sent as f64 / wall,
        seconds as f64 / wall,
        goodput,
        info.in_flight
    );
}
