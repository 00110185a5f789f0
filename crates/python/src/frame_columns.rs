//! The frames of a movie as columns for Python, in little memory: numbers stand in arrays, and a word of few in a byte.

use std::collections::BTreeMap;

use framewire_media::access_unit::KeyKind;
use framewire_media::{Frame, GopHeader, PictureStructure, PictureType};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// What a byte stands for, column by column. Python has the same words from here.
const TYPES: [Option<&str>; 4] = [Some("I"), Some("P"), Some("B"), Some("D")];
const KEYS: [Option<&str>; 4] = [None, Some("closed"), Some("open"), Some("broken link")];
const STRUCTURES: [Option<&str>; 4] =
    [Some("frame"), Some("top field first"), Some("bottom field first"), Some("single field")];
const FLAGS: [Option<bool>; 3] = [None, Some(false), Some(true)];

/// So many frames are let go at a time.
const PIECE: usize = 1 << 16;

/// Columns, in decode order.
pub(crate) struct Columns {
    display: Vec<u32>,
    types: Vec<u8>,
    keys: Vec<u8>,
    temporal_reference: Vec<u16>,
    gop: Vec<u32>,
    closed: Vec<u8>,
    broken_link: Vec<u8>,
    time_codes: BTreeMap<u32, String>,
    structure: Vec<u8>,
    offset: Vec<u64>,
    size: Vec<u32>,
    decode_ns: Vec<u64>,
    display_ns: Vec<u64>,
    /// Where the references of each frame end in the next column.
    references_end: Vec<u32>,
    references: Vec<u32>,
}

impl Columns {
    fn zeroed(frames: usize, references: usize) -> Self {
        Self {
            display: vec![0; frames],
            types: vec![0; frames],
            keys: vec![0; frames],
            temporal_reference: vec![0; frames],
            gop: vec![0; frames],
            closed: vec![0; frames],
            broken_link: vec![0; frames],
            time_codes: BTreeMap::new(),
            structure: vec![0; frames],
            offset: vec![0; frames],
            size: vec![0; frames],
            decode_ns: vec![0; frames],
            display_ns: vec![0; frames],
            references_end: vec![0; frames],
            references: vec![0; references],
        }
    }

    /// Takes frames apart from the last to the first, and lets go of those that are done: a long movie does not stand in
    /// memory twice.
    pub(crate) fn of(mut frames: Vec<Frame>) -> Self {
        let mut end = frames.iter().map(|frame| frame.references.len()).sum();
        let mut columns = Self::zeroed(frames.len(), end);
        while let Some(number) = frames.len().checked_sub(1) {
            let frame = &frames[number];
            let start = end - frame.references.len();
            columns.references[start..end].copy_from_slice(&frame.references);
            columns.references_end[number] = end as u32;
            columns.set(number, frame);
            end = start;
            frames.truncate(number);
            if number % PIECE == 0 {
                frames.shrink_to_fit();
            }
        }
        columns
    }

    fn set(&mut self, number: usize, frame: &Frame) {
        self.display[number] = frame.display_index;
        self.types[number] = type_code(frame.kind);
        self.keys[number] = key_code(frame.key);
        self.temporal_reference[number] = frame.temporal_reference;
        self.gop[number] = frame.gop;
        self.closed[number] = flag_code(frame.gop_header.map(|header| header.closed));
        self.broken_link[number] = flag_code(frame.gop_header.map(|header| header.broken_link));
        if let Some(header) = frame.gop_header {
            self.time_codes.insert(frame.decode_index, time_code(header));
        }
        self.structure[number] = structure_code(frame.structure);
        self.offset[number] = frame.offset;
        self.size[number] = frame.size;
        self.decode_ns[number] = nanos(frame.decode_time);
        self.display_ns[number] = nanos(frame.display_time);
    }

    /// Arrays by their names; of words, bytes and what these stand for.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let columns = PyDict::new(py);
        columns.set_item("display", array(py, "I", &self.display, |value| value.to_ne_bytes())?)?;
        columns.set_item("type", (PyBytes::new(py, &self.types), TYPES))?;
        columns.set_item("key", (PyBytes::new(py, &self.keys), KEYS))?;
        columns
            .set_item("temporal_reference", array(py, "H", &self.temporal_reference, |value| value.to_ne_bytes())?)?;
        columns.set_item("gop", array(py, "I", &self.gop, |value| value.to_ne_bytes())?)?;
        columns.set_item("closed", (PyBytes::new(py, &self.closed), FLAGS))?;
        columns.set_item("broken_link", (PyBytes::new(py, &self.broken_link), FLAGS))?;
        columns.set_item("time_code", self.time_codes)?;
        columns.set_item("structure", (PyBytes::new(py, &self.structure), STRUCTURES))?;
        columns.set_item("offset", array(py, "Q", &self.offset, |value| value.to_ne_bytes())?)?;
        columns.set_item("size", array(py, "I", &self.size, |value| value.to_ne_bytes())?)?;
        columns.set_item("decode_ns", array(py, "Q", &self.decode_ns, |value| value.to_ne_bytes())?)?;
        columns.set_item("display_ns", array(py, "Q", &self.display_ns, |value| value.to_ne_bytes())?)?;
        let ends = array(py, "I", &self.references_end, |value| value.to_ne_bytes())?;
        let references = array(py, "I", &self.references, |value| value.to_ne_bytes())?;
        columns.set_item("references", (ends, references))?;
        Ok(columns)
    }
}

/// An `array.array` of these numbers.
fn array<'py, T, const BYTES: usize>(
    py: Python<'py>,
    code: &str,
    values: &[T],
    bytes_of: impl Fn(&T) -> [u8; BYTES],
) -> PyResult<Bound<'py, PyAny>> {
    let array = py.import("array")?.getattr("array")?.call1((code,))?;
    for piece in values.chunks(PIECE) {
        let bytes: Vec<u8> = piece.iter().flat_map(&bytes_of).collect();
        array.call_method1("frombytes", (PyBytes::new(py, &bytes),))?;
    }
    Ok(array)
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

fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// As SMPTE writes it: a semicolon before the pictures marks drop-frame time code.
fn time_code(gop: GopHeader) -> String {
    let code = gop.time_code;
    let separator = if code.drop_frame { ';' } else { ':' };
    format!("{:02}:{:02}:{:02}{separator}{:02}", code.hours, code.minutes, code.seconds, code.pictures)
}
