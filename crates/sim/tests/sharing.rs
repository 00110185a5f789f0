//! Connections and adaptive streams that share one network, by what has come of each over time.

use std::ops::Range;

use crate::common;
use bytes::Bytes;
use common::{LIVE, scenario};
use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
use framewire_link::{LossConfig, QueueLimit};
use framewire_media::FrameRate;
use framewire_media::ladder::{Ladder, Level};
use framewire_media::streaming_file::{self, StoredPlan};
use framewire_recording::ledger::{FrameRow, Ledger};
use framewire_recording::record::{FlowStatus, RateSample};
use framewire_recording::summary::Summary;
use framewire_sim::lone_connection::{LoneConnection, bottleneck};
use framewire_sim::{Content, LadderContent, Options, Simulated, Simulation};
use framewire_units::{Bitrate, Duration, Timestamp};

const FILM: FrameRate = FrameRate { numerator: 24_000, denominator: 1_001 };

fn run(text: &str) -> Simulated {
    let options = Options { rates: Some(Duration::from_millis(100)), ..Options::default() };
    Simulation::run(&scenario(text), &content(), &options).unwrap()
}

/// A minute of film at about 120, 250 and 460 kbit/s, each group of twelve frames with a large first one.
fn content() -> Content {
    let level = |scale: u32| {
        let sizes: Vec<u32> = (0..1_440).map(|frame| scale * if frame % 12 == 0 { 3 } else { 1 }).collect();
        Level::of_sizes(FILM, 12, &sizes).unwrap()
    };
    let ladder = Ladder::new([540, 1_120, 2_060].map(level).into()).unwrap();
    let plan = StoredPlan::from(&Schedule::new(&ladder, ScheduleSettings::PAPER).unwrap());
    let mut bytes = Vec::new();
    streaming_file::write(&ladder, Some(&plan), 1_000, &mut bytes).unwrap();
    Content::default().with_ladder("film.vtp", LadderContent::open(Bytes::from(bytes)).unwrap())
}

fn wire(rate: &str, loss: &str) -> String {
    format!(
        "layout = \"together\"\n[network]\nkind = \"wired\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"5 ms\"\n\
         queue = \"50 packets\"\nloss = \"{loss}\"\n"
    )
}

/// So many connections of reno for 100 s, from a random time of the first two seconds on.
fn shared(connections: usize, loss: &str, seed: u64) -> String {
    format!(
        "seed = {seed}\nlimit = \"100 s\"\n{}[[flow]]\ntransport = \"bulk\"\nconnections = {connections}\n\
         congestion = \"reno\"\nstart_within = \"2 s\"\n",
        wire("3 Mbit/s", loss)
    )
}

/// The samples of each connection of a flow.
fn connections(simulated: &Simulated, flow: usize) -> Vec<Vec<&RateSample>> {
    let samples = &simulated.rates[flow];
    let last = samples.iter().filter_map(|sample| sample.connection).max().unwrap_or(0);
    (0..=last).map(|number| samples.iter().filter(|one| one.connection.unwrap_or(0) == number).collect()).collect()
}

/// The mean rate of something that grows, between two times at which it was looked at, in Mbit/s.
fn rate(samples: &[&RateSample], seconds: Range<u64>, bytes: fn(&RateSample) -> u64) -> f64 {
    let at = |second| samples.iter().find(|sample| sample.at >= Timestamp::from_secs(second)).unwrap();
    let (from, to) = (at(seconds.start), at(seconds.end));
    (bytes(to) - bytes(from)) as f64 * 8e-6 / to.at.saturating_since(from.at).as_secs_f64()
}

fn packets(sample: &RateSample) -> u64 {
    sample.received_packet_bytes
}

fn got(sample: &RateSample) -> u64 {
    sample.received_bytes.unwrap()
}

