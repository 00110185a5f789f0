//! Known faults at each of the five places: the ledger must name place, cause and where the frame was discarded.

use framewire_units::Duration;

use crate::ledger::{Fate, FrameRow, Ledger, RootCause};
use crate::record::{
    DatagramReceived, DatagramSent, FlowLog, FlowSample, FlowStatus, FoundStream, FrameEventKind, HandedOn, LossPlace,
    PacketRecord,
};
use crate::summary::Summary;
use crate::testing::{DatagramFlow, Injected, LIVE, STALL, StreamFlow, movie, ms};

const ARRIVES: Injected = Injected::Arrives(Duration::from_millis(5));

/// Twelve frames `I P B B P B B P B B P B` of three datagrams; frame 4, a P, meets the faults.
fn with_faults(faults: &[Injected]) -> DatagramFlow {
    let mut flow = DatagramFlow::new(movie(&[1200; 12]));
    for frame in 0..12 {
        flow.send(frame, if frame == 4 { faults } else { &[] });
    }
    flow
}

fn row(flow: &DatagramFlow, frame: usize) -> FrameRow {
    Ledger::build(&flow.log, LIVE).rows[frame].clone()
}

#[track_caller]
fn assert_lost(row: &FrameRow, place: LossPlace, cause: &str, discarded_at: LossPlace) {
    assert_eq!(row.fate, Fate::Lost);
    assert_eq!(row.root_cause, Some(RootCause::new(place, cause)));
    assert_eq!(row.discarded_at, Some(discarded_at));
    assert_eq!((row.complete, row.decodable, row.arrival), (false, false, None));
}

#[test]
fn without_a_fault_everything_is_shown() {
    let flow = with_faults(&[]);
    for row in Ledger::build(&flow.log, LIVE).rows.to_vec() {
        assert_eq!((row.fate, row.packets, row.packets_lost), (Fate::Shown, Some(3), Some(0)));
        assert_eq!((row.bytes_received, row.root_cause, row.discarded_at), (1200, None, None));
    }
}

#[test]
fn a_frame_shed_by_a_rule_is_lost_in_the_sending_pipeline() {
    let mut flow = DatagramFlow::new(movie(&[1200; 6]));
    for frame in (0..6).filter(|&frame| frame != 3) {
        flow.send(frame, &[]);
    }
    flow.discard(3, LossPlace::SenderPipeline, "ifd: B while a frame waits");
    let row = row(&flow, 3);
    assert_lost(&row, LossPlace::SenderPipeline, "ifd: B while a frame waits", LossPlace::SenderPipeline);
    assert_eq!((row.packets, row.bytes_received, row.bytes_shed), (None, 0, 1200));
}

#[test]
fn a_full_socket_is_the_sender_socket() {
    let mut flow = with_faults(&[ARRIVES, Injected::NoRoom]);
    flow.discard(4, LossPlace::SenderSocket, "send buffer full");
    let row = row(&flow, 4);
    assert_lost(&row, LossPlace::SenderSocket, "send buffer full", LossPlace::ReceiverPipeline);
    // The first and the last of three datagrams: 500 and 200 bytes of the frame.
    assert_eq!((row.packets, row.packets_lost, row.bytes_received, row.bytes_shed), (Some(3), Some(1), 700, 0));
}

#[test]
fn a_frame_of_which_nothing_left_was_discarded_where_it_was_lost() {
    let mut flow = with_faults(&[Injected::NoRoom; 3]);
    flow.discard(4, LossPlace::SenderSocket, "send buffer full");
    assert_lost(&row(&flow, 4), LossPlace::SenderSocket, "send buffer full", LossPlace::SenderSocket);
}

#[test]
fn the_rest_of_a_frame_that_did_not_fit_is_shed() {
    let mut flow = with_faults(&[ARRIVES, Injected::NoRoom, Injected::NoRoom]);
    flow.discard(4, LossPlace::SenderSocket, "send buffer full");
    flow.discard(4, LossPlace::SenderPipeline, "whole: a packet did not fit");
    let row = row(&flow, 4);
    assert_lost(&row, LossPlace::SenderSocket, "send buffer full", LossPlace::ReceiverPipeline);
    assert_eq!((row.bytes_received, row.bytes_shed), (500, 700));
}

