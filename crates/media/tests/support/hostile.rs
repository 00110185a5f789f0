//! What a reader must stand: bytes of any kind.

use framewire_media::access_unit::{AccessUnitReader, Codec, FramePart, Framing, KeyKind};

/// What holds of everything that a reader makes of whatever it is given.
pub fn check_any(codec: Codec, framing: Framing, units: &[Vec<u8>], configuration: &[u8]) {
    let mut reader = AccessUnitReader::new(codec, framing).unwrap();
    let _ = reader.configure(configuration);
    for (number, unit) in units.iter().enumerate() {
        let Ok(read) = reader.read(unit) else { continue };
        match read.part {
            // Both fields have the number of the first one.
            FramePart::SecondField => assert!(read.number < number as u64, "{read:?}"),
            FramePart::Whole | FramePart::FirstField => assert_eq!(read.number, number as u64),
        }
        assert!(read.references.is_sorted_by(|one, other| one < other), "{read:?}");
        assert!(read.references.iter().all(|&other| other < read.number), "{read:?}");
        // 16 frames of two fields, the frames left by commands that were lost, and one more.
        assert!(read.references.len() <= 2 * 16 + 33, "{} references", read.references.len());
        assert!(read.key != Some(KeyKind::Closed) || read.references.is_empty(), "{read:?}");
    }
}
