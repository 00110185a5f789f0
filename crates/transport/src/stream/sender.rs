//! The sending half over a byte stream.

use std::collections::VecDeque;

use bytes::Bytes;
use framewire_units::{DataSize, Timestamp};

use super::elementary_stream::ElementaryStream;
use super::format::{NotedPacket, Piece, StreamFormat};
use crate::event::{SenderEvent, SenderPlace};
use crate::frame::OutgoingFrame;
use crate::progress::WriteProgress;
use crate::queue::FrameQueue;
use crate::rules;
use crate::socket::{SocketError, StreamSocket};
use crate::sound::{OutgoingSound, SoundQueue};

/// Sends frames over a [`StreamSocket`], as an elementary stream or in packets.
///
/// Contract: while [`wants_frame`](Self::wants_frame), give it due frames with [`handle_frame`](Self::handle_frame),
/// after the last one [`handle_end`](Self::handle_end). After every input call [`poll_write`](Self::poll_write), and
/// again when the socket is writable if it said [`WriteProgress::Blocked`]. Drain [`poll_event`](Self::poll_event)
/// after every call. Every frame given ends in one `LastByte` or one `Discarded` event.
///
/// With an *unsent limit* the kernel never holds more than that many bytes that TCP has not yet sent: the writer
/// begins to write when less than half of the limit is unsent, which is when a kernel with `TCP_NOTSENT_LOWAT` set to
/// the same value reports the socket writable (`tcp_stream_memory_free` in Linux), and fills it up to the limit.
/// What does not fit waits in the frame queue, where it can still be given up.
///
/// Sound goes before every frame, also before the rest of one that is being written: behind the transport packet of it that was
/// begun. Before both go messages of the session in which the stream is ([`handle_message`](Self::handle_message)).
#[derive(Debug)]
pub struct StreamSender {
    queue: FrameQueue,
    sound: SoundQueue,
    messages: VecDeque<Bytes>,
    unsent_limit: Option<DataSize>,
    format: Box<dyn StreamFormat>,
    sending: Option<Sending>,
    /// The frame that something went before when some of it was written.
    interrupted: Option<Sending>,
    /// Bytes written since the start.
    written: u64,
    ending: Ending,
    events: VecDeque<SenderEvent>,
}

/// The send buffer S: the frame that is being written, or what goes before one.
#[derive(Debug)]
struct Sending {
    what: What,
    piece: Piece,
    written: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Frame(u32),
    Sound(u32),
    /// Of the session; the ledger knows nothing of it.
    Message,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// More frames may come.
    Open,
    /// No more frames come; those that were taken are still to be written.
    Signalled,
    /// What was left was given up; the socket is not yet shut down.
    Aborted,
    /// The socket was shut down.
    Finished,
}

impl StreamSender {
    /// A sending half. `unsent_limit` must be the socket's `TCP_NOTSENT_LOWAT`, at least 2 bytes; `None` writes as
    /// much as the send buffer takes.
    pub fn new(queue: FrameQueue, unsent_limit: Option<DataSize>) -> Self {
        let unsent_limit = unsent_limit.map(|limit| limit.max(DataSize::from_bytes(2)));
        Self {
            queue,
            sound: SoundQueue::new(),
            messages: VecDeque::new(),
            unsent_limit,
            format: Box::new(ElementaryStream),
            sending: None,
            interrupted: None,
            written: 0,
            ending: Ending::Open,
            events: VecDeque::new(),
        }
    }

    /// The same whose frames are sent so: as [packets of RTP](super::RtpPackets), as a
    /// [transport stream](framewire_wire::mpeg_ts::Packetizer), as the [samples](super::FileSamples) or
    /// [fragments](super::FileFragments) of a file. What stands before the first sample of a file is given as a message.
    #[must_use]
    pub fn in_format(self, format: impl StreamFormat + 'static) -> Self {
        Self { format: Box::new(format), ..self }
    }

    /// The decision queue, for what waits in it.
    pub fn queue(&self) -> &FrameQueue {
        &self.queue
    }

    /// True when the frame clock may give it a frame now.
    pub fn wants_frame(&self) -> bool {
        let is_writing = self.sending.is_some() || self.interrupted.is_some();
        let writer_ready = !is_writing || self.queue.accepts_while_writing();
        self.ending == Ending::Open && writer_ready && self.queue.wants_frame()
    }

    /// Takes a frame.
    pub fn handle_frame(&mut self, now: Timestamp, frame: OutgoingFrame) {
        let ended = self.ending != Ending::Open;
        self.queue.handle_frame(now, frame, ended, &mut self.events);
    }

