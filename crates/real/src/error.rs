//! What can go wrong at an end.

use framewire_recording::WriteError;
use framewire_recording::tables::ReadError;
use framewire_session::{AnnouncementError, BuildError};
use framewire_sockets::OpenError;
use framewire_transport::socket::SocketError;

/// Why a stream cannot begin, or a directory cannot be written or read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RealError {
    /// What was asked for cannot be: file, option or directory; with the reason.
    #[error("{0}")]
    Input(String),
    /// The network or this machine does not let it: a port that is taken, nobody who answers.
    #[error("{0}")]
    Failed(String),
    /// It was stopped before there was anything to keep.
    #[error("stopped before anything was sent or came")]
    Stopped,
    /// The disk refused something.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<ReadError> for RealError {
    fn from(error: ReadError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<BuildError> for RealError {
    fn from(error: BuildError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<AnnouncementError> for RealError {
    fn from(error: AnnouncementError) -> Self {
        Self::Input(error.to_string())
    }
}

impl From<OpenError> for RealError {
    fn from(error: OpenError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<SocketError> for RealError {
    fn from(error: SocketError) -> Self {
        Self::Failed(error.to_string())
    }
}
