//! Why a program does not get into the kernel.

use std::io;

/// Why a congestion control cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no program of that name.
    #[error("no BPF program has the name {name:?}; there are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The process may not load it.
    #[error("BPF programs need root, or CAP_BPF and CAP_PERFMON, in the initial user namespace")]
    NotPermitted,
    /// The kernel is without something that is needed.
    #[error("the kernel lacks {0}")]
    Kernel(String),
    /// The object is not as this module writes them.
    #[error("the object of {name} is damaged: {reason}")]
    Object {
        /// Of which program.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// The kernel refused it otherwise.
    #[error("{operation}: {source}{log}")]
    System {
        /// What was asked of the kernel.
        operation: &'static str,
        /// Its answer.
        source: io::Error,
        /// What its verifier says, if anything.
        log: String,
    },
}
