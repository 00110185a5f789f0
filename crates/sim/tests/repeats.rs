//! What an adaptive stream of a scenario sends again, and that the ledger agrees with the client on what came of it.

use crate::common;
use std::collections::BTreeMap;

use common::{LIVE, ladder_content, ladder_with_audio, scenario};
use framewire_media::audio::{AudioCodec, AudioFormat, AudioPacket, AudioTrack};
use framewire_recording::ledger::{Fate, Ledger};
use framewire_recording::record::{FlowLog, FlowStatus};
use framewire_recording::summary::Summary;
use framewire_sim::{Content, Options, Received, Simulated, Simulation};
use framewire_units::{Duration, Playout, Seed};

fn run(text: &str, content: &Content) -> Simulated {
    let options = Options { packets: true, received: Received::Memory, ..Options::default() };
    Simulation::run(&scenario(text), content, &options).unwrap()
}

fn text(seed: u64, rate_kbps: u64, delay_ms: u64, loss_percent: f64, startup_ms: u64, transports: &[&str]) -> String {
    let flow = |transport: &&str| format!("[[flow]]\ntransport = \"{transport}\"\n");
    format!(
        "seed = {seed}\nmovie.ladder = \"l.vtp\"\n[network]\nkind = \"wired\"\n[network.wire]\n\
         rate = \"{rate_kbps} kbit/s\"\ndelay = \"{delay_ms} ms\"\nqueue = \"50 packets\"\n\
         loss = \"{loss_percent} %\"\n[playout]\nstartup = \"{startup_ms} ms\"\n{}",
        transports.iter().map(flow).collect::<String>()
    )
}

/// Datagrams that carry what another one before them carried.
fn sent_again(log: &FlowLog) -> usize {
    let mut copies: BTreeMap<_, usize> = BTreeMap::new();
    let sent = log.datagrams_sent.iter();
    sent.filter_map(|datagram| datagram.frame.zip(datagram.part)).for_each(|key| *copies.entry(key).or_default() += 1);
    copies.values().map(|copies| copies - 1).sum()
}

/// What must hold of a stream whatever its network does: each frame has one fate, and client and ledger agree on it.
fn check(simulated: &Simulated, playout: Playout) -> Vec<(Ledger, Summary)> {
    let flows = simulated.logs.iter().zip(&simulated.outcomes).map(|(log, outcome)| {
        let ledger = Ledger::build(log, playout);
        let summary = Summary::build(&ledger, log, &playout);
        let fates = summary.fates.unwrap();
        let (whole, all) = (fates.shown + fates.late + fates.undecodable, log.frames.len() as u32);
        assert_eq!(whole + fates.lost, all, "{}", log.flow);
        assert_eq!(framewire_world::contradiction(&summary, outcome), None, "{}", log.flow);
        if outcome.status == FlowStatus::Complete {
            let received = &outcome.received;
            assert_eq!((whole, fates.lost), (received.complete_frames, received.incomplete_frames), "{}", log.flow);
        }
        let kept = ledger.rows.iter().filter(|row| row.complete).map(|row| u64::from(row.size)).sum::<u64>();
        assert_eq!(kept, outcome.kept_bytes, "{}: the bytes of the movie as received", log.flow);
        (ledger, summary)
    });
    flows.collect()
}

#[test]
fn the_better_control_sends_again_what_was_lost_and_no_other_does() {
    let transports = ["vtp", "vtp-hybrid", "tfrc", "rap", "sqrt", "aimd", "fixed"];
    let simulated = run(&text(3, 4_000, 10, 3.0, 2_000, &transports), &ladder_content(30));
    let flows = check(&simulated, Playout { startup: Duration::from_secs(2), ..LIVE });
    for (log, (_, summary)) in simulated.logs.iter().zip(&flows) {
        let (again, lost) = (sent_again(log), summary.packets_lost.unwrap() as usize);
        let frames_lost = summary.fates.unwrap().lost;
        assert!(lost > 20, "{}", log.flow);
        if log.flow == "vtp-hybrid" {
            assert!((9 * lost / 10..=lost + 5).contains(&again), "{again} for {lost}");
            assert!(frames_lost <= 2, "{frames_lost} of 750");
            assert_eq!(flows[1].1.fates.unwrap().undecodable, 0);
        } else {
            assert_eq!(again, 0, "{}", log.flow);
            assert!(frames_lost as usize >= lost / 4, "{}: {frames_lost} frames for {lost} packets", log.flow);
        }
    }
}

