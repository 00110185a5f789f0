//! From buffers to frames: whole access units as parsers make them, or the RTP packets of MPEG video.

use framewire_media::access_unit::{AccessUnit, AccessUnitError, AccessUnitReader, Codec};
use framewire_media::{FrameRate, sequence_of};
use framewire_units::Timestamp;
use framewire_wire::mpeg_video::{Depacketizer, Limits, PAYLOAD_TYPE};

use super::analysis::Arrival;
use crate::codec::{Stream, Unusable};
use crate::frames::by_flags;
use crate::transport_clock::Times;

/// What could not be analysed, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Faults {
    /// Access units with headers that could not be read.
    pub unreadable: u64,
    /// Frames of which a packet is missing.
    pub incomplete: u64,
    /// Packets that are not of the stream, or too late.
    pub rejected: u64,
}

/// Reads the buffers of one stream.
#[derive(Debug)]
pub(super) struct Input {
    source: Source,
    /// What the caps say, until the stream says it.
    frame_rate: Option<FrameRate>,
    faults: Faults,
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
    /// When frames cannot be told from buffers with these caps.
    pub fn new(caps: &gst::CapsRef, faults: Faults) -> Result<(Self, Option<String>), Unusable> {
        let structure = caps.structure(0).filter(|structure| structure.name() == "application/x-rtp");
        let (source, problem) = match structure {
            Some(structure) => (packets(structure)?, None),
            None => frames(&Stream::of(caps)?)?,
        };
        Ok((Self { source, frame_rate: stated_rate(caps), faults }, problem))
    }

    /// What could not be analysed so far.
    pub fn faults(&self) -> Faults {
        self.faults
    }

    /// Reads a buffer that came at `now`: the frames that are whole with it.
    pub fn read(&mut self, now: Timestamp, buffer: &gst::BufferRef) -> Vec<Arrival> {
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
                let numbered = reader.codec() == Codec::MpegVideo;
                if numbered {
                    self.frame_rate = sequence_of(&map).map(|sequence| sequence.frame_rate).or(self.frame_rate);
                }
                let unit = self.readable(unit);
                let arrival = |unit| self.arrival(now, unit, map.len(), numbered, Times::of(buffer), None);
                unit.map(arrival).into_iter().collect()
            }
            Source::Flags { count } => {
                let unit = flagged(buffer, *count);
                *count += 1;
                vec![self.arrival(now, unit, map.len(), false, Times::of(buffer), None)]
            }
        }
    }

    /// Nothing more comes, or nothing that goes on from what came: the frames that were still waited for.
    pub fn finish(&mut self) -> Vec<Arrival> {
        match &mut self.source {
            Source::Packets(depacketizer, reader) => {
                depacketizer.flush();
                reader.reset();
                self.complete_frames()
            }
            Source::AccessUnits(reader) => {
                reader.reset();
                vec![]
            }
            Source::Flags { .. } => vec![],
        }
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
            if let Some(unit) = self.readable(unit) {
                let no_times = Times { pts: None, dts: None, duration: None };
                let timestamp = Some(frame.rtp_timestamp);
                arrivals.push(self.arrival(frame.last_arrival, unit, frame.bytes.len(), true, no_times, timestamp));
            }
        }
    }

    /// Counts what cannot be read. Headers without a picture are no frame, and nothing is wrong with them.
    fn readable(&mut self, unit: Result<AccessUnit, AccessUnitError>) -> Option<AccessUnit> {
        let wrong = matches!(&unit, Err(error) if !matches!(error, AccessUnitError::NoPicture { .. }));
        self.faults.unreadable += u64::from(wrong);
        unit.ok()
    }

    fn arrival(
        &self,
        at: Timestamp,
        unit: AccessUnit,
        size: usize,
        numbered: bool,
        times: Times,
        rtp_timestamp: Option<u32>,
    ) -> Arrival {
        Arrival { at, size: size as u64, unit, numbered, frame_rate: self.frame_rate, times, rtp_timestamp }
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
    let depacketizer = Depacketizer::new(payload_type.unwrap_or(PAYLOAD_TYPE), None, Limits::default());
    let reader = AccessUnitReader::new(Codec::MpegVideo, framewire_media::access_unit::Framing::ByteStream);
    let reader = reader.map_err(|error| Unusable { reason: error.to_string() })?;
    Ok(Source::Packets(Box::new(depacketizer), Box::new(reader)))
}

fn stated_rate(caps: &gst::CapsRef) -> Option<FrameRate> {
    let rate = caps.structure(0)?.get::<gst::Fraction>("framerate").ok()?;
    let (numerator, denominator) = (u32::try_from(rate.numer()).ok()?, u32::try_from(rate.denom()).ok()?);
    (numerator > 0 && denominator > 0).then_some(FrameRate { numerator, denominator })
}

/// What the flags of a buffer tell of its frame.
fn flagged(buffer: &gst::BufferRef, number: u64) -> AccessUnit {
    let (kind, dependencies) = by_flags(buffer);
    AccessUnit {
        number,
        kind,
        key: dependencies.key,
        leading: false,
        referenced: dependencies.referenced,
        temporal_layer: 0,
        references: vec![],
        missing_reference: false,
        display_order: None,
        gop_header: None,
    }
}
