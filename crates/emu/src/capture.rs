//! Captures: both ends of a lane in one pcapng file (draft-ietf-opsawg-pcapng), written by a thread of its own so that
//! the pump never waits for a disk.

mod headers;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use framewire_link::Port;
use framewire_units::Timestamp;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use serde::Serialize;

use crate::clock::Clock;
use crate::error::EmuError;

/// A snap length that no frame exceeds.
const WHOLE_FRAMES: u32 = 262_144;
/// Bytes that a capture takes at most unless told otherwise, about. Ours: 95 minutes of 6 Mbit/s, seen at both ends; what
/// is read again at the end of a run takes a minute or so.
pub const CAPTURE_SIZE: u64 = 8 << 30;
/// What the writer of a run that is to end at once is given for frames that still wait; the rest is left out and counted.
const ENDING: Duration = Duration::from_secs(1);
/// Frames that may wait for the disk, in bytes. What exceeds it is left out of the capture and counted.
const WAITING_AT_MOST: usize = 128 << 20;
/// How often the writer looks for frames.
const INTERVAL: Duration = Duration::from_millis(50);
/// Time stamps are in units of 10^-9 s (if_tsresol).
const NANOSECONDS: u8 = 9;

/// What a capture keeps of each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// All of it.
    Frames,
    /// Its headers: Ethernet, IP, TCP or UDP, and of UDP what stands before the media (RTP and its payload format). The
    /// length that it had is kept beside.
    Headers,
}

impl Kept {
    fn length(self, frame: &[u8]) -> usize {
        match self {
            Self::Frames => frame.len(),
            Self::Headers => headers::length(frame),
        }
    }
}

/// How a capture went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureOutcome {
    /// Frames in the file.
    pub written: u64,
    /// Frames that are missing from it.
    pub left_out: u64,
    /// Why, if the file could not be written.
    pub error: Option<String>,
    /// The size in bytes that it may have, where it reached it: what came after is left out.
    pub full_at: Option<u64>,
    /// What was not done with it any more, because the run was to end at once.
    pub cut_short: Option<String>,
}

struct Captured {
    host: Port,
    at: Timestamp,
    frame: Bytes,
}

#[derive(Default)]
struct Waiting {
    frames: Vec<Captured>,
    bytes: usize,
    left_out: u64,
    ended: bool,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    ended: Condvar,
    hurried: AtomicBool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // The guarded data is whole at every moment: a panic elsewhere cannot leave it torn.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pump's end of a capture.
pub(crate) struct CaptureBuffer {
    shared: Arc<Shared>,
    pending: Vec<Captured>,
}

/// The writer's end of a capture.
pub(crate) struct CaptureWriter {
    path: PathBuf,
    shared: Arc<Shared>,
    thread: JoinHandle<CaptureOutcome>,
}

/// Starts a capture of `most` bytes, about.
///
/// # Errors
/// When the file cannot be created or its head not be written.
pub(crate) fn start(
    path: &Path,
    kept: Kept,
    most: u64,
    clock: Clock,
) -> Result<(CaptureBuffer, CaptureWriter), EmuError> {
    let failed = |source| EmuError::Capture { path: path.to_owned(), source };
    let writer = open(path).map_err(failed)?;
    let shared = Arc::new(Shared::default());
    let buffer = CaptureBuffer { shared: Arc::clone(&shared), pending: Vec::new() };
    let of_thread = Arc::clone(&shared);
    let thread = thread::Builder::new()
        .name("fw-capture".to_owned())
        .spawn(move || write_all(&of_thread, writer, kept, most, clock))
        .map_err(failed)?;
    Ok((buffer, CaptureWriter { path: path.to_owned(), shared, thread }))
}

impl CaptureBuffer {
    /// Adds a frame that was seen at a host.
    pub(crate) fn add(&mut self, host: Port, at: Timestamp, frame: &Bytes) {
        self.pending.push(Captured { host, at, frame: frame.clone() });
    }

    /// Hands over what was added, unless the writer is just taking frames: then the next call will.
    pub(crate) fn hand_over(&mut self) {
        if let Ok(mut waiting) = self.shared.waiting.try_lock() {
            append(&mut waiting, &mut self.pending);
        }
    }
}

impl Drop for CaptureBuffer {
    /// Hands over the rest and lets the writer end.
    fn drop(&mut self) {
        let mut waiting = self.shared.lock();
        append(&mut waiting, &mut self.pending);
        waiting.ended = true;
        self.shared.ended.notify_one();
    }
}

fn append(waiting: &mut Waiting, pending: &mut Vec<Captured>) {
    for captured in pending.drain(..) {
        let length = captured.frame.len();
        if waiting.bytes + length > WAITING_AT_MOST {
            waiting.left_out += 1;
        } else {
            waiting.bytes += length;
            waiting.frames.push(captured);
        }
    }
}

impl CaptureWriter {
    /// Gives the writer little time for what waits when the pump has ended.
    pub(crate) fn hurry(&self) {
        self.shared.hurried.store(true, Ordering::Relaxed);
    }