/// The fairness index of Jain, Chiu and Hawe ("A quantitative measure of fairness and discrimination", 1984).
fn jain_index(shares: &[f64]) -> f64 {
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn reno_flows_fill_the_link_and_share_it() {
    for flows in [1, 2, 4, 8, 16, 32] {
        let simulated = run(&shared(flows, "0 %", 1));
        let rates: Vec<f64> = connections(&simulated, 0).iter().map(|samples| rate(samples, 20..99, packets)).collect();
        let sum: f64 = rates.iter().sum();
        assert!((2.99..=3.001).contains(&sum), "{flows} flows take {sum} of 3 Mbit/s");
        // Flows of one round-trip time converge to equal shares; what is left is the length of their saw teeth.
        let fairness = jain_index(&rates);
        assert!(rates.len() == flows && (0.9..=1.0).contains(&fairness), "{flows} flows: {rates:?}");
    }
}

#[test]
fn every_packet_is_delivered_dropped_or_under_way() {
    let text = shared(1, "1 %", 3).replace("connections = 1", "count = 12");
    let options = Options { packets: true, ..Options::default() };
    let simulated = Simulation::run(&scenario(&text), &Content::default(), &options).unwrap();
    let (mut told, mut left, mut lost) = (0, 0, 0);
    for log in &simulated.logs {
        let causes: Vec<_> = log.packets.iter().map(|packet| (packet.forward, packet.dropped)).collect();
        let count =
            |which: &str| causes.iter().filter(|(_, cause)| cause.is_some_and(|cause| cause.1 == which)).count();
        let (full, random) = (count("queue full"), count("random loss"));
        assert!(full > 0 && random > 0, "{full} {random}");
        assert_eq!(causes.iter().filter(|(_, cause)| cause.is_some()).count(), full + random, "{}", log.flow);
        assert!(causes.iter().all(|(forward, cause)| *forward || cause.is_none()), "nothing is lost on the way back");
        told += causes.len();
        left += causes.iter().filter(|(forward, _)| *forward).count() - full;
        lost += random;
    }
    // A round trip of the link at most, with its queue.
    assert!(simulated.packets as usize - told <= 120, "{} of {}", told, simulated.packets);
    // The process takes what leaves the queue.
    let share = lost as f64 / left as f64;
    assert!((0.008..0.012).contains(&share), "{share}");
}

#[test]
fn what_an_application_gets_is_what_was_received_without_headers_and_repeats() {
    let simulated = run(&shared(8, "0 %", 2));
    for samples in connections(&simulated, 0) {
        let last = samples.last().unwrap();
        let share = got(last) as f64 / packets(last) as f64;
        // 1,448 of 1,500 bytes, less what came twice.
        assert!((0.93..=1448.0 / 1500.0).contains(&share), "{share}");
    }
    let all: u64 = connections(&simulated, 0).iter().map(|samples| got(samples.last().unwrap())).sum();
    assert_eq!(all, simulated.logs[0].bulk.unwrap().received, "the last sample is of the end");
}

#[test]
fn a_bulk_flow_alone_is_a_lone_connection() {
    let network =
        bottleneck(Bitrate::from_mbps(3), Duration::from_millis(10), LossConfig::None, QueueLimit::Packets(50));
    let alone = LoneConnection::new("reno".parse().unwrap(), network).run().unwrap();
    let text = shared(1, "0 %", 1).replace("limit = \"100 s\"", "limit = \"60 s\"").replace("2 s", "0 s");
    let simulated = run(&text);
    let here = simulated.logs[0].bulk.unwrap().received as f64;
    assert!((here / alone.received.as_bytes() as f64 - 1.0).abs() < 0.001, "{here} {:?}", alone.received);
    let there = alone.segments + alone.acknowledgements;
    assert!(simulated.packets.abs_diff(there) < 120, "{} {there}", simulated.packets);
}

#[test]
fn the_seed_decides_when_flows_begin_and_all_that_follows() {
    let began = |simulated: &Simulated| -> Vec<Timestamp> {
        let first = |samples: &Vec<&RateSample>| samples.iter().find(|one| one.received_packet_bytes > 0).unwrap().at;
        connections(simulated, 0).iter().map(first).collect()
    };
    let (once, again, other) = [1, 1, 2].map(|seed| run(&shared(8, "0 %", seed))).into();
    assert_eq!(once.rates, again.rates);
    assert_ne!(once.rates, other.rates);
    assert_ne!(began(&once), began(&other));
    assert!(began(&once).iter().all(|&at| at <= Timestamp::from_millis(2_200)), "{:?}", began(&once));
}

#[test]
fn a_flow_comes_and_goes() {
    let guest =
        "[[flow]]\nname = \"guest\"\ntransport = \"bulk\"\ncongestion = \"reno\"\nstart = \"30 s\"\nstop = \"60 s\"\n";
    let simulated = run(&(shared(1, "0 %", 1) + guest));
    let of = |flow: usize, seconds: Range<u64>| rate(&connections(&simulated, flow)[0], seconds, packets);
    assert!(of(0, 10..30) > 2.95 && of(1, 10..30) == 0.0);
    assert!([of(0, 40..60), of(1, 40..60)].iter().all(|rate| (1.0..2.0).contains(rate)));
    // What stood in the send buffer is sent after the end, and then no more.
    assert!(of(0, 70..99) > 2.7 && of(1, 90..99) == 0.0);
}

#[test]
fn rates_change_nothing_and_need_an_interval() {
    let text = shared(4, "1 %", 5);
    let without = Simulation::run(&scenario(&text), &Content::default(), &Options::default()).unwrap();
    let with = run(&text);
    assert_eq!((with.packets, with.simulated), (without.packets, without.simulated));
    assert_eq!(with.logs[0].samples.to_vec(), without.logs[0].samples.to_vec());
    assert!(without.rates.iter().all(Vec::is_empty));
    let options = Options { rates: Some(Duration::ZERO), ..Options::default() };
    let refused = Simulation::run(&scenario(&text), &Content::default(), &options).err().unwrap();
    assert!(refused.to_string().contains("rates = 0 s"), "{refused}");
}

/// Each option alone is another connection than Linux has, and a small window is a limit.
#[test]
fn hosts_of_other_times_have_their_options() {
    let course = |loss: &str, options: &str| {
        let simulated = run(&(shared(1, loss, 1).replace("start_within = \"2 s\"\n", "") + options));
        simulated.rates[0].iter().map(|sample| (packets(sample), got(sample))).collect::<Vec<_>>()
    };
    let with = |option: &str| format!("[flow.tcp]\n{option}\n");
    for option in ["sack = false", "timestamps = false", "initial_window = 2", "delayed_acks = false"] {
        assert!(course("1 %", &with(option)) != course("1 %", ""), "{option}");
    }
    // Only where timeouts expire.
    assert!(course("20 %", &with("min_rto = \"1 s\"")) != course("20 %", ""), "min_rto");
    let most_in_flight = |options: &str| {
        let simulated = run(&(shared(1, "0 %", 1) + options));
        simulated.logs[0].samples.iter().filter_map(|sample| sample.in_flight_packets).max().unwrap()
    };
    let (small, usual) = (most_in_flight(&with("receive_buffer = \"32 KiB\"")), most_in_flight(""));
    // Half of the buffer is window: 16 KiB, and what is under way when it opens.
    assert!(small <= 16 && usual > 40, "{small} {usual}");
}

/// The stream among so many connections of reno; it is the first flow.
fn among(connections: usize, rate: &str, loss: &str, stream: &str) -> Simulated {
    let rivals = format!(
        "[[flow]]\nname = \"tcp\"\ntransport = \"bulk\"\nconnections = {connections}\ncongestion = \"reno\"\n\
         start_within = \"5 s\"\n"
    );
    let rivals = if connections > 0 { rivals.as_str() } else { "" };
    run(&format!(
        "limit = \"75 s\"\nmovie.ladder = \"film.vtp\"\n{}[[flow]]\nname = \"stream\"\nstart = \"5 s\"\n{stream}\n{rivals}",
        wire(rate, loss)
    ))
}

fn rows(simulated: &Simulated) -> Vec<FrameRow> {
    Ledger::build(&simulated.logs[0], LIVE).rows.to_vec()
}

/// When the first packet of video left, and when the last one.
fn window(rows: &[FrameRow]) -> (Timestamp, Timestamp) {
    let first = rows.iter().filter_map(|row| row.first_byte).min().unwrap();
    (first, rows.iter().filter_map(|row| row.last_byte).max().unwrap())
}

#[test]
fn alone_every_frame_arrives_and_the_top_level_is_reached() {
    let simulated = among(0, "10 Mbit/s", "0 %", "transport = \"vtp\"");
    assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete);
    let rows = rows(&simulated);
    let late = rows.iter().position(|row| row.arrival.is_none() || row.arrival > row.deadline);
    assert_eq!((rows.len(), late), (1_440, None));
    let levels: Vec<u8> = rows.iter().map(|row| row.level.unwrap()).collect();
    assert_eq!((levels[0], levels[1_439]), (0, 2));
    let summary = Summary::build(&Ledger::build(&simulated.logs[0], LIVE), &simulated.logs[0], &LIVE);
    assert_eq!(summary.levels.unwrap().switches, 2, "up, and up again");
    assert!(levels.chunks(12).all(|group| group.iter().all(|&level| level == group[0])), "in whole groups");
    let sent: u64 = rows.iter().map(|row| u64::from(row.size)).sum();
    assert_eq!(simulated.rates[0].last().unwrap().received_bytes, Some(sent));
}

