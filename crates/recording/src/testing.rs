//! A laboratory for tests: a small movie, and flows into which faults are injected by hand.

use framewire_units::{Bitrate, Duration, Playout, Timestamp};

use crate::record::{
    DatagramReceived, DatagramSent, FlowLog, FrameEvent, FrameEventKind, FrameFacts, LossPlace, PacketRecord,
    StreamRead,
};

pub(crate) const INTERVAL: Duration = Duration::from_millis(40);
/// RTP header and MPEG-specific header (RFC 3550, 5.1; RFC 2250, 3.4).
pub(crate) const HEADERS: u32 = 16;
pub(crate) const PAYLOAD: u32 = 500;
pub(crate) const LIVE: Playout = Playout::live(Duration::from_secs(1));
pub(crate) const STALL: Playout = Playout::waiting(Duration::from_millis(100));

pub(crate) fn ms(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Frames of the given sizes in decode order `I P B B P B B ...`, with a new open group after every five anchors.
pub(crate) fn movie(sizes: &[u32]) -> Vec<FrameFacts> {
    let mut anchors: Vec<u32> = Vec::new();
    let mut movie = Vec::new();
    for (index, &size) in (0u32..).zip(sizes) {
        let b_number = if index == 0 { 0 } else { (index - 1) % 3 };
        let anchor = b_number == 0;
        let recent = |count: usize| anchors[anchors.len().saturating_sub(count)..].to_vec();
        let (kind, references) = match anchor {
            true if anchors.len().is_multiple_of(5) => ('I', vec![]),
            true => ('P', recent(1)),
            false => ('B', recent(2)),
        };
        if anchor {
            anchors.push(index);
        }
        let last_anchor = 3 * (anchors.len() as u32 - 1);
        let display_index = if anchor { last_anchor } else { last_anchor - 3 + b_number };
        movie.push(FrameFacts {
            track: 0,
            level: None,
            kind,
            size,
            gop: (anchors.len() as u32 - 1) / 5,
            display_index,
            due: Timestamp::ZERO + INTERVAL * index,
            display_time: INTERVAL * display_index,
            references,
            missing_reference: false,
            picture_order: None,
            recovers_from: None,
            group_time: (kind == 'I').then_some(INTERVAL * index),
        });
    }
    movie
}

/// What happens to one datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Injected {
    /// It arrives after this long.
    Arrives(Duration),
    /// The socket has no room for it.
    NoRoom,
    /// The link drops it at a place.
    Dropped(LossPlace, &'static str),
    /// It reaches the receiving host, where it is not read.
    Unread,
    /// The run ends while it is on its way between the hops.
    UnderWay,
}

/// A flow over datagrams, in the making.
pub(crate) struct DatagramFlow {
    pub(crate) log: FlowLog,
}

impl DatagramFlow {
    pub(crate) fn new(movie: Vec<FrameFacts>) -> Self {
        Self {
            log: FlowLog { flow: "udp".into(), transport: "udp".into(), frames: movie.into(), ..FlowLog::default() },
        }
    }

    pub(crate) fn event(&mut self, frame: u32, at: Timestamp, what: FrameEventKind) {
        self.log.frame_events.push(FrameEvent { frame, at, what });
    }

    pub(crate) fn discard(&mut self, frame: u32, place: LossPlace, rule: &str) {
        let at = self.log.frames[frame as usize].due;
        self.event(frame, at, FrameEventKind::Discarded { place, rule: rule.into() });
    }

    /// Datagrams that a frame is cut into.
    pub(crate) fn parts(&self, frame: u32) -> usize {
        self.log.frames[frame as usize].size.div_ceil(PAYLOAD) as usize
    }

    /// Sends a frame whole; datagrams beyond those of `faults` arrive after 5 ms.
    pub(crate) fn send(&mut self, frame: u32, faults: &[Injected]) {
        self.send_first(frame, faults, usize::MAX);
    }

    /// Sends no more than the first `limit` datagrams of a frame, and has no last byte then.
    pub(crate) fn send_first(&mut self, frame: u32, faults: &[Injected], limit: usize) {
        let (mut at, size) = (self.log.frames[frame as usize].due, self.log.frames[frame as usize].size);
        self.event(frame, at, FrameEventKind::Offered);
        self.event(frame, at, FrameEventKind::FirstByte);
        for part in 0..self.parts(frame).min(limit) {
            let fault = faults.get(part).copied().unwrap_or(Injected::Arrives(Duration::from_millis(5)));
            let payload = (size - part as u32 * PAYLOAD).min(PAYLOAD) + HEADERS;
            self.datagram(frame, payload, at, fault);
            at += Duration::from_micros(100);
        }
        if self.parts(frame) <= limit {
            self.event(frame, at, FrameEventKind::LastByte);
        }
    }

    fn datagram(&mut self, frame: u32, size: u32, at: Timestamp, fault: Injected) {
        let sequence = self.log.datagrams_sent.len() as u64;
        let sent = fault != Injected::NoRoom;
        self.log.datagrams_sent.push(DatagramSent {
            sequence,
            frame: Some(frame),
            part: None,
            size,
            headers: HEADERS as u16,
            at,
            sent,
        });
        match fault {
            Injected::Arrives(delay) => {
                let at = at + delay;
                self.hop(sequence, size, "sender-device", at, None);
                self.hop(sequence, size, "wire", at, None);
                self.log.datagrams_received.push(DatagramReceived { sequence, size, at, kept: true });
                self.log.datagrams_received.in_memory().sort_by_key(|datagram| datagram.at);
            }
            Injected::NoRoom => {}
            Injected::Dropped(LossPlace::IntermediateQueue, cause) => {
                self.hop(sequence, size, "sender-device", at, None);
                self.hop(sequence, size, "wire", at, Some((LossPlace::IntermediateQueue, cause)));
            }
            Injected::Dropped(place, cause) => self.hop(sequence, size, "sender-device", at, Some((place, cause))),
            Injected::Unread => {
                self.hop(sequence, size, "sender-device", at, None);
                self.hop(sequence, size, "wire", at, None);
            }
            Injected::UnderWay => self.hop(sequence, size, "sender-device", at, None),
        }
    }

    fn hop(
        &mut self,
        sequence: u64,
        size: u32,
        hop: &'static str,
        finished: Timestamp,
        dropped: Option<(LossPlace, &'static str)>,
    ) {
        self.log.packets.push(PacketRecord {
            packet: self.log.packets.len() as u64,
            forward: true,
            protocol: "udp",
            size: size + 28,
            sequence: Some(sequence),
            payload: size,
            hop,
            enqueued: finished,
            started: Some(finished),
            finished,
            transmissions: vec![Bitrate::from_mbps(11)],
            dropped,
            marked: false,
            clamped: false,
            sniffed: None,
        });
    }
}

/// A flow over a byte stream, in the making.
pub(crate) struct StreamFlow {
    pub(crate) log: FlowLog,
    pub(crate) written: u64,
}

impl StreamFlow {
    pub(crate) fn new(movie: Vec<FrameFacts>) -> Self {
        let log = FlowLog { flow: "tcp".into(), transport: "tcp".into(), frames: movie.into(), ..FlowLog::default() };
        Self { log, written: 0 }
    }

    pub(crate) fn event(&mut self, frame: u32, at: Timestamp, what: FrameEventKind) {
        self.log.frame_events.push(FrameEvent { frame, at, what });
    }

    /// Writes a frame whole at its due time.
    pub(crate) fn write(&mut self, frame: u32) {
        let at = self.start(frame);
        self.event(frame, at, FrameEventKind::LastByte);
        self.written += u64::from(self.log.frames[frame as usize].size);
    }

    /// Writes the first byte of a frame and never the last.
    pub(crate) fn start(&mut self, frame: u32) -> Timestamp {
        let at = self.log.frames[frame as usize].due;
        self.event(frame, at, FrameEventKind::Offered);
        self.event(frame, at, FrameEventKind::Queued);
        self.event(frame, at, FrameEventKind::FirstByte);
        at
    }

    pub(crate) fn discard(&mut self, frame: u32, place: LossPlace, rule: &str) {
        let at = self.log.frames[frame as usize].due;
        self.event(frame, at, FrameEventKind::Discarded { place, rule: rule.into() });
    }

    pub(crate) fn read(&mut self, total: u64, at: Timestamp) {
        self.log.stream_reads.push(StreamRead { total, at });
    }
}
