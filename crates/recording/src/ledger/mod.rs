//! The ledger: one row per frame, with every time stamp of its life and its fate with a cause.

mod content;
mod datagrams;
mod decoding;
mod delays;
mod mpegstat_latency;
mod output_order;
mod row;
mod sender;
mod stopped;
mod stream;
#[cfg(test)]
mod tests;
mod verdict;

use framewire_units::{Duration, Playout, PlayoutPolicy, Timestamp};

pub(crate) use datagrams::{Arrival, Crossing};
pub(crate) use delays::{Delay, InOrder};
pub use row::{Fate, FrameRow, RootCause};
pub(crate) use verdict::Verdict;

use crate::playout::Player;
use crate::record::{FlowLog, FlowStatus, FrameEventKind, FrameFacts, LossPlace};
use crate::spool::Spool;
use datagrams::Datagrams;
use decoding::{Decoded, Decoding, Misplaced};
use delays::Delays;
use sender::{Events, SenderLife};
use stopped::Stopped;
use stream::Stream;

/// What became of every frame of the movie on one flow, in decode order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Name of the flow.
    pub flow: String,
    /// One row per frame of the movie, and behind them one per packet of its sound.
    pub rows: Spool<FrameRow>,
    /// When the first datagram, or the first bytes of the stream, arrived.
    pub first_arrival: Option<Timestamp>,
}

/// How one frame crossed the network, derived from datagrams or from positions in a byte stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Transfer {
    /// Datagrams cut and datagrams that did not arrive.
    packets: Option<(u32, u32)>,
    bytes_sent: u64,
    bytes_received: u64,
    /// When the last missing byte arrived; `None` when one never did.
    arrival: Option<Timestamp>,
    /// Of one that did not arrive whole, bytes that the receiver handed on.
    handed_on: u32,
    /// Why it did not arrive whole. It is not known of frames whose packets were not looked
    /// at, and may not be of applications of the user's own.
    loss: Option<RootCause>,
}

impl Ledger {
    /// Makes the ledger of a flow from what was recorded of it.
    ///
    /// Frames on datagrams are joined by sequence number, frames on a byte stream by their position in it; what an
    /// application of the user's own gave out is searched for their content. Records that name a frame which the movie
    /// does not have are ignored.
    ///
    /// What it is made of is read in order, however long it is: of a long run, records and rows are on the disk, and of
    /// every frame some twenty bytes are in memory.
    pub fn build(log: &FlowLog, playout: Playout) -> Self {
        match &log.found {
            Some(found) => Self::of_transfers(log, playout, content::transfers(found), found.first_byte),
            None if log.datagrams_sent.is_empty() => {
                let stream = Stream::of(log);
                Self::of_transfers(log, playout, stream.transfers(), stream.first_arrival)
            }
            None => {
                let datagrams = Datagrams::of(log);
                Self::of_transfers(log, playout, datagrams.transfers(), datagrams.first_arrival)
            }
        }
    }

    fn of_transfers(
        log: &FlowLog,
        playout: Playout,
        mut transfer: impl FnMut(u32, &FrameFacts, &SenderLife) -> Transfer,
        first_arrival: Option<Timestamp>,
    ) -> Self {
        let live = first_arrival.filter(|_| playout.policy == PlayoutPolicy::Live);
        let live = live.map(|at| Player::new(playout, at));
        let (mut decoding, mut causes, mut delays) =
            (Decoding::default(), Causes::default(), Delays::new(log.frames.beside()));
        let mut rows = log.frames.beside().holding(ROWS);
        let events = Events::of(log);
        let (ended_early, stopped) = (was_ended_early(log), Stopped::of(log, playout));
        let mut of_movie = 0;
        for ((frame, facts), sender) in (0u32..).zip(&log.frames).zip(events.lives()) {
            let transfer = transfer(frame, &facts, &sender);
            let is_sound = facts.track != 0;
            of_movie += u32::from(!is_sound);
            let decoded = match is_sound {
                true => Decoded::by_itself(transfer.arrival),
                false => decoding.take(&facts, transfer.arrival, sender.begins_sequence),
            };
            let deadline = live.map(|player| player.due(facts.display_time));
            let is_late = |at| live.is_some_and(|player| player.shown_live(facts.display_time, at).is_none());
            let fate = match (transfer.arrival, decoded.ready) {
                (None, _) if ended_early && !sender.was_offered() && transfer.bytes_received == 0 => Fate::NotOffered,
                (None, _) if stopped.as_ref().is_some_and(|stop| stop.spares(&transfer, deadline)) => Fate::NotOffered,
                (None, _) => Fate::Lost,
                (Some(_), None) => Fate::Undecodable,
                // It cannot be shown before what it refers to has come.
                (Some(_), Some(ready)) if is_late(ready) => Fate::Late,
                (Some(_), Some(_)) => Fate::Shown,
            };
            let number = if is_sound { frame - of_movie } else { frame };
            let row = frame_row(number, &facts, sender, transfer, decoded, fate);
            let mut row = FrameRow { arrival_relative: relative(row.arrival, first_arrival), deadline, ..row };
            match is_sound {
                true => row.root_cause = row.root_cause.take().filter(|_| fate == Fate::Lost),
                false => causes.blame(&mut row),
            }
            delays.take(frame, &row, &facts);
            rows.push(row);
        }
        let mut misplaced = decoding.misplaced().into_iter().peekable();
        let rows = delays.fill(rows, playout.timing, |row| {
            if let Some(Misplaced { missing, .. }) = misplaced.next_if(|one| row.track == 0 && one.frame == row.frame) {
                causes.misplace(row, missing);
            }
        });
        Self { flow: log.flow.clone(), rows, first_arrival }
    }
}

