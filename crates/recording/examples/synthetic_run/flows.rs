//! Seven caricatures of transports.

use framewire_recording::record::{
    DatagramReceived, DatagramSent, FlowLog, FlowSample, FrameEvent, FrameEventKind, FrameFacts, LossPlace, StreamRead,
};
use framewire_units::{Bitrate, Duration, Timestamp};

use crate::channel::Channel;

/// Payload of a datagram: RTP and payload-format headers, and the bytes of the frame.
const HEADERS: u32 = 16;
const DATAGRAM: u32 = 724;
const SEGMENT: u32 = 1448;
/// Time that the packets of a full send buffer need.
const BUFFER: Duration = Duration::from_millis(120);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);

/// A transport.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    UdpBlocking,
    Udp,
    UdpWhole,
    UdpIfd,
    Tcp,
    TcpIfd,
    TcpIfdOptimised,
}

impl Kind {
    pub const ALL: [Self; 7] =
        [Self::UdpBlocking, Self::Udp, Self::UdpWhole, Self::UdpIfd, Self::Tcp, Self::TcpIfd, Self::TcpIfdOptimised];

    pub fn name(self) -> &'static str {
        match self {
            Self::UdpBlocking => "udp-blocking",
            Self::Udp => "udp",
            Self::UdpWhole => "udp-whole",
            Self::UdpIfd => "udp+ifd",
            Self::Tcp => "tcp",
            Self::TcpIfd => "tcp+ifd",
            Self::TcpIfdOptimised => "tcp+ifd-optimised",
        }
    }

    fn stream(self) -> bool {
        matches!(self, Self::Tcp | Self::TcpIfd | Self::TcpIfdOptimised)
    }

    fn drops_frames(self) -> bool {
        matches!(self, Self::UdpIfd | Self::TcpIfd | Self::TcpIfdOptimised)
    }

    fn overflows(self) -> bool {
        matches!(self, Self::Udp | Self::UdpWhole)
    }
}

struct Flow {
    kind: Kind,
    log: FlowLog,
    channel: Channel,
    sent_bytes: u64,
}

/// Streams the movie.
pub fn run(kind: Kind, movie: &[FrameFacts]) -> FlowLog {
    let log = FlowLog {
        flow: kind.name().to_owned(),
        transport: kind.name().to_owned(),
        frames: movie.to_vec().into(),
        ..FlowLog::default()
    };
    let mut flow = Flow { kind, log, channel: Channel::new(kind as u64), sent_bytes: 0 };
    let mut now = Timestamp::ZERO;
    for (frame, facts) in (0u32..).zip(movie) {
        now = now.max(facts.due);
        flow.event(frame, now, FrameEventKind::Offered);
        if kind.drops_frames() && flow.gives_up(facts, now) {
            let rule = format!("ifd: {} while a frame waits", facts.kind);
            flow.event(frame, now, FrameEventKind::Discarded { place: LossPlace::SenderPipeline, rule });
            continue;
        }
        flow.event(frame, now, FrameEventKind::Queued);
        now = if kind.stream() { flow.write(frame, facts, now) } else { flow.datagrams(frame, facts, now) };
    }
    flow.sample();
    flow.log.packets = std::mem::take(&mut flow.channel.packets).into();
    flow.log.releases = std::mem::take(&mut flow.channel.releases).into();
    flow.log
}

impl Flow {
    fn event(&mut self, frame: u32, at: Timestamp, what: FrameEventKind) {
        self.log.frame_events.push(FrameEvent { frame, at, what });
    }

    /// The more a frame is worth, the longer the queue that it is still put into.
    fn gives_up(&self, facts: &FrameFacts, now: Timestamp) -> bool {
        let patience = match facts.kind {
            'B' => 45,
            'P' => 140,
            _ => 400,
        };
        self.channel.backlog(now) > Duration::from_millis(patience)
    }

    /// Writes a frame into the stream, as the send buffer admits, and returns when that was done.
    fn write(&mut self, frame: u32, facts: &FrameFacts, mut now: Timestamp) -> Timestamp {
        self.event(frame, now, FrameEventKind::FirstByte);
        let mut left = facts.size;
        while left > 0 {
            let segment = left.min(SEGMENT);
            now = now.max(self.channel.free_at - BUFFER);
            // A segment that is lost is sent again until it arrives.
            let at = loop {
                if let Some(at) = self.channel.send(now, "tcp", self.sent_bytes, segment) {
                    break at;
                }
            };
            self.sent_bytes += u64::from(segment);
            self.log.stream_reads.push(StreamRead { total: self.sent_bytes, at });
            left -= segment;
        }
        self.event(frame, now, FrameEventKind::LastByte);
        now
    }

    /// Sends a frame in datagrams, and returns when that was done.
    fn datagrams(&mut self, frame: u32, facts: &FrameFacts, mut now: Timestamp) -> Timestamp {
        self.event(frame, now, FrameEventKind::FirstByte);
        let (mut left, mut gave_up, mut whole) = (facts.size, false, true);
        while left > 0 {
            let size = left.min(DATAGRAM) + HEADERS;
            let sequence = self.log.datagrams_sent.len() as u64;
            if !self.kind.overflows() {
                now = now.max(self.channel.free_at - BUFFER);
            }
            let full = self.channel.backlog(now) > BUFFER;
            let sent = !full && !gave_up;
            self.log.datagrams_sent.push(DatagramSent {
                sequence,
                frame: Some(frame),
                part: None,
                size,
                headers: HEADERS as u16,
                at: now,
                sent,
            });
            if sent && let Some(at) = self.channel.send(now, "udp", sequence, size) {
                self.log.datagrams_received.push(DatagramReceived { sequence, size, at, kept: true });
            }
            if !sent && whole {
                let rule = "send buffer full".to_owned();
                self.event(frame, now, FrameEventKind::Discarded { place: LossPlace::SenderSocket, rule });
                whole = false;
                if self.kind == Kind::UdpWhole {
                    let rule = "whole: a packet of the frame did not fit".to_owned();
                    self.event(frame, now, FrameEventKind::Discarded { place: LossPlace::SenderPipeline, rule });
                    gave_up = true;
                }
            }
            left -= left.min(DATAGRAM);
            now += Duration::from_micros(200);
        }
        if whole {
            self.event(frame, now, FrameEventKind::LastByte);
        }
        now
    }

    fn sample(&mut self) {
        let mut at = Timestamp::ZERO;
        while at < self.channel.free_at {
            let tcp = self.kind.stream();
            let swing = (at.as_nanos() / 1_000_000_000 % 8) as u32;
            self.log.samples.push(FlowSample {
                at,
                cwnd_packets: tcp.then_some(20 + 4 * swing),
                ssthresh_packets: tcp.then_some(20),
                srtt: tcp.then(|| Duration::from_millis(30 + u64::from(5 * swing))),
                rttvar: tcp.then(|| Duration::from_millis(4)),
                in_flight_packets: tcp.then_some(18 + 4 * swing),
                unsent_bytes: tcp.then_some(8_000),
                queued_bytes: Some(40_000 + 4_000 * u64::from(swing)),
                delivery_rate: tcp.then(|| Bitrate::from_kbps(5_100)),
                retransmissions: tcp.then_some((at.as_nanos() / 10_000_000_000) as u32),
                timeouts: tcp.then_some((at.as_nanos() / 40_000_000_000) as u32),
                ..FlowSample::default()
            });
            at += SAMPLE_INTERVAL;
        }
    }
}
