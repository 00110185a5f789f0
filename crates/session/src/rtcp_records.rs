//! What the ends of a flow reported to each other, joined with what both of them recorded.

use framewire_recording::record::{FIRST_OF_SOUND, RtcpRecord};
use framewire_units::{Duration, Timestamp};
use framewire_wire::rtcp::{Compound, NtpTime, ReportBlock};

use crate::receiver::ReceiverLog;
use crate::rtcp::RtcpLog;
use crate::sender::SenderLog;

/// The largest value of the field of the fraction lost, and one (RFC 3550, section 6.4.1).
const FRACTIONS: f64 = 256.0;

/// A datagram of one end, read, with its arrival at the other.
struct Report {
    sent: Timestamp,
    arrived: Option<Timestamp>,
    size: u32,
    compound: Compound,
}

/// The reports of both ends, in the order in which they were sent; none of a flow without RTCP.
pub fn rtcp_records(sent: &SenderLog, received: &ReceiverLog) -> Vec<RtcpRecord> {
    let of_both = sent.rtcp.iter().zip(&received.rtcp);
    let mut records: Vec<RtcpRecord> =
        of_both.flat_map(|(sender, receiver)| records_of(sender, receiver, received)).collect();
    records.sort_by_key(|record| record.sent);
    records
}

/// What the sender alone knows of them: what it sent, and what came, in this order of time.
pub fn rtcp_records_of_sender(logs: &[RtcpLog]) -> Vec<RtcpRecord> {
    let mut records = Vec::new();
    for log in logs {
        let read = |(at, bytes): &(Timestamp, Vec<u8>)| {
            let (size, compound) = (bytes.len() as u32, Compound::parse(bytes).ok()?);
            Some(Report { sent: *at, arrived: Some(*at), size, compound })
        };
        let sent = log.sent.iter().filter_map(read);
        let sent = sent.map(|report| RtcpRecord { arrived: None, track: log.track, ..record(&report, true) });
        let came = log.received.iter().filter_map(read).map(|report| {
            let mut record = RtcpRecord { sent: None, track: log.track, ..record(&report, false) };
            let block = report.compound.reports.first().and_then(|report| report.blocks.first());
            block.into_iter().for_each(|block| say(&mut record, block, log));
            record
        });
        records.extend(sent.chain(came));
    }
    records.sort_by_key(|record| record.sent.or(record.arrived));
    records
}

/// Those about the packets of one track.
fn records_of(sender: &RtcpLog, receiver: &RtcpLog, received: &ReceiverLog) -> Vec<RtcpRecord> {
    let track = sender.track;
    let record = |report: &Report, from_sender| RtcpRecord { track, ..record(report, from_sender) };
    let of_sender = matched(&sender.sent, &receiver.received);
    let of_receiver = matched(&receiver.sent, &sender.received);
    let mut records: Vec<RtcpRecord> = of_sender.iter().map(|report| record(report, true)).collect();
    let mut truth = Truth::new(received, track);
    for report in &of_receiver {
        let mut record = record(report, false);
        if let Some(block) = report.compound.reports.first().and_then(|report| report.blocks.first()) {
            say(&mut record, block, sender);
            truth.say(&mut record);
            record.true_round_trip = true_round_trip(report, block, &of_sender);
        }
        records.push(record);
    }
    records
}

/// Each datagram that was sent, with the first arrival of the same bytes behind those before it. What is no RTCP is none.
fn matched(sent: &[(Timestamp, Vec<u8>)], received: &[(Timestamp, Vec<u8>)]) -> Vec<Report> {
    let mut left = received;
    let report = |(at, bytes): &(Timestamp, Vec<u8>)| {
        let place = left.iter().position(|(arrived, came)| came == bytes && arrived >= at);
        let arrived = place.map(|place| left[place].0);
        left = place.map_or(left, |place| &left[place + 1..]);
        let compound = Compound::parse(bytes).ok()?;
        Some(Report { sent: *at, arrived, size: bytes.len() as u32, compound })
    };
    sent.iter().filter_map(report).collect()
}

