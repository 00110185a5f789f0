use super::*;

/// As the element has them.
const PADS: Names = Names { level: "pad sink_", time: "max-size-time", bytes: "max-size-bytes" };

const LIMITS: Limits = Limits { time: Duration::from_secs(2), bytes: 10_000 };

fn frame(number: u64, key: Option<KeyKind>, size: usize) -> LevelFrame {
    LevelFrame { time: Some(Duration::from_millis(40 * number)), key, bytes: vec![number as u8; size].into() }
}

/// A key frame of a closed group each ten frames.
fn regular(number: u64, size: usize) -> LevelFrame {
    frame(number, number.is_multiple_of(10).then_some(KeyKind::Closed), size)
}

fn levels(numbers: &[u32]) -> Alignment {
    let mut alignment = Alignment::new(LIMITS);
    assert!(numbers.iter().all(|&number| alignment.add(number)));
    alignment
}

/// The first error of pushing these.
fn refused(alignment: &mut Alignment, frames: impl IntoIterator<Item = (u32, LevelFrame)>) -> Misaligned {
    let mut results = frames.into_iter().map(|(number, frame)| alignment.push(number, frame));
    results.find_map(Result::err).expect("the levels are not aligned")
}

#[test]
fn rows_have_the_levels_in_the_order_of_their_numbers_whoever_comes_first() {
    let mut alignment = levels(&[7, 2]);
    assert_eq!(alignment.push(7, regular(0, 30)), Ok(vec![]));
    assert_eq!(alignment.push(7, regular(1, 31)), Ok(vec![]));
    let rows = alignment.push(2, regular(0, 20)).unwrap();
    let sizes: Vec<_> = rows.iter().map(|row| row.levels.iter().map(Bytes::len).collect::<Vec<_>>()).collect();
    assert_eq!((sizes, rows[0].key), (vec![vec![20, 30]], true));
    assert!(!alignment.push(2, regular(1, 21)).unwrap()[0].key);
    assert_eq!(alignment.waiting(), (0, 0));
    assert!(!alignment.add(3) && !alignment.remove(2), "the levels are what they are once rows came out");
}

#[test]
fn the_stream_begins_where_all_levels_have_a_closed_group_at_one_time() {
    let mut alignment = levels(&[0, 1]);
    for number in 3..25 {
        assert_eq!(alignment.push(0, regular(number, 1)), Ok(vec![]), "frame {number}");
    }
    let mut rows = vec![];
    for number in 15..25 {
        rows.extend(alignment.push(1, regular(number, 1)).unwrap());
    }
    let times: Vec<_> = rows.iter().filter_map(|row| row.time).collect();
    assert_eq!(times, (20..25).map(|number| Duration::from_millis(40 * number)).collect::<Vec<_>>());
    assert_eq!(alignment.skipped(), 17 + 5);
}

#[test]
fn a_key_frame_at_one_level_only_is_told_with_level_and_frame() {
    let mut alignment = levels(&[0, 1]);
    let mut frames: Vec<_> = (0..8).flat_map(|number| [(0, regular(number, 1)), (1, regular(number, 1))]).collect();
    frames[2 * 7 + 1].1.key = Some(KeyKind::Closed);
    let expected = Misaligned::Key { number: 1, first: 0, frame: 7, here: Some(KeyKind::Closed), there: None };
    let told = refused(&mut alignment, frames);
    assert_eq!(told, expected);
    let text = told.words(&PADS);
    assert!(text.contains("sink_1, frame 7") && text.contains("no key frame at pad sink_0"), "{text}");
    assert!(text.contains("allowed are levels with the same key frames"), "{text}");
}

#[test]
fn times_may_differ_by_less_than_a_millisecond() {
    for (micros, fits) in [(0, true), (999, true), (1_000, false), (40_000, false)] {
        let mut alignment = levels(&[0, 1]);
        let late = |number: u64| {
            let mut late = regular(number, 1);
            late.time = late.time.map(|time| if number == 5 { time + Duration::from_micros(micros) } else { time });
            late
        };
        let pushed = (0..9).try_for_each(|number| {
            alignment.push(0, regular(number, 1))?;
            alignment.push(1, late(number)).map(|_| ())
        });
        match pushed {
            Ok(()) => assert!(fits, "{micros} µs"),
            Err(Misaligned::Time { number: 1, first: 0, frame: 5, .. }) => assert!(!fits, "{micros} µs"),
            Err(other) => panic!("{micros} µs: {other:?}"),
        }
    }
}

#[test]
fn without_time_stamps_frames_are_aligned_by_their_number() {
    let mut alignment = levels(&[0, 1]);
    let timeless = |number| LevelFrame { time: None, ..regular(number, 1) };
    for number in 0..25 {
        assert_eq!(alignment.push(0, timeless(number)), Ok(vec![]));
        assert_eq!(alignment.push(1, timeless(number)).unwrap().len(), 1);
    }
    let told = refused(&mut alignment, [(0, timeless(25)), (1, regular(25, 1))]);
    assert!(matches!(told, Misaligned::Time { number: 1, frame: 25, .. }), "{told:?}");
}

#[test]
fn a_level_that_ends_early_is_told() {
    let mut alignment = levels(&[0, 1]);
    for number in 0..3 {
        alignment.push(0, regular(number, 1)).unwrap();
        alignment.push(1, regular(number, 1)).unwrap();
    }
    assert_eq!(alignment.end(1), Ok(false));
    let told = refused(&mut alignment, [(0, regular(3, 1))]);
    assert_eq!(told, Misaligned::Ended { number: 1, first: 0, frame: 3 });
    let mut alignment = levels(&[0, 1]);
    for number in [0, 1] {
        alignment.push(number, regular(0, 1)).unwrap();
    }
    assert_eq!((alignment.end(0), alignment.end(1)), (Ok(false), Ok(true)));
}

#[test]
fn a_level_that_lags_is_told_before_memory_is_full() {
    let mut by_time = levels(&[0, 1]);
    let told = refused(&mut by_time, (0..1_000).map(|number| (0, regular(number, 1))));
    assert_eq!(told, Misaligned::Behind { number: 1, first: 0, frame: 0, frames: 52, limits: LIMITS });
    let text = told.words(&PADS);
    assert!(text.contains("sink_1, frame 0") && text.contains("max-size-time (2s)"), "{text}");
    let mut by_bytes = levels(&[0, 1]);
    let told = refused(&mut by_bytes, (0..1_000).map(|number| (0, regular(number, 999))));
    assert!(matches!(told, Misaligned::Behind { frames: 11, .. }), "{told:?}");
}

#[test]
fn after_a_break_levels_find_each_other_again() {
    let mut alignment = levels(&[0, 1]);
    for number in 0..5 {
        alignment.push(0, regular(number, 1)).unwrap();
        alignment.push(1, regular(number, 1)).unwrap();
    }
    alignment.push(0, regular(5, 1)).unwrap();
    alignment.begin_again();
    assert_eq!(alignment.waiting(), (0, 0));
    let mut rows = 0;
    for number in 103..115 {
        rows += alignment.push(0, regular(number, 1)).unwrap().len();
        rows += alignment.push(1, regular(number, 1)).unwrap().len();
    }
    assert_eq!(rows, 5, "from frame 110 on");
}
