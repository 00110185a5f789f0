//! Writes a made-up but plausible run directory, to develop readers and reports with: seven flows of a one-minute
//! movie, with losses at every place that a transport can have them.
//!
//! `cargo run -p framewire-recording --example synthetic_run -- DIRECTORY [FRAMES]`
//!
//! The channel here is a caricature: results that mean something come from `framewire run`.

mod channel;
mod flows;
mod movie;

use std::error::Error;
use std::path::PathBuf;

use framewire_recording::record::FlowLog;
use framewire_recording::write_run;
use framewire_units::{Duration, Playout};

use flows::Kind;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("usage: synthetic_run DIRECTORY [FRAMES]")?);
    let frames: u32 = arguments.next().map_or(Ok(1500), |text| text.parse())?;
    std::fs::create_dir_all(&directory)?;

    let movie = movie::make(frames, 6_000_000);
    let logs: Vec<FlowLog> = Kind::ALL.into_iter().map(|kind| flows::run(kind, &movie)).collect();
    let playout = Playout::live(Duration::from_secs(1));
    for summary in write_run(&directory, &logs, playout)? {
        let fates = summary.fates.expect("invariant: a flow of a movie has frames");
        println!(
            "{:20} shown {:5} late {:5} undecodable {:5} lost {:5}",
            summary.flow, fates.shown, fates.late, fates.undecodable, fates.lost
        );
    }
    std::fs::write(directory.join("run.json"), serde_json::to_string_pretty(&run_json(&logs, frames))? + "\n")?;
    std::fs::write(directory.join("scenario.toml"), scenario())?;
    Ok(())
}

fn run_json(logs: &[FlowLog], frames: u32) -> serde_json::Value {
    let mut errors: Vec<i64> =
        logs.iter().flat_map(|log| &log.releases).map(|release| release.actual.nanos_since(release.intended)).collect();
    errors.sort_unstable();
    let percentile = |percent: usize| errors.get((errors.len() * percent / 100).min(errors.len().saturating_sub(1)));
    serde_json::json!({
        "format": framewire_recording::tables::FORMAT_VERSION,
        "program": concat!("framewire ", env!("CARGO_PKG_VERSION")),
        "world": "synthetic",
        "name": "synthetic",
        "seed": 1,
        "status": "complete",
        "kernel": { "release": "6.18.0", "settings": {} },
        "movie": {
            "source": "synthetic", "frames": frames, "bitrate_bps": 6_000_000, "frame_rate": 25.0,
            "width": 720, "height": 576, "duration_s": f64::from(frames) / 25.0,
        },
        "accuracy": {
            "packets": errors.len(), "error_p50_ns": percentile(50), "error_p99_ns": percentile(99),
            "error_max_ns": errors.last(), "late_packets": 0, "valid": true,
        },
    })
}

fn scenario() -> String {
    let head = "version = 1\nname = \"synthetic\"\nseed = 1\nlayout = \"side-by-side\"\n\n[movie]\nsource = \"lab\"\n\
        bitrate = \"6 Mbit/s\"\nduration = \"60 s\"\n\n[network]\nkind = \"wifi\"\nbottleneck = \"local-device\"\n\n\
        [network.wifi]\nretry = 4\n\n[network.wifi.oven]\non = [[\"20 s\", \"40 s\"]]\n\n\
        [network.wifi.sniffer]\ncapture = \"65 %\"\n\n[playout]\npolicy = \"live\"\nstartup = \"1 s\"\n";
    let flows = Kind::ALL.iter().map(|kind| format!("\n[[flow]]\ntransport = \"{}\"\n", kind.name()));
    std::iter::once(head.to_owned()).chain(flows).collect()
}
