//! The reader of access units on MPEG-4 part 2: groups, packed B-VOPs, VOPs that are not coded, what is not well formed.

use crate::support;
use framewire_media::PictureType;
use framewire_media::access_unit::{AccessUnit, AccessUnitError, AccessUnitReader, Codec, Framing, KeyKind};
use support::BitWriter;

const RESOLUTION: u32 = 25;
const INCREMENT_BITS: usize = 5;

fn part(value: u8, write: impl FnOnce(&mut BitWriter)) -> Vec<u8> {
    let mut bits = BitWriter::default();
    write(&mut bits);
    [&[0, 0, 1, value][..], &bits.bytes].concat()
}

/// A layer of an object type, with `low_delay` where it is stated (6.2.3).
pub fn layer_of(object_type: u32, low_delay: Option<bool>, resolution: u32) -> Vec<u8> {
    part(0x20, |bits| {
        // Not random accessible; a version of its own; a pixel of 12:11 in numbers.
        bits.text("0").number(object_type, 8).text("1 0010 001").text("1111").number(12, 8).number(11, 8);
        match low_delay {
            // With control parameters: chroma format, and a buffer model.
            Some(low_delay) => {
                bits.text("1 01").number(u32::from(low_delay), 1).text("1");
                bits.number(0xffff, 16).number(0xffff, 16).number(0xffff, 16).number(0xffff, 15).number(0xffff, 16);
            }
            None => _ = bits.text("0"),
        };
        bits.text("00 1").number(resolution, 16).text("1 0 1").number(176, 13).text("1").number(144, 13).text("1");
    })
}

/// An advanced simple object (table 6-10), which may have B-VOPs.
pub fn layer() -> Vec<u8> {
    layer_of(17, None, RESOLUTION)
}

/// A group that begins at 00:01:02.
pub fn group(closed: bool, broken: bool) -> Vec<u8> {
    part(0xb3, |bits| {
        bits.number(0, 5).number(1, 6).text("1").number(2, 6).number(closed.into(), 1).number(broken.into(), 1);
        bits.text("0111");
    })
}

pub fn vop_with(coding_type: u32, seconds: u32, increment: u32, coded: bool) -> Vec<u8> {
    part(0xb6, |bits| {
        bits.number(coding_type, 2);
        (0..seconds).for_each(|_| _ = bits.text("1"));
        bits.text("0 1").number(increment, INCREMENT_BITS).text("1").number(coded.into(), 1).number(0xabcd, 16);
    })
}

/// A coded VOP written as its type and its time in the second: `"B7"`; `-` after it when it is not coded.
pub fn vop(text: &str) -> Vec<u8> {
    let coding_type = match &text[..1] {
        "I" => 0,
        "P" => 1,
        "B" => 2,
        _ => 3,
    };
    let coded = !text.ends_with('-');
    vop_with(coding_type, 0, text[1..].trim_end_matches('-').parse().unwrap(), coded)
}

fn reader() -> AccessUnitReader {
    let mut reader = AccessUnitReader::new(Codec::Mpeg4Part2, Framing::ByteStream).unwrap();
    reader.configure(&layer()).unwrap();
    reader
}

/// Units of one VOP, or of several joined by `+`; before each group stands its header.
fn read(reader: &mut AccessUnitReader, text: &str) -> Vec<AccessUnit> {
    let unit = |word: &str| {
        let (header, vops) = match word.split_once(':') {
            Some(("closed", vops)) => (group(true, false), vops),
            Some(("broken", vops)) => (group(false, true), vops),
            Some((_, vops)) => (group(false, false), vops),
            None => (Vec::new(), word),
        };
        [header, vops.split('+').flat_map(vop).collect()].concat()
    };
    text.split_whitespace().map(|word| reader.read(&unit(word)).unwrap()).collect()
}

fn references(units: &[AccessUnit]) -> Vec<Vec<u64>> {
    units.iter().map(|unit| unit.references.clone()).collect()
}

#[test]
fn groups_open_closed_and_broken() {
    let mut reader = reader();
    let units = read(&mut reader, "closed:I0 P3 B1 B2 open:I6 B4 B5 S9 broken:I12 B10 P15");
    let keys: Vec<_> = units.iter().filter_map(|unit| unit.key.map(|key| (unit.number, key))).collect();
    assert_eq!(keys, [(0, KeyKind::Closed), (4, KeyKind::Open), (8, KeyKind::BrokenLink)]);
    let leading: Vec<_> = units.iter().filter(|unit| unit.leading).map(|unit| unit.number).collect();
    assert_eq!(leading, [5, 6, 9]);
    let missing: Vec<_> = units.iter().filter(|unit| unit.missing_reference).map(|unit| unit.number).collect();
    assert_eq!(missing, [9], "what it refers to is gone");
    let expected: [&[u64]; 11] = [&[], &[0], &[0, 1], &[0, 1], &[], &[1, 4], &[1, 4], &[4], &[], &[8], &[8]];
    assert_eq!(references(&units), expected);
    assert_eq!(units[7].kind, PictureType::P, "predicted by global motion");
    let unreferenced: Vec<_> = units.iter().filter(|unit| !unit.referenced).map(|unit| unit.number).collect();
    assert_eq!(unreferenced, [2, 3, 5, 6, 9]);
    let header = units[4].gop_header.expect("a group header");
    assert_eq!((header.time_code.minutes, header.time_code.seconds, header.closed), (1, 2, false));
    assert_eq!(units[4].display_order, Some(62 * i64::from(RESOLUTION) + 6));
}

