//! What only the upstream's thread touches: how it reads the stream.

use crate::codec::{Stream, Unusable};
use crate::frames::{FrameReader, Reading, Readings};

/// The stream as it comes in.
#[derive(Debug, Default)]
pub(super) struct Intake {
    reader: Option<FrameReader>,
    refused: bool,
    segment: Option<gst::FormattedSegment<gst::ClockTime>>,
}

impl Intake {
    /// New caps. The string, if any, says what of them could not be used.
    ///
    /// # Errors
    /// When buffers with these caps are no frames.
    pub(crate) fn caps(&mut self, caps: &gst::CapsRef) -> Result<Option<String>, Unusable> {
        let before = self.reader.take();
        self.refused = true;
        let stream = Stream::of(caps)?;
        self.refused = false;
        let (reader, problem) = FrameReader::new(caps, &stream, before.as_ref());
        self.reader = Some(reader);
        Ok(problem.map(|problem| problem.to_string()))
    }

    /// New segment; times in another format are not reported.
    pub(crate) fn new_segment(&mut self, segment: &gst::Segment) {
        self.segment = segment.downcast_ref::<gst::ClockTime>().cloned();
        if let Some(reader) = &mut self.reader {
            reader.begin_segment();
        }
    }

    /// The present segment.
    pub(crate) fn segment(&self) -> Option<&gst::FormattedSegment<gst::ClockTime>> {
        self.segment.as_ref()
    }

    /// Reads a buffer; `None` when no caps, or unusable ones, came before it.
    pub(crate) fn read(&mut self, buffer: gst::Buffer) -> Option<Readings> {
        self.reader.as_mut().map(|reader| reader.read(buffer))
    }

    /// The first field that is held, as a frame.
    pub(crate) fn release(&mut self) -> Option<Reading> {
        self.reader.as_mut().and_then(FrameReader::release)
    }

    /// How long fields are held.
    pub(crate) fn field_wait(&self) -> gst::ClockTime {
        self.reader.as_ref().map_or(gst::ClockTime::ZERO, FrameReader::field_wait)
    }

    /// Whether the stream was refused, and no usable caps came since.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused
    }

    /// Refuses the stream until usable caps come. Tells whether it was refused before.
    pub(crate) fn refuse(&mut self) -> bool {
        std::mem::replace(&mut self.refused, true)
    }

    /// The data before and after this do not belong together.
    pub(crate) fn flush(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.reset();
        }
        self.segment = None;
    }

    /// True when ids should begin again at the next opportunity.
    pub(crate) fn is_long(&self) -> bool {
        self.reader.as_ref().is_some_and(FrameReader::is_long)
    }

    /// Lets ids begin again.
    pub(crate) fn begin_again(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.begin_again();
        }
    }
}
