//! What the sender records: what happened to frames, and the datagrams offered.

use framewire_media::picture_order::Renumbering;
use framewire_recording::record::{
    DatagramSent, FIRST_OF_SOUND, FrameEvent, FrameEventKind, FrameFacts, LossPlace, Stuffing,
};
use framewire_recording::spool::Spool;
use framewire_transport::DatagramSender;
use framewire_transport::event::{SenderEvent, SenderPlace};
use framewire_units::Timestamp;

use super::SenderSession;
use super::playback::PacketSent;
use crate::flow::FlowRecording;
use crate::rtcp::RtcpLog;

/// What the sender recorded.
#[derive(Clone, Debug, Default)]
pub struct SenderLog {
    /// What happened to frames, in order.
    pub frame_events: Spool<FrameEvent>,
    /// Datagrams offered to the socket, in order.
    pub datagrams: Spool<DatagramSent>,
    /// Where in the byte stream each frame ends that was written to its end, ascending; none on datagrams.
    pub frame_ends: Vec<u64>,
    /// The frames as they were sent, where only the sender knows: from which levels of a ladder. `None`: as planned, but
    /// for what is `renumbered`.
    pub frames: Option<Spool<FrameFacts>>,
    /// The frames of a movie whose numbers were changed before they were sent: by how much, and how many bytes they have
    /// then, where that is known; in decode order.
    pub renumbered: Spool<(u32, Renumbering, Option<u32>)>,
    /// When the receiver asked for the movie, from when on its frames are due; `None` where it need not.
    pub begun: Option<Timestamp>,
    /// How much of a transport stream of constant rate entered the socket; `None` of others.
    pub stuffing: Option<Stuffing>,
    /// What was said by RTCP, of each track that has packets of its own; none where the flow has none.
    pub rtcp: Vec<RtcpLog>,
}

impl SenderLog {
    /// An empty log.
    pub(crate) fn new(recording: &FlowRecording) -> Self {
        let frame_events = recording.list();
        Self { renumbered: frame_events.with([]), frame_events, datagrams: recording.list(), ..Self::default() }
    }
}

impl SenderSession {
    pub(super) fn drain_events(&mut self) {
        while let Some(event) = self.half.poll_event() {
            self.log_event(event);
        }
        while let Some(event) = self.sound.as_mut().and_then(DatagramSender::poll_event) {
            self.log_event(numbered_as_sound(event));
        }
    }

    fn log_event(&mut self, event: SenderEvent) {
        match event {
            SenderEvent::Renumbered { .. } | SenderEvent::Datagram { .. } if !self.is_recorded() => {}
            SenderEvent::Queued { frame, at } => self.record(frame, at, FrameEventKind::Queued),
            SenderEvent::FirstByte { frame, at } => self.record(frame, at, FrameEventKind::FirstByte),
            SenderEvent::BeginsSequence { frame, at } => self.record(frame, at, FrameEventKind::BeginsSequence),
            SenderEvent::Renumbered { frame, by, size, .. } => {
                self.log.renumbered.push((frame, by, Some(u32::try_from(size).unwrap_or(u32::MAX))));
            }
            SenderEvent::Packet { timestamp, octets, is_sound, .. } if self.playback.is_some() => {
                self.note_packet(PacketSent { timestamp, octets, is_sound });
            }
            SenderEvent::Packet { at, timestamp, octets, is_sound } => {
                if let Some(served) = &mut self.responses {
                    served.exchange().handle_packet_sent(at, PacketSent { timestamp, octets, is_sound });
                }
            }
            SenderEvent::LastByte { frame, at, end } => {
                self.log.frame_ends.extend(end.filter(|_| self.is_recorded()));
                self.record(frame, at, FrameEventKind::LastByte);
            }
            SenderEvent::Discarded { frame, at, place, rule } => {
                let (place, count) = match place {
                    SenderPlace::Pipeline => (LossPlace::SenderPipeline, &mut self.counts.given_up),
                    SenderPlace::Socket => (LossPlace::SenderSocket, &mut self.counts.lost),
                };
                *count += u32::from(frame < self.programme.len());
                self.record(frame, at, FrameEventKind::Discarded { place, rule: rule.to_owned() });
            }
            SenderEvent::Stuffing { bytes, of } => {
                let stuffing = self.log.stuffing.get_or_insert_default();
                stuffing.bytes += bytes.as_bytes();
                stuffing.of += of.as_bytes();
            }
            SenderEvent::Datagram { frame, sequence, size, headers, at, sent } => {
                self.log.datagrams.push(DatagramSent { sequence, frame, part: None, size, headers, at, sent });
            }
        }
    }

