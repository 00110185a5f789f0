//! A host that serves a streaming file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use framewire_adaptive::frame_plan::FramePlan;
use framewire_adaptive::host::Host;
use framewire_adaptive::rate_control::{RateControl, RateControlSettings};
use framewire_adaptive::server::ServerSettings;
use framewire_adaptive::source::PlanWithAudio;
use framewire_adaptive::stored::FileSource;
use framewire_adaptive::vtp::Estimate;
use framewire_media::audio::AudioFormat;
use framewire_media::streaming_file::{StreamingFile, StreamingFileError};
use framewire_units::DataSize;
use thiserror::Error;

/// How a streaming file is served.
#[derive(Clone, Debug)]
pub struct FileService {
    /// Of each session; the client's buffer and the size of a packet are the file's.
    pub server: ServerSettings,
    /// By which the level is chosen.
    pub rate_control: RateControl,
    /// What VTP takes for the rate.
    pub estimate: Estimate,
    /// Clients at once at most.
    pub clients: usize,
}

/// A host of a file.
pub struct FileHost {
    /// For [`Serving`](crate::Serving).
    pub host: Host,
    /// The audio that the file has.
    pub audio: Option<AudioFormat>,
}

/// Why a file is not served, without its name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotServed {
    /// It is no streaming file.
    #[error("{0}")]
    OtherFormat(String),
    /// It cannot be read, is damaged, or is not as it has to be.
    #[error("{0}")]
    Refused(String),
}

impl FileService {
    /// Opens the file.
    ///
    /// # Errors
    /// When it is no streaming file, or cannot be served.
    pub fn open(self, path: &Path) -> Result<FileHost, NotServed> {
        let file = File::open(path).map_err(in_words)?;
        let file = StreamingFile::open(file).map_err(|error| match error {
            StreamingFileError::OtherFormat(_) => NotServed::OtherFormat(error.to_string()),
            error => in_words(error),
        })?;
        let plan = Arc::new(FramePlan::of_file(&file).map_err(in_words)?);
        let payload = u16::try_from(file.payload()).map_err(|_| in_words("its packets are too large"))?;
        let server = ServerSettings { buffer: file.plan().client_buffer, payload, ..self.server };
        let audio = file.audio().map(|audio| audio.format);
        let source = Arc::new(FileSource::new(file));
        let make = self.rate_control.maker(RateControlSettings {
            plan: Some(PlanWithAudio::of(&*source, plan.clone())),
            estimate: self.estimate,
            ..RateControlSettings::new(DataSize::from_bytes(payload.into()))
        });
        let host = Host::new(source, plan, make, server, self.clients).map_err(in_words)?;
        Ok(FileHost { host, audio })
    }
}

fn in_words(error: impl ToString) -> NotServed {
    NotServed::Refused(error.to_string())
}
