//! The tables of both ends of a stream, of which a run is made: any bytes in the place of one are a table or an error that names
//! its file; and of tables that say anything a ledger is made, whatever it is worth.

use std::fs;
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::path::{Path, PathBuf};
use std::sync::Once;

use arbitrary::{Arbitrary, Result, Unstructured};
use framewire_recording::ledger::Ledger;
use framewire_recording::record::{
    DatagramReceived, DatagramSent, FlowLog, FlowSample, FrameEvent, FrameEventKind, FrameFacts, HandedOn, LossPlace,
    StreamRead,
};
use framewire_recording::spool::Spool;
use framewire_recording::summary::Summary;
use framewire_recording::{SentRecords, network_packets, read_received, transits, write_received};
use framewire_units::{Duration, Playout, Timestamp};

use crate::decoded;

/// By what stands in the first byte of an input.
const TABLES: [&str; 8] = [
    "sent_events",
    "sent_datagrams",
    "sent_renumbered",
    "flows",
    "received_datagrams",
    "received_reads",
    "received_discards",
    "received_handed_on",
];

/// Frames of the movie.
const FRAMES: u32 = 12;

pub(crate) fn run(data: &[u8]) {
    leave_panics_of_parquet_to_its_caller();
    match data.split_first() {
        Some((&first, bytes)) if first < 0x80 => check_bytes(TABLES[usize::from(first) % TABLES.len()], bytes),
        Some((_, bytes)) => _ = decoded::<Records>(bytes).map(|records| check_records(&records.0)),
        None => {}
    }
}

/// libFuzzer's hook ends the process at any panic. Those of the parquet crate are caught where the table is read; one that is
/// not ends the process as well, as `run` does not return from it.
fn leave_panics_of_parquet_to_its_caller() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let other = take_hook();
        set_hook(Box::new(move |panic: &PanicHookInfo<'_>| {
            let of_parquet = panic.location().is_some_and(|place| place.file().contains("/parquet-"));
            if !of_parquet {
                other(panic);
            }
        }));
    });
}

/// The file is read, or refused by its name.
fn check_bytes(table: &str, bytes: &[u8]) {
    let folder = Folder::new();
    let sent = SentRecords { log: FlowLog::default(), renumbered: Spool::default() };
    sent.write(&folder.0).expect("invariant: the folder is there");
    write_received(&folder.0, &FlowLog::default()).expect("invariant: the folder is there");
    fs::write(folder.0.join(format!("{table}.parquet")), bytes).expect("invariant: the folder is there");
    let read = SentRecords::read(&folder.0).and_then(|mut sent| read_received(&folder.0, &mut sent.log, |at| at));
    if let Err(refused) = read {
        assert!(refused.to_string().contains(&format!("{table}.parquet: ")), "{refused}");
    }
}

/// What was written comes back, and is made a ledger of.
fn check_records(log: &FlowLog) {
    let folder = Folder::new();
    let sent = SentRecords { log: log.clone(), renumbered: Spool::default() };
    sent.write(&folder.0).expect("invariant: the folder is there");
    write_received(&folder.0, log).expect("invariant: the folder is there");
    let mut read = SentRecords::read(&folder.0).expect("it was written").log;
    read_received(&folder.0, &mut read, |at| at).expect("it was written");
    assert_eq!((&read.frame_events, &read.datagrams_sent), (&log.frame_events, &log.datagrams_sent));
    assert_eq!((&read.datagrams_received, &read.stream_reads), (&log.datagrams_received, &log.stream_reads));
    read.packets = network_packets(&read);
    _ = transits(&read).count();
    read.frames = frames();
    for playout in [Playout::live(Duration::from_secs(1)), Playout::waiting(Duration::from_millis(100))] {
        let ledger = Ledger::build(&read, playout);
        assert_eq!(ledger.rows.len() as u32, FRAMES, "each frame has a fate");
        _ = Summary::build(&ledger, &read, &playout);
    }
}

