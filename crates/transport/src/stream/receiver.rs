//! The receiving half over a byte stream.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use framewire_media::access_unit::Codec;
use framewire_media::{CodedFrame, FrameRate, ScanError, Scanner};
use framewire_units::Timestamp;

use crate::event::ReceiverEvent;

/// Bytes of one frame that are kept.
pub(crate) use framewire_wire::rtp_payload::LARGEST_FRAME;

/// Times of reads that are kept to know when a frame's last byte arrived. The end of a frame lies only a few headers
/// before the byte by which it becomes known, so more than this many single-byte reads back is not looked for.
const KEPT_READS: usize = 4_096;

/// How fast the receiver reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Whatever has arrived, at once: the sender sets the pace.
    Immediate,
    /// Frame by frame, as a player does: frame k is consumed no earlier than k frame periods after the first byte
    /// arrived. Nothing is read while a whole frame waits for its time, so that the socket's receive window paces
    /// the sender, as in the thesis.
    Playout {
        /// The rate at which frames are consumed.
        frame_rate: FrameRate,
    },
}

/// Receives an elementary stream and splits it into frames.
///
/// Contract: while [`wants_bytes`](Self::wants_bytes), give it what the socket has with
/// [`handle_bytes`](Self::handle_bytes), at the end [`handle_end`](Self::handle_end); drain
/// [`poll_event`](Self::poll_event) after each. At [`next_timeout`](Self::next_timeout) call
/// [`handle_timeout`](Self::handle_timeout), which consumes what is due.
///
/// A `Read` event says how many bytes the application has read: with [`Pacing::Immediate`] one for each call, with
/// [`Pacing::Playout`] one for each frame consumed. Where a frame ends is known when the next one has begun, or at
/// the end of the stream. Memory is bounded by `LARGEST_FRAME` and the bytes of one call; a larger frame is
/// reported as not complete.
#[derive(Debug)]
pub struct StreamReceiver {
    pacing: Pacing,
    /// `None` after the end.
    scanner: Option<Scanner>,
    /// Bytes received that belong to no finished frame.
    buffer: BytesMut,
    /// Offset in the stream of the first byte of `buffer`.
    buffer_offset: u64,
    /// Bytes received since the start.
    total: u64,
    /// (total after the read, when), oldest first, of the newest reads.
    reads: VecDeque<(u64, Timestamp)>,
    /// When the first byte arrived.
    origin: Option<Timestamp>,
    /// Frames found so far.
    frames: u64,
    /// Where the last of them ends, if it is complete.
    last_frame_end: Option<u64>,
    /// Frames found that wait for their time to be consumed, oldest first.
    waiting: VecDeque<WaitingFrame>,
    events: VecDeque<ReceiverEvent>,
}

#[derive(Debug)]
struct WaitingFrame {
    /// When it is consumed.
    due: Timestamp,
    /// Offset of its end in the stream.
    end: u64,
    complete: bool,
    bytes: Bytes,
}

