//! What a lane leaves behind: its packets and the proof of how accurate it was.

use framewire_units::{Duration, Timestamp};
use serde::Serialize;

use super::distribution::Distribution;
use super::log::PacketLogs;
use crate::capture::CaptureOutcome;
use crate::kernel::counters::DeviceCounters;
use crate::kernel::gate::GateMethod;
use crate::kernel::schedule::Scheduling;

/// A run whose release errors exceed this in one packet of a hundred was disturbed.
pub const TOLERATED_LATENESS: Duration = Duration::from_millis(1);

/// A single release may be this late: one frame at 25 Hz. A virtual machine that is paused cannot do better.
const WORST_TOLERATED: Duration = Duration::from_millis(40);

/// One arrival in so many may be moved to the model's present.
const CLAMPED_ONE_IN: u64 = 1_000;

/// Everything that a lane recorded.
#[derive(Clone, Debug)]
pub struct LaneRecord {
    /// The lane's name.
    pub name: String,
    /// Every packet, by its number.
    pub packets: PacketLogs,
    /// How punctual the lane was and what was lost outside the model.
    pub accuracy: Accuracy,
    /// What the kernel counted, beside what the lane saw.
    pub evidence: Evidence,
    /// How the capture went, if there was one.
    pub capture: Option<CaptureOutcome>,
}

/// One direction of the network: what the model asked for and what the emulator did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fidelity {
    /// From the moment when a packet came into the network to the moment when the model lets it out.
    pub delay_requested: Distribution,
    /// The same to the moment when it came out.
    pub delay_achieved: Distribution,
    /// IP bits per second from the first to the last delivery, by the model; `None` with fewer than two.
    pub rate_requested_bps: Option<u64>,
    /// The same as it happened.
    pub rate_achieved_bps: Option<u64>,
}

/// The proof of accuracy of a lane.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// Actual less intended time of every delivery.
    pub release_error: Distribution,
    /// Deliveries that were more than [`TOLERATED_LATENESS`] late.
    pub late: u64,
    /// When the latest delivery was due; `None` without deliveries.
    #[serde(skip)]
    pub worst_at: Option<Timestamp>,
    /// The same for packets leaving the sender's device; empty with a remote bottleneck.
    pub device_release_error: Distribution,
    /// From sender to receiver.
    pub forward: Fidelity,
    /// From receiver to sender.
    pub backward: Fidelity,
    /// Hop records whose arrival was seen too late and moved to the model's present.
    pub clamped: u64,
    /// Packets lost outside the model, for any reason; 0 is required.
    pub lost_outside_model: u64,
    /// Scheduling class of the pump threads.
    pub scheduling: Scheduling,
    /// Number of pump threads.
    pub pump_threads: usize,
    /// Why this lane's results are to be doubted; `None` when they are not.
    pub disturbed: Option<String>,
}

/// What the kernel counted, beside what the lane saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Device of the sender's host.
    pub sender_device: DeviceCounters,
    /// Device of the receiver's host.
    pub receiver_device: DeviceCounters,
    /// The hub's end of the sender's wire.
    pub sender_plug: DeviceCounters,
    /// The hub's end of the receiver's wire.
    pub receiver_plug: DeviceCounters,
    /// Packets that came into the network from the sender.
    pub forward_seen: u64,
    /// Packets that came into the network from the receiver.
    pub backward_seen: u64,
    /// Packets written to the receiver.
    pub forward_delivered: u64,
    /// Packets written to the sender.
    pub backward_delivered: u64,
    /// Packets that came in after the pump had ended.
    pub unread: u64,
    /// Frames that found no room in a packet socket.
    pub ring_drops: u64,
    /// Packets that the kernel dropped before they could be read from the sender's packet queue.
    pub packet_queue_drops: u64,
    /// Frames that a device refused to send.
    pub refused: u64,
    /// Datagrams larger than the MTU, which a local bottleneck does not carry.
    pub oversized: u64,
    /// Verdicts that the kernel did not take.
    pub verdict_errors: u64,
    /// Packets that were given up because a million were under way.
    pub overflowed: u64,
    /// Packets that the log had no room for.
    pub not_logged: u64,
    /// Datagrams that a socket of the sender's host had no room for: the application's doing, not the lane's.
    pub sender_receive_overflows: u64,
    /// The same at the receiver's host.
    pub receiver_receive_overflows: u64,
    /// How packets are held in the sender's device; `None` with a remote bottleneck.
    pub gate: Option<GateMethod>,
}

