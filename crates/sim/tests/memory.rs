//! What a run needs of memory does not grow with its length: what is recorded of packets, frames and reads is on the disk.
//!
//! One test and no other, so that the peak of the process is that of its runs.
#![cfg(target_os = "linux")]
#![allow(missing_docs, reason = "a test binary")]

mod common;

use std::fs;
use std::path::PathBuf;

use common::{content, movie_file, scenario};
use framewire_sim::{RunOptions, simulate_run};

/// A fresh directory that is removed with its content.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("framewire-long-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The largest resident size of this process (VmHWM of proc(5)) since the peak was forgotten, in MB.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1_000
}

/// Makes the peak what is resident now (proc(5), clear_refs, 5): it would be that of the largest run before.
fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").unwrap();
}

#[test]
fn a_run_three_times_as_long_needs_little_more_memory() {
    let scratch = Scratch::new();
    let movies = [(3_600, 0.16), (10_800, 0.16)].map(|(seconds, mbps)| movie_file(&scratch.0, mbps, seconds));
    for transport in ["udp", "tcp"] {
        let mut peaks = vec![];
        for movie in &movies {
            let text = format!(
                "limit = \"360 min\"\n[network]\nkind = \"wired\"\n[network.wire]\nrate = \"2 Mbit/s\"\ndelay = \"20 ms\"\n\
                 queue = \"50 packets\"\nloss = \"0.5 %\"\n[[flow]]\ntransport = \"{transport}\"\n"
            );
            let options = RunOptions { packets: true, ..RunOptions::default() };
            forget_peak();
            let report = simulate_run(&scenario(&text), &content(movie), &scratch.0, &options).unwrap();
            assert_eq!(report.summaries[0].frames, Some(movie.index.frames.len() as u32));
            peaks.push(peak());
        }
        // The movies have just over 64 MiB and more, so that they are not kept in memory.
        // Of 180,000 frames more, which were 150 MB of records: what is held of each beside the movie's index is 30 bytes.
        let more = u64::saturating_sub(peaks[1], peaks[0]);
        println!("{transport}: {peaks:?} MB");
        assert!(more < 30, "{transport}: {peaks:?} MB");
        assert!(peaks[1] < 200, "{transport}: {peaks:?} MB, of which 40 are the movies' indices");
    }
}
