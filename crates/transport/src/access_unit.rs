//! Access units of MPEG-2 that parsers accept, made of headers and filler.

use bytes::Bytes;
use framewire_media::PictureType;
use framewire_media::access_unit::KeyKind;

/// A frame with its headers (ISO/IEC 13818-2, 6.2.2 to 6.2.4; 720x576, 25 Hz): sequence and group headers before every
/// I frame, with the flags that `key` stands for; slice data is `filler`.
pub(crate) fn mpeg2(
    kind: PictureType,
    key: Option<KeyKind>,
    temporal_reference: u16,
    size: usize,
    filler: u8,
) -> Bytes {
    let mut bytes = vec![];
    if kind == PictureType::I {
        // 720x576, 4:3, 25 Hz, 6 Mbit/s; main profile at main level, progressive, 4:2:0.
        bytes.extend([0, 0, 1, 0xB3, 0x2D, 0x02, 0x40, 0x23, 0x0E, 0xA6, 0x23, 0x80]);
        bytes.extend([0, 0, 1, 0xB5, 0x14, 0x8A, 0x00, 0x01, 0x00, 0x00]);
        // Time code 0 with its marker bit, then closed_gop and broken_link.
        let flags = match key {
            Some(KeyKind::Closed) => 0x40,
            Some(KeyKind::BrokenLink) => 0x20,
            Some(KeyKind::Open) | None => 0x00,
        };
        bytes.extend([0, 0, 1, 0xB8, 0x00, 0x08, 0x00, flags]);
    }
    let (code, vectors): (u64, u64) = match kind {
        PictureType::I | PictureType::D => (1, 0),
        PictureType::P => (2, 0b0111_0000 << 3),
        PictureType::B => (3, 0b0111_0111 << 3),
    };
    let word = u64::from(temporal_reference) << 30 | code << 27 | 0xFFFF << 11 | vectors;
    bytes.extend([0, 0, 1, 0x00]);
    bytes.extend_from_slice(&word.to_be_bytes()[3..]);
    bytes.extend([0, 0, 1, 0xB5, 0x8F, 0xFF, 0xF3, 0x41, 0x80]);
    let slices = 1 + size / 2_000;
    for row in 1..=slices.min(36) as u8 {
        bytes.extend([0, 0, 1, row]);
        bytes.extend(std::iter::repeat_n(filler, size / slices));
    }
    bytes.into()
}
