//! Any bytes, in every codec that is scanned: the scanner neither fails nor depends on how they are cut into chunks, frames
//! tile the stream, and the index has the same frames.

use framewire_media::access_unit::Codec;
use framewire_media::{CodedFrame, FrameIndex, Scanner};

fn scan(codec: Codec, stream: &[u8], chunk: usize) -> Option<Vec<CodedFrame>> {
    let (mut scanner, mut frames) = (Scanner::of(codec)?, Vec::new());
    stream.chunks(chunk).for_each(|chunk| scanner.feed(chunk, &mut |frame| frames.push(frame)));
    let summary = scanner.finish(&mut |frame| frames.push(frame));
    // H.264 and H.265 may lack what a movie needs beside its pictures.
    assert!(if summary.is_ok() { !frames.is_empty() } else { frames.is_empty() || codec != Codec::MpegVideo });
    Some(frames)
}

fn check(codec: Codec, stream: &[u8], chunk: usize) {
    let Some(frames) = scan(codec, stream, chunk) else { return };
    assert_eq!(Some(&frames), scan(codec, stream, stream.len().max(1)).as_ref());
    if let Some(first) = frames.first() {
        let end = frames.iter().fold(first.offset, |next, frame| {
            assert_eq!(frame.offset, next);
            frame.offset + frame.size
        });
        assert_eq!(end, stream.len() as u64);
    }
    if let Some(index) = FrameIndex::scan(stream).ok().filter(|index| index.sequence.codec == codec) {
        assert_eq!(index.frames.len(), frames.len());
        assert!(index.frames.iter().all(|frame| frame.references.iter().all(|&other| other < frame.decode_index)));
    }
}

pub(crate) fn run(data: &[u8]) {
    let [chunk, stream @ ..] = data else { return };
    for &codec in Codec::ALL {
        check(codec, stream, usize::from(*chunk) + 1);
    }
}
