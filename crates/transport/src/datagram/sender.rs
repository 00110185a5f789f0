//! The sending half over datagrams.

use std::collections::VecDeque;

use framewire_units::{Duration, Timestamp, keywords};
use framewire_wire::rtp_payload::Datagram;

use super::spread::{Schedule, Spread};
use crate::event::{SenderEvent, SenderPlace};
use crate::frame::OutgoingFrame;
use crate::packets::Packetizer;
use crate::progress::WriteProgress;
use crate::queue::FrameQueue;
use crate::rules;
use crate::socket::{DatagramSend, DatagramSocket, SocketError};
use crate::sound::{OutgoingSound, SoundQueue};

const SEND_BUFFER_FULL: &str = "udp: send buffer full";
const DEVICE_QUEUE_FULL: &str = "udp: device queue full";
const REST_KEPT_BACK: &str = "udp-whole: a packet did not fit, rest of the frame kept back";

keywords! {
    /// What a sending half does with a datagram for which the send buffer has no room.
    Overflow {
        /// Waits for room and sends the same datagram again.
        Wait = "wait",
        /// Loses this datagram and goes on with the next.
        Drop = "drop",
        /// Loses this datagram and keeps back the rest of its frame, which no receiver could use.
        DropRestOfFrame = "drop-rest-of-frame",
    }
}

/// Sends frames as packets over a [`DatagramSocket`].
///
/// Contract: as of [`StreamSender`](crate::StreamSender); there is no stream to end, so nothing is signalled to the
/// socket. Every frame given ends in one `LastByte` event (all its datagrams entered the socket) or one `Discarded`
/// (at least one did not). A datagram that was not sent has its number all the same, so that the receiver
/// sees the gap.
///
/// A datagram that the socket reports as dropped in the device queue (ENOBUFS) is gone under every rule: the socket
/// had room, so there is nothing to wait for.
///
/// Sound goes before every frame that waits, and after the one that is being sent.
#[derive(Debug)]
pub struct DatagramSender {
    queue: FrameQueue,
    sound: SoundQueue,
    packetizer: Packetizer,
    overflow: Overflow,
    schedule: Schedule,
    sending: Option<Sending>,
    ended: bool,
    events: VecDeque<SenderEvent>,
}

/// The send buffer S: the frame that is being sent, as datagrams.
#[derive(Debug)]
struct Sending {
    frame: u32,
    datagrams: VecDeque<Datagram>,
    /// At least one datagram entered the socket.
    begun: bool,
    /// At least one did not, and the frame was reported as given up.
    doomed: bool,
}

impl DatagramSender {
    /// A sending half whose packets leave as soon as the socket takes them.
    pub fn new(queue: FrameQueue, packetizer: impl Into<Packetizer>, overflow: Overflow) -> Self {
        let packetizer = packetizer.into();
        let schedule = Schedule::new(Spread::AtOnce);
        let (sound, events) = (SoundQueue::new(), VecDeque::new());
        Self { queue, sound, packetizer, overflow, schedule, sending: None, ended: false, events }
    }

    /// The same with its packets spread in time.
    pub fn with_spread(self, spread: Spread) -> Self {
        Self { schedule: Schedule::new(spread), ..self }
    }

    /// The decision queue, for what waits in it.
    pub fn queue(&self) -> &FrameQueue {
        &self.queue
    }

    /// True when the frame clock may give it a frame now.
    pub fn wants_frame(&self) -> bool {
        let writer_ready = self.sending.is_none() || self.queue.accepts_while_writing();
        !self.ended && writer_ready && self.queue.wants_frame()
    }

    /// Takes a frame.
    pub fn handle_frame(&mut self, now: Timestamp, frame: OutgoingFrame) {
        self.queue.handle_frame(now, frame, self.ended, &mut self.events);
    }

    /// Takes a packet of sound, at any time before the end. Only a transport stream carries it.
    pub fn handle_sound(&mut self, now: Timestamp, sound: OutgoingSound) {
        self.events.push_back(SenderEvent::Queued { frame: sound.id, at: now });
        self.sound.push_back(sound);
    }

    /// No more frames come. The frame that was begun is still sent.
    pub fn handle_end(&mut self, _now: Timestamp) {
        self.ended = true;
    }