#[test]
fn a_fixed_rate_follows_the_plan_to_the_end() {
    let simulated = among(0, "10 Mbit/s", "0 %", "transport = \"fixed\"");
    let rows = rows(&simulated);
    let (begin, end) = window(&rows);
    let (took, movie) = (end.saturating_since(begin).as_secs_f64(), 1_440.0 * 1_001.0 / 24_000.0);
    assert!((took / movie - 1.0).abs() < 0.02, "{took} s");
    assert!(rows.iter().all(|row| row.level == Some(2)), "the first packet is of the top level");
    assert!(simulated.rates[0].iter().all(|sample| sample.level.is_none_or(|level| level == 2)));
}

#[test]
fn among_connections_it_takes_part_of_the_link_and_never_less_than_its_lowest_level() {
    let simulated = among(7, "3 Mbit/s", "0 %", "transport = \"vtp\"");
    let (begin, end) = window(&rows(&simulated));
    let seconds = begin.as_nanos() / 1_000_000_000 + 1..end.as_nanos() / 1_000_000_000;
    let of = |flow: usize| connections(&simulated, flow).into_iter().map(|one| rate(&one, seconds.clone(), packets));
    let rates: Vec<f64> = of(0).chain(of(1)).collect();
    let sum: f64 = rates.iter().sum();
    assert!(rates.len() == 8 && (2.98..=3.001).contains(&sum), "{rates:?}");
    let share = rates[0] / (3.0 / 8.0);
    assert!((0.5..1.5).contains(&share), "{rates:?}");
    let sent: Vec<_> = simulated.rates[0].iter().filter(|sample| sample.sending_rate.is_some()).collect();
    let below: Vec<_> = sent.iter().filter(|sample| sample.sending_rate < sample.lowest_plan).collect();
    assert!(sent.len() > 100 && below.is_empty(), "the floor: {:?} of {}", below.first(), sent.len());
    assert!(sent.iter().all(|sample| sample.highest_plan > sample.lowest_plan));
}