    /// Waits for the file to be whole.
    pub(crate) fn join(self) -> CaptureOutcome {
        self.thread.join().unwrap_or_else(|_| CaptureOutcome {
            error: Some(format!("the writer of {} ended unexpectedly", self.path.display())),
            ..CaptureOutcome::default()
        })
    }
}

type Writer = PcapNgWriter<BufWriter<File>>;

fn open(path: &Path) -> io::Result<Writer> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut writer = PcapNgWriter::new(file).map_err(plain)?;
    for (name, description) in
        [("sender", "device of the sender's host"), ("receiver", "device of the receiver's host")]
    {
        let mut block = InterfaceDescriptionBlock::new(DataLink::ETHERNET, WHOLE_FRAMES);
        block.options.push(InterfaceDescriptionOption::IfName(Cow::Borrowed(name)));
        block.options.push(InterfaceDescriptionOption::IfDescription(Cow::Borrowed(description)));
        block.options.push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
        writer.write_pcapng_block(block).map_err(plain)?;
    }
    writer.get_mut().flush()?;
    Ok(writer)
}

fn plain(error: pcap_file::PcapError) -> io::Error {
    match error {
        pcap_file::PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

fn write_all(shared: &Shared, mut writer: Writer, kept: Kept, most: u64, clock: Clock) -> CaptureOutcome {
    let mut outcome = CaptureOutcome::default();
    // One reading for the whole file: differences in it are those of the run's clock.
    let origin = clock.to_unix(Timestamp::ZERO);
    let mut bytes = 0;
    loop {
        let (frames, ended) = take(shared);
        let ended_at = ended.then(Instant::now);
        for captured in &frames {
            if bytes >= most {
                outcome.full_at = Some(most);
            }
            let is_late = ended_at.is_some_and(|ended| ended.elapsed() >= ENDING);
            let is_over = is_late && shared.hurried.load(Ordering::Relaxed);
            if outcome.error.is_some() || outcome.full_at.is_some() || is_over {
                outcome.left_out += 1;
                continue;
            }
            let written = write(&mut writer, captured, kept, origin);
            bytes += *written.as_ref().unwrap_or(&0) as u64;
            note(&mut outcome, written);
        }
        if ended {
            break;
        }
    }
    outcome.left_out += shared.lock().left_out;
    if let Err(error) = writer.get_mut().flush() {
        outcome.error.get_or_insert(error.to_string());
    }
    outcome
}

/// The frames that wait, in the order of their time stamps, and whether they are the last.
fn take(shared: &Shared) -> (Vec<Captured>, bool) {
    let guard = shared.lock();
    let (mut guard, _) = shared
        .ended
        .wait_timeout_while(guard, INTERVAL, |waiting| !waiting.ended)
        .unwrap_or_else(PoisonError::into_inner);
    let mut frames = std::mem::take(&mut guard.frames);
    guard.bytes = 0;
    let ended = guard.ended;
    drop(guard);
    frames.sort_by_key(|captured| captured.at);
    (frames, ended)
}

fn note(outcome: &mut CaptureOutcome, result: io::Result<usize>) {
    match result {
        Ok(_) => outcome.written += 1,
        Err(error) => {
            outcome.left_out += 1;
            outcome.error = Some(error.to_string());
        }
    }
}

/// Writes a frame and returns the bytes that it took.
fn write(writer: &mut Writer, captured: &Captured, kept: Kept, origin: Duration) -> io::Result<usize> {
    let block = EnhancedPacketBlock {
        interface_id: u32::from(captured.host == Port::Receiver),
        timestamp: origin + Duration::from_nanos(captured.at.as_nanos()),
        original_len: captured.frame.len() as u32,
        data: Cow::Borrowed(&captured.frame[..kept.length(&captured.frame)]),
        options: Vec::new(),
    };
    writer.write_pcapng_block(block).map_err(plain)
}

/// Makes a capture of whole frames one of headers, unless `is_over` says meanwhile that there is no time for it. Returns
/// whether it did.
///
/// # Errors
/// When it cannot be read or written; it then stays as it was, as where there was no time.
pub fn keep_headers(capture: &Path, is_over: impl Fn() -> bool) -> io::Result<bool> {
    let shorter = capture.with_extension("headers");
    let copied = copy_headers(capture, &shorter, is_over);
    let kept =
        copied.and_then(|whole| if whole { std::fs::rename(&shorter, capture).map(|()| true) } else { Ok(false) });
    if !matches!(kept, Ok(true)) {
        let _ = std::fs::remove_file(&shorter);
    }
    kept
}

fn copy_headers(from: &Path, to: &Path, is_over: impl Fn() -> bool) -> io::Result<bool> {
    let mut reader = PcapNgReader::new(BufReader::with_capacity(1 << 20, File::open(from)?)).map_err(plain)?;
    let mut writer = open(to)?;
    while let Some(block) = reader.next_block() {
        if is_over() {
            return Ok(false);
        }
        if let Block::EnhancedPacket(mut packet) = block.map_err(plain)? {
            let kept = Kept::Headers.length(&packet.data);
            packet.data = Cow::Borrowed(&packet.data[..kept]).into_owned().into();
            writer.write_pcapng_block(packet).map_err(plain)?;
        }
    }
    writer.get_mut().flush()?;
    Ok(true)
}
