//! Any bytes as a streaming file, with and without right checksums: what is opened can be read throughout.
#![no_main]

use bytes::Bytes;
use framewire_media::streaming_file::StreamingFile;
use libfuzzer_sys::fuzz_target;

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
    for frame in 0..file.frame_count() {
        _ = (file.display_time(frame), file.is_switch_point(frame));
        for level in 0..file.level_count() {
            let Ok(packets) = file.packets(level, frame) else { continue };
            assert_eq!(packets.count() as u32, file.packet_count(level, frame));
            let bytes: usize = (0..packets.count()).map(|packet| packets.data(packet).len()).sum();
            assert_eq!(bytes as u32, file.frame_size(level, frame));
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes.to_vec());
    let mut sealed = bytes.to_vec();
    if let Some(length) = sealed.get_mut(48..56) {
        length.copy_from_slice(&(bytes.len() as u64).to_be_bytes());
    }
    seal(&mut sealed);
    read(sealed);
});
