//! Any bytes as a file of audio: refused, or cut into packets that follow each other and lie within the file.

use bytes::Bytes;
use framewire_media::audio::AudioTrack;

pub(crate) fn run(data: &[u8]) {
    let Ok(track) = AudioTrack::parse(&Bytes::copy_from_slice(data)) else { return };
    assert!(!track.packets().is_empty());
    assert!(track.size().as_bytes() <= data.len() as u64);
    for pair in track.packets().windows(2) {
        assert_eq!(pair[0].time + pair[0].duration, pair[1].time);
    }
    assert!(track.packets().iter().all(|packet| !packet.bytes.is_empty()));
}
