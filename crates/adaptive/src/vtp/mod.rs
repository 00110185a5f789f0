//! VTP's rate control (Balk et al., sections 4 and 5.1): the bandwidth estimate of equations 1 and 2 from control
//! packets, the state machine of figure 6, and the two, joined, as a [`Controller`](crate::controller::Controller).
//!
//! The paper's two libraries stand beside it and can be used apart: [`NetPeer`] measures and paces,
//! [`FileSystemPeer`] reads packets and decides rate and level. `docs/vtp.md` says where the paper leaves a gap and
//! what is done there.

mod controller;
mod estimate;
mod estimator;
mod file_peer;
mod machine;
mod measurement;
mod net_peer;
mod settings;

pub use controller::VtpController;
pub use estimate::{Estimate, EstimateError};
pub use file_peer::FileSystemPeer;
pub use net_peer::NetPeer;
pub use settings::{SettingsError, VtpSettings};
