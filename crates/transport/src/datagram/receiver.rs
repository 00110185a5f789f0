//! The receiving half over datagrams.

use std::collections::VecDeque;

use framewire_units::Timestamp;
use framewire_wire::rtp_payload::{Arrival, FirstPacket, ReceivedFrame};

use crate::event::ReceiverEvent;
use crate::packets::Depacketizer;

/// Receives packets and puts frames together; a frame with a packet missing is reported without its bytes, as
/// the thesis' receiver discarded it, unless it is [told](Self::passing_damaged) to hand on what came.
///
/// Contract: give it every datagram with [`handle_datagram`](Self::handle_datagram), at the end
/// [`handle_end`](Self::handle_end); drain [`poll_event`](Self::poll_event) after each. It has no timeouts.
#[derive(Debug)]
pub struct DatagramReceiver {
    depacketizer: Depacketizer,
    /// That of all its frames, where they do not say it.
    track: u8,
    /// Of a damaged frame, what came up to its first gap is handed on.
    passes_damaged: bool,
    events: VecDeque<ReceiverEvent>,
}

impl DatagramReceiver {
    /// A receiving half.
    pub fn new(depacketizer: impl Into<Depacketizer>) -> Self {
        Self { depacketizer: depacketizer.into(), track: 0, passes_damaged: false, events: VecDeque::new() }
    }

    /// The same for packets of nothing but this track.
    #[must_use]
    pub fn of_track(self, track: u8) -> Self {
        Self { track, ..self }
    }

    /// The same that hands on what came of a damaged frame up to its first gap, where its beginning came.
    #[must_use]
    pub fn passing_damaged(self, passes_damaged: bool) -> Self {
        Self { passes_damaged, ..self }
    }

    /// The sender says which packet it sends first; to be told before the first datagram.
    pub fn handle_first_packet(&mut self, first: FirstPacket) {
        self.depacketizer.handle_first_packet(first);
    }

    /// Takes a datagram as it came from the socket; one that is not of this flow is reported and ignored.
    pub fn handle_datagram(&mut self, now: Timestamp, datagram: &[u8]) {
        if let Err(reason) = self.depacketizer.handle_datagram(now, datagram) {
            self.events.push_back(ReceiverEvent::Rejected { at: now, reason: reason.to_string() });
        }
        self.report_arrivals();
        self.report_frames();
    }

    /// Nothing more will come: what is still missing is given up.
    pub fn handle_end(&mut self, _now: Timestamp) {
        self.depacketizer.flush();
        self.report_arrivals();
        self.report_frames();
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    fn report_arrivals(&mut self) {
        while let Some(Arrival { at, size, outcome }) = self.depacketizer.poll_arrival() {
            self.events.push_back(match outcome {
                Ok(sequence) => ReceiverEvent::Datagram { sequence, size: size.as_bytes() as u32, at },
                Err(reason) => ReceiverEvent::Rejected { at, reason: reason.to_string() },
            });
        }
    }

    fn report_frames(&mut self) {
        while let Some(frame) = self.depacketizer.poll_frame() {
            let ReceivedFrame { track, rtp_timestamp, complete, bytes, last_arrival: at, .. } = frame;
            let (track, rtp_timestamp) = (track.max(self.track), Some(rtp_timestamp));
            let discarded = frame.is_beginning_open.then(|| *frame.sequences.end());
            let is_handed_on = self.passes_damaged && !frame.beginning.is_empty();
            let handed_on = is_handed_on.then(|| *frame.sequences.start());
            let bytes = if is_handed_on { frame.beginning } else { bytes };
            self.events.push_back(ReceiverEvent::Frame {
                track,
                rtp_timestamp,
                at,
                complete,
                discarded,
                handed_on,
                bytes,
            });
        }
    }
}
