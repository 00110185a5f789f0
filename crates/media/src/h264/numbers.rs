//! The numbers of a picture that stand in its slice headers (ITU-T H.264, 7.3.3), and other ones in their place.

use crate::access_unit::Framing;
use crate::bits::BitReader;
use crate::h264::parameter_sets::{PictureOrder, SequenceParameterSet};
use crate::h264::slice_header::{PictureHeader, nal_type};
use crate::nal::NalUnits;
use crate::picture_order::{PictureNumbers, Renumbering, SliceNumbers};

/// What of a slice is looked into at first: three codes of at most 63 bits each and the fields behind them are shorter.
const BYTES_OF_NUMBERS: usize = 32;

impl PictureNumbers {
    /// `None` where the same added to all of them is not the same added to picture order counts: where the steps of these
    /// from frame to frame differ, their cycle has its phase by `frame_num` (8.2.1.2).
    pub(crate) fn of(header: &PictureHeader, sequence: &SequenceParameterSet) -> Option<Self> {
        (!sequence.picture_order.steps_differ()).then_some(Self {
            // 16 bits at most.
            frame_num: header.frame_num as u16,
            frame_num_bits: sequence.frame_num_bits as u8,
            order_bits: match sequence.picture_order {
                PictureOrder::LowBits { bits } => bits as u8,
                PictureOrder::Expected { .. } | PictureOrder::Decoding => 0,
            },
            frames_only: sequence.frames_only,
            separate_colour_planes: sequence.separate_colour_planes,
            restarts: false,
            recovers: false,
        })
    }

    /// Whether the numbers of another picture stand where its own do.
    pub fn has_layout_of(self, other: Self) -> bool {
        let Self { frame_num, restarts, recovers, .. } = other;
        Self { frame_num, restarts, recovers, ..self } == other
    }

    /// What has to be added to `frame_num` so that it becomes this one.
    pub fn to_frame_num(self, frame_num: u16) -> u16 {
        low_bits(frame_num.wrapping_sub(self.frame_num).into(), self.frame_num_bits) as u16
    }

    /// What is added to numbers of this layout where they are changed from one to the other.
    pub fn difference(self, from: SliceNumbers, to: SliceNumbers) -> Renumbering {
        let difference = |from: u16, to: u16, bits| low_bits(to.wrapping_sub(from).into(), bits);
        Renumbering {
            frame_num: difference(from.frame_num, to.frame_num, self.frame_num_bits) as u16,
            order: difference(from.order, to.order, self.order_bits).into(),
        }
    }

    /// A slice, a NAL unit without start code, with other numbers; `None` where it has none.
    pub fn renumber(self, slice: &[u8], by: Renumbering) -> Option<Vec<u8>> {
        let Head { mut bytes, replaces } = Head::of(slice, self, by)?;
        bytes.extend_from_slice(&slice[replaces..]);
        Some(bytes)
    }

    /// A slice without its numbers: zeros in their places.
    pub fn without_numbers(self, slice: &[u8]) -> Option<Vec<u8>> {
        let SliceNumbers { frame_num, order } = self.read(slice)?;
        self.renumber(slice, Renumbering { frame_num, order: order.into() }.inverse())
    }

    /// The numbers of a slice, a NAL unit without start code; `None` where it has none.
    pub fn read(self, slice: &[u8]) -> Option<SliceNumbers> {
        let (_, unescaped, places) = Head::open(slice, self)?;
        // Fields of 16 bits at most.
        let [frame_num, order] = [places.frame_num, places.order].map(|field| field.read(&unescaped.bytes) as u16);
        Some(SliceNumbers { frame_num, order })
    }

    pub(crate) fn renumbered(self, by: Renumbering) -> Self {
        let frame_num = u32::from(self.frame_num) + u32::from(by.frame_num);
        Self { frame_num: low_bits(frame_num, self.frame_num_bits) as u16, ..self }
    }
}

fn low_bits(value: u32, bits: u8) -> u32 {
    value & ((1 << u32::from(bits.min(16))) - 1)
}

/// See [`renumber`](crate::picture_order::renumber).
pub(crate) fn renumber(unit: &[u8], framing: Framing, numbers: PictureNumbers, by: Renumbering) -> Option<Vec<u8>> {
    let mut changed = Vec::with_capacity(unit.len() + 8);
    let mut copied = 0;
    for nal in NalUnits::of(unit, framing) {
        let start = nal.as_ptr().addr() - unit.as_ptr().addr();
        let Some(Head { bytes, replaces }) = Head::of(nal, numbers, by) else { continue };
        changed.extend_from_slice(&unit[copied..start]);
        if let Framing::LengthPrefixed(width) = framing {
            put_length(&mut changed, width, nal.len() - replaces + bytes.len())?;
        }
        changed.extend_from_slice(&bytes);
        copied = start + replaces;
    }
    (copied > 0).then(|| {
        changed.extend_from_slice(&unit[copied..]);
        changed
    })
}

/// Writes the length of a NAL unit over the one that stands at the end; `None` where it has no room for it.
fn put_length(written: &mut [u8], width: u8, length: usize) -> Option<()> {
    let place = written.len().checked_sub(width.into())?;
    let bytes = u32::try_from(length).ok()?.to_be_bytes();
    let (high, low) = bytes.split_at_checked(bytes.len().checked_sub(width.into())?)?;
    written[place..].copy_from_slice(low);
    high.iter().all(|byte| *byte == 0).then_some(())
}

