//! What is known of what a receiver was sent.

use std::ops::Range;

use framewire_recording::record::{DatagramSent, FrameEvent, RtcpRecord};
use framewire_units::{Duration, Timestamp};
use framewire_wire::http::{Answered, Asked, Status};

use crate::channels::ChannelSetup;
use crate::flow::FlowRecording;
use crate::half::Half;
use crate::rtcp::RtcpLog;
use crate::rtcp_records::rtcp_records_of_sender;
use crate::sender::SenderLog;

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All of it was written.
    Complete,
    /// The receiver went before that, or said that it wants no more.
    Left,
    /// It could not be sent to its end, for this reason.
    Broken(String),
    /// Nothing was sent: the request was refused.
    Refused(Status),
    /// The sender was stopped.
    Stopped,
}

/// What one request was answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The method; empty where no request could be read.
    pub method: String,
    /// What was asked for: a path; of a request that was refused, its target; empty where no request could be read.
    pub what: String,
    /// What the client calls itself, as far as it says.
    pub user_agent: Option<String>,
    /// Which bytes of it, where it is a file.
    pub bytes: Option<Range<u64>>,
    /// When it was asked for.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Timestamp,
    /// Bytes that were written of it.
    pub sent: u64,
    /// Frames that were offered, and that were given up.
    pub frames: [u32; 2],
    /// The most by which a frame was offered late; `None` where nothing has a time.
    pub latest: Option<Duration>,
    /// Whether a [`Ledger`] is kept, or there was no room for it; `None` of what has none: pages, files, parts that begin within a movie,
    /// and streams without an end.
    pub ledger: Option<bool>,
    /// True where packets of RTP went in datagrams beside the connection.
    pub in_datagrams: bool,
    /// How it ended.
    pub ending: Ending,
}

impl Record {
    /// Of what begins now, and was asked for so.
    pub(super) fn new(now: Timestamp, asked: Option<&Asked>, what: &str, bytes: Option<Range<u64>>) -> Self {
        let Asked { method, user_agent, .. } = asked.cloned().unwrap_or_default();
        Self {
            method,
            what: what.to_owned(),
            user_agent,
            bytes,
            began: now,
            ended: now,
            sent: 0,
            frames: [0; 2],
            latest: None,
            ledger: None,
            in_datagrams: false,
            ending: Ending::Complete,
        }
    }

    /// Of a request behind whose answer nothing is sent.
    pub(super) fn of_answer(now: Timestamp, answered: &Answered) -> Self {
        let asked = answered.asked.as_ref();
        let what = asked.map(|asked| asked.target.as_str()).unwrap_or_default();
        let is_refused = answered.status.0 >= 400;
        let ending = if is_refused { Ending::Refused(answered.status) } else { Ending::Complete };
        Self { ending, ..Self::new(now, asked, what, None) }
    }
}

/// What happened to the frames that a receiver was sent, as far as the sender knows.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// What it was sent, and how that ended.
    pub record: Record,
    /// What was recorded. Times count from when it was asked for, places in the stream from the first byte of the connection. It ends where the
    /// receiver has it stand still, or go to another place.
    pub sent: SenderLog,
    /// The reports of RTCP that were sent, and those that came, in the order in which they did, until the connection ended.
    pub reports: Vec<RtcpRecord>,
}

impl Ledger {
    /// Of what was recorded on the sender's clock, behind so many bytes of the connection.
    pub(super) fn new(mut sent: SenderLog, record: Record, before: u64) -> Self {
        let since = |at: Timestamp| Timestamp::ZERO + at.saturating_since(record.began);
        let events = sent.frame_events.iter().map(|event| event.into_owned());
        sent.frame_events = sent.frame_events.with(events.map(|event| FrameEvent { at: since(event.at), ..event }));
        let datagrams = sent.datagrams.iter().map(|one| one.into_owned());
        sent.datagrams = sent.datagrams.with(datagrams.map(|one| DatagramSent { at: since(one.at), ..one }));
        sent.frame_ends.iter_mut().for_each(|end| *end += before);
        Self { record, sent, reports: Vec::new() }
    }

    /// The same with what was said of its streams, on the sender's clock.
    pub(super) fn with_reports(self, logs: &[RtcpLog]) -> Self {
        let since = |at: Timestamp| Timestamp::ZERO + at.saturating_since(self.record.began);
        let mut reports = rtcp_records_of_sender(logs);
        for report in &mut reports {
            (report.sent, report.arrived) = (report.sent.map(since), report.arrived.map(since));
        }
        Self { reports, ..self }
    }
}

/// Channels beside the connection on which a client asks, which a world is to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Of packets, and of the reports about them: at two ports that follow each other, the first of which is even (RFC 3550,
    /// section 11).
    pub channels: [ChannelSetup; 2],
    /// Their ports at the client's host.
    pub client: (u16, u16),
}

/// A half for one of many receivers.
pub trait Client: Half + Send {
    /// True once it has asked for something: one that has not may have to make room for another.
    fn has_asked(&self) -> bool;

    /// Channels beside its connection that are to be opened; [`handle_opened`](Self::handle_opened) says whether they are.
    fn poll_opening(&mut self) -> Option<Opening>;

    /// They are open, at these ports of this host; or they cannot be.
    fn handle_opened(&mut self, now: Timestamp, ports: Option<(u16, u16)>);

    /// What it was sent, once that has ended.
    fn poll_record(&mut self) -> Option<Record>;

    /// Where what happens to frames is recorded, of what is asked for from now on from its beginning; `None`: nowhere.
    fn set_recording(&mut self, recording: Option<FlowRecording>);

    /// True while what happens to frames is recorded.
    fn has_ledger(&self) -> bool;

    /// What happened to the frames that it was sent, once that has ended.
    fn poll_ledger(&mut self) -> Option<Ledger>;

    /// By how much frames were offered late since it was asked last.
    fn take_lateness(&mut self) -> Vec<Duration>;

    /// Bytes that were written so far, of whatever.
    fn written(&self) -> u64;

    /// The connection broke, for this reason: it is over.
    fn handle_failure(&mut self, now: Timestamp, reason: &str);
}
