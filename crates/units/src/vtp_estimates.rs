//! The two readings of equation 1 of VTP's paper, the estimates of the rate, by name: what files, command lines and elements call
//! them.

/// The bytes since the last control packet over the time since then, as section 4.1 has it.
pub const BYTES_OVER_GAPS: &str = "bytes over gaps";
/// The bytes of k packets over the k - 1 gaps between them, by the indices of the equation.
pub const K_OVER_K_MINUS_1: &str = "k over k - 1";
/// All of them, the paper's protocol first.
pub const NAMES: [&str; 2] = [BYTES_OVER_GAPS, K_OVER_K_MINUS_1];
