use proptest::prelude::*;

use super::*;
use crate::testing;

/// Packet `index` of `frame`, of `of` packets.
fn packet(frame: u32, index: u16, of: u16) -> VideoHeader {
    let bytes = DataSize::from_bytes(2);
    VideoHeader { index, last: index + 1 == of, size: bytes, ..testing::video(frame) }
}

fn assembly() -> Assembly {
    Assembly::new(100, Duration::from_millis(40), 2, DataSize::from_bytes(1_000))
}

fn insert(assembly: &mut Assembly, frame: u32, index: u16, of: u16) -> Result<(), DropReason> {
    assembly.insert(Timestamp::ZERO, &packet(frame, index, of), &[frame as u8, index as u8])
}

/// What came out: (frame, bytes) of a whole one, (first, count) of lost ones as `Err`.
type Fate = Result<(u32, Vec<u8>), (u32, u32)>;

fn outputs(assembly: &mut Assembly) -> Vec<Fate> {
    std::iter::from_fn(|| assembly.poll())
        .map(|output| match output {
            Output::Whole(frame) => Ok((frame.frame, frame.bytes.to_vec())),
            Output::Lost { first, count } => Err((first, count)),
        })
        .collect()
}

#[test]
fn a_frame_comes_out_in_the_order_of_its_packets() {
    let mut assembly = assembly();
    for index in [2, 0, 1] {
        assert_eq!(outputs(&mut assembly), []);
        insert(&mut assembly, 0, index, 3).unwrap();
    }
    assert_eq!(outputs(&mut assembly), [Ok((0, vec![0, 0, 0, 1, 0, 2]))]);
    assert_eq!(assembly.used(), DataSize::ZERO);
}

#[test]
fn a_whole_frame_waits_for_those_before_it_and_not_for_long() {
    let mut assembly = assembly();
    insert(&mut assembly, 0, 0, 2).unwrap();
    insert(&mut assembly, 1, 0, 1).unwrap();
    insert(&mut assembly, 2, 0, 1).unwrap();
    assert_eq!(outputs(&mut assembly), []);
    insert(&mut assembly, 3, 0, 2).unwrap();
    assert_eq!(outputs(&mut assembly), [Err((0, 1)), Ok((1, vec![1, 0])), Ok((2, vec![2, 0]))]);
    assert_eq!(insert(&mut assembly, 0, 1, 2), Err(DropReason::Stale), "it was given up");
    assembly.flush();
    assert_eq!(outputs(&mut assembly), [Err((3, 97))]);
    assert!(assembly.is_done());
}

#[test]
fn packets_that_contradict_each_other_are_refused() {
    let mut assembly = assembly();
    insert(&mut assembly, 0, 1, 4).unwrap();
    assert_eq!(insert(&mut assembly, 0, 1, 4), Err(DropReason::Stale));
    let other_level = VideoHeader { level: 1, ..packet(0, 0, 4) };
    assert_eq!(assembly.insert(Timestamp::ZERO, &other_level, &[]), Err(DropReason::Inconsistent));
    assert_eq!(insert(&mut assembly, 0, 0, 1), Err(DropReason::Inconsistent), "the last before another");
    insert(&mut assembly, 0, 3, 4).unwrap();
    assert_eq!(insert(&mut assembly, 0, 4, 9), Err(DropReason::Inconsistent), "one after the last");
    assert_eq!(insert(&mut assembly, 0, 2, 3), Err(DropReason::Inconsistent), "a second last");
}

#[test]
fn without_room_older_frames_go_first_and_then_the_packet() {
    let mut assembly = Assembly::new(100, Duration::from_millis(40), 50, DataSize::from_bytes(3 * (PACKET_COST + 2)));
    for frame in 0..4 {
        insert(&mut assembly, frame, 0, 2).unwrap();
    }
    assert_eq!(outputs(&mut assembly), [Err((0, 1))]);
    insert(&mut assembly, 3, 1, 3).unwrap();
    insert(&mut assembly, 3, 2, 4).unwrap();
    assert_eq!(insert(&mut assembly, 3, 3, 4), Err(DropReason::NoRoom), "a frame larger than the memory");
}

/// Fifteen packets fit. Where they are repeated, what is new is refused before what is older is given up, and the frame that
/// all wait for has the last place.
#[test]
fn a_full_memory_that_waits_for_repeats_keeps_what_is_older() {
    let mut assembly = assembly();
    assembly.wait_for_repeats(i64::MIN);
    insert(&mut assembly, 0, 0, 2).unwrap();
    (1..=13).for_each(|frame| insert(&mut assembly, frame, 0, 1).unwrap());
    assert_eq!((insert(&mut assembly, 14, 0, 1), assembly.room(2)), (Err(DropReason::NoRoom), 0));
    assert_eq!(outputs(&mut assembly), []);
    insert(&mut assembly, 0, 1, 2).unwrap();
    let out = outputs(&mut assembly);
    assert!(out.iter().all(Result::is_ok) && out.len() == 14, "{out:?}");
    assert_eq!(assembly.room(2), 14);
    // Where they are not, what is older makes room.
    let mut assembly = Assembly::new(100, Duration::from_millis(40), 50, DataSize::from_bytes(1_000));
    insert(&mut assembly, 0, 0, 2).unwrap();
    (1..=14).for_each(|frame| insert(&mut assembly, frame, 0, 1).unwrap());
    insert(&mut assembly, 15, 0, 1).unwrap();
    assert_eq!(outputs(&mut assembly)[0], Err((0, 1)));
}

proptest! {
    /// Whatever comes in whatever order: memory stays in its bound, every frame comes out or is lost exactly once, in
    /// order, and what comes out is what went in.
    #[test]
    fn every_frame_has_one_fate(
        packets in proptest::collection::vec((0u32..30, 0u16..4, 1u16..4, any::<bool>()), 0..200),
        reorder in 0u32..6, room in 100u64..2_000,
    ) {
        let mut assembly = Assembly::new(30, Duration::from_millis(40), reorder, DataSize::from_bytes(room));
        let mut next = 0;
        let mut check = |assembly: &mut Assembly| {
            for output in outputs(assembly) {
                match output {
                    Ok((frame, bytes)) => {
                        assert_eq!(frame, next);
                        assert!(bytes.chunks(2).enumerate().all(|(index, part)| part == [frame as u8, index as u8]));
                        next += 1;
                    }
                    Err((first, count)) => {
                        assert!(first == next && count > 0);
                        next += count;
                    }
                }
            }
        };
        for (frame, index, of, fetch) in packets {
            let _ = insert(&mut assembly, frame, index, of);
            prop_assert!(assembly.used().as_bytes() <= room);
            if fetch {
                check(&mut assembly);
            }
        }
        assembly.flush();
        check(&mut assembly);
        prop_assert!(assembly.is_done() && assembly.used() == DataSize::ZERO);
        prop_assert_eq!(next, 30);
    }
}
