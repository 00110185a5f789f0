//! Transport packets (2.4.3.2, 2.4.3.3).

use super::adaptation::{Adaptation, AdaptationRepr};

/// Bytes of a transport packet.
pub const PACKET_LENGTH: usize = 188;

/// What every transport packet begins with.
pub const SYNC_BYTE: u8 = 0x47;

/// Packet identifier of packets without content (table 2-3).
pub const NULL_PID: u16 = 0x1FFF;

/// Packet identifier of the program association table (table 2-3).
pub(crate) const ASSOCIATION_PID: u16 = 0;

/// Packet identifiers that programs may use (table 2-3): those below are for tables, the last one is of null packets.
pub(crate) const PROGRAM_PIDS: std::ops::RangeInclusive<u16> = 0x0010..=0x1FFE;

/// Bytes before the adaptation field or the payload.
pub const HEADER_LENGTH: usize = 4;

/// Bytes behind the header.
pub(super) const BODY_LENGTH: usize = PACKET_LENGTH - HEADER_LENGTH;

/// One transport packet, its fields checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// transport_error_indicator: at least one bit is wrong.
    pub transport_error: bool,
    /// payload_unit_start_indicator: a PES packet begins with the payload, or a section in it.
    pub unit_start: bool,
    /// Packet identifier.
    pub pid: u16,
    /// transport_scrambling_control; 0 is not scrambled.
    pub scrambling: u8,
    /// Counts the packets with payload of the packet identifier, modulo 16.
    pub continuity_counter: u8,
    /// The adaptation field.
    pub adaptation: Option<Adaptation<'a>>,
    /// The payload.
    pub payload: Option<&'a [u8]>,
}

impl<'a> Packet<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// When it is none, or a length in it is wrong.
    pub fn parse(bytes: &'a [u8; PACKET_LENGTH]) -> Result<Self, PacketError> {
        let [sync, second, third, fourth, body @ ..] = bytes;
        if *sync != SYNC_BYTE {
            return Err(PacketError::Sync(*sync));
        }
        let (has_adaptation, has_payload) = (fourth & 0x20 != 0, fourth & 0x10 != 0);
        let (adaptation, payload) = match (has_adaptation, has_payload) {
            (false, true) => (None, Some(&body[..])),
            (true, _) => {
                let (adaptation, rest) = Adaptation::parse(body, has_payload)?;
                (Some(adaptation), has_payload.then_some(rest))
            }
            (false, false) => return Err(PacketError::NoContent),
        };
        Ok(Self {
            transport_error: second & 0x80 != 0,
            unit_start: second & 0x40 != 0,
            pid: u16::from(second & 0x1F) << 8 | u16::from(*third),
            scrambling: fourth >> 6,
            continuity_counter: fourth & 0x0F,
            adaptation,
            payload,
        })
    }
}

/// What is no transport packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// It does not begin with the sync byte.
    #[error("a transport packet begins with 0x47, not with {0:#04x}")]
    Sync(u8),
    /// Neither adaptation field nor payload, which is reserved.
    #[error("adaptation_field_control is 00, which is reserved")]
    NoContent,
    /// The adaptation field is longer than its packet.
    #[error("an adaptation field of {length} bytes: at most {most} fit here")]
    AdaptationLength {
        /// What it says.
        length: u8,
        /// What there is room for.
        most: u8,
    },
    /// A field goes beyond the end of the adaptation field.
    #[error("the {field} goes beyond the end of an adaptation field of {length} bytes")]
    AdaptationField {
        /// Which.
        field: &'static str,
        /// The bytes of the adaptation field.
        length: u8,
    },
}

/// The header of a packet that is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketRepr<'a> {
    pub unit_start: bool,
    pub pid: u16,
    /// Of the packet; where there is no payload, that of the one before.
    pub continuity_counter: u8,
    pub adaptation: AdaptationRepr<'a>,
}

impl PacketRepr<'_> {
    /// Appends a packet with as much of `payload` as fits, stuffed by its adaptation field; a packet without any has an
    /// adaptation field only.
    pub(super) fn emit(&self, payload: &mut Payload<'_>, out: &mut Vec<u8>) {
        let content = self.adaptation.length();
        let room = BODY_LENGTH - content;
        let taken = payload.len().min(room);
        let field = BODY_LENGTH - taken;
        out.extend_from_slice(&self.header(field > 0, taken > 0));
        if field > 0 {
            self.adaptation.emit(field, out);
        }
        payload.take(taken, out);
    }

    fn header(&self, has_adaptation: bool, has_payload: bool) -> [u8; HEADER_LENGTH] {
        let control = if has_adaptation { 0x20 } else { 0 } | if has_payload { 0x10 } else { 0 };
        let start = if self.unit_start { 0x40 } else { 0 };
        let [pid_high, pid_low] = self.pid.to_be_bytes();
        [SYNC_BYTE, start | pid_high, pid_low, control | self.continuity_counter & 0x0F]
    }
}

/// What goes into packets: a few bytes of headers, and the media behind them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Payload<'a> {
    pub head: &'a [u8],
    pub body: &'a [u8],
}

