//! Ledgers of what clients are sent.

use framewire_recording::record::FrameEventKind;
use framewire_wire::rtcp::{Compound, NtpTime, Report, ReportBlock};
use framewire_wire::rtp::RtpHeader;
use framewire_wire::rtsp::{Item, put_interleaved};

use super::rtsp::{ExchangeEvent, catalogue_of, client_of, play};
use super::*;
use crate::flow::FlowRecording;

/// A client that fetches a path from 100 ms on, and is gone at a time; with room for a ledger or without.
fn fetching(policy: ServingPolicy, request: &[u8], has_room: bool, gone: Timestamp) -> (Record, Option<Ledger>, usize) {
    let (mut client, mut pipe) = (http_client(&catalogue(), policy, None, ms(0)), Pipe::WIDE);
    client.set_recording(has_room.then(FlowRecording::default));
    say(&mut *client, ms(100), request);
    run(&mut *client, &mut pipe, ms(100), gone);
    client.handle_arrival(gone, CONNECTION, Arrival::Ended);
    let ledger = client.poll_ledger();
    assert!(!client.has_ledger() && client.poll_ledger().is_none());
    (client.poll_record().expect("something was sent"), ledger, pipe.written.len())
}

/// When frames had an event, from when the movie was asked for on.
fn times(ledger: &Ledger, kind: &FrameEventKind) -> Vec<Timestamp> {
    let events = ledger.sent.frame_events.iter().filter(|event| event.what == *kind && event.frame < FRAMES);
    events.map(|event| event.at).collect()
}

#[test]
fn a_ledger_has_every_frame_when_it_was_due_and_where_it_ended_in_the_connection() {
    let movie = get("/ts/a%20%26%20b.ts", "");
    let (record, ledger, written) = fetching(MANNER, &movie, true, ms(2_000));
    let ledger = ledger.expect("there was room");
    assert_eq!((record.ledger, &ledger.record, record.ending.clone()), (Some(true), &record, Ending::Complete));
    let due: Vec<_> = (0..FRAMES).map(|frame| ms(40 * u64::from(frame))).collect();
    assert_eq!(times(&ledger, &FrameEventKind::Offered), due, "times count from the request");
    assert_eq!(times(&ledger, &FrameEventKind::LastByte), due, "the connection takes all at once");
    let ends = &ledger.sent.frame_ends;
    assert!(ends.len() == FRAMES as usize && ends.windows(2).all(|pair| pair[0] + 2_000 <= pair[1]), "{ends:?}");
    let header = written as u64 - record.sent;
    assert!(header > 0 && ends[0] > header + 2_000 && *ends.last().unwrap() <= written as u64, "{header} {ends:?}");
    assert!(ends.iter().all(|end| (end - header).is_multiple_of(188)), "a frame ends with its last packet");
}

#[test]
fn a_ledger_ends_where_its_client_leaves() {
    let (record, ledger, _) = fetching(MANNER, &get("/mp4/a%20%26%20b.mp4", ""), true, ms(590));
    let ledger = ledger.expect("there was room");
    assert_eq!((record.ending, record.frames[0]), (Ending::Left, 13), "of 40 ms each, in 490 ms");
    assert_eq!(times(&ledger, &FrameEventKind::Offered).len(), 13);
}

#[test]
fn where_there_is_no_room_or_nothing_to_be_told_there_is_no_ledger() {
    let (whole, stream) = (get("/mp4/a%20%26%20b.mp4", ""), get("/ts/a%20%26%20b.ts", ""));
    let part = get("/mp4/a%20%26%20b.mp4", "Range: bytes=9000-\r\n");
    let endless = ServingPolicy { is_endless: true, ..MANNER };
    for (policy, request, has_room, expected) in [
        (MANNER, &whole, true, Some(true)),
        (MANNER, &whole, false, Some(false)),
        (MANNER, &stream, false, Some(false)),
        (MANNER, &part, true, None),
        (endless, &stream, true, None),
        (endless, &whole, true, Some(true)),
        (MANNER, &get("/a%20&%20b.mpg", ""), true, None),
        (MANNER, &get("/", ""), true, None),
    ] {
        let (record, ledger, _) = fetching(policy, request, has_room, ms(2_000));
        assert_eq!((record.ledger, ledger.is_some()), (expected, expected == Some(true)), "{}", record.what);
    }
}

