//! The audio of a stream, as a file beside that of the video.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use framewire_adaptive::client::ClientEvent;
use framewire_media::audio::AudioCodec;

use crate::error::EndpointError;
use crate::received_file::ReceivedFile;

/// Packets in a row that stand for lost ones: 2.7 s of AAC at 96 kHz, 6.5 s of MPEG audio at 44.1 kHz, and no more of a disk
/// than that on either side of a packet that came.
const MOST_IN_A_ROW: u32 = 250;

/// Writes packets of audio as a stream that plays by itself.
///
/// Such a stream has no times. In the place of a packet that was lost stands the one before it again, so that what follows
/// keeps its time. What goes wrong with the file stops nothing: it is told by [`finish`](Self::finish).
#[derive(Debug)]
pub struct AudioFile {
    /// Where the video goes.
    video: Option<PathBuf>,
    /// Whether a file that is there already may go.
    replace: bool,
    /// Where the audio goes, once there is some.
    file: Option<ReceivedFile>,
    before: Option<Vec<u8>>,
    /// How often it was written again by now.
    filled: u32,
    /// Packets lost before the first that came.
    owed: u32,
    described: bool,
    packets: u64,
    lost: u64,
    /// What went wrong first.
    failed: Option<EndpointError>,
}

/// What came of the audio of a stream that has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedAudio {
    /// The file; `None` where nothing was to be written, or nothing came.
    pub file: Option<PathBuf>,
    /// Packets that came.
    pub packets: u64,
    /// Packets that did not.
    pub lost: u64,
}

impl AudioFile {
    /// For a file beside that of the video, which is there already; its name ends as the codec's does. Nowhere without
    /// one, and nothing goes beside what is no file of a disk (`/dev/null`). A file that is there already goes only with
    /// `replace`.
    pub fn beside(video: Option<&Path>, replace: bool) -> Self {
        let video = video.filter(|path| path.is_file()).map(Path::to_owned);
        let (file, before, failed) = (None, None, None);
        Self { video, replace, file, before, filled: 0, owed: 0, described: false, packets: 0, lost: 0, failed }
    }

    /// Whatever happens in the session.
    pub fn handle(&mut self, event: &ClientEvent) {
        match event {
            ClientEvent::Described(description) => {
                let codec = description.audio.and_then(|audio| AudioCodec::from_code(audio.codec));
                self.described = codec.is_some();
                if let (Some(codec), Some(video)) = (codec, &self.video) {
                    let path = video.with_extension(codec.name());
                    match ReceivedFile::open(&path, self.replace) {
                        Ok(file) => self.file = Some(file),
                        Err(error) => self.fail(path, error),
                    }
                }
            }
            ClientEvent::Audio(packet) => {
                self.packets += 1;
                let owed = std::mem::take(&mut self.owed);
                self.write(&packet.bytes, owed.min(MOST_IN_A_ROW) + 1);
                self.filled = 0;
                self.before = Some(packet.bytes.to_vec());
            }
            ClientEvent::AudioLost { count, .. } => {
                self.lost += u64::from(*count);
                match self.before.clone() {
                    Some(before) => {
                        let times = (*count).min(MOST_IN_A_ROW - self.filled);
                        self.filled += times;
                        self.write(&before, times);
                    }
                    None => self.owed = self.owed.saturating_add(*count),
                }
            }
            _ => {}
        }
    }

    /// What came of it, once the session is over; `None` without audio.
    ///
    /// # Errors
    /// [`EndpointError::WriteAudio`] of what went wrong first, when not everything could be written.
    pub fn finish(mut self) -> Result<Option<ReceivedAudio>, EndpointError> {
        let mut written = None;
        if let Some(mut file) = self.file.take() {
            let path = file.path().to_owned();
            match file.flush() {
                Ok(()) if file.is_empty() => {}
                Ok(()) => written = Some(path),
                Err(error) => self.fail(path, error),
            }
        }
        match self.failed {
            Some(error) => Err(error),
            None if !self.described => Ok(None),
            None => Ok(Some(ReceivedAudio { file: written, packets: self.packets, lost: self.lost })),
        }
    }

    fn write(&mut self, bytes: &[u8], times: u32) {
        let Some(file) = &mut self.file else { return };
        if let Some(error) = (0..times).find_map(|_| file.write_all(bytes).err()) {
            let path = file.path().to_owned();
            self.file = None;
            self.fail(path, error);
        }
    }

    fn fail(&mut self, path: PathBuf, error: io::Error) {
        self.failed.get_or_insert(EndpointError::WriteAudio { path, error });
    }
}

#[cfg(test)]
#[path = "audio_file_tests.rs"]
mod tests;
