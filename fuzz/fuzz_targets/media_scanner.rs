//! Any bytes: the scanner neither fails nor depends on how they are cut into chunks, and frames tile the stream.
#![no_main]

use framewire_media::{CodedFrame, FrameIndex, Scanner};
use libfuzzer_sys::fuzz_target;

fn scan(stream: &[u8], chunk: usize) -> Vec<CodedFrame> {
    let (mut scanner, mut frames) = (Scanner::new(), Vec::new());
    stream.chunks(chunk).for_each(|chunk| scanner.feed(chunk, &mut |frame| frames.push(frame)));
    let summary = scanner.finish(&mut |frame| frames.push(frame));
    assert_eq!(summary.is_ok(), !frames.is_empty());
    frames
}

fuzz_target!(|input: (u8, &[u8])| {
    let (chunk, stream) = input;
    let frames = scan(stream, usize::from(chunk) + 1);
    assert_eq!(frames, scan(stream, stream.len().max(1)));
    if let Some(first) = frames.first() {
        let end = frames.iter().fold(first.offset, |next, frame| {
            assert_eq!(frame.offset, next);
            frame.offset + frame.size
        });
        assert_eq!(end, stream.len() as u64);
    }
    if let Ok(index) = FrameIndex::scan(stream) {
        assert_eq!(index.frames.len(), frames.len());
        assert!(index.frames.iter().all(|frame| frame.references.iter().all(|&other| other < frame.decode_index)));
    }
});
