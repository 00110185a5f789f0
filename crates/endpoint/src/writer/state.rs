//! What the writer's thread and those that offer frames share.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use framewire_sockets::Ready;
use framewire_transport::WriteProgress;
use framewire_transport::event::SenderEvent;
use framewire_transport::frame::OutgoingFrame;
use framewire_transport::live::{LostGroup, Placed, Resume};
use framewire_transport::queue::Discard;
use framewire_transport::socket::SocketError;
use framewire_units::Timestamp;

use super::Served;
use super::connection::Connection;
use super::drain::{Drain, Progress};
use super::tally::{Snapshot, Tally};

const NOT_CONNECTED: &str = "ifdsink: no connection";

/// How far the writer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The first connection does not stand yet.
    Opening,
    /// It stands.
    Connected,
    /// It broke, and is tried again.
    Reopening,
    /// Everything was written and the connection ended.
    Finished,
    /// It cannot go on.
    Failed,
}

/// Something that is reported to the application.
#[derive(Debug)]
pub enum Notice<P> {
    /// A frame was given up, and with it perhaps its group of pictures.
    Dropped(Discard<P>, Option<LostGroup>),
    /// The connection broke and is tried again.
    Reconnecting(String),
    /// It stands again: a key frame is needed for the stream to go on.
    WantsKeyFrame,
    /// The receiver took nothing at the end, and what was left was given up.
    Undelivered(String),
    /// The writer has failed.
    Failed(String),
}

/// What the thread waits for next, beside being woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Next {
    /// Room in the socket.
    pub room: bool,
    /// So much time.
    pub timeout: Option<Duration>,
}

/// Counts the beginnings and ends of interruptions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interruptions(pub u64);

/// All of it behind one lock, which is held for no longer than a write that does not wait.
pub(super) struct State<P> {
    pub phase: Phase,
    /// The application is being notified of a failure; then comes [`Phase::Failed`].
    pub failing: bool,
    /// Nothing more is wanted: the thread is to end.
    pub stopping: bool,
    /// Streaming threads are not to wait.
    pub interrupted: bool,
    pub interruptions: Interruptions,
    /// For the application, as soon as the state is let go of.
    pub notices: Vec<Notice<P>>,
    /// The thread is to be woken as soon as the state is let go of.
    pub wake_writer: bool,
    pub phase_changed: bool,
    connection: Option<Connection>,
    /// The socket is full, and the thread waits for room.
    blocked: bool,
    /// The next packet is not due yet, and the thread waits for its time.
    early: bool,
    broken: Option<SocketError>,
    end_signalled: bool,
    /// From when the end was signalled, with a connection.
    drain: Option<Drain>,
    drain_timeout: Option<Duration>,
    /// What comes after the last frame: headers without a picture.
    tail: Option<OutgoingFrame>,
    resume: Resume,
    tally: Tally<P>,
    connections: u64,
    wrote_frames: bool,
    origin: Instant,
}

impl<P: Placed> State<P> {
    pub(super) fn new(drain_timeout: Option<Duration>) -> Self {
        Self {
            phase: Phase::Opening,
            failing: false,
            stopping: false,
            interrupted: false,
            interruptions: Interruptions::default(),
            notices: vec![],
            wake_writer: false,
            phase_changed: false,
            connection: None,
            blocked: false,
            early: false,
            broken: None,
            end_signalled: false,
            drain: None,
            drain_timeout,
            tail: None,
            resume: Resume::default(),
            tally: Tally::default(),
            connections: 0,
            wrote_frames: false,
            origin: Instant::now(),
        }
    }

    /// Takes a frame and writes what the socket takes of it.
    pub(super) fn offer(&mut self, held: OutgoingFrame<P>, mut frame: OutgoingFrame) {
        let nothing_waits = self.connection.as_ref().is_none_or(|connection| connection.queue().is_empty());
        frame.duration = held.bytes.time_behind(nothing_waits, frame.duration);
        self.tally.enter(held);
        let refused = match self.connection {
            None => Some(NOT_CONNECTED),
            Some(_) => self.resume.refuses(&frame.dependencies),
        };
        if let Some(rule) = refused {
            return self.give_up(frame.id, rule);
        }
        let now = self.now();
        if let Some(connection) = &mut self.connection {
            connection.handle_frame(now, frame);
        }
        self.write_unless_blocked();
    }

