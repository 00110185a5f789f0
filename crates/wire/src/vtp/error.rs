use super::header::VERSION;

/// Why a datagram is not a packet of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// It does not have the length that its fields give it.
    #[error("{length} bytes, and this {packet} has {expected}")]
    Length {
        /// What the datagram was read as.
        packet: &'static str,
        /// Its length in bytes.
        length: usize,
        /// Bytes that its fields take; at least, where the rest cannot be read.
        expected: usize,
    },
    /// The version is not the one that is spoken here.
    #[error("version {0}, and only {spoken} is spoken", spoken = VERSION)]
    Version(u8),
    /// No packet has this TYPE, or not in this place.
    #[error("no packet here has type {0}")]
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
    /// The title is not UTF-8.
    #[error("the title is not UTF-8")]
    Title,
    /// The packet does not carry the tag that the shared key gives it.
    #[error("not authentic")]
    Authentication,
}

/// Refuses a packet that is not exactly as long as its fields.
pub(super) fn check_length(packet: &'static str, length: usize, expected: usize) -> Result<(), PacketError> {
    if length == expected { Ok(()) } else { Err(PacketError::Length { packet, length, expected }) }
}

/// Refuses bits that mean nothing yet.
pub(super) fn check_reserved(value: u64) -> Result<(), PacketError> {
    if value == 0 { Ok(()) } else { Err(PacketError::Field { field: "reserved", value, allowed: "0" }) }
}