    /// Gives up everything that was not sent.
    pub fn handle_abort(&mut self, now: Timestamp) {
        self.ended = true;
        if let Some(mut sending) = self.sending.take() {
            self.give_up(now, &mut sending, SenderPlace::Pipeline, rules::STOPPED);
            self.keep_back_rest(now, &mut sending);
        }
        let sound = self.sound.drain(..).map(|sound| sound.id);
        for frame in sound.chain(std::iter::from_fn(|| self.queue.take().map(|frame| frame.id))) {
            let (place, rule) = (SenderPlace::Pipeline, rules::STOPPED);
            self.events.push_back(SenderEvent::Discarded { frame, at: now, place, rule });
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

    /// The sequence number of the next packet of RTP that is made; `None` where none is.
    pub fn next_number(&self) -> Option<u16> {
        self.packetizer.next_number()
    }

    /// Sends what the socket takes.
    ///
    /// # Errors
    /// When the socket is broken or the peer refused. The datagram is then still to be sent.
    pub fn poll_write(
        &mut self,
        now: Timestamp,
        socket: &mut dyn DatagramSocket,
    ) -> Result<WriteProgress, SocketError> {
        loop {
            let Some(mut sending) = self.sending.take().or_else(|| self.next_frame(now)) else {
                return Ok(WriteProgress::Idle);
            };
            let sent_all = self.send_frame(now, socket, &mut sending);
            if !matches!(sent_all, Ok(WriteProgress::Idle)) {
                self.sending = Some(sending);
                return sent_all;
            }
            if !sending.doomed {
                self.events.push_back(SenderEvent::LastByte { frame: sending.frame, at: now, end: None });
            }
        }
    }

    /// When to call [`poll_write`](Self::poll_write) again after it said [`Early`](WriteProgress::Early).
    pub fn next_timeout(&self) -> Option<Timestamp> {
        self.sending.as_ref().map(|_| self.schedule.due())
    }

    /// What happened, oldest first.
    pub fn poll_event(&mut self) -> Option<SenderEvent> {
        self.events.pop_front()
    }

    /// True when nothing is left to do: the end was signalled, and all that was accepted is sent or given up.
    pub fn is_finished(&self) -> bool {
        self.ended && self.sending.is_none() && self.queue.is_empty() && self.sound.is_empty()
    }

    /// Cuts what waits next into datagrams: sound, or else a frame. What cannot be cut is given up.
    fn next_frame(&mut self, now: Timestamp) -> Option<Sending> {
        loop {
            let (id, duration, cut) = match self.sound.pop_front() {
                Some(sound) => (sound.id, Duration::ZERO, self.packetizer.packetize_sound(&sound)),
                None => {
                    let frame = self.queue.take()?;
                    rules::note_change(&mut self.events, now, Some(&frame));
                    (frame.id, frame.duration, self.packetizer.packetize(&frame))
                }
            };
            match cut {
                Ok(datagrams) => {
                    self.schedule.begin(now, duration, datagrams.len());
                    let datagrams = VecDeque::from(datagrams);
                    return Some(Sending { frame: id, datagrams, begun: false, doomed: false });
                }
                Err(_) => {
                    let (place, rule) = (SenderPlace::Pipeline, rules::NOT_PACKETIZED);
                    self.events.push_back(SenderEvent::Discarded { frame: id, at: now, place, rule });
                }
            }
        }
    }

    /// Offers to the socket each datagram that is due; `Idle` when none is left.
    fn send_frame(
        &mut self,
        now: Timestamp,
        socket: &mut dyn DatagramSocket,
        sending: &mut Sending,
    ) -> Result<WriteProgress, SocketError> {
        while let Some(datagram) = sending.datagrams.front() {
            if !self.schedule.is_due(now) {
                return Ok(WriteProgress::Early);
            }
            let outcome = socket.send(&datagram.bytes)?;
            if outcome == DatagramSend::WouldBlock && self.overflow == Overflow::Wait {
                return Ok(WriteProgress::Blocked);
            }
            self.schedule.packet_left(now);
            self.settle_front(now, sending, outcome);
        }
        Ok(WriteProgress::Idle)
    }

    fn settle_front(&mut self, now: Timestamp, sending: &mut Sending, outcome: DatagramSend) {
        let sent = outcome == DatagramSend::Sent;
        if sent && !sending.begun {
            sending.begun = true;
            self.events.push_back(SenderEvent::FirstByte { frame: sending.frame, at: now });
        }
        self.pop_datagram(now, sending, sent);
        if sent {
            return;
        }
        let rule = match (self.overflow, outcome) {
            (Overflow::DropRestOfFrame, _) => REST_KEPT_BACK,
            (_, DatagramSend::Dropped) => DEVICE_QUEUE_FULL,
            _ => SEND_BUFFER_FULL,
        };
        self.give_up(now, sending, SenderPlace::Socket, rule);
        if self.overflow == Overflow::DropRestOfFrame {
            self.keep_back_rest(now, sending);
        }
    }

    fn pop_datagram(&mut self, at: Timestamp, sending: &mut Sending, sent: bool) {
        if let Some(datagram) = sending.datagrams.pop_front() {
            let (frame, size) = (Some(sending.frame), datagram.bytes.len() as u32);
            let Datagram { sequence, headers, .. } = datagram;
            self.events.push_back(SenderEvent::Datagram { frame, sequence, size, headers, at, sent });
        }
    }

    fn keep_back_rest(&mut self, now: Timestamp, sending: &mut Sending) {
        while !sending.datagrams.is_empty() {
            self.pop_datagram(now, sending, false);
        }
    }

    /// Reports the frame as given up, unless it was already.
    fn give_up(&mut self, at: Timestamp, sending: &mut Sending, place: SenderPlace, rule: &'static str) {
        if !sending.doomed {
            sending.doomed = true;
            self.events.push_back(SenderEvent::Discarded { frame: sending.frame, at, place, rule });
        }
    }
}
