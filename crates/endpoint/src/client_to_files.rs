//! A client that keeps what it receives in files.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use framewire_adaptive::client::ClientEvent;
use framewire_units::{DataSize, Timestamp};

use crate::allowance::Allowance;
use crate::audio_file::{AudioFile, ReceivedAudio};
use crate::client_driver::ClientDriver;
use crate::client_outcome::ClientOutcome;
use crate::error::EndpointError;
use crate::received_file::ReceivedFile;
use crate::silence::{Silence, SilenceWatch};

/// Where what is received goes.
#[derive(Clone, Debug)]
pub struct Files {
    /// The video; the audio goes into a file beside it, whose name ends as the codec's does. `None`: nothing is kept.
    pub video: Option<PathBuf>,
    /// Whether files that are there already go.
    pub replace: bool,
    /// No more than this goes into files: where more comes, the session is stopped.
    pub most: DataSize,
}

/// What a client is told of while it receives.
#[derive(Clone, Copy, Debug)]
pub enum ClientNotice<'a> {
    /// What happened.
    Event(Timestamp, &'a ClientEvent),
    /// What does not come although it should.
    Silence(Silence),
}

impl ClientDriver {
    /// [Receives](Self::run) into files, and tells `listener` what happens. Packets have to be
    /// [events](framewire_adaptive::client::ClientSettings::packet_events) for all of it.
    ///
    /// # Errors
    /// When a file cannot be written, or a socket is broken.
    pub fn run_into(
        self,
        files: &Files,
        cancelled: impl Fn() -> bool,
        listener: impl Fn(ClientNotice<'_>),
    ) -> Result<(ClientOutcome, Option<ReceivedAudio>), EndpointError> {
        let video = files.video.as_deref();
        let sink = sink(video, files.replace)?;
        // What is no file of a disk (a pipe to a player) has no end that has to be kept.
        let is_file = video.is_some_and(Path::is_file);
        let allowance = if is_file { Allowance::of(files.most) } else { Allowance::unlimited() };
        let mut audio = AudioFile::beside(video, files.replace, allowance.clone());
        let watch = RefCell::new(SilenceWatch::new(self.now()));
        let viewed = self.within(allowance).run_and_watch(
            sink,
            cancelled,
            |now, event| {
                audio.handle(event);
                watch.borrow_mut().handle(now, event);
                listener(ClientNotice::Event(now, event));
            },
            |now| {
                if let Some(noticed) = watch.borrow_mut().poll(now) {
                    listener(ClientNotice::Silence(noticed));
                }
            },
        );
        let audio = audio.finish()?;
        Ok((viewed?, audio))
    }
}

fn sink(video: Option<&Path>, replace: bool) -> Result<Box<dyn Write + Send>, EndpointError> {
    let Some(path) = video else { return Ok(Box::new(io::sink())) };
    let file = ReceivedFile::open(path, replace);
    Ok(Box::new(file.map_err(|error| EndpointError::OpenFile { path: path.to_owned(), error })?))
}
