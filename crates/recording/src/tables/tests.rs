//! The tables are read back with the library's reader, and held against the documentation.

use std::collections::BTreeMap;

use bytes::Bytes;
use framewire_units::{Bitrate, Duration, Timestamp};
use parquet::basic::Compression;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::table::FORMAT_KEY;
use super::{LedgerRow, PacketRow, ReleaseRow, SampleRow, Table, TablesAhead, WrittenAhead};
use crate::ledger::{Ledger, RootCause};
use crate::record::{
    AirCounts, FlowLog, FlowSample, FoundStream, LossPlace, PacketRecord, PacketsAhead, ReleaseRecord,
    TransmissionCounts,
};
use crate::summary::Summary;
use crate::testing::{DatagramFlow, Injected, LIVE, StreamFlow, movie, ms};

fn written<R>(table: &Table<R>, groups: Vec<Vec<R>>) -> SerializedFileReader<Bytes> {
    let mut writer = table.writer(Vec::new()).unwrap();
    groups.iter().for_each(|rows| writer.write_rows(rows).unwrap());
    SerializedFileReader::new(Bytes::from(writer.finish().unwrap())).unwrap()
}

fn rows(reader: &SerializedFileReader<Bytes>) -> Vec<BTreeMap<String, Field>> {
    let rows = reader.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().get_column_iter().map(|(name, field)| (name.clone(), field.clone())).collect())
        .collect()
}

fn datagrams() -> FlowLog {
    let mut flow = DatagramFlow::new(movie(&[1200; 4]));
    for frame in 0..4 {
        flow.send(frame, if frame == 1 { &[Injected::Dropped(LossPlace::Link, "retry limit")] } else { &[] });
    }
    let first = flow.log.packets.in_memory().first_mut().unwrap();
    first.transmissions = vec![Bitrate::from_mbps(11), Bitrate::from_kbps(5_500), Bitrate::from_mbps(1)];
    first.sniffed = Some(2);
    flow.log
}

fn stream() -> FlowLog {
    let mut flow = StreamFlow::new(movie(&[1000; 4]));
    for frame in 0..4 {
        flow.write(frame);
    }
    flow.read(4000, ms(130));
    flow.log.samples.push(FlowSample {
        at: ms(100),
        cwnd_packets: Some(10),
        srtt: Some(Duration::from_millis(30)),
        delivery_rate: Some(Bitrate::from_mbps(5)),
        ..FlowSample::default()
    });
    flow.log.releases.push(ReleaseRecord { packet: 3, intended: ms(1), actual: Timestamp::from_nanos(1_000_700) });
    flow.log
}

#[test]
fn a_row_reads_back_as_it_was_written() {
    let (datagrams, stream) = (datagrams(), stream());
    let ledgers = [Ledger::build(&datagrams, LIVE), Ledger::build(&stream, LIVE)];
    let reader = written(&super::frames(), ledgers.iter().map(|ledger| LedgerRow::all(ledger).collect()).collect());
    assert_eq!(reader.num_row_groups(), 2, "one row group per flow");
    let rows = rows(&reader);
    assert_eq!(rows.len(), 8);
    let lost = &rows[1];
    assert_eq!(lost["flow"], Field::Str("udp".into()));
    assert_eq!(
        (&lost["frame"], &lost["size"], &lost["packets_lost"]),
        (&Field::Int(1), &Field::Int(1200), &Field::Int(1))
    );
    assert_eq!((&lost["due_ns"], &lost["arrival_ns"]), (&Field::Long(40_000_000), &Field::Null));
    assert_eq!((&lost["fate"], &lost["complete"]), (&Field::Str("lost".into()), &Field::Bool(false)));
    assert_eq!(
        (&lost["root_cause_place"], &lost["root_cause"]),
        (&Field::Str("link".into()), &Field::Str("retry limit".into()))
    );
    assert_eq!(rows[2]["missing_reference"], Field::Int(1));
    let first_of_stream = &rows[4];
    assert_eq!((&first_of_stream["flow"], &first_of_stream["packets"]), (&Field::Str("tcp".into()), &Field::Null));
    assert_eq!(first_of_stream["latency_ns"], Field::Long(130_000_000));
}

