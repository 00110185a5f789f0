//! What waits of a frame: its buffers, and other bytes in their place where the queue changes them.

use framewire_media::Insertion;
use framewire_media::access_unit::{Codec, Framing};
use framewire_media::picture_order::{self, PictureNumbers, Renumbering};
use framewire_transport::frame::Payload;
use framewire_transport::live::Placed;
use framewire_units::Duration;
use gst::glib;

/// A frame on its way through a frame queue, or a buffer that is never dropped. The queue looks at its size only.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// The buffer, as it came.
    pub buffer: gst::Buffer,
    /// The buffer of its second field, where fields come one by one.
    pub second_field: Option<gst::Buffer>,
    /// How many frames, and buffers that are none, came before it, since the element started.
    pub number: u64,
    /// How many key frames came before it, or with it.
    pub group: u64,
    /// How long it lasts by itself, as its buffers say, or else the caps; zero where neither does. Its place in a
    /// stream may be longer: [`OutgoingFrame::duration`] is how much further the stream is with it.
    pub lasts: Duration,
    /// The codec, and how the parts of an access unit are delimited; `None` of what is not read.
    pub format: Option<(Codec, Framing)>,
}

impl Held {
    /// Its buffers, in order.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = &gst::Buffer> {
        std::iter::once(&self.buffer).chain(&self.second_field)
    }

    /// How long it lasts, as its buffers say.
    pub(crate) fn duration(&self) -> Option<gst::ClockTime> {
        sum(self.buffer.duration(), self.second_field.as_ref().and_then(|buffer| buffer.duration()))
    }
}

impl Placed for Held {
    fn number(&self) -> u64 {
        self.number
    }

    fn group(&self) -> u64 {
        self.group
    }

    fn lasts(&self) -> Duration {
        self.lasts
    }
}

impl Payload for Held {
    fn size(&self) -> u64 {
        self.buffers().map(|buffer| buffer.size() as u64).sum()
    }

    fn begin_sequence(&mut self) {
        let Some((_, framing)) = self.format else { return };
        if let Some(changed) = changed(&self.buffer, |unit| picture_order::begin_sequence(unit, framing)) {
            self.buffer = changed;
        }
    }

    fn renumber(&mut self, numbers: PictureNumbers, by: Renumbering) -> bool {
        let Some((_, framing)) = self.format else { return false };
        let renumbered = |buffer| changed(buffer, |unit| picture_order::renumber(unit, framing, numbers, by));
        let second_field = self.second_field.as_ref().map(renumbered);
        match (renumbered(&self.buffer), second_field) {
            (Some(buffer), None) => self.buffer = buffer,
            (Some(buffer), Some(Some(second_field))) => {
                (self.buffer, self.second_field) = (buffer, Some(second_field));
            }
            _ => return false,
        }
        true
    }

    fn allow_gaps(&mut self) {
        let Some((Codec::H264, framing)) = self.format else { return };
        for buffer in std::iter::once(&mut self.buffer).chain(&mut self.second_field) {
            if let Some(changed) = changed(buffer, |unit| picture_order::allow_gaps(unit, framing)) {
                *buffer = changed;
            }
        }
    }
}

/// A buffer with other bytes; `None` where there are none, or where it cannot be shared.
fn changed(buffer: &gst::Buffer, change: impl FnOnce(&[u8]) -> Option<Vec<u8>>) -> Option<gst::Buffer> {
    let bytes = buffer.map_readable().ok().and_then(|map| change(&map))?;
    let mut whole = gst::Buffer::from_mut_slice(bytes);
    buffer.copy_into(whole.make_mut(), all_but_memory(), ..).ok()?;
    Some(whole)
}

/// A buffer with bytes in its middle. Its data is shared, not copied.
pub(super) fn inserted(
    buffer: &gst::BufferRef,
    Insertion { at, bytes }: Insertion,
) -> Result<gst::Buffer, glib::BoolError> {
    let mut whole = gst::Buffer::new();
    let into = whole.make_mut();
    buffer.copy_into(into, all_but_memory(), ..)?;
    if at > 0 {
        buffer.copy_into(into, gst::BufferCopyFlags::MEMORY, ..at)?;
    }
    into.append_memory(gst::Memory::from_slice(bytes));
    if at < buffer.size() {
        buffer.copy_into(into, gst::BufferCopyFlags::MEMORY, at..)?;
    }
    Ok(whole)
}

fn all_but_memory() -> gst::BufferCopyFlags {
    gst::BufferCopyFlags::all() - gst::BufferCopyFlags::MEMORY - gst::BufferCopyFlags::DEEP
}

/// Of both fields, as far as it is known.
pub(super) fn sum(first: Option<gst::ClockTime>, second: Option<gst::ClockTime>) -> Option<gst::ClockTime> {
    match (first, second) {
        (Some(first), Some(second)) => Some(first.saturating_add(second)),
        (first, second) => first.or(second),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_inserted_anywhere_and_nothing_else_changes() {
        gst::init().expect("GStreamer starts");
        let mut buffer = gst::Buffer::from_slice([1_u8, 2, 3, 4]);
        let fields = buffer.make_mut();
        fields.set_pts(gst::ClockTime::from_mseconds(7));
        fields.set_duration(gst::ClockTime::from_mseconds(40));
        fields.set_flags(gst::BufferFlags::DELTA_UNIT);
        for (at, expected) in [(0, [9, 8, 1, 2, 3, 4]), (2, [1, 2, 9, 8, 3, 4]), (4, [1, 2, 3, 4, 9, 8])] {
            let whole = inserted(&buffer, Insertion { at, bytes: vec![9, 8] }).unwrap();
            assert_eq!(whole.map_readable().unwrap().as_slice(), expected);
            assert_eq!((whole.pts(), whole.duration()), (buffer.pts(), buffer.duration()));
            assert!(whole.flags().contains(gst::BufferFlags::DELTA_UNIT));
        }
    }
}
