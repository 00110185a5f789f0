//! The frames of a movie as columns for Python, in a file, so that they take little memory: a word of few stands in a byte.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use framewire_media::access_unit::KeyKind;
use framewire_media::{DisplayOrder, Frame, FrameRate, GopHeader, PictureStructure, PictureType};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// What a byte stands for, column by column. Python has the same words from here.
const TYPES: [Option<&str>; 4] = [Some("I"), Some("P"), Some("B"), Some("D")];
const KEYS: [Option<&str>; 4] = [None, Some("closed"), Some("open"), Some("broken link")];
const STRUCTURES: [Option<&str>; 4] =
    [Some("frame"), Some("top field first"), Some("bottom field first"), Some("single field")];
const FLAGS: [Option<bool>; 3] = [None, Some(false), Some(true)];

/// So many frames are written at a time.
const PIECE: usize = 1 << 16;

/// Bit of a time code that is there, and of one that drops frame numbers.
const HAS_TIME_CODE: u32 = 1 << 31;
const DROP_FRAME: u32 = 1 << 24;

/// A column in a file: the code of its type in Python's `array` and `struct`, and where its pieces begin, with their lengths
/// in elements.
#[derive(Default)]
struct Stored {
    code: &'static str,
    pieces: Vec<(u64, usize)>,
}

/// Writes frames, in decode order, to a file of Python's, column by column in pieces: of a long movie little is in memory.
pub(crate) struct Columns {
    file: Py<PyAny>,
    written: u64,
    stored: BTreeMap<&'static str, Stored>,
    frames: u32,
    references: u32,
    piece: Piece,
}

/// What is not written yet.
#[derive(Default)]
struct Piece {
    types: Vec<u8>,
    keys: Vec<u8>,
    temporal_reference: Vec<u16>,
    gop: Vec<u32>,
    closed: Vec<u8>,
    broken_link: Vec<u8>,
    time_code: Vec<u32>,
    structure: Vec<u8>,
    offset: Vec<u64>,
    size: Vec<u32>,
    /// Where the references of each frame end in the next column.
    references_end: Vec<u32>,
    references: Vec<u32>,
}

impl Columns {
    /// None yet. `file` is a binary file of Python's, at its beginning.
    pub(crate) fn new(file: Py<PyAny>) -> Self {
        let stored = BTreeMap::new();
        Self { file, written: 0, stored, frames: 0, references: 0, piece: Piece::default() }
    }

    /// Takes the next frame.
    pub(crate) fn take(&mut self, frame: &Frame) -> io::Result<()> {
        let piece = &mut self.piece;
        piece.types.push(type_code(frame.kind));
        piece.keys.push(key_code(frame.key));
        piece.temporal_reference.push(frame.temporal_reference);
        piece.gop.push(frame.gop);
        piece.closed.push(flag_code(frame.gop_header.map(|header| header.closed)));
        piece.broken_link.push(flag_code(frame.gop_header.map(|header| header.broken_link)));
        piece.time_code.push(frame.gop_header.map_or(0, time_code));
        piece.structure.push(structure_code(frame.structure));
        piece.offset.push(frame.offset);
        piece.size.push(frame.size);
        self.references += frame.references.len() as u32;
        piece.references_end.push(self.references);
        piece.references.extend_from_slice(&frame.references);
        self.frames += 1;
        if piece.types.len() == PIECE { self.write_piece() } else { Ok(()) }
    }

    fn write_piece(&mut self) -> io::Result<()> {
        let piece = std::mem::take(&mut self.piece);
        self.write("type", "B", piece.types, u8::to_ne_bytes)?;
        self.write("key", "B", piece.keys, u8::to_ne_bytes)?;
        self.write("temporal_reference", "H", piece.temporal_reference, u16::to_ne_bytes)?;
        self.write("gop", "I", piece.gop, u32::to_ne_bytes)?;
        self.write("closed", "B", piece.closed, u8::to_ne_bytes)?;
        self.write("broken_link", "B", piece.broken_link, u8::to_ne_bytes)?;
        self.write("time_code", "I", piece.time_code, u32::to_ne_bytes)?;
        self.write("structure", "B", piece.structure, u8::to_ne_bytes)?;
        self.write("offset", "Q", piece.offset, u64::to_ne_bytes)?;
        self.write("size", "I", piece.size, u32::to_ne_bytes)?;
        self.write("references_end", "I", piece.references_end, u32::to_ne_bytes)?;
        self.write("references", "I", piece.references, u32::to_ne_bytes)
    }

