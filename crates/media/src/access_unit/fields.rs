//! The two fields of a frame, where each comes as an access unit of its own: H.264 counts each field as one (7.4.1.2.4
//! of H.264), H.265 knows nothing but pictures (field sequences, D.3.3 of H.265), and parsers cut MPEG-2 video at
//! every picture.
//!
//! A decoder shows frames. Without one of its fields a frame is damaged, and so is what refers to it. So both fields
//! are kept, or both given up.

use crate::access_unit::{AccessUnit, FramePart};
use crate::picture_order::PictureNumbers;

impl AccessUnit {
    /// Makes the unit of a whole frame from that of its first field: with what the second one refers to. Type, place
    /// and key are those of the first field (an I field and a P field that refers to it make an I frame).
    pub(crate) fn add_second_field(&mut self, second: Self) {
        if self.part == FramePart::FirstField {
            self.part = FramePart::Whole;
        }
        self.referenced |= second.referenced;
        self.missing_reference |= second.missing_reference;
        if let Some(order) = &mut self.picture_order {
            order.is_base |= second.picture_order.is_some_and(|order| order.is_base);
            if let (Some(marks), Some(of_second)) =
                (&mut order.marks, second.picture_order.and_then(|order| order.marks))
            {
                let ((first, second), of_second_field) = (marks.by_order, of_second.by_order);
                marks.by_order = (first.max(of_second_field.0), second.max(of_second_field.1));
                marks.unmarks |= of_second.unmarks;
                marks.named |= of_second.named;
                marks.listed = marks.listed.max(of_second.listed);
            }
            let numbers = order.numbers.zip(second.picture_order.and_then(|order| order.numbers));
            order.numbers = numbers.map(|(first, second)| {
                let restarts = first.restarts || second.restarts;
                PictureNumbers { restarts, ..first }
            });
        }
        self.references.extend(second.references);
        self.references.sort_unstable();
        self.references.dedup();
        self.references.retain(|&other| other != self.number);
    }
}

/// A frame, and what came with each of its access units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembledFrame<T> {
    /// What the frame is. [`FramePart::FirstField`] of one that stayed without its second field.
    pub unit: AccessUnit,
    /// What came with its first unit.
    pub first: T,
    /// What came with its second field, where that was a unit of its own.
    pub second: Option<T>,
}

/// Puts access units together to frames.
///
/// Contract: give it every unit with [`take`](Self::take), in decode order, as a reader reads them. It holds nothing
/// but a first field, until the next unit comes. [`release`](Self::release) gives that field as a frame of its own,
/// where no unit comes that could complete it.
///
/// ```
/// use framewire_media::access_unit::{AccessUnitReader, Codec, FrameAssembler, Framing};
///
/// let mut reader = AccessUnitReader::new(Codec::MpegVideo, Framing::ByteStream)?;
/// let mut assembler = FrameAssembler::default();
/// // The headers of a top field (I) and of a bottom field (P) of frame 0, and the start of a slice of each.
/// let top = [0, 0, 1, 0, 0, 0x0f, 0xff, 0xf8, 0, 0, 1, 0xb5, 0x8f, 0xff, 0xf1, 0x80, 0, 0, 0, 1, 1, 0x12];
/// let bottom = [0, 0, 1, 0, 0, 0x17, 0xff, 0xf8, 0, 0, 1, 0xb5, 0x8f, 0xff, 0xf2, 0x80, 0, 0, 0, 1, 1, 0x12];
/// assert_eq!(assembler.take(reader.read(&top)?, "top"), [None, None], "it wants a second field");
/// let [before, Some(frame)] = assembler.take(reader.read(&bottom)?, "bottom") else { panic!("a whole frame") };
/// assert_eq!((before, frame.first, frame.second), (None, "top", Some("bottom")));
/// # Ok::<(), framewire_media::access_unit::AccessUnitError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FrameAssembler<T> {
    first_field: Option<(AccessUnit, T)>,
}

impl<T> Default for FrameAssembler<T> {
    fn default() -> Self {
        Self { first_field: None }
    }
}

impl<T> FrameAssembler<T> {
    /// Takes the next unit. Gives the frame of a first field whose second one did not come, and then the frame that is
    /// whole with this unit.
    pub fn take(&mut self, mut unit: AccessUnit, item: T) -> [Option<AssembledFrame<T>>; 2] {
        match (unit.part, self.first_field.take()) {
            (FramePart::SecondField, Some((mut first, first_item))) if first.number == unit.number => {
                first.add_second_field(unit);
                [None, Some(AssembledFrame { unit: first, first: first_item, second: Some(item) })]
            }
            (FramePart::FirstField, before) => {
                self.first_field = Some((unit, item));
                [before.map(alone), None]
            }
            (part, before) => {
                if part == FramePart::SecondField {
                    // Its first field was let go.
                    unit.references.push(unit.number);
                }
                [before.map(alone), Some(alone((unit, item)))]
            }
        }
    }

    /// The first field that is held, as a frame: no second one comes.
    pub fn release(&mut self) -> Option<AssembledFrame<T>> {
        self.first_field.take().map(alone)
    }

    /// Forgets what it holds.
    pub fn reset(&mut self) {
        self.first_field = None;
    }

    /// Whether a first field is held.
    pub fn holds_field(&self) -> bool {
        self.first_field.is_some()
    }
}

fn alone<T>((unit, first): (AccessUnit, T)) -> AssembledFrame<T> {
    AssembledFrame { unit, first, second: None }
}
