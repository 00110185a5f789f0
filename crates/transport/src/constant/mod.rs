//! The sending half of a transport stream of constant rate, over datagrams or a stream of bytes.

mod given;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bytes::Bytes;
use framewire_units::{DataSize, Timestamp};
use framewire_wire::mpeg_ts::{ConstantPacketizer, FramePart, Group};

use self::given::Given;
use crate::datagram::Overflow;
use crate::event::{SenderEvent, SenderPlace};
use crate::frame::OutgoingFrame;
use crate::packets::{in_transport_stream, sound_in_transport_stream};
use crate::progress::WriteProgress;
use crate::queue::FrameQueue;
use crate::rules;
use crate::socket::{DatagramSend, DatagramSocket, SocketError, StreamSocket};
use crate::sound::{OutgoingSound, SoundQueue};

const SEND_BUFFER_FULL: &str = "udp: send buffer full";
const DEVICE_QUEUE_FULL: &str = "udp: device queue full";

/// What a stream of constant rate goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Datagrams; where one finds no room this is done. [`Overflow::DropRestOfFrame`] is as [`Overflow::Drop`]: null packets would
    /// go in place of the rest.
    Datagrams(Overflow),
    /// A stream of bytes.
    Stream,
}

/// Sends frames and sound as a transport stream of constant rate: whatever they are, its packets leave at the times that their
/// places in it have, from the first frame on, and null packets where there is nothing else.
///
/// Contract: as of [`DatagramSender`](crate::DatagramSender) and [`StreamSender`](crate::StreamSender), with their events; and
/// `Stuffing` events that say how much of what left was null packets. After [`Early`](WriteProgress::Early) call [`poll_write`](Self::poll_write) again at
/// [`next_timeout`](Self::next_timeout). A socket without room makes the stream late: what is due then leaves as fast as the
/// socket takes it, with the clock that it would have had, and frames wait in front when more are in the stream than its rate could
/// bring in time.
///
/// No frame is given up for want of time: null packets would take its place, so that the stream would be no smaller.
#[derive(Debug)]
pub struct ConstantSender {
    packetizer: ConstantPacketizer,
    carrier: Carrier,
    queue: FrameQueue,
    sound: SoundQueue,
    messages: VecDeque<Bytes>,
    given: Given,
    /// When the first packet is due.
    begin: Option<Timestamp>,
    sending: Option<Sending>,
    /// Bytes written since the start.
    written: u64,
    /// All that it is to send was given to it.
    complete: bool,
    ended: bool,
    finished: bool,
    events: VecDeque<SenderEvent>,
}

/// What is being written.
#[derive(Debug)]
struct Sending {
    group: Group,
    written: usize,
}

impl ConstantSender {
    /// A sending half of this stream.
    pub fn new(packetizer: ConstantPacketizer, carrier: Carrier) -> Self {
        Self {
            packetizer,
            carrier,
            queue: FrameQueue::direct(),
            sound: SoundQueue::new(),
            messages: VecDeque::new(),
            given: Given::default(),
            begin: None,
            sending: None,
            written: 0,
            complete: false,
            ended: false,
            finished: false,
            events: VecDeque::new(),
        }
    }

    /// True when the frame clock may give it a frame now.
    pub fn wants_frame(&self) -> bool {
        !self.ended && self.queue.wants_frame()
    }

    /// Takes a frame.
    pub fn handle_frame(&mut self, now: Timestamp, frame: OutgoingFrame) {
        self.queue.handle_frame(now, frame, self.ended, &mut self.events);
        self.multiplex(now);
    }

    /// Takes a packet of sound, at any time before the end.
    pub fn handle_sound(&mut self, now: Timestamp, sound: OutgoingSound) {
        self.events.push_back(SenderEvent::Queued { frame: sound.id, at: now });
        self.sound.push_back(sound);
        self.multiplex(now);
    }

    /// Takes a message of the session, which goes before the next packets of a stream of bytes.
    pub fn handle_message(&mut self, message: impl Into<Bytes>) {
        self.messages.push_back(message.into());
    }