#[test]
fn a_socket_that_drops_without_a_word_is_still_the_sender_socket() {
    let flow = with_faults(&[Injected::NoRoom]);
    assert_lost(&row(&flow, 4), LossPlace::SenderSocket, "no room in the socket", LossPlace::ReceiverPipeline);
}

#[test]
fn a_device_queue_that_overflows_is_the_sender_socket() {
    let flow = with_faults(&[Injected::Dropped(LossPlace::SenderSocket, "queue full")]);
    assert_lost(&row(&flow, 4), LossPlace::SenderSocket, "queue full", LossPlace::ReceiverPipeline);
}

#[test]
fn a_packet_that_is_given_up_on_the_air_is_lost_on_the_link() {
    let flow = with_faults(&[ARRIVES, ARRIVES, Injected::Dropped(LossPlace::Link, "retry limit")]);
    let row = row(&flow, 4);
    assert_lost(&row, LossPlace::Link, "retry limit", LossPlace::ReceiverPipeline);
    assert_eq!(row.bytes_received, 1000);
}

#[test]
fn a_frame_of_which_nothing_crossed_the_link_was_discarded_there() {
    let flow = with_faults(&[Injected::Dropped(LossPlace::Link, "outage"); 3]);
    assert_lost(&row(&flow, 4), LossPlace::Link, "outage", LossPlace::Link);
}

#[test]
fn a_full_queue_on_the_way_is_the_intermediate_queue() {
    let flow = with_faults(&[Injected::Dropped(LossPlace::IntermediateQueue, "queue full"), ARRIVES]);
    assert_lost(&row(&flow, 4), LossPlace::IntermediateQueue, "queue full", LossPlace::ReceiverPipeline);
}

#[test]
fn a_datagram_that_was_delivered_but_never_read_is_the_receiving_pipeline() {
    let flow = with_faults(&[ARRIVES, Injected::Unread]);
    assert_lost(&row(&flow, 4), LossPlace::ReceiverPipeline, "not read by the receiver", LossPlace::ReceiverPipeline);
}

#[test]
fn the_first_loss_by_sequence_is_the_root_cause() {
    let flow = with_faults(&[
        ARRIVES,
        Injected::Dropped(LossPlace::IntermediateQueue, "queue full"),
        Injected::Dropped(LossPlace::Link, "retry limit"),
    ]);
    assert_lost(&row(&flow, 4), LossPlace::IntermediateQueue, "queue full", LossPlace::ReceiverPipeline);
}

#[test]
fn a_datagram_without_a_last_verdict_was_cut_off_by_the_end_of_the_run() {
    let mut flow = with_faults(&[ARRIVES, Injected::UnderWay]);
    flow.log.status = FlowStatus::Partial;
    let stopped = row(&flow, 4);
    assert_eq!((stopped.fate, stopped.root_cause, stopped.discarded_at), (Fate::NotOffered, None, None));
    assert!(stopped.offered.is_some() && stopped.bytes_received > 0 && !stopped.complete, "it was under way");
    flow.log.samples.push(seen_at(10_000));
    assert_lost(&row(&flow, 4), LossPlace::Link, "run ended", LossPlace::ReceiverPipeline);
    flow.log.status = FlowStatus::Failed("connection refused".into());
    assert_lost(&row(&flow, 4), LossPlace::Link, "flow failed", LossPlace::ReceiverPipeline);
}

#[test]
fn a_frame_that_was_not_cut_whole_met_the_end_of_the_run_and_nobody_lost_those_behind_it() {
    let mut flow = DatagramFlow::new(movie(&[1200; 4]));
    flow.log.status = FlowStatus::Partial;
    flow.send(0, &[]);
    flow.send_first(1, &[], 2);
    let rows = Ledger::build(&flow.log, LIVE).rows.to_vec();
    assert_eq!((rows[0].fate, rows[1].fate), (Fate::Shown, Fate::NotOffered), "its deadline was still to come");
    flow.log.samples.push(seen_at(10_000));
    let rows = Ledger::build(&flow.log, LIVE).rows.to_vec();
    assert_lost(&rows[1], LossPlace::SenderPipeline, "run ended", LossPlace::ReceiverPipeline);
    assert_eq!((rows[1].packets_lost, rows[1].bytes_received), (Some(0), 1000));
    for row in &rows[2..] {
        assert_eq!((row.fate, &row.root_cause, row.discarded_at), (Fate::NotOffered, &None, None));
        assert_eq!((row.packets, row.bytes_shed, row.complete), (None, 0, false));
    }
}