impl Evidence {
    /// Packets lost outside the model.
    pub(crate) fn lost_outside_model(&self) -> u64 {
        let devices = [self.sender_device, self.receiver_device, self.sender_plug, self.receiver_plug];
        let in_devices: u64 = devices.iter().map(|device| device.lost).sum();
        let in_queues = self.ring_drops + self.packet_queue_drops;
        in_devices + in_queues + self.refused + self.oversized + self.overflowed + self.verdict_errors
    }

    /// Says which packets the devices and the lane do not agree on; `None` when every packet crossed the link.
    pub fn disagreement(&self) -> Option<String> {
        // With a local bottleneck the sender's originals never leave its device; anything that does went around it.
        let from_sender = if self.gate.is_some() { 0 } else { self.forward_seen };
        let from_plugs = self.sender_plug.received + self.receiver_plug.received;
        let seen = from_sender + self.backward_seen + self.unread;
        let checks = [
            ("came from the hosts' devices", from_plugs, seen),
            ("reached the receiver's device", self.receiver_device.received, self.forward_delivered),
            ("reached the sender's device", self.sender_device.received, self.backward_delivered),
        ];
        checks
            .iter()
            .find(|(_, counted, expected)| counted != expected)
            .map(|(what, counted, expected)| format!("{counted} packets {what}, the lane accounts for {expected}"))
    }
}

/// Why a lane is to be doubted; `None` when it is not.
pub(crate) fn doubts(accuracy: &Accuracy, evidence: &Evidence) -> Option<String> {
    let limit = TOLERATED_LATENESS.as_nanos() as i64;
    let late = accuracy.release_error.p99_ns.max(accuracy.device_release_error.p99_ns);
    let mut doubts = Vec::new();
    if late > limit {
        doubts.push(format!(
            "1 % of packets were released more than {:.1} ms late (1 ms is tolerated)",
            late as f64 / 1e6
        ));
    }
    if accuracy.release_error.max_ns > WORST_TOLERATED.as_nanos() as i64 {
        doubts.push(format!(
            "one packet was released {:.0} ms late (40 ms, a frame at 25 Hz, are tolerated)",
            accuracy.release_error.max_ns as f64 / 1e6
        ));
    }
    if accuracy.clamped * CLAMPED_ONE_IN > accuracy.release_error.count {
        doubts.push(format!("{} arrivals were seen too late and moved to the model's present", accuracy.clamped));
    }
    if evidence.oversized > 0 {
        let count = evidence.oversized;
        doubts.push(format!("{count} datagrams were larger than the MTU, which a local bottleneck does not carry"));
    }
    if accuracy.lost_outside_model > evidence.oversized {
        let count = accuracy.lost_outside_model - evidence.oversized;
        doubts.push(format!("{count} packets were lost outside the link model"));
    }
    doubts.extend(evidence.disagreement());
    (!doubts.is_empty()).then(|| doubts.join("; "))
}

#[cfg(test)]
pub(crate) mod tests {
    use framewire_link::{NodeId, PacketId};

    use super::super::headers::Headers;
    use super::super::log::{PacketLog, Release};
    use super::super::tally::Tally;
    use super::*;

    /// A lane of one packet that was released so late.
    fn one_packet(late: Duration) -> PacketLog {
        let intended = Timestamp::from_millis(5);
        PacketLog {
            id: PacketId(0),
            from: NodeId::SENDER,
            arrived: Timestamp::from_millis(1),
            size: 100,
            headers: Headers::parse(&[]),
            hops: Vec::new(),
            delivered: Some(Release { intended, actual: intended + late }),
            released: None,
            sniffed: 0,
        }
    }

    /// Counters that agree with one packet from the sender to the receiver.
    fn agreeing() -> Evidence {
        let counters = |received, transmitted| DeviceCounters { received, transmitted, lost: 0 };
        Evidence {
            sender_device: counters(0, 1),
            receiver_device: counters(1, 0),
            sender_plug: counters(1, 0),
            receiver_plug: counters(0, 1),
            forward_seen: 1,
            forward_delivered: 1,
            ..nothing_counted()
        }
    }

