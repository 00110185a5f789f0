//! AVI files that are made byte by byte.
#![allow(missing_docs, reason = "a test binary")]

use bytes::Bytes;
use framewire_media::avi::{Avi, AviError};

fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let padding = vec![0; content.len() % 2];
    [&name[..], &(content.len() as u32).to_le_bytes(), content, &padding].concat()
}

fn list(kind: &[u8; 4], chunks: &[Vec<u8>]) -> Vec<u8> {
    chunk(b"LIST", &[&kind[..], &chunks.concat()].concat())
}

/// A file of one frame, with so many bytes behind the bitmap header.
fn with_codec_data(length: usize) -> Bytes {
    let mut header = [0; 56];
    header[..4].copy_from_slice(b"vids");
    header[20..24].copy_from_slice(&1u32.to_le_bytes());
    header[24..28].copy_from_slice(&25u32.to_le_bytes());
    let mut format = vec![0; 40 + length];
    format[4..8].copy_from_slice(&352u32.to_le_bytes());
    format[8..12].copy_from_slice(&288u32.to_le_bytes());
    format[16..20].copy_from_slice(b"FMP4");
    format[40..].fill(7);
    let stream = list(b"strl", &[chunk(b"strh", &header), chunk(b"strf", &format)]);
    let parts = [list(b"hdrl", &[stream]), list(b"movi", &[chunk(b"00dc", b"a frame")])].concat();
    chunk(b"RIFF", &[&b"AVI "[..], &parts].concat()).into()
}

#[test]
fn headers_of_the_codec_are_whole_or_refused_in_words() {
    for length in [0, 42, 1 << 16] {
        let avi = Avi::parse(with_codec_data(length)).unwrap();
        assert_eq!(avi.codec_data, vec![7; length]);
    }
    let refused = Avi::parse(with_codec_data((1 << 16) + 1)).unwrap_err();
    assert_eq!(refused, AviError::LongCodecData { size: 65_537, limit: 65_536 });
    assert!(refused.to_string().contains("65537 bytes; at most 65536 are allowed"), "{refused}");
}