    pub(super) fn record(&mut self, frame: u32, at: Timestamp, what: FrameEventKind) {
        if self.is_recorded() {
            self.log.frame_events.push(FrameEvent { frame, at, what });
        }
    }
}

/// What happened to sound that has packets for itself, which are numbered by themselves.
fn numbered_as_sound(event: SenderEvent) -> SenderEvent {
    match event {
        SenderEvent::Datagram { frame, sequence, size, headers, at, sent } => {
            SenderEvent::Datagram { frame, sequence: FIRST_OF_SOUND + sequence, size, headers, at, sent }
        }
        other => other,
    }
}

/// The frames of a movie with the numbers that they were sent with: by how much they were changed, and the size that they
/// have then where it is known, in decode order.
pub fn as_sent(
    facts: impl Iterator<Item = FrameFacts>,
    renumbered: impl Iterator<Item = (u32, Renumbering, Option<u32>)>,
) -> impl Iterator<Item = FrameFacts> {
    let mut renumbered = renumbered.peekable();
    facts.zip(0..).map(move |(mut facts, number)| {
        if let Some((_, by, size)) = renumbered.next_if(|(frame, ..)| *frame == number) {
            facts.size = size.unwrap_or(facts.size);
            facts.picture_order = facts.picture_order.map(|order| order.renumbered(by));
        }
        facts
    })
}

#[cfg(test)]
mod tests {
    use framewire_media::Movie;
    use framewire_scenario::Scenario;

    use super::*;
    use crate::flow::FlowSetup;
    use crate::plan::SendingPlan;

    /// A sequence of MPEG-2, a group and three I pictures of one slice (ISO/IEC 13818-2, 6.2).
    fn movie() -> Movie {
        let mut bytes =
            vec![0, 0, 1, 0xb3, 0x16, 0x01, 0x20, 0x13, 0xff, 0xff, 0xe0, 0x18, 0, 0, 1, 0xb8, 0, 8, 0, 0x40];
        for reference in 0..3 {
            bytes.extend([0, 0, 1, 0, 0, reference << 6 | 0x0f, 0xff, 0xf8, 0, 0, 1, 1, 0x13, 0x80, 0x81]);
        }
        Movie::parse(bytes.into()).expect("a movie")
    }

    #[test]
    fn frames_end_where_their_last_byte_stands_in_the_stream() {
        for (transport, expected) in [("udp", [].as_slice()), ("tcp", &[100, 115])] {
            let scenario =
                Scenario::parse(&format!("[[flow]]\ntransport = \"{transport}\""), &[]).expect("well formed");
            let plan = SendingPlan::new(movie(), Timestamp::ZERO);
            let setup = FlowSetup::of_movie(&scenario.flows[0], plan, crate::RtpSeed::default());
            let mut session = match setup.expect("it sends the movie") {
                FlowSetup::Datagram(setup) => setup.sender(),
                FlowSetup::Stream(setup) => setup.sender(),
                other => panic!("{other:?}"),
            };
            let (at, by) = (Timestamp::ZERO, Renumbering { frame_num: 1, order: 2 });
            for frame in 0..2 {
                session.log_event(SenderEvent::Renumbered { frame, at, by, size: 100 + u64::from(frame) });
            }
            // The second was given up half-way.
            for (frame, end) in [(0, 100), (2, 115)] {
                let end = (transport == "tcp").then_some(end);
                session.log_event(SenderEvent::LastByte { frame, at, end });
            }
            let log = session.into_log();
            assert_eq!(log.renumbered.to_vec(), [(0, by, Some(100)), (1, by, Some(101))]);
            assert_eq!(log.frame_ends, expected, "{transport}");
        }
    }
}
