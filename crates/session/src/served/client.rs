//! The connection of a client, in whatever protocol it asks.

use std::collections::VecDeque;

use framewire_transport::socket::SocketError;
use framewire_units::{Duration, Timestamp};
use framewire_wire::http::Answered;

use super::CONNECTION;
use super::body::{Body, Next};
use super::record::{Client, Ending, Ledger, Opening, Record};
use crate::exchange::Outgoing;
use crate::flow::FlowRecording;
use crate::half::{Arrival, Channel, ChannelId, ChannelKind, ChannelSet, Channels, End, Half, Wait};
use crate::rtcp::RtcpLog;
use crate::sender::{PacketSent, SenderSession};

/// What a client says and is answered in one protocol.
///
/// Contract: hand in what comes, then let it [serve](Self::serve), and write what [`poll_message`](Self::poll_message) gives, whole
/// messages between whole packets. When [`next_timeout`](Self::next_timeout) has come, call
/// [`handle_timeout`](Self::handle_timeout).
pub(super) trait Conversation: Send {
    /// The client says this. What makes no sense is answered, and ends the connection.
    fn handle_bytes(&mut self, now: Timestamp, bytes: &[u8]);

    /// Something came beside the connection.
    fn handle_datagram(&mut self, _now: Timestamp, _channel: ChannelId, _datagram: &[u8]) {}

    /// The client says nothing more.
    fn handle_close(&mut self);

    /// Does what is due.
    fn handle_timeout(&mut self, now: Timestamp);

    /// When it has something to do by itself.
    fn next_timeout(&self) -> Option<Timestamp>;

    /// Begins and ends what the client wants to be begun and ended.
    fn serve(&mut self, now: Timestamp, stage: &mut Stage);

    /// The next message that is to be written.
    fn poll_message(&mut self, now: Timestamp) -> Option<Vec<u8>>;

    /// Sends in datagrams what is due beside the movie.
    ///
    /// # Errors
    /// When a channel is broken.
    fn report(&mut self, _now: Timestamp, _channels: &mut dyn Channels) -> Result<(), SocketError> {
        Ok(())
    }

    /// Channels beside the connection that are to be opened.
    fn poll_opening(&mut self) -> Option<Opening> {
        None
    }

    /// They are open, at these ports of this host; or they cannot be.
    fn handle_opened(&mut self, _now: Timestamp, _ports: Option<(u16, u16)>) {}

    /// Packets of RTP were written.
    fn handle_packets(&mut self, _now: Timestamp, _packets: &[PacketSent]) {}

    /// All of what was begun is written.
    fn handle_written(&mut self, now: Timestamp);

    /// Reports go beside the movie that was begun.
    fn has_reports(&self) -> bool {
        false
    }

    /// What was said by them, where that is kept, once nothing more is said.
    fn take_reports(&mut self) -> Vec<RtcpLog> {
        Vec::new()
    }

    /// True once the client has asked for something, and was not refused.
    fn was_asked(&self) -> bool;

    /// True when nothing more is to be said: what is left is to be written, and the connection to be closed.
    fn is_over(&self, now: Timestamp) -> bool;
}

/// What a client is being written, and what is known of what it was.
#[derive(Default)]
pub(super) struct Stage {
    /// What goes before anything else.
    outgoing: Outgoing,
    playing: Option<(Body, Record)>,
    records: VecDeque<Record>,
    /// Where ledgers are kept, if there is room for one more.
    recording: Option<FlowRecording>,
    /// Bytes of the connection before the body, of which a ledger is kept.
    before: Option<u64>,
    has_ledger: bool,
    ledgers: VecDeque<Ledger>,
    late: Vec<Duration>,
    written: u64,
}

