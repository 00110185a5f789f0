//! The sending half over a byte stream.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use framewire_units::{DataSize, Timestamp};
use framewire_wire::mpeg_ts::{self, PACKET_LENGTH};
use framewire_wire::rfc4571::{LENGTH_FIELD, put_packet};
use framewire_wire::rtp::RtpHeader;
use framewire_wire::rtp_payload::{Datagram, Packetizer};
use framewire_wire::rtsp::{FRAME_HEADER, put_interleaved};

use super::file::FileSamples;
use super::fragments::FileFragments;
use crate::event::{SenderEvent, SenderPlace};
use crate::frame::OutgoingFrame;
use crate::packets::{SoundPackets, transport_packets, transport_packets_of_sound};
use crate::progress::WriteProgress;
use crate::queue::{Discard, FrameQueue};
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
    format: StreamFormat,
    framing: Framing,
    sending: Option<Sending>,
    /// The frame that something went before when some of it was written.
    interrupted: Option<Sending>,
    /// Bytes written since the start.
    written: u64,
    ending: Ending,
    events: VecDeque<SenderEvent>,
}

/// How frames become bytes of the stream.
#[derive(Debug)]
enum StreamFormat {
    /// As they are.
    ElementaryStream,
    /// As RTP packets, each behind its length; sound, where there is any, from a source of its own, behind such lengths.
    Packets(Box<Packetizer>, Option<(Box<SoundPackets>, Framing)>),
    /// As packets of a transport stream, one behind the other.
    TransportStream(Box<mpeg_ts::Packetizer>),
    /// As samples of an MP4 file.
    File(FileSamples),
    /// As fragments of one.
    Fragments(Box<FileFragments>),
}

/// How the length of a packet of RTP stands before it.
#[derive(Clone, Copy, Debug)]
enum Framing {
    /// In two bytes (RFC 4571).
    Length,
    /// Behind a dollar sign and the number of its channel (RFC 2326, section 10.12).
    Interleaved(u8),
}

/// The send buffer S: the frame that is being written, or what goes before one.
#[derive(Debug)]
struct Sending {
    what: What,
    /// What of it goes into the stream.
    bytes: Bytes,
    /// Where something else may go before the rest of it.
    packets: Packets,
    /// Of sound on a channel of RTSP, the time stamps of its packets and their bytes of payload.
    sound: Vec<(u32, u32)>,
    written: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Frame(u32),
    Sound(u32),
    /// Of the session; the ledger knows nothing of it.
    Message,
}