#[test]
fn loss_takes_frames_and_the_counts_agree() {
    let simulated = among(0, "10 Mbit/s", "2 %", "transport = \"fixed\"");
    let rows = rows(&simulated);
    let lost = rows.iter().filter(|row| row.arrival.is_none()).count();
    // Nine packets in ten come two or three to a frame.
    assert!((30..130).contains(&lost), "{lost}");
    let summary = Summary::build(&Ledger::build(&simulated.logs[0], LIVE), &simulated.logs[0], &LIVE);
    let sent = simulated.logs[0].datagrams_sent.iter().filter(|datagram| datagram.frame.is_some()).count();
    let came = simulated.logs[0].datagrams_received.iter().count();
    assert_eq!(summary.packets_lost, Some((sent - came) as u32));
    let size: u64 = simulated.logs[0].datagrams_received.iter().map(|datagram| u64::from(datagram.size)).sum();
    let video = simulated.rates[0].last().unwrap().received_bytes.unwrap();
    assert_eq!(size - video, 60 * came as u64, "the header of a packet of video has 60 bytes");
}

#[test]
fn constants_of_vtp_are_the_flows() {
    let levels = |more: &str| -> Vec<Option<u8>> {
        let simulated = among(0, "10 Mbit/s", "0 %", &format!("transport = \"vtp\"\n{more}"));
        rows(&simulated).iter().map(|row| row.level).collect()
    };
    let top = |levels: &[Option<u8>]| levels.iter().position(|&level| level == Some(2)).unwrap_or(levels.len());
    let usual = levels("");
    assert_eq!(levels("alpha = \"0.83\"\nstep = \"1 kB\""), usual, "the library's");
    let (slow, fast) = (levels("alpha = \"0.99\""), levels("step = \"16 kB\""));
    assert!(top(&slow) > top(&usual) && top(&fast) < top(&usual), "{} {} {}", top(&slow), top(&usual), top(&fast));
}