impl Stage {
    /// Begins to write a body, of which this is known.
    pub(super) fn begin(&mut self, record: Record, mut body: Body) {
        let is_whole = record.bytes.as_ref().is_none_or(|bytes| bytes.start == 0);
        self.before = None;
        let ledger = match (&mut body, &self.recording) {
            (Body::Movie { session, .. }, recording) if is_whole && session.has_end() => {
                recording.iter().for_each(|recording| session.record_into(recording));
                Some(recording.is_some())
            }
            _ => None,
        };
        self.has_ledger = ledger == Some(true);
        self.playing = Some((body, Record { ledger, ..record }));
    }

    /// Notes a request behind whose answer nothing is written.
    pub(super) fn note_answer(&mut self, now: Timestamp, answered: &Answered) {
        self.records.push_back(Record::of_answer(now, answered));
    }

    /// Ends what is being written. What is said now goes behind the packet that was begun.
    pub(super) fn end(&mut self, now: Timestamp, ending: Ending) -> Vec<PacketSent> {
        let packets = self.note();
        if let Some((mut body, record)) = self.playing.take() {
            body.take_begun().into_iter().for_each(|rest| self.outgoing.push(rest.to_vec()));
            let record = Record { ended: now, ending, ..record };
            if let (Body::Movie { session, .. }, true) = (body, std::mem::take(&mut self.has_ledger)) {
                let before = self.before.unwrap_or(self.written);
                self.ledgers.push_back(Ledger::new(session.into_log(), record.clone(), before));
            }
            self.records.push_back(record);
        }
        packets
    }

    /// True while what happens to the frames of the movie is recorded.
    pub(super) fn has_ledger(&self) -> bool {
        self.has_ledger
    }

    /// The session of the movie that is being written.
    pub(super) fn session(&mut self) -> Option<&mut SenderSession> {
        match &mut self.playing {
            Some((Body::Movie { session, .. }, _)) => Some(session),
            _ => None,
        }
    }

    /// Writes a message of the protocol as soon as it can stand there.
    fn say(&mut self, message: Vec<u8>) {
        let rest = match &mut self.playing {
            Some((body, _)) => body.handle_message(message),
            None => Some(message),
        };
        rest.into_iter().for_each(|message| self.outgoing.push(message));
    }

    /// Notes what became of the frames that were written meanwhile; the packets in which they went.
    fn note(&mut self) -> Vec<PacketSent> {
        let Some((Body::Movie { session, .. }, record)) = &mut self.playing else { return Vec::new() };
        let (counts, late) = (session.counts(), session.take_lateness());
        record.frames = [counts.offered, counts.missing()];
        record.latest = record.latest.max(late.iter().max().copied());
        self.late.extend(late);
        session.take_packets()
    }

    /// Writes the messages that stand before the body; false where something of them is left.
    fn write_messages(&mut self, channels: &mut dyn Channels) -> Result<bool, SocketError> {
        let written = &mut self.written;
        self.outgoing.write_to(|bytes| {
            let taken = channels.write(CONNECTION, bytes)?;
            *written += taken as u64;
            Ok(taken)
        })
    }

    /// Writes of the body what is due and taken; `None` where there is none.
    fn write_body(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Option<Result<Next, SocketError>> {
        let (body, record) = self.playing.as_mut()?;
        self.before.get_or_insert(self.written);
        let before = record.sent;
        let next = body.drive(now, channels, &mut record.sent);
        self.written += record.sent - before;
        Some(next)
    }
}

/// A connection of a client, which asks in a protocol.
pub(super) struct Connection<C> {
    conversation: C,
    stage: Stage,
    /// The stream was ended.
    finished: bool,
}

impl<C: Conversation> Connection<C> {
    /// A connection on which nothing was said yet.
    pub(super) fn new(conversation: C) -> Self {
        Self { conversation, stage: Stage::default(), finished: false }
    }

    fn serve(&mut self, now: Timestamp) {
        self.conversation.serve(now, &mut self.stage);
        while let Some(message) = self.conversation.poll_message(now) {
            self.stage.say(message);
        }
    }

