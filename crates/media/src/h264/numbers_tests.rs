//! Any numbers in any slice header: what is written is what was meant, and nothing else changes.

use proptest::prelude::*;

use super::*;
use crate::nal::RbspReader;

const SLICE_HEADER: u8 = 0x41;

#[derive(Debug)]
struct Slice {
    numbers: PictureNumbers,
    codes: [u32; 3],
    order: u32,
    is_field: bool,
    rest: Vec<u8>,
}

impl Slice {
    /// The payload, without emulation prevention bytes.
    fn payload(&self) -> Vec<u8> {
        let mut bits: Vec<bool> = vec![];
        let mut put = |value: u32, width: u32| bits.extend((0..width).rev().map(|bit| value >> bit & 1 == 1));
        for code in self.codes {
            let zeros = (code + 1).ilog2();
            put(0, zeros);
            put(code + 1, zeros + 1);
        }
        put(2, if self.numbers.separate_colour_planes { 2 } else { 0 });
        put(self.numbers.frame_num.into(), self.numbers.frame_num_bits.into());
        match (self.numbers.frames_only, self.is_field) {
            (true, _) => {}
            (false, false) => put(0, 1),
            (false, true) => put(0b11, 2),
        }
        put(self.order, self.numbers.order_bits.into());
        self.rest.iter().for_each(|&byte| put(byte.into(), 8));
        // rbsp_trailing_bits
        put(1, 1);
        bits.chunks(8)
            .map(|byte| (0..8).fold(0, |all, bit| all << 1 | u8::from(byte.get(bit) == Some(&true))))
            .collect()
    }

    fn unit(&self, framing: Framing) -> Vec<u8> {
        let mut nal = vec![SLICE_HEADER];
        escape(&self.payload(), &mut nal);
        let mut unit = match framing {
            Framing::ByteStream => vec![0, 0, 0, 1, 0x09, 0xf0, 0, 0, 1],
            Framing::LengthPrefixed(_) => vec![0, 0, 2, 0x09, 0xf0, 0, 0, nal.len() as u8],
        };
        if let Framing::LengthPrefixed(_) = framing {
            unit.splice(5..8, (nal.len() as u32).to_be_bytes()[1..].iter().copied());
        }
        unit.extend(nal);
        unit
    }
}

fn slices() -> impl Strategy<Value = Slice> {
    let small = prop_oneof![4 => 0u8..4, 1 => any::<u8>()];
    let widths = (4u8..=16, prop_oneof![Just(0u8), 4u8..=16], any::<[bool; 3]>());
    let codes = (prop_oneof![Just(0u32), 0u32..40_000], 0u32..10, 0u32..256);
    // Few bits that are set, so that many bytes are zero.
    let sparse = (any::<u32>(), any::<u32>(), any::<u32>()).prop_map(|(one, two, three)| one & two & three);
    (widths, codes, sparse.clone(), sparse, prop::collection::vec(small, 0..80)).prop_map(
        |((frame_num_bits, order_bits, flags), codes, frame_num, order, rest)| Slice {
            numbers: PictureNumbers {
                frame_num: low_bits(frame_num, frame_num_bits) as u16,
                frame_num_bits,
                order_bits,
                frames_only: flags[0],
                separate_colour_planes: flags[1],
                restarts: false,
                recovers: false,
            },
            codes: codes.into(),
            order: low_bits(order, order_bits),
            is_field: flags[2],
            rest,
        },
    )
}

fn framings() -> impl Strategy<Value = Framing> {
    prop_oneof![Just(Framing::ByteStream), Just(Framing::LengthPrefixed(3))]
}

fn shifts() -> impl Strategy<Value = Renumbering> {
    let order = prop_oneof![any::<i64>(), -40i64..40];
    (any::<u16>(), order).prop_map(|(frame_num, order)| Renumbering { frame_num, order })
}

proptest! {
    #[test]
    fn the_numbers_change_and_nothing_else(slice in slices(), by in shifts(), framing in framings()) {
        let unit = slice.unit(framing);
        let changed = renumber(&unit, framing, slice.numbers, by).expect("it has a slice");
        let nals: Vec<&[u8]> = NalUnits::of(&changed, framing).collect();
        prop_assert_eq!(nals[0], &[0x09, 0xf0]);
        prop_assert_eq!((nals.len(), nals[1][0]), (2, SLICE_HEADER));
        let order = (i64::from(slice.order).wrapping_add(by.order)) as u32;
        let meant = Slice {
            numbers: slice.numbers.renumbered(by),
            order: low_bits(order, slice.numbers.order_bits),
            rest: slice.rest.clone(),
            ..slice
        };
        let payload = meant.payload();
        let mut reader = RbspReader::new(&nals[1][1..]);
        let read: Vec<u8> = std::iter::from_fn(|| reader.bits(8).ok().map(|byte| byte as u8)).collect();
        prop_assert_eq!(read, payload);
        // No three bytes that a NAL unit must not have (7.4.1).
        let is_forbidden = |bytes: &[u8]| bytes[..2] == [0, 0] && bytes[2] < 3;
        prop_assert!(!nals[1].windows(3).any(is_forbidden));
        prop_assert_eq!(changed, meant.unit(framing));
    }

    #[test]
    fn nothing_changes_by_zero_and_what_was_changed_can_be_changed_back(
        slice in slices(), by in shifts(), framing in framings()
    ) {
        let unit = slice.unit(framing);
        let same = renumber(&unit, framing, slice.numbers, Renumbering::default());
        prop_assert_eq!(same.as_ref(), Some(&unit));
        let changed = renumber(&unit, framing, slice.numbers, by).expect("it has a slice");
        let back = Renumbering { frame_num: by.frame_num.wrapping_neg(), order: by.order.wrapping_neg() };
        prop_assert_eq!(renumber(&changed, framing, slice.numbers, back), Some(unit));
    }

    #[test]
    fn any_bytes_are_left_alone_or_changed_in_their_slices(
        unit in prop::collection::vec(prop_oneof![3 => 0u8..4, 1 => any::<u8>()], 0..120), slice in slices(), by in shifts()
    ) {
        for framing in [Framing::ByteStream, Framing::LengthPrefixed(1), Framing::LengthPrefixed(4)] {
            if let Some(changed) = renumber(&unit, framing, slice.numbers, by) {
                let count = |unit: &[u8]| NalUnits::of(unit, framing).count();
                prop_assert_eq!(count(&changed), count(&unit));
            }
        }
    }
}

#[test]
fn neither_idr_pictures_nor_slices_that_are_cut_off_have_numbers_to_change() {
    let numbers = PictureNumbers {
        frame_num: 3,
        frame_num_bits: 8,
        order_bits: 8,
        frames_only: true,
        separate_colour_planes: false,
        restarts: false,
        recovers: false,
    };
    let by = Renumbering { frame_num: 1, order: 2 };
    let change = |unit: &[u8]| renumber(unit, Framing::ByteStream, numbers, by);
    assert_eq!(change(&[0, 0, 1, 0x65, 0xe0, 0x18, 0x20, 0x80]), None);
    assert_eq!(change(&[0, 0, 1, 0x41, 0xe0, 0x18]), None);
    // Three codes of one bit, then 3 and 4, which become 4 and 6.
    let (before, after) = ([0b1110_0000, 0b0110_0000, 0b1001_0000], [0b1110_0000, 0b1000_0000, 0b1101_0000]);
    assert_eq!(change(&[&[0, 0, 1, 0x41], &before[..]].concat()), Some([&[0, 0, 1, 0x41], &after[..]].concat()));
    assert_eq!(numbers.to_frame_num(1), 254);
}