fn record(report: &Report, from_sender: bool) -> RtcpRecord {
    let info = report.compound.reports.first().and_then(|report| report.sender);
    RtcpRecord {
        from_sender,
        sent: Some(report.sent),
        arrived: report.arrived,
        size: report.size,
        bye: !report.compound.leaving.is_empty(),
        packets: info.map(|info| info.packets),
        octets: info.map(|info| info.octets),
        ..RtcpRecord::default()
    }
}

/// What the receiver says to the sender whose log this is, and what that takes from it.
fn say(record: &mut RtcpRecord, block: &ReportBlock, sender: &RtcpLog) {
    let nanos = u64::from(block.jitter) * 1_000_000_000 / u64::from(sender.clock_rate.max(1));
    record.fraction_lost = Some(f64::from(block.fraction_lost) / FRACTIONS);
    record.lost = Some(block.lost);
    record.highest_sequence = Some(counted(block.highest_sequence, sender.first_sequence));
    record.jitter = Some(Duration::from_nanos(nanos));
    record.round_trip = record.arrived.and_then(|at| block.round_trip(NtpTime::of(at)));
}

/// An extended sequence number (RFC 3550, appendix A.1), counted from the stream's first. A receiver counts turns from the first packet
/// that it heard: of one that heard none before the first turn, that is missing.
fn counted(highest: u32, first: u16) -> u32 {
    let first = u32::from(first);
    if highest < first { highest + (1 << 16) - first } else { highest - first }
}

/// What was so: the datagrams that had come, in order of arrival.
struct Truth<'a> {
    arrivals: std::iter::Peekable<Box<dyn Iterator<Item = (Timestamp, u64)> + 'a>>,
    came: u64,
    /// Numbers expected, and those that had come, at the report before.
    before: (u64, u64),
    /// Over a stream nothing is lost.
    is_stream: bool,
}

impl<'a> Truth<'a> {
    fn new(received: &'a ReceiverLog, track: u8) -> Self {
        let first = if track == 0 { 0 } else { FIRST_OF_SOUND };
        let of_track =
            received.datagrams.iter().filter(move |datagram| (datagram.sequence >= FIRST_OF_SOUND) == (track != 0));
        let arrivals = of_track.map(move |datagram| (datagram.at, datagram.sequence - first));
        let arrivals: Box<dyn Iterator<Item = (Timestamp, u64)> + 'a> = Box::new(arrivals);
        Self { arrivals: arrivals.peekable(), came: 0, before: (0, 0), is_stream: !received.reads.is_empty() }
    }

    /// Reports come in the order in which they were sent.
    fn say(&mut self, record: &mut RtcpRecord) {
        if self.is_stream {
            (record.true_lost, record.true_fraction_lost) = (Some(0), Some(0.0));
            return;
        }
        // The lab's streams end before 2^32.
        let expected = record.highest_sequence.map_or(0, |highest| u64::from(highest) + 1);
        while self.arrivals.next_if(|&(at, sequence)| Some(at) <= record.sent && sequence < expected).is_some() {
            self.came += 1;
        }
        let (expected_now, came_now) = (expected - self.before.0.min(expected), self.came - self.before.1);
        self.before = (expected, self.came);
        record.true_lost = Some(expected.saturating_sub(self.came));
        let lost_now = expected_now.saturating_sub(came_now);
        record.true_fraction_lost = (expected_now > 0).then(|| lost_now as f64 / expected_now as f64);
    }
}

/// How long the report of the sender that is answered and the answer were under way; `None` where either got lost, or nothing is
/// answered.
fn true_round_trip(answer: &Report, block: &ReportBlock, of_sender: &[Report]) -> Option<Duration> {
    let answered = of_sender.iter().find(|report| {
        let info = report.compound.reports.first().and_then(|report| report.sender);
        info.is_some_and(|info| info.ntp.middle() == block.last_report) && block.last_report != 0
    })?;
    let under_way = |report: &Report| Some(report.arrived?.saturating_since(report.sent));
    Some(under_way(answered)? + under_way(answer)?)
}
