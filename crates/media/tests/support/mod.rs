//! Builds small MPEG-1 and MPEG-2 video streams that a decoder decodes, and finds test data.
#![allow(dead_code, reason = "each test program uses its part")]

pub mod av1;
pub mod ffmpeg;
pub mod hostile;
pub mod long_term;
pub mod unstated;

use std::path::PathBuf;

use framewire_media::PictureType;

/// Pictures are 32 by 32 pixels: two macroblocks by two, all grey.
const SIDE: u32 = 32;
const MACROBLOCKS_PER_ROW: u32 = SIDE / 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parity {
    Top = 1,
    Bottom = 2,
    Frame = 3,
}

/// Options of a picture; the default is a plain MPEG-2 frame picture.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    pub kind: PictureType,
    pub temporal_reference: u32,
    pub parity: Parity,
    pub top_field_first: bool,
    pub repeat_first_field: bool,
    /// Of the two fields of a P or I frame, the second refers to the first.
    pub second_field: bool,
}

impl Picture {
    pub fn frame(kind: PictureType, temporal_reference: u32) -> Self {
        Self {
            kind,
            temporal_reference,
            parity: Parity::Frame,
            top_field_first: false,
            repeat_first_field: false,
            second_field: false,
        }
    }

    pub fn field(kind: PictureType, temporal_reference: u32, parity: Parity, second_field: bool) -> Self {
        Self { parity, second_field, ..Self::frame(kind, temporal_reference) }
    }
}

/// Writes header fields, most significant bit first.
#[derive(Default)]
pub struct BitWriter {
    pub bytes: Vec<u8>,
    used: usize,
}

impl BitWriter {
    /// Appends bits written as text; anything but 0 and 1 is for the reader.
    pub fn text(&mut self, bits: &str) -> &mut Self {
        for bit in bits.bytes().filter(|byte| matches!(byte, b'0' | b'1')) {
            self.number(u32::from(bit - b'0'), 1);
        }
        self
    }

    /// Appends the low `count` bits of a number.
    pub fn number(&mut self, value: u32, count: usize) -> &mut Self {
        for shift in (0..count).rev() {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().unwrap();
            *last |= ((value >> shift & 1) as u8) << (7 - self.used % 8);
            self.used += 1;
        }
        self
    }
}

/// A stream under construction.
#[derive(Clone, Default)]
pub struct Stream {
    pub bytes: Vec<u8>,
    mpeg1: bool,
}

impl Stream {
    pub fn mpeg1() -> Self {
        Self { mpeg1: true, ..Self::default() }
    }

    pub fn code(mut self, value: u8) -> Self {
        self.bytes.extend([0, 0, 1, value]);
        self
    }