/// With 4 s there and back, a repeat could not be in time; with a player that waits longer, it is.
#[test]
fn the_start_up_of_the_scenarios_player_decides_what_can_still_be_in_time() {
    for (startup_ms, comes) in [(3_000, false), (12_000, true)] {
        let simulated = run(&text(3, 4_000, 2_000, 1.0, startup_ms, &["vtp-hybrid"]), &ladder_content(30));
        let flows = check(&simulated, Playout { startup: Duration::from_millis(startup_ms), ..LIVE });
        let (again, lost) = (sent_again(&simulated.logs[0]), flows[0].1.packets_lost.unwrap() as usize);
        let frames_lost = flows[0].1.fates.unwrap().lost;
        assert!(lost > 5, "{lost}");
        assert_eq!(again * 2 > lost, comes, "{startup_ms} ms: {again} of {lost} again");
        assert_eq!(frames_lost < 4, comes, "{startup_ms} ms: {frames_lost} frames");
    }
}

/// Networks, seeds and players of all kinds, drawn once and for all.
#[test]
fn the_ledger_calls_nothing_whole_that_the_client_gave_up() {
    let mut draws = Seed(11).stream("networks", &[]);
    let mut between = |least: u64, most: u64| least + draws.next_u64() % (most - least);
    let mut late = 0;
    for _ in 0..48 {
        let (seed, rate, delay) = (between(0, 1_000_000), between(60, 3_000), between(1, 800));
        let (loss, startup) = (between(0, 450) as f64 / 10.0, between(100, 4_000));
        let text = text(seed, rate, delay, loss, startup, &["vtp-hybrid", "vtp"]);
        let simulated = run(&text, &ladder_content(8));
        check(&simulated, Playout { startup: Duration::from_millis(startup), ..LIVE });
        late += simulated.logs.iter().flat_map(|log| &log.datagrams_received).filter(|came| !came.kept).count();
    }
    assert!(late > 20, "{late} packets that came when their frames had been given up");
}

/// 64 kbit/s for 10 s: packets of 192 bytes, each 24 ms.
fn track() -> AudioTrack {
    let format = AudioFormat { codec: AudioCodec::Mp3, sample_rate: 48_000, channels: 2, pre_skip: 0 };
    let packet = |number: u32| AudioPacket {
        time: Duration::from_millis(24) * number,
        duration: Duration::from_millis(24),
        bytes: vec![7; 192].into(),
    };
    AudioTrack::new(format, (0..417).map(packet).collect()).unwrap()
}

/// Audio is carried beside the frames and belongs to none: it costs its bytes, and the ledger is that of the video.
#[test]
fn the_audio_of_a_ladder_is_carried_and_is_no_frame() {
    let with = Content::default().with_ladder("ladder.vtp", ladder_with_audio(10, Some(&track())));
    let playout = Playout { startup: Duration::from_secs(2), ..LIVE };
    for loss in [0.0, 5.0] {
        let text = text(5, 6_000, 10, loss, 2_000, &["vtp-hybrid", "vtp", "tfrc", "fixed"]);
        let (sound, silence) = (run(&text, &with), run(&text, &ladder_content(10)));
        let (flows, silent) = (check(&sound, playout), check(&silence, playout));
        for (log, ((ledger, summary), (_, without))) in sound.logs.iter().zip(flows.iter().zip(&silent)) {
            assert_eq!(ledger.rows.len(), 250, "{}", log.flow);
            let (audio, video): (Vec<_>, Vec<_>) =
                log.datagrams_sent.to_vec().into_iter().partition(|sent| sent.frame.is_none());
            let again = if log.flow == "vtp-hybrid" { 417..=417 + audio.len() / 10 } else { 417..=417 };
            assert!(again.contains(&audio.len()), "{}: {} packets of audio", log.flow, audio.len());
            assert!(video.iter().all(|sent| sent.frame < Some(250)));
            assert_eq!(summary.packets_sent, Some(log.datagrams_sent.len() as u32));
            let rate = |of: &Summary| of.packet_throughput_bps.unwrap();
            if loss == 0.0 {
                assert!(ledger.rows.iter().all(|row| row.fate == Fate::Shown), "{}", log.flow);
            }
            if loss == 0.0 && log.flow == "fixed" {
                // 252 bytes with the header of VTP, each 24 ms.
                let more = (rate(summary) - rate(without)) / 1e3;
                assert!((more - 84.0).abs() < 2.0, "{more} kbit/s for the audio");
            }
        }
    }
}
