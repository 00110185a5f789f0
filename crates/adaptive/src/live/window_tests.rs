use framewire_units::{RandomStream, Seed};

use super::*;

const LIMITS: Limits = Limits { time: Duration::from_secs(2), bytes: 1_000_000 };
const FRAME: Duration = Duration::from_millis(40);

fn row(number: u32, group: u32, sizes: [usize; 2]) -> Row {
    let levels = sizes.map(|size| vec![number as u8; size].into()).into();
    Row { time: Some(FRAME * number), key: number.is_multiple_of(group), levels }
}

/// A window with these frames, a key frame each ten.
fn window(frames: u32) -> LiveSource {
    let source = LiveSource::new(1_000, LIMITS);
    source.set_interval(FRAME);
    for number in 0..frames {
        source.push(row(number, 10, [1_000, 2_000]));
    }
    source
}

#[test]
fn a_group_is_there_when_it_is_whole() {
    let source = window(10);
    assert!(!source.has_begun());
    assert_eq!((source.availability(0), source.beginning()), (Availability::NotYet, 0));
    assert_eq!(source.push(row(10, 10, [1, 2])), Taken::GroupComplete);
    assert!(source.has_begun());
    assert_eq!(source.availability(9), Availability::Ready);
    assert_eq!(source.availability(10), Availability::NotYet);
    source.end();
    assert_eq!(source.availability(10), Availability::Ready, "the end completes a group, too");
    assert_eq!(source.availability(11), Availability::End);
    assert_eq!((source.beginning(), source.is_switch_point(10), source.is_switch_point(9)), (10, true, false));
}

/// 10 frames of 1,000 and 2,000 bytes in 400 ms, less one frame interval, which here is a tenth: 360 ms.
#[test]
fn the_plan_is_the_rate_of_the_group_less_a_frame_interval() {
    let source = window(31);
    let rate = |bytes: u64| Bitrate::from_bps((bytes * 8 * 1_000).div_ceil(360));
    let place = FRAME * 15;
    assert_eq!([0, 1].map(|level| source.rate_at(level, place)), [rate(10_000), rate(20_000)]);
    assert_eq!(source.rate_at(1, FRAME * 4_000), rate(20_000), "beyond the end: the newest group");
    assert_eq!(source.group_size(), DataSize::from_bytes(20_000));
    // Of 25 frames, one interval is less than a tenth.
    let long = LiveSource::new(1_000, LIMITS);
    for number in 0..=25 {
        long.push(row(number, 25, [1_000, 2_000]));
    }
    assert_eq!(long.rate_at(0, Duration::ZERO), Bitrate::from_bps((25_000u64 * 8 * 1_000).div_ceil(960)));
}

#[test]
fn the_oldest_groups_go_and_the_window_is_bounded() {
    let source = window(1_001);
    let state = source.state();
    assert_eq!((state.frames, state.groups, state.time), (1_000, 5, Duration::from_secs(2)));
    assert_eq!(state.bytes, 5 * 10 * 3_000 + 3_000);
    assert_eq!(source.availability(949), Availability::Gone { next: 950 });
    assert_eq!((source.availability(950), source.beginning()), (Availability::Ready, 990));
    assert!(source.packet(949, 0, 0).is_err());
}

#[test]
fn packets_put_together_are_the_frame() {
    let source = LiveSource::new(700, LIMITS);
    let sizes = [0, 1, 699, 700, 701, 1_400, 5_000];
    for (number, size) in (0..).zip(sizes) {
        source.push(row(number, 100, [size, size]));
    }
    source.end();
    for (frame, size) in (0..).zip(sizes) {
        let mut bytes = vec![];
        for index in 0.. {
            let packet = source.packet(frame, 1, index).unwrap();
            assert!(packet.bytes.len() <= 700 && packet.key == (frame == 0));
            bytes.extend_from_slice(&packet.bytes);
            if packet.last {
                assert!(source.packet(frame, 1, index + 1).is_err());
                break;
            }
        }
        assert_eq!(bytes, vec![frame as u8; size]);
        assert!(source.packet(frame, 2, 0).is_err());
    }
}

#[test]
fn a_group_that_is_longer_than_the_window_is_given_up_to_the_next_key_frame() {
    let source = window(0);
    let taken: Vec<_> = (0..300).map(|number| source.push(row(number, 100, [10, 10]))).collect();
    assert_eq!(taken[51], Taken::GivenUp { frames: 52 });
    assert!(taken[52..100].iter().all(|&taken| taken == Taken::Skipped));
    assert_eq!(taken[100], Taken::Kept);
    assert_eq!((source.state().frames, source.state().frames_given_up), (0, 300));
    assert_eq!(source.availability(0), Availability::NotYet);
    // Groups that fit go on with the numbers.
    for number in 300..321 {
        source.push(row(number, 10, [10, 10]));
    }
    assert_eq!((source.state().frames, source.time_of(0)), (20, FRAME * 300));
}

