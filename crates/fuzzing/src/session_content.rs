//! Any bytes as what an application received of any movie: what is found does not depend on how it comes in pieces, is no
//! more than there is, and a movie is found in itself.

use bytes::Bytes;
use framewire_media::Movie;
use framewire_session::{ContentLog, ContentMatcher};
use framewire_units::Timestamp;

/// Bytes of the movie, at most, in front of what was received.
const LARGEST_MOVIE: usize = 4_096;

fn matched(movie: &Movie, stream: &[u8], chunk: usize) -> Option<ContentLog> {
    let mut matcher = ContentMatcher::new(movie)?;
    for (number, bytes) in stream.chunks(chunk).enumerate() {
        matcher.handle_bytes(Timestamp::from_nanos(number as u64), bytes);
    }
    Some(matcher.finish())
}

fn whole(log: &ContentLog) -> Vec<u32> {
    log.frames.iter().filter(|frame| frame.whole_at.is_some()).map(|frame| frame.frame).collect()
}

pub(crate) fn run(data: &[u8]) {
    let Some((length, chunk, data)) = crate::decoded::<(u16, u8, &[u8])>(data) else { return };
    let (movie, received) = data.split_at(data.len().min(usize::from(length) % LARGEST_MOVIE));
    let Ok(movie) = Movie::parse(Bytes::copy_from_slice(movie)) else { return };
    let received = [received, &movie.to_bytes()].concat();
    let Some(log) = matched(&movie, &received, usize::from(chunk) + 1) else { return };
    assert_eq!(log.bytes, received.len() as u64);
    let found = whole(&log);
    assert!(found.len() <= movie.index.frames.len() && found.is_sorted_by(|one, other| one < other));
    assert_eq!(found, whole(&matched(&movie, &received, received.len()).expect("the same codec")));
}
