//! Where the frames of an external flow were in what its sender sent: the movie's elementary stream, searched for in
//! the packets that left the sender's device.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use framewire_emu::{LaneRecord, PacketLog, Protocol};
use framewire_link::Outcome;
use framewire_recording::record::LossPlace;
use framewire_session::{ContentMatcher, SendingPlan};
use framewire_transport::registry::payload_format;
use framewire_units::Timestamp;
use framewire_wire::rtp::RtpHeader;
use framewire_wire::rtp_payload::PayloadFormat;
use framewire_world::HopNames;

use super::captured::for_each_sent;
use crate::control::StopDeadline;

/// What became of the bytes of a frame that left the sender's device whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    /// All of them reached the receiver's host.
    Arrived,
    /// Some were lost: the first at this place, by this cause.
    Lost(LossPlace, &'static str),
    /// Some were still under way when the run ended.
    UnderWay,
}

/// The frames that left the sender's device whole, and what became of them.
pub type Trail = BTreeMap<u32, Crossing>;

/// Follows the frames through the packets of the flow on `port`; `None` where its packets do not carry the movie's
/// elementary stream as it is (a container, encryption), where not all of them are known, or where there is no time.
pub fn follow(
    lane: &LaneRecord,
    capture: &Path,
    port: u16,
    plan: &SendingPlan,
    stop_deadline: &StopDeadline,
) -> Option<Trail> {
    let connection = busiest_connection(lane, port, stop_deadline)?;
    let mut ways: Vec<Box<dyn Way>> = match connection {
        (_, Protocol::Tcp) => vec![Box::new(Segments::new(plan)?)],
        (_, Protocol::Udp) => vec![
            Box::new(Datagrams::new(plan, payload_format(plan.movie().index.sequence.codec))?),
            Box::new(Datagrams::new(plan, None)?),
        ],
        _ => return None,
    };
    let (ports, protocol) = connection;
    let complete = for_each_sent(lane, capture, stop_deadline, |packet, payload| {
        let headers = &packet.headers;
        if (headers.source_port, headers.destination_port) == ports && headers.protocol == protocol {
            ways.iter_mut().for_each(|way| way.take(packet, payload));
        }
    });
    let trails = ways.into_iter().filter_map(Way::finish);
    trails.max_by_key(Trail::len).filter(|trail| complete && !trail.is_empty())
}

/// The ports between which most payload went, and how; `None` where none did, or there is no time.
fn busiest_connection(lane: &LaneRecord, port: u16, stop_deadline: &StopDeadline) -> Option<((u16, u16), Protocol)> {
    const LOOK_EVERY: usize = 1_024;
    let mut payloads: BTreeMap<((u16, u16), Protocol), u64> = BTreeMap::new();
    let sent = lane.packets.iter().filter(|packet| packet.from == framewire_link::NodeId::SENDER);
    for (seen, packet) in sent.enumerate() {
        if seen % LOOK_EVERY == 0 && stop_deadline.is_over() {
            return None;
        }
        let headers = &packet.headers;
        if [headers.source_port, headers.destination_port].contains(&port) {
            let ports = (headers.source_port, headers.destination_port);
            *payloads.entry((ports, headers.protocol)).or_default() += u64::from(headers.payload);
        }
    }
    payloads.into_iter().max_by_key(|&(_, payload)| payload).map(|(connection, _)| connection)
}

/// A way in which packets may carry an elementary stream.
trait Way {
    /// Takes the next packet that left the sender's device.
    fn take(&mut self, packet: &PacketLog, payload: &[u8]);

    /// What became of the frames; `None` where packets are missing.
    fn finish(self: Box<Self>) -> Option<Trail>;
}

/// A byte stream in TCP segments. Where the matcher expects a time, it gets a place in the stream.
struct Segments {
    matcher: ContentMatcher,
    first: Option<u32>,
    /// Bytes of the stream that were sent at least once.
    sent: u64,
    /// Stretches of the stream that arrived, by their starts.
    arrived: BTreeMap<u64, u64>,
    torn: bool,
}

impl Segments {
    fn new(plan: &SendingPlan) -> Option<Self> {
        let matcher = plan.matcher()?;
        Some(Self { matcher, first: None, sent: 0, arrived: BTreeMap::new(), torn: false })
    }

