//! The rate controls of adaptive streaming side by side: what a viewer gets of each over the same paths, in virtual
//! time. The tables of `docs/vtp-hybrid.md` are its output.
//!
//! ```text
//! cargo run --release -p framewire-sim --example hybrid [part of a path's name] [directory of traces] [control]
//! ```

mod setup;

use setup::{Control, Movie, Path, Row};

/// Runs of each.
const SEEDS: u64 = 5;

fn paths(traces: Option<&str>) -> Vec<Path> {
    let mut paths = vec![Path::new("alone, 10 Mbit/s", 10.0, 0.0, 50)];
    for rivals in [1, 3, 7, 11, 15, 23, 31] {
        paths.push(Path::new(format!("{rivals} reno, 3 Mbit/s"), 3.0, 0.0, 50).among(rivals, "reno"));
    }
    paths.push(Path::new("1 reno, 10 Mbit/s", 10.0, 0.0, 50).among(1, "reno"));
    for (rivals, congestion) in [(1, "bbr"), (7, "bbr"), (1, "cubic"), (7, "cubic")] {
        paths.push(Path::new(format!("{rivals} {congestion}, 3 Mbit/s"), 3.0, 0.0, 50).among(rivals, congestion));
    }
    for loss in [0.01, 0.05] {
        paths.push(Path::new(format!("{} % lost, 10 Mbit/s", loss * 100.0), 10.0, loss, 50));
    }
    paths.push(Path::new("1 % lost and 7 reno", 3.0, 0.01, 50).among(7, "reno"));
    // A second of queue, in packets of about 850 bytes with headers, and of 1,500.
    paths.push(Path::new("1 s of queue, 300 kbit/s", 0.3, 0.0, 44));
    paths.push(Path::new("1 s of queue, 1 Mbit/s, 1 cubic", 1.0, 0.0, 83).among(1, "cubic"));
    paths.push(Path::new("below the floor, 100 kbit/s", 0.1, 0.0, 50));
    paths.extend(few_rivals());
    for name in ["TMobile-LTE-short.down", "Verizon-LTE-short.down", "TMobile-LTE-short.up", "Verizon-LTE-short.up"] {
        paths.extend(recorded(name, traces, name));
    }
    paths.extend(held_out(traces));
    paths
}

/// A recorded link of this folder, alone and beside a connection; none where it is not there.
fn recorded(name: &str, folder: Option<&str>, file: &str) -> impl Iterator<Item = Path> {
    let file = format!("{}/{file}", folder.unwrap_or_default());
    let alone = Path::recorded(name, &file);
    let beside = Path::recorded(&format!("{name}, 1 cubic"), &file).map(|path| path.among(1, "cubic"));
    alone.into_iter().chain(beside)
}

/// A few rivals, and a movie whose highest level asks for more than the fair share.
fn few_rivals() -> Vec<Path> {
    let mut paths = vec![];
    let kinds = [
        (1.0, 40, 50, 3),
        (2.0, 40, 100, 2),
        (2.0, 10, 50, 3),
        (5.0, 40, 100, 1),
        (5.0, 20, 250, 3),
        (10.0, 40, 200, 3),
        (20.0, 40, 250, 1),
        (20.0, 40, 250, 3),
    ];
    for congestion in ["reno", "cubic"] {
        for (mbps, round_trip, queue, rivals) in kinds {
            let name = format!("{rivals} {congestion}, {mbps} Mbit/s, {round_trip} ms, {queue} packets");
            let movie = Movie::of(2e3 * mbps / f64::from(rivals + 1));
            paths.push(
                Path::delayed(name, mbps, round_trip, 0.0, queue).among(rivals as usize, congestion).showing(movie),
            );
        }
    }
    paths.push(Path::new("strong, 11 reno, 5 Mbit/s", 5.0, 0.0, 50).among(11, "reno").showing(Movie::STRONG));
    for (mbps, round_trip, queue) in [(3.0, 150, 35), (2.0, 100, 15)] {
        let name = format!("3 bbr, {mbps} Mbit/s, {round_trip} ms, {queue} packets");
        paths.push(Path::delayed(name, mbps, round_trip, 0.0, queue).among(3, "bbr"));
    }
    paths
}

/// Paths that no rule and no number of the controls was chosen on: they are only looked at.
fn held_out(traces: Option<&str>) -> Vec<Path> {
    let named = |name: &str| format!("held out: {name}");
    let new = |name: &str, mbps, round_trip, loss, queue| Path::delayed(named(name), mbps, round_trip, loss, queue);
    let mut paths = vec![
        new("5 reno, 2 Mbit/s, 50 ms, 30 packets", 2.0, 50, 0.0, 30).among(5, "reno"),
        new("9 cubic, 5 Mbit/s, 80 ms, 120 packets", 5.0, 80, 0.0, 120).among(9, "cubic"),
        new("2 bbr, 2 Mbit/s, 60 ms, 100 packets", 2.0, 60, 0.0, 100).among(2, "bbr"),
        new("3 % lost, 6 Mbit/s, 120 ms", 6.0, 120, 0.03, 50),
        new("2 % lost and 4 reno, 4 Mbit/s, 40 ms", 4.0, 40, 0.02, 80).among(4, "reno"),
        // 0.7 s and 1.6 s of queue.
        new("45 packets, 500 kbit/s, 30 ms", 0.5, 30, 0.0, 45),
        new("200 packets, 1.5 Mbit/s, 30 ms, 1 cubic", 1.5, 30, 0.0, 200).among(1, "cubic"),
        new("80 kbit/s, 30 ms", 0.08, 30, 0.0, 40),
    ];
    for file in ["sbu_8_1_wifi_cap60.mahi", "ucc5g_driving_B_2019.12.16_12.27.05_s300-900_cap60.mahi"] {
        paths.extend(recorded(&named(file.split('_').next().unwrap_or(file)), traces, file));
    }
    paths
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (part, traces) = (arguments.next().unwrap_or_default(), arguments.next());
    let only = arguments.next();
    println!(
        "| path | control | mean level | switches | freezes | in time | shown | share of fair | lost | one-way delay |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for path in paths(traces.as_deref()).iter().filter(|path| path.name.contains(&part)) {
        let chosen = |name: &str| only.as_deref().map_or(name != Control::UNREPEATED, |only| name == only);
        for (control, name) in Control::ALL.into_iter().filter(|(_, name)| chosen(name)) {
            let rows: Vec<Row> = (1..=SEEDS).map(|seed| Row::of(&path.run(control, seed), path)).collect();
            let Row { level, switches, freezes, intact, shown, share, loss, delay } = Row::mean(&rows);
            println!(
                "| {} | {name} | {level:.2} | {switches:.1} | {freezes:.1} | {:.1} % | {:.1} % | {share:.2} | {:.1} % | {:.0} ms |",
                path.name,
                100.0 * intact,
                100.0 * shown,
                100.0 * loss,
                1e3 * delay.as_secs_f64()
            );
        }
    }
}
