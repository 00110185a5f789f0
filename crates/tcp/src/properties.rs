//! What holds whatever the network does: everything written is read exactly once, both sides finish, and the counts of
//! what is in flight are those of a recount.

#[allow(unreachable_pub, reason = "the tests of the crate have it too")]
#[path = "../tests/common/mod.rs"]
mod common;

use common::{Fate, Lane, Pipe};
use framewire_units::{Bitrate, DataSize, Duration, Ecn, Timestamp};
use proptest::prelude::*;

use crate::congestion::Algorithm;
use crate::{Flags, SackBlock, SackBlocks, Segment, TcpConfig, TimestampsOption};

/// What a direction does to its packets, in turn and over again; `u8` per packet.
fn script(fates: Vec<u8>) -> common::Script {
    Box::new(move |number, _| match fates[number as usize % fates.len()] {
        0..=39 => Fate::Drop,
        40..=69 => Fate::Late(Duration::from_millis(number % 60)),
        70..=89 => Fate::Twice(Duration::from_millis(number % 35)),
        _ => Fate::Pass,
    })
}

/// The times of dropping are a prime number of packets long, so that no packet is dropped every time.
fn fates() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(vec![255; 1]),
        proptest::collection::vec(90u8.., 31..32).prop_map(|mut fates| {
            fates[7] = 0;
            fates
        }),
        proptest::collection::vec(any::<u8>(), 61..62),
        proptest::collection::vec(any::<u8>(), 997..998),
    ]
}

fn configs() -> impl Strategy<Value = TcpConfig> {
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    let buffer = prop::option::of((20_000u64..200_000).prop_map(DataSize::from_bytes));
    (any::<[bool; 6]>(), algorithm, buffer.clone(), buffer).prop_map(
        |([sack, timestamps, window_scaling, ecn, no_delay, exact], congestion, send_buffer, receive_buffer)| {
            let timer_tick = if exact { Duration::ZERO } else { Duration::from_millis(4) };
            let defaults = TcpConfig { congestion, send_buffer, receive_buffer, timer_tick, ..TcpConfig::default() };
            TcpConfig { sack, timestamps, window_scaling, ecn, no_delay, ..defaults }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives_once_and_both_sides_finish(
        configs in (configs(), configs()),
        fates in (fates(), fates()),
        bytes in (0u64..2_000_000, 0u64..300_000),
        queue in 5usize..200,
        rtt in 0u64..200,
        pace in prop::option::of((1u64..40, 1u64..9_000)),
    ) {
        let delay = Duration::from_millis(rtt) / 2;
        let forward = Lane::new(Some(Bitrate::from_mbps(10)), queue, delay);
        let back = Lane::new(Some(Bitrate::from_mbps(5)), queue, delay);
        let mut pipe = Pipe::between(&configs.0, &configs.1, forward, back);
        for (end, (bytes, fates)) in [(bytes.0, fates.0), (bytes.1, fates.1)].into_iter().enumerate() {
            pipe.lanes[end].script = script(fates);
            pipe.applications[end].to_write = bytes;
            pipe.applications[end].finishes = true;
        }
        pipe.applications[0].pace = pace.map(|(millis, size)| (Duration::from_millis(millis), size));
        pipe.watch = Some(Box::new(|_, ends| {
            for end in ends {
                end.check();
                assert!(end.readable() == 0, "the application has read what there was");
            }
        }));
        // Half of all packets may be lost: the backed-off timer decides how long that takes.
        pipe.run(Timestamp::from_secs(40_000));
        for end in 0..2 {
            let endpoint = &pipe.ends[end];
            let failed = pipe.ends.iter().any(|endpoint| endpoint.has_failed());
            prop_assert!(pipe.applications[1 - end].read <= pipe.applications[end].written);
            if !failed {
                prop_assert!(endpoint.is_done(), "end {end}: {:?}", endpoint.info());
                prop_assert!(endpoint.has_ended());
                prop_assert_eq!(pipe.applications[1 - end].read, pipe.applications[end].written);
                prop_assert_eq!(endpoint.queued(), DataSize::ZERO);
                prop_assert_eq!(endpoint.info().in_flight, 0);
            }
        }
    }
}

/// A number near one that matters.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..4, 0u64..200_000, Just((1 << 62) - 1), 0u64..1 << 30, any::<u64>()]
}

fn segments() -> impl Strategy<Value = Segment> {
    let blocks = proptest::collection::vec((number(), number()), 0..4);
    let numbers = (number(), prop_oneof![Just(0u32), 1u32..3_000, 1u32..65_536, any::<u32>()], number(), number());
    (numbers, any::<[bool; 9]>(), blocks, prop::option::of((number(), number())), prop::option::of(any::<u32>()))
        .prop_map(|((sequence, payload, acknowledgement, window), bits, blocks, timestamps, maximum_segment)| {
            let [syn, ack, fin, ece, cwr, push, sack_permitted, window_scale, marked] = bits;
            let mut sack = SackBlocks::default();
            blocks.iter().for_each(|&(start, end)| sack.push(SackBlock { start, end }));
            Segment {
                sequence,
                payload,
                acknowledgement,
                flags: Flags { syn, ack, fin, ece, cwr, ae: marked ^ cwr, push, sack_permitted, window_scale },
                window,
                maximum_segment,
                timestamps: timestamps.map(|(value, echo)| TimestampsOption { value, echo }),
                sack,
                ecn: if marked { Ecn::Ce } else { Ecn::NotEct },
                ..Segment::default()
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever arrives, nothing panics, and what is kept stays within the buffers.
    #[test]
    fn hostile_segments_do_no_harm(
        config in configs(),
        is_open in any::<bool>(),
        events in proptest::collection::vec((segments(), 0u64..400, 0u64..50_000), 1..120),
    ) {
        let lane = || Lane::new(None, usize::MAX, Duration::from_millis(10));
        let mut pipe = Pipe::new(&config, lane(), lane());
        if is_open {
            pipe.applications[0].to_write = 100_000;
            pipe.run(Timestamp::from_millis(25));
        }
        for (segment, wait, bytes) in events {
            for end in 0..2 {
                pipe.ends[end].handle_segment(pipe.now, &segment);
                pipe.ends[end].write(pipe.now, bytes);
                pipe.ends[end].check();
                let held = pipe.ends[end].queued().as_bytes();
                prop_assert!(held <= 8 << 20, "{held} bytes are held");
            }
            let next = pipe.now + Duration::from_millis(wait);
            pipe.run(next);
        }
    }
}
