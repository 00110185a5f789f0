//! An open group of H.264 behind a gap goes on from the numbers that were sent, and the ledger knows its frames by what was
//! written: of a stream whose frames become longer and shorter by that, each is found where it stands.

use crate::h264::{PLAIN, code, nal};
use crate::one_channel::OneChannel;
use crate::support;
use framewire_media::access_unit::Framing;
use framewire_media::picture_order::{Renumbering, allow_gaps};
use framewire_media::{FrameRate, Movie};
use framewire_recording::ledger::{Fate, Ledger};
use framewire_recording::record::{FlowLog, StreamRead};
use framewire_scenario::{Pacing, Scenario};
use framewire_session::half::Half;
use framewire_session::{
    ContentMatcher, FlowSetup, RtpSeed, SenderLog, SenderSession, SendingHalf, SendingPlan, as_sent,
};
use framewire_transport::queue::{FrameQueue, QueueKind};
use framewire_transport::socket::{SocketError, StreamSocket};
use framewire_transport::{Limits, StreamSender};
use framewire_units::{DataSize, Duration, Playout, Timestamp};
use support::BitWriter;

const FRAMES: u32 = 150;
const GROUP: u32 = 25;

/// Picture order counts begin so far before their low bits wrap to zero, 40 frames later: where they are zero, a slice
/// header needs an emulation prevention byte.
const FIRST_ORDER: u32 = 65_536 - 2 * 40;

/// An IDR picture, open key frames, and P pictures between them that refer to the one before.
fn movie() -> Movie {
    let mut stream = vec![];
    PLAIN.parameter_sets(&mut stream);
    for frame in 0..FRAMES {
        let (is_idr, is_key) = (frame == 0, frame % GROUP == 0);
        if is_key && !is_idr {
            // A recovery point of no frames, exact (D.1.8).
            nal(&mut stream, 0x06, &[6, 1, 0xc4, 0x80]);
        }
        let mut slice = BitWriter::default();
        [0, if is_key { 7 } else { 5 }, 0].into_iter().for_each(|value| code(&mut slice, value));
        slice.number(frame, 16);
        if is_idr {
            code(&mut slice, 0);
        }
        slice.number((FIRST_ORDER + 2 * frame) % 65_536, 16);
        // Neither other lists nor operations, and what a decoder would want behind them.
        slice.text(if is_key { "00" } else { "000" }).number(frame, 16).number(1, 1);
        slice.bytes.extend((0..300).map(|at| (frame + 1) as u8 ^ at as u8 | 0x80));
        nal(&mut stream, if is_idr { 0x65 } else { 0x41 }, &slice.bytes);
    }
    Movie::parse_at(stream.into(), Some(FrameRate { numerator: 25, denominator: 1 })).expect("it is well formed")
}

/// Takes so many bytes until it is asked to take more.
#[derive(Default)]
struct Slow {
    room: usize,
    written: Vec<u8>,
}

impl StreamSocket for Slow {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, SocketError> {
        let taken = bytes.len().min(self.room);
        self.room -= taken;
        self.written.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn unsent(&mut self) -> Result<DataSize, SocketError> {
        Ok(DataSize::ZERO)
    }

