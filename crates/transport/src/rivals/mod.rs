//! What others do when a stream falls behind, to compare with: each as its own documentation describes it.

mod keyframe;
mod leaky;
mod obs;
#[cfg(test)]
mod tests;

pub use keyframe::KeyframeRecovery;
pub use leaky::LeakyDownstream;
pub use obs::{Obs, Thresholds};
