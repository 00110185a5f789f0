//! Any bytes as a file of audio: refused, or cut into packets that follow each other and lie within the file. As pages of Ogg they are
//! also read with right checks, which nobody hits by chance, and as packets they come back as they were written.

use bytes::Bytes;
use framewire_media::audio::{AudioCodec, AudioFormat, AudioTrack, OpusFile};

pub(crate) fn run(data: &[u8]) {
    check(data);
    check(&with_checks(data));
    round_trip(data);
}

fn check(data: &[u8]) {
    let Ok(track) = AudioTrack::parse(&Bytes::copy_from_slice(data)) else { return };
    assert!(!track.packets().is_empty());
    assert!(track.size().as_bytes() <= data.len() as u64);
    for pair in track.packets().windows(2) {
        assert_eq!(pair[0].time + pair[0].duration, pair[1].time);
    }
    assert!(track.packets().iter().all(|packet| !packet.bytes.is_empty()));
}

/// The same with the check of each page, bit by bit as RFC 3533 has it (section 6).
fn with_checks(data: &[u8]) -> Vec<u8> {
    let (mut data, mut at) = (data.to_vec(), 0);
    while let Some(header) = data.get(at..at + 27).filter(|header| header.starts_with(b"OggS")) {
        let count = usize::from(header[26]);
        let Some(lacing) = data.get(at + 27..at + 27 + count) else { break };
        let end = at + 27 + count + lacing.iter().map(|&value| usize::from(value)).sum::<usize>();
        let Some(page) = data.get_mut(at..end) else { break };
        page[22..26].fill(0);
        let mut value = 0_u32;
        for byte in &*page {
            value ^= u32::from(*byte) << 24;
            for _ in 0..8 {
                value = value << 1 ^ if value >> 31 == 1 { 0x04C1_1DB7 } else { 0 };
            }
        }
        page[22..26].copy_from_slice(&value.to_le_bytes());
        at = end;
    }
    data
}

fn round_trip(data: &[u8]) {
    let format = AudioFormat { codec: AudioCodec::Opus, sample_rate: 48_000, channels: 1, pre_skip: 7 };
    // Mono packets of 20 ms, whose lengths the bytes say.
    let packets: Vec<Vec<u8>> = data.iter().map(|&byte| vec![31 << 3; 1 + 3 * usize::from(byte)]).collect();
    let (mut file, mut bytes) = OpusFile::new(format);
    packets.iter().for_each(|packet| bytes.extend(file.packet(packet)));
    bytes.extend(file.end());
    let track = AudioTrack::parse(&Bytes::from(bytes));
    match track {
        Ok(track) => {
            let came = track.packets().iter().map(|packet| &packet.bytes[..]);
            assert!(track.format() == format && came.eq(packets.iter().map(|packet| &packet[..])));
        }
        Err(_) => assert!(packets.is_empty()),
    }
}
