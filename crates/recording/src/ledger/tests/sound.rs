//! Rows of sound stand behind those of the picture, with numbers, fates and delays of their own.

use framewire_units::Duration;

use crate::ledger::{Fate, Ledger};
use crate::record::{FlowStatus, FrameFacts, LossPlace};
use crate::summary::Summary;
use crate::testing::{DatagramFlow, Injected, LIVE, STALL, StreamFlow, movie, ms};

/// Three frames and four packets of sound, each of them due 24 ms after the one before it.
fn with_sound() -> Vec<FrameFacts> {
    let pictures = movie(&[1000; 3]);
    let sound = (0..4u32).map(|number| FrameFacts {
        track: 1,
        kind: 'A',
        size: 400,
        display_index: number,
        due: ms(24 * u64::from(number)),
        display_time: ms(24 * u64::from(number)).saturating_since(ms(0)),
        group_time: None,
        ..pictures[0].clone()
    });
    pictures.iter().cloned().chain(sound).collect()
}

const LOST: Injected = Injected::Dropped(LossPlace::Link, "retry limit");

#[test]
fn sound_is_lost_by_itself_and_harms_no_picture_nor_is_it_harmed() {
    let mut flow = DatagramFlow::new(with_sound());
    for frame in [0, 3, 4, 5, 1, 2, 6] {
        flow.send(frame, if matches!(frame, 1 | 4) { &[LOST] } else { &[] });
    }
    let ledger = Ledger::build(&flow.log, LIVE);
    let rows: Vec<_> = ledger.rows.iter().map(|row| (row.track, row.frame, row.fate)).collect();
    use Fate::{Lost, Shown, Undecodable};
    let pictures = [(0, 0, Shown), (0, 1, Lost), (0, 2, Undecodable)];
    let sound = [(1, 0, Shown), (1, 1, Lost), (1, 2, Shown), (1, 3, Shown)];
    assert_eq!(rows, [&pictures[..], &sound[..]].concat());
    let cause = ledger.rows[4].root_cause.clone().unwrap();
    assert_eq!((cause.place, cause.cause.as_str()), (LossPlace::Link, "retry limit"));

    let summary = Summary::build(&ledger, &flow.log, &LIVE);
    let (fates, of_sound) = (summary.fates.unwrap(), summary.sound.unwrap());
    assert_eq!((summary.frames, fates.shown, fates.lost, fates.undecodable), (Some(3), 1, 1, 1));
    assert_eq!((of_sound.fates.shown, of_sound.fates.lost, of_sound.longest_wait_ms), (3, 1, Some(0.0)));
    // Of the second datagram of a picture 0.1 ms later.
    assert_eq!(of_sound.latency_ms, Some([5.0; 3]));
    assert!((of_sound.apart_ms.unwrap() + 0.1).abs() < 1e-9, "{:?}", of_sound.apart_ms);
    let alone = DatagramFlow::new(movie(&[1000; 3])).log;
    assert_eq!(Summary::build(&Ledger::build(&alone, LIVE), &alone, &LIVE).sound, None);
}

/// What is late of the sound changes no jitter of the picture, and neither the other way round.
#[test]
fn delays_of_sound_are_its_own() {
    let arrivals = |sound: u64| {
        let mut flow = StreamFlow::new(with_sound());
        let mut total = 0;
        for (frame, at) in
            [(0, 10), (3, 10 + sound), (4, 40 + sound), (1, 60), (2, 90), (5, 200 + sound), (6, 210 + sound)]
        {
            flow.write(frame);
            total += u64::from(flow.log.frames[frame as usize].size);
            flow.read(total, ms(at));
        }
        let rows = Ledger::build(&flow.log, STALL).rows.to_vec();
        rows.iter().map(|row| (row.latency_nanos, row.jitter_nanos)).collect::<Vec<_>>()
    };
    let (early, late) = (arrivals(0), arrivals(5));
    assert_eq!(early[..3], late[..3]);
    assert_eq!((early[3], early[4].0), ((Some(10_000_000), None), Some(16_000_000)));
    // |D| = 6 ms: J = 6/16.
    assert_eq!(early[4].1, Some(375_000));
    assert_eq!(late[3].0, Some(15_000_000));
}

#[test]
fn sound_that_the_run_ended_before_was_not_offered() {
    let mut flow = StreamFlow::new(with_sound());
    flow.log.status = FlowStatus::Partial;
    flow.write(0);
    flow.write(3);
    flow.read(1400, ms(50));
    let ledger = Ledger::build(&flow.log, LIVE);
    assert_eq!(ledger.rows.iter().skip(3).map(|row| row.fate).collect::<Vec<_>>(), {
        let mut fates = vec![Fate::NotOffered; 4];
        fates[0] = Fate::Shown;
        fates
    });
    assert!(ledger.rows.iter().skip(4).all(|row| row.root_cause.is_none()));
}

#[test]
fn the_worst_second_says_how_far_sound_and_picture_are_apart() {
    // Two seconds: in the first one sound is 30 ms later than the picture in the mean, in the second 55 ms earlier.
    let pictures = movie(&[1000; 50]);
    let sound = (0..50u32).map(|number| FrameFacts {
        track: 1,
        kind: 'A',
        due: ms(40 * u64::from(number)),
        ..pictures[number as usize].clone()
    });
    let mut flow = DatagramFlow::new(pictures.iter().cloned().chain(sound).collect());
    let after = |millis| [Injected::Arrives(Duration::from_millis(millis)); 2];
    for frame in 0..100u32 {
        let (is_sound, second) = (frame >= 50, frame % 50 / 25);
        let odd = u64::from(frame % 2);
        let late = match (is_sound, second) {
            (true, 0) => 40,
            (true, _) => 5,
            (false, 0) => 10,
            // 60 ms in the mean of 25: 13 and 12 of them.
            (false, _) => 48 + 25 * odd,
        };
        flow.send(frame, &after(late));
    }
    let summary = Summary::build(&Ledger::build(&flow.log, STALL), &flow.log, &STALL);
    let of_sound = summary.sound.unwrap();
    let rows = Ledger::build(&flow.log, STALL).rows.to_vec();
    let mean = |track, from, to| {
        let of = rows.iter().filter(|row| row.track == track && (ms(from)..ms(to)).contains(&row.due));
        let latencies: Vec<f64> = of.map(|row| row.latency_nanos.unwrap() as f64 / 1e6).collect();
        latencies.iter().sum::<f64>() / latencies.len() as f64
    };
    let apart = mean(1, 1_000, 2_000) - mean(0, 1_000, 2_000);
    assert!((-57.0..-53.0).contains(&apart), "{apart}");
    assert!(mean(1, 0, 1_000) - mean(0, 0, 1_000) < 50.0);
    assert!((of_sound.apart_ms.unwrap() - apart).abs() < 1e-6, "{:?}", of_sound.apart_ms);
    let [median, ninety_fifth, longest] = of_sound.latency_ms.unwrap();
    assert!(median <= ninety_fifth && ninety_fifth <= longest && (39.0..42.0).contains(&longest), "{of_sound:?}");
}