impl StreamReceiver {
    /// A receiving half at the start of a stream.
    pub fn new(pacing: Pacing) -> Self {
        Self {
            pacing,
            scanner: Some(Scanner::new()),
            buffer: BytesMut::new(),
            buffer_offset: 0,
            total: 0,
            reads: VecDeque::new(),
            origin: None,
            frames: 0,
            last_frame_end: None,
            waiting: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The same at the start of a stream of `codec`; without, it is MPEG video that is expected. A stream of a codec
    /// that is not scanned comes through, but no frame is found in it.
    pub fn of_codec(self, codec: Codec) -> Self {
        Self { scanner: Some(Scanner::of(codec).unwrap_or_default()), ..self }
    }

    /// True when it consumes frame by frame and so paces the sender.
    pub fn is_paced(&self) -> bool {
        self.pacing != Pacing::Immediate
    }

    /// True unless a whole frame waits for its time.
    pub fn wants_bytes(&self, now: Timestamp) -> bool {
        self.scanner.is_some() && self.waiting.back().is_none_or(|frame| frame.due <= now)
    }

    /// When the next waiting frame is consumed. Where [`wants_bytes`](Self::wants_bytes) says no, it says yes after
    /// the last of these times.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.waiting.front().map(|frame| frame.due)
    }

    /// Takes the next bytes of the stream.
    pub fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]) {
        self.handle_timeout(now);
        let Some(mut scanner) = self.scanner.take() else {
            let reason = "bytes after the end of the stream".to_owned();
            self.events.push_back(ReceiverEvent::Rejected { at: now, reason });
            return;
        };
        if !bytes.is_empty() {
            self.note_read(now, bytes);
        }
        let mut found = Vec::new();
        scanner.feed(bytes, &mut |frame| found.push(frame));
        self.scanner = Some(scanner);
        found.into_iter().for_each(|frame| self.take_frame(&frame));
        self.bound_buffer(now);
        self.handle_timeout(now);
    }

    /// The stream has ended, and with it the last frame. Frames that wait are handed out with their own times.
    pub fn handle_end(&mut self, now: Timestamp) {
        let Some(scanner) = self.scanner.take() else { return };
        let mut found = Vec::new();
        let summary = scanner.finish(&mut |frame| found.push(frame));
        found.into_iter().for_each(|frame| self.take_frame(&frame));
        self.handle_timeout(Timestamp::MAX);
        // A receiver needs no frame rate, and a stream need not state one.
        let error = summary.err().filter(|error| !matches!(error, ScanError::NoFrameRate { .. }));
        if let (Some(error), true) = (error, self.total > 0) {
            self.events.push_back(ReceiverEvent::Rejected { at: now, reason: error.to_string() });
            if self.pacing != Pacing::Immediate {
                self.events.push_back(ReceiverEvent::Read { total: self.total, at: now });
            }
        }
    }

    /// Consumes the frames whose time has come.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        while self.next_timeout().is_some_and(|due| due <= now) {
            let Some(frame) = self.waiting.pop_front() else { return };
            if self.pacing != Pacing::Immediate {
                self.events.push_back(ReceiverEvent::Read { total: frame.end, at: frame.due });
            }
            let WaitingFrame { due: at, complete, bytes, .. } = frame;
            self.events.push_back(ReceiverEvent::Frame {
                track: 0,
                rtp_timestamp: None,
                at,
                complete,
                discarded: None,
                handed_on: None,
                bytes,
            });
        }
    }

    /// Offset in the stream where the last frame ends that was found; `None` where that is not complete. Of a stream that
    /// was cut off, the last frame ends where the stream does, which need not be its own end: nothing else in a stream
    /// shows that.
    pub fn last_frame_end(&self) -> Option<u64> {
        self.last_frame_end
    }

    /// Bytes received that no `Frame` event has handed out yet.
    pub fn buffered(&self) -> usize {
        self.buffer.len() + self.waiting.iter().map(|frame| frame.bytes.len()).sum::<usize>()
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<ReceiverEvent> {
        self.events.pop_front()
    }

    fn note_read(&mut self, now: Timestamp, bytes: &[u8]) {
        self.origin.get_or_insert(now);
        self.buffer.extend_from_slice(bytes);
        self.total += bytes.len() as u64;
        self.reads.push_back((self.total, now));
        if self.reads.len() > KEPT_READS {
            self.reads.pop_front();
        }
        if self.pacing == Pacing::Immediate {
            self.events.push_back(ReceiverEvent::Read { total: self.total, at: now });
        }
    }

    /// Cuts a frame that the scanner found out of the buffer.
    fn take_frame(&mut self, frame: &CodedFrame) {
        let end = frame.offset + frame.size;
        let arrived = self.arrival_of(end);
        let complete = frame.offset >= self.buffer_offset;
        self.skip_to(frame.offset);
        let bytes = if complete { self.split_to(end) } else { Bytes::new() };
        self.skip_to(end);
        let due = self.consumption_time(self.frames).max(arrived);
        self.frames += 1;
        self.last_frame_end = complete.then_some(end);
        self.waiting.push_back(WaitingFrame { due, end, complete, bytes });
    }

    /// When the byte before offset `end` arrived. Forgets the reads before it.
    fn arrival_of(&mut self, end: u64) -> Timestamp {
        while self.reads.len() > 1 && self.reads.front().is_some_and(|(total, _)| *total < end) {
            self.reads.pop_front();
        }
        self.reads.front().map_or(Timestamp::ZERO, |(_, at)| *at)
    }

    /// The earliest time at which frame `count` is consumed.
    fn consumption_time(&self, count: u64) -> Timestamp {
        match self.pacing {
            Pacing::Immediate => Timestamp::ZERO,
            Pacing::Playout { frame_rate } => self.origin.unwrap_or_default() + frame_rate.time_of(count),
        }
    }

    fn split_to(&mut self, offset: u64) -> Bytes {
        let length = usize::try_from(offset.saturating_sub(self.buffer_offset)).unwrap_or(usize::MAX);
        let bytes = self.buffer.split_to(length.min(self.buffer.len()));
        self.buffer_offset += bytes.len() as u64;
        bytes.freeze()
    }

    fn skip_to(&mut self, offset: u64) {
        drop(self.split_to(offset));
    }

    /// Gives up a frame that grows beyond all bounds.
    fn bound_buffer(&mut self, now: Timestamp) {
        if self.buffer.len() > LARGEST_FRAME {
            self.skip_to(self.total);
            let reason = format!("more than {LARGEST_FRAME} bytes without the end of a frame were thrown away");
            self.events.push_back(ReceiverEvent::Rejected { at: now, reason });
        }
    }
}