    /// The place of a segment in the stream: sequence numbers wrap (RFC 9293, 3.4), and no segment is half of their
    /// space away from the newest one.
    fn place(&mut self, sequence: u32) -> Option<u64> {
        let relative = sequence.wrapping_sub(*self.first.get_or_insert(sequence));
        let ahead = relative.wrapping_sub(self.sent as u32) as i32;
        self.sent.checked_add_signed(i64::from(ahead))
    }
}

impl Way for Segments {
    fn take(&mut self, packet: &PacketLog, payload: &[u8]) {
        let Some(sequence) = packet.headers.tcp_sequence.filter(|_| !payload.is_empty()) else { return };
        // A probe of a closed window repeats the byte before the first.
        let Some(start) = self.place(sequence) else { return };
        let end = start + payload.len() as u64;
        self.torn |= start > self.sent;
        if end > self.sent && !self.torn {
            let new = &payload[(self.sent - start) as usize..];
            self.sent = end;
            self.matcher.handle_bytes(Timestamp::from_nanos(end), new);
        }
        if packet.delivered.is_some() {
            let known = self.arrived.entry(start).or_insert(end);
            *known = end.max(*known);
        }
    }

    fn finish(self: Box<Self>) -> Option<Trail> {
        let mut arrived = 0;
        for (&start, &end) in &self.arrived {
            if start > arrived {
                break;
            }
            arrived = arrived.max(end);
        }
        let crossing = |end: u64| if end <= arrived { Crossing::Arrived } else { Crossing::UnderWay };
        let frames = self.matcher.finish().frames;
        let whole = frames.iter().filter_map(|found| Some((found.frame, crossing(found.whole_at?.as_nanos()))));
        (!self.torn).then(|| whole.collect())
    }
}

/// Datagrams that each carry a piece of the stream. Where the matcher expects a time, it gets the number of the datagram.
struct Datagrams {
    matcher: ContentMatcher,
    /// The format of its RTP packets; `None` where a datagram is nothing but a piece of the stream.
    packets: Option<&'static PayloadFormat>,
    verdicts: Vec<Crossing>,
}

impl Datagrams {
    fn new(plan: &SendingPlan, packets: Option<&'static PayloadFormat>) -> Option<Self> {
        Some(Self { matcher: plan.matcher()?, packets, verdicts: Vec::new() })
    }

    /// The piece in a datagram; `None` where there is none.
    fn piece<'a>(&self, datagram: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        match self.packets {
            Some(format) => format.piece(RtpHeader::parse(datagram).ok()?.1),
            None => Some(datagram.into()),
        }
    }
}

impl Way for Datagrams {
    fn take(&mut self, packet: &PacketLog, payload: &[u8]) {
        if let Some(piece) = self.piece(payload) {
            self.matcher.handle_bytes(Timestamp::from_nanos(self.verdicts.len() as u64), &piece);
            self.verdicts.push(verdict(packet));
        }
    }

    /// A frame is in the datagrams from the one after that in which the frame before it ends: a packet of a payload
    /// format holds one frame only (RFC 2250, 3.1: a picture begins a packet; RFC 6184, 5.1, and RFC 7798, 4.1: a packet
    /// has one time stamp, that of its access unit).
    fn finish(self: Box<Self>) -> Option<Trail> {
        let mut next = 0;
        let mut trail = Trail::new();
        for found in self.matcher.finish().frames {
            let Some(last) = found.whole_at.map(|number| number.as_nanos() as usize) else { continue };
            let mine = &self.verdicts[next.min(last)..=last];
            let hurt = mine.iter().find(|&&verdict| verdict != Crossing::Arrived);
            trail.insert(found.frame, hurt.copied().unwrap_or(Crossing::Arrived));
            next = last + 1;
        }
        Some(trail)
    }
}

fn verdict(packet: &PacketLog) -> Crossing {
    let dropped = packet.hops.iter().find_map(|hop| match hop.outcome {
        Outcome::Delivered => None,
        Outcome::Dropped(cause) => Some(HopNames::default().place_and_cause(hop.hop, cause)),
    });
    match (dropped, packet.delivered) {
        (Some((place, cause)), _) => Crossing::Lost(place, cause),
        (None, Some(_)) => Crossing::Arrived,
        (None, None) => Crossing::UnderWay,
    }
}