    fn unit(self, value: u8, write: impl FnOnce(&mut BitWriter)) -> Self {
        let mut writer = BitWriter::default();
        write(&mut writer);
        let mut stream = self.code(value);
        stream.bytes.extend(writer.bytes);
        stream
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    /// 25 Hz, interlaced.
    pub fn sequence(self) -> Self {
        self.sequence_with(3, false, (0, 0))
    }

    pub fn sequence_with(self, rate_code: u32, progressive: bool, rate_extension: (u32, u32)) -> Self {
        let mpeg1 = self.mpeg1;
        let stream = self.unit(0xb3, |bits| {
            bits.number(SIDE, 12).number(SIDE, 12).number(1, 4).number(rate_code, 4);
            bits.number(2_500, 18).text("1").number(20, 10).text("0 0 0");
        });
        if mpeg1 {
            return stream;
        }
        stream.unit(0xb5, |bits| {
            bits.text("0001").number(0x48, 8).number(u32::from(progressive), 1).text("01 00 00").number(0, 12);
            bits.text("1").number(0, 8).text("0").number(rate_extension.0, 2).number(rate_extension.1, 5);
        })
    }

    pub fn gop(self, closed: bool, broken_link: bool) -> Self {
        self.unit(0xb8, |bits| {
            bits.text("0").number(1, 5).number(2, 6).text("1").number(3, 6).number(4, 6);
            bits.number(u32::from(closed), 1).number(u32::from(broken_link), 1);
        })
    }

    pub fn picture_header(self, picture: Picture) -> Self {
        let mpeg1 = self.mpeg1;
        let (forward, backward) = (picture.kind != PictureType::I, picture.kind == PictureType::B);
        let kind = match picture.kind {
            PictureType::I => 1,
            PictureType::P => 2,
            PictureType::B => 3,
            PictureType::D => 4,
        };
        let vector_code = if mpeg1 { 1 } else { 7 };
        let stream = self.unit(0x00, |bits| {
            bits.number(picture.temporal_reference % 1024, 10).number(kind, 3).number(0xffff, 16);
            for used in [forward, backward] {
                if used {
                    bits.text("0").number(vector_code, 3);
                }
            }
            bits.text("0");
        });
        if mpeg1 {
            return stream;
        }
        let flag = u32::from;
        stream.unit(0xb5, |bits| {
            let code = |used: bool| if used { 0x11 } else { 0xff };
            bits.text("1000").number(code(forward), 8).number(code(backward), 8).text("00");
            let frame = picture.parity == Parity::Frame;
            bits.number(picture.parity as u32, 2).number(flag(picture.top_field_first), 1).number(flag(frame), 1);
            bits.text("0000").number(flag(picture.repeat_first_field), 1);
            // A frame that repeats a field is progressive (6.3.10).
            let progressive = frame && picture.repeat_first_field;
            bits.number(flag(progressive), 1).number(flag(progressive), 1).text("0");
        })
    }

    pub fn slices(mut self, picture: Picture) -> Self {
        let rows = if picture.parity == Parity::Frame { SIDE / 16 } else { SIDE / 32 };
        for row in 1..=rows {
            self = self.unit(row as u8, |bits| {
                bits.number(8, 5).text("0");
                (0..MACROBLOCKS_PER_ROW).for_each(|_| macroblock(bits, picture));
            });
        }
        self
    }

    pub fn picture(self, picture: Picture) -> Self {
        self.picture_header(picture).slices(picture)
    }

    /// Frame pictures in decode order, written as type and temporal reference: `"I2 B0 B1 P5"`.
    pub fn pictures(self, text: &str) -> Self {
        text.split_whitespace().fold(self, |stream, word| {
            let kind = match &word[..1] {
                "I" => PictureType::I,
                "P" => PictureType::P,
                "B" => PictureType::B,
                _ => PictureType::D,
            };
            stream.picture(Picture::frame(kind, word[1..].parse().unwrap()))
        })
    }
}

/// One macroblock (6.2.5; codes of annex B): grey in I pictures, no motion and no residual in P and B pictures.
fn macroblock(bits: &mut BitWriter, picture: Picture) {
    let field = picture.parity != Parity::Frame;
    // The second field of an I or P frame refers to the first (opposite parity), others to the same parity.
    let select = match (picture.parity, picture.second_field && picture.kind == PictureType::P) {
        (Parity::Top, false) | (Parity::Bottom, true) => "0",
        _ => "1",
    };
    bits.text("1");
    match picture.kind {
        PictureType::I | PictureType::D => {
            bits.text("1");
            (0..4).for_each(|_| {
                bits.text("100 10");
            });
            bits.text("00 10 00 10");
        }
        PictureType::P => {
            bits.text("001");
            vector(bits, field.then_some(select), true);
        }
        PictureType::B => {
            bits.text("10");
            vector(bits, field.then_some(select), true);
            vector(bits, field.then_some(select), false);
        }
    }
}

fn vector(bits: &mut BitWriter, field_select: Option<&str>, first: bool) {
    if let Some(select) = field_select {
        if first {
            bits.text("01");
        }
        bits.text(select);
    }
    bits.text("1 1");
}

/// A group of 15 pictures as the lab's movie has them, preceded by its headers.
pub fn lab_group(stream: Stream, first: bool) -> Stream {
    let stream = stream.sequence().gop(first, false);
    match first {
        true => stream.pictures("I0 P3 B1 B2 P6 B4 B5 P9 B7 B8 P12 B10 B11"),
        false => stream.pictures("I2 B0 B1 P5 B3 B4 P8 B6 B7 P11 B9 B10 P14 B12 B13"),
    }
}

/// What FFmpeg draws for streams that are encoded now: three seconds of a picture that moves.
pub const MOVING: &str = "testsrc2=s=176x144:r=25:d=3,noise=alls=8:allf=t";

/// Elementary streams of the shared test data; `None`, with a note, where they are absent.
pub fn generated_streams() -> Option<PathBuf> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data");
    let root = std::env::var_os("FRAMEWIRE_TEST_DATA").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let folder = root.join("es/generated");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no test data at {} (set FRAMEWIRE_TEST_DATA)", folder.display());
    None
}
