//! One scenario, simulated several times on one thread, with the CPU time that it took: our side of the comparison of
//! speed in `benches/validation/speed.py`.
//!
//! ```sh
//! cargo run --release -p framewire-sim --example speed_row -- tcp --rate 10 --rtt 120 --loss 0.001 --queue 100 --seconds 200
//! cargo run --release -p framewire-sim --example speed_row -- wifi --stations 5 --seconds 20
//! ```
//! `wifi` is the whole simulated world: as many flows as stations, each with a movie, its packetiser, its blocking
//! socket, its own wireless sender and its ledger. The movie is made beforehand, as the scenario of ns-3 is built before
//! its clock is read.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads the CPU time of its thread")]

#[path = "../../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::str::FromStr;

use framewire_link::{LossConfig, QueueLimit};
use framewire_sim::lone_connection::{LoneConnection, bottleneck};
use framewire_sim::{Options, Simulation};
use framewire_units::{Bitrate, DataSize, Duration, Probability, Seed};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = Given(&arguments);
    let seconds: u64 = given.value("--seconds", 20)?;
    let times: u64 = given.value("--times", 1)?;
    let measured = match arguments.first().map(String::as_str) {
        Some("tcp") => tcp(&given, seconds, times)?,
        Some("wifi") => wifi(given.value("--stations", 1)?, given.text("--carrier-sense"), seconds, times)?,
        _ => return Err("usage: speed_row tcp|wifi [--OPTION VALUE]...".into()),
    };
    let Measured { simulated, cpu, bits } = measured;
    let goodput = bits as f64 / simulated;
    println!("{{\"simulated_s\": {simulated:.3}, \"cpu_s\": {cpu:.6}, \"goodput_bps\": {goodput:.0}}}");
    Ok(())
}

/// Simulated seconds, CPU seconds, and bits that arrived.
struct Measured {
    simulated: f64,
    cpu: f64,
    bits: u64,
}

/// The words of the command line.
struct Given<'a>(&'a [String]);

impl Given<'_> {
    /// What stands behind an option.
    fn text(&self, name: &str) -> Option<&str> {
        let position = self.0.iter().position(|word| word == name)?;
        self.0.get(position + 1).map(String::as_str)
    }

    fn value<T: FromStr>(&self, name: &str, otherwise: T) -> Result<T, String> {
        let Some(text) = self.text(name) else { return Ok(otherwise) };
        text.parse().map_err(|_| format!("{name} {text}: not a value of this option"))
    }
}

/// The end of Linux' default `net.ipv4.tcp_wmem`.
const LARGEST_SEND_BUFFER: DataSize = DataSize::from_bytes(4 << 20);

/// A bulk transfer with seeds from 1 on.
fn tcp(given: &Given<'_>, seconds: u64, times: u64) -> Result<Measured, Box<dyn Error>> {
    let loss = match given.value("--loss", 0.0)? {
        0.0 => LossConfig::None,
        loss => LossConfig::Bernoulli(Probability::new(loss).ok_or("--loss: 0 to 1 is allowed")?),
    };
    let rate = Bitrate::from_mbps(given.value("--rate", 10)?);
    let round_trip = Duration::from_millis(given.value("--rtt", 120)?);
    let network = bottleneck(rate, round_trip, loss, QueueLimit::Packets(given.value("--queue", 100)?));
    let algorithm = given.value("--algorithm", "cubic".to_owned())?.parse()?;
    let mut experiment = LoneConnection::new(algorithm, network);
    experiment.duration = Duration::from_secs(seconds);
    // As ns-3's program; up to Linux' own largest, Linux' auto-tuning has it.
    let buffer = DataSize::from_bytes(4 * (rate * round_trip).as_bytes());
    experiment.sender.send_buffer = Some(buffer).filter(|&buffer| buffer > LARGEST_SEND_BUFFER);
    let (mut bits, began) = (0, cpu_seconds()?);
    for seed in 1..=times {
        experiment.seed = Seed(seed);
        bits += experiment.run()?.received.as_bits();
    }
    Ok(Measured { simulated: (seconds * times) as f64, cpu: cpu_seconds()? - began, bits })
}

/// Stations that always have UDP to send; what is queued at the end is still sent.
fn wifi(stations: u64, carrier_sense: Option<&str>, seconds: u64, times: u64) -> Result<Measured, Box<dyn Error>> {
    // 7.5 Mbit/s for each second is more than one station can send, so that none runs out.
    let content = common::content(&common::movie(7.5, seconds as usize));
    let mut text = format!("layout = \"together\"\nlimit = \"{seconds} s\"\n[network]\nkind = \"wifi\"\n");
    text += "[network.wifi]\nrate = \"11 Mbit/s\"\nerror_floor = \"0 %\"\nretry = 7\n";
    if let Some(time) = carrier_sense {
        writeln!(text, "carrier_sense = \"{time}\"")?;
    }
    for station in 0..stations {
        write!(text, "[[flow]]\nname = \"f{station}\"\ntransport = \"udp-blocking\"\npacing = \"none\"\n")?;
        if station > 0 {
            writeln!(text, "station = {station}")?;
        }
    }
    let scenario = common::scenario(&text);
    let (mut simulated, mut bits, began) = (Duration::ZERO, 0, cpu_seconds()?);
    for _ in 0..times {
        let run = Simulation::run(&scenario, &content, &Options::default())?;
        simulated += run.simulated;
        let datagrams = run.logs.iter().flat_map(|log| &log.datagrams_received);
        bits += datagrams.map(|datagram| 8 * u64::from(datagram.size)).sum::<u64>();
    }
    Ok(Measured { simulated: simulated.as_secs_f64(), cpu: cpu_seconds()? - began, bits })
}

/// CPU seconds of this thread so far (the first field of schedstat, in nanoseconds).
fn cpu_seconds() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split_whitespace().next().unwrap_or_default().parse::<f64>()? / 1e9)
}