/// What a piece of the stream consists of.
#[derive(Debug)]
enum Packets {
    /// It stays together.
    One,
    /// Packets of a transport stream.
    Transport,
    /// Packets that end there, in order.
    Ending(Vec<usize>),
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
            format: StreamFormat::ElementaryStream,
            framing: Framing::Length,
            sending: None,
            interrupted: None,
            written: 0,
            ending: Ending::Open,
            events: VecDeque::new(),
        }
    }

    /// The same whose frames are sent as RTP packets, each behind its length (RFC 4571).
    pub fn in_packets(self, packetizer: Packetizer) -> Self {
        Self { format: StreamFormat::Packets(Box::new(packetizer), None), ..self }
    }

    /// The same whose frames are sent as RTP packets on this channel of a connection of RTSP, between its
    /// [messages](Self::handle_message) (RFC 2326, section 10.12).
    pub fn interleaved(self, packetizer: Packetizer, channel: u8) -> Self {
        Self { framing: Framing::Interleaved(channel), ..self.in_packets(packetizer) }
    }

    /// The same with sound in RTP packets as well, from a source of its own in the same session (RFC 8860, section 4).
    ///
    /// # Panics
    /// When frames do not go in RTP packets.
    #[must_use]
    pub fn with_sound(self, sound: SoundPackets) -> Self {
        let framing = self.framing;
        self.with_framed_sound(sound, framing)
    }

    /// The same on a channel of its own in a connection of RTSP.
    ///
    /// # Panics
    /// When frames do not go in RTP packets.
    #[must_use]
    pub fn with_interleaved_sound(self, sound: SoundPackets, channel: u8) -> Self {
        self.with_framed_sound(sound, Framing::Interleaved(channel))
    }

    fn with_framed_sound(self, sound: SoundPackets, framing: Framing) -> Self {
        match self.format {
            StreamFormat::Packets(frames, _) => {
                Self { format: StreamFormat::Packets(frames, Some((Box::new(sound), framing))), ..self }
            }
            _ => panic!("sound goes in RTP packets beside frames that do"),
        }
    }

    /// The same whose frames are sent as a transport stream.
    pub fn in_transport_stream(self, packetizer: mpeg_ts::Packetizer) -> Self {
        Self { format: StreamFormat::TransportStream(Box::new(packetizer)), ..self }
    }

    /// The same whose frames and sound are sent as the samples of a file, of which the index is given as a message.
    pub fn in_file(self, samples: FileSamples) -> Self {
        Self { format: StreamFormat::File(samples), ..self }
    }

    /// The same as fragments of a file; what stands before the first is given as a message.
    pub fn in_fragments(self, fragments: FileFragments) -> Self {
        Self { format: StreamFormat::Fragments(Box::new(fragments)), ..self }
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
        let id = frame.id;
        let discards = match self.ending {
            Ending::Open => self.queue.offer(frame),
            _ => vec![Discard { frame, rule: rules::AFTER_THE_END }],
        };
        rules::note_offer(&mut self.events, now, id, discards);
    }

    /// Takes a packet of sound, at any time before the end. Transport streams and files carry it, and RTP
    /// [that is to](Self::with_sound).
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
        match &self.format {
            StreamFormat::Packets(frames, sound) => {
                [Some(frames.next_number()), sound.as_ref().map(|(sound, _)| sound.next_number())]
            }
            _ => [None; 2],
        }
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
        let rest = begun.map(|sending| sending.bytes.slice(sending.written..sending.end_of_packet()));
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
            return self.go_first(What::Message, message, Vec::new());
        }
        while let Some(sound) = self.sound.pop_front() {
            if let Some((bytes, packets)) = self.format.bytes_of_sound(&sound) {
                return self.go_first(What::Sound(sound.id), bytes, packets);
            }
            let (frame, place, rule) = (sound.id, SenderPlace::Pipeline, rules::NOT_PACKETIZED);
            self.events.push_back(SenderEvent::Discarded { frame, at: now, place, rule });
        }
    }

    fn go_first(&mut self, what: What, bytes: Bytes, sound: Vec<(u32, u32)>) {
        let packets = Packets::One;
        let frame = self.sending.replace(Sending { what, bytes, packets, sound, written: 0 });
        self.interrupted = frame.or_else(|| self.interrupted.take());
    }

    /// The next waiting frame, as the bytes of the stream. Frames that cannot be cut into packets are given up.
    fn next_frame(&mut self, now: Timestamp) -> Option<Sending> {
        loop {
            let frame = self.queue.take()?;
            rules::note_change(&mut self.events, now, Some(&frame));
            if let Some((bytes, packets)) = self.format.bytes(&frame, self.framing) {
                let (what, sound) = (What::Frame(frame.id), Vec::new());
                return Some(Sending { what, bytes, packets, sound, written: 0 });
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
        let end = if is_alone { sending.bytes.len() } else { sending.end_of_packet() };
        let rest = &sending.bytes[sending.written..end];
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
        let before = sending.written;
        sending.written += taken;
        self.written += taken as u64;
        if let Framing::Interleaved(_) = self.framing {
            let packets = sending.packets_between(before, self.framing.header());
            self.events.extend(packets.map(|(timestamp, octets)| SenderEvent::Packet {
                at: now,
                timestamp,
                octets,
                is_sound: false,
            }));
        }
        if sending.written == sending.bytes.len() {
            self.events.extend(sending.sound.drain(..).map(|(timestamp, octets)| SenderEvent::Packet {
                at: now,
                timestamp,
                octets,
                is_sound: true,
            }));
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

    /// Time stamps and bytes of payload of the packets of RTP that were written to their ends from `before` on, each behind a
    /// header of so many bytes.
    fn packets_between(&self, before: usize, header: usize) -> impl Iterator<Item = (u32, u32)> {
        let ends = if let Packets::Ending(ends) = &self.packets { &ends[..] } else { &[] };
        let [first, next] = [before, self.written].map(|written| ends.partition_point(|&end| end <= written));
        let start = move |number: usize| if number == 0 { 0 } else { ends[number - 1] };
        (first..next).filter_map(move |number| {
            let (packet, payload) = RtpHeader::parse(&self.bytes[start(number) + header..ends[number]]).ok()?;
            Some((packet.timestamp, payload.len() as u32))
        })
    }

    /// The end of the packet that was begun; where none is, that is here.
    fn end_of_packet(&self) -> usize {
        let end = match &self.packets {
            _ if self.written == 0 && matches!(self.what, What::Frame(_)) => 0,
            Packets::One => self.bytes.len(),
            Packets::Transport => self.written.next_multiple_of(PACKET_LENGTH),
            Packets::Ending(ends) => {
                let next = ends.partition_point(|&end| end < self.written);
                ends.get(next).copied().unwrap_or(self.bytes.len())
            }
        };
        end.min(self.bytes.len())
    }
}

impl Framing {
    /// Bytes before a packet.
    const fn header(self) -> usize {
        match self {
            Self::Length => LENGTH_FIELD,
            Self::Interleaved(_) => FRAME_HEADER,
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

impl StreamFormat {
    /// The bytes of a packet of sound, and of RTSP what is in them; `None` where it cannot be carried.
    fn bytes_of_sound(&mut self, sound: &OutgoingSound) -> Option<(Bytes, Vec<(u32, u32)>)> {
        match self {
            Self::ElementaryStream | Self::Packets(_, None) => None,
            Self::Packets(_, Some((packets, framing))) => {
                let packets = packets.packetize(sound).ok()?;
                let bytes = framed(&packets, *framing).0;
                let in_rtsp = matches!(framing, Framing::Interleaved(_));
                let of_rtp = packets.iter().filter(|_| in_rtsp).filter_map(|packet| {
                    let (packet, payload) = RtpHeader::parse(&packet.bytes).ok()?;
                    Some((packet.timestamp, payload.len() as u32))
                });
                Some((bytes, of_rtp.collect()))
            }
            Self::TransportStream(packetizer) => Some((transport_packets_of_sound(packetizer, sound)?, Vec::new())),
            Self::File(samples) => Some((samples.of_sound(&sound.bytes)?, Vec::new())),
            Self::Fragments(fragments) => Some((fragments.of_sound(sound)?, Vec::new())),
        }
    }

    /// The bytes of a frame, and what they consist of; `None` where it cannot be cut into packets.
    fn bytes(&mut self, frame: &OutgoingFrame, framing: Framing) -> Option<(Bytes, Packets)> {
        match self {
            Self::ElementaryStream => Some((frame.bytes.clone(), Packets::One)),
            Self::File(samples) => Some((samples.of_frame(&frame.bytes)?, Packets::One)),
            Self::Fragments(fragments) => Some((fragments.of_frame(frame)?, Packets::One)),
            Self::TransportStream(packetizer) => Some((transport_packets(packetizer, frame)?, Packets::Transport)),
            Self::Packets(packetizer, _) => {
                let packets = packetizer.packetize(&frame.bytes, frame.rtp_timestamp).ok()?;
                let (stream, ends) = framed(&packets, framing);
                Some((stream, Packets::Ending(ends)))
            }
        }
    }
}

/// Packets, each behind its length, and where they end.
fn framed(packets: &[Datagram], framing: Framing) -> (Bytes, Vec<usize>) {
    let size = packets.iter().map(|packet| framing.header() + packet.bytes.len()).sum();
    let (mut stream, mut ends) = (BytesMut::with_capacity(size), Vec::with_capacity(packets.len()));
    for packet in packets {
        match framing {
            Framing::Length => put_packet(&packet.bytes, &mut stream),
            Framing::Interleaved(channel) => put_interleaved(channel, &packet.bytes, &mut stream),
        }
        ends.push(stream.len());
    }
    (stream.freeze(), ends)
}

/// Bytes that may be written: up to the limit once less than half of it is unsent, else none.
fn room_below(limit: DataSize, unsent: DataSize) -> usize {
    if unsent.as_bytes().saturating_mul(2) >= limit.as_bytes() {
        return 0;
    }
    usize::try_from((limit - unsent).as_bytes()).unwrap_or(usize::MAX)
}
