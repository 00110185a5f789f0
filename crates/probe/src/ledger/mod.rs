//! The ledger: one row per frame, with every time stamp of its life and its fate with a cause.

mod content;
mod datagrams;
mod decoding;
mod jitter;
mod row;
mod sender;
mod stream;
#[cfg(test)]
mod tests;
mod thesis;

use framewire_units::{Duration, Timestamp};

pub use row::{Fate, FrameRow, RootCause};

use crate::record::{FlowLog, FlowStatus, FrameFacts, Place, Playout, PlayoutPolicy, Timing};
use decoding::Decoding;
use sender::SenderLife;

/// What became of every frame of the movie on one flow, in decode order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Name of the flow.
    pub flow: String,
    /// One row per frame of the movie.
    pub rows: Vec<FrameRow>,
    /// When the first datagram, or the first bytes of the stream, arrived.
    pub first_arrival: Option<Timestamp>,
}

/// How one frame crossed the network, told from datagrams or from positions in a byte stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Transfer {
    /// Datagrams cut and datagrams that did not arrive.
    packets: Option<(u32, u32)>,
    bytes_sent: u64,
    bytes_received: u64,
    /// When the last missing byte arrived; `None` when one never did.
    arrival: Option<Timestamp>,
    /// Why it did not arrive whole. Only of applications of the user's own it may not be known.
    loss: Option<RootCause>,
}

impl Ledger {
    /// Makes the ledger of a flow from what was recorded of it.
    ///
    /// Frames on datagrams are joined by sequence number, frames on a byte stream by their position in it; what an
    /// application of the user's own gave out is searched for their content. Records that name a frame which the movie
    /// does not have are ignored.
    pub fn build(log: &FlowLog, playout: Playout) -> Self {
        let senders = sender::lives(log);
        let (transfers, first_arrival) = match &log.found {
            Some(found) => content::transfers(log, found, &senders),
            None if log.datagrams_sent.is_empty() => stream::transfers(log, &senders),
            None => datagrams::transfers(log, &senders),
        };
        let complete: Vec<bool> = transfers.iter().map(|transfer| transfer.arrival.is_some()).collect();
        let begins: Vec<bool> = senders.iter().map(|sender| sender.begins_sequence).collect();
        let decoding = Decoding::of(&log.frames, &complete, &begins);
        let player_start =
            first_arrival.map(|at| at + playout.startup).filter(|_| playout.policy == PlayoutPolicy::Live);

        let mut rows: Vec<FrameRow> = (0u32..)
            .zip(&log.frames)
            .zip(senders.into_iter().zip(transfers))
            .map(|((frame, facts), (sender, transfer))| {
                let deadline = player_start.map(|start| start + facts.display_time);
                frame_row(frame, facts, sender, transfer, &decoding, first_arrival, deadline)
            })
            .collect();
        blame_references(&mut rows);
        if playout.timing == Timing::Thesis {
            thesis::time_latencies(&mut rows, &log.frames);
        }
        jitter::estimate(&mut rows);
        Self { flow: log.flow.clone(), rows, first_arrival }
    }
}

/// Why a frame cannot be decoded though everything arrived.
const NOT_IN_MOVIE: &str = "movie: what it refers to is not in it";

fn frame_row(
    frame: u32,
    facts: &FrameFacts,
    sender: SenderLife,
    transfer: Transfer,
    decoding: &Decoding,
    first_arrival: Option<Timestamp>,
    deadline: Option<Timestamp>,
) -> FrameRow {
    let decodable = decoding.decodable[frame as usize];
    let fate = match transfer.arrival {
        None => Fate::Lost,
        Some(_) if !decodable => Fate::Undecodable,
        Some(arrival) if deadline.is_some_and(|deadline| arrival > deadline) => Fate::Late,
        Some(_) => Fate::Shown,
    };
    let discarded_at = match fate {
        Fate::Shown | Fate::Late => None,
        Fate::Lost if transfer.bytes_received == 0 => transfer.loss.as_ref().map(|loss| loss.place),
        Fate::Lost | Fate::Undecodable => Some(Place::ReceiverPipeline),
    };
    let missing_reference = decoding.missing[frame as usize].filter(|_| fate == Fate::Undecodable);
    let not_in_movie =
        fate == Fate::Undecodable && missing_reference.is_none() && decoding.not_in_movie[frame as usize];
    let root_cause =
        if not_in_movie { Some(RootCause::new(Place::SenderPipeline, NOT_IN_MOVIE)) } else { transfer.loss };
    let shed = if sender.shed() { u64::from(facts.size).saturating_sub(transfer.bytes_sent) } else { 0 };
    FrameRow {
        frame,
        display: facts.display_index,
        kind: facts.kind,
        gop: facts.gop,
        size: facts.size,
        level: facts.level,
        due: facts.due,
        offered: sender.offered,
        queued: sender.queued,
        first_byte: sender.first_byte,
        last_byte: sender.last_byte,
        arrival: transfer.arrival,
        arrival_relative: relative(transfer.arrival, first_arrival),
        latency_nanos: transfer.arrival.map(|arrival| arrival.nanos_since(facts.due)),
        jitter_nanos: None,
        packets: transfer.packets.map(|(cut, _)| cut),
        packets_lost: transfer.packets.map(|(_, lost)| lost),
        bytes_shed: shed,
        bytes_received: transfer.bytes_received,
        complete: transfer.arrival.is_some(),
        decodable,
        deadline,
        fate,
        root_cause,
        discarded_at,
        missing_reference,
    }
}

fn relative(arrival: Option<Timestamp>, first_arrival: Option<Timestamp>) -> Option<Duration> {
    Some(arrival?.saturating_since(first_arrival?))
}

/// An undecodable frame has the root cause of the frame that it misses.
fn blame_references(rows: &mut [FrameRow]) {
    for index in 0..rows.len() {
        if let Some(missing) = rows[index].missing_reference {
            rows[index].root_cause = rows[missing as usize].root_cause.clone();
        }
    }
}

/// Why something stopped on its way without a verdict.
fn end_of_run(status: &FlowStatus) -> &'static str {
    match status {
        FlowStatus::Complete | FlowStatus::Partial => "run ended",
        FlowStatus::Failed(_) => "flow failed",
    }
}