/// A receiver's report about a stream, which answers the sender's of a time.
fn report_of_receiver((of, highest_sequence): (u32, u32), answered: Timestamp, delay: Duration) -> Vec<u8> {
    let delay = (delay.as_millis() as u32) << 16;
    let block = ReportBlock {
        ssrc: of,
        fraction_lost: 64,
        lost: 3,
        highest_sequence,
        jitter: 90,
        last_report: NtpTime::of(answered).middle(),
        delay: delay / 1_000,
    };
    let report = Report { ssrc: 9, blocks: vec![block], ..Report::default() };
    let said = Compound { reports: vec![report], names: vec![(9, "n".to_owned())], ..Compound::default() };
    let mut frame = Vec::new();
    put_interleaved(1, &said.emit().expect("a report"), &mut frame);
    frame
}

#[test]
fn a_ledger_of_rtsp_has_the_reports_of_both_ends_until_the_connection_is_over() {
    let catalogue = catalogue_of("rtsp");
    let (mut client, mut pipe) = (client_of(&catalogue, MANNER, None), Pipe::WIDE);
    client.set_recording(Some(FlowRecording::default()));
    let mut heard = ExchangeEvent::default();
    play(&mut *client, &mut pipe, &mut heard, ms(100), 2);
    run(&mut *client, &mut pipe, ms(100), ms(600));
    let ssrc = catalogue.presentations[0].streams[0].ssrc;
    let first = heard.items(&pipe).into_iter().find_map(|item| match item {
        Item::Interleaved { channel: 0, packet } => Some(RtpHeader::parse(&packet).expect("a packet").0),
        _ => None,
    });
    let first = u32::from(first.expect("it plays").sequence_number);
    let came = report_of_receiver((ssrc, first + 70), ms(100), Duration::from_millis(400));
    client.handle_arrival(ms(600), CONNECTION, Arrival::Bytes(&came));
    run(&mut *client, &mut pipe, ms(600), ms(5_000));
    assert!(client.poll_record().is_some_and(|record| record.ended == ms(1_084)), "the movie has ended");
    assert!(client.has_ledger() && client.poll_ledger().is_none(), "and its reports have not");
    assert!(run(&mut *client, &mut pipe, ms(5_000), ms(20_000)).finished);
    let ledger = client.poll_ledger().expect("nothing more is said");
    assert!(client.poll_ledger().is_none() && !client.has_ledger());
    assert_eq!(times(&ledger, &FrameEventKind::LastByte).len(), FRAMES as usize);
    let (own, others): (Vec<_>, Vec<_>) = ledger.reports.iter().partition(|report| report.from_sender);
    for track in [0, 1] {
        let own: Vec<_> = own.iter().filter(|report| report.track == track).collect();
        let [own] = own[..] else { panic!("{own:?}") };
        assert_eq!((own.sent, own.bye), (Some(ms(984)), true), "with the end, before a first one was due");
        assert_eq!((own.packets.is_some(), own.arrived), (true, None), "that it came the receiver alone knows");
    }
    let [other] = others[..] else { panic!("{others:?}") };
    assert_eq!((other.track, other.sent, other.arrived), (0, None, Some(ms(500))));
    assert_eq!((other.fraction_lost, other.lost, other.highest_sequence), (Some(0.25), Some(3), Some(70)));
    assert_eq!(other.jitter, Some(Duration::from_millis(1)));
    let round_trip = other.round_trip.expect("it answers a report").as_secs_f64();
    assert!((round_trip - 0.1).abs() < 1e-4, "half a second, of which the receiver took 0.4 s: {round_trip}");
}

#[test]
fn a_server_that_is_stopped_has_the_ledger_as_far_as_it_came() {
    let (mut client, mut pipe) = (client_of(&catalogue_of("rtsp"), MANNER, None), Pipe::WIDE);
    client.set_recording(Some(FlowRecording::default()));
    play(&mut *client, &mut pipe, &mut ExchangeEvent::default(), ms(100), 2);
    run(&mut *client, &mut pipe, ms(100), ms(300));
    client.stop(ms(300));
    let ledger = client.poll_ledger().expect("it has ended");
    assert_eq!((ledger.record.ending.clone(), times(&ledger, &FrameEventKind::Offered).len()), (Ending::Stopped, 6));
    assert_eq!(ledger.reports, [], "none was due yet");
}