/// The beginning of a slice, as it is to be.
struct Head {
    bytes: Vec<u8>,
    /// How many bytes of the NAL unit it stands for.
    replaces: usize,
}

impl Head {
    /// The header of a NAL unit, and the numbers behind it; `None` of one without numbers, or one that is cut off.
    fn open(nal: &[u8], numbers: PictureNumbers) -> Option<(u8, Unescaped<'_>, Places)> {
        let (&header, payload) = nal.split_first()?;
        let has_numbers = [nal_type::SLICE, nal_type::SLICE_PARTITION_A, nal_type::AUXILIARY_SLICE];
        if !has_numbers.contains(&(header & 0x1f)) {
            return None;
        }
        let mut unescaped = Unescaped::new(payload);
        unescaped.read(|bytes| bytes.len() >= BYTES_OF_NUMBERS);
        let places = Places::find(&unescaped.bytes, numbers)?;
        Some((header, unescaped, places))
    }

    fn of(nal: &[u8], numbers: PictureNumbers, by: Renumbering) -> Option<Self> {
        let (header, mut unescaped, places) = Self::open(nal, numbers)?;
        // From a byte on that is not zero, the same bytes need the same protection.
        unescaped.read(|bytes| bytes.last().is_some_and(|byte| *byte != 0));
        let Unescaped { mut bytes, taken, .. } = unescaped;
        places.frame_num.add(&mut bytes, by.frame_num.into());
        places.order.add(&mut bytes, by.order);
        let mut head = vec![header];
        escape(&bytes, &mut head);
        Some(Self { bytes: head, replaces: 1 + taken })
    }
}

/// A field of fixed width: its first bit, and how many it has.
#[derive(Clone, Copy, Debug)]
struct Field {
    at: usize,
    width: u8,
}

impl Field {
    /// Each bit: its byte, and a mask.
    fn bits(self) -> impl Iterator<Item = (usize, u8)> {
        (self.at..self.at + usize::from(self.width)).map(|bit| (bit / 8, 0x80u8 >> (bit % 8)))
    }

    fn read(self, bytes: &[u8]) -> u32 {
        self.bits().fold(0, |value, (byte, mask)| value << 1 | u32::from(bytes[byte] & mask != 0))
    }

    fn add(self, bytes: &mut [u8], number: i64) {
        // Two's complement: the low bits are those of the sum.
        let new = low_bits(self.read(bytes).wrapping_add(number as u32), self.width);
        for ((byte, mask), shift) in self.bits().zip((0..self.width).rev()) {
            bytes[byte] = if new >> shift & 1 == 1 { bytes[byte] | mask } else { bytes[byte] & !mask };
        }
    }
}

/// Where the numbers stand in a slice header.
#[derive(Clone, Copy, Debug)]
struct Places {
    frame_num: Field,
    order: Field,
}

impl Places {
    /// In the payload of a NAL unit without emulation prevention bytes (7.3.3).
    fn find(payload: &[u8], numbers: PictureNumbers) -> Option<Self> {
        let mut reader = BitReader::new(payload);
        // first_mb_in_slice, slice_type, pic_parameter_set_id
        (0..3).try_for_each(|_| skip_code(&mut reader))?;
        if numbers.separate_colour_planes {
            let _colour_plane_id = reader.bits(2)?;
        }
        let field = |reader: &mut BitReader, width: u8| {
            let at = reader.position();
            reader.bits(width.into()).map(|_| Field { at, width })
        };
        let frame_num = field(&mut reader, numbers.frame_num_bits)?;
        if !numbers.frames_only && reader.flag()? {
            let _bottom_field = reader.flag()?;
        }
        let order = field(&mut reader, numbers.order_bits)?;
        Some(Self { frame_num, order })
    }
}

/// Passes over ue(v) (9.1).
fn skip_code(reader: &mut BitReader) -> Option<()> {
    let mut zeros = 0;
    while !reader.flag()? {
        zeros += 1;
    }
    (zeros < 32).then(|| reader.bits(zeros).map(drop))?
}

/// The beginning of a payload without its emulation prevention bytes (7.4.1).
struct Unescaped<'a> {
    payload: &'a [u8],
    /// Bytes of the payload that are in it.
    taken: usize,
    zeros: u8,
    bytes: Vec<u8>,
}

impl<'a> Unescaped<'a> {
    fn new(payload: &'a [u8]) -> Self {
        Self { payload, taken: 0, zeros: 0, bytes: vec![] }
    }

    /// Reads on until it is `enough`, or the payload ends.
    fn read(&mut self, enough: impl Fn(&[u8]) -> bool) {
        while !enough(&self.bytes)
            && let Some(&byte) = self.payload.get(self.taken)
        {
            self.taken += 1;
            if self.zeros >= 2 && byte == 3 {
                self.zeros = 0;
                continue;
            }
            self.zeros = if byte == 0 { self.zeros.saturating_add(1) } else { 0 };
            self.bytes.push(byte);
        }
    }
}

/// Appends bytes with `emulation_prevention_three_byte` where they need one (7.4.1.1).
fn escape(bytes: &[u8], into: &mut Vec<u8>) {
    let mut zeros = 0;
    for &byte in bytes {
        if zeros == 2 && byte <= 3 {
            into.push(3);
            zeros = 0;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        into.push(byte);
    }
    // Only a cabac_zero_word at the end of a NAL unit ends with a zero byte.
    if bytes.last() == Some(&0) {
        into.push(3);
    }
}

#[cfg(test)]
#[path = "numbers_tests.rs"]
mod tests;
