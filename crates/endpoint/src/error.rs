//! What stops a server or a client, in words for the user.

use std::path::PathBuf;

use framewire_adaptive::server::ServerError;
use framewire_sockets::OpenError;
use framewire_transport::socket::SocketError;

/// Why an endpoint cannot do its work.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// A socket cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A socket is broken.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The movie cannot be served.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The system has no random numbers.
    #[error("/dev/urandom cannot be read: {0}")]
    Random(std::io::Error),
    /// There is no file in which what comes could be kept.
    #[error("{}: {error}", path.display())]
    OpenFile {
        /// Where.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// What came cannot be kept.
    #[error("the received movie cannot be written: {0}")]
    Write(std::io::Error),
    /// The audio beside it cannot be kept.
    #[error("{}: the audio cannot be written: {error}", path.display())]
    WriteAudio {
        /// Where.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}