    fn write<T, const BYTES: usize>(
        &mut self,
        name: &'static str,
        code: &'static str,
        values: Vec<T>,
        bytes_of: impl Fn(T) -> [u8; BYTES],
    ) -> io::Result<()> {
        let length = values.len();
        let bytes: Vec<u8> = values.into_iter().flat_map(bytes_of).collect();
        Python::attach(|py| self.file.call_method1(py, "write", (PyBytes::new(py, &bytes),)))?;
        let stored = self.stored.entry(name).or_default();
        stored.code = code;
        stored.pieces.push((self.written, length));
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// All frames have come: adds what is known of them only now. Without a rate, times are zero.
    pub(crate) fn finish(&mut self, order: &DisplayOrder, rate: Option<FrameRate>) -> io::Result<()> {
        self.write_piece()?;
        for first in (0..self.frames).step_by(PIECE) {
            let frames = || first..self.frames.min(first + PIECE as u32);
            let nanos = |time: &dyn Fn(u32, FrameRate) -> Duration| -> Vec<u64> {
                frames().map(|frame| rate.map_or(0, |rate| nanos(time(frame, rate)))).collect()
            };
            let display = frames().map(|frame| order.display_index(frame)).collect();
            let decode_ns = nanos(&|frame, rate| order.decode_time(frame, rate));
            let display_ns = nanos(&|frame, rate| order.display_time(frame, rate));
            self.write("display", "I", display, u32::to_ne_bytes)?;
            self.write("decode_ns", "Q", decode_ns, u64::to_ne_bytes)?;
            self.write("display_ns", "Q", display_ns, u64::to_ne_bytes)?;
        }
        Ok(())
    }

    /// By name: the code of a column, its pieces, and what its bytes stand for, if they do.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let columns = PyDict::new(py);
        for (name, Stored { code, pieces }) in self.stored {
            let words = match name {
                "type" => Some(TYPES.into_pyobject(py)?.into_any()),
                "key" => Some(KEYS.into_pyobject(py)?.into_any()),
                "structure" => Some(STRUCTURES.into_pyobject(py)?.into_any()),
                "closed" | "broken_link" => Some(FLAGS.into_pyobject(py)?.into_any()),
                _ => None,
            };
            columns.set_item(name, (code, pieces, words))?;
        }
        Ok(columns)
    }
}

fn type_code(kind: PictureType) -> u8 {
    match kind {
        PictureType::I => 0,
        PictureType::P => 1,
        PictureType::B => 2,
        PictureType::D => 3,
    }
}

fn key_code(key: Option<KeyKind>) -> u8 {
    match key {
        None => 0,
        Some(KeyKind::Closed) => 1,
        Some(KeyKind::Open) => 2,
        Some(KeyKind::BrokenLink) => 3,
    }
}

fn structure_code(structure: PictureStructure) -> u8 {
    match structure {
        PictureStructure::Frame => 0,
        PictureStructure::TopFieldFirst => 1,
        PictureStructure::BottomFieldFirst => 2,
        PictureStructure::SingleField => 3,
    }
}

fn flag_code(flag: Option<bool>) -> u8 {
    match flag {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Hours, minutes, seconds and pictures, in six bits each.
fn time_code(gop: GopHeader) -> u32 {
    let code = gop.time_code;
    let numbers = [code.hours, code.minutes, code.seconds, code.pictures];
    let packed = numbers.into_iter().fold(0, |packed, number| packed << 6 | u32::from(number));
    HAS_TIME_CODE | packed | if code.drop_frame { DROP_FRAME } else { 0 }
}
