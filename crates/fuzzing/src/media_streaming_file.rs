//! Any bytes as a streaming file, with and without right checksums: what is opened can be read throughout.

use bytes::Bytes;
use framewire_media::streaming_file::StreamingFile;

/// Right checksums for the header and the index, wherever the bytes say that they are.
fn seal(bytes: &mut [u8]) {
    let number = |bytes: &[u8], at: usize| {
        let field = bytes.get(at..at + 4).and_then(|field| field.first_chunk().copied());
        field.map_or(0, u32::from_be_bytes) as usize
    };
    let parts = [(0, number(bytes, 36)), (number(bytes, 44), bytes.len())];
    for (start, end) in parts {
        if let Some(part) = bytes.get_mut(start..end)
            && let Some((content, sum)) = part.split_last_chunk_mut::<4>()
        {
            *sum = crc32fast::hash(content).to_be_bytes();
        }
    }
}

fn read(bytes: Vec<u8>) {
    let Ok(file) = StreamingFile::open(Bytes::from(bytes)) else { return };
    let mut heard = 0;
    for frame in 0..file.frame_count() {
        assert_eq!(file.audio_of(frame).start, heard);
        heard = file.audio_of(frame).end;
        if let Ok(packets) = file.audio_packets(frame) {
            assert_eq!(packets.len(), file.audio_of(frame).len());
            assert!(packets.is_sorted_by(|before, after| before.time < after.time));
        }
        _ = (file.display_time(frame), file.is_switch_point(frame));
        for level in 0..file.level_count() {
            let Ok(packets) = file.packets(level, frame) else { continue };
            assert_eq!(packets.count() as u32, file.packet_count(level, frame));
            let bytes: usize = (0..packets.count()).map(|packet| packets.data(packet).len()).sum();
            assert_eq!(bytes as u32, file.frame_size(level, frame));
        }
    }
}

/// Right checksums for the audio before each frame, wherever the index says that it is.
fn seal_audio(bytes: &mut [u8]) {
    const ENTRY: usize = 16;
    let number = |bytes: &[u8], at: usize| {
        let field = bytes.get(at..at.saturating_add(4)).and_then(|field| field.first_chunk().copied());
        field.map_or(0, u32::from_be_bytes) as usize
    };
    let levels = number(bytes, 8) & 0xFFFF;
    let entry = ENTRY + ENTRY + 8 * levels;
    for frame in 0..number(bytes, 12).min(bytes.len() / entry) {
        let at = number(bytes, 44).saturating_add(frame * entry);
        let start = number(bytes, at.saturating_add(4));
        let length = 20 * number(bytes, at.saturating_add(20)) + number(bytes, at.saturating_add(24));
        let Some(records) = bytes.get(start..start.saturating_add(length)) else { continue };
        let sum = crc32fast::hash(records).to_be_bytes();
        if let Some(place) = bytes.get_mut(at.saturating_add(28)..at.saturating_add(32)) {
            place.copy_from_slice(&sum);
        }
    }
}

pub(crate) fn run(bytes: &[u8]) {
    read(bytes.to_vec());
    let mut sealed = bytes.to_vec();
    if let Some(length) = sealed.get_mut(48..56) {
        length.copy_from_slice(&(bytes.len() as u64).to_be_bytes());
    }
    seal(&mut sealed);
    read(sealed.clone());
    if sealed.get(8..10) == Some(&[0, 2]) {
        seal_audio(&mut sealed);
        seal(&mut sealed);
        read(sealed);
    }
}
