//! Any bytes as a movie of any codec: refused, or frames that tile the stream, refer back only and are each shown once.

use bytes::Bytes;
use framewire_media::{Movie, identify};

pub(crate) fn run(data: &[u8]) {
    let _ = identify(data);
    let Ok(movie) = Movie::parse(Bytes::copy_from_slice(data)) else { return };
    let frames = &movie.index.frames;
    let first = frames.first().expect("a movie has a frame");
    let mut next = first.offset;
    let mut shown = vec![false; frames.len()];
    for (number, frame) in frames.iter().enumerate() {
        assert_eq!((frame.decode_index as usize, frame.offset), (number, next));
        assert_eq!(movie.frame_bytes(number).len() as u64, u64::from(frame.size));
        assert!(frame.references.iter().all(|&other| other < frame.decode_index));
        assert!(!std::mem::replace(&mut shown[frame.display_index as usize], true));
        next += u64::from(frame.size);
    }
    assert!(next <= data.len() as u64);
    let _ = movie.cut_short();
}
