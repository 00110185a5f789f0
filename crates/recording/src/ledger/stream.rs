//! Frames on a byte stream: a frame is the bytes at its position, and positions follow from the order of sending.

use framewire_units::Timestamp;

use super::sender::SenderLife;
use super::{RootCause, Transfer, end_of_run};
use crate::record::{FlowLog, FlowStatus, FrameEventKind, FrameFacts, LossPlace};
use crate::spool::{Lookup, Sorter};

/// How much of a frame arrived, and when its last byte did.
type Arrived = (u64, (u64, Option<Timestamp>));

/// The frames of a byte stream.
pub(super) struct Stream<'a> {
    log: &'a FlowLog,
    /// By frame.
    arrived: Sorter<Arrived, u64>,
    /// When the first bytes arrived.
    pub first_arrival: Option<Timestamp>,
}

impl<'a> Stream<'a> {
    pub(crate) fn of(log: &'a FlowLog) -> Self {
        let mut arrived = Sorter::new(log.frames.beside(), |arrived: &Arrived| arrived.0);
        let received = log.stream_reads.iter().map(|read| read.total).max().unwrap_or(0);
        let mut reads = log.stream_reads.iter().peekable();
        let mut start = 0;
        let mut ends = log.frame_ends.iter();
        order_of_sending(log, |frame, size, is_written| {
            let written = if is_written { ends.next() } else { None };
            let end = written.copied().unwrap_or(start + u64::from(size)).max(start);
            let bytes = received.saturating_sub(start).min(size.into());
            let mut arrival = None;
            if is_written {
                while reads.next_if(|read| read.total < end).is_some() {}
                arrival = reads.peek().map(|read| read.at);
            }
            arrived.push((frame.into(), (bytes, arrival)));
            start = end;
        });
        arrived.ready();
        let first_arrival = log.stream_reads.iter().find(|read| read.total > 0).map(|read| read.at);
        Self { log, arrived, first_arrival }
    }

    /// How every frame crossed the stream, asked for in decode order.
    pub(crate) fn transfers(&self) -> impl FnMut(u32, &FrameFacts, &SenderLife) -> Transfer {
        let mut arrived = Lookup::new(self.arrived.iter());
        move |frame, facts, sender| {
            let loss = Some(loss(sender, &self.log.status));
            let Some((bytes_received, arrival)) = arrived.of(frame.into()) else {
                return Transfer { loss, ..Transfer::default() };
            };
            Transfer {
                packets: None,
                bytes_sent: if sender.last_byte.is_some() { facts.size.into() } else { bytes_received },
                bytes_received,
                arrival,
                handed_on: 0,
                loss: loss.filter(|_| arrival.is_none()),
            }
        }
    }
}

/// Gives every frame of which something was written, its size and whether it was written to its end, in the order of
/// their last bytes, and after them a frame that was still being written when the run ended.
fn order_of_sending(log: &FlowLog, mut take: impl FnMut(u32, u32, bool)) {
    /// What was seen of a frame.
    const FIRST_BYTE: u8 = 1;
    const LAST_BYTE: u8 = 2;
    let mut frames: Vec<(u32, u8)> = log.frames.iter().map(|facts| (facts.size, 0)).collect();
    for event in &log.frame_events {
        let Some((size, seen)) = frames.get_mut(event.frame as usize) else { continue };
        match event.what {
            FrameEventKind::FirstByte => *seen |= FIRST_BYTE,
            FrameEventKind::LastByte if *seen & LAST_BYTE == 0 => {
                *seen |= LAST_BYTE;
                take(event.frame, *size, true);
            }
            _ => {}
        }
    }
    for (frame, (size, seen)) in (0..).zip(frames) {
        if seen == FIRST_BYTE {
            take(frame, size, false);
        }
    }
}

/// Why a frame is lost, should it turn out not to have arrived: a decision of the sender, or the end of the run that
/// met it wherever it was.
fn loss(sender: &SenderLife, status: &FlowStatus) -> RootCause {
    if let Some(discard) = sender.discards.first() {
        return discard.clone();
    }
    let place = match (sender.first_byte, sender.last_byte) {
        (_, Some(_)) => LossPlace::Link,
        (Some(_), None) => LossPlace::SenderSocket,
        (None, None) => LossPlace::SenderPipeline,
    };
    RootCause::new(place, end_of_run(status))
}
