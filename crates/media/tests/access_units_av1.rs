//! The reader of access units on AV1: built headers of every kind, and real streams in other framings beside what
//! FFmpeg reads in their headers.

use crate::support;
use framewire_media::PictureType;
use framewire_media::access_unit::{AccessUnit, AccessUnitError, AccessUnitReader, Codec, Framing, KeyKind};
use support::{BitWriter, av1};

const ORDER_HINT_BITS: usize = 5;
const REMOVAL_TIME_BITS: usize = 10;
const PRESENTATION_TIME_BITS: usize = 7;

/// An open bitstream unit with its size (5.3).
fn obu(obu_type: u32, write: impl FnOnce(&mut BitWriter)) -> Vec<u8> {
    let mut payload = BitWriter::default();
    write(&mut payload);
    let mut bits = BitWriter::default();
    bits.text("0").number(obu_type, 4).text("0 1 0").number(payload.bytes.len() as u32, 8);
    [bits.bytes, payload.bytes].concat()
}

/// A sequence header with order hints and without screen content tools (5.5); with a decoder model if wanted.
fn sequence(has_decoder_model: bool) -> Vec<u8> {
    obu(1, |bits| {
        bits.text("000 0 0");
        match has_decoder_model {
            true => {
                bits.text("1").number(1, 32).number(25, 32).text("0 1");
                bits.number(4, 5).number(1, 32).number(REMOVAL_TIME_BITS as u32 - 1, 5);
                bits.number(PRESENTATION_TIME_BITS as u32 - 1, 5);
            }
            false => _ = bits.text("0"),
        }
        bits.text("1 00000").number(0, 12).number(9, 5).text("1");
        if has_decoder_model {
            bits.text("1 10101 01010 0");
        }
        bits.text("1 0011").number(7, 4).number(6, 4).number(175, 8).number(143, 7);
        bits.text("0 111 1111 1 11 0 0").number(ORDER_HINT_BITS as u32 - 1, 3);
    })
}

#[derive(Clone)]
struct Frame {
    /// Key, inter, intra only or switch frame, as its number.
    frame_type: u32,
    shown: bool,
    order_hint: u32,
    refreshed: u32,
    references: [u32; 7],
    /// Order hints of the slots, in an error resilient frame.
    slot_hints: Option<[u32; 8]>,
    /// The last and the golden frame, where the others are found by their order hints.
    short: Option<[u32; 2]>,
    has_decoder_model: bool,
}

impl Frame {
    fn new(frame_type: u32, shown: bool, order_hint: u32, refreshed: u32, references: [u32; 7]) -> Self {
        Self {
            frame_type,
            shown,
            order_hint,
            refreshed,
            references,
            slot_hints: None,
            short: None,
            has_decoder_model: false,
        }
    }

    fn key(order_hint: u32) -> Self {
        Self::new(0, true, order_hint, 0xff, [0; 7])
    }

    fn inter(order_hint: u32, refreshed: u32, references: [u32; 7]) -> Self {
        Self::new(1, true, order_hint, refreshed, references)
    }

    fn hidden(self) -> Self {
        Self { shown: false, ..self }
    }

    /// `uncompressed_header()` down to the references (5.9.2).
    fn bytes(&self) -> Vec<u8> {
        let (is_intra, is_switch) = (matches!(self.frame_type, 0 | 2), self.frame_type == 3);
        let begins_anew = self.frame_type == 0 && self.shown;
        obu(6, |bits| {
            bits.text("0").number(self.frame_type, 2).number(self.shown.into(), 1);
            match self.shown {
                true if self.has_decoder_model => _ = bits.number(99, PRESENTATION_TIME_BITS),
                true => {}
                false => _ = bits.text("1"),
            }
            let resilient = self.slot_hints.is_some();
            if !begins_anew && !is_switch {
                bits.number(resilient.into(), 1);
            }
            bits.text("0");
            if !is_switch {
                bits.text("0");
            }
            bits.number(self.order_hint, ORDER_HINT_BITS);
            if !is_intra && !is_switch && !resilient {
                bits.number(7, 3);
            }
            if self.has_decoder_model {
                bits.text("1").number(777, REMOVAL_TIME_BITS);
            }
            if !begins_anew && !is_switch {
                bits.number(self.refreshed, 8);
            }
            if !begins_anew && (!is_intra || self.refreshed != 0xff) {
                self.slot_hints.iter().flatten().for_each(|&hint| _ = bits.number(hint, ORDER_HINT_BITS));
            }
            if !is_intra {
                match self.short {
                    Some(named) => _ = bits.text("1").number(named[0], 3).number(named[1], 3),
                    None => {
                        bits.text("0");
                        self.references.iter().for_each(|&slot| _ = bits.number(slot, 3));
                    }
                }
            }
            bits.number(0x5a5a, 16);
        })
    }
}