#[test]
fn display_order_counts_on_over_seconds() {
    let mut reader = reader();
    let vops = [(0, 0, 24), (1, 1, 2), (2, 1, 0), (2, 1, 1), (1, 2, 0), (2, 2, 4)];
    let orders = vops.map(|(coding_type, seconds, increment)| {
        let unit = reader.read(&vop_with(coding_type, seconds, increment, true)).unwrap();
        unit.display_order.unwrap()
    });
    assert_eq!(orders, [24, 27, 25, 26, 75, 79]);
}

#[test]
fn packed_vops_count_as_the_first_that_is_coded() {
    let mut reader = reader();
    let units = read(&mut reader, "I0 P2+B1 P2- P4+B3 B9-+P6+B5 I8+B7");
    let kinds: String = units.iter().map(|unit| unit.kind.to_string()).collect();
    assert_eq!(kinds, "IPPPPI");
    let expected: [&[u64]; 6] = [&[], &[0], &[1], &[2], &[2, 3], &[4]];
    assert_eq!(references(&units)[..4], expected[..4]);
    assert_eq!(references(&units)[4..], expected[4..], "the B-VOP in the unit of a key may need what came before");
    assert!(units.iter().all(|unit| unit.referenced && !unit.leading));
    assert_eq!(units[5].key, Some(KeyKind::Open));
}

#[test]
fn a_vop_that_is_not_coded_repeats_the_one_before() {
    let mut reader = reader();
    let units = read(&mut reader, "I0 P1- P2 I3- B1-");
    let kinds: String = units.iter().map(|unit| unit.kind.to_string()).collect();
    assert_eq!(kinds, "IPPPB");
    let expected: [&[u64]; 5] = [&[], &[0], &[1], &[2], &[2, 3]];
    assert_eq!(references(&units), expected);
    assert_eq!(units[3].key, None, "there is nothing to begin with");
}

#[test]
fn a_layer_without_b_vops_has_closed_keys() {
    let key_of = |layer: &[u8], before: &str| {
        let mut reader = reader();
        reader.configure(layer).unwrap();
        read(&mut reader, before);
        read(&mut reader, "I7")[0].key
    };
    let closed = Some(KeyKind::Closed);
    assert_eq!(key_of(&layer_of(17, Some(true), RESOLUTION), "I0 P1"), closed, "as it says");
    assert_eq!(key_of(&layer_of(1, None, RESOLUTION), "I0 P1"), closed, "a simple object");
    assert_eq!(key_of(&layer_of(1, Some(false), RESOLUTION), "I0 P1"), Some(KeyKind::Open));
    assert_eq!(key_of(&layer(), "I0 P1"), Some(KeyKind::Open));
    assert_eq!(key_of(&layer_of(17, Some(true), RESOLUTION), "I0 P2 B1"), Some(KeyKind::Open), "it lied");
}

#[test]
fn nothing_is_known_after_a_reset() {
    let mut reader = reader();
    read(&mut reader, "I0 P3");
    reader.reset();
    let unit = &read(&mut reader, "B1")[0];
    assert_eq!((unit.number, unit.references.len(), unit.missing_reference), (2, 0, true));
}

#[test]
fn what_is_not_well_formed_is_named() {
    let mut reader = AccessUnitReader::new(Codec::Mpeg4Part2, Framing::ByteStream).unwrap();
    let error = |reader: &mut AccessUnitReader, unit: &[u8]| reader.read(unit).unwrap_err().to_string();
    assert_eq!(error(&mut reader, &vop("I0")), "access unit 0: video object layer 0 has not come");
    let bad_layer = [layer_of(17, None, 0), vop("I0")].concat();
    assert_eq!(error(&mut reader, &bad_layer), "access unit 1: vop_time_increment_resolution is 0");
    assert_eq!(
        reader.configure(&bad_layer).unwrap_err().to_string(),
        "codec configuration: vop_time_increment_resolution is 0"
    );
    let layer = layer();
    assert_eq!(reader.read(&layer), Err(AccessUnitError::NoPicture { number: 2, length: layer.len() }));
    assert_eq!(error(&mut reader, &vop("I31")), "access unit 3: vop_time_increment is 31");
    assert_eq!(error(&mut reader, &vop("I0")[..5]), "access unit 4: vop_time_increment is cut off");
    assert_eq!(error(&mut reader, &group(true, false)[..6]), "access unit 5: time_code is cut off");
    assert_eq!(error(&mut reader, &[]), "access unit 6 of 0 bytes holds no coded picture");
    assert_eq!(reader.read(&vop("I0")).unwrap().number, 7);
    for end in 0..layer.len() - 5 {
        let error = reader.configure(&layer[..end]).unwrap_err().to_string();
        assert!(error.contains("is absent or cut off"), "{end}: {error}");
    }
    let error = AccessUnitReader::new(Codec::Mpeg4Part2, Framing::LengthPrefixed(4)).unwrap_err();
    assert!(matches!(error, AccessUnitError::BadConfiguration { .. }), "{error}");
}