impl Payload<'_> {
    pub(super) fn len(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// Appends up to `most` packets that the payload fills, but for the last one that it does, by headers of these counters.
    /// Returns how many, and the next counter. What is copied has lengths that the compiler knows.
    pub(super) fn emit_full(
        &mut self,
        most: u64,
        mut counter: u8,
        packet: impl Fn(u8) -> PacketRepr<'static>,
        out: &mut Vec<u8>,
    ) -> (u64, u8) {
        if !self.head.is_empty() {
            return (0, counter);
        }
        let (bodies, _) = self.body.as_chunks::<BODY_LENGTH>();
        let count = bodies.len().saturating_sub(1).min(usize::try_from(most).unwrap_or(usize::MAX));
        let begin = out.len();
        out.resize(begin + count * PACKET_LENGTH, 0);
        let (packets, _) = out[begin..].as_chunks_mut::<PACKET_LENGTH>();
        for (out, body) in packets.iter_mut().zip(bodies) {
            out[..HEADER_LENGTH].copy_from_slice(&packet(counter).header(false, true));
            out[HEADER_LENGTH..].copy_from_slice(body);
            counter = counter.wrapping_add(1) & 0x0F;
        }
        self.body = &self.body[count * BODY_LENGTH..];
        (count as u64, counter)
    }

    fn take(&mut self, mut count: usize, out: &mut Vec<u8>) {
        if !self.head.is_empty() {
            let (head, rest) = self.head.split_at(count.min(self.head.len()));
            out.extend_from_slice(head);
            self.head = rest;
            count -= head.len();
        }
        let (body, rest) = self.body.split_at(count);
        out.extend_from_slice(body);
        self.body = rest;
    }
}

/// A packet without content (2.4.3.3), whose payload may be anything.
pub(super) fn emit_null(out: &mut Vec<u8>) {
    let [pid_high, pid_low] = NULL_PID.to_be_bytes();
    out.extend_from_slice(&[SYNC_BYTE, pid_high, pid_low, 0x10]);
    out.resize(out.len() + BODY_LENGTH, 0xFF);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn repr(adaptation: AdaptationRepr<'_>) -> PacketRepr<'_> {
        PacketRepr { unit_start: true, pid: 0x1ABC, continuity_counter: 11, adaptation }
    }

    #[test]
    fn fields_lie_where_the_standard_says() {
        let mut out = Vec::new();
        let body = [7; BODY_LENGTH + 1];
        repr(AdaptationRepr::default()).emit(&mut Payload { head: &[], body: &body }, &mut out);
        assert_eq!((out.len(), &out[..5]), (PACKET_LENGTH, &[0x47, 0x5A, 0xBC, 0x1B, 7][..]));
        // One byte less than fits: an adaptation field of nothing but its length (2.4.3.5).
        out.clear();
        repr(AdaptationRepr::default()).emit(&mut Payload { head: &[], body: &body[..BODY_LENGTH - 1] }, &mut out);
        assert_eq!((out.len(), &out[..6]), (PACKET_LENGTH, &[0x47, 0x5A, 0xBC, 0x3B, 0, 7][..]));
        // No payload: an adaptation field of 183 bytes.
        out.clear();
        repr(AdaptationRepr::default()).emit(&mut Payload::default(), &mut out);
        assert_eq!((out.len(), &out[..7]), (PACKET_LENGTH, &[0x47, 0x5A, 0xBC, 0x2B, 183, 0, 0xFF][..]));
    }

    #[test]
    fn lengths_beyond_the_packet_are_refused() {
        let mut bytes = [0; PACKET_LENGTH];
        bytes[..5].copy_from_slice(&[0x47, 0, 0, 0x30, 183]);
        assert_eq!(Packet::parse(&bytes), Err(PacketError::AdaptationLength { length: 183, most: 182 }));
        bytes[3] = 0x20;
        assert!(Packet::parse(&bytes).is_ok(), "without payload one byte more fits");
        bytes[4] = 184;
        assert_eq!(Packet::parse(&bytes), Err(PacketError::AdaptationLength { length: 184, most: 183 }));
        bytes[3] = 0;
        assert_eq!(Packet::parse(&bytes), Err(PacketError::NoContent));
        bytes[0] = 0x46;
        assert_eq!(Packet::parse(&bytes), Err(PacketError::Sync(0x46)));
    }

    proptest! {
        #[test]
        fn packets_come_back_as_they_went_in(
            payload in proptest::collection::vec(any::<u8>(), 0..400), head in 0usize..30, reference in any::<bool>(),
            random_access in any::<bool>(), private in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let reference = reference.then_some(12_345_678);
            let adaptation = AdaptationRepr { discontinuity: false, random_access, reference, private: &private };
            let (head, body) = payload.split_at(head.min(payload.len()));
            let mut out = Vec::new();
            let mut left = Payload { head, body };
            repr(adaptation).emit(&mut left, &mut out);
            let bytes: &[u8; PACKET_LENGTH] = out[..].try_into().unwrap();
            let packet = Packet::parse(bytes).unwrap();
            prop_assert_eq!((packet.pid, packet.unit_start, packet.continuity_counter), (0x1ABC, true, 11));
            let taken = packet.payload.unwrap_or_default();
            prop_assert_eq!(taken, &payload[..payload.len() - left.len()]);
            prop_assert!(left.len() == 0 || taken.len() == BODY_LENGTH - adaptation.length(), "filled");
            let field = packet.adaptation.unwrap_or_default();
            prop_assert_eq!((field.random_access, field.reference), (random_access, reference));
            prop_assert_eq!(field.private.unwrap_or_default(), &private[..]);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::array::uniform32(any::<u8>())) {
            let mut packet = [0xFF; PACKET_LENGTH];
            packet[..32].copy_from_slice(&bytes);
            packet[0] = SYNC_BYTE;
            let _ = Packet::parse(&packet);
        }
    }
}