fn show_existing(slot: u32) -> Vec<u8> {
    obu(3, |bits| _ = bits.text("1").number(slot, 3))
}

fn reader() -> AccessUnitReader {
    let mut reader = AccessUnitReader::new(Codec::Av1, Framing::ByteStream).unwrap();
    reader.configure(&sequence(false)).unwrap();
    reader
}

fn read(reader: &mut AccessUnitReader, frames: &[Frame]) -> AccessUnit {
    let delimiter = obu(2, |_| {});
    let frames: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
    reader.read(&[delimiter, frames].concat()).unwrap()
}

#[test]
fn slots_hold_units() {
    let mut reader = reader();
    let key = read(&mut reader, &[Frame::key(3)]);
    assert_eq!((key.kind, key.key, key.referenced), (PictureType::I, Some(KeyKind::Closed), true));
    assert_eq!((key.references, key.display_order), (vec![], Some(3)));
    // A frame of the future in slot 1, with a shown frame that refers to it.
    let pair = [Frame::inter(7, 2, [0; 7]).hidden(), Frame::inter(4, 4, [0, 1, 0, 0, 0, 0, 1])];
    let unit = read(&mut reader, &pair);
    assert_eq!((unit.kind, unit.references, unit.display_order), (PictureType::P, vec![0], Some(4)));
    let unit = read(&mut reader, &[Frame::inter(5, 0, [2, 2, 2, 2, 2, 2, 1])]);
    assert_eq!((unit.kind, unit.referenced, unit.references), (PictureType::B, false, vec![1]));
    let unit = read(&mut reader, &[Frame::inter(6, 8, [0, 2, 2, 2, 2, 2, 2])]);
    assert_eq!((unit.kind, unit.referenced, unit.references), (PictureType::B, true, vec![0, 1]));
    let unit = reader.read(&show_existing(1)).unwrap();
    assert_eq!((unit.kind, unit.referenced, unit.references), (PictureType::B, false, vec![1]));
    assert_eq!(unit.display_order, Some(7));
    // Intra only: refers to nothing, but decoding cannot begin there.
    let unit = read(&mut reader, &[Frame::new(2, true, 8, 1, [0; 7])]);
    assert_eq!((unit.kind, unit.key, unit.references), (PictureType::I, None, vec![]));
    // A switch frame takes every slot.
    let switch = Frame { slot_hints: Some([8, 7, 4, 6, 3, 3, 3, 3]), ..Frame::new(3, true, 9, 0xff, [3; 7]) };
    let unit = read(&mut reader, &[switch]);
    assert_eq!((unit.kind, unit.key, unit.references), (PictureType::P, None, vec![3]));
    let unit = read(&mut reader, &[Frame::inter(10, 0, [0, 1, 2, 3, 4, 5, 7])]);
    assert_eq!((unit.references, unit.missing_reference), (vec![6], false));
}

#[test]
fn order_hints_count_on_when_they_wrap() {
    let mut reader = reader();
    let mut orders = vec![read(&mut reader, &[Frame::key(30)]).display_order];
    for hint in [33, 31, 45, 60, 70] {
        orders.push(read(&mut reader, &[Frame::inter(hint % 32, 1, [0; 7])]).display_order);
    }
    assert_eq!(orders, [30, 33, 31, 45, 60, 70].map(Some));
}

/// A key frame that is sent ahead, and shown later: decoding can begin with it, but what comes until it is shown may
/// refer to older frames. From then on only it is there.
#[test]
fn a_forward_key_frame_is_open() {
    let mut reader = reader();
    read(&mut reader, &[Frame::key(0)]);
    let ahead = read(&mut reader, &[Frame::new(0, false, 8, 2, [0; 7])]);
    assert_eq!((ahead.key, ahead.kind, ahead.leading), (Some(KeyKind::Open), PictureType::I, false));
    assert!(ahead.references.is_empty());
    let between = read(&mut reader, &[Frame::inter(4, 4, [0, 0, 0, 0, 0, 0, 1])]);
    assert_eq!((between.leading, between.key, between.references), (true, None, vec![0, 1]));
    let shown = reader.read(&show_existing(1)).unwrap();
    assert_eq!((shown.key, shown.leading, shown.referenced), (None, false, true));
    assert_eq!((shown.references, shown.display_order), (vec![1], Some(8)));
    let after = read(&mut reader, &[Frame::inter(9, 1, [0, 2, 3, 4, 5, 6, 7])]);
    assert_eq!((after.leading, after.references), (false, vec![3]));
    // In one unit, it is a key frame like any other.
    let unit = [Frame::new(0, false, 12, 1, [0; 7]).bytes(), show_existing(0)].concat();
    let unit = reader.read(&unit).unwrap();
    assert_eq!((unit.key, unit.references.len()), (Some(KeyKind::Closed), 0));
    // One that never is shown ends with its slot.
    read(&mut reader, &[Frame::new(0, false, 16, 1, [0; 7])]);
    assert!(read(&mut reader, &[Frame::inter(13, 1, [1; 7])]).leading);
    assert!(!read(&mut reader, &[Frame::inter(14, 1, [1; 7])]).leading);
}

