//! What both ends' directories have in common.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use framewire_media::audio::AudioCodec;
use framewire_recording::WriteError;
use framewire_recording::record::FlowStatus;
use framewire_session::lifecycle::{MovieSink, ReceivedMovie};
use serde_json::{Value, json};

use crate::error::RealError;

/// The directory of what is received, within a run.
pub(crate) fn received(directory: &Path) -> Result<PathBuf, RealError> {
    let received = directory.join("received");
    fs::create_dir_all(&received).map_err(|error| WriteError::new(received.clone(), &error))?;
    Ok(received)
}

/// A file of what is received.
pub(crate) fn create(file: &Path) -> Result<ReceivedMovie, RealError> {
    create_behind(file, &[])
}

/// What stands before each parameter set (ITU-T H.264 and H.265, annex B: `zero_byte` and `start_code_prefix_one_3bytes`).
const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// Bytes of parameter sets before the first frame of a file.
pub(crate) fn bytes_before(parameter_sets: &[Vec<u8>]) -> u64 {
    parameter_sets.iter().map(|set| (START_CODE.len() + set.len()) as u64).sum()
}

/// The same behind parameter sets that came beside the stream, each behind the start code of a byte stream (ITU-T H.264 and
/// H.265, annex B).
pub(crate) fn create_behind(file: &Path, parameter_sets: &[Vec<u8>]) -> Result<ReceivedMovie, RealError> {
    let write = || {
        let mut writer = BufWriter::new(File::create(file)?);
        for set in parameter_sets {
            writer.write_all(&START_CODE)?;
            writer.write_all(set)?;
        }
        Ok(writer)
    };
    let writer = write().map_err(|error: io::Error| WriteError::new(file.to_owned(), &error))?;
    Ok(ReceivedMovie::new(MovieSink::Writer(Box::new(writer))))
}

/// A file of sound whose codec its first frames say, which is made then: `movie.aac`, `movie.mp2` or `movie.mp3`.
pub(crate) fn create_sound_of_any(folder: &Path) -> ReceivedMovie {
    let writer = SoundOfAny { folder: folder.to_owned(), file: None };
    ReceivedMovie::new(MovieSink::Writer(Box::new(writer)))
}

struct SoundOfAny {
    folder: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Write for SoundOfAny {
    /// What comes before a whole frame is known is no sound that can be decoded.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let Some(codec) = AudioCodec::of_stream(bytes) else { return Ok(bytes.len()) };
                let file = File::create(self.folder.join(format!("movie.{}", codec.name())))?;
                self.file.insert(BufWriter::new(file))
            }
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// `complete` or `partial`, and the reason of a stream that broke.
pub(crate) fn status(status: &FlowStatus) -> (&'static str, Option<&str>) {
    match status {
        FlowStatus::Complete => ("complete", None),
        FlowStatus::Partial => ("partial", None),
        FlowStatus::Failed(reason) => ("partial", Some(reason)),
    }
}

/// A sender's description: what came is not known there.
pub(crate) fn without_what_came(mut document: Value) -> Value {
    for flow in document["flows"].as_array_mut().into_iter().flatten() {
        for key in ["received_frames", "received_bytes", "rejected", "rejections"] {
            flow[key] = Value::Null;
        }
    }
    document
}

/// The kernel that an end ran on.
pub(crate) fn kernel() -> Value {
    const SETTINGS: [&str; 5] = [
        "net/core/wmem_max",
        "net/core/rmem_max",
        "net/ipv4/tcp_wmem",
        "net/ipv4/tcp_rmem",
        "net/ipv4/tcp_congestion_control",
    ];
    let settings = SETTINGS.iter().filter_map(|name| Some((name.replace('/', "."), json!(setting(name)?))));
    json!({
        "release": setting("kernel/osrelease"),
        "settings": settings.collect::<serde_json::Map<_, _>>(),
    })
}

fn setting(name: &str) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/sys/{name}")).ok()?.trim().to_owned())
}
