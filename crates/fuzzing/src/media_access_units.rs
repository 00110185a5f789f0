//! Any bytes as access units of any codec, in any framing, with any configuration: the reader never fails but by an
//! error, refers only back, and to no more than a decoder holds. Frames are put together of all that it read, in order.
//! With other numbers in its slices a unit has the same parts, and with gaps allowed the same size.

use framewire_media::access_unit::{AccessUnitReader, AssembledFrame, Codec, FrameAssembler, FramePart, Framing};
use framewire_media::picture_order::{PictureNumbers, Renumbering, allow_gaps, renumber};

/// 16 frames of two fields, frames left by commands that were lost, and one more.
const MOST_REFERENCES: usize = 2 * 16 + 33;

pub(crate) fn run(data: &[u8]) {
    let Some(input) = crate::decoded::<(u8, u8, Vec<u8>, Vec<Vec<u8>>)>(data) else { return };
    let (codec, framing, configuration, units) = input;
    let codec = Codec::ALL[usize::from(codec) % Codec::ALL.len()];
    let framing = match framing % 5 {
        0 => Framing::ByteStream,
        bytes => Framing::LengthPrefixed(bytes),
    };
    let Ok(mut reader) = AccessUnitReader::new(codec, framing) else { return };
    let _ = reader.configure(&configuration);
    let mut assembler = FrameAssembler::default();
    let (mut read_units, mut assembled) = (vec![], vec![]);
    for (number, unit) in units.iter().enumerate() {
        if let Some(changed) = allow_gaps(unit, framing) {
            assert_eq!((changed.len(), allow_gaps(&changed, framing)), (unit.len(), None));
        }
        let Ok(read) = reader.read(unit) else { continue };
        match read.part {
            // Both fields have the number of the first one.
            FramePart::SecondField => assert!(read.number < number as u64),
            FramePart::Whole | FramePart::FirstField => assert_eq!(read.number, number as u64),
        }
        assert!(read.references.is_sorted_by(|one, other| one < other));
        assert!(read.references.iter().all(|&other| other < read.number));
        assert!(read.references.len() <= MOST_REFERENCES);
        if let Some(numbers) = read.picture_order.and_then(|order| order.numbers) {
            check_other_numbers(unit, framing, numbers);
        }
        read_units.push(number);
        assembled.extend(assembler.take(read, number).into_iter().flatten());
    }
    assembled.extend(assembler.release());
    let units_of = |frame: &AssembledFrame<usize>| [Some(frame.first), frame.second].into_iter().flatten();
    assert!(assembled.iter().flat_map(units_of).eq(read_units));
}

fn check_other_numbers(unit: &[u8], framing: Framing, numbers: PictureNumbers) {
    // Any numbers will do, if they are the same for the same input.
    let by = Renumbering { frame_num: unit.len() as u16, order: i64::from(numbers.frame_num) - 77 };
    let Some(changed) = renumber(unit, framing, numbers, by) else { return };
    assert!(changed.len() <= 2 * unit.len() + 1);
    if framing == Framing::ByteStream {
        let start_codes = |bytes: &[u8]| bytes.windows(3).filter(|bytes| *bytes == [0, 0, 1]).count();
        assert_eq!(start_codes(&changed), start_codes(unit));
    }
}
