//! Any bytes as a level: AVI files and elementary streams are read or refused, and frames lie within the bytes.

use bytes::Bytes;
use framewire_media::ladder::{Ladder, Level};

pub(crate) fn run(stream: &[u8]) {
    let Ok(level) = Level::parse(Bytes::copy_from_slice(stream)) else { return };
    let total: usize = (0..level.frames().len()).map(|frame| level.frame_bytes(frame).expect("it is in memory").len()).sum();
    assert_eq!(total as u64, level.size().as_bytes());
    assert!(level.frames()[0].is_key());
    let ladder = Ladder::new(vec![level]).expect("one level is aligned with itself");
    assert!((0..ladder.frame_count()).all(|frame| ladder.frame(0, frame).size > 0));
}
