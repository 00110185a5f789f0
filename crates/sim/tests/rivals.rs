//! Adaptive streams and bulk connections as flows of a scenario.

use crate::common;
use common::{LIVE, content, ladder, ladder_content, ladder_of, movie, scenario, summaries};
use framewire_media::streaming_file::{PlanStep, StoredPlan};
use framewire_recording::ledger::{Fate, FrameRow, Ledger};
use framewire_recording::record::{FlowStatus, LossPlace};
use framewire_sim::{Content, EarlyEnd, Options, Received, Simulated, Simulation};
use framewire_units::{Bitrate, DataSize, Duration, Playout, Timestamp};

const ADAPTIVE: [&str; 7] = ["vtp", "vtp-hybrid", "tfrc", "rap", "sqrt", "aimd", "fixed"];

fn run(text: &str, content: &Content) -> Simulated {
    let options = Options { packets: true, received: Received::Memory, ..Options::default() };
    Simulation::run(&scenario(text), content, &options).unwrap()
}

fn wired(rate: &str, loss: &str) -> String {
    format!(
        "[network]\nkind = \"wired\"\n[network.wire]\nrate = \"{rate}\"\ndelay = \"10 ms\"\nqueue = \"50 packets\"\n\
         loss = \"{loss}\"\n[playout]\nstartup = \"2 s\"\n"
    )
}

#[test]
fn every_frame_has_one_fate_whatever_the_network_does() {
    let content = ladder_content(20);
    let ladder = ladder(20);
    for (seed, loss) in [(1, "0 %"), (2, "1 %"), (3, "8 %"), (4, "30 %")] {
        let mut text = format!("seed = {seed}\nmovie.ladder = \"l.vtp\"\n{}", wired("500 kbit/s", loss));
        ADAPTIVE.iter().for_each(|transport| text += &format!("[[flow]]\ntransport = \"{transport}\"\n"));
        let simulated = run(&text, &content);
        for ((log, outcome), summary) in simulated.logs.iter().zip(&simulated.outcomes).zip(summaries(&simulated)) {
            let flow = &log.flow;
            let fates = summary.fates.unwrap();
            let all = fates.shown + fates.late + fates.undecodable + fates.lost;
            assert_eq!((summary.frames, all), (Some(500), 500), "{flow}, {loss}");
            assert_eq!(framewire_world::contradiction(&summary, outcome), None, "{flow}, {loss}");
            let places = summary.places.unwrap();
            let known = places.sender_pipeline + places.link + places.intermediate_queue + places.receiver_pipeline;
            assert_eq!(known + places.sender_socket, fates.lost, "{flow}, {loss}");
            for row in &Ledger::build(log, LIVE).rows {
                let level = usize::from(row.level.unwrap_or(0));
                assert_eq!(u64::from(row.size), ladder_size(&ladder, level, row.frame), "{flow}, frame {}", row.frame);
                assert_eq!(row.level.is_some(), row.offered.is_some(), "{flow}, frame {}", row.frame);
                assert!(row.fate != Fate::Shown || row.bytes_received == u64::from(row.size));
            }
            let dropped = log
                .packets
                .iter()
                .filter(|packet| packet.forward && packet.sequence.is_some() && packet.dropped.is_some());
            assert_eq!(
                summary.packets_lost,
                Some(dropped.count() as u32),
                "{flow}, {loss}: on the link and in its queue"
            );
            assert!(loss == "0 %" || summary.packets_lost > Some(0), "{flow}, {loss}");
        }
    }
}

/// `vtp` reads equation 1 as its flow says, and nothing else of the run does.
#[test]
fn the_reading_of_equation_1_decides_whether_a_stream_climbs() {
    let levels = |more: &str| {
        let text =
            format!("movie.ladder = \"l.vtp\"\n{}[[flow]]\ntransport = \"vtp\"\n{more}\n", wired("20 Mbit/s", "0 %"));
        let simulated = run(&text, &ladder_content(20));
        Ledger::build(&simulated.logs[0], LIVE).rows.iter().map(|row| row.level).collect::<Vec<_>>()
    };
    let (usual, indices) = (levels(""), levels("estimate = \"k over k - 1\""));
    assert_eq!(levels("estimate = \"bytes over gaps\"\nestimate_header = 60"), usual, "all that a packet has");
    assert!([&usual, &indices].iter().all(|levels| levels.last() == Some(&Some(2))), "both climb to the top");
    assert_ne!(usual, indices, "not at the same time");
    assert!(levels("estimate_header = 0").iter().all(|&level| level == Some(0)), "samples are never above the rate");
}

fn ladder_size(ladder: &framewire_sim::LadderContent, level: usize, frame: u32) -> u64 {
    let source = ladder.source();
    let mut size = 0;
    for index in 0.. {
        let packet = source.packet(frame, level, index).unwrap();
        size += packet.bytes.len() as u64;
        if packet.last {
            break;
        }
    }
    size
}