/// What a stream repeats of its slots shows that frames are lost.
#[test]
fn resilient_frames_tell_of_losses() {
    let mut reader = reader();
    read(&mut reader, &[Frame::key(0)]);
    let slot_hints = Some([2, 0, 0, 0, 0, 0, 0, 0]);
    let resilient = |slot: u32| Frame { slot_hints, ..Frame::inter(3, 2, [slot; 7]) };
    let mut lossless = read(&mut reader, &[resilient(1)]);
    assert_eq!((&lossless.references, lossless.missing_reference), (&vec![0], false));
    lossless = read(&mut reader, &[Frame::inter(4, 0, [0; 7])]);
    assert!(lossless.missing_reference && lossless.references.is_empty(), "slot 0 should hold frame 2: {lossless:?}");
    reader.reset();
    let unit = read(&mut reader, &[Frame::inter(5, 1, [0; 7])]);
    assert_eq!((unit.number, unit.missing_reference), (3, true));
    let unit = reader.read(&show_existing(6)).unwrap();
    assert!(unit.missing_reference && unit.display_order.is_none());
}

#[test]
fn references_found_by_order_hints() {
    let mut reader = reader();
    read(&mut reader, &[Frame::key(0)]);
    for (slot, hint) in [10, 2, 12, 4, 14].into_iter().enumerate() {
        read(&mut reader, &[Frame::inter(hint, 1 << slot, [7; 7])]);
    }
    // Slots hold frames 10, 2, 12, 4, 14, 0, 0, 0 and units 1, 2, 3, 4, 5, 0, 0, 0. The last frame is 4, golden 2.
    let short = Frame { short: Some([3, 1]), ..Frame::inter(6, 0, [0; 7]) };
    let unit = read(&mut reader, &[short]);
    assert_eq!(unit.references, [0, 1, 2, 3, 4, 5], "two by name, three shown after it, and the key frame before");
    let short = Frame { short: Some([1, 1]), ..Frame::inter(3, 0, [0; 7]) };
    let unit = read(&mut reader, &[short]);
    assert_eq!(unit.references, [0, 1, 2, 4, 5], "of four frames shown after it, three are referred to");
}

#[test]
fn the_decoder_model_is_passed_over() {
    let mut reader = AccessUnitReader::new(Codec::Av1, Framing::ByteStream).unwrap();
    reader.configure(&sequence(true)).unwrap();
    let timed = |frame: Frame| Frame { has_decoder_model: true, ..frame };
    let unit = read(&mut reader, &[timed(Frame::key(1))]);
    assert_eq!((unit.key, unit.display_order), (Some(KeyKind::Closed), Some(1)));
    read(&mut reader, &[timed(Frame::inter(9, 2, [0; 7]).hidden()), timed(Frame::inter(2, 4, [0; 7]))]);
    let unit = read(&mut reader, &[timed(Frame::inter(3, 0, [1, 1, 1, 1, 1, 1, 2]))]);
    assert_eq!((unit.references, unit.referenced, unit.display_order), (vec![1], false, Some(3)));
}

#[test]
fn configurations() {
    let record = |units: &[u8]| [&[0x81, 0x04, 0x0c, 0x00][..], units].concat();
    let key = Frame::key(0).bytes();
    let mut reader = AccessUnitReader::new(Codec::Av1, Framing::ByteStream).unwrap();
    reader.configure(&record(&[])).unwrap();
    assert_eq!(reader.read(&key).unwrap_err().to_string(), "access unit 0: sequence header 0 has not come");
    reader.configure(&record(&sequence(false))).unwrap();
    assert_eq!(reader.read(&key).unwrap().number, 1);
    let sequence = sequence(false);
    let bad: [(&[u8], &str); 5] = [
        (&[], "neither an AV1CodecConfigurationRecord"),
        (b"\xffav1", "neither an AV1CodecConfigurationRecord"),
        (&[0x81, 4], "cut off"),
        (&sequence[..sequence.len() - 1], "obu_size is"),
        (&[0x0a, 1, 0], "operating_points_cnt_minus_1 is cut off"),
    ];
    for (configuration, what) in bad {
        let error = reader.configure(configuration).unwrap_err().to_string();
        assert!(error.starts_with("codec configuration: ") && error.contains(what), "{error}");
    }
    let error = AccessUnitReader::new(Codec::Av1, Framing::LengthPrefixed(4)).unwrap_err();
    assert!(matches!(error, AccessUnitError::BadConfiguration { .. }), "{error}");
}

