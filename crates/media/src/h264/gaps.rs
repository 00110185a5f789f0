//! Leave for gaps in `frame_num` (ITU-T H.264, 7.4.2.1.1), given in the parameter sets of a stream that is to have some.

use crate::access_unit::Framing;
use crate::h264::parameter_sets::gaps_allowed_flag;
use crate::h264::slice_header::nal_type;
use crate::nal::NalUnits;

/// In an `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15, 5.3.3.1): the byte with the number of sequence parameter sets,
/// each of which stands behind its length in two bytes.
const NUMBER_OF_SETS: usize = 5;

/// In the same: the byte whose last two bits are `lengthSizeMinusOne`.
const LENGTH_SIZE: usize = 4;

/// The bytes that the length before a NAL unit has at least where slices may become longer.
pub(crate) const MIN_LENGTH_SIZE: u8 = 3;

/// See [`allow_gaps`](crate::picture_order::allow_gaps).
pub(crate) fn allow_gaps(unit: &[u8], framing: Framing) -> Option<Vec<u8>> {
    // A longer slice may have no room: such a stream is left as it is.
    if matches!(framing, Framing::LengthPrefixed(..MIN_LENGTH_SIZE)) {
        return None;
    }
    // Parameter sets stand before the first slice (7.4.1.2.3).
    let is_slice = |nal: &&[u8]| nal.first().is_some_and(|header| (1..=5).contains(&(header & 0x1f)));
    set_flags(unit, || NalUnits::of(unit, framing).take_while(|nal| !is_slice(nal)))
}

/// See [`allow_gaps_in_configuration`](crate::picture_order::allow_gaps_in_configuration).
pub(crate) fn allow_gaps_in_configuration(codec_data: &[u8]) -> Option<Vec<u8>> {
    if codec_data.first() == Some(&0) {
        return allow_gaps(codec_data, Framing::ByteStream);
    }
    let (head, sets) = codec_data.split_at_checked(NUMBER_OF_SETS + 1)?;
    let (length_size, count) = ((head[LENGTH_SIZE] & 3) + 1, head[NUMBER_OF_SETS] & 0x1f);
    if length_size < MIN_LENGTH_SIZE {
        return None;
    }
    set_flags(codec_data, || NalUnits::of(sets, Framing::LengthPrefixed(2)).take(count.into()))
}

/// `bytes` with the flag set in those of its NAL units that are sequence parameter sets; `None` where nothing changes, and
/// where there are parameter sets of other layers or views, whose numbers have to stay.
fn set_flags<'a, Nals: Iterator<Item = &'a [u8]>>(bytes: &[u8], nals: impl Fn() -> Nals) -> Option<Vec<u8>> {
    let is_of_others =
        |nal: &[u8]| nal.first().is_some_and(|header| header & 0x1f == nal_type::SUBSET_SEQUENCE_PARAMETER_SET);
    if nals().any(is_of_others) {
        return None;
    }
    let mut changed: Option<Vec<u8>> = None;
    for nal in nals() {
        if let Some((at, mask)) = flag_to_set(nal) {
            let start = nal.as_ptr().addr() - bytes.as_ptr().addr();
            changed.get_or_insert_with(|| bytes.to_vec())[start + at] |= mask;
        }
    }
    changed
}