#[test]
fn packets_know_their_frame_and_their_rates() {
    let log = datagrams();
    let rows = rows(&written(&super::packets(), vec![PacketRow::all(&log).collect()]));
    assert_eq!(rows.len(), log.packets.len());
    assert_eq!((&rows[0]["rates"], &rows[0]["transmissions"]), (&Field::Str("11,5.5,1".into()), &Field::Int(3)));
    assert!(rows.iter().all(|row| row["headers"] == Field::Int(16)), "as the sender says, not as sizes suggest");
    assert_eq!((&rows[0]["sniffed"], &rows[1]["sniffed"]), (&Field::Int(2), &Field::Null));
    let dropped: Vec<_> = rows.iter().filter(|row| row["outcome"] == Field::Str("dropped".into())).collect();
    assert_eq!(dropped.len(), 1);
    assert_eq!((&dropped[0]["frame"], &dropped[0]["cause"]), (&Field::Int(1), &Field::Str("retry limit".into())));
}

#[test]
fn samples_and_releases_read_back() {
    let log = stream();
    let samples = rows(&written(&super::flows(), vec![SampleRow::all(&log).collect()]));
    assert_eq!((&samples[0]["cwnd_packets"], &samples[0]["ssthresh_packets"]), (&Field::Int(10), &Field::Null));
    assert_eq!(
        (&samples[0]["srtt_ns"], &samples[0]["delivery_rate_bps"]),
        (&Field::Long(30_000_000), &Field::Long(5_000_000))
    );
    let releases = rows(&written(&super::accuracy(), vec![ReleaseRow::all(&log).collect()]));
    assert_eq!(
        (&releases[0]["intended_ns"], &releases[0]["actual_ns"]),
        (&Field::Long(1_000_000), &Field::Long(1_000_700))
    );
}

#[test]
fn a_column_that_older_tables_are_without_is_hashed_where_it_says_something_new() {
    type Row = (u32, u32);
    let old = || Table::<Row>::named("t").int32("frame", |row: &Row| row.1);
    let new = || Table::<Row>::named("t").int32_since("track", 0, |row: &Row| row.0).int32("frame", |row: &Row| row.1);
    let video = [(0, 1), (0, 2)];
    assert_eq!(new().hash(video), old().hash(video));
    let audio = [[(1, 1), (0, 2)], [(0, 1), (1, 2)], [(2, 1), (0, 2)]];
    let hashes: std::collections::BTreeSet<_> = audio.iter().map(|&rows| new().hash(rows)).collect();
    assert_eq!(hashes.len(), 3);
    assert!(!hashes.contains(&old().hash(video)));
}

/// A flow of so many packets that its tables are of several groups.
fn flood() -> FlowLog {
    let mut log = datagrams();
    let few = log.packets.to_vec();
    let packet = |number| PacketRecord { packet: number, ..few[number as usize % few.len()].clone() };
    let release = |packet| ReleaseRecord { packet, intended: ms(packet), actual: ms(packet + packet % 3) };
    log.packets = (0..70_000).map(packet).collect();
    log.releases = (0..70_000).map(release).collect();
    log
}

fn made_ahead(log: &FlowLog) -> WrittenAhead {
    let mut tables = TablesAhead::new(&log.flow, None);
    log.packets.iter().for_each(|packet| tables.add_packet(packet.into_owned()));
    log.releases.iter().for_each(|release| tables.add_release(release.into_owned()));
    assert!(tables.failure().is_none());
    tables.finish().unwrap()
}