/// Rows that are in memory before the first are written: they are the largest records, and these are five megabytes.
const ROWS: usize = 16_384;

/// True where the run was ended before the stream, and it is known what the transport was given: an application of the
/// user's own that reads the movie itself is given nothing.
fn was_ended_early(log: &FlowLog) -> bool {
    let has_offers = || log.frame_events.iter().any(|event| event.what == FrameEventKind::Offered);
    log.status == FlowStatus::Partial && (log.found.is_none() || has_offers())
}

/// Why a frame cannot be decoded though everything arrived.
const NOT_IN_MOVIE: &str = "movie: what it refers to is not in it";

fn frame_row(
    frame: u32,
    facts: &FrameFacts,
    sender: SenderLife,
    transfer: Transfer,
    decoded: Decoded,
    fate: Fate,
) -> FrameRow {
    let discarded_at = match fate {
        Fate::Shown | Fate::Late | Fate::NotOffered => None,
        Fate::Lost if transfer.bytes_received == 0 || transfer.handed_on > 0 => {
            transfer.loss.as_ref().map(|loss| loss.place)
        }
        Fate::Lost | Fate::Undecodable => Some(LossPlace::ReceiverPipeline),
    };
    let missing_reference = decoded.missing.filter(|_| fate == Fate::Undecodable);
    let not_in_movie = fate == Fate::Undecodable && missing_reference.is_none() && decoded.not_in_movie;
    let root_cause =
        if not_in_movie { Some(RootCause::new(LossPlace::SenderPipeline, NOT_IN_MOVIE)) } else { transfer.loss };
    let shed = if sender.shed() && fate != Fate::NotOffered {
        u64::from(facts.size).saturating_sub(transfer.bytes_sent)
    } else {
        0
    };
    FrameRow {
        track: facts.track,
        frame,
        display: facts.display_index,
        kind: facts.kind,
        gop: facts.gop,
        size: facts.size,
        level: facts.level,
        display_time: facts.display_time,
        due: facts.due,
        offered: sender.offered,
        queued: sender.queued,
        first_byte: sender.first_byte,
        last_byte: sender.last_byte,
        arrival: transfer.arrival,
        arrival_relative: None,
        latency_nanos: transfer.arrival.map(|arrival| arrival.nanos_since(facts.due)),
        jitter_nanos: None,
        packets: transfer.packets.map(|(cut, _)| cut),
        packets_lost: transfer.packets.map(|(_, lost)| lost),
        bytes_shed: shed,
        bytes_received: transfer.bytes_received,
        complete: transfer.arrival.is_some(),
        decodable: decoded.decodable,
        ready: decoded.ready,
        deadline: None,
        fate,
        root_cause,
        discarded_at,
        missing_reference,
        handed_on: transfer.handed_on,
    }
}

fn relative(arrival: Option<Timestamp>, first_arrival: Option<Timestamp>) -> Option<Duration> {
    Some(arrival?.saturating_since(first_arrival?))
}

/// Why frames were lost, so far.
#[derive(Debug, Default)]
struct Causes {
    /// Frames that did not come whole, ascending, and the place of their cause in the list.
    lost: Vec<(u32, u32)>,
    /// Every cause once: there are a few.
    causes: Vec<Option<RootCause>>,
}

impl Causes {
    /// An undecodable frame has the root cause of the frame that it misses. One that the run ended before has none.
    fn blame(&mut self, row: &mut FrameRow) {
        if let Some(missing) = row.missing_reference {
            row.root_cause = self.of(missing);
        } else if matches!(row.fate, Fate::Lost | Fate::NotOffered) {
            let known = self.causes.iter().rposition(|cause| *cause == row.root_cause);
            let cause = known.unwrap_or_else(|| {
                self.causes.push(row.root_cause.clone());
                self.causes.len() - 1
            });
            self.lost.push((row.frame, cause as u32));
        }
        row.root_cause = row.root_cause.take().filter(|_| row.fate != Fate::NotOffered);
    }

    /// A frame that is not shown in its place, though it can be decoded, has the root cause of the frame whose loss led to
    /// that.
    fn misplace(&mut self, row: &mut FrameRow, missing: u32) {
        (row.decodable, row.ready) = (false, None);
        row.fate = Fate::Undecodable;
        row.discarded_at = Some(LossPlace::ReceiverPipeline);
        row.missing_reference = Some(missing);
        self.blame(row);
    }

    fn of(&self, frame: u32) -> Option<RootCause> {
        let place = self.lost.binary_search_by_key(&frame, |&(frame, _)| frame).ok()?;
        self.causes[self.lost[place].1 as usize].clone()
    }
}

/// The cause of what was under way when a run ended.
const END_OF_RUN: &str = "run ended";

/// Why something stopped on its way without a verdict.
fn end_of_run(status: &FlowStatus) -> &'static str {
    match status {
        FlowStatus::Complete | FlowStatus::Partial => END_OF_RUN,
        FlowStatus::Failed(_) => "flow failed",
    }
}