    /// Writes what there is; what it then waits for.
    fn write(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        loop {
            self.serve(now);
            self.conversation.report(now, channels)?;
            let own = self.conversation.next_timeout();
            if !self.stage.write_messages(channels)? {
                return Ok(Wait { room: ChannelSet::of(CONNECTION), timeout: own, finished: false });
            }
            let Some(next) = self.stage.write_body(now, channels) else { break };
            let packets = self.stage.note();
            self.conversation.handle_packets(now, &packets);
            match next? {
                Next::Room(room) => {
                    return Ok(Wait { room, timeout: own, finished: false });
                }
                Next::Turn => return Ok(Wait { timeout: Some(now), ..Wait::default() }),
                Next::Time(timeout) => {
                    let timeout = timeout.into_iter().chain(self.conversation.next_timeout()).min();
                    return Ok(Wait { timeout, ..Wait::default() });
                }
                Next::Complete => {
                    self.stage.end(now, Ending::Complete);
                    self.conversation.handle_written(now);
                }
            }
        }
        if self.conversation.is_over(now) && !self.finished {
            self.finished = true;
            channels.finish(CONNECTION)?;
        }
        Ok(Wait { timeout: self.conversation.next_timeout(), room: ChannelSet::NONE, finished: self.finished })
    }
}

impl<C: Conversation> Half for Connection<C> {
    fn channels(&self) -> Vec<Channel> {
        vec![Channel { id: CONNECTION, kind: ChannelKind::Stream(End::Receiver) }]
    }

    fn handle_arrival(&mut self, now: Timestamp, channel: ChannelId, arrival: Arrival<'_>) {
        match arrival {
            Arrival::Bytes(bytes) => self.conversation.handle_bytes(now, bytes),
            Arrival::Ended => self.conversation.handle_close(),
            Arrival::Datagram(datagram) => self.conversation.handle_datagram(now, channel, datagram),
            Arrival::Opened => {}
        }
        self.serve(now);
    }

    fn drive(&mut self, now: Timestamp, channels: &mut dyn Channels) -> Result<Wait, SocketError> {
        if self.finished {
            return Ok(Wait { finished: true, ..Wait::default() });
        }
        self.conversation.handle_timeout(now);
        self.write(now, channels)
    }

    fn stop(&mut self, now: Timestamp) {
        self.stage.end(now, Ending::Stopped);
        self.conversation.handle_close();
        self.conversation.serve(now, &mut self.stage);
        self.finished = true;
    }
}

impl<C: Conversation> Client for Connection<C> {
    fn has_asked(&self) -> bool {
        self.conversation.was_asked()
    }

    fn poll_opening(&mut self) -> Option<Opening> {
        self.conversation.poll_opening()
    }

    fn handle_opened(&mut self, now: Timestamp, ports: Option<(u16, u16)>) {
        self.conversation.handle_opened(now, ports);
        self.serve(now);
    }

    fn poll_record(&mut self) -> Option<Record> {
        self.stage.records.pop_front()
    }

    fn set_recording(&mut self, recording: Option<FlowRecording>) {
        self.stage.recording = recording;
    }

    fn has_ledger(&self) -> bool {
        self.stage.has_ledger || !self.stage.ledgers.is_empty()
    }

    fn poll_ledger(&mut self) -> Option<Ledger> {
        // Reports go on behind the movie.
        if self.conversation.has_reports() && !self.finished {
            return None;
        }
        let ledger = self.stage.ledgers.pop_front()?;
        Some(ledger.with_reports(&self.conversation.take_reports()))
    }

    fn take_lateness(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.stage.late)
    }

    fn written(&self) -> u64 {
        self.stage.written
    }

    fn handle_failure(&mut self, now: Timestamp, reason: &str) {
        self.stage.end(now, Ending::Broken(reason.to_owned()));
        self.finished = true;
    }
}
