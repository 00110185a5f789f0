//! Datagrams of a transport stream, whatever arrives, back into frames; as those of RTP in what it gives out.

use std::collections::VecDeque;

use framewire_units::{DataSize, Timestamp};

use super::clock::Unwrapper;
use super::demultiplexer::Demultiplexer;
use super::packet::{PACKET_LENGTH, SYNC_BYTE};
use super::packetizer::reference;
use super::tables::Program;
use crate::rtp_payload::{Arrival, ReceivedFrame, RejectReason};

/// The frames of a program, from its packets in order.
#[derive(Debug)]
pub(crate) struct Frames {
    demultiplexer: Demultiplexer,
    /// The stream is of another multiplexer, which may not say how long a frame is.
    is_of_another: bool,
}

impl Frames {
    /// Of this program; `None`: of the first one that the stream's tables tell of.
    pub(crate) fn new(program: Option<Program>, largest_frame: DataSize) -> Self {
        let is_of_another = program.is_none();
        let demultiplexer = match program {
            Some(program) => Demultiplexer::of_program(program, largest_frame),
            None => Demultiplexer::new(None, largest_frame),
        };
        Self { demultiplexer, is_of_another }
    }

    /// Takes the packets of the next datagram, before which others are missing or not. `timestamp` is that of frames whose
    /// own is not known, as their first packet is missing.
    pub(crate) fn add(
        &mut self,
        sequence: u64,
        now: Timestamp,
        packets: &[u8],
        is_missing_before: bool,
        timestamp: u32,
        ready: &mut VecDeque<ReceivedFrame>,
    ) {
        if is_missing_before {
            self.demultiplexer.lose();
        }
        self.demultiplexer.handle_numbered(now, sequence, packets);
        self.drain(timestamp, ready);
    }

    /// Nothing more will come.
    pub(crate) fn flush(&mut self, timestamp: u32, ready: &mut VecDeque<ReceivedFrame>) {
        match self.is_of_another {
            true => self.demultiplexer.finish(Timestamp::ZERO),
            false => self.demultiplexer.flush(),
        }
        self.drain(timestamp, ready);
    }

    fn drain(&mut self, timestamp: u32, ready: &mut VecDeque<ReceivedFrame>) {
        while self.demultiplexer.poll_fault().is_some() {}
        while let Some(unit) = self.demultiplexer.poll_unit() {
            let program = self.demultiplexer.program();
            let Some(track) = program.and_then(|program| program.track_number(unit.track.pid)) else { continue };
            ready.push_back(ReceivedFrame {
                track,
                rtp_timestamp: unit.presentation.map_or(timestamp, |presentation| presentation as u32),
                complete: unit.complete,
                bytes: unit.bytes,
                beginning: unit.beginning,
                sequences: unit.datagrams,
                missing: None,
                is_beginning_open: false,
                first_arrival: unit.first_arrival,
                last_arrival: unit.last_arrival,
            });
        }
    }
}

/// Whether these are whole transport packets; in words, why they are not.
pub(crate) fn check(datagram: &[u8]) -> Result<(), String> {
    let (packets, rest) = datagram.as_chunks::<PACKET_LENGTH>();
    match packets.iter().all(|packet| packet[0] == SYNC_BYTE) {
        true if rest.is_empty() && !packets.is_empty() => Ok(()),
        true => Err(format!("{} bytes are not a number of transport packets of 188", datagram.len())),
        false => Err("a transport packet begins with 0x47".to_owned()),
    }
}

/// Puts frames together from datagrams of transport packets without RTP, each of which is known by the clock reference in
/// it, as the packetizer of this crate writes them.
///
/// It is driven as that of [RTP](crate::rtp_payload::Depacketizer): hand in every datagram, and drain both queues after each.
/// A datagram whose clock is not after the last one's came twice or late, and is refused.
#[derive(Debug)]
pub struct Depacketizer {
    frames: Frames,
    /// Datagrams are numbered as they come: they say nothing of their order.
    counts: bool,
    references: Unwrapper,
    last: Option<u64>,
    arrivals: VecDeque<Arrival>,
    ready: VecDeque<ReceivedFrame>,
}

impl Depacketizer {
    /// A receiver of a program that is known, as from a description of the session.
    pub fn new(program: Program, largest_frame: DataSize) -> Self {
        Self {
            frames: Frames::new(Some(program), largest_frame),
            counts: false,
            references: Unwrapper::of_references(),
            last: None,
            arrivals: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// A receiver of the stream of another multiplexer, whose tables say what it holds. Its datagrams are numbered as they
    /// come, and only the continuity counters show that something is missing.
    pub fn of_any(largest_frame: DataSize) -> Self {
        Self {
            frames: Frames::new(None, largest_frame),
            counts: true,
            references: Unwrapper::of_references(),
            last: None,
            arrivals: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// Takes a datagram that arrived at `now`.
    ///
    /// # Errors
    /// When it is not one of transport packets, has no clock reference, or came before.
    pub fn handle_datagram(&mut self, now: Timestamp, datagram: &[u8]) -> Result<(), RejectReason> {
        check(datagram).map_err(RejectReason::Payload)?;
        let none = || RejectReason::Payload("a datagram without a clock reference cannot be numbered".to_owned());
        let sequence = match self.counts {
            true => self.last.map_or(0, |last| last + 1),
            false => self.references.unwrap(reference(datagram).ok_or_else(none)?),
        };
        if self.last.is_some_and(|last| sequence <= last) {
            return Err(RejectReason::Old { sequence });
        }
        self.last = Some(sequence);
        self.arrivals.push_back(Arrival {
            at: now,
            size: DataSize::from_bytes(datagram.len() as u64),
            outcome: Ok(sequence),
        });
        self.frames.add(sequence, now, datagram, false, 0, &mut self.ready);
        Ok(())
    }

    /// The next outcome of a datagram that was taken.
    pub fn poll_arrival(&mut self) -> Option<Arrival> {
        self.arrivals.pop_front()
    }

    /// The next frame that is ready, whole or not.
    pub fn poll_frame(&mut self) -> Option<ReceivedFrame> {
        self.ready.pop_front()
    }

    /// Nothing more will come: a frame whose last packet has not arrived comes out incomplete. Of another multiplexer, whose
    /// last frame may say nothing of its end, that is taken for whole where nothing is missing inside.
    pub fn flush(&mut self) {
        self.frames.flush(0, &mut self.ready);
    }
}
