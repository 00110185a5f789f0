//! The continuity counter of one packet identifier (2.4.3.3).

use super::adaptation::Adaptation;
use super::packet::{HEADER_LENGTH, PACKET_LENGTH, Packet};

/// What a packet is to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The next one, or the first.
    Next,
    /// The same again.
    Duplicate,
    /// Between them so many are missing, or 16 more, or 32.
    Missing(u64),
}

/// Follows the counter of the packets with payload.
#[derive(Debug, Default)]
pub(super) struct Continuity {
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    bytes: [u8; PACKET_LENGTH],
    counter: u8,
    /// Where its adaptation field, in which a duplicate may have another clock reference, ends.
    payload_at: usize,
    /// It has come twice: a third time it would be another one.
    repeated: bool,
}

impl Continuity {
    /// Takes the next packet with payload.
    pub(super) fn step(&mut self, raw: &[u8; PACKET_LENGTH], packet: &Packet<'_>) -> Step {
        let payload = packet.payload.unwrap_or_default();
        let counter = packet.continuity_counter;
        let step = match &mut self.last {
            None => Step::Next,
            Some(last) if last.counter == counter && last.is_repeated_by(raw, payload.len()) => {
                last.repeated = true;
                return Step::Duplicate;
            }
            Some(_) if packet.adaptation.is_some_and(|Adaptation { discontinuity, .. }| discontinuity) => Step::Next,
            Some(last) => match counter.wrapping_sub(last.counter + 1) & 0x0F {
                0 => Step::Next,
                missing => Step::Missing(missing.into()),
            },
        };
        self.last = Some(Last { bytes: *raw, counter, payload_at: PACKET_LENGTH - payload.len(), repeated: false });
        step
    }
}

impl Last {
    /// Whether these are the same bytes, but for the adaptation field, which has the same length.
    fn is_repeated_by(&self, raw: &[u8; PACKET_LENGTH], payload: usize) -> bool {
        !self.repeated
            && self.payload_at == PACKET_LENGTH - payload
            && self.bytes[..HEADER_LENGTH] == raw[..HEADER_LENGTH]
            && self.bytes[self.payload_at..] == raw[self.payload_at..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(counter: u8, fill: u8) -> [u8; PACKET_LENGTH] {
        let mut bytes = [fill; PACKET_LENGTH];
        bytes[..HEADER_LENGTH].copy_from_slice(&[0x47, 1, 0, 0x10 | counter]);
        bytes
    }

    fn steps(packets: &[[u8; PACKET_LENGTH]]) -> Vec<Step> {
        let mut continuity = Continuity::default();
        packets.iter().map(|raw| continuity.step(raw, &Packet::parse(raw).unwrap())).collect()
    }

    #[test]
    fn packets_are_counted_modulo_16() {
        let counted = [14, 15, 0, 2, 1].map(|counter| packet(counter, counter));
        assert_eq!(steps(&counted), [Step::Next, Step::Next, Step::Next, Step::Missing(1), Step::Missing(14)]);
    }

    #[test]
    fn a_packet_may_come_twice_but_not_with_other_bytes_or_thrice() {
        let twice = [packet(3, 1), packet(3, 1), packet(4, 1)];
        assert_eq!(steps(&twice), [Step::Next, Step::Duplicate, Step::Next]);
        assert_eq!(steps(&[packet(3, 1), packet(3, 2)]), [Step::Next, Step::Missing(15)]);
        assert_eq!(steps(&[packet(3, 1); 3]), [Step::Next, Step::Duplicate, Step::Missing(15)]);
    }

    #[test]
    fn a_duplicate_may_have_another_clock_reference() {
        let with_reference = |reference| {
            let mut bytes = packet(3, 1);
            bytes[3] |= 0x20;
            bytes[4..12].copy_from_slice(&[7, 0x10, 0, 0, 0, reference, 0, 0]);
            bytes
        };
        assert_eq!(steps(&[with_reference(1), with_reference(2)]), [Step::Next, Step::Duplicate]);
    }

    #[test]
    fn an_announced_discontinuity_is_no_loss() {
        let mut announced = packet(9, 1);
        announced[3] |= 0x20;
        announced[4..6].copy_from_slice(&[1, 0x80]);
        assert_eq!(steps(&[packet(3, 1), announced]), [Step::Next, Step::Next]);
    }
}