    /// No more frames and sound come, and the end is signalled when all of them have left, as there may be a message to send then:
    /// no null packets go in place of it. They would never leave the socket room where that is slower than the stream.
    pub fn handle_complete(&mut self) {
        self.complete = true;
    }

    /// No more frames come. What was taken is still sent.
    pub fn handle_end(&mut self, _now: Timestamp) {
        self.ended = true;
    }

    /// Gives up everything that was not sent.
    pub fn handle_abort(&mut self, now: Timestamp) {
        self.messages.clear();
        self.sending = None;
        let sound = self.sound.drain(..).map(|sound| sound.id);
        let frames = std::iter::from_fn(|| self.queue.take().map(|frame| frame.id));
        for frame in self.given.abort().chain(sound).chain(frames) {
            let (place, rule) = (SenderPlace::Pipeline, rules::STOPPED);
            self.events.push_back(SenderEvent::Discarded { frame, at: now, place, rule });
        }
        (self.ended, self.finished) = (true, true);
    }

    /// Sends what is due and the socket takes.
    ///
    /// # Errors
    /// When the socket is broken; what was being sent is then still to be sent.
    pub fn poll_write(
        &mut self,
        now: Timestamp,
        socket: &mut (impl DatagramSocket + StreamSocket),
    ) -> Result<WriteProgress, SocketError> {
        loop {
            self.multiplex(now);
            let Some(sending) = self.sending.take().or_else(|| self.next_message()) else {
                if self.has_sent_all() {
                    return self.finish(socket).map(|()| WriteProgress::Idle);
                }
                match self.next_timeout() {
                    None => return Ok(WriteProgress::Idle),
                    Some(due) if due > now => return Ok(WriteProgress::Early),
                    Some(_) => {
                        self.sending = Some(Sending { group: self.packetizer.next_group(), written: 0 });
                        continue;
                    }
                }
            };
            let sent = match self.carrier {
                Carrier::Datagrams(overflow) => self.send(now, overflow, sending, socket)?,
                Carrier::Stream => self.write(now, sending, socket)?,
            };
            if !sent {
                return Ok(WriteProgress::Blocked);
            }
        }
    }