#[test]
fn a_second_copy_of_a_datagram_counts_once() {
    let mut flow = with_faults(&[]);
    let copy = flow.log.datagrams_received[0].clone();
    flow.log.datagrams_received.push(copy);
    let first = row(&flow, 0);
    assert_eq!(
        (first.bytes_received, first.packets_lost, first.arrival),
        (1200, Some(0), Some(ms(5) + Duration::from_micros(200)))
    );
}

#[test]
fn frames_that_miss_a_reference_carry_its_cause() {
    // Decode order: I0 P1 B2 B3 P4 B5 B6 P7 B8 B9 P10 B11. The loss of P4 takes everything after it along.
    let flow = with_faults(&[Injected::Dropped(LossPlace::Link, "retry limit"), ARRIVES]);
    let rows = Ledger::build(&flow.log, LIVE).rows.to_vec();
    assert!(rows[..4].iter().all(|row| row.fate == Fate::Shown));
    for row in &rows[5..] {
        assert_eq!((row.fate, row.missing_reference), (Fate::Undecodable, Some(4)), "frame {}", row.frame);
        assert_eq!(row.root_cause, Some(RootCause::new(LossPlace::Link, "retry limit")));
        assert_eq!(row.discarded_at, Some(LossPlace::ReceiverPipeline));
        assert!(row.complete && !row.decodable);
    }
}

#[test]
fn a_refresh_makes_up_for_what_was_lost_before_it_began() {
    // Of a chain of P frames two are lost; a refresh begins at the fifth and is over at the eighth.
    let rows = |lost: &[usize], starts_outside: bool| {
        let mut frames = movie(&[1200; 12]);
        for (index, frame) in frames.iter_mut().enumerate() {
            frame.references = (index as u32).checked_sub(1).into_iter().collect();
            frame.missing_reference = starts_outside && index == 0;
            frame.recovers_from = (index >= 8).then_some(5);
        }
        let mut flow = DatagramFlow::new(frames);
        for index in 0..12 {
            let is_lost = lost.contains(&index);
            flow.send(
                index as u32,
                &[if is_lost { Injected::Dropped(LossPlace::Link, "retry limit") } else { ARRIVES }],
            );
        }
        Ledger::build(&flow.log, LIVE).rows.to_vec()
    };
    let missing = |lost: &[usize]| rows(lost, false).iter().map(|row| row.missing_reference).collect::<Vec<_>>();
    let before = [None, None, None, Some(2), Some(2), Some(2), Some(2), Some(2)];
    assert_eq!(missing(&[2]), [&before[..], &[None; 4]].concat());
    assert!(rows(&[2], false)[8..].iter().all(|row| row.fate == Fate::Shown));
    assert_eq!(missing(&[2, 5])[8..], [Some(5); 4], "it began too late, or was damaged itself");
    assert_eq!(missing(&[2, 6])[8..], [Some(6); 4]);
    assert_eq!(missing(&[9])[8..], [None, None, Some(9), Some(9)]);
    let outside = rows(&[3], true);
    let causes: Vec<_> = outside.iter().map(|row| (row.missing_reference, row.fate)).collect();
    assert_eq!(causes[2], (None, Fate::Undecodable));
    assert_eq!(causes[4..8], [(Some(3), Fate::Undecodable); 4]);
    assert_eq!(causes[8..], [(None, Fate::Shown); 4], "of both kinds");
    assert_eq!(rows(&[6], true)[8].missing_reference, Some(6), "what was outside is made up for");
    let fates: Vec<Fate> = rows(&[], true).iter().map(|row| row.fate).collect();
    assert_eq!(
        fates,
        [[Fate::Undecodable; 8].as_slice(), &[Fate::Shown; 4]].concat(),
        "also of what is not in the movie"
    );
}

