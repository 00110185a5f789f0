use proptest::prelude::*;

use super::*;

fn insert(reassembly: &mut Reassembly, start: u64, end: u64) -> Arrival {
    reassembly.insert(start, end, 2304, |_| {})
}

fn blocks(reassembly: &mut Reassembly) -> Vec<(u64, u64)> {
    reassembly.take_blocks().map(|block| (block.start, block.end)).collect()
}

#[test]
fn the_most_recent_block_comes_first() {
    // RFC 2018, section 4, case 3 of its examples, with segments of 500 bytes from 5000.
    let mut reassembly = Reassembly::new(5000);
    assert_eq!(insert(&mut reassembly, 5000, 5500), Arrival::InOrder { filled_last_hole: false });
    for (start, told) in [
        (6000, vec![(6000, 6500)]),
        (7000, vec![(7000, 7500), (6000, 6500)]),
        (8000, vec![(8000, 8500), (7000, 7500), (6000, 6500)]),
    ] {
        assert!(matches!(insert(&mut reassembly, start, start + 500), Arrival::OutOfOrder { is_new: true, .. }));
        assert_eq!(blocks(&mut reassembly), told);
    }
    // The fourth packet comes late: it closes the hole below the second block.
    assert_eq!(insert(&mut reassembly, 6500, 7000), Arrival::OutOfOrder { is_new: true, blocks_before: 1 });
    assert_eq!(blocks(&mut reassembly), [(6000, 7500), (8000, 8500)]);
    assert_eq!(insert(&mut reassembly, 5500, 6000), Arrival::InOrder { filled_last_hole: false });
    assert_eq!(reassembly.next(), 7500);
    assert_eq!(blocks(&mut reassembly), [(8000, 8500)]);
    assert_eq!(insert(&mut reassembly, 7500, 8000), Arrival::InOrder { filled_last_hole: true });
    assert!(blocks(&mut reassembly).is_empty());
}

#[test]
fn a_duplicate_is_told_once_and_first() {
    // RFC 2883, section 4.1: a duplicate below the acknowledgement number, with and without holes.
    let mut reassembly = Reassembly::new(0);
    insert(&mut reassembly, 0, 1000);
    assert_eq!(insert(&mut reassembly, 0, 500), Arrival::Duplicate);
    assert_eq!(blocks(&mut reassembly), [(0, 500)]);
    assert!(blocks(&mut reassembly).is_empty());
    insert(&mut reassembly, 2000, 2500);
    insert(&mut reassembly, 500, 1000);
    assert_eq!(blocks(&mut reassembly), [(500, 1000), (2000, 2500)]);
    // Section 4.2: inside a block above it.
    assert_eq!(insert(&mut reassembly, 2000, 2500), Arrival::OutOfOrder { is_new: false, blocks_before: 0 });
    assert_eq!(blocks(&mut reassembly), [(2000, 2500), (2000, 2500)]);
    // Partly old: the old part only.
    insert(&mut reassembly, 800, 1400);
    assert_eq!(blocks(&mut reassembly)[0], (800, 1000));
    assert_eq!(reassembly.next(), 1400);
}

#[test]
fn what_is_given_up_is_not_told() {
    let mut reassembly = Reassembly::new(0);
    insert(&mut reassembly, 10, 20);
    insert(&mut reassembly, 30, 40);
    assert_eq!(reassembly.drop_last().map(|run| run.start), Some(30));
    assert!(blocks(&mut reassembly).is_empty());
    assert_eq!(reassembly.highest(), 20);
}

proptest! {
    /// Against a set of bytes: the next number, the runs, the delivered bytes, the charge; blocks never lie.
    #[test]
    fn agrees_with_a_set_of_bytes(arrivals in proptest::collection::vec((0u64..120, 1u64..20), 1..60)) {
        let mut reassembly = Reassembly::new(0);
        let mut model = [false; 160];
        let mut delivered = 0;
        for (start, length) in arrivals {
            let end = start + length;
            let mut expected = delivered;
            let arrival = reassembly.insert(start, end, 1, |run| {
                assert_eq!(run.start, expected);
                assert!(run.end >= run.start && run.packets > 0);
                expected = run.end;
            });
            delivered = expected;
            let is_new = (start..end).any(|byte| !model[byte as usize]);
            (start..end).for_each(|byte| model[byte as usize] = true);
            let next = model.iter().position(|&there| !there).unwrap_or(model.len()) as u64;
            prop_assert_eq!(reassembly.next(), next);
            prop_assert_eq!(delivered, next);
            match arrival {
                Arrival::Duplicate => prop_assert!(!is_new),
                Arrival::OutOfOrder { is_new: told, .. } => prop_assert_eq!(told, is_new),
                Arrival::InOrder { .. } => prop_assert!(is_new),
            }
            let mut last = next;
            for run in reassembly.runs() {
                prop_assert!(run.start > last && run.end > run.start);
                prop_assert!((last..run.start).all(|byte| !model[byte as usize]));
                prop_assert!((run.start..run.end).all(|byte| model[byte as usize]));
                last = run.end;
            }
            prop_assert!((last..160).all(|byte| !model[byte as usize]));
            let told: Vec<_> = reassembly.take_blocks().collect();
            prop_assert!(told.len() <= 1 + REMEMBERED_BLOCKS);
            for block in &told {
                prop_assert!((block.start..block.end).all(|byte| model[byte as usize]));
            }
            // The first block that is not a duplicate holds the segment, where it lies beyond a hole.
            if let Arrival::OutOfOrder { is_new: true, .. } = arrival {
                prop_assert!(told.iter().take(2).any(|block| block.start <= start && end <= block.end));
            }
        }
    }
}
