//! Any packets at any times, at both ends of TFRC: rates stay rates, and a receiver never answers more than it gets.

use framewire_adaptive::tfrc::{DataPacket, Limit, Receiver, ReceiverSettings, SegmentSize, Sender, SenderSettings};
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};
use framewire_wire::tfrc::{DataHeader, Feedback};

/// (kind, step of the clock or a jump, a number, another)
type Step = (u8, u32, u64, u64);

pub(crate) fn run(data: &[u8]) {
    let Some(input) = crate::decoded::<(bool, Option<u32>, Vec<Step>)>(data) else { return };
    let (mean, first_sequence, steps) = input;
    let size = DataSize::from_bytes(1_000);
    let segment = if mean { SegmentSize::Mean(size) } else { SegmentSize::Nominal(size) };
    let mut sender = Sender::new(SenderSettings { segment, ..SenderSettings::default() });
    let mut receiver = Receiver::new(ReceiverSettings { first_sequence, ..ReceiverSettings::default() });
    let (mut now, mut sequence, mut data, mut answers) = (Timestamp::ZERO, first_sequence.unwrap_or_default(), 0, 0);
    for (kind, wait, one, other) in steps {
        now = if kind & 0x80 != 0 { Timestamp::from_nanos(one) } else { now + Duration::from_micros(u64::from(wait)) };
        match kind & 3 {
            // A packet leaves, and arrives or not.
            0 | 1 => {
                let header = DataHeader { sequence, sent: now, round_trip: sender.round_trip() };
                sequence = sequence.wrapping_add(1);
                sender.handle_sent(now, size, if kind & 4 == 0 { Limit::Rate } else { Limit::Data });
                if kind & 8 == 0 {
                    data += 1;
                    receiver.handle_data(now, &DataPacket { header, size, congestion_experienced: kind & 16 != 0 });
                }
            }
            // A packet that was never sent.
            2 => {
                let round_trip = (kind & 4 != 0).then_some(Duration::from_nanos(other));
                let header = DataHeader { sequence: wait, sent: Timestamp::from_nanos(one), round_trip };
                let size = DataSize::from_bytes(other);
                data += 1;
                receiver.handle_data(now, &DataPacket { header, size, congestion_experienced: kind & 16 != 0 });
            }
            // Feedback that was never sent.
            _ => sender.handle_feedback(
                now,
                &Feedback {
                    echoed: Timestamp::from_nanos(one),
                    delay: Duration::from_nanos(u64::from(wait)),
                    receive_rate: Bitrate::from_bps(other),
                    loss_event_rate: f64::from_bits(other),
                },
            ),
        }
        receiver.handle_timeout(now);
        while let Some(feedback) = receiver.poll_feedback(now) {
            answers += 1;
            sender.handle_feedback(now, &feedback);
        }
        sender.handle_timeout(now);
        assert!(answers <= data);
        assert!(sender.allowed_rate() > Bitrate::default() && sender.instantaneous_rate() > Bitrate::default());
        assert!((0.0..=1.0).contains(&receiver.loss_event_rate()));
        let _ = (sender.next_send(), sender.next_timeout(), receiver.next_timeout());
    }
}