#[test]
fn of_several_missing_references_the_first_in_decode_order_is_named() {
    let mut flow = DatagramFlow::new(movie(&[1200; 9]));
    for frame in 0..9 {
        let place = match frame {
            1 => Injected::Dropped(LossPlace::IntermediateQueue, "queue full"),
            4 => Injected::Dropped(LossPlace::Link, "retry limit"),
            _ => ARRIVES,
        };
        flow.send(frame, &[place]);
    }
    let rows = Ledger::build(&flow.log, LIVE).rows.to_vec();
    assert_eq!(
        rows[4].root_cause.as_ref().map(|cause| cause.place),
        Some(LossPlace::Link),
        "a lost frame keeps its own cause"
    );
    assert_eq!((rows[7].missing_reference, rows[8].missing_reference), (Some(1), Some(1)));
    assert_eq!(rows[8].root_cause.as_ref().map(|cause| cause.place), Some(LossPlace::IntermediateQueue));
}

#[test]
fn a_shed_frame_takes_no_room_in_the_stream() {
    let mut flow = StreamFlow::new(movie(&[1000, 800, 300, 300]));
    flow.write(0);
    flow.write(1);
    flow.discard(2, LossPlace::SenderPipeline, "ifd: B while a frame waits");
    flow.write(3);
    flow.read(999, ms(10));
    flow.read(1800, ms(20));
    flow.read(2100, ms(150));
    let rows = Ledger::build(&flow.log, LIVE).rows.to_vec();
    assert_eq!([rows[0].arrival, rows[1].arrival, rows[3].arrival], [Some(ms(20)), Some(ms(20)), Some(ms(150))]);
    assert_lost(&rows[2], LossPlace::SenderPipeline, "ifd: B while a frame waits", LossPlace::SenderPipeline);
    assert_eq!((rows[2].bytes_shed, rows[2].bytes_received, rows[0].packets), (300, 0, None));
}

#[test]
fn frames_lie_in_the_stream_in_the_order_in_which_they_were_sent() {
    let mut flow = StreamFlow::new(movie(&[1000, 800, 300]));
    for frame in [0, 2, 1] {
        flow.write(frame);
    }
    flow.read(1300, ms(90));
    flow.read(2100, ms(95));
    let rows = Ledger::build(&flow.log, LIVE).rows.to_vec();
    assert_eq!([rows[0].arrival, rows[1].arrival, rows[2].arrival], [Some(ms(90)), Some(ms(95)), Some(ms(90))]);
}

/// 100 bytes of headers with each, and the second is cut off behind some of its own.
#[test]
fn frames_in_packets_end_where_the_sender_wrote_their_last_bytes() {
    let mut flow = StreamFlow::new(movie(&[1000, 800, 300]));
    flow.log.status = FlowStatus::Partial;
    flow.write(0);
    flow.write(2);
    flow.start(1);
    flow.log.frame_ends = vec![1100, 1500];
    for (total, at) in [(1000, 10), (1099, 20), (1100, 30), (1499, 40), (1500, 50), (1700, 60)] {
        flow.read(total, ms(at));
    }
    let rows = Ledger::build(&flow.log, LIVE).rows.to_vec();
    assert_eq!([rows[0].arrival, rows[1].arrival, rows[2].arrival], [Some(ms(30)), None, Some(ms(50))]);
    assert_eq!((rows[0].bytes_received, rows[1].bytes_received, rows[2].bytes_received), (1000, 200, 300));
}

#[test]
fn what_the_end_of_the_run_met_in_a_stream_is_named_by_where_it_was() {
    let mut flow = StreamFlow::new(movie(&[1000, 800, 300, 300]));
    flow.log.status = FlowStatus::Partial;
    flow.write(0);
    flow.write(1);
    flow.start(2);
    flow.read(1500, ms(50));
    flow.log.samples.push(seen_at(10_000));
    let rows = Ledger::build(&flow.log, LIVE).rows.to_vec();
    assert_eq!(rows[0].fate, Fate::Shown);
    assert_lost(&rows[1], LossPlace::Link, "run ended", LossPlace::ReceiverPipeline);
    assert_eq!(rows[1].bytes_received, 500);
    assert_lost(&rows[2], LossPlace::SenderSocket, "run ended", LossPlace::SenderSocket);
    assert_eq!((rows[3].fate, &rows[3].root_cause), (Fate::NotOffered, &None));

    flow.read(1900, ms(60));
    let rows = Ledger::build(&flow.log, LIVE).rows.to_vec();
    assert_eq!((rows[1].fate, rows[2].bytes_received), (Fate::Shown, 100));
    assert_lost(&rows[2], LossPlace::SenderSocket, "run ended", LossPlace::ReceiverPipeline);
}

