use super::header::VERSION;

/// Why a datagram is not a packet of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// It ends before its fields do.
    #[error("{length} bytes, and a {packet} has at least {least}")]
    Short {
        /// What the datagram was read as.
        packet: &'static str,
        /// Its length in bytes.
        length: usize,
        /// Bytes that such a packet has at least.
        least: usize,
    },
    /// It has bytes after its last field.
    #[error("{length} bytes, and this {packet} has {expected}")]
    Long {
        /// What the datagram was read as.
        packet: &'static str,
        /// Its length in bytes.
        length: usize,
        /// Bytes that its fields take.
        expected: usize,
    },
    /// The version is not the one that is spoken here.
    #[error("version {0}, and only {spoken} is spoken", spoken = VERSION)]
    Version(u8),
    /// No packet has this TYPE.
    #[error("no packet has type {0}")]
    Type(u8),
    /// A field has a value that it cannot have.
    #[error("{field} is {value}, allowed: {allowed}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it may be.
        allowed: &'static str,
    },
}