#[test]
fn what_is_not_well_formed_is_named() {
    let mut reader = reader();
    let headers = [obu(2, |_| {}), sequence(false)].concat();
    assert_eq!(reader.read(&headers), Err(AccessUnitError::NoPicture { number: 0, length: headers.len() }));
    let key = Frame::key(0).bytes();
    let errors = [
        (&[0x80][..], "access unit 1: obu_forbidden_bit is 1"),
        (&key[..4], "access unit 2: obu_size is 4"),
        (&[0x32, 1, 0b0001_0000], "access unit 3: order_hint is cut off"),
        (&[0x32, 3, 0b0011_0000, 0, 0], "access unit 4: ref_frame_idx is cut off"),
        (&[0x0a, 0], "access unit 5: seq_profile is cut off"),
    ];
    for (unit, error) in errors {
        assert_eq!(reader.read(unit).unwrap_err().to_string(), error);
    }
    assert_eq!(reader.read(&key).unwrap().number, 6, "units are counted that cannot be read");
}

/// Every stream at hand: references, shown order and reset points beside those that follow from what FFmpeg reads.
#[test]
fn headers_are_those_that_ffmpeg_reads() {
    for (name, path) in av1::encoded() {
        let stream = std::fs::read(path).unwrap();
        let mut reader = AccessUnitReader::new(Codec::Av1, Framing::ByteStream).unwrap();
        let units: Vec<_> = av1::units(&stream).iter().map(|unit| reader.read(unit).unwrap()).collect();
        let traced = av1::traced(path);
        assert_eq!(units.len(), traced.len(), "{name}");
        for (unit, traced) in units.iter().zip(traced) {
            assert_eq!(unit.references, traced.references, "{name}: {unit:?}");
            assert_eq!(unit.referenced, traced.refreshes, "{name}: {unit:?}");
            assert!(!unit.missing_reference);
        }
    }
}

/// Frames one by one, units without delimiters, the last size left out, layers written into the headers.
#[test]
fn framing_makes_no_difference() {
    for (name, path) in av1::encoded() {
        let stream = std::fs::read(path).unwrap();
        let read_all = |units: &[Vec<u8>]| -> Vec<AccessUnit> {
            let mut reader = AccessUnitReader::new(Codec::Av1, Framing::ByteStream).unwrap();
            units.iter().map(|unit| reader.read(unit).unwrap()).collect()
        };
        let units = av1::units(&stream);
        let whole = read_all(&units);
        let bare: Vec<_> = units.iter().map(|unit| av1::without_delimiter_and_last_size(unit)).collect();
        assert_eq!(read_all(&bare), whole, "{name}");
        let layered: Vec<_> = units.iter().enumerate().map(|(number, unit)| av1::in_layer(unit, number % 3)).collect();
        for (number, (unit, plain)) in read_all(&layered).into_iter().zip(&whole).enumerate() {
            assert_eq!(usize::from(unit.temporal_layer), number % 3);
            assert_eq!(&AccessUnit { temporal_layer: 0, ..unit }, plain, "{name}");
        }
        let (unit_of, frames): (Vec<u64>, Vec<Vec<u8>>) = (0..)
            .zip(&units)
            .flat_map(|(number, unit)| av1::frames(unit).into_iter().map(move |frame| (number, frame)))
            .unzip();
        let single = read_all(&frames);
        for plain in &whole {
            let of_unit = || single.iter().filter(|frame| unit_of[frame.number as usize] == plain.number);
            let outside = |frame: &AccessUnit| {
                let units = frame.references.iter().map(|&other| unit_of[other as usize]);
                units.filter(|&unit| unit != plain.number).collect::<Vec<_>>()
            };
            let mut references: Vec<_> = of_unit().flat_map(outside).collect();
            references.sort_unstable();
            references.dedup();
            assert_eq!(references, plain.references, "{name}: {plain:?}");
            assert_eq!(of_unit().any(|frame| frame.referenced), plain.referenced);
            assert_eq!(of_unit().next_back().unwrap().display_order, plain.display_order);
        }
    }
}