#[test]
fn tables_that_were_made_ahead_have_the_same_rows() {
    let log = flood();
    let ahead = made_ahead(&log);
    assert!(ahead.failure().is_none());
    let read = |bytes| SerializedFileReader::new(Bytes::from(bytes)).unwrap();

    let table = super::packets();
    let mut writer = table.writer(Vec::new()).unwrap();
    ahead.write_packets(&mut writer, &log).unwrap();
    let packets = read(writer.finish().unwrap());
    assert_eq!(packets.num_row_groups(), 3);
    let packets = rows(&packets);
    assert!(packets == rows(&written(&super::packets(), vec![PacketRow::all(&log).collect()])));
    assert!(packets.iter().any(|row| row["frame"] == Field::Int(3)), "what only the sender's log knows is among them");

    let table = super::accuracy();
    let mut writer = table.writer(Vec::new()).unwrap();
    ahead.write_releases(&mut writer).unwrap();
    let releases = rows(&read(writer.finish().unwrap()));
    assert!(releases == rows(&written(&super::accuracy(), vec![ReleaseRow::all(&log).collect()])));
}

#[test]
fn a_disk_that_refuses_tables_made_ahead_is_told() {
    let directory = std::path::Path::new("/nonexistent/run");
    let mut tables = TablesAhead::new("flood", Some(directory.into()));
    flood().packets.iter().for_each(|packet| tables.add_packet(packet.into_owned()));
    assert!(tables.failure().unwrap().to_string().starts_with("/nonexistent/run"));
    assert!(tables.finish().unwrap_err().to_string().contains("No such file"));
}

#[test]
fn what_is_counted_of_all_packets_is_not_known_where_some_were_left_out() {
    let ahead = |left_out| PacketsAhead { tables: WrittenAhead::default(), delivered: 500, left_out };
    let air = AirCounts { transmissions: TransmissionCounts { packets: [1, 0, 0, 0, 0], total: 1 }, sniffed: None };
    let summary = |log: &FlowLog| Summary::build(&Ledger::build(log, LIVE), log, &LIVE);
    let whole = FlowLog { found: Some(FoundStream::default()), bulk: None, air: Some(air), ..stream() };
    let whole = FlowLog { ahead: Some(ahead(0)), ..whole };
    let cut = FlowLog { ahead: Some(ahead(1)), ..whole.clone() };
    assert!(summary(&whole).transmissions.is_some() && summary(&cut).transmissions.is_none());
    // A datagram that was dropped on the link without a record.
    let lost = |log: FlowLog| Ledger::build(&log, LIVE).rows[1].root_cause.clone();
    let unseen = |left_out| FlowLog { ahead: Some(ahead(left_out)), packets: Default::default(), ..datagrams() };
    assert_eq!(lost(datagrams()), Some(RootCause::new(LossPlace::Link, "retry limit")));
    assert_eq!(lost(unseen(0)), Some(RootCause::new(LossPlace::Link, "run ended")));
    assert_eq!(lost(unseen(1)), None);
}

#[test]
fn the_summary_reads_back() {
    let log = datagrams();
    let summary = Summary::build(&Ledger::build(&log, LIVE), &log, &LIVE);
    let rows = rows(&written(&super::summary(), vec![vec![summary.clone()]]));
    let row = &rows[0];
    assert_eq!((&row["shown"], &row["undecodable"], &row["lost"]), (&Field::Int(1), &Field::Int(2), &Field::Int(1)));
    assert_eq!((&row["runs_1"], &row["frame_runs_1"]), (&Field::Int(1), &Field::Int(1)));
    let [p50, .., largest] = summary.latency_ms.unwrap();
    assert_eq!((&row["latency_p50_ms"], &row["latency_max_ms"]), (&Field::Double(p50), &Field::Double(largest)));
    assert_eq!(row["sniffed_total"], Field::Long(2));
}

