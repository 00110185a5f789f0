//! Numbers that both worlds keep to, so that their results can be compared.

use framewire_units::DataSize;

/// Twice `net.core.rmem_max` of Linux as it comes, the most that an unprivileged process gets: a third of a second of
/// full packets at 11 Mbit/s.
pub const UDP_RECEIVE_BUFFER: DataSize = DataSize::from_bytes(425_984);
