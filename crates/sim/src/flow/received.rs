//! The movie as received.

use std::fs::File;
use std::io::{BufWriter, Write};

/// Where the movie as received goes.
pub(crate) enum MovieSink {
    /// Nowhere.
    Nowhere,
    /// To memory.
    Memory(Vec<u8>),
    /// To a file.
    File(BufWriter<File>),
}

impl MovieSink {
    fn keep(&mut self, frame: &[u8]) -> std::io::Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Memory(bytes) => {
                bytes.extend_from_slice(frame);
                Ok(())
            }
            Self::File(file) => file.write_all(frame),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Nowhere | Self::Memory(_) => Ok(()),
        }
    }
}

/// What of the movie was received whole, on its way to where it goes.
pub(crate) struct KeptMovie {
    sink: MovieSink,
    bytes: u64,
    failure: Option<String>,
}

impl KeptMovie {
    pub(crate) fn new(sink: MovieSink) -> Self {
        Self { sink, bytes: 0, failure: None }
    }

    /// Keeps a frame.
    pub(crate) fn keep(&mut self, frame: &[u8]) {
        self.bytes += frame.len() as u64;
        self.note_failure(|sink| sink.keep(frame));
    }

    /// Nothing more comes.
    pub(crate) fn flush(&mut self) {
        self.note_failure(MovieSink::flush);
    }

    /// True where something could not be written.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Bytes kept, what could not be written, and the movie, where it was kept in memory.
    pub(crate) fn into_parts(self) -> (u64, Option<String>, Vec<u8>) {
        let movie = if let MovieSink::Memory(bytes) = self.sink { bytes } else { Vec::new() };
        (self.bytes, self.failure, movie)
    }

    fn note_failure(&mut self, work: impl FnOnce(&mut MovieSink) -> std::io::Result<()>) {
        if self.failure.is_none() {
            let failed = work(&mut self.sink).err();
            self.failure = failed.map(|error| format!("received movie cannot be written: {error}"));
        }
    }
}
