//! Any bytes as an AVI file: refused, or frames that lie within it.

use bytes::Bytes;
use framewire_media::avi::Avi;

pub(crate) fn run(data: &[u8]) {
    let Ok(file) = Avi::parse(Bytes::copy_from_slice(data)) else { return };
    let frames: usize = (0..file.frame_count()).map(|frame| file.frame_bytes(frame).expect("it is in memory").len()).sum();
    assert!(file.frame_count() > 0 && frames <= data.len());
}