    /// Takes a packet of sound, at any time before the end. Transport streams and files carry it, and RTP
    /// [that is to](super::RtpPackets::with_sound).
    pub fn handle_sound(&mut self, now: Timestamp, sound: OutgoingSound) {
        self.events.push_back(SenderEvent::Queued { frame: sound.id, at: now });
        self.sound.push_back(sound);
    }

    /// Takes a message of the session, at any time before the end: it is written as soon as the packet has ended that was
    /// begun, before frames and sound.
    pub fn handle_message(&mut self, message: impl Into<Bytes>) {
        self.messages.push_back(message.into());
    }

    /// No more frames come. What was taken is still written, then the socket is shut down.
    pub fn handle_end(&mut self, _now: Timestamp) {
        if self.ending == Ending::Open {
            self.ending = Ending::Signalled;
        }
    }

    /// Gives up everything that was not written. A frame that was partly written is cut there.
    pub fn handle_abort(&mut self, now: Timestamp) {
        self.messages.clear();
        let begun = [self.sending.take(), self.interrupted.take()].into_iter().flatten();
        let begun = begun.filter_map(|sending| sending.what.number());
        let sound = self.sound.drain(..).map(|sound| sound.id);
        let frames = std::iter::from_fn(|| self.queue.take().map(|frame| frame.id));
        for frame in begun.chain(sound).chain(frames) {
            let (place, rule) = (SenderPlace::Pipeline, rules::STOPPED);
            self.events.push_back(SenderEvent::Discarded { frame, at: now, place, rule });
        }
        if self.ending != Ending::Finished {
            self.ending = Ending::Aborted;
        }
    }

    /// Gives up what waits, as after a seek: what comes next does not go on from it. What is being written is finished.
    pub fn handle_flush(&mut self, now: Timestamp) {
        for frame in self.queue.flush() {
            let (place, rule) = (SenderPlace::Pipeline, rules::FLUSHED);
            self.events.push_back(SenderEvent::Discarded { frame: frame.id, at: now, place, rule });
        }
    }

    /// As [`handle_flush`](Self::handle_flush) of frames and sound, and with a queue that knows nothing of what was before: frames may have
    /// numbers again that others had.
    pub fn handle_seek(&mut self, now: Timestamp, queue: FrameQueue) {
        self.handle_flush(now);
        rules::note_flushed_sound(&mut self.events, now, &mut self.sound);
        self.queue = queue;
    }

    /// The sequence numbers of the next packets of RTP that are made, of frames and of sound; `None` where none is.
    pub fn next_numbers(&self) -> [Option<u16>; 2] {
        self.format.next_numbers()
    }