#[test]
fn what_was_under_way_in_time_when_a_run_was_stopped_is_not_judged() {
    let mut flow = StreamFlow::new(movie(&[1000, 800, 300, 300]));
    (0..2).for_each(|frame| flow.write(frame));
    flow.start(2);
    flow.discard(2, LossPlace::SenderPipeline, "pipeline: stopped before it was written");
    flow.read(1500, ms(50)); // the player begins: frames 1 and 2 (P, B) are due a second later, at 1170 and 1090 ms
    let fates = |status: &FlowStatus, seen: u64, playout| {
        let mut log = FlowLog { status: status.clone(), ..flow.log.clone() };
        log.samples.push(seen_at(seen));
        let ledger = Ledger::build(&log, playout);
        let fates = Summary::build(&ledger, &log, &playout).fates.unwrap();
        assert_eq!(fates.offered() + fates.not_offered, 4);
        ledger.rows.iter().map(|row| row.fate).collect::<Vec<_>>()
    };
    use Fate::{Lost, NotOffered, Shown};
    assert_eq!(fates(&FlowStatus::Partial, 100, LIVE), [Shown, NotOffered, NotOffered, NotOffered]);
    assert_eq!(fates(&FlowStatus::Partial, 1_089, LIVE), [Shown, NotOffered, NotOffered, NotOffered]);
    assert_eq!(fates(&FlowStatus::Partial, 1_090, LIVE), [Shown, NotOffered, Lost, NotOffered]);
    assert_eq!(fates(&FlowStatus::Partial, 1_170, LIVE), [Shown, Lost, Lost, NotOffered]);
    assert_eq!(fates(&FlowStatus::Partial, 9_999, STALL), [Shown, NotOffered, NotOffered, NotOffered], "it waits");
    for ended in [FlowStatus::Complete, FlowStatus::Failed("connection reset".into())] {
        assert_eq!(fates(&ended, 100, LIVE), [Shown, Lost, Lost, Lost], "{ended:?}");
    }
}

/// The flow was still looked at then.
fn seen_at(millis: u64) -> FlowSample {
    FlowSample { at: ms(millis), ..FlowSample::default() }
}

#[test]
fn bytes_of_a_frame_are_known_where_no_frame_was_cut_whole() {
    let mut flow = DatagramFlow::new(movie(&[1200; 2]));
    flow.log.status = FlowStatus::Partial;
    flow.send_first(0, &[ARRIVES, Injected::Dropped(LossPlace::Link, "retry limit")], 2);
    assert_eq!(row(&flow, 0).bytes_received, 500, "less the headers that the sender recorded");
}

#[test]
fn what_a_flow_was_not_given_because_it_broke_is_its_own_loss() {
    let mut flow = StreamFlow::new(movie(&[1000, 800, 300]));
    flow.write(0);
    flow.read(1000, ms(50));
    let fate = |status: FlowStatus| {
        let log = FlowLog { status, ..flow.log.clone() };
        Ledger::build(&log, LIVE).rows.to_vec().remove(2).fate
    };
    assert_eq!(fate(FlowStatus::Partial), Fate::NotOffered);
    assert_eq!(fate(FlowStatus::Failed("connection reset".into())), Fate::Lost);
    assert_eq!(fate(FlowStatus::Complete), Fate::Lost, "a sender that ended by itself left it out");
}

#[test]
fn of_an_application_that_reads_the_movie_itself_it_is_not_known_what_it_was_offered() {
    let mut flow = StreamFlow::new(movie(&[1000, 800]));
    (flow.log.status, flow.log.found) = (FlowStatus::Partial, Some(FoundStream::default()));
    let fates = |log: &FlowLog| Ledger::build(log, LIVE).rows.iter().map(|row| row.fate).collect::<Vec<_>>();
    assert_eq!(fates(&flow.log), [Fate::Lost, Fate::Lost]);
    flow.event(0, ms(0), FrameEventKind::Offered);
    assert_eq!(fates(&flow.log), [Fate::Lost, Fate::NotOffered]);
}