#[test]
fn files_carry_the_format_version_and_are_compressed_with_zstd() {
    let log = stream();
    let reader = written(&super::flows(), vec![SampleRow::all(&log).collect()]);
    let metadata = reader.metadata();
    let pairs = metadata.file_metadata().key_value_metadata().unwrap();
    assert!(pairs.iter().any(|pair| pair.key == FORMAT_KEY && pair.value.as_deref() == Some("6")));
    assert!(matches!(metadata.row_group(0).column(0).compression(), Compression::ZSTD(_)));
}

#[test]
fn a_table_without_rows_is_still_a_table() {
    let reader = written(&super::packets(), vec![vec![], vec![]]);
    assert_eq!((reader.num_row_groups(), rows(&reader).len()), (0, 0));
    assert_eq!(reader.metadata().file_metadata().schema_descr().num_columns(), super::packets().columns.len());
}

#[test]
fn the_hash_is_that_of_the_content() {
    let hash = |log: &FlowLog| {
        let ledger = Ledger::build(log, LIVE);
        super::frames().hash(LedgerRow::all(&ledger))
    };
    let log = datagrams();
    assert_eq!(hash(&log), hash(&log.clone()));
    let mut other = log.clone();
    other.datagrams_received.in_memory()[0].at += Duration::from_nanos(1);
    assert_ne!(hash(&log), hash(&other), "one nanosecond is a difference");
    let mut renamed = log.clone();
    renamed.flow = "udp2".into();
    assert_ne!(hash(&log), hash(&renamed));

    let values = |values: Vec<Option<u32>>| Table::<Option<u32>>::named("t").int32("v", |v| *v).hash(values);
    assert_ne!(values(vec![Some(0), None]), values(vec![None, Some(0)]), "null is not zero, and order counts");
    assert_ne!(values(vec![None]), values(vec![]));
    let texts =
        |texts: [&'static str; 2]| Table::<&str>::named("t").text("v", |text| (*text).into()).hash(texts).to_string();
    assert_ne!(texts(["ab", "c"]), texts(["a", "bc"]), "texts do not run into each other");
    assert_eq!(texts(["ab", "c"]).len(), 32);
}

/// A hash of the same rows must stay the same from version to version: it is compared across builds. This one was
/// worked out by the xxhash package of Python over the canonical bytes as `docs/results.md` describes them.
#[test]
fn the_hash_is_pinned() {
    let table = Table::<(u32, &str)>::named("pinned").int32("number", |r| r.0).text("text", |r| r.1.into());
    assert_eq!(table.hash([(1, "one"), (2, "two")]).to_string(), "2a786b0270e64e4d1c051213873f061e");
}

/// The columns of one table as `docs/results.md` lists them: name and type.
fn documented(table: &str) -> Vec<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results.md");
    let text = std::fs::read_to_string(path).unwrap();
    let section = text.split("\n## ").find(|section| section.starts_with(&format!("{table}.parquet"))).unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    let columns = lines.flat_map(|line| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let (names, kind) = (cells.next().unwrap(), cells.next().unwrap().to_owned());
        names.split(',').map(move |name| (name.trim().trim_matches('`').to_owned(), kind.clone())).collect::<Vec<_>>()
    });
    columns.collect()
}

fn described<R>(table: &Table<R>) -> Vec<(String, String)> {
    table.columns.iter().map(|column| (column.name.to_owned(), column.type_name())).collect()
}

#[test]
fn the_documentation_lists_exactly_the_columns_that_are_written() {
    assert_eq!(documented("frames"), described(&super::frames()));
    assert_eq!(documented("packets"), described(&super::packets()));
    assert_eq!(documented("flows"), described(&super::flows()));
    assert_eq!(documented("rates"), described(&super::rates()));
    assert_eq!(documented("rtcp"), described(&super::rtcp()));
    assert_eq!(documented("accuracy"), described(&super::accuracy()));
    assert_eq!(documented("summary"), described(&super::summary()));
}
