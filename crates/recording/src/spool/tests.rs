//! Lists that are in memory, on the disk and in both are the same list; what the disk does not do is reported.

use std::fs;

use framewire_units::{Bitrate, Duration, Timestamp};

use super::*;
use crate::record::{FlowSample, LossPlace, PacketRecord, ReleaseRecord};

/// A list that keeps no more than this many records in memory.
fn small<T: Spooled>(in_memory: usize) -> Spool<T> {
    Spool { in_memory, ..Spool::default() }
}

fn packet(number: u64) -> PacketRecord {
    PacketRecord {
        packet: number,
        forward: number.is_multiple_of(2),
        protocol: ["udp", "tcp", "other"][number as usize % 3],
        size: number as u32,
        sequence: (!number.is_multiple_of(5)).then_some(u64::MAX - number),
        payload: 1,
        hop: "wire",
        enqueued: Timestamp::from_nanos(number),
        started: number.is_multiple_of(7).then(|| Timestamp::from_nanos(3 * number)),
        finished: Timestamp::MAX,
        transmissions: vec![Bitrate::from_kbps(5_500); number as usize % 4],
        dropped: number.is_multiple_of(11).then_some((LossPlace::ALL[number as usize % 5], "retry limit")),
        marked: number.is_multiple_of(17),
        clamped: number.is_multiple_of(13),
        sniffed: number.is_multiple_of(3).then_some(number as u16),
    }
}

#[test]
fn a_list_is_the_same_wherever_it_is() {
    for count in [0, 1, 99, 100, 101, BLOCK - 1, BLOCK, BLOCK + 100, 3 * BLOCK + 7] {
        let records: Vec<PacketRecord> = (0..count as u64).map(packet).collect();
        let mut spool = small(100);
        spool.extend(records.clone());
        assert_eq!(spool.len(), count);
        assert_eq!(spool.blocks.is_empty(), count < 100, "{count} records");
        assert!(spool.recent.len() < BLOCK, "no more in memory than a block");
        for _ in 0..2 {
            assert!(spool.iter().map(Cow::into_owned).eq(records.iter().cloned()), "{count} records");
        }
        assert!(spool.failure().is_none());
    }
}

#[test]
fn every_field_comes_back() {
    let sample = FlowSample {
        at: Timestamp::from_millis(1),
        connection: Some(3),
        cwnd_packets: Some(u32::MAX),
        ssthresh_packets: None,
        srtt: Some(Duration::MAX),
        rttvar: Some(Duration::from_nanos(1)),
        in_flight_packets: Some(0),
        unsent_bytes: Some(u64::MAX),
        queued_bytes: Some(0),
        delivery_rate: Some(Bitrate::from_bps(1)),
        retransmissions: Some(2),
        timeouts: None,
        received_bytes: Some(5),
        sending_rate: None,
        estimate: Some(Bitrate::from_bps(u64::MAX)),
        level: Some(255),
    };
    let mut samples = small(1);
    samples.extend([sample.clone(), FlowSample::default()]);
    assert_eq!(samples.to_vec(), [sample, FlowSample::default()]);
    let release = ReleaseRecord { packet: 1, intended: Timestamp::MAX, actual: Timestamp::ZERO };
    let mut releases = small(1);
    releases.push(release);
    assert_eq!(releases.to_vec(), [release]);
}

#[test]
fn copies_go_their_own_ways() {
    let mut one: Spool<u64> = small(10);
    one.extend(0..15);
    let mut other = one.clone();
    one.extend(100..10_000);
    other.extend(200..10_000);
    assert!(one.to_vec().into_iter().eq((0..15).chain(100..10_000)));
    assert!(other.to_vec().into_iter().eq((0..15).chain(200..10_000)));
}

#[test]
fn who_follows_a_list_gets_everything_once() {
    let mut spool: Spool<u64> = small(10);
    let (mut mark, mut followed) = (Mark::default(), Vec::new());
    for end in [5, 9_000, 9_001, 20_000] {
        let length = spool.length;
        spool.extend(length..end);
        let news = spool.written_since(&mut mark);
        assert_eq!(news.len(), news.iter().count());
        followed.extend(news.to_vec());
        assert!(followed.len() <= spool.len() && spool.len() - followed.len() < BLOCK);
    }
    assert!(spool.written_since(&mut mark).is_empty());
    followed.extend(spool.rest_since(mark).to_vec());
    assert!(followed.into_iter().eq(0..20_000));
    assert_eq!(spool.len(), 20_000, "it is as it was");
}

/// A fresh directory that is removed with its content.
struct Scratch(Arc<Path>);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("framewire-spool-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path.into())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn nothing_is_seen_of_the_file() {
    let scratch = Scratch::new("unseen");
    let mut spool = Spool { in_memory: 2, ..Spool::in_directory(Some(scratch.0.clone())) };
    spool.extend(0..100_u64);
    assert!(spool.file.is_some());
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0, "it has no name while it is used");
}

#[test]
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn the_file_is_in_its_directory_and_never_had_a_name() {
    // A directory on the disk of the build: some systems' temporary files cannot be without names.
    let directory: Arc<Path> = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().unwrap().into();
    let mut spool = Spool { in_memory: 2, ..Spool::in_directory(Some(Arc::clone(&directory))) };
    spool.extend(0..100_u64);
    let place = spool.file.as_ref().unwrap().place();
    assert_eq!(place.parent(), Some(&*directory));
    // The kernel shows the number of such a file where others have a name.
    assert!(place.file_name().unwrap().to_str().unwrap().starts_with('#'), "{}", place.display());
}

#[test]
fn where_no_file_can_be_without_a_name_it_loses_it_at_once() {
    let scratch = Scratch::new("named");
    let mut spool: Spool<u64> = small(2);
    let file = file::named_for_a_moment(&scratch.0).unwrap();
    spool.file = Some(Arc::new(ScratchFile::of(file, scratch.0.to_path_buf())));
    spool.extend(0..100);
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 0);
    assert!(spool.to_vec().into_iter().eq(0..100));
}

#[test]
fn a_directory_that_is_not_there_is_told_and_costs_no_memory() {
    let directory: Arc<Path> = Path::new("/nonexistent/run").into();
    let mut spool = Spool { in_memory: 2, ..Spool::in_directory(Some(directory)) };
    assert!(spool.failure().is_none());
    spool.extend(0..100_000_u64);
    let failure = spool.failure().unwrap();
    let message = failure.to_string();
    assert!(message.starts_with("/nonexistent/run") && message.contains("No such file"), "{message}");
    assert!(spool.recent.len() < BLOCK);
    assert!(spool.clone().failure().is_some(), "a copy has the same gap");
}

#[test]
fn a_full_disk_is_told_by_its_number() {
    let full = fs::OpenOptions::new().read(true).write(true).open("/dev/full").unwrap();
    let mut spool: Spool<u64> = small(2);
    spool.file = Some(Arc::new(ScratchFile::of(full, "/run".into())));
    spool.extend(0..10);
    assert_eq!(spool.failure().unwrap().code, Some(28), "ENOSPC");
}

#[test]
fn what_cannot_be_read_again_is_told() {
    let mut spool: Spool<u64> = small(2);
    spool.extend(0..10);
    spool.blocks[0] = spool.blocks[0].moved(1 << 40);
    assert!(spool.iter().count() < 10);
    let message = spool.failure().unwrap().to_string();
    assert!(message.contains("cannot be read again"), "{message}");
}
