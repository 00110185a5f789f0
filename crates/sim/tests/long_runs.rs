//! Runs whose records are too many for the memory: the same tables, and clear errors of the disk.
#![allow(missing_docs, reason = "a test binary")]

mod common;

use std::path::Path;

use common::{LIVE, movie, run, scenario};
use framewire_recording::ledger::{Fate, Ledger};
use framewire_sim::{Content, Options, Simulation};

/// A connection over 100 Mbit/s for so many seconds: 8,500 packets each, and half as many acknowledgements.
fn text(seconds: u32) -> String {
    format!(
        "limit = \"{seconds} s\"\n[network]\nkind = \"wired\"\n[network.wire]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\
         [[flow]]\ntransport = \"bulk\"\n"
    )
}

#[test]
fn packets_on_the_disk_are_those_that_were_in_memory() {
    let options = Options { packets: true, ..Options::default() };
    let log = &Simulation::run(&scenario(&text(10)), &Content::default(), &options).unwrap().logs[0];
    assert!(log.packets.len() > 100_000, "{} packets: more than a list holds in memory", log.packets.len());
    assert!(log.packets.iter().zip(0..).all(|(packet, number)| packet.packet == number), "in their order");
    // The beginning of a longer run is the whole of a shorter one, of which everything is in memory.
    let short = &Simulation::run(&scenario(&text(5)), &Content::default(), &options).unwrap().logs[0];
    assert!((55_000..=65_536).contains(&short.packets.len()), "{} packets", short.packets.len());
    let settled = short.packets.len() - 2_000;
    assert!(log.packets.iter().zip(&short.packets).take(settled).all(|(one, other)| one == other));
}

#[test]
fn a_ledger_that_was_made_on_the_disk_is_that_of_a_run_in_memory() {
    for transport in ["udp", "tcp"] {
        let text = format!(
            "limit = \"60 min\"\n[network]\nkind = \"wired\"\n[network.wire]\nrate = \"1 Mbit/s\"\ndelay = \"20 ms\"\njitter = \"5 ms\"\n\
             queue = \"50 packets\"\nloss = \"2 %\"\n[[flow]]\ntransport = \"{transport}\"\n"
        );
        let rows = |seconds| {
            let simulated = run(&scenario(&text), &movie(0.1, seconds), true);
            Ledger::build(&simulated.logs[0], LIVE).rows
        };
        // More frames and events than are sorted in memory, and fewer.
        let (long, short) = (rows(3_000), rows(500));
        assert_eq!((long.len(), short.len()), (75_000, 12_500), "{transport}");
        // But for those that the end of the shorter one meets, they are the same.
        for (one, other) in long.iter().zip(&short).take(12_000) {
            assert_eq!(one, other, "{transport}");
        }
        let shown = |fate: Fate| long.iter().skip(12_000).filter(|row| row.fate == fate).count();
        assert!(shown(Fate::Shown) > 1_000, "{transport}: {}", shown(Fate::Shown));
        let lost = shown(Fate::Lost) + shown(Fate::Undecodable);
        assert_eq!(lost > 1_000, transport == "udp", "{transport}: {lost}");
        assert!(long.failure().is_none());
    }
}

#[test]
fn a_directory_that_takes_no_records_ends_a_run_with_an_error() {
    let options = Options { packets: true, scratch: Some(Path::new("/nonexistent/run").into()), ..Options::default() };
    let error = Simulation::run(&scenario(&text(3_600)), &Content::default(), &options).err().unwrap().to_string();
    assert!(error.starts_with("/nonexistent/run") && error.contains("No such file"), "{error}");
    let short = Simulation::run(&scenario(&text(1)), &Content::default(), &options);
    assert!(short.is_ok(), "nothing is written of what fits into memory");
}
