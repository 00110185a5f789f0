//! Any bytes as an MP4 file: refused, or access units that are the same however the file is cut; memory stays bounded.

use framewire_units::{DataSize, Timestamp};
use framewire_wire::mp4::{Demultiplexer, MOST_INDEX_BYTES};

/// Largest access unit that is taken here.
const LARGEST: DataSize = DataSize::from_bytes(1_000);

pub(crate) fn run(data: &[u8]) {
    assert_eq!(read(data, usize::MAX), read(data, 5), "however it is cut");
}

/// Access units by track and content, and what is wrong with the file.
fn read(data: &[u8], piece: usize) -> (Vec<(usize, Vec<u8>)>, Option<String>) {
    let mut demultiplexer = Demultiplexer::new(LARGEST);
    let mut units = Vec::new();
    for piece in data.chunks(piece.min(data.len().max(1))) {
        demultiplexer.handle_bytes(Timestamp::ZERO, piece);
        assert!(demultiplexer.buffered() <= MOST_INDEX_BYTES.min(data.len()));
        units.extend(std::iter::from_fn(|| demultiplexer.poll_unit()));
    }
    demultiplexer.finish(Timestamp::ZERO);
    units.extend(std::iter::from_fn(|| demultiplexer.poll_unit()));
    assert!(units.iter().all(|unit| unit.track < demultiplexer.tracks().len() && unit.complete != unit.bytes.is_empty()));
    let fault = demultiplexer.poll_fault().map(|fault| fault.to_string());
    (units.into_iter().map(|unit| (unit.track, unit.bytes.to_vec())).collect(), fault)
}
