//! The ECN field of the IP header, which transports set and queues change.

use crate::keywords;

keywords! {
    /// The ECN field of an IP packet (RFC 3168, section 5; RFC 9331, section 2).
    Ecn {
        /// The transport does not know ECN: congestion is signalled by drops.
        NotEct = "not-ect",
        /// ECT(0): a mark means what a drop means (RFC 3168).
        Ect0 = "ect0",
        /// ECT(1): a transport that answers to marks in proportion (RFC 9331, section 4.1).
        Ect1 = "ect1",
        /// A queue on the way saw congestion.
        Ce = "ce",
    }
}

impl Ecn {
    /// The two bits in the header (RFC 3168, section 5, figure 1).
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }

    /// The field of a type-of-service octet, of which it is the lower two bits.
    pub const fn from_bits(octet: u8) -> Self {
        match octet & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    /// Whether a queue may mark instead of dropping.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

impl Default for Ecn {
    /// Of a sender that does not know ECN.
    fn default() -> Self {
        Self::NotEct
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_its_bits() {
        for octet in 0..=255u8 {
            assert_eq!(Ecn::from_bits(octet).bits(), octet & 0b11);
        }
        assert_eq!(Ecn::ALL.iter().filter(|ecn| ecn.is_capable()).count(), 3);
    }
}
