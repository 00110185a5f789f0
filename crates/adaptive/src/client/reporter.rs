use framewire_units::{DataSize, Timestamp};
use framewire_wire::tfrc::DataHeader;
use framewire_wire::vtp::{ControlPacket, Report, VideoHeader};

use super::settings::ReportKind;
use crate::tfrc::{DataPacket, Receiver};

/// Makes reports of what arrives.
#[derive(Clone, Debug)]
pub(super) struct Reporter {
    kind: Kind,
    /// Number of the next report.
    report: u32,
}

#[derive(Clone, Debug)]
enum Kind {
    Control(Interval),
    Tfrc(Box<Receiver>),
}

/// What arrived since the last control packet.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    size: DataSize,
    packets: u32,
    first_arrival: Option<Timestamp>,
}

impl Reporter {
    pub(super) fn new(kind: &ReportKind) -> Self {
        let kind = match kind {
            ReportKind::Control => Kind::Control(Interval::default()),
            ReportKind::Tfrc(settings) => Kind::Tfrc(Box::new(Receiver::new(*settings))),
        };
        Self { kind, report: 0 }
    }

    /// A video packet arrived. Writes the control packet that it asks for: the two simple operations of section 4.1.
    pub(super) fn handle_video(
        &mut self,
        now: Timestamp,
        header: &VideoHeader,
        buffer_free: Option<DataSize>,
        out: &mut Vec<u8>,
    ) {
        match &mut self.kind {
            Kind::Control(interval) => {
                interval.size += header.size;
                interval.packets = interval.packets.saturating_add(1);
                let first_arrival = *interval.first_arrival.get_or_insert(now);
                if header.ack_request {
                    let Interval { size, packets, .. } = std::mem::take(interval);
                    let control = ControlPacket {
                        session: header.session,
                        sequence: header.sequence,
                        sender_time: header.sender_time,
                        receiver_time: now,
                        size,
                        report: self.report,
                        first_arrival,
                        packets,
                        buffer_free,
                    };
                    self.report = self.report.wrapping_add(1);
                    control.emit(out);
                }
            }
            Kind::Tfrc(receiver) => {
                let round_trip = (!header.round_trip.is_zero()).then_some(header.round_trip);
                let data = DataHeader { sequence: header.sequence, sent: header.sender_time, round_trip };
                receiver
                    .handle_data(now, &DataPacket { header: data, size: header.size, congestion_experienced: false });
            }
        }
    }

    /// A report that is due without having been asked for.
    pub(super) fn poll(&mut self, now: Timestamp, session: u64, out: &mut Vec<u8>) {
        let Kind::Tfrc(receiver) = &mut self.kind else { return };
        if receiver.next_timeout().is_some_and(|due| due <= now) {
            receiver.handle_timeout(now);
        }
        if let Some(feedback) = receiver.poll_feedback(now) {
            Report { session, report: self.report, body: &feedback.emit() }.emit(out);
            self.report = self.report.wrapping_add(1);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Timestamp> {
        match &self.kind {
            Kind::Control(_) => None,
            Kind::Tfrc(receiver) => receiver.next_timeout(),
        }
    }
}
