//! Captures: both ends of a lane in one pcapng file (draft-ietf-opsawg-pcapng), written by a thread of its own so that
//! the pump never waits for a disk.

mod headers;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;
use framewire_link::NodeId;
use framewire_units::Timestamp;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::{Block, PcapNgReader, PcapNgWriter};
use serde::Serialize;

use crate::Clock;
use crate::error::EmuError;
use crate::writer_queue::{Consumer, Producer, hand_over};

/// A snap length that no frame exceeds.
const WHOLE_FRAMES: u32 = 262_144;
/// Bytes that a capture takes at most unless set otherwise, about. Ours: 95 minutes of 6 Mbit/s, seen at both ends;
/// what is read again at the end of a run takes a minute or so.
pub const CAPTURE_SIZE: u64 = 8 << 30;
/// What the writer of a run that is to end at once is given for frames that still wait; the rest is left out and
/// counted.
const ENDING: Duration = Duration::from_secs(1);
/// Frames that may wait for the disk, in bytes. What exceeds it is left out of the capture and counted.
const WAITING_AT_MOST: usize = 128 << 20;
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
    host: NodeId,
    at: Timestamp,
    frame: Bytes,
}

#[derive(Default)]
struct Waiting {
    frames: Vec<Captured>,
    bytes: usize,
    left_out: u64,
}

/// The pump's end of a capture.
pub(crate) struct CaptureBuffer {
    producer: Producer<Waiting>,
    pending: Vec<Captured>,
}

/// The writer's end of a capture.
pub(crate) struct CaptureWriter {
    path: PathBuf,
    hurried: Arc<AtomicBool>,
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
    let (producer, consumer) = hand_over();
    let hurried = Arc::new(AtomicBool::new(false));
    let of_thread = Arc::clone(&hurried);
    let thread = thread::Builder::new()
        .name("fw-capture".to_owned())
        .spawn(move || write_all(&consumer, &of_thread, writer, kept, most, clock))
        .map_err(failed)?;
    Ok((CaptureBuffer { producer, pending: Vec::new() }, CaptureWriter { path: path.to_owned(), hurried, thread }))
}

impl CaptureBuffer {
    /// Adds a frame that was seen at a host.
    pub(crate) fn add(&mut self, host: NodeId, at: Timestamp, frame: &Bytes) {
        self.pending.push(Captured { host, at, frame: frame.clone() });
    }

    /// Hands over what was added, unless the writer is just taking frames: then the next call will.
    pub(crate) fn hand_over(&mut self) {
        let Self { producer, pending } = self;
        producer.try_add(|waiting| append(waiting, pending));
    }
}

impl Drop for CaptureBuffer {
    /// Hands over the rest and lets the writer end.
    fn drop(&mut self) {
        let Self { producer, pending } = self;
        producer.finish(|waiting| append(waiting, pending));
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
        self.hurried.store(true, Ordering::Relaxed);
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

fn write_all(
    consumer: &Consumer<Waiting>,
    hurried: &AtomicBool,
    mut writer: Writer,
    kept: Kept,
    most: u64,
    clock: Clock,
) -> CaptureOutcome {
    let mut outcome = CaptureOutcome::default();
    // One reading for the whole file: differences in it are those of the run's clock.
    let origin = clock.to_unix(Timestamp::ZERO);
    let mut bytes = 0;
    loop {
        let (mut waited, ended) = consumer.take();
        // Their time stamps are those of two hosts.
        waited.frames.sort_by_key(|captured| captured.at);
        outcome.left_out += waited.left_out;
        let ended_at = ended.then(Instant::now);
        for captured in &waited.frames {
            if bytes >= most {
                outcome.full_at = Some(most);
            }
            let is_late = ended_at.is_some_and(|ended| ended.elapsed() >= ENDING);
            let is_over = is_late && hurried.load(Ordering::Relaxed);
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
    if let Err(error) = writer.get_mut().flush() {
        outcome.error.get_or_insert(error.to_string());
    }
    outcome
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
        interface_id: u32::from(captured.host == NodeId::RECEIVER),
        timestamp: origin + Duration::from_nanos(captured.at.as_nanos()),
        original_len: captured.frame.len() as u32,
        data: Cow::Borrowed(&captured.frame[..kept.length(&captured.frame)]),
        options: Vec::new(),
    };
    writer.write_pcapng_block(block).map_err(plain)
}

/// Makes a capture of whole frames one of headers, unless `is_over` reports meanwhile that there is no time for it.
/// Returns whether it did.
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
