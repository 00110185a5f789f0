//! From buffers to frames: whole access units as parsers make them, or the RTP packets of MPEG video.

use framewire_media::access_unit::{
    AccessUnit, AccessUnitError, AccessUnitReader, AssembledFrame, Codec, FrameAssembler, FramePart,
};
use framewire_media::timing::Times;
use framewire_media::{FrameRate, sequence_of};
use framewire_transport::arrivals::{Arrival, Faults};
use framewire_units::Timestamp;
use framewire_wire::rtp_payload::{Depacketizer, Limits, mpeg_video};

use crate::codec::{Stream, Unusable};
use crate::frames::{by_flags, times};

/// Reads the buffers of one stream.
#[derive(Debug)]
pub(super) struct Input {
    source: Source,
    assembler: FrameAssembler<Piece>,
    /// What the caps say, until the stream says it.
    frame_rate: Option<FrameRate>,
    faults: Faults,
}

/// How an access unit came.
#[derive(Debug)]
struct Piece {
    at: Timestamp,
    size: u64,
    times: Times,
    rtp_timestamp: Option<u32>,
}

#[derive(Debug)]
enum Source {
    AccessUnits(Box<AccessUnitReader>),
    Flags { count: u64 },
    Packets(Box<Depacketizer>, Box<AccessUnitReader>),
}

impl Input {
    /// A reader for the stream that caps describe. The string, if any, says what of them could not be used.
    ///
    /// # Errors
    /// When frames cannot be recognised in buffers with these caps.
    pub(crate) fn new(caps: &gst::CapsRef, faults: Faults) -> Result<(Self, Option<String>), Unusable> {
        let structure = caps.structure(0).filter(|structure| structure.name() == "application/x-rtp");
        let (source, problem) = match structure {
            Some(structure) => (packets(structure)?, None),
            None => frames(&Stream::of(caps)?)?,
        };
        let assembler = FrameAssembler::default();
        Ok((Self { source, assembler, frame_rate: stated_rate(caps), faults }, problem))
    }

    /// What could not be analysed so far.
    pub(crate) fn faults(&self) -> Faults {
        self.faults
    }

    /// Reads a buffer that came at `now`: the frames that are whole with it.
    pub(crate) fn read(&mut self, now: Timestamp, buffer: &gst::BufferRef) -> Vec<Arrival> {
        let Ok(map) = buffer.map_readable() else {
            self.faults.unreadable += 1;
            return vec![];
        };
        match &mut self.source {
            Source::Packets(depacketizer, _) => {
                self.faults.rejected += u64::from(depacketizer.handle_datagram(now, &map).is_err());
                self.complete_frames()
            }
            Source::AccessUnits(reader) => {
                let unit = reader.read(&map);
                if reader.codec() == Codec::MpegVideo {
                    self.frame_rate = sequence_of(&map).map(|sequence| sequence.frame_rate).or(self.frame_rate);
                }
                let piece = Piece { at: now, size: map.len() as u64, times: times(buffer), rtp_timestamp: None };
                self.frames(unit, piece)
            }
            Source::Flags { count } => {
                let unit = flagged(buffer, *count);
                *count += 1;
                let piece = Piece { at: now, size: map.len() as u64, times: times(buffer), rtp_timestamp: None };
                self.frames(Ok(unit), piece)
            }
        }
    }

    /// The first field that is held, as a frame: what comes next does not complete it.
    pub(crate) fn release(&mut self) -> Option<Arrival> {
        self.assembler.release().map(|frame| self.arrival(frame))
    }

    /// Nothing more comes, or nothing that goes on from what came: the frames that were still waited for.
    pub(crate) fn finish(&mut self) -> Vec<Arrival> {
        let mut arrivals = match &mut self.source {
            Source::Packets(depacketizer, _) => {
                depacketizer.flush();
                self.complete_frames()
            }
            Source::AccessUnits(_) | Source::Flags { .. } => vec![],
        };
        arrivals.extend(self.release());
        if let Source::Packets(_, reader) | Source::AccessUnits(reader) = &mut self.source {
            reader.reset();
        }
        arrivals
    }

    fn complete_frames(&mut self) -> Vec<Arrival> {
        let mut arrivals = vec![];
        loop {
            let Source::Packets(depacketizer, reader) = &mut self.source else { return arrivals };
            while depacketizer.poll_arrival().is_some() {}
            let Some(frame) = depacketizer.poll_frame() else { return arrivals };
            if !frame.complete {
                self.faults.incomplete += 1;
                continue;
            }
            let unit = reader.read(&frame.bytes);
            self.frame_rate = sequence_of(&frame.bytes).map(|sequence| sequence.frame_rate).or(self.frame_rate);
            let no_times = Times { pts: None, dts: None, duration: None };
            let piece = Piece {
                at: frame.last_arrival,
                size: frame.bytes.len() as u64,
                times: no_times,
                rtp_timestamp: Some(frame.rtp_timestamp),
            };
            arrivals.extend(self.frames(unit, piece));
        }
    }

