//! From buffers to frames that a sending half takes, without a copy.

use framewire_media::access_unit::{Codec, Framing};
use framewire_transport::frame::OutgoingFrame;

use crate::codec::{Stream, Unusable};
use crate::frames::{BufferError, FrameReader, Held, PrecedingHeaders, Reading};
use crate::ifdsink::settings::Carrier;

/// Reads the buffers of one stream.
#[derive(Debug, Default)]
pub(super) struct Intake {
    reader: Option<FrameReader>,
    headers: PrecedingHeaders,
}

/// A frame for the sending half, and the same with its buffer.
#[derive(Debug)]
pub(super) struct Frame {
    /// With its buffer, for what is reported of it.
    pub held: OutgoingFrame<Held>,
    /// With its bytes, for the sending half.
    pub outgoing: OutgoingFrame,
    /// What of it could not be read.
    pub problem: Option<String>,
}

/// A buffer that cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// No caps came before it.
    NoCaps,
    /// Its bytes are of no use.
    Buffer(BufferError),
}

impl From<BufferError> for Unreadable {
    fn from(error: BufferError) -> Self {
        Self::Buffer(error)
    }
}

impl Intake {
    /// New caps. The string, if any, says what of them could not be used.
    ///
    /// # Errors
    /// When what they describe cannot be sent.
    pub(crate) fn caps(&mut self, caps: &gst::CapsRef, carrier: Carrier) -> Result<Option<String>, Unusable> {
        let stream = Stream::of(caps)?;
        check(caps, &stream, carrier)?;
        let before = self.reader.take();
        let (reader, problem) = FrameReader::new(caps, &stream, before.as_ref());
        self.reader = Some(reader);
        Ok(problem.map(|problem| problem.to_string()))
    }

    /// Reads a buffer: the frames that are whole with it. Headers are kept for the next one.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub(crate) fn read(&mut self, buffer: &gst::Buffer) -> Result<Vec<Frame>, Unreadable> {
        let reader = self.reader.as_mut().ok_or(Unreadable::NoCaps)?;
        let readings = reader.read(buffer.clone());
        self.frames(readings)
    }

    /// The first field that is held, as a frame: what comes next does not complete it.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub(crate) fn release(&mut self) -> Result<Vec<Frame>, Unreadable> {
        let held = self.reader.as_mut().and_then(FrameReader::release);
        self.frames(held)
    }

    fn frames(&mut self, readings: impl IntoIterator<Item = Reading>) -> Result<Vec<Frame>, Unreadable> {
        let mut frames = vec![];
        for reading in readings {
            match reading {
                Reading::Kept(held) => self.headers.keep(&held.buffer)?,
                Reading::Frame { frame, problem } => {
                    let bytes = self.headers.before(&frame.bytes)?;
                    let outgoing = OutgoingFrame {
                        id: frame.id,
                        kind: frame.kind,
                        dependencies: frame.dependencies.clone(),
                        duration: frame.duration,
                        rtp_timestamp: frame.rtp_timestamp,
                        decode_timestamp: frame.decode_timestamp,
                        bytes,
                    };
                    frames.push(Frame { held: frame, outgoing, problem: problem.map(|problem| problem.to_string()) });
                }
            }
        }
        Ok(frames)
    }

    /// Headers for which no picture came, at the end of the stream: the end code, for instance.
    pub(crate) fn tail(&mut self) -> Option<OutgoingFrame> {
        let headers = self.headers.take();
        if headers.is_empty() {
            return None;
        }
        Some(OutgoingFrame {
            id: u32::MAX,
            kind: framewire_media::PictureType::I,
            dependencies: framewire_transport::frame::Dependencies::default(),
            duration: framewire_units::Duration::ZERO,
            rtp_timestamp: 0,
            decode_timestamp: 0,
            bytes: headers.into(),
        })
    }

    /// The times before and after this have nothing to do with each other.
    pub(crate) fn begin_segment(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.begin_segment();
        }
    }

    /// What came before and what comes next do not belong together.
    pub(crate) fn flush(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.reset();
        }
        self.headers.take();
    }
}

/// A byte stream must say where frames begin, and the packets of this element are of MPEG video (RFC 2250).
fn check(caps: &gst::CapsRef, stream: &Stream, carrier: Carrier) -> Result<(), Unusable> {
    let name = caps.structure(0).map_or("caps", |structure| structure.name().as_str());
    let codec = match stream {
        Stream::AccessUnits { codec, framing, .. } => {
            if let Framing::LengthPrefixed(_) = framing {
                let parser = if *codec == Codec::H264 { "h264parse" } else { "h265parse" };
                let reason = format!(
                    "{name} with lengths before its NAL units is no byte stream: put {parser} before this element, \
                     which then chooses stream-format=byte-stream"
                );
                return Err(Unusable { reason });
            }
            Some(*codec)
        }
        Stream::Flags => None,
        Stream::Whole => {
            let reason = format!("{name} is not video: ifdsink sends one stream of video");
            return Err(Unusable { reason });
        }
    };
    if carrier == Carrier::Udp && codec != Some(Codec::MpegVideo) {
        let reason = format!(
            "protocol=udp sends MPEG-1 and MPEG-2 video (RFC 2250), not {name}: use protocol=tcp, or a payloader and \
             udpsink behind ifdqueue"
        );
        return Err(Unusable { reason });
    }
    Ok(())
}
