//! Frames that were found by their content in what the receiver's application gave out.

use super::Transfer;
use super::sender::SenderLife;
use crate::record::{FoundStream, FrameFacts, FrameFound};

/// How every frame came through, asked for in decode order.
///
/// What the applications did is known from outside only: a frame that did not come whole has the cause that the world
/// could prove and recorded as a discard, or none.
pub(super) fn transfers(found: &FoundStream) -> impl FnMut(u32, &FrameFacts, &SenderLife) -> Transfer {
    let mut found = found.frames.iter().peekable();
    move |frame, facts, sender| {
        let mut transfer = Transfer { loss: sender.discards.first().cloned(), ..Transfer::default() };
        while let Some(found) = found.next_if(|found| found.frame <= frame) {
            if found.frame == frame {
                take(&mut transfer, found, facts);
            }
        }
        transfer
    }
}

fn take(transfer: &mut Transfer, found: &FrameFound, facts: &FrameFacts) {
    let size = u64::from(facts.size);
    transfer.arrival = found.whole_at;
    transfer.bytes_received = if found.whole_at.is_some() { size } else { found.bytes.min(size) };
    transfer.bytes_sent = transfer.bytes_received;
    transfer.loss = transfer.loss.take().filter(|_| found.whole_at.is_none());
}

#[cfg(test)]
mod tests {
    use crate::ledger::{Fate, Ledger, RootCause};
    use crate::record::{FlowLog, FoundStream, FrameEvent, FrameEventKind, FrameFound, LossPlace, PacketRecord};
    use crate::summary::Summary;
    use crate::testing::{LIVE, movie, ms};

    fn log() -> FlowLog {
        let whole = |frame: u32| FrameFound { frame, whole_at: Some(ms(100 + 40 * u64::from(frame))), bytes: 0 };
        let dropped = FrameEventKind::Discarded { place: LossPlace::Link, rule: "retry limit".into() };
        FlowLog {
            frames: movie(&[1200; 6]).into(),
            frame_events: vec![FrameEvent { frame: 1, at: ms(130), what: dropped }].into(),
            found: Some(FoundStream {
                frames: vec![
                    whole(0),
                    FrameFound { frame: 1, whole_at: None, bytes: 700 },
                    whole(2),
                    whole(3),
                    whole(4),
                ],
                first_byte: Some(ms(90)),
            }),
            ..FlowLog::default()
        }
    }

    #[test]
    fn what_was_found_whole_came_and_what_was_not_has_the_cause_that_is_known_or_none() {
        let ledger = Ledger::build(&log(), LIVE);
        let fates: Vec<Fate> = ledger.rows.iter().map(|row| row.fate).collect();
        use Fate::{Lost, Shown, Undecodable};
        assert_eq!(fates, [Shown, Lost, Undecodable, Undecodable, Undecodable, Lost]);
        assert_eq!(ledger.rows[0].latency_nanos, Some(100_000_000));
        let cause = Some(RootCause::new(LossPlace::Link, "retry limit"));
        assert_eq!((ledger.rows[1].root_cause.clone(), ledger.rows[1].bytes_received), (cause, 700));
        assert_eq!(ledger.rows[1].discarded_at, Some(LossPlace::ReceiverPipeline), "some of it came");
        assert_eq!((ledger.rows[5].root_cause.clone(), ledger.rows[5].discarded_at), (None, None));
        assert_eq!(ledger.first_arrival, Some(ms(90)));
    }

    #[test]
    fn a_frame_that_the_movie_does_not_have_is_ignored() {
        let mut log = log();
        log.found.as_mut().unwrap().frames.push(FrameFound { frame: 600, whole_at: Some(ms(1)), bytes: 0 });
        assert_eq!(Ledger::build(&log, LIVE), Ledger::build(&self::log(), LIVE));
    }

    #[test]
    fn payload_is_counted_from_the_packets_that_arrived_each_segment_once() {
        let packet = |packet, sequence, dropped| PacketRecord {
            packet,
            forward: true,
            protocol: "tcp",
            size: 540,
            sequence: Some(sequence),
            payload: 500,
            hop: "wire",
            enqueued: ms(0),
            started: None,
            finished: ms(1),
            transmissions: vec![],
            dropped,
            marked: false,
            clamped: false,
            sniffed: None,
        };
        let mut log = log();
        let lost = Some((LossPlace::Link, "random loss"));
        log.packets = vec![packet(0, 1, None), packet(1, 501, lost), packet(2, 501, None), packet(3, 501, None)].into();
        log.packets.push(PacketRecord { forward: false, ..packet(4, 900, None) });
        let summary = Summary::build(&Ledger::build(&log, LIVE), &log, &LIVE);
        // The first bytes came 10 ms before the first frame was whole.
        let seconds = summary.duration_s.unwrap() + 0.010;
        assert!((summary.packet_throughput_bps.unwrap() - 1_000.0 * 8.0 / seconds).abs() < 1e-6);
    }
}
