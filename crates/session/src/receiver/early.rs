//! Datagrams that come before the answer that says where their streams begin.

use bytes::Bytes;
use framewire_units::Timestamp;

use super::{ReceiverSession, ReceivingHalf, RequestChannel};
use crate::channels::{MOVIE_CHANNEL, SOUND_CHANNEL};
use crate::half::ChannelId;

/// Datagrams that are kept until then; where more come, none is waited for. At 10 Mbit/s, they are those of 0.3 s, in which an answer that was
/// lost is there again (RFC 6298; Linux repeats after 0.2 s).
const MOST_EARLY: usize = 256;

/// When a datagram came, on which channel, and what it is.
pub(super) type EarlyDatagram = (Timestamp, ChannelId, Bytes);

impl ReceiverSession {
    /// The same of a server that may say, with its answer, which packets it sends first: what comes before the answer waits for it.
    pub(crate) fn awaiting_first_packets(self) -> Self {
        Self { early: Some(Vec::new()), ..self }
    }

    /// Keeps a datagram where the answer is awaited; whether it did.
    pub(super) fn keep_early(&mut self, now: Timestamp, channel: ChannelId, datagram: &[u8]) -> bool {
        let Some(early) = &mut self.early else { return false };
        if early.len() == MOST_EARLY {
            self.release_early();
            return false;
        }
        early.push((now, channel, Bytes::copy_from_slice(datagram)));
        true
    }

    /// The answer has come, or none is awaited any more: what waited for it is taken, as of when it came.
    pub(super) fn release_early(&mut self) {
        let Some(early) = self.early.take() else { return };
        let said =
            |channel| self.requests.as_ref().and_then(|requests: &RequestChannel| requests.first_packet(channel));
        let firsts = [MOVIE_CHANNEL, SOUND_CHANNEL].map(said);
        if let (Some(first), ReceivingHalf::Datagram(half)) = (firsts[0], &mut self.half) {
            half.handle_first_packet(first);
        }
        if let (Some(first), Some(sound)) = (firsts[1], &mut self.sound) {
            sound.handle_first_packet(first);
        }
        for (at, channel, datagram) in early {
            self.take_media(at, channel, &datagram);
        }
    }

    /// What came of the movie, or of sound that has packets for itself.
    pub(super) fn take_media(&mut self, now: Timestamp, channel: ChannelId, bytes: &[u8]) {
        match &mut self.half {
            _ if channel == SOUND_CHANNEL => {
                self.sound.iter_mut().for_each(|sound| sound.handle_datagram(now, bytes));
            }
            ReceivingHalf::Datagram(half) => half.handle_datagram(now, bytes),
            ReceivingHalf::Stream(half) => half.handle_bytes(now, bytes),
            ReceivingHalf::Packets(half) => half.handle_bytes(now, bytes),
        }
    }
}
