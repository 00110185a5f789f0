//! Why a simulation cannot be, or did not come to its end.

use framewire_recording::WriteError;

/// A failed simulation, with one clear message.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// What was asked for cannot be simulated; the text names the key, the value and what is allowed.
    #[error("{0}")]
    Input(String),
    /// Results cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// It was asked to end.
    #[error("interrupted")]
    Cancelled,
}