    /// No more frames come. The tail is written when all of them are, so that no rule can give it up.
    pub(super) fn end(&mut self, tail: Option<OutgoingFrame>) {
        self.end_signalled = true;
        self.tail = tail;
        self.write_unless_blocked();
        // The thread finds out that everything is written.
        self.wake_writer = true;
    }

    /// Gives up what waits, and forgets that the end was signalled. False when the stream has ended already.
    pub(super) fn flush(&mut self) -> bool {
        if self.phase == Phase::Finished || self.connection.as_ref().is_some_and(Connection::is_finished) {
            return false;
        }
        (self.end_signalled, self.tail, self.drain) = (false, None, None);
        let now = self.now();
        if let Some(connection) = &mut self.connection {
            connection.handle_flush(now);
        }
        self.drain_events();
        true
    }

    /// A connection stands.
    pub(super) fn connected(&mut self, connection: Connection) {
        if self.connections > 0 {
            self.resume = Resume::at_key_frame();
            self.notices.push(Notice::WantsKeyFrame);
        }
        self.connections += 1;
        self.connection = Some(connection);
        self.wrote_frames = false;
        self.set_phase(Phase::Connected);
    }

    /// A descriptor of the connection's socket to wait for.
    pub(super) fn socket(&self) -> Result<OwnedFd, String> {
        let connection = self.connection.as_ref().ok_or("not connected")?;
        connection.as_fd().try_clone_to_owned().map_err(|error| error.to_string())
    }

    /// Looks after the connection when the socket is `ready`: what to wait for next, or why it is over. Clears `reads`
    /// when there is nothing more to read.
    pub(super) fn progress(&mut self, ready: Ready, reads: &mut bool) -> Result<Next, Served> {
        if self.stopping {
            return Err(Served::Over);
        }
        self.blocked &= !ready.write;
        self.early = false;
        self.write_unless_blocked();
        // This is the thread that would be woken.
        self.wake_writer = false;
        if let Some(connection) = &mut self.connection {
            if ready.read {
                match connection.discard_input() {
                    Ok(more) => *reads = more,
                    Err(error) => self.broken = self.broken.take().or(Some(error)),
                }
            }
            if ready.broken && self.broken.is_none() {
                self.broken = connection.check().err();
            }
            if connection.is_finished() {
                self.finish();
                return Err(Served::Over);
            }
        }
        if let Some(error) = self.broken.take() {
            return Err(Served::Broken(error.to_string()));
        }
        let drains_for = self.patience()?;
        let timeout = self.timeout().into_iter().chain(drains_for).min();
        Ok(Next { room: self.blocked, timeout })
    }

    /// At the end of the stream: how long to wait for a receiver that takes nothing. When that is over, what is left is
    /// given up, and the stream ends.
    fn patience(&mut self) -> Result<Option<Duration>, Served> {
        let (Some(limit), Some(connection), true) = (self.drain_timeout, &self.connection, self.end_signalled) else {
            return Ok(None);
        };
        let progress = Progress { sent: self.tally.counts.sent.frames, acknowledged: connection.acknowledged() };
        let drain = self.drain.get_or_insert_with(|| Drain::begin(limit, Instant::now(), progress));
        let left = drain.look(Instant::now(), progress);
        if left.is_some() {
            return Ok(left);
        }
        let (frames, in_kernel) = (self.tally.inside(), connection.undelivered());
        let text = format!(
            "the receiver has taken nothing for {limit:?} at the end of the stream: {} frames ({} bytes) are given up, \
             and {} bytes in the kernel may never arrive",
            frames.frames,
            frames.bytes,
            in_kernel.as_bytes()
        );
        self.take_down();
        Err(Served::Undelivered(text))
    }