    /// Counters of a lane that nothing has crossed.
    pub(crate) fn nothing_counted() -> Evidence {
        let none = DeviceCounters { received: 0, transmitted: 0, lost: 0 };
        Evidence {
            sender_device: none,
            receiver_device: none,
            sender_plug: none,
            receiver_plug: none,
            forward_seen: 0,
            backward_seen: 0,
            forward_delivered: 0,
            backward_delivered: 0,
            unread: 0,
            ring_drops: 0,
            packet_queue_drops: 0,
            refused: 0,
            oversized: 0,
            overflowed: 0,
            verdict_errors: 0,
            not_logged: 0,
            sender_receive_overflows: 0,
            receiver_receive_overflows: 0,
            gate: None,
        }
    }

    fn doubt(late_us: u64, evidence: &Evidence) -> Option<String> {
        let packets = [one_packet(Duration::from_micros(late_us))];
        assess(&packets, evidence).disturbed
    }

    fn assess(packets: &[PacketLog], evidence: &Evidence) -> Accuracy {
        Tally::of(packets).assess(evidence, Scheduling::Normal, 2)
    }

    #[test]
    fn a_run_is_doubted_for_lateness_beyond_a_millisecond() {
        assert_eq!(doubt(1_000, &agreeing()), None);
        assert!(doubt(1_001, &agreeing()).unwrap().contains("late"));
    }

    #[test]
    fn a_run_is_doubted_for_one_packet_that_is_more_than_a_frame_late() {
        let doubt_of_worst = |late: Duration| {
            let mut packets: Vec<PacketLog> = (0..999).map(|_| one_packet(Duration::from_micros(10))).collect();
            packets.push(one_packet(late));
            let accuracy = assess(&packets, &agreeing());
            assert_eq!(accuracy.late, 1);
            accuracy.disturbed
        };
        assert_eq!(doubt_of_worst(Duration::from_millis(40)), None);
        assert!(doubt_of_worst(Duration::from_millis(41)).unwrap().contains("41 ms late"));
    }

    #[test]
    fn a_run_is_doubted_when_more_than_one_arrival_in_a_thousand_was_moved() {
        let packets: Vec<PacketLog> = (0..1_000).map(|_| one_packet(Duration::ZERO)).collect();
        let mut accuracy = assess(&packets, &agreeing());
        accuracy.clamped = 1;
        assert_eq!(doubts(&accuracy, &agreeing()), None);
        accuracy.clamped = 2;
        assert!(doubts(&accuracy, &agreeing()).unwrap().contains("2 arrivals"));
    }

    #[test]
    fn a_run_is_doubted_when_packets_vanish_or_go_around_the_link() {
        type Fault = fn(&mut Evidence);
        let faults: [(Fault, &str); 6] = [
            (|evidence| evidence.receiver_plug.lost = 1, "outside the link model"),
            (|evidence| evidence.ring_drops = 1, "outside the link model"),
            (|evidence| evidence.packet_queue_drops = 1, "outside the link model"),
            (|evidence| evidence.oversized = 1, "larger than the MTU"),
            (|evidence| evidence.receiver_device.received = 2, "reached the receiver's device"),
            (|evidence| evidence.gate = Some(GateMethod::NfTables), "came from the hosts' devices"),
        ];
        for (fault, word) in faults {
            let mut evidence = agreeing();
            fault(&mut evidence);
            let doubt = doubt(10, &evidence).unwrap();
            assert!(doubt.contains(word), "{doubt}");
        }
    }

    #[test]
    fn rate_and_delay_are_told_as_asked_for_and_as_achieved() {
        let packets: Vec<PacketLog> = (0..11)
            .map(|number| {
                let at = Timestamp::from_millis(10 + number);
                let mut packet = one_packet(Duration::ZERO);
                packet.arrived = at - Duration::from_millis(2);
                packet.delivered = Some(Release { intended: at, actual: at + Duration::from_micros(number * 100) });
                packet
            })
            .collect();
        let fidelity = assess(&packets, &agreeing()).forward;
        assert_eq!(fidelity.delay_requested.p50_ns, 2_000_000);
        assert_eq!(fidelity.delay_achieved.max_ns, 3_000_000);
        // 10 packets of 100 bytes in 10 ms, and in 11 ms.
        assert_eq!((fidelity.rate_requested_bps, fidelity.rate_achieved_bps), (Some(800_000), Some(727_272)));
    }
}