#[test]
fn coarse_clocks_move_packets_to_ticks_and_leave_the_rate() {
    let run = |sender: u64, receiver: u64| {
        let ticks = format!("send_tick = \"{sender} ms\"\nreceive_tick = \"{receiver} ms\"");
        rows(&among(0, "10 Mbit/s", "0 %", &format!("transport = \"fixed\"\n{ticks}")))
    };
    let off_ticks = |rows: &[FrameRow]| {
        assert!(rows.iter().all(|row| row.arrival.is_some()), "nothing is lost");
        rows.iter().filter(|row| !row.arrival.unwrap().as_nanos().is_multiple_of(10_000_000)).count()
    };
    let (exact, coarse) = (run(0, 0), run(10, 10));
    assert!(off_ticks(&exact) > 1_000);
    assert_eq!(off_ticks(&coarse), 0);
    // Sent at ticks and seen exactly: a packet of at most 1,088 bytes takes 5 ms and less than one more.
    for row in run(10, 0) {
        let after = row.arrival.unwrap().as_nanos() % 10_000_000;
        assert!((5_000_000..10_000_000).contains(&after), "{after}");
    }
    let took = |rows: &[FrameRow]| {
        let (begin, end) = window(rows);
        end.saturating_since(begin).as_secs_f64()
    };
    assert!((took(&coarse) / took(&exact) - 1.0).abs() < 0.01, "{} {}", took(&coarse), took(&exact));
}

#[test]
fn a_wire_of_a_coarse_clock_lets_packets_out_at_its_ticks() {
    let text = format!(
        "movie.ladder = \"film.vtp\"\n{}tick = \"10 ms\"\n[[flow]]\ntransport = \"fixed\"\n",
        wire("10 Mbit/s", "0 %")
    );
    let simulated = run(&text);
    let arrivals: Vec<_> = simulated.logs[0].datagrams_received.iter().map(|datagram| datagram.at).collect();
    assert!(arrivals.len() > 1_440 && arrivals.iter().all(|at| at.as_nanos().is_multiple_of(10_000_000)));
}
