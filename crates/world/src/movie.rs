//! The movie of a run, from its file.

use std::fs::File;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use framewire_media::audio::{AudioError, AudioTrack};
use framewire_media::{Movie, read_regular_file};
use framewire_session::Sound;

/// A file that cannot be streamed; the text names it and says why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", file.display())]
pub struct MovieError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// Reads a movie.
///
/// # Errors
/// When the file cannot be read, is not an MPEG video elementary stream, or ends inside a picture.
pub fn load_movie(file: &Path) -> Result<Movie, MovieError> {
    let error = |reason| MovieError { file: file.to_owned(), reason };
    let opened = File::open(file).map_err(|cause| error(cause.to_string()))?;
    let movie = Movie::open(opened).map_err(|cause| error(cause.to_string()))?;
    match movie.cut_short() {
        None => Ok(movie),
        Some(cut) => Err(error(format!(
            "the stream is cut inside its last frame, {} (the last slice is of row {} of {}); a whole stream is needed: \
             state movie.bitrate to have it transcoded",
            cut.frame, cut.last_row, cut.rows
        ))),
    }
}

/// The largest file of sound that is read: nine hours of MPEG audio at 448 kbit/s, the highest rate that its headers state.
const LARGEST_SOUND: u64 = 2 << 30;

/// Reads the sound of a movie: an elementary stream of MPEG audio, or of AAC in ADTS frames, whose first packet begins to play
/// at `start` nanoseconds from the first frame shown.
///
/// # Errors
/// When the file cannot be read, is no such stream, or ends before the movie begins.
pub fn load_sound(file: &Path, start: i64) -> Result<Sound, MovieError> {
    let error = |reason| MovieError { file: file.to_owned(), reason };
    let bytes = read_regular_file(file, LARGEST_SOUND).map_err(error)?;
    let bytes = Bytes::from(bytes);
    let track = AudioTrack::parse(&bytes).or_else(|cause| match cause {
        // A recording that stops within a packet is one without that.
        AudioError::CutOff { offset, .. } if offset > 0 => AudioTrack::parse(&bytes.slice(..offset as usize)),
        cause => Err(cause),
    });
    let track = track.map_err(|cause| error(cause.to_string()))?;
    Sound::new(track, start).map_err(|cause| error(cause.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_movie_is_named() {
        let missing = load_movie(Path::new("/nonexistent/movie.m2v")).unwrap_err();
        assert!(missing.to_string().starts_with("/nonexistent/movie.m2v: No such file"), "{missing}");
        let source = load_movie(Path::new(file!()).file_name().map(|_| Path::new("Cargo.toml")).unwrap()).unwrap_err();
        assert!(source.to_string().starts_with("Cargo.toml: "), "{source}");
    }
}