/// A frame each 40 ms, each of which refers to the one before it.
fn frames() -> Spool<FrameFacts> {
    let frame = |number: u32| FrameFacts {
        track: 0,
        kind: if number == 0 { 'I' } else { 'P' },
        size: 1_000 + number,
        level: None,
        gop: 0,
        display_index: number,
        due: Timestamp::ZERO + Duration::from_millis(40) * number,
        display_time: Duration::from_millis(40) * number,
        references: number.checked_sub(1).into_iter().collect(),
        missing_reference: false,
        picture_order: None,
        recovers_from: None,
        group_time: (number == 0).then_some(Duration::ZERO),
    };
    (0..FRAMES).map(frame).collect::<Vec<_>>().into()
}

/// Records of any values, which may contradict each other.
struct Records(FlowLog);

impl<'a> Arbitrary<'a> for Records {
    fn arbitrary(input: &mut Unstructured<'a>) -> Result<Self> {
        let mut log = FlowLog {
            frame_events: some(input, event)?.into(),
            frame_ends: some(input, number)?,
            datagrams_sent: some(input, datagram)?.into(),
            datagrams_received: some(input, arrival)?.into(),
            discarded: some(input, number)?.into(),
            handed_on: some(input, |input| Ok(HandedOn { sequence: number(input)?, bytes: size(input)? }))?.into(),
            stream_reads: some(input, |input| Ok(StreamRead { total: number(input)?, at: time(input)? }))?.into(),
            ..FlowLog::default()
        };
        for at in some(input, time)? {
            log.samples.push(FlowSample { at, unsent_bytes: Some(number(input)?), ..FlowSample::default() });
        }
        Ok(Self(log))
    }
}

fn some<T>(input: &mut Unstructured<'_>, one: impl Fn(&mut Unstructured<'_>) -> Result<T>) -> Result<Vec<T>> {
    let count = input.int_in_range(0..=12)?;
    (0..count).map(|_| one(input)).collect()
}

/// Small, or as large as the tables hold it.
fn number(input: &mut Unstructured<'_>) -> Result<u64> {
    Ok(if input.ratio(3, 4)? { input.int_in_range(0..=20)? } else { u64::arbitrary(input)? >> 1 })
}

fn size(input: &mut Unstructured<'_>) -> Result<u32> {
    Ok(if input.ratio(3, 4)? { input.int_in_range(0..=2_000)? } else { u32::arbitrary(input)? >> 1 })
}

fn time(input: &mut Unstructured<'_>) -> Result<Timestamp> {
    let nanos = if input.ratio(3, 4)? { input.int_in_range(0..=2_000_000_000)? } else { number(input)? };
    Ok(Timestamp::from_nanos(nanos))
}

fn event(input: &mut Unstructured<'_>) -> Result<FrameEvent> {
    let rule = "a rule".to_owned();
    let kinds = [
        FrameEventKind::Offered,
        FrameEventKind::Queued,
        FrameEventKind::FirstByte,
        FrameEventKind::LastByte,
        FrameEventKind::BeginsSequence,
        FrameEventKind::Discarded { place: LossPlace::SenderPipeline, rule },
    ];
    let what = input.choose(&kinds)?.clone();
    Ok(FrameEvent { frame: frame(input)?, at: time(input)?, what })
}

fn frame(input: &mut Unstructured<'_>) -> Result<u32> {
    Ok(if input.ratio(7, 8)? { input.int_in_range(0..=FRAMES)? } else { u32::arbitrary(input)? >> 1 })
}

fn datagram(input: &mut Unstructured<'_>) -> Result<DatagramSent> {
    let frame = if input.ratio(7, 8)? { Some(frame(input)?) } else { None };
    Ok(DatagramSent {
        sequence: number(input)?,
        frame,
        part: None,
        size: size(input)?,
        headers: u16::arbitrary(input)?,
        at: time(input)?,
        sent: bool::arbitrary(input)?,
    })
}

fn arrival(input: &mut Unstructured<'_>) -> Result<DatagramReceived> {
    let (sequence, size, at) = (number(input)?, size(input)?, time(input)?);
    Ok(DatagramReceived { sequence, size, at, kept: bool::arbitrary(input)? })
}

/// A directory of this process, in memory where that is a place; its files go with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let thread = format!("{:?}", std::thread::current().id());
        let path = place.join(format!("framewire-tables-{}-{thread}", std::process::id()));
        fs::create_dir_all(&path).expect("a place for files");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
