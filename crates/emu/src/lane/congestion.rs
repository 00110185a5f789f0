//! What queues read of a datagram's header, and the one thing that they change there.

use framewire_units::Ecn;

/// Bytes of an IPv4 header without options (RFC 791, section 3.1).
const HEADER: usize = 20;

/// The header of an IPv4 datagram, options left out; `None` of anything else.
fn header(datagram: &[u8]) -> Option<&[u8; HEADER]> {
    datagram.first_chunk().filter(|header: &&[u8; HEADER]| header[0] >> 4 == 4 && header[0] & 0x0f >= 5)
}

/// Its ECN field (RFC 3168, section 5); what is no IPv4 datagram is not marked.
pub(super) fn field_of(datagram: &[u8]) -> Ecn {
    header(datagram).map_or(Ecn::NotEct, |header| Ecn::from_bits(header[1]))
}

/// A number for its connection: of addresses, protocol and ports (RFC 8290, section 4.1.1). Only the first fragment of a
/// datagram has ports, so that of fragments none count.
pub(super) fn connection_of(datagram: &[u8]) -> u32 {
    let Some(header) = header(datagram) else { return 0 };
    let length = usize::from(header[0] & 0x0f) * 4;
    // More fragments, or an offset (RFC 791, section 3.1).
    let is_fragment = (u16::from_be_bytes([header[6], header[7]]) & 0x3fff) != 0;
    let has_ports = !is_fragment && matches!(header[9], 6 | 17);
    let ports = datagram.get(length..length + 4).filter(|_| has_ports).unwrap_or(&[0; 4]);
    let parts = header[12..20].iter().chain(&header[9..10]).chain(ports);
    // FNV-1a, 32 bits (Fowler, Noll, Vo): queues spread these numbers by a hash with a seed.
    parts.fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Sets Congestion Experienced in an IPv4 datagram's header, and its checksum by the difference (RFC 1624, section 3).
pub(super) fn mark(datagram: &mut [u8]) {
    if header(datagram).is_none() {
        return;
    }
    let word = |bytes: &[u8], at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let before = word(datagram, 0);
    datagram[1] |= Ecn::Ce.bits();
    let after = word(datagram, 0);
    // HC' = ~(~HC + ~m + m').
    let sum = u32::from(!word(datagram, 10)) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    datagram[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The sum of a header with its checksum (RFC 791, section 3.1), which is all ones where that is right.
    fn sum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    fn datagram(mut header: Vec<u8>, ports: [u8; 4]) -> Vec<u8> {
        header[0] = 0x45;
        header[10..12].fill(0);
        let checksum = !sum(&header);
        header[10..12].copy_from_slice(&checksum.to_be_bytes());
        header.extend(ports);
        header
    }

    proptest! {
        #[test]
        fn a_marked_datagram_has_a_right_checksum(header in prop::collection::vec(any::<u8>(), 20), ports in any::<[u8; 4]>()) {
            let mut packet = datagram(header, ports);
            let before = packet.clone();
            mark(&mut packet);
            prop_assert_eq!(sum(&packet[..20]), 0xffff);
            prop_assert_eq!(field_of(&packet), Ecn::Ce);
            prop_assert_eq!(packet[1] >> 2, before[1] >> 2, "the rest of the octet stays");
            let unchanged = |at: &usize| ![1, 10, 11].contains(at);
            prop_assert!((0..packet.len()).filter(unchanged).all(|at| packet[at] == before[at]));
        }

        #[test]
        fn any_bytes_are_read_without_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            connection_of(&bytes);
            mark(&mut bytes);
            prop_assert!(header(&bytes).is_none() || field_of(&bytes) == Ecn::Ce);
        }
    }

    #[test]
    fn a_connection_is_its_addresses_protocol_and_ports() {
        let mut header = vec![0; 20];
        header[9] = 17;
        header[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        let of = |header: &[u8], ports| connection_of(&datagram(header.to_vec(), ports));
        let one = of(&header, [1, 2, 3, 4]);
        let mut other_ident = header.clone();
        other_ident[4] = 7;
        assert_eq!(of(&other_ident, [1, 2, 3, 4]), one);
        assert_ne!(of(&header, [1, 2, 3, 5]), one);
        let mut tcp = header.clone();
        tcp[9] = 6;
        assert_ne!(of(&tcp, [1, 2, 3, 4]), one);
        let mut first = header.clone();
        first[6] = 0x20;
        let mut second = header.clone();
        second[7] = 185;
        assert_eq!(of(&first, [1, 2, 3, 4]), of(&second, [9, 9, 9, 9]), "fragments stay together");
        assert_eq!(connection_of(&[0x60; 40]), 0);
    }
}
