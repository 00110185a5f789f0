//! The same seed gives the same result: on any number of threads, in every build, and as it did when it was written down.
//!
//! The snapshots hold the summaries and the canonical hashes of the tables of whole runs, and one table row by row. When
//! a change in behaviour is intended, write them anew with
//! `FRAMEWIRE_UPDATE_SNAPSHOTS=1 cargo test -p framewire-sim --test determinism`, read the difference, and say in the
//! commit why.
#![allow(clippy::disallowed_methods, reason = "results must be the same on many threads")]

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod snapshot;

use cases::{CONGESTED, NETWORKS, QUEUES, TRANSPORTS, WIRELESS, algorithms, rivals, stations, thesis, transports};
use common::movie;
use framewire_media::Movie;
use framewire_scenario::Scenario;
use framewire_sim::{Cell, CellOptions, simulate_cell};
use snapshot::{describe, describe_frames, hold};

fn cell(scenario: &Scenario, movie: &Movie) -> Cell {
    simulate_cell(
        scenario,
        &common::content(movie),
        None,
        &CellOptions { packets: true, flows: true, ..CellOptions::default() },
    )
    .unwrap()
}

#[test]
fn every_transport_is_as_it_was() {
    let movie = movie(6.0, 6);
    let mut text = String::new();
    for (name, network) in NETWORKS {
        for layout in ["side-by-side", "together"] {
            let cell = cell(&transports(network, layout, &TRANSPORTS), &movie);
            describe(&mut text, &format!("{name}, {layout}"), &cell);
        }
    }
    hold("runs.txt", &text);
}

#[test]
fn every_frame_queue_is_as_it_was() {
    let movie = movie(6.0, 6);
    let mut text = String::new();
    for (name, network) in NETWORKS {
        describe(&mut text, name, &cell(&transports(network, "side-by-side", &QUEUES), &movie));
    }
    hold("queues.txt", &text);
}

#[test]
fn every_congestion_control_is_as_it_was() {
    let movie = movie(6.0, 10);
    let mut text = String::new();
    for (name, network) in CONGESTED {
        describe(&mut text, name, &cell(&algorithms(network), &movie));
    }
    hold("congestion.txt", &text);
}

#[test]
fn every_kind_of_wireless_network_is_as_it_was() {
    let movie = movie(5.0, 5);
    let mut text = String::new();
    for (name, layout, network) in WIRELESS {
        let scenario = transports(network, layout, &["udp-blocking", "udp", "tcp"]);
        describe(&mut text, name, &cell(&scenario, &movie));
    }
    describe(&mut text, "802.11b, three stations", &cell(&stations(), &movie));
    hold("wireless.txt", &text);
}

#[test]
fn adaptive_streams_beside_bulk_flows_are_as_they_were() {
    let content = common::ladder_content(30);
    let options = CellOptions { packets: true, flows: true, ..CellOptions::default() };
    let mut text = String::new();
    for (name, network) in CONGESTED {
        for layout in ["side-by-side", "together"] {
            let cell = simulate_cell(&rivals(network, layout), &content, None, &options).unwrap();
            describe(&mut text, &format!("{name}, {layout}"), &cell);
        }
    }
    hold("rivals.txt", &text);
}

#[test]
fn a_small_cell_of_the_thesis_is_as_it_was_row_by_row() {
    let (scenario, movie) = (thesis(), movie(4.0, 2));
    let mut text = String::new();
    describe(&mut text, "retry 2, oven, by the arithmetic of the thesis", &cell(&scenario, &movie));
    describe_frames(&mut text, &scenario, &common::run(&scenario, &movie, false));
    hold("thesis.txt", &text);
}

#[test]
fn results_do_not_depend_on_threads_or_on_what_else_runs() {
    let movie = movie(6.0, 4);
    let scenarios: Vec<Scenario> =
        NETWORKS.iter().map(|(_, network)| transports(network, "side-by-side", &TRANSPORTS)).collect();
    let alone: Vec<Cell> = scenarios.iter().map(|scenario| cell(scenario, &movie)).collect();
    let together: Vec<Cell> = std::thread::scope(|scope| {
        let movie = &movie;
        let run = |scenario| scope.spawn(move || cell(scenario, movie));
        let threads: Vec<_> = scenarios.iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
}

#[test]
fn another_seed_is_another_channel() {
    let movie = movie(3.0, 3);
    for (name, network) in &NETWORKS[..3] {
        let one = transports(network, "side-by-side", &TRANSPORTS);
        let mut other = one.clone();
        other.seed = 8;
        assert_ne!(cell(&one, &movie).hashes, cell(&other, &movie).hashes, "{name}");
    }
}
