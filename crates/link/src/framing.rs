//! What a line carries around an IP packet: its rate counts all of it.

use framewire_units::{DataSize, keywords};

keywords! {
    /// How a line frames IP packets.
    LineKind {
        /// So many bytes more, and nothing else.
        Plain = "plain",
        /// AAL5 over ATM, as ADSL: cells of 53 bytes that carry 48 (ITU-T I.363.5; RFC 2684).
        Atm = "atm",
        /// Ethernet over PTM, as VDSL2: a byte more for every 64 (IEEE Std 802.3, clause 61.3.3).
        Ptm = "ptm",
        /// Ethernet behind a header of DOCSIS, as cable.
        Docsis = "docsis",
        /// Ethernet with its preamble and the gap between frames (IEEE Std 802.3, clause 3).
        Ethernet = "ethernet",
    }
}

/// Bytes of an Ethernet header and its check sequence (IEEE Std 802.3, clause 3.1).
const ETHERNET: u64 = 14 + 4;
/// The least payload of an Ethernet frame: less is padded (IEEE Std 802.3, clause 3.2.8).
const ETHERNET_LEAST: u64 = 46;
/// Preamble and start of frame, and the gap of 96 bits before the next (IEEE Std 802.3, clauses 3.1.1 and 4.4.2).
const PREAMBLE_AND_GAP: u64 = 8 + 12;
/// LLC and SNAP of routed IP in AAL5 (RFC 2684, section 5.1).
const LLC_AND_SNAP: u64 = 8;
/// The trailer of an AAL5 frame (ITU-T I.363.5, clause 9.2.1.2).
const AAL5_TRAILER: u64 = 8;
/// A cell of ATM and its payload (ITU-T I.361, clause 2.1).
const CELL: u64 = 53;
const CELL_PAYLOAD: u64 = 48;
/// Bytes around a frame of PTM: its start and its end, and a check sequence of 16 bits (IEEE Std 802.3, clause 61.3.3; as
/// `bridged-ptm` of Linux' tc-cake(8), which has 22 with Ethernet).
const PTM: u64 = 1 + 1 + 2;
/// Data bytes between two that PTM adds.
const PTM_BLOCK: u64 = 64;
/// The header of DOCSIS without extensions: frame control, parameter, length and check sequence (DOCSIS 3.1 MULPI, section
/// 6.2.1).
const DOCSIS: u64 = 6;

/// The framing of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Framing {
    /// What kind of line it is.
    pub kind: LineKind,
    /// Bytes around each packet before the line's own cells or blocks.
    pub overhead: DataSize,
}

impl Framing {
    /// Nothing around IP packets.
    pub const NONE: Self = Self { kind: LineKind::Plain, overhead: DataSize::ZERO };

    /// The framing of a kind of line with its usual headers: routed IP in AAL5, or an Ethernet frame.
    pub const fn of(kind: LineKind) -> Self {
        let overhead = match kind {
            LineKind::Plain => 0,
            LineKind::Atm => LLC_AND_SNAP,
            LineKind::Ptm => ETHERNET + PTM,
            LineKind::Docsis => ETHERNET + DOCSIS,
            LineKind::Ethernet => ETHERNET + PREAMBLE_AND_GAP,
        };
        Self { kind, overhead: DataSize::from_bytes(overhead) }
    }

    /// What the line carries for an IP packet.
    pub(crate) fn on_line(self, packet: DataSize) -> DataSize {
        let (packet, overhead) = (packet.as_bytes(), self.overhead.as_bytes());
        let framed = packet.max(ETHERNET_LEAST) + overhead;
        DataSize::from_bytes(match self.kind {
            LineKind::Plain => packet + overhead,
            LineKind::Atm => (packet + overhead + AAL5_TRAILER).div_ceil(CELL_PAYLOAD) * CELL,
            LineKind::Ptm => framed + framed.div_ceil(PTM_BLOCK),
            LineKind::Docsis | LineKind::Ethernet => framed,
        })
    }
}

impl Default for Framing {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn on_line(kind: LineKind, packet: u64) -> u64 {
        Framing::of(kind).on_line(DataSize::from_bytes(packet)).as_bytes()
    }

    #[test]
    fn a_full_packet_and_an_acknowledgement_are_as_long_as_published() {
        // 1,500 + 8 + 8 bytes are 32 cells; 40 + 16 are two, the worst case of ADSL.
        assert_eq!([on_line(LineKind::Atm, 1500), on_line(LineKind::Atm, 40)], [32 * 53, 2 * 53]);
        assert_eq!([on_line(LineKind::Atm, 32), on_line(LineKind::Atm, 33)], [53, 2 * 53]);
        // A full Ethernet frame takes 1,538 bytes of the line, and the least one 84.
        assert_eq!([on_line(LineKind::Ethernet, 1500), on_line(LineKind::Ethernet, 28)], [1538, 84]);
        assert_eq!([on_line(LineKind::Docsis, 1500), on_line(LineKind::Docsis, 28)], [1524, 70]);
        // tc-cake's bridged-ptm: (1500 + 22) x 65 / 64.
        assert_eq!(on_line(LineKind::Ptm, 1500), 1522 + 24);
        assert_eq!(on_line(LineKind::Plain, 1500), 1500);
    }

    proptest! {
        #[test]
        fn a_line_never_carries_less_than_the_packet_and_no_less_for_a_longer_one(
            kind in prop::sample::select(LineKind::ALL),
            overhead in 0..200u64,
            packet in 1..65_535u64,
        ) {
            let framing = Framing { kind, overhead: DataSize::from_bytes(overhead) };
            let [one, next] = [packet, packet + 1].map(|bytes| framing.on_line(DataSize::from_bytes(bytes)).as_bytes());
            prop_assert!(packet + overhead <= one && one <= next && next <= one + CELL);
        }
    }
}
