//! Any numbers in any slice header: what is written is what was meant, and nothing else changes.

use proptest::prelude::*;

use super::*;
use crate::h264::Reader;
use crate::nal::RbspReader;
use crate::profile::UnitReader;

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
        prop_assert_eq!(payload_of(nals[1]), meant.payload());
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
            let Some(changed) = renumber(&unit, framing, slice.numbers, by) else { continue };
            let nals = |unit| NalUnits::of(unit, framing).map(<[u8]>::to_vec).collect::<Vec<_>>();
            let (before, after) = (nals(&unit), nals(&changed));
            prop_assert_eq!(after.len(), before.len());
            let mut slices = 0;
            for (before, after) in before.iter().zip(&after) {
                let Some(numbers) = slice.numbers.read(before) else {
                    prop_assert_eq!(before, after);
                    continue;
                };
                slices += 1;
                prop_assert_eq!(before[0], after[0]);
                let moved = slice.numbers.read(after).map(|moved| slice.numbers.difference(numbers, moved));
                let meant = Renumbering {
                    frame_num: low_bits(by.frame_num.into(), slice.numbers.frame_num_bits) as u16,
                    order: low_bits(by.order as u32, slice.numbers.order_bits).into(),
                };
                prop_assert_eq!(moved, Some(meant));
                let bare = |nal| slice.numbers.without_numbers(nal).map(|bare| without_closing_byte(payload_of(&bare)));
                prop_assert_eq!(bare(before), bare(after));
            }
            prop_assert!(slices > 0);
        }
    }
}

/// Bytes at random may end with a zero byte, as no NAL unit may; it is then closed, as one with a cabac_zero_word (7.4.1).
fn without_closing_byte(mut payload: Vec<u8>) -> Vec<u8> {
    if payload.ends_with(&[0, 3]) {
        payload.pop();
    }
    payload
}

/// The payload of a NAL unit without emulation prevention bytes.
fn payload_of(nal: &[u8]) -> Vec<u8> {
    let mut reader = RbspReader::new(&nal[1..]);
    std::iter::from_fn(|| reader.bits(8).ok().map(|byte| byte as u8)).collect()
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

#[test]
fn a_length_without_room_is_no_length() {
    let layout = PictureNumbers {
        frame_num: 0,
        frame_num_bits: 16,
        order_bits: 16,
        frames_only: true,
        separate_colour_planes: false,
        restarts: false,
        recovers: false,
    };
    // 255 bytes that need another one where the numbers become zero: three codes of one bit, and 0x1000 and 0x2000.
    let nal: Vec<u8> = [&[SLICE_HEADER, 0xe2, 0, 4, 0, 0x1f][..], &[0xff; 249]].concat();
    let unit: Vec<u8> = [&[255], &nal[..]].concat();
    let to_zero = layout.read(&nal).map(|numbers| layout.difference(numbers, SliceNumbers::default()));
    let to_zero = to_zero.expect("it has numbers");
    assert_eq!(renumber(&unit, Framing::LengthPrefixed(1), layout, to_zero), None);
    let wide: Vec<u8> = [&[0, 0, 0, 255], &nal[..]].concat();
    let changed = renumber(&wide, Framing::LengthPrefixed(4), layout, to_zero).expect("it has room");
    assert_eq!(changed[..4], [0, 0, 1, 0]);
}

/// Bits written as text, behind the header of a NAL unit.
fn nal(header: u8, bits: &str) -> Vec<u8> {
    let bits: Vec<bool> = bits.bytes().filter(|bit| *bit != b' ').map(|bit| bit == b'1').collect();
    let byte = |bits: &[bool]| (0..8).fold(0, |all, bit| all << 1 | u8::from(bits.get(bit) == Some(&true)));
    std::iter::once(header).chain(bits.chunks(8).map(byte)).collect()
}

/// Baseline at level 3, `order` from `log2_max_frame_num_minus4` to the type of picture order counts and what belongs to
/// it, one reference frame, 32x32 (7.3.2.1).
fn sequence_set(order: &str) -> Vec<u8> {
    let profile = "01000010 00000000 00011110 1";
    nal(0x67, &format!("{profile} {order} 010 0 010 010 1100 1"))
}

/// `log2_max_frame_num_minus4` and type 0, `log2_max_pic_order_cnt_lsb_minus4`.
const LOW_BITS: &str = "1 1 1";

/// The numbers of a key frame of a stream with these parameter sets, and what else stands before it.
fn numbers_of_key(framing: Framing, sequence: &[u8], order: &str, others: &[&[u8]]) -> Option<PictureNumbers> {
    let mut reader = Reader::new(framing);
    // Sequence set, no CABAC, the number of slice groups, entries of lists, weights, quantisers, flags (7.3.2.2).
    let picture_set = nal(0x68, "1 1 0 0 1 1 1 0 00 1 1 1 000 1");
    // An IDR picture: frame_num 0, idr_pic_id 0; and an I picture, frame_num 1.
    let idr = nal(0x65, &format!("1 0001000 1 0000 1 {} 00 1", order.replace('n', "0")));
    let key = nal(0x41, &format!("1 0001000 1 0001 {} 0 1", order.replace('n', "1")));
    let unit = |nals: &[&[u8]]| {
        let written = nals.iter().flat_map(|nal| match framing {
            Framing::ByteStream => [&[0, 0, 1], *nal].concat(),
            Framing::LengthPrefixed(width) => {
                [&(nal.len() as u32).to_be_bytes()[4 - usize::from(width)..], *nal].concat()
            }
        });
        written.collect::<Vec<u8>>()
    };
    let first = [&[sequence, &picture_set, &idr], others].concat();
    assert!(reader.read(0, &unit(&first)).is_ok());
    reader.read(1, &unit(&[&key])).expect("it is well formed").picture_order.expect("it has one").numbers
}

#[test]
fn a_stream_with_other_layers_or_without_room_has_no_numbers_to_change() {
    let set = sequence_set(LOW_BITS);
    let has = |framing, others: &[&[u8]]| numbers_of_key(framing, &set, "00n0", others).is_some();
    assert!(
        has(Framing::ByteStream, &[]) && has(Framing::LengthPrefixed(3), &[]) && has(Framing::LengthPrefixed(4), &[])
    );
    assert!(
        !has(Framing::LengthPrefixed(1), &[]) && !has(Framing::LengthPrefixed(2), &[]),
        "a slice of 65,535 bytes could not become longer"
    );
    // A prefix changes nothing; the parameter sets of other layers, and slices of theirs, do.
    assert!(has(Framing::ByteStream, &[&[0x6e, 0x80, 0, 7]]));
    for header in [0x6f, 0x74, 0x75] {
        assert!(!has(Framing::ByteStream, &[&[header, 0x80, 0, 7, 0x80]]), "{header:#x}");
    }
}

#[test]
fn where_steps_between_counts_differ_numbers_cannot_be_moved() {
    // Type 1: deltas are zero, two offsets of 0, and the steps of the cycle: ue and se of 1 to 4 (9.1).
    let has = |steps: &str| {
        let set = sequence_set(&format!("1 010 1 1 1 {steps}"));
        numbers_of_key(Framing::ByteStream, &set, "", &[]).is_some()
    };
    assert!(has("1") && has("010 00100") && has("011 00100 00100"));
    assert!(!has("011 00100 0001000"), "of every second frame the step is another");
    let type_2 = sequence_set("1 011");
    assert!(numbers_of_key(Framing::ByteStream, &type_2, "", &[]).is_some());
}