#[test]
fn a_receiver_that_heard_nothing_leaves_every_frame_lost() {
    let mut flow = StreamFlow::new(movie(&[1000, 800]));
    flow.log.status = FlowStatus::Failed("receiver killed".into());
    flow.write(0);
    let ledger = Ledger::build(&flow.log, LIVE);
    assert_eq!(ledger.first_arrival, None);
    assert_lost(&ledger.rows[0], LossPlace::Link, "flow failed", LossPlace::Link);
    assert_lost(&ledger.rows[1], LossPlace::SenderPipeline, "flow failed", LossPlace::SenderPipeline);
    assert!(ledger.rows.iter().all(|row| row.deadline.is_none()));
}

#[test]
fn a_part_that_was_sent_again_is_there_when_one_copy_of_it_is() {
    let mut flow = DatagramFlow::new(movie(&[1200; 2]));
    (0..2).for_each(|frame| flow.send(frame, &[]));
    let mut log = flow.log;
    for datagram in log.datagrams_sent.in_memory() {
        datagram.part = Some((datagram.sequence % 3) as u16);
    }
    assert_eq!(log.datagrams_sent.len(), 6, "three parts each");
    // The second part of frame 0 is lost, and comes 300 ms later under another number.
    log.datagrams_received.retain(|datagram| datagram.sequence != 1);
    let lost = Ledger::build(&log, LIVE);
    assert_eq!((lost.rows[0].fate, lost.rows[0].packets, lost.rows[0].packets_lost), (Fate::Lost, Some(3), Some(1)));
    let again = DatagramSent { sequence: 9, ..log.datagrams_sent[1].clone() };
    log.datagrams_received.push(DatagramReceived { sequence: 9, size: again.size, at: ms(300), kept: true });
    log.datagrams_sent.push(again);
    let came = Ledger::build(&log, LIVE);
    assert_eq!((came.rows[0].fate, came.rows[0].arrival), (Fate::Shown, Some(ms(300))));
    assert_eq!(
        (came.rows[0].packets, came.rows[0].packets_lost, came.rows[0].bytes_received),
        (Some(4), Some(1), 1200)
    );
    assert_eq!(came.rows[1].packets, Some(3));
    // Of two copies the first that came counts, whatever their numbers.
    let copy = DatagramSent { sequence: 10, ..log.datagrams_sent[1].clone() };
    for at in [200, 400] {
        log.datagrams_received.retain(|datagram| datagram.sequence != 10);
        log.datagrams_received.push(DatagramReceived { sequence: 10, size: copy.size, at: ms(at), kept: true });
        log.datagrams_sent.retain(|datagram| datagram.sequence != 10);
        log.datagrams_sent.push(copy.clone());
        assert_eq!(Ledger::build(&log, LIVE).rows[0].arrival, Some(ms(at.min(300))));
    }
}

/// A datagram that is cut into fragments may be dropped twice.
#[test]
fn of_two_drops_of_one_datagram_the_first_is_the_cause() {
    let drops = [(7, LossPlace::Link, "retry limit"), (5, LossPlace::IntermediateQueue, "queue full")];
    for drops in [drops, [drops[1], drops[0]]] {
        let mut flow = with_faults(&[Injected::UnderWay]);
        let packet = flow.log.packets.iter().find(|packet| packet.sequence == Some(12)).expect("it left").into_owned();
        assert_eq!(flow.log.datagrams_sent[12].frame, Some(4));
        let dropped = |(after, place, cause)| PacketRecord {
            finished: packet.finished + Duration::from_millis(after),
            dropped: Some((place, cause)),
            ..packet.clone()
        };
        drops.into_iter().for_each(|drop| flow.log.packets.push(dropped(drop)));
        assert_lost(&row(&flow, 4), LossPlace::IntermediateQueue, "queue full", LossPlace::ReceiverPipeline);
    }
}