    fn finish(&mut self) -> Result<(), SocketError> {
        Ok(())
    }
}

/// Sends the movie over a link that has room for half of it, and at the end for all.
fn sent(plan: &SendingPlan) -> (SenderLog, Vec<StreamRead>, Vec<u8>) {
    let limits = Limits { frames: Some(8), ..Limits::default() };
    let queue = FrameQueue::new(QueueKind::Dependency(limits));
    let half = SendingHalf::Stream(StreamSender::new(queue, None));
    let mut session = SenderSession::new(plan.clone(), Pacing::Sender, half, SenderLog::default());
    let (mut socket, mut reads) = (Slow::default(), vec![]);
    for frame in 0..FRAMES + 20 {
        let now = Timestamp::from_millis(u64::from(frame) * 40);
        socket.room = if frame < 110 { 160 } else { 2_000 };
        session.drive(now, &mut OneChannel::Stream(&mut socket)).expect("it is not broken");
        reads.push(StreamRead { total: socket.written.len() as u64, at: now });
    }
    (session.into_log(), reads, socket.written)
}

#[test]
fn frames_of_other_sizes_are_found_where_they_stand_and_numbers_have_no_gap() {
    let movie = movie();
    let plan = SendingPlan::new(movie.clone(), Timestamp::ZERO);
    let (sender, reads, written) = sent(&plan);
    assert!(!sender.renumbered.is_empty(), "numbers were changed");
    let frames = as_sent(plan.facts(), sender.renumbered.iter().map(|frame| *frame)).collect();
    assert_eq!(sender.frame_ends.last(), Some(&(written.len() as u64)));

    let allows_gaps = |stream: &[u8]| allow_gaps(stream, Framing::ByteStream).is_none();
    assert!(allows_gaps(&written) && !allows_gaps(&movie.frame_bytes(0)), "its parameter sets leave room for gaps");

    let as_received = Movie::parse_at(written.clone().into(), Some(movie.index.sequence.frame_rate)).expect("a movie");
    let numbers = |movie: &Movie| -> Vec<u16> {
        movie.index.frames.iter().filter_map(|frame| Some(frame.picture_order?.numbers?.frame_num)).collect()
    };
    let count = as_received.index.frames.len();
    assert!((60..140).contains(&count), "{count}");
    assert_eq!(numbers(&as_received), (0..count as u16).collect::<Vec<_>>());
    let orders = as_received.index.frames.windows(2).map(|pair| {
        let order = |at: usize| pair[at].picture_order.expect("it has one").count;
        order(1) - order(0)
    });
    assert!(orders.clone().all(|step| step == 2), "{:?}", orders.collect::<Vec<_>>());

    let log = FlowLog { frames, frame_events: sender.frame_events, stream_reads: reads.into(), ..FlowLog::default() };
    let playout = Playout::waiting(Duration::ZERO);
    let ledger = Ledger::build(&log, playout);
    let shown: Vec<_> = ledger.rows.iter().filter(|row| row.fate == Fate::Shown).collect();
    let sizes: Vec<u32> = shown.iter().map(|row| row.size).collect();
    assert_eq!(sizes, as_received.index.frames.iter().map(|frame| frame.size).collect::<Vec<_>>());
    let differs = |by: i64| {
        let size = |frame: u32| i64::from(movie.index.frames[frame as usize].size);
        shown.iter().any(|row| i64::from(row.size) - size(row.frame) == by)
    };
    assert!(differs(1) && !differs(2), "a frame is longer by a byte");

    let mut matcher = ContentMatcher::new(&movie).expect("it has start codes");
    matcher.handle_bytes(Timestamp::ZERO, &written);
    let found = matcher.finish();
    assert_eq!(found.foreign_units, 0);
    let found: Vec<u32> =
        found.frames.iter().filter(|found| found.whole_at.is_some()).map(|found| found.frame).collect();
    assert_eq!(found, shown.iter().map(|row| row.frame).collect::<Vec<_>>());
}

#[test]
fn frames_of_a_flow_that_begins_when_its_application_does_are_due_from_then_on() {
    let scenario = Scenario::parse("[[flow]]\ntransport = \"tcp\"", &[]).expect("it is well formed");
    let setup = |start| {
        FlowSetup::of_movie(&scenario.flows[0], SendingPlan::new(movie(), start), RtpSeed::default())
            .expect("it sends it")
    };
    let by = Renumbering { frame_num: 7, order: 14 };
    let sent = || SenderLog { renumbered: vec![(50, by, None), (51, by, None)].into(), ..SenderLog::default() };
    let start = Timestamp::from_millis(2_345);
    let (plain, moved) = (setup(Timestamp::ZERO).facts(), setup(start).facts_as_sent(&mut sent()));
    for (frame, (plain, moved)) in plain.iter().zip(moved.iter()).enumerate() {
        assert_eq!(moved.due, start + plain.due.saturating_since(Timestamp::ZERO), "frame {frame}");
        let order = plain.picture_order.expect("it has one");
        let expected = if (50..52).contains(&frame) { order.renumbered(by) } else { order };
        assert_eq!((moved.picture_order, moved.size), (Some(expected), plain.size), "frame {frame}");
    }
    assert_eq!(moved.len(), FRAMES as usize);
}