    /// Writes what the socket takes; ends the stream when all is written and the end was signalled.
    ///
    /// # Errors
    /// When the socket is broken. The frame that was being written is then still to be written: call
    /// [`handle_abort`](Self::handle_abort) to have it, and all others, reported as given up.
    pub fn poll_write(&mut self, now: Timestamp, socket: &mut dyn StreamSocket) -> Result<WriteProgress, SocketError> {
        loop {
            self.let_others_go_first(now);
            if self.sending.is_none() {
                self.sending = self.interrupted.take().or_else(|| self.next_frame(now));
            }
            if self.sending.is_none() {
                self.finish_when_signalled(socket)?;
                return Ok(WriteProgress::Idle);
            }
            if !self.write_some(now, socket)? {
                return Ok(WriteProgress::Blocked);
            }
        }
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// What has to be written, where the stream goes on in another way, of the packet that was begun, and of the messages that
    /// wait; nothing of it is written here any more.
    pub fn take_begun(&mut self) -> Vec<Bytes> {
        let begun = self.sending.take().filter(|sending| sending.written > 0 || sending.what == What::Message);
        let rest = begun.map(|sending| sending.piece.bytes.slice(sending.written..sending.end_of_packet()));
        rest.into_iter().filter(|rest| !rest.is_empty()).chain(self.messages.drain(..)).collect()
    }

    /// True when nothing is left to do: all that was accepted is written or given up, and the socket was shut down
    /// (after an abort: need not be).
    pub fn is_finished(&self) -> bool {
        matches!(self.ending, Ending::Finished | Ending::Aborted)
    }

    /// Takes a message or sound that waits, where a packet of it can begin here.
    fn let_others_go_first(&mut self, now: Timestamp) {
        if self.messages.is_empty() && self.sound.is_empty()
            || !self.sending.as_ref().is_none_or(Sending::can_be_interrupted)
        {
            return;
        }
        if let Some(message) = self.messages.pop_front() {
            return self.go_first(What::Message, Piece::whole(message));
        }
        while let Some(sound) = self.sound.pop_front() {
            if let Some(piece) = self.format.of_sound(&sound) {
                return self.go_first(What::Sound(sound.id), piece.together());
            }
            let (frame, place, rule) = (sound.id, SenderPlace::Pipeline, rules::NOT_PACKETIZED);
            self.events.push_back(SenderEvent::Discarded { frame, at: now, place, rule });
        }
    }

    fn go_first(&mut self, what: What, piece: Piece) {
        let frame = self.sending.replace(Sending { what, piece, written: 0 });
        self.interrupted = frame.or_else(|| self.interrupted.take());
    }

    /// The next waiting frame, as the bytes of the stream. Frames that cannot be cut into packets are given up.
    fn next_frame(&mut self, now: Timestamp) -> Option<Sending> {
        loop {
            let frame = self.queue.take()?;
            rules::note_change(&mut self.events, now, Some(&frame));
            if let Some(piece) = self.format.of_frame(&frame) {
                return Some(Sending { what: What::Frame(frame.id), piece, written: 0 });
            }
            let (place, rule) = (SenderPlace::Pipeline, rules::NOT_PACKETIZED);
            self.events.push_back(SenderEvent::Discarded { frame: frame.id, at: now, place, rule });
        }
    }

    /// Writes a part of S; false when the socket takes nothing now.
    fn write_some(&mut self, now: Timestamp, socket: &mut dyn StreamSocket) -> Result<bool, SocketError> {
        let Some(sending) = &mut self.sending else { return Ok(true) };
        let frame = sending.what.number();
        // What goes first goes as soon as the packet that was begun has ended.
        let is_alone = self.sound.is_empty() && self.messages.is_empty();
        let end = if is_alone { sending.piece.bytes.len() } else { sending.end_of_packet() };
        let rest = &sending.piece.bytes[sending.written..end];
        let room = match self.unsent_limit {
            None => rest.len(),
            Some(limit) => room_below(limit, socket.unsent()?).min(rest.len()),
        };
        let taken = if room == 0 { 0 } else { socket.write(&rest[..room])?.min(room) };
        if taken == 0 && !rest.is_empty() {
            return Ok(false);
        }
        let begins = frame.filter(|_| sending.written == 0);
        self.events.extend(begins.map(|frame| SenderEvent::FirstByte { frame, at: now }));
        sending.written += taken;
        self.written += taken as u64;
        let is_sound = matches!(sending.what, What::Sound(_));
        let noted = sending.take_noted().map(|NotedPacket { timestamp, octets, .. }| SenderEvent::Packet {
            at: now,
            timestamp,
            octets,
            is_sound,
        });
        self.events.extend(noted);
        if sending.written == sending.piece.bytes.len() {
            let end = Some(self.written);
            self.events.extend(frame.map(|frame| SenderEvent::LastByte { frame, at: now, end }));
            self.sending = None;
        }
        Ok(true)
    }

    fn finish_when_signalled(&mut self, socket: &mut dyn StreamSocket) -> Result<(), SocketError> {
        if matches!(self.ending, Ending::Signalled | Ending::Aborted) {
            socket.finish()?;
            self.ending = Ending::Finished;
        }
        Ok(())
    }
}

impl Sending {
    /// True where something else may go before the rest of it: between two of its packets.
    fn can_be_interrupted(&self) -> bool {
        self.end_of_packet() == self.written
    }

    /// The packets of which is said when they were written, which by now they are.
    fn take_noted(&mut self) -> impl Iterator<Item = NotedPacket> {
        let count = self.piece.noted.partition_point(|packet| packet.end <= self.written);
        self.piece.noted.drain(..count)
    }

    /// The end of the packet that was begun; where none is, that is here.
    fn end_of_packet(&self) -> usize {
        match self.what {
            What::Frame(_) if self.written == 0 => 0,
            _ => self.piece.end_of_packet(self.written),
        }
    }
}

impl What {
    /// Its number in the ledger.
    fn number(self) -> Option<u32> {
        match self {
            Self::Frame(number) | Self::Sound(number) => Some(number),
            Self::Message => None,
        }
    }
}

/// Bytes that may be written: up to the limit once less than half of it is unsent, else none.
fn room_below(limit: DataSize, unsent: DataSize) -> usize {
    if unsent.as_bytes().saturating_mul(2) >= limit.as_bytes() {
        return 0;
    }
    usize::try_from((limit - unsent).as_bytes()).unwrap_or(usize::MAX)
}