    /// When the next packets are due; `None` before the first frame, and behind the last where that is known to be the last.
    pub fn next_timeout(&self) -> Option<Timestamp> {
        if self.complete && self.sends_stuffing_alone() {
            return None;
        }
        Some(self.begin? + self.packetizer.next_due()?)
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// True when nothing is left to do: the end was signalled, and all that was accepted is sent or given up.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// True where all that was given has left, and null packets go until there is more, or the end is signalled.
    pub fn sends_stuffing_alone(&self) -> bool {
        let is_empty = self.given.is_empty() && self.queue.is_empty() && self.sound.is_empty();
        is_empty && self.sending.is_none() && self.messages.is_empty()
    }

    fn has_sent_all(&self) -> bool {
        self.ended && self.sends_stuffing_alone()
    }

    fn finish(&mut self, socket: &mut impl StreamSocket) -> Result<(), SocketError> {
        if self.carrier == Carrier::Stream && !self.finished {
            socket.finish()?;
        }
        self.finished = true;
        Ok(())
    }

    fn next_message(&mut self) -> Option<Sending> {
        let bytes = self.messages.pop_front()?;
        let group = Group { sequence: 0, bytes, part: None, packets: DataSize::ZERO, stuffing: DataSize::ZERO };
        Some(Sending { group, written: 0 })
    }

    /// Puts what waits into the stream, as long as that is not behind.
    fn multiplex(&mut self, now: Timestamp) {
        while self.packetizer.waiting() < self.packetizer.most_waiting() {
            let (id, taken) = match self.sound.pop_front() {
                Some(sound) => (sound.id, self.packetizer.handle_frame(&sound_in_transport_stream(&sound), sound.id)),
                None => {
                    let Some(frame) = self.queue.take() else { return };
                    rules::note_change(&mut self.events, now, Some(&frame));
                    (frame.id, self.packetizer.handle_frame(&in_transport_stream(&frame), frame.id))
                }
            };
            if taken.is_ok() {
                self.given.take(id);
                self.begin.get_or_insert(now);
            } else {
                let (place, rule) = (SenderPlace::Pipeline, rules::NOT_PACKETIZED);
                self.events.push_back(SenderEvent::Discarded { frame: id, at: now, place, rule });
            }
        }
    }

    /// Offers a datagram to the socket; false where it has to wait for room.
    fn send(
        &mut self,
        now: Timestamp,
        overflow: Overflow,
        sending: Sending,
        socket: &mut impl DatagramSocket,
    ) -> Result<bool, SocketError> {
        let outcome = match socket.send(&sending.group.bytes) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.sending = Some(sending);
                return Err(error);
            }
        };
        if outcome == DatagramSend::WouldBlock && overflow == Overflow::Wait {
            self.sending = Some(sending);
            return Ok(false);
        }
        let sent = outcome == DatagramSend::Sent;
        let Group { sequence, bytes, part, packets, stuffing } = sending.group;
        if let Some(part) = part {
            if sent {
                self.note_begin(now, part);
            }
            let rule = if outcome == DatagramSend::Dropped { DEVICE_QUEUE_FULL } else { SEND_BUFFER_FULL };
            if !sent && self.given.doom(part.number) {
                let (frame, place) = (part.number, SenderPlace::Socket);
                self.events.push_back(SenderEvent::Discarded { frame, at: now, place, rule });
            }
        }
        let headers = bytes.len() - part.map_or(0, |part| part.bytes);
        self.events.push_back(SenderEvent::Datagram {
            frame: part.map(|part| part.number),
            sequence,
            size: bytes.len() as u32,
            headers: u16::try_from(headers).unwrap_or(u16::MAX),
            at: now,
            sent,
        });
        if sent {
            self.note_stuffing(stuffing, packets);
        }
        if let Some(FramePart { number, end: Some(_), .. }) = part {
            self.note_end(now, number, None);
        }
        Ok(true)
    }

    /// Writes to the socket what it takes; false where it has to wait for room.
    fn write(
        &mut self,
        now: Timestamp,
        mut sending: Sending,
        socket: &mut impl StreamSocket,
    ) -> Result<bool, SocketError> {
        let taken = match socket.write(&sending.group.bytes[sending.written..]) {
            Ok(taken) => taken,
            Err(error) => {
                self.sending = Some(sending);
                return Err(error);
            }
        };
        let before = sending.written;
        sending.written += taken;
        self.written += taken as u64;
        if let Some(part) = sending.group.part.filter(|_| taken > 0) {
            self.note_begin(now, part);
            if let Some(end) = part.end.filter(|end| (before + 1..=sending.written).contains(end)) {
                let behind = (sending.written - end) as u64;
                self.note_end(now, part.number, Some(self.written - behind));
            }
        }
        if sending.written == sending.group.bytes.len() {
            self.note_stuffing(sending.group.stuffing, sending.group.packets);
            return Ok(true);
        }
        self.sending = Some(sending);
        Ok(taken > 0)
    }

    fn note_begin(&mut self, now: Timestamp, part: FramePart) {
        if self.given.begin(part.number) {
            self.events.push_back(SenderEvent::FirstByte { frame: part.number, at: now });
        }
    }

    fn note_end(&mut self, now: Timestamp, number: u32, end: Option<u64>) {
        if self.given.end(number) {
            self.events.push_back(SenderEvent::LastByte { frame: number, at: now, end });
        }
    }

    /// Of a message of the session there are no packets.
    fn note_stuffing(&mut self, bytes: DataSize, of: DataSize) {
        if of != DataSize::ZERO {
            self.events.push_back(SenderEvent::Stuffing { bytes, of });
        }
    }
}
