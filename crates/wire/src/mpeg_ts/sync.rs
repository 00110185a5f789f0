//! Packets in a stream of bytes: where they begin is known by the sync byte, every 188 bytes (2.4.3.3, annex G.1).

use super::packet::{PACKET_LENGTH, SYNC_BYTE};

/// Sync bytes in a row that show where packets begin; the standard leaves their number open, and DVB's measurements take
/// five (ETSI TR 101 290, 5.2.1), which costs a stream of few packets its first ones.
const CONFIRMED: usize = 3;

/// Takes a stream of bytes apart. It holds less than three packets.
#[derive(Debug, Default)]
pub(super) struct Synchroniser {
    buffer: Vec<u8>,
    synchronised: bool,
    /// Bytes passed over since the last packet.
    skipped: usize,
}

impl Synchroniser {
    /// Takes the next bytes, and gives every packet that is there whole, with the number of bytes passed over before it.
    pub(super) fn feed(&mut self, bytes: &[u8], mut found: impl FnMut(usize, &[u8; PACKET_LENGTH])) {
        self.buffer.extend_from_slice(bytes);
        let mut at = 0;
        while self.seek(&mut at) {
            let Some(packet) = self.buffer[at..].first_chunk() else { break };
            found(std::mem::take(&mut self.skipped), packet);
            at += PACKET_LENGTH;
        }
        self.buffer.drain(..at);
    }

    /// The stream is over: packets that follow each other are given though nothing confirms them. Returns how many bytes
    /// at the end were passed over.
    pub(super) fn finish(&mut self, mut found: impl FnMut(usize, &[u8; PACKET_LENGTH])) -> usize {
        let mut at = 0;
        while let Some(packet) = self.buffer[at..].first_chunk().filter(|packet| packet[0] == SYNC_BYTE) {
            found(std::mem::take(&mut self.skipped), packet);
            at += PACKET_LENGTH;
        }
        let rest = self.buffer.len() - at + self.skipped;
        *self = Self::default();
        rest
    }

    /// Goes from `at` to where the next packet begins; false where that is not known yet.
    fn seek(&mut self, at: &mut usize) -> bool {
        if self.synchronised && self.buffer.get(*at).is_some_and(|&byte| byte != SYNC_BYTE) {
            self.synchronised = false;
        }
        while !self.synchronised {
            let rest = &self.buffer[*at..];
            let to_sync = memchr::memchr(SYNC_BYTE, rest).unwrap_or(rest.len());
            *at += to_sync;
            self.skipped += to_sync;
            let rest = &rest[to_sync..];
            let mut confirmations = (0..CONFIRMED).map(|count| rest.get(count * PACKET_LENGTH));
            if confirmations.clone().flatten().any(|&byte| byte != SYNC_BYTE) {
                *at += 1;
                self.skipped += 1;
            } else if confirmations.any(|byte| byte.is_none()) {
                return false;
            } else {
                self.synchronised = true;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packets(count: usize, fill: u8) -> Vec<u8> {
        let mut bytes = vec![fill; count * PACKET_LENGTH];
        bytes.iter_mut().step_by(PACKET_LENGTH).for_each(|byte| *byte = SYNC_BYTE);
        bytes
    }

    /// Packets found, each with what was passed over before it, in a stream cut into pieces; and what was at the end.
    fn found(stream: &[u8], piece: usize) -> (Vec<(usize, Vec<u8>)>, usize) {
        let (mut synchroniser, mut found) = (Synchroniser::default(), Vec::new());
        for bytes in stream.chunks(piece) {
            synchroniser.feed(bytes, |skipped, packet| found.push((skipped, packet.to_vec())));
            assert!(synchroniser.buffer.len() < CONFIRMED * PACKET_LENGTH);
        }
        let rest = synchroniser.finish(|skipped, packet| found.push((skipped, packet.to_vec())));
        (found, rest)
    }

    proptest! {
        #[test]
        fn packets_are_found_behind_anything_however_the_stream_is_cut(
            before in proptest::collection::vec(0u8..0x47, 0..400), between in proptest::collection::vec(0u8..0x47, 0..400),
            piece in 1usize..500, fill in 0u8..0x47, first in 3usize..6, second in 3usize..6,
        ) {
            let stream = [before.clone(), packets(first, fill), between.clone(), packets(second, fill)].concat();
            let (packets, rest) = found(&stream, piece);
            prop_assert_eq!(rest, 0);
            prop_assert_eq!(packets.iter().map(|(skipped, _)| skipped).sum::<usize>() + packets.len() * PACKET_LENGTH, stream.len());
            prop_assert_eq!(packets[0].0, before.len());
            prop_assert_eq!(packets.len(), first + second);
            prop_assert_eq!(packets[first].0, between.len());
        }

        #[test]
        fn any_bytes_are_taken_without_harm(stream in proptest::collection::vec(0x46u8..0x49, 0..2_000), piece in 1usize..500) {
            let (packets, rest) = found(&stream, piece);
            let skipped: usize = packets.iter().map(|(skipped, _)| skipped).sum();
            prop_assert_eq!(skipped + packets.len() * PACKET_LENGTH + rest, stream.len());
        }
    }

    #[test]
    fn the_last_packets_come_with_the_end() {
        assert_eq!(found(&packets(2, 1), 7).0.len(), 2);
        assert_eq!(found(&packets(2, 1)[..300], 7), (vec![(0, packets(1, 1))], 112));
    }
}
