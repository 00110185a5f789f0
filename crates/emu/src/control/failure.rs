//! Why a run failed, and what that means for the exit code.

use std::fmt::Display;

use framewire_emu::EmuError;
use framewire_recording::WriteError;
use framewire_world::MovieError;

/// A failed run: one clear message and an exit code.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    message: String,
    exit_code: u8,
}

impl Failure {
    /// The run itself went wrong.
    pub const RUN: u8 = 1;
    /// The input is wrong.
    pub const INPUT: u8 = 2;
    /// The machine lacks something.
    pub const MACHINE: u8 = 3;

    /// A named input is wrong.
    pub fn input(name: impl Display, reason: impl Display) -> Self {
        Self { message: format!("{name}: {reason}"), exit_code: Self::INPUT }
    }

    /// The machine lacks something.
    pub fn machine(message: impl Display) -> Self {
        Self { message: message.to_string(), exit_code: Self::MACHINE }
    }

    /// The run itself went wrong.
    pub fn run(message: impl Display) -> Self {
        Self { message: message.to_string(), exit_code: Self::RUN }
    }

    /// The exit code of the program.
    pub fn exit_code(&self) -> u8 {
        self.exit_code
    }
}

impl From<EmuError> for Failure {
    fn from(error: EmuError) -> Self {
        let exit_code = match error {
            EmuError::Namespace { .. } | EmuError::NoGate { .. } => Self::MACHINE,
            EmuError::Invalid { .. } => Self::INPUT,
            _ => Self::RUN,
        };
        Self { message: error.to_string(), exit_code }
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        Self::run(error)
    }
}

impl From<MovieError> for Failure {
    fn from(error: MovieError) -> Self {
        Self::input(error.file.display(), error.reason)
    }
}
