//! Streams of H.264 of any structure, written bit by bit; what their slices hold besides is noise.
#![allow(dead_code, reason = "each test program uses its part")]

use framewire_media::{FrameRate, Movie};

use super::support::BitWriter;

/// How pictures are numbered and cut.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Of `frame_num`.
    pub frame_num_bits: u32,
    /// Of `pic_order_cnt_lsb`; `None`: picture order is that of decoding (`pic_order_cnt_type` 2).
    pub order_bits: Option<u32>,
    pub slices: u32,
    /// Slices are cut into partitions A, B and C.
    pub partitions: bool,
}

pub const PLAIN: Layout = Layout { frame_num_bits: 16, order_bits: Some(16), slices: 1, partitions: false };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Idr,
    Open,
    P,
}

/// A frame, and what it shows: equal content, equal slices but for their numbers.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub layout: Layout,
    pub kind: Kind,
    /// Frames since the IDR picture.
    pub since_idr: u32,
    pub content: u32,
}

/// Groups of `group` frames, of which the first begins with an IDR picture and the others are open; `content` of each.
pub fn frames(count: u32, group: u32, layout: Layout, content: impl Fn(u32) -> u32) -> Vec<Frame> {
    let kind = |frame| match (frame, frame % group) {
        (0, _) => Kind::Idr,
        (_, 0) => Kind::Open,
        _ => Kind::P,
    };
    (0..count).map(|frame| Frame { layout, kind: kind(frame), since_idr: frame, content: content(frame) }).collect()
}

pub fn movie(frames: &[Frame]) -> Movie {
    let stream: Vec<u8> = frames.iter().flat_map(Frame::bytes).collect();
    Movie::parse_at(stream.into(), Some(FrameRate { numerator: 25, denominator: 1 })).expect("it is well formed")
}

/// Writes ue(v) (ITU-T H.264, 9.1).
pub fn code(writer: &mut BitWriter, value: u32) {
    let zeros = (value + 1).ilog2() as usize;
    writer.number(0, zeros).number(value + 1, zeros + 1);
}

/// A NAL unit behind a start code, with emulation prevention bytes (7.4.1.1).
pub fn nal(stream: &mut Vec<u8>, header: u8, payload: &[u8]) {
    stream.extend([0, 0, 0, 1, header]);
    let mut zeros = 0;
    for &byte in payload {
        if zeros == 2 && byte <= 3 {
            stream.push(3);
            zeros = 0;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        stream.push(byte);
    }
}

impl Layout {
    /// 32x32, frames only, four reference frames (7.3.2.1, 7.3.2.2).
    pub fn parameter_sets(&self, stream: &mut Vec<u8>) {
        let mut set = BitWriter::default();
        set.number(if self.partitions { 88 } else { 66 }, 8).number(0, 8).number(30, 8);
        [0, self.frame_num_bits - 4].into_iter().for_each(|value| code(&mut set, value));
        match self.order_bits {
            Some(bits) => [0, bits - 4].into_iter().for_each(|value| code(&mut set, value)),
            None => code(&mut set, 2),
        }
        code(&mut set, 4);
        set.number(0, 1);
        [1, 1].into_iter().for_each(|value| code(&mut set, value));
        set.text("11001");
        nal(stream, 0x67, &set.bytes);
        let mut set = BitWriter::default();
        [0, 0].into_iter().for_each(|value| code(&mut set, value));
        set.text("00");
        [0, 0, 0].into_iter().for_each(|value| code(&mut set, value));
        set.text("000");
        [0, 0, 0].into_iter().for_each(|value| code(&mut set, value));
        set.text("0001");
        nal(stream, 0x68, &set.bytes);
    }
}

impl Frame {
    pub fn bytes(&self) -> Vec<u8> {
        let mut stream = vec![];
        match self.kind {
            Kind::Idr => self.layout.parameter_sets(&mut stream),
            // A recovery point of no frames, exact (D.1.8).
            Kind::Open => nal(&mut stream, 0x06, &[6, 1, 0xc4, 0x80]),
            Kind::P => {}
        }
        for slice in 0..self.layout.slices {
            self.slice(slice, &mut stream);
        }
        stream
    }

    fn slice(&self, number: u32, stream: &mut Vec<u8>) {
        let Layout { frame_num_bits, order_bits, partitions, .. } = self.layout;
        let low = |value: u32, bits: u32| value & ((1 << bits) - 1);
        let mut slice = BitWriter::default();
        [number, if self.kind == Kind::P { 5 } else { 7 }, 0].into_iter().for_each(|value| code(&mut slice, value));
        slice.number(low(self.since_idr, frame_num_bits), frame_num_bits as usize);
        if self.kind == Kind::Idr {
            code(&mut slice, 0);
        }
        if let Some(bits) = order_bits {
            slice.number(low(2 * self.since_idr, bits), bits as usize);
        }
        // Neither other lists nor operations.
        slice.text(if self.kind == Kind::P { "000" } else { "00" });
        slice.number(self.content, 16).number(1, 1);
        let noise = |salt: u32| (0..200).map(move |at| (self.content * 7 + number * 3 + salt + at) as u8 | 0x80);
        slice.bytes.extend(noise(0));
        match (self.kind, partitions) {
            (Kind::Idr, _) => nal(stream, 0x65, &slice.bytes),
            (_, false) => nal(stream, 0x41, &slice.bytes),
            (_, true) => {
                nal(stream, 0x42, &slice.bytes);
                for (header, salt) in [(0x43, 1), (0x44, 2)] {
                    nal(stream, header, &noise(salt).collect::<Vec<_>>());
                }
            }
        }
    }
}
