//! Numbers that both worlds keep to, so that their results can be compared.

use framewire_units::{DataSize, Duration};

/// How often a flow's state is sampled: fine enough to see a congestion window move, at 20 rows a second.
pub const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// A network in which nothing arrives any more has had this long to bring what was under way.
pub const SETTLING_AT_MOST: Duration = Duration::from_secs(5);

/// Twice `net.core.rmem_max` of Linux as it comes, the most that an unprivileged process gets: a third of a second of
/// full packets at 11 Mbit/s.
pub const UDP_RECEIVE_BUFFER: DataSize = DataSize::from_bytes(425_984);
