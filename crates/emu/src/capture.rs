//! Captures: both ends of a lane in one pcapng file (draft-ietf-opsawg-pcapng), written by a thread of its own so that
//! the pump never waits for a disk.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use framewire_link::Port;
use framewire_units::Timestamp;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use serde::Serialize;

use crate::clock::Clock;
use crate::error::EmuError;

/// Frames that may wait for the disk, in bytes. What exceeds it is left out of the capture and counted.
const WAITING_AT_MOST: usize = 128 << 20;
/// How often the writer looks for frames.
const INTERVAL: Duration = Duration::from_millis(50);
/// Time stamps are in units of 10^-9 s (if_tsresol).
const NANOSECONDS: u8 = 9;

/// How a capture went.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaptureOutcome {
    /// Frames in the file.
    pub written: u64,
    /// Frames that are missing from it.
    pub left_out: u64,
    /// Why, if the file could not be written.
    pub error: Option<String>,
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
    thread: JoinHandle<CaptureOutcome>,
}

/// Starts a capture.
///
/// # Errors
/// When the file cannot be created or its head not be written.
pub(crate) fn start(path: &Path, snap_length: u32, clock: Clock) -> Result<(CaptureBuffer, CaptureWriter), EmuError> {
    let failed = |source| EmuError::Capture { path: path.to_owned(), source };
    let writer = open(path, snap_length).map_err(failed)?;
    let shared = Arc::new(Shared::default());
    let buffer = CaptureBuffer { shared: Arc::clone(&shared), pending: Vec::new() };
    let thread = thread::Builder::new()
        .name("fw-capture".to_owned())
        .spawn(move || write_all(&shared, writer, snap_length, clock))
        .map_err(failed)?;
    Ok((buffer, CaptureWriter { path: path.to_owned(), thread }))
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
    /// Waits for the file to be whole.
    pub(crate) fn join(self) -> CaptureOutcome {
        self.thread.join().unwrap_or_else(|_| CaptureOutcome {
            error: Some(format!("the writer of {} ended unexpectedly", self.path.display())),
            ..CaptureOutcome::default()
        })
    }
}

type Writer = PcapNgWriter<BufWriter<File>>;

fn open(path: &Path, snap_length: u32) -> io::Result<Writer> {
    let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut writer = PcapNgWriter::new(file).map_err(plain)?;
    for (name, description) in
        [("sender", "device of the sender's host"), ("receiver", "device of the receiver's host")]
    {
        let mut block = InterfaceDescriptionBlock::new(DataLink::ETHERNET, snap_length);
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

fn write_all(shared: &Shared, mut writer: Writer, snap_length: u32, clock: Clock) -> CaptureOutcome {
    let mut outcome = CaptureOutcome::default();
    // One reading for the whole file: differences in it are those of the run's clock.
    let origin = clock.to_unix(Timestamp::ZERO);
    loop {
        let (frames, ended) = take(shared);
        for captured in &frames {
            match outcome.error {
                Some(_) => outcome.left_out += 1,
                None => note(&mut outcome, write(&mut writer, captured, snap_length, origin)),
            }
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

fn note(outcome: &mut CaptureOutcome, result: io::Result<()>) {
    match result {
        Ok(()) => outcome.written += 1,
        Err(error) => {
            outcome.left_out += 1;
            outcome.error = Some(error.to_string());
        }
    }
}

fn write(writer: &mut Writer, captured: &Captured, snap_length: u32, origin: Duration) -> io::Result<()> {
    let kept = captured.frame.len().min(snap_length as usize);
    let block = EnhancedPacketBlock {
        interface_id: u32::from(captured.host == Port::Receiver),
        timestamp: origin + Duration::from_nanos(captured.at.as_nanos()),
        original_len: captured.frame.len() as u32,
        data: Cow::Borrowed(&captured.frame[..kept]),
        options: Vec::new(),
    };
    writer.write_pcapng_block(block).map(drop).map_err(plain)
}
