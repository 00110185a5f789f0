use std::fs;
use std::path::PathBuf;

use super::*;
use crate::ledger::Ledger;
use crate::record::LossPlace;
use crate::testing::{DatagramFlow, LIVE, movie};

/// A fresh directory that is removed with its content.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("framewire-side-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A log of datagrams with one frame given up, and one that is late by what the clocks are apart.
fn log() -> FlowLog {
    let mut flow = DatagramFlow::new(movie(&[1200, 300, 5_000, 40]));
    (0..4).for_each(|frame| flow.send(frame, &[]));
    let rule = "ifd: B while a frame waits".to_owned();
    let what = FrameEventKind::Discarded { place: LossPlace::SenderPipeline, rule };
    flow.log.frame_events.push(FrameEvent { frame: 3, at: Timestamp::from_millis(7), what });
    flow.log.discarded.push(2);
    flow.log.handed_on.push(HandedOn { sequence: 2, bytes: 700 });
    flow.log.samples.push(FlowSample { at: Timestamp::from_millis(3), queued_bytes: Some(5), ..FlowSample::default() });
    flow.log
}

#[test]
fn a_ledger_is_the_same_whether_its_records_were_apart_or_not() {
    let (scratch, log) = (Scratch::new("same"), log());
    let renumbered: Spool<Renumbered> = vec![(1, Renumbering { frame_num: 3, order: 9 }, Some(299))].into();
    SentRecords { log: log.clone(), renumbered: renumbered.clone() }.write(&scratch.0).unwrap();
    write_received(&scratch.0, &log).unwrap();
    let SentRecords { log: mut read, renumbered: read_again } = SentRecords::read(&scratch.0).unwrap();
    read_received(&scratch.0, &mut read, |at| at).unwrap();
    assert_eq!(read_again, renumbered);
    assert_eq!((&read.frame_events, &read.datagrams_sent), (&log.frame_events, &log.datagrams_sent));
    assert_eq!((&read.datagrams_received, &read.discarded), (&log.datagrams_received, &log.discarded));
    assert_eq!(read.handed_on, log.handed_on);
    assert_eq!(read.samples, log.samples);
    (read.flow, read.frames, read.packets) = (log.flow.clone(), log.frames.clone(), log.packets.clone());
    assert_eq!(Ledger::build(&read, LIVE), Ledger::build(&log, LIVE));
}

#[test]
fn places_in_a_stream_stay_with_their_frames() {
    let scratch = Scratch::new("stream");
    let event = |frame, what| FrameEvent { frame, at: Timestamp::from_millis(u64::from(frame)), what };
    let frame_events = vec![
        event(0, FrameEventKind::FirstByte),
        event(0, FrameEventKind::LastByte),
        event(1, FrameEventKind::FirstByte),
        event(1, FrameEventKind::LastByte),
    ]
    .into();
    let stream_reads = vec![StreamRead { total: 250, at: Timestamp::from_millis(9) }].into();
    let log = FlowLog { frame_events, frame_ends: vec![100, 250], stream_reads, ..FlowLog::default() };
    SentRecords { log: log.clone(), renumbered: Spool::default() }.write(&scratch.0).unwrap();
    write_received(&scratch.0, &log).unwrap();
    let mut read = SentRecords::read(&scratch.0).unwrap().log;
    let later = |at| at + framewire_units::Duration::from_millis(1);
    read_received(&scratch.0, &mut read, later).unwrap();
    assert_eq!((&read.frame_events, &read.frame_ends), (&log.frame_events, &log.frame_ends));
    assert_eq!(read.stream_reads.to_vec(), [StreamRead { total: 250, at: Timestamp::from_millis(10) }]);
}

#[test]
fn what_is_no_table_of_this_kind_is_an_error_that_names_the_file() {
    let scratch = Scratch::new("wrong");
    let read = || SentRecords::read(&scratch.0).unwrap_err().to_string();
    assert!(read().contains("sent_events.parquet: cannot be read as a table: No such file"), "{}", read());
    let log = log();
    SentRecords { log: log.clone(), renumbered: Spool::default() }.write(&scratch.0).unwrap();
    write_received(&scratch.0, &log).unwrap();
    fs::copy(scratch.0.join("received_reads.parquet"), scratch.0.join("sent_datagrams.parquet")).unwrap();
    assert!(read().contains("sent_datagrams.parquet") && read().contains("other columns"), "{}", read());
    let whole = fs::read(scratch.0.join("sent_events.parquet")).unwrap();
    for cut in [0, 3, whole.len() / 2, whole.len() - 1] {
        fs::write(scratch.0.join("sent_events.parquet"), &whole[..cut]).unwrap();
        assert!(read().contains("sent_events.parquet"), "{cut}");
    }
}

/// Any bit of a table changed, and any byte left out: it is read, or an error names it.
#[test]
fn a_damaged_table_is_an_error_that_names_it() {
    let (scratch, log) = (Scratch::new("damaged"), log());
    SentRecords { log, renumbered: Spool::default() }.write(&scratch.0).unwrap();
    let (file, mut refused) = (scratch.0.join("sent_datagrams.parquet"), 0);
    let whole = fs::read(&file).unwrap();
    for (at, bit) in (0..whole.len()).zip((0..8).cycle()) {
        let mut changed = whole.clone();
        changed[at] ^= 1 << bit;
        let cut = [&whole[..at], &whole[at + 1..]].concat();
        for damaged in [changed, cut] {
            fs::write(&file, damaged).unwrap();
            if let Err(error) = SentRecords::read(&scratch.0) {
                assert!(error.to_string().contains("sent_datagrams.parquet: cannot be read as a table"), "{error}");
                refused += 1;
            }
        }
    }
    assert!((whole.len()..2 * whole.len()).contains(&refused), "{refused} of {} changes", 2 * whole.len());
}
