//! Frames on a byte stream: a frame is the bytes at its position, and positions follow from the order of sending.

use framewire_units::Timestamp;

use super::sender::SenderLife;
use super::{RootCause, Transfer, end_of_run};
use crate::record::{FlowLog, FlowStatus, FrameEventKind, Place};

/// How every frame crossed the stream, and when its first bytes arrived.
pub(super) fn transfers(log: &FlowLog, senders: &[SenderLife]) -> (Vec<Transfer>, Option<Timestamp>) {
    let mut transfers: Vec<Transfer> = senders
        .iter()
        .map(|sender| Transfer { loss: Some(loss(sender, &log.status)), ..Transfer::default() })
        .collect();
    let received = log.stream_reads.iter().map(|read| read.total).max().unwrap_or(0);
    let mut reads = log.stream_reads.iter().peekable();
    let mut start = 0;
    for frame in order_of_sending(log, senders) {
        let size = u64::from(log.frames[frame].size);
        let end = start + size;
        let transfer = &mut transfers[frame];
        transfer.bytes_received = received.saturating_sub(start).min(size);
        if senders[frame].last_byte.is_some() {
            while reads.next_if(|read| read.total < end).is_some() {}
            transfer.bytes_sent = size;
            transfer.arrival = reads.peek().map(|read| read.at);
            transfer.loss = transfer.loss.take().filter(|_| transfer.arrival.is_none());
        } else {
            transfer.bytes_sent = transfer.bytes_received;
        }
        start = end;
    }
    let first_arrival = log.stream_reads.iter().find(|read| read.total > 0).map(|read| read.at);
    (transfers, first_arrival)
}

/// Frames in the order of their last bytes, and after them a frame that was still being written when the run ended.
fn order_of_sending(log: &FlowLog, senders: &[SenderLife]) -> Vec<usize> {
    let mut taken = vec![false; senders.len()];
    let mut order = Vec::with_capacity(senders.len());
    for event in log.frame_events.iter().filter(|event| event.what == FrameEventKind::LastByte) {
        let frame = event.frame as usize;
        if frame < senders.len() && !std::mem::replace(&mut taken[frame], true) {
            order.push(frame);
        }
    }
    let unfinished = |&frame: &usize| senders[frame].first_byte.is_some() && senders[frame].last_byte.is_none();
    order.extend((0..senders.len()).filter(unfinished));
    order
}

/// Why a frame is lost, should it turn out not to have arrived: a decision of the sender, or the end of the run that
/// met it wherever it was.
fn loss(sender: &SenderLife, status: &FlowStatus) -> RootCause {
    if let Some(discard) = sender.discards.first() {
        return discard.clone();
    }
    let place = match (sender.first_byte, sender.last_byte) {
        (_, Some(_)) => Place::Link,
        (Some(_), None) => Place::SenderSocket,
        (None, None) => Place::SenderPipeline,
    };
    RootCause::new(place, end_of_run(status))
}
