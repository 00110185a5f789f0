//! The audio of a stream, as a file beside that of the video.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use framewire_adaptive::client::ClientEvent;
use framewire_media::audio::AudioCodec;

use crate::allowance::Allowance;
use crate::error::EndpointError;
use crate::received_file::ReceivedFile;

/// Packets in a row that stand for lost ones: 2.7 s of AAC at 96 kHz, 6.5 s of MPEG audio at 44.1 kHz, and no more of a
/// disk than that on either side of a packet that came.
const MOST_IN_A_ROW: u32 = 250;

/// Bytes that may stand for lost packets beyond as many as came: a minute of MPEG audio at 128 kbit/s. A server that
/// leaves out most numbers so makes no more of a disk than twice what it sends.
const MOST_AHEAD: u64 = 1 << 20;

/// Writes packets of audio as a stream that plays by itself.
///
/// Such a stream has no times. In the place of a packet that was lost stands the one before it again, so that what
/// follows keeps its time, as long as what was repeated is at most a mebibyte more than what came. What goes wrong with
/// the file stops nothing: it is returned by [`finish`](Self::finish).
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
    /// Bytes of packets that came, and of packets that stand for lost ones.
    came: u64,
    repeated: u64,
    /// What may be written in all.
    allowance: Allowance,
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
    /// one, and nothing goes beside what is no file of a disk (`/dev/null`). A file that is there already goes only
    /// with `replace`. Nothing is written beyond `allowance`.
    pub fn beside(video: Option<&Path>, replace: bool, allowance: Allowance) -> Self {
        Self {
            video: video.filter(|path| path.is_file()).map(Path::to_owned),
            replace,
            file: None,
            before: None,
            filled: 0,
            owed: 0,
            described: false,
            packets: 0,
            lost: 0,
            came: 0,
            repeated: 0,
            allowance,
            failed: None,
        }
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
                self.came += packet.bytes.len() as u64;
                let owed = std::mem::take(&mut self.owed);
                self.repeat(&packet.bytes, owed.min(MOST_IN_A_ROW));
                self.write(&packet.bytes);
                self.filled = 0;
                self.before = Some(packet.bytes.to_vec());
            }
            ClientEvent::AudioLost { count, .. } => {
                self.lost += u64::from(*count);
                match self.before.clone() {
                    Some(before) => {
                        let times = (*count).min(MOST_IN_A_ROW - self.filled);
                        self.filled += times;
                        self.repeat(&before, times);
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

    /// Writes a packet so often for lost ones, as far as that is allowed.
    fn repeat(&mut self, bytes: &[u8], times: u32) {
        let length = bytes.len() as u64;
        for _ in 0..times {
            if self.repeated + length > self.came + MOST_AHEAD {
                break;
            }
            self.repeated += length;
            self.write(bytes);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        if !self.allowance.take(bytes.len()) {
            return;
        }
        if let Err(error) = file.write_all(bytes) {
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
