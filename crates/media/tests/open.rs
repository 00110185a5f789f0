//! Movies that are read piece by piece: little memory for large files, and an early end for what is none.

use crate::support;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use framewire_media::ladder::{Level, LevelError};
use framewire_media::streaming_file::{ReadAt, Version};
use framewire_media::{FrameIndex, Movie, OpenError, ScanError, probe, stated_frame_rate};
use support::Stream;

const MIB: u64 = 1 << 20;

/// A part over and over, then zeros, and what was asked for.
#[derive(Clone)]
struct Large {
    part: Vec<u8>,
    times: u64,
    length: u64,
    read: Arc<AtomicU64>,
    largest: Arc<AtomicU64>,
    /// Where it ends by now.
    cut: Arc<AtomicU64>,
    /// How often it was written to.
    writes: Arc<AtomicU64>,
}

impl Large {
    fn new(part: Vec<u8>, times: u64, length: u64) -> Self {
        let cut = Arc::new(AtomicU64::new(length));
        Self { part, times, length, read: Arc::default(), largest: Arc::default(), cut, writes: Arc::default() }
    }

    fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl ReadAt for Large {
    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn version(&self) -> io::Result<Option<Version>> {
        let modified = Some(Duration::from_nanos(self.writes.load(Ordering::Relaxed)));
        Ok(Some(Version { length: self.length, modified }))
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let (size, end) = (buffer.len() as u64, self.part.len() as u64 * self.times);
        if offset + size > self.cut.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read.fetch_add(size, Ordering::Relaxed);
        self.largest.fetch_max(size, Ordering::Relaxed);
        buffer.fill(0);
        let mut at = offset;
        while at < end.min(offset + size) {
            let from = (at % self.part.len() as u64) as usize;
            let count = (self.part.len() - from).min((offset + size - at) as usize);
            buffer[(at - offset) as usize..][..count].copy_from_slice(&self.part[from..from + count]);
            at += count as u64;
        }
        Ok(())
    }
}

/// A closed group of three frames, with so many bytes of stuffing.
fn group(size: u64) -> Vec<u8> {
    let mut bytes = Stream::default().sequence().gop(true, false).pictures("I0 P1 P2").bytes;
    bytes.resize(size as usize, 0);
    bytes
}

#[test]
fn what_is_no_movie_is_refused_within_the_first_megabytes() {
    let zeros = Large::new(vec![0], 0, 3_000 * MIB);
    let refused = FrameIndex::read(&zeros, None).unwrap_err();
    assert!(matches!(refused, OpenError::Scan(ScanError::NotMpegVideo { length }) if length == 4 * MIB), "{refused}");
    assert!((4 * MIB..=8 * MIB).contains(&zeros.read()), "{} bytes were read", zeros.read());
    // Headers without a picture behind them, too.
    let headers = Large::new(Stream::default().sequence().bytes, 1, 3_000 * MIB);
    let refused = FrameIndex::read(&headers, None).unwrap_err();
    assert!(matches!(refused, OpenError::Scan(ScanError::NoPicture { .. })), "{refused}");
    assert!(headers.read() <= 8 * MIB);
    // And a picture that does not end.
    let endless = Large::new(group(4096), 1, 3_000 * MIB);
    let refused = FrameIndex::read(&endless, None).unwrap_err();
    assert!(matches!(refused, OpenError::Scan(ScanError::FrameTooLarge { .. })), "{refused}");
    assert!((64 * MIB..=72 * MIB).contains(&endless.read()), "{} bytes were read", endless.read());
}

#[test]
fn a_large_movie_is_read_piece_by_piece() {
    let large = Large::new(group(MIB), 80, 80 * MIB);
    let movie = Movie::open(large.clone()).unwrap();
    assert_eq!((movie.size(), movie.index.frames.len()), (80 * MIB, 240));
    assert!(large.largest.load(Ordering::Relaxed) <= 4 * MIB);
    let read = large.read();
    let (frame, part) = (&movie.index.frames[118], group(MIB));
    let bytes = movie.frame_bytes(118);
    assert_eq!(large.read() - read, u64::from(frame.size), "a frame is read when it is asked for");
    assert_eq!(bytes, part[(frame.offset % MIB) as usize..][..frame.size as usize]);
    // The same frames as of one in memory.
    let whole: Vec<u8> = part.repeat(80);
    assert_eq!(FrameIndex::scan(&whole).unwrap(), *movie.index);
}

#[test]
fn a_level_of_a_ladder_is_read_piece_by_piece() {
    let large = Large::new(group(MIB), 80, 80 * MIB);
    let level = Level::open(large.clone()).unwrap();
    assert!(large.largest.load(Ordering::Relaxed) <= 4 * MIB);
    assert_eq!(level.frames().len(), 240);
    let read = large.read();
    let bytes = level.frame_bytes(118).unwrap();
    assert_eq!(large.read() - read, u64::from(level.frames()[118].size), "a frame is read when it is asked for");
    assert_eq!(bytes, Movie::open(large.clone()).unwrap().frame_bytes(118));
    // The same level as of a file in memory, and an error where it is cut.
    let whole = Level::parse(group(MIB).repeat(80).into()).unwrap();
    assert_eq!((whole.frames(), whole.size()), (level.frames(), level.size()));
    large.cut.store(40 * MIB, Ordering::Relaxed);
    assert_eq!(level.frame_bytes(239).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    assert!(matches!(Level::open(large), Err(LevelError::Read(_))));
}

#[test]
fn a_small_movie_is_kept_whatever_becomes_of_its_file() {
    let small = Large::new(group(4096), 3, 3 * 4096);
    let movie = Movie::open(small.clone()).unwrap();
    small.cut.store(0, Ordering::Relaxed);
    assert_eq!(movie.frame_bytes(8), group(4096)[movie.index.frames[8].offset as usize - 8192..]);
}

#[test]
fn a_large_file_that_is_cut_while_it_is_used_is_told() {
    let large = Large::new(group(MIB), 80, 80 * MIB);
    let movie = Movie::open(large.clone()).unwrap();
    large.cut.store(40 * MIB, Ordering::Relaxed);
    assert_eq!(movie.frame_bytes(0).len() as u32, movie.index.frames[0].size);
    assert_eq!(movie.check(), Ok(()));
    let lost = &movie.index.frames[238];
    assert_eq!(movie.clone().frame_bytes(238), vec![0; lost.size as usize]);
    movie.frame_bytes(239);
    let told = movie.check().unwrap_err().to_string();
    assert!(told.starts_with("the file changed while it was in use: frame 238 cannot be read: "), "{told}");
}

#[test]
fn a_large_file_that_is_written_to_while_it_is_used_is_told_though_it_has_the_same_length() {
    let large = Large::new(group(MIB), 80, 80 * MIB);
    let movie = Movie::open(large.clone()).unwrap();
    movie.frame_bytes(239);
    assert_eq!(movie.check(), Ok(()));
    large.writes.store(1, Ordering::Relaxed);
    let told = movie.check().unwrap_err().to_string();
    assert_eq!(told, "the file changed while it was in use: it was written to");
    // One that was kept in memory does not care.
    let small = Large::new(group(4096), 3, 3 * 4096);
    let movie = Movie::open(small.clone()).unwrap();
    small.writes.store(1, Ordering::Relaxed);
    assert_eq!(movie.check(), Ok(()));
}

#[test]
fn the_version_of_a_file_is_that_of_its_content() {
    let path = std::env::temp_dir().join(format!("framewire-version-{}", std::process::id()));
    std::fs::write(&path, "content").unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let before = file.version().unwrap().unwrap();
    assert_eq!((before.length, file.version().unwrap()), (7, Some(before)));
    // A time of the past, so that the clock of the file system need not have moved on.
    let writer = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    writer.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(7)).unwrap();
    let after = file.version().unwrap().unwrap();
    assert_eq!((after.length, after.modified), (7, Some(Duration::from_secs(7))));
    assert_ne!(before, after);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(file.version().unwrap(), Some(after), "its name does not matter");
}

#[test]
fn a_file_that_cannot_be_read_is_no_scan_error() {
    let large = Large::new(group(MIB), 80, 80 * MIB);
    large.cut.store(40 * MIB, Ordering::Relaxed);
    assert!(matches!(Movie::open(large.clone()), Err(OpenError::Io(_))));
    assert!(matches!(probe(&large, None, &mut |_| Ok(())), Err(OpenError::Io(_))));
    assert_eq!(stated_frame_rate(&large).unwrap().map(|rate| rate.numerator), Some(25));
}