#[test]
fn a_wide_link_shows_every_frame_from_the_top_level_it_climbed_to() {
    let text = format!(
        "movie.ladder = \"l.vtp\"\n{}[[flow]]\ntransport = \"fixed\"\n[[flow]]\ntransport = \"vtp\"\nstart = \"3 s\"\n",
        wired("20 Mbit/s", "0 %")
    );
    let simulated = run(&text, &ladder_content(20));
    let summaries = summaries(&simulated);
    let fixed = summaries[0].levels.unwrap();
    assert_eq!((fixed.mean, fixed.switches, summaries[0].fates.unwrap().shown), (Some(2.0), 0, 500));
    let vtp = summaries[1].levels.unwrap();
    assert!(vtp.mean.unwrap() > 0.5 && vtp.mean.unwrap() < 2.0 && vtp.switches >= 2, "{vtp:?}");
    assert_eq!(simulated.logs[1].frames.iter().next().unwrap().due, Timestamp::from_secs(3));
    assert!(simulated.logs[1].samples.iter().all(|sample| sample.at >= Timestamp::from_secs(3)));
    let last = simulated.logs[1].samples.iter().filter(|sample| sample.level.is_some()).last().unwrap();
    assert!(last.estimate.is_some() && last.sending_rate > Some(Bitrate::from_kbps(100)), "{last:?}");
    assert_eq!(simulated.outcomes.iter().filter(|outcome| outcome.status == FlowStatus::Complete).count(), 2);
    let kept: Vec<u64> = simulated.outcomes.iter().map(|outcome| outcome.kept_bytes).collect();
    let sent = |flow: usize| simulated.logs[flow].frames.iter().map(|frame| u64::from(frame.size)).sum::<u64>();
    assert_eq!(kept, [sent(0), sent(1)]);
    assert_eq!(simulated.movies[1].len() as u64, kept[1]);
}

/// A movie of 400 kbit/s at its top level whose plan sends 8 s of it in the first 4 s, and the rest in the other 16. Looked up
/// by the moment instead of by the frame, the frames from 4 s to 8 s would have the lower rate, and the end came 3.3 s late.
#[test]
fn on_a_link_without_fault_a_plan_that_jumps_has_every_frame_in_time_and_no_more_buffered_than_it_says() {
    let steps = |kbps: u64| {
        let step = |seconds, rate| PlanStep { start: Duration::from_secs(seconds), rate: Bitrate::from_kbps(rate) };
        vec![step(0, 2 * kbps), step(4, 3 * kbps / 4), step(20, 0)]
    };
    let startup = Duration::from_secs(1);
    let client_buffer = DataSize::from_bytes(250_000);
    let plan = StoredPlan { client_buffer, startup, levels: [100, 200, 400].map(steps).into() };
    let content = Content::default().with_ladder("ladder.vtp", ladder_of(&[500; 500], None, Some(plan)));
    // The server takes 20 to 53 ms to send a frame, of which the plan knows nothing.
    let startup = startup + Duration::from_millis(60);
    let network = wired("100 Mbit/s", "0 %").replace("2 s", &format!("{} ms", startup.as_millis()));
    let simulated = run(&format!("movie.ladder = \"l.vtp\"\n{network}[[flow]]\ntransport = \"fixed\"\n"), &content);
    let rows = Ledger::build(&simulated.logs[0], Playout { startup, ..LIVE }).rows.to_vec();
    let missed: Vec<_> = rows.iter().filter(|row| row.fate != Fate::Shown).map(|row| row.frame).collect();
    assert!(missed.is_empty() && rows.len() == 500, "{missed:?}");
    let buffered = |now: Timestamp| {
        let waits = |row: &&FrameRow| row.arrival <= Some(now) && row.deadline > Some(now);
        rows.iter().filter(waits).map(|row| u64::from(row.size)).sum::<u64>()
    };
    let most = rows.iter().map(|row| buffered(row.arrival.unwrap())).max().unwrap();
    // 8 s of the movie came, and 3 s of it were shown.
    assert!((245_000..=255_000).contains(&most), "{most} bytes");
}

#[test]
fn what_the_server_leaves_out_is_lost_in_the_senders_pipeline() {
    let text = format!("movie.ladder = \"l.vtp\"\n{}[[flow]]\ntransport = \"vtp-hybrid\"\n", wired("90 kbit/s", "0 %"));
    let simulated = run(&text, &ladder_content(30));
    let left_out = Ledger::build(&simulated.logs[0], LIVE)
        .rows
        .to_vec()
        .into_iter()
        .filter(|row| row.root_cause.as_ref().is_some_and(|cause| cause.cause == "left out by the server"));
    let left_out: Vec<_> = left_out.filter(|row| row.fate == Fate::Lost).collect();
    assert!(left_out.len() > 20, "{}", left_out.len());
    assert!(left_out.iter().all(|row| row.packets.is_none() && row.offered.is_some() && row.level.is_some()));
    assert!(left_out.iter().all(|row| row.discarded_at == Some(LossPlace::SenderPipeline)));
}