/// A receiver that stops waiting for a frame has not got it, whatever comes later: of a repeat, and of the packet itself.
#[test]
fn what_comes_when_its_frame_was_given_up_makes_no_frame_whole() {
    let mut flow = DatagramFlow::new(movie(&[1200; 3]));
    (0..3).for_each(|frame| flow.send(frame, &[]));
    let mut log = flow.log;
    log.frames.in_memory().iter_mut().for_each(|frame| frame.references.clear());
    for datagram in log.datagrams_sent.in_memory() {
        datagram.part = Some((datagram.sequence % 3) as u16);
    }
    let whole = Ledger::build(&log, LIVE);
    assert!(whole.rows.iter().all(|row| row.fate == Fate::Shown));
    // Frame 0: the second part comes too late. Frame 1: it is lost in a queue, and its repeat comes too late.
    log.datagrams_received.in_memory()[1].kept = false;
    log.datagrams_received.retain(|datagram| datagram.sequence != 4);
    for packet in log.packets.in_memory().iter_mut().filter(|packet| packet.sequence == Some(4)) {
        packet.dropped = Some((LossPlace::IntermediateQueue, "queue full"));
    }
    let again = DatagramSent { sequence: 9, ..log.datagrams_sent[4].clone() };
    log.datagrams_received.push(DatagramReceived { sequence: 9, size: again.size, at: ms(300), kept: false });
    // Frame 2: its repeat is not needed any more.
    let needless = DatagramSent { sequence: 10, ..log.datagrams_sent[7].clone() };
    log.datagrams_received.push(DatagramReceived { sequence: 10, size: needless.size, at: ms(1), kept: false });
    log.datagrams_sent.extend([again, needless]);
    let ledger = Ledger::build(&log, LIVE);
    let receiver = LossPlace::ReceiverPipeline;
    assert_lost(&ledger.rows[0], receiver, "came after its frame was given up", receiver);
    assert_lost(&ledger.rows[1], LossPlace::IntermediateQueue, "queue full", receiver);
    assert_eq!(ledger.rows[2].fate, Fate::Shown);
    assert_eq!(ledger.rows[2].arrival, whole.rows[2].arrival, "that of the copy that counted");
    let counts = |row: usize| (ledger.rows[row].packets_lost, ledger.rows[row].bytes_received);
    assert_eq!([counts(0), counts(1), counts(2)], [(Some(0), 1200), (Some(1), 1200), (Some(0), 1200)], "they came");
}

/// Where packets were lost before a frame, its receiver may not be able to tell that it has all of it.
#[test]
fn a_frame_that_the_receiver_discards_is_lost_though_all_of_it_came() {
    let mut flow = DatagramFlow::new(movie(&[1200; 3]));
    (0..3).for_each(|frame| flow.send(frame, &[]));
    let mut log = flow.log;
    log.frames.in_memory().iter_mut().for_each(|frame| frame.references.clear());
    log.discarded.push(5);
    let ledger = Ledger::build(&log, LIVE);
    let receiver = LossPlace::ReceiverPipeline;
    assert_eq!([ledger.rows[0].fate, ledger.rows[2].fate], [Fate::Shown; 2]);
    assert_lost(&ledger.rows[1], receiver, "behind a loss, its beginning not certain", receiver);
    assert_eq!((ledger.rows[1].packets_lost, ledger.rows[1].bytes_received), (Some(0), 1200), "all of it came");
}

#[test]
fn what_a_receiver_hands_on_of_a_lost_frame_is_not_discarded_by_it() {
    let mut flow = with_faults(&[ARRIVES, Injected::Dropped(LossPlace::Link, "retry limit"), ARRIVES]);
    let discarded = row(&flow, 4);
    assert_eq!((discarded.handed_on, discarded.discarded_at), (0, Some(LossPlace::ReceiverPipeline)));
    flow.log.handed_on.push(HandedOn { sequence: 12, bytes: 500 });
    let row = row(&flow, 4);
    assert_eq!((row.handed_on, row.discarded_at), (500, discarded.root_cause.as_ref().map(|cause| cause.place)));
    assert_eq!((row.fate, row.root_cause, row.bytes_received), (Fate::Lost, discarded.root_cause, 700));
    assert!(Ledger::build(&flow.log, LIVE).rows.iter().filter(|row| row.frame != 4).all(|row| row.handed_on == 0));
}