/// Time begins again behind a break, and where it jumps; the stream's own goes on.
#[test]
fn time_goes_on_over_a_break() {
    let source = window(15);
    assert!(source.end_group());
    for number in 0..11 {
        source.push(row(number, 10, [10, 10]));
    }
    assert_eq!((source.time_of(14), source.time_of(15)), (FRAME * 14, FRAME * 15));
    assert_eq!(source.time_of(24), FRAME * 24);
    let jumped = LiveSource::new(1_000, Limits { time: Duration::from_secs(100_000), ..LIMITS });
    jumped.set_interval(FRAME);
    for number in (0..10).chain([100_000]) {
        jumped.push(row(number, 10, [1_000, 1_000]));
    }
    assert!(jumped.rate_at(0, Duration::ZERO) > Bitrate::from_kbps(200), "a jump is not the time of a group");
}

/// Without a frame rate in the caps, a jump behind the first group is not the time of its frames.
#[test]
fn a_jump_at_the_beginning_is_no_frame_interval() {
    // Beyond the last, the time of so many frames would be more than there is.
    let year = Duration::from_secs(31_557_600);
    for jump in [FRAME * 10, Duration::from_secs(3), Duration::from_secs(3_600), year * 137, year * 500] {
        let source = LiveSource::new(1_000, LIMITS);
        for number in 0..31 {
            let row = row(number, 10, [1_000, 2_000]);
            let time = row.time.map(|time| if number < 10 { time } else { time + jump });
            source.push(Row { time, ..row });
        }
        assert!(source.has_begun());
        assert_eq!(source.duration(), FRAME * ENDLESS, "a jump of {jump:?}");
        let rate = |bytes: u64| Bitrate::from_bps((bytes * 8 * 1_000).div_ceil(360));
        let rates = [10, 20].map(|frame| source.rate_at(0, FRAME * frame));
        assert_eq!(rates, [rate(10_000); 2], "a jump of {jump:?}");
    }
}

/// Where each frame is a group of its own, more of them have to come before it is known how far apart they are.
#[test]
fn a_jump_behind_the_first_frame_of_a_stream_of_key_frames_only_is_outvoted() {
    let year = Duration::from_secs(31_557_600);
    for jump in [Duration::ZERO, Duration::from_secs(3), year * 500] {
        let source = LiveSource::new(1_000, LIMITS);
        let push = |number: u32| {
            let time = FRAME * number + if number > 0 { jump } else { Duration::ZERO };
            source.push(Row { time: Some(time), ..row(number, 1, [1_000, 2_000]) })
        };
        (0..3).for_each(|number| assert_eq!(push(number) == Taken::GroupComplete, number > 0));
        assert!(!source.has_begun(), "a jump of {jump:?}");
        (3..20).for_each(|number| assert_eq!(push(number), Taken::GroupComplete));
        assert!(source.has_begun());
        assert_eq!(source.duration(), FRAME * ENDLESS, "a jump of {jump:?}");
    }
    // The end settles what there is, also where that is a jump only.
    let source = LiveSource::new(1_000, LIMITS);
    source.push(row(0, 1, [10, 10]));
    source.push(Row { time: Some(year * 500), ..row(1, 1, [10, 10]) });
    source.end();
    assert!(source.has_begun());
    assert_eq!((source.duration(), source.state().time), (FRAME * ENDLESS, FRAME * 2));
}

/// Whatever comes, memory is bounded, and what is there is in order.
#[test]
fn any_stream_keeps_the_bounds() {
    for seed in 0..50 {
        let mut random: RandomStream = Seed(seed).stream("rows", &[]);
        let source = LiveSource::new(1_000, LIMITS);
        for _ in 0..500 {
            let time =
                (random.next_inclusive(9) > 0).then(|| Duration::from_millis(random.next_inclusive(9_999).into()));
            let levels = [(); 2].map(|()| vec![0; random.next_inclusive(60_000) as usize].into()).into();
            source.push(Row { time, key: random.next_inclusive(9) == 0, levels });
            if random.next_inclusive(49) == 0 {
                source.end_group();
            }
            let state = source.state();
            assert!(state.bytes <= 3 * LIMITS.bytes, "{} bytes", state.bytes);
            let newest = source.beginning();
            assert!(state.frames == 0 || source.availability(newest) == Availability::Ready);
        }
    }
}