#[test]
fn bulk_connections_fill_a_link_and_keep_no_run_alive() {
    let text = format!(
        "layout = \"together\"\n{}[[flow]]\ntransport = \"bulk\"\nconnections = 3\nstart = \"1 s\"\nstop = \"3 s\"\n\
         [[flow]]\nname = \"other\"\ntransport = \"bulk\"\n[[flow]]\ntransport = \"tcp\"\n",
        wired("12 Mbit/s", "0 %")
    );
    let simulated = run(&text, &content(&movie(1.0, 4)));
    let summaries = summaries(&simulated);
    assert_eq!((summaries[0].frames, summaries[0].fates, summaries[0].shed_bytes), (None, None, None));
    assert_eq!(summaries[0].duration_s, Some(2.0));
    assert_eq!(summaries[2].frames, Some(100));
    let end = simulated.simulated.as_secs_f64();
    assert!(end > 3.9 && end < 12.0 && summaries[1].duration_s == Some(end), "{end}");
    let rate = |flow: usize| summaries[flow].packet_throughput_bps.unwrap() / 1e6;
    assert!(rate(0) > 4.0 && rate(0) < 11.0 && rate(1) > 2.0, "{} {}", rate(0), rate(1));
    let carried = rate(0) * 2.0 + rate(1) * end + 8.0 * simulated.outcomes[2].kept_bytes as f64 / 1e6;
    assert!(carried > 0.75 * 12.0 * (end - 0.5) && carried < 12.0 * end, "{carried} Mbit in {end} s");
    let connections: Vec<_> = simulated.logs[0].samples.iter().filter_map(|sample| sample.connection).collect();
    assert_eq!(connections.iter().max(), Some(&2));
    assert!(simulated.logs[1].samples.iter().all(|sample| sample.connection.is_none()));
    assert!(summaries[0].connection.srtt_mean_ms.unwrap() > 20.0);
    assert!(simulated.outcomes.iter().all(|outcome| outcome.status == FlowStatus::Complete));
}

#[test]
fn bulk_flows_alone_last_as_long_as_they_are_told_to_or_the_others_do() {
    let alone = format!("limit = \"4 s\"\n{}[[flow]]\ntransport = \"bulk\"\n", wired("8 Mbit/s", "0 %"));
    let simulated = run(&alone, &Content::default());
    assert_eq!((simulated.ended_by, simulated.simulated), (None, Duration::from_secs(4)));
    assert_eq!(simulated.outcomes[0].status, FlowStatus::Complete);
    let rate = summaries(&simulated)[0].packet_throughput_bps.unwrap() / 1e6;
    assert!(rate > 6.5 && rate < 7.8, "{rate}");
    let beside = format!("{}[[flow]]\ntransport = \"bulk\"\n[[flow]]\ntransport = \"tcp\"\n", wired("8 Mbit/s", "0 %"));
    let simulated = run(&beside, &content(&movie(1.0, 3)));
    let end = simulated.logs[0].bulk.unwrap().end;
    assert!(
        end > Timestamp::from_secs(2) && end < Timestamp::from_secs(4),
        "{end:?}: as long as the stream in its network"
    );
}

#[test]
fn the_time_limit_ends_streams_and_their_rest_was_not_offered() {
    let text = format!(
        "limit = \"8 s\"\nlayout = \"together\"\nmovie.ladder = \"l.vtp\"\n{}[[flow]]\ntransport = \"vtp\"\n\
         [[flow]]\ntransport = \"bulk\"\n[[flow]]\nname = \"late\"\ntransport = \"fixed\"\nstart = \"7.9 s\"\n",
        wired("2 Mbit/s", "0 %")
    );
    let simulated = run(&text, &ladder_content(20));
    assert_eq!(simulated.ended_by, Some(EarlyEnd::TimeLimit));
    assert_eq!(simulated.outcomes[0].status, FlowStatus::Partial);
    assert_eq!(simulated.logs[1].bulk.unwrap().end, Timestamp::from_secs(8));
    let rows = Ledger::build(&simulated.logs[0], LIVE).rows.to_vec();
    let offered = rows.iter().filter(|row| row.offered.is_some()).count();
    assert!(offered > 100 && offered < 400, "{offered}");
    assert!(rows[offered..].iter().all(|row| row.level.is_none() && row.fate == Fate::NotOffered));
    assert!(simulated.simulated < Duration::from_secs(20), "teardowns are sent, then it is over");
}

#[test]
fn a_ladder_needs_an_interface_that_takes_its_packets_and_a_run_its_ladder() {
    let small = "movie.ladder = \"l.vtp\"\n[[flow]]\ntransport = \"vtp\"\nmtu = 1000\n";
    let refused =
        |content: &Content| Simulation::run(&scenario(small), content, &Options::default()).err().unwrap().to_string();
    let error = refused(&ladder_content(2));
    assert!(error.contains("flow vtp: mtu = 1000") && error.contains("1088 bytes"), "{error}");
    let error = refused(&Content::default());
    assert!(error.contains("no ladder"), "{error}");
}
