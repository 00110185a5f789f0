//! A byte stream that is cut off: the receiver keeps the frames that the ledger calls whole, whatever the cut hits.

use crate::support;
use bytes::Bytes;
use framewire_media::Movie;
use framewire_recording::ledger::Ledger;
use framewire_recording::record::{FlowLog, FrameEvent, FrameEventKind};
use framewire_session::{ReceiverLog, ReceiverSession, ReceivingHalf, SenderLog, SendingPlan};
use framewire_transport::{Pacing, StreamReceiver};
use framewire_units::{Duration, Playout, Timestamp};

fn movie() -> Movie {
    let stream = support::lab_group(support::lab_group(support::Stream::default(), true), false);
    Movie::parse(stream.bytes.into()).expect("it is well formed")
}

/// What the sender recorded that wrote `written` frames whole, and began the next one.
fn sent(movie: &Movie, written: usize) -> SenderLog {
    let event = |frame: usize, what| FrameEvent { frame: frame as u32, at: Timestamp::ZERO, what };
    let whole = (0..written)
        .flat_map(|frame| [event(frame, FrameEventKind::FirstByte), event(frame, FrameEventKind::LastByte)]);
    let begun = (written < movie.index.frames.len()).then(|| event(written, FrameEventKind::FirstByte));
    let frame_ends = movie.index.frames[..written].iter().scan(0, |end, frame| {
        *end += u64::from(frame.size);
        Some(*end)
    });
    SenderLog { frame_ends: frame_ends.collect(), frame_events: whole.chain(begun).collect(), ..SenderLog::default() }
}

/// Frames that the receiver kept of `received` bytes, and those that the ledger calls whole.
fn kept_and_whole(movie: &Movie, pacing: Pacing, written: usize, received: usize) -> (usize, usize) {
    let plan = SendingPlan::new(movie.clone(), Timestamp::ZERO);
    let bytes: Vec<u8> = (0..plan.len()).flat_map(|frame| plan.outgoing(frame).bytes).take(received).collect();
    let mut session = ReceiverSession::new(ReceivingHalf::Stream(StreamReceiver::new(pacing)), ReceiverLog::default());
    let mut frames: Vec<Bytes> = vec![];
    for (read, bytes) in bytes.chunks(37).enumerate() {
        session.handle_input(Timestamp::from_secs(read as u64), bytes);
        frames.extend(std::iter::from_fn(|| session.poll_frame()));
    }
    let (sent, end) = (sent(movie, written), Timestamp::from_secs(1_000));
    session.handle_end(end);
    session.handle_sent(&sent);
    frames.extend(std::iter::from_fn(|| session.poll_frame()));
    for (frame, bytes) in (0..).zip(&frames) {
        assert_eq!(*bytes, plan.outgoing(frame).bytes, "frame {frame} as it was sent");
    }
    let received = session.into_log();
    assert_eq!(received.complete_frames as usize, frames.len());
    let log = FlowLog {
        frames: plan.facts().collect(),
        frame_events: sent.frame_events,
        stream_reads: received.reads,
        ..FlowLog::default()
    };
    let playout = Playout::waiting(Duration::ZERO);
    let whole = Ledger::build(&log, playout).rows.iter().filter(|row| row.complete).count();
    (frames.len(), whole)
}

#[test]
fn the_last_frame_counts_where_it_was_written_and_came_to_its_end() {
    let movie = movie();
    let ends = sent(&movie, movie.index.frames.len()).frame_ends;
    let paced = Pacing::Playout { frame_rate: movie.index.sequence.frame_rate };
    let last = *ends.last().expect("it has frames");
    for pacing in [Pacing::Immediate, paced] {
        let near = |&end: &u64| [end - 9, end - 1, end, end + 1, end + 20];
        for received in ends.iter().flat_map(near).filter(|&received| received <= last) {
            // What comes was written; the frame that is cut may have been written to its end, or not.
            let ended = ends.iter().filter(|&&end| end <= received).count();
            for written in [ended, (ended + 1).min(ends.len())] {
                let (kept, whole) = kept_and_whole(&movie, pacing, written, received as usize);
                assert_eq!(whole, ended, "{pacing:?}, {written} written, {received} bytes");
                assert_eq!(kept, whole, "{pacing:?}, {written} written, {received} bytes");
            }
        }
    }
}