    /// Gives up a broken connection; true when it had carried a frame.
    pub(super) fn take_down(&mut self) -> bool {
        let now = self.now();
        if self.connections > 0 {
            self.set_phase(Phase::Reopening);
        }
        if let Some(connection) = &mut self.connection {
            connection.handle_abort(now);
        }
        self.drain_events();
        self.connection = None;
        (self.blocked, self.early, self.broken) = (false, false, None);
        std::mem::take(&mut self.wrote_frames)
    }

    /// True when there is nothing left to connect for: the end was signalled, and what was to be written is given up.
    pub(super) fn is_ending(&self) -> bool {
        self.end_signalled && self.connections > 0
    }

    /// There is nothing more to write.
    pub(super) fn finish(&mut self) {
        self.set_phase(Phase::Finished);
    }

    /// The writer cannot go on.
    pub(super) fn fail(&mut self) {
        self.set_phase(Phase::Failed);
    }

    /// The element stops: what is left is given up.
    pub(super) fn abandon(&mut self) {
        let now = self.now();
        if let Some(connection) = &mut self.connection {
            connection.handle_abort(now);
        }
        self.drain_events();
        self.connection = None;
        // An element that stops has no one to notify.
        self.notices.clear();
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        let connection = self.connection.as_ref();
        Snapshot {
            counts: self.tally.counts.clone(),
            level: connection.map(|connection| connection.queue().level()).unwrap_or_default(),
            connections: self.connections,
            connected: self.phase == Phase::Connected,
            unsent: connection.and_then(Connection::kernel_queue),
            tcp: connection.and_then(Connection::tcp_info),
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_nanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// How long until the next packet is due; `None` when it is not its time that is waited for.
    fn timeout(&self) -> Option<Duration> {
        let due = self.connection.as_ref().filter(|_| self.early)?.next_timeout()?;
        Some(due.saturating_since(self.now()))
    }

    fn set_phase(&mut self, phase: Phase) {
        self.phase = phase;
        self.phase_changed = true;
    }

    /// Writes what the socket takes; the thread takes over when it takes no more.
    fn write_unless_blocked(&mut self) {
        let now = self.now();
        let Some(connection) = &mut self.connection else { return };
        while !self.blocked && !self.early && self.broken.is_none() {
            match connection.poll_write(now) {
                Ok(WriteProgress::Idle) if self.end_signalled && !connection.is_finished() => match self.tail.take() {
                    Some(tail) => connection.handle_frame(now, tail),
                    None => connection.handle_end(now),
                },
                Ok(WriteProgress::Idle) => break,
                Ok(WriteProgress::Blocked) => self.blocked = true,
                Ok(WriteProgress::Early) => self.early = true,
                Err(error) => self.broken = Some(error),
            }
            // The thread waits for room, or finds out that the connection is broken or finished.
            self.wake_writer = true;
        }
        self.drain_events();
    }

    fn drain_events(&mut self) {
        while let Some(event) = self.connection.as_mut().and_then(Connection::poll_event) {
            match event {
                SenderEvent::LastByte { frame, .. } => {
                    self.wrote_frames = true;
                    self.tally.sent(frame);
                }
                SenderEvent::Discarded { frame, rule, .. } => self.give_up(frame, rule),
                SenderEvent::Queued { .. }
                | SenderEvent::BeginsSequence { .. }
                | SenderEvent::Renumbered { .. }
                | SenderEvent::FirstByte { .. }
                | SenderEvent::Packet { .. }
                | SenderEvent::Stuffing { .. }
                | SenderEvent::Datagram { .. } => {}
            }
        }
    }

    fn give_up(&mut self, frame: u32, rule: &'static str) {
        if let Some((discard, mut lost)) = self.tally.dropped(frame, rule) {
            // Where no receiver could have it, no key frame is asked for: with the next connection one will be.
            if let Some(lost) = lost.as_mut().filter(|_| self.phase != Phase::Connected) {
                lost.needs_key_frame = false;
            }
            self.notices.push(Notice::Dropped(discard, lost));
        }
    }
}