/// The byte of a sequence parameter set and the bit of it that are to change. `None` where gaps are allowed already, and
/// where an emulation prevention byte stands so near that it might no longer be needed (7.4.1): the size is to stay.
fn flag_to_set(nal: &[u8]) -> Option<(usize, u8)> {
    let (header, payload) = nal.split_first()?;
    if header & 0x1f != nal_type::SEQUENCE_PARAMETER_SET {
        return None;
    }
    let (at, mask) = gaps_allowed_flag(payload)?;
    let around = &payload[at.saturating_sub(3)..payload.len().min(at + 3)];
    let is_protected = around.windows(3).any(|bytes| bytes == [0, 0, 3]);
    (payload[at] & mask == 0 && !is_protected).then_some((1 + at, mask))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::h264::parameter_sets::SequenceParameterSet;
    use crate::nal_parameters::ParameterSet;

    /// Main profile, `frame_num` of four bits, order counts of four, two reference frames, 32x32, without and with gaps.
    const FORBIDDEN: &[u8] = &[0x67, 0x4d, 0x00, 0x1e, 0b1111_0110, 0b1001_0110, 0b0100_0000];
    const ALLOWED: &[u8] = &[0x67, 0x4d, 0x00, 0x1e, 0b1111_0111, 0b1001_0110, 0b0100_0000];
    const OTHERS: [&[u8]; 3] = [&[0x09, 0xf0], &[0x68, 0xce, 0x38, 0x80], &[0x65, 0xb8, 0x40]];

    fn unit(framing: Framing, nals: &[&[u8]]) -> Vec<u8> {
        let written = nals.iter().flat_map(|nal| match framing {
            Framing::ByteStream => [&[0, 0, 0, 1], *nal].concat(),
            Framing::LengthPrefixed(_) => [&(nal.len() as u32).to_be_bytes(), *nal].concat(),
        });
        written.collect()
    }

    #[test]
    fn the_flag_is_set_in_front_of_the_picture_and_nothing_else_changes() {
        let [delimiter, picture_set, slice] = OTHERS;
        for framing in [Framing::ByteStream, Framing::LengthPrefixed(4)] {
            let with = |set| unit(framing, &[delimiter, set, picture_set, slice, FORBIDDEN]);
            let changed = allow_gaps(&with(FORBIDDEN), framing).expect("gaps were forbidden");
            assert_eq!(changed, with(ALLOWED), "behind a slice no parameter set is looked for");
            assert_eq!(allow_gaps(&changed, framing), None, "they are allowed already");
            assert_eq!(allow_gaps(&unit(framing, &OTHERS), framing), None);
        }
        let flag = |nal: &[u8]| SequenceParameterSet::parse(&nal[1..]).map(|set| set.gaps_allowed);
        assert_eq!([flag(FORBIDDEN), flag(ALLOWED)], [Ok(false), Ok(true)]);
    }

    #[test]
    fn it_is_set_in_a_configuration_too() {
        let record = |set: &[u8]| {
            let sets = [&[0, set.len() as u8], set].concat();
            // Two sequence parameter sets and a picture parameter set, which is none though it looks like one.
            let pictures = [&[1, 0, FORBIDDEN.len() as u8], FORBIDDEN].concat();
            [&[1, 0x4d, 0, 0x1e, 0xff, 0xe2][..], &sets, &sets, &pictures].concat()
        };
        assert_eq!(allow_gaps_in_configuration(&record(FORBIDDEN)), Some(record(ALLOWED)));
        assert_eq!(allow_gaps_in_configuration(&record(ALLOWED)), None);
        let stream = |set| unit(Framing::ByteStream, &[set, OTHERS[1]]);
        assert_eq!(allow_gaps_in_configuration(&stream(FORBIDDEN)), Some(stream(ALLOWED)));
        assert_eq!(allow_gaps_in_configuration(&[]), None);
    }

    #[test]
    fn streams_whose_numbers_stay_keep_their_parameter_sets_in_band_and_out_of_band() {
        let record = |length_size: u8, sets: &[&[u8]]| {
            let head = [1, 0x4d, 0, 0x1e, 0xfc | (length_size - 1), 0xe0 | sets.len() as u8];
            let sets = sets.iter().flat_map(|set| [&[0, set.len() as u8], *set].concat());
            [&head[..], &sets.collect::<Vec<u8>>(), &[0]].concat()
        };
        // Type 1 of order counts, with two steps: 0 and 1, or the same twice.
        let of_steps = |steps: &str| {
            let bits = format!("1 1 010 1 1 1 011 {steps} 010 0 010 010 1 1 0 0 1");
            let bits: Vec<bool> = bits.bytes().filter(|bit| *bit != b' ').map(|bit| bit == b'1').collect();
            let byte = |bits: &[bool]| (0..8).fold(0, |all, at| all << 1 | u8::from(bits.get(at) == Some(&true)));
            [&[0x67, 0x4d, 0, 0x1e][..], &bits.chunks(8).map(byte).collect::<Vec<u8>>()].concat()
        };
        let (same, differing) = (of_steps("010 010"), of_steps("1 010"));
        let of_others: &[u8] = &[0x6f, 0x76, 0, 0x1e, 0xf6];
        let cases: [(&[&[u8]], u8, bool); 6] = [
            (&[FORBIDDEN], 4, true),
            (&[FORBIDDEN], 3, true),
            (&[FORBIDDEN], 2, false),
            (&[&same], 4, true),
            (&[&differing], 4, false),
            (&[FORBIDDEN, of_others], 4, false),
        ];
        for (sets, length_size, changes) in cases {
            assert_eq!(allow_gaps_in_configuration(&record(length_size, sets)).is_some(), changes, "{sets:x?}");
            let in_band = |sets: &[&[u8]]| {
                let length =
                    |set: &&[u8]| [&vec![0; usize::from(length_size) - 1], &[set.len() as u8][..], set].concat();
                sets.iter().flat_map(length).collect::<Vec<u8>>()
            };
            assert_eq!(
                allow_gaps(&in_band(sets), Framing::LengthPrefixed(length_size)).is_some(),
                changes,
                "{sets:x?}"
            );
            if length_size == 4 {
                let stream = unit(Framing::ByteStream, sets);
                assert_eq!(allow_gaps(&stream, Framing::ByteStream).is_some(), changes, "{sets:x?}");
            }
        }
    }

    #[test]
    fn a_set_whose_size_would_change_stays_as_it_is() {
        // Type 1 of order counts: a step of 2^20 - 1, of which 20 zero bits and the flag are in protected bytes.
        let bits = "1 1 010 1 1 1 010 000000000000000000001 00000000000000000000 010 0 010 010 1 1 0 0 1";
        let bits: Vec<bool> = bits.bytes().filter(|bit| *bit != b' ').map(|bit| bit == b'1').collect();
        let payload =
            bits.chunks(8).map(|byte| (0..8).fold(0, |all, at| all << 1 | u8::from(byte.get(at) == Some(&true))));
        let mut nal = vec![0x67, 0x4d, 0x00, 0x1e];
        nal.extend(payload);
        let set = SequenceParameterSet::parse(&nal[1..]).expect("it is well formed");
        assert!(!set.gaps_allowed);
        assert!(flag_to_set(&nal).is_some());
        let zeros = nal.windows(2).position(|bytes| bytes == [0, 0]).expect("it has a run of zeros");
        nal.insert(zeros + 2, 3);
        assert!(SequenceParameterSet::parse(&nal[1..]).is_ok_and(|read| read == set), "it was a protected set");
        assert_eq!(flag_to_set(&nal), None);
    }

    proptest! {
        #[test]
        fn of_any_bytes_only_flags_change(nal in prop::collection::vec(prop_oneof![Just(0u8), 0..4u8, any::<u8>()], 0..40)) {
            let nal = [&[0x67, 0x42], &nal[..]].concat();
            let read = |nal: &[u8]| SequenceParameterSet::parse(&nal[1..]).ok();
            let stream = unit(Framing::LengthPrefixed(4), &[&nal]);
            let changed = allow_gaps(&stream, Framing::LengthPrefixed(4));
            if let Some(changed) = changed {
                prop_assert_eq!(changed.len(), stream.len());
                let meant = read(&nal).map(|set| SequenceParameterSet { gaps_allowed: true, ..set });
                prop_assert!(read(&nal).is_none_or(|set| !set.gaps_allowed));
                prop_assert_eq!(read(&changed[4..]), meant);
            }
        }
    }
}
