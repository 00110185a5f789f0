//! The movie as received.

use std::fmt;
use std::io::{self, Write};

use framewire_media::audio::{AudioCodec, AudioFormat, OpusFile};

/// Where the movie as received goes.
#[derive(Default)]
pub enum MovieSink {
    /// Nowhere.
    #[default]
    Nowhere,
    /// To memory.
    Memory(Vec<u8>),
    /// To a file, or whatever else takes bytes.
    Writer(Box<dyn Write + Send>),
}

impl fmt::Debug for MovieSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nowhere => "Nowhere",
            Self::Memory(_) => "Memory",
            Self::Writer(_) => "Writer",
        })
    }
}

impl MovieSink {
    fn keep(&mut self, frame: &[u8]) -> io::Result<()> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Memory(bytes) => {
                bytes.extend_from_slice(frame);
                Ok(())
            }
            Self::Writer(writer) => writer.write_all(frame),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Nowhere | Self::Memory(_) => Ok(()),
            Self::Writer(writer) => writer.flush(),
        }
    }
}

/// What of the movie, or of its sound, was received whole, on its way to where it goes; by default nowhere.
#[derive(Debug, Default)]
pub struct ReceivedMovie {
    sink: MovieSink,
    /// Of what does not play by itself, what makes a file of it.
    file: Option<OpusFile>,
    bytes: u64,
    failure: Option<String>,
}

impl ReceivedMovie {
    /// Nothing was received yet.
    pub fn new(sink: MovieSink) -> Self {
        Self { sink, file: None, bytes: 0, failure: None }
    }

    /// The same of sound in this format: what plays by itself is kept as it is, and Opus in Ogg.
    pub(crate) fn of_sound(mut self, format: AudioFormat) -> Self {
        if format.codec == AudioCodec::Opus {
            let (file, headers) = OpusFile::new(format);
            self.file = Some(file);
            self.note_failure(|sink| sink.keep(&headers));
        }
        self
    }

    /// Keeps frames, in order.
    pub(crate) fn keep(&mut self, frames: impl IntoIterator<Item = impl AsRef<[u8]>>) {
        for frame in frames {
            let frame = frame.as_ref();
            self.bytes += frame.len() as u64;
            let page = self.file.as_mut().map(|file| file.packet(frame));
            self.note_failure(|sink| sink.keep(page.as_deref().unwrap_or(frame)));
        }
    }

    /// Nothing more comes.
    pub(crate) fn flush(&mut self) {
        if let Some(mut file) = self.file.take() {
            self.note_failure(|sink| sink.keep(&file.end()));
        }
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

    fn note_failure(&mut self, work: impl FnOnce(&mut MovieSink) -> io::Result<()>) {
        if self.failure.is_none() {
            let failed = work(&mut self.sink).err();
            self.failure = failed.map(|error| format!("received movie cannot be written: {error}"));
        }
    }
}