    /// The frames that are whole with a unit. What cannot be read is counted. Headers without a picture are no frame,
    /// and nothing is wrong with them.
    fn frames(&mut self, unit: Result<AccessUnit, AccessUnitError>, piece: Piece) -> Vec<Arrival> {
        let frames = match unit {
            Ok(unit) => self.assembler.take(unit, piece),
            Err(AccessUnitError::NoPicture { .. }) => [None, None],
            Err(_) => {
                self.faults.unreadable += 1;
                [self.assembler.release(), None]
            }
        };
        frames.into_iter().flatten().map(|frame| self.arrival(frame)).collect()
    }

    /// A frame has arrived when its last field has; its times are those of the first one.
    fn arrival(&self, AssembledFrame { unit, first, second }: AssembledFrame<Piece>) -> Arrival {
        let numbered = match &self.source {
            Source::Packets(..) => true,
            Source::AccessUnits(reader) => reader.codec() == Codec::MpegVideo,
            Source::Flags { .. } => false,
        };
        Arrival {
            at: second.as_ref().map_or(first.at, |second| second.at),
            size: first.size + second.map_or(0, |second| second.size),
            unit,
            numbered,
            frame_rate: self.frame_rate,
            times: first.times,
            rtp_timestamp: first.rtp_timestamp,
        }
    }
}

fn frames(stream: &Stream) -> Result<(Source, Option<String>), Unusable> {
    match stream {
        Stream::AccessUnits { codec, framing, configuration } => match AccessUnitReader::new(*codec, *framing) {
            Ok(mut reader) => {
                let map = configuration.as_ref().and_then(|configuration| configuration.map_readable().ok());
                let problem = map.and_then(|map| reader.configure(&map).err()).map(|problem| problem.to_string());
                Ok((Source::AccessUnits(Box::new(reader)), problem))
            }
            Err(problem) => Ok((Source::Flags { count: 0 }, Some(problem.to_string()))),
        },
        Stream::Flags => Ok((Source::Flags { count: 0 }, None)),
        Stream::Whole => Err(Unusable { reason: "not video: mpegstat tells of the frames of video".to_owned() }),
    }
}

fn packets(structure: &gst::StructureRef) -> Result<Source, Unusable> {
    let encoding = structure.get::<&str>("encoding-name").unwrap_or("MPV");
    if encoding != "MPV" {
        let reason = format!(
            "RTP packets with encoding-name={encoding}: of packets, mpegstat reads MPV (RFC 2250); put a depayloader \
             and a parser before it"
        );
        return Err(Unusable { reason });
    }
    let payload_type = structure.get::<i32>("payload").ok().and_then(|payload| u8::try_from(payload).ok());
    let depacketizer = Depacketizer::new(&mpeg_video::FORMAT, None, Limits::default());
    let depacketizer = depacketizer.with_payload_type(payload_type.unwrap_or(mpeg_video::PAYLOAD_TYPE));
    let reader = AccessUnitReader::new(Codec::MpegVideo, framewire_media::access_unit::Framing::ByteStream);
    let reader = reader.map_err(|error| Unusable { reason: error.to_string() })?;
    Ok(Source::Packets(Box::new(depacketizer), Box::new(reader)))
}

fn stated_rate(caps: &gst::CapsRef) -> Option<FrameRate> {
    let rate = caps.structure(0)?.get::<gst::Fraction>("framerate").ok()?;
    let (numerator, denominator) = (u32::try_from(rate.numer()).ok()?, u32::try_from(rate.denom()).ok()?);
    (numerator > 0 && denominator > 0).then_some(FrameRate { numerator, denominator })
}

/// What the flags of a buffer state of its frame.
fn flagged(buffer: &gst::BufferRef, number: u64) -> AccessUnit {
    let (kind, dependencies) = by_flags(buffer);
    AccessUnit {
        number,
        part: FramePart::Whole,
        kind,
        key: dependencies.key,
        leading: false,
        referenced: dependencies.referenced,
        temporal_layer: 0,
        references: vec![],
        missing_reference: false,
        display_order: None,
        picture_order: None,
        recovery: framewire_media::Recovery::default(),
        gop_header: None,
    }
}
