use std::io;
use std::path::PathBuf;

use framewire_recording::WriteError;

/// Why an emulated world could not be made or went wrong.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// The kernel refused namespaces; the hint says what allows them.
    #[error("{operation}: {source}; {hint}")]
    Namespace {
        /// The call that failed.
        operation: &'static str,
        /// What the kernel said.
        source: io::Error,
        /// What would allow it.
        hint: String,
    },
    /// Another kernel call failed.
    #[error("{operation}: {source}")]
    Kernel {
        /// What was being done, to which object.
        operation: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// No way was found to hold packets in the sender's own device.
    #[error(
        "bottleneck = \"local-device\" needs packets to be queued to this program (NFQUEUE), and no way to do so works \
         here ({tried}); use a kernel with CONFIG_NETFILTER_NETLINK_QUEUE and either CONFIG_NFT_QUEUE or \
         CONFIG_NFT_COMPAT with CONFIG_NETFILTER_XT_TARGET_NFQUEUE, or install iptables, or set bottleneck = \"remote\""
    )]
    NoGate {
        /// What was tried and how each try ended.
        tried: String,
    },
    /// A value out of range.
    #[error("{name} = {value}: {allowed} is allowed")]
    Invalid {
        /// The setting.
        name: String,
        /// Its value.
        value: String,
        /// What may be there.
        allowed: &'static str,
    },
    /// A capture file could not be written.
    #[error("capture {}: {source}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The disk did not take, or did not give back, what a lane logged.
    #[error(transparent)]
    Log(#[from] WriteError),
    /// A thread of the emulator ended by a panic, which is a defect.
    #[error("{0} ended unexpectedly; this is a defect of the emulator, please report it")]
    Thread(&'static str),
}

/// Adds what was being done to an error of the kernel.
pub(crate) trait OperationContext<T> {
    fn doing(self, operation: impl Into<String>) -> Result<T, EmuError>;
}

impl<T> OperationContext<T> for io::Result<T> {
    fn doing(self, operation: impl Into<String>) -> Result<T, EmuError> {
        self.map_err(|source| EmuError::Kernel { operation: operation.into(), source })
    }
}
