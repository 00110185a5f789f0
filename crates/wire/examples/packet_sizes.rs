//! Sizes of the packets that every rule makes of MPEG-2 video files:
//! `cargo run --release -p framewire-wire --example packet_sizes -- movie.m2v...`

#[path = "../tests/support/mod.rs"]
mod support;

use framewire_units::DataSize;
use framewire_wire::rtp_payload::{PacketRule, Packetizer, StreamOrigin, mpeg_video};

fn main() {
    println!("UDP payload in bytes; video is what is left of the mean without RTP and MPEG headers");
    println!("movie                    rule     packets   mean  video   min  deciles and max");
    for path in std::env::args().skip(1) {
        let stream = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let name = path.rsplit('/').next().unwrap_or(&path);
        for &rule in PacketRule::ALL {
            print_sizes(name, rule, &stream);
        }
    }
}

fn print_sizes(name: &str, rule: PacketRule, stream: &[u8]) {
    let mtu = DataSize::from_bytes(1_500);
    let mut packetizer = Packetizer::new(&mpeg_video::FORMAT, rule, mtu, StreamOrigin { ssrc: 1, initial_sequence: 0 })
        .expect("the configuration is valid");
    let mut sizes = Vec::new();
    for unit in support::access_units(stream) {
        let packets = packetizer.packetize(&stream[unit], 0).unwrap_or_else(|error| panic!("{name}: {error}"));
        sizes.extend(packets.iter().map(|packet| packet.bytes.len()));
    }
    sizes.sort_unstable();
    let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
    let deciles: Vec<_> = (1..=10).map(|tenth| sizes[(sizes.len() * tenth / 10).saturating_sub(1)]).collect();
    let rule = rule.as_str();
    println!("{name:<24} {rule:<7} {:>8} {mean:>6.0} {:>6.0} {:>5}  {deciles:?}", sizes.len(), mean - 16.0, sizes[0]);
}
