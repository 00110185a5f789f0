//! The blocking UDP movies of Ouwens' thesis over the medium alone: duration and loss by retry value, with and without the
//! oven from 20 to 40 s, for two ways to fall back. `cargo run --release -p framewire-link --example blocking_udp`.

#[path = "../tests/common/blocking_udp.rs"]
mod blocking_udp;

use blocking_udp::movie;
use framewire_link::wifi::{ArfConfig, PacketFallbackConfig, RatePolicy};
use framewire_units::Duration;

fn main() {
    let by_packet = |millis| {
        (
            format!("by packet, {millis} ms"),
            RatePolicy::ByPacket(PacketFallbackConfig { recovery: Duration::from_millis(millis) }),
        )
    };
    let arf = ("ARF".to_owned(), RatePolicy::Automatic(ArfConfig::default()));
    let policies = [arf, by_packet(400), by_packet(800), by_packet(1600)];
    for (name, policy) in policies {
        println!("{name}: seconds and per cent of packets lost, mean of 3 seeds");
        for mbps in [3, 6] {
            for oven in [false, true] {
                print!("  {mbps} Mbit/s, oven {}:", if oven { "on " } else { "off" });
                for retry in [1, 2, 3, 4, 16] {
                    let mean = movie(policy, retry, mbps, oven);
                    print!("  {retry}: {:6.1} {:5.2}", mean.seconds, mean.lost * 100.0);
                }
                println!();
            }
        }
    }
}
