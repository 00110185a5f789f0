/// Why bytes are no packet of TFRC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The block has a fixed length, and this is another.
    #[error("{block} of {length} bytes, and it has {expected}")]
    Length {
        /// What the bytes were read as.
        block: &'static str,
        /// How many there are.
        length: usize,
        /// How many it has.
        expected: usize,
    },
    /// The datagram is no RTP packet.
    #[error("not an RTP packet: {0}")]
    Rtp(String),
    /// The RTP packet has no header extension, or one of another kind.
    #[error("RTP packet {sequence_number} has no header extension {expected:#06x}")]
    Extension {
        /// Its sequence number.
        sequence_number: u16,
        /// The extension that carries TFRC's fields.
        expected: u16,
    },
}
