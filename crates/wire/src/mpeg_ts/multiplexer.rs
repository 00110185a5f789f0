//! From access units to transport packets.

use framewire_units::{DataSize, Duration};

use super::adaptation::AdaptationRepr;
use super::clock::{TICKS_PER_TIMESTAMP, TIMESTAMP_CLOCK};
use super::constant::ConstantRate;
use super::delimiter;
use super::description::{self, Description};
use super::packet::Payload;
use super::pes::PesRepr;
use super::settings::{Rate, Settings, SettingsError};
use super::stream_type::StreamType;
use super::variable::VariableRate;
use super::writer::Writer;

/// One access unit, or a packet of audio, on its way into a transport stream.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// Which track of the program it is of, by its place there; 0 is the video.
    pub track: usize,
    /// The unit.
    pub bytes: &'a [u8],
    /// When it is presented, in ticks of 90 kHz since the begin of the stream. Of audio that begins before it, by less than
    /// the delay, it has wrapped.
    pub presentation: u64,
    /// When it is decoded.
    pub decode: u64,
    /// Ticks until the next one of its track is decoded. Only a stream of variable rate needs it.
    pub duration: u64,
    /// Decoding can begin with it.
    pub random_access: bool,
}

/// Makes a transport stream of one program.
///
/// Give it the units of all tracks in the order of their decoding times; each is appended as whole packets of 188 bytes. At a
/// constant rate packets of several tracks are mixed so that the buffers of the standard's decoder (2.4.2.3, 2.14.3.1) neither
/// overflow nor run empty, for MPEG-2, H.264, MPEG audio and AAC within the limits of their profiles and levels.
/// A unit of video is one PES packet. The time stamps in the stream are later than those given by the delay of the
/// settings, so that its clock begins with the first decoding time, and all of them wrap after 26.5 hours.
///
/// The clock is written at most 40 ms apart, the tables at most 100 ms apart and before every unit of video where decoding
/// can begin (at a constant rate unless they are less than 40 ms old), as long as units follow each other without a gap. Where a frame queue gave frames up there is one.
///
/// Before units of H.264 and H.265 that begin without an access unit delimiter it puts one, which every access unit of
/// them has in a transport stream (2.14.1).
///
/// ```
/// use framewire_units::{DataSize, Timestamp};
/// use framewire_wire::mpeg_ts::{Demultiplexer, Layout, Multiplexer, Program, Settings, StreamType, Unit};
///
/// let program = Program::of_video(StreamType::H264);
/// let mut multiplexer = Multiplexer::new(Settings::new(program, Layout::Datagrams(7)))?;
/// let frame = [0, 0, 1, 0x65, 0x88, 0x84];
/// let unit = Unit { track: 0, bytes: &frame, presentation: 0, decode: 0, duration: 3_600, random_access: true };
/// let mut packets = Vec::new();
/// multiplexer.put(&unit, &mut packets)?;
///
/// let mut demultiplexer = Demultiplexer::new(None, DataSize::from_bytes(1_000_000));
/// packets.chunks(7 * 188).for_each(|datagram| demultiplexer.handle_datagram(Timestamp::ZERO, datagram));
/// let received = demultiplexer.poll_unit().expect("it ends with its last packet");
/// assert_eq!((received.complete, &received.bytes[..]), (true, &frame[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Multiplexer {
    settings: Settings,
    delay: u64,
    writer: Writer,
    pace: Pace,
    tracks: Vec<TrackState>,
    /// Memory for the headers of a unit.
    head: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Pace {
    Variable(VariableRate),
    Constant(ConstantRate),
}

impl Pace {
    /// That of a stream of constant rate, for the callers that made one.
    fn constant_mut(&mut self) -> &mut ConstantRate {
        match self {
            Self::Constant(constant) => constant,
            Self::Variable(_) => unreachable!("invariant: it is asked of a stream of constant rate"),
        }
    }
}

/// What is particular to a track.
#[derive(Clone, Copy, Debug)]
struct TrackState {
    stream_type: StreamType,
    stream_id: u8,
    /// Units so far.
    count: u32,
}

/// A unit whose headers are made.
pub(super) struct Prepared<'a> {
    pub track: usize,
    pub random_access: bool,
    /// Private data of its first packet.
    pub private: &'a [u8],
    pub payload: Payload<'a>,
    /// When its first packet is sent at the earliest, in ticks of the system clock.
    pub start: u64,
    /// How long its packets may take.
    pub duration: u64,
}

impl Prepared<'_> {
    /// The adaptation field of its first packet, or of another one.
    pub(super) fn adaptation(&self, first: bool, reference: Option<u64>) -> AdaptationRepr<'_> {
        match first {
            true => AdaptationRepr {
                discontinuity: false,
                random_access: self.random_access,
                reference,
                private: self.private,
            },
            false => AdaptationRepr { reference, ..AdaptationRepr::default() },
        }
    }
}

impl Multiplexer {
    /// A multiplexer at the start of a stream.
    ///
    /// # Errors
    /// When such a stream cannot be.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        // stream_id of the next track of audio, and of video (table 2-22).
        let mut ids = [0xC0, 0xE0];
        let tracks = settings.program.tracks.iter().map(|track| {
            let id = &mut ids[usize::from(track.stream_type.is_video())];
            *id += 1;
            TrackState { stream_type: track.stream_type, stream_id: *id - 1, count: 0 }
        });
        let tracks = tracks.collect();
        let delay = settings.delay.as_nanos() * u128::from(TIMESTAMP_CLOCK) / 1_000_000_000;
        let delay = u64::try_from(delay).expect("invariant: a delay was checked");
        let types = settings.program.tracks.iter().map(|track| track.stream_type);
        let pace = match settings.rate {
            Rate::Variable(layout) => Pace::Variable(VariableRate::new(layout)),
            Rate::Constant(rate) => Pace::Constant(ConstantRate::new(rate, delay * TICKS_PER_TIMESTAMP, types)),
        };
        Ok(Self { writer: Writer::new(&settings.program), settings, delay, pace, tracks, head: Vec::new() })
    }

    /// What it makes.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Appends the packets of a unit to `out`. Returns how many bytes of them are not of the unit.
    ///
    /// At a constant rate the unit waits, and what is appended are the packets before its time, of units that wait or without
    /// content; call [`finish`](Self::finish) behind the last one. It then returns 0.
    ///
    /// # Errors
    /// When it is no unit of its track, or the rate is too low for it; nothing was then appended.
    pub fn put(&mut self, unit: &Unit<'_>, out: &mut Vec<u8>) -> Result<usize, UnitError> {
        let before = out.len();
        self.prepare(unit, |pace, writer, prepared| match pace {
            Pace::Variable(variable) => {
                variable.put(prepared, writer, out);
                Ok(out.len() - before - unit.bytes.len())
            }
            Pace::Constant(constant) => constant.put(prepared, writer, out).map(|()| 0),
        })
    }

    /// Takes a unit of a stream of constant rate, known by this number, and writes nothing.
    ///
    /// # Errors
    /// As [`put`](Self::put), but for a rate that is too low.
    pub(super) fn take(&mut self, unit: &Unit<'_>, number: u32) -> Result<(), UnitError> {
        self.prepare(unit, |pace, _, prepared| {
            pace.constant_mut().take(prepared, number);
            Ok(())
        })
    }

    /// What decides when packets of a stream of constant rate are sent, and writes them.
    pub(super) fn constant_mut(&mut self) -> (&mut ConstantRate, &mut Writer) {
        (self.pace.constant_mut(), &mut self.writer)
    }

    /// The same to be looked at.
    ///
    /// # Panics
    /// Where the rate is variable.
    pub(super) fn constant(&self) -> &ConstantRate {
        match &self.pace {
            Pace::Constant(constant) => constant,
            Pace::Variable(_) => unreachable!("invariant: it is asked of a stream of constant rate"),
        }
    }

    /// Makes the headers of a unit, and hands it over.
    fn prepare<T>(
        &mut self,
        unit: &Unit<'_>,
        hand_over: impl FnOnce(&mut Pace, &mut Writer, &Prepared<'_>) -> Result<T, UnitError>,
    ) -> Result<T, UnitError> {
        let tracks = self.tracks.len();
        let track = self.tracks.get_mut(unit.track).ok_or(UnitError::Track { track: unit.track, tracks })?;
        if unit.bytes.is_empty() {
            return Err(UnitError::Empty);
        }
        if u32::try_from(unit.bytes.len()).is_err() {
            return Err(UnitError::TooLarge(DataSize::from_bytes(unit.bytes.len() as u64)));
        }
        let (delimiter, inserted) = delimiter::missing(track.stream_type, unit.bytes).ok_or(UnitError::NoStartCode)?;
        self.head.clear();
        let pes = PesRepr {
            stream_id: track.stream_id,
            presentation: unit.presentation.wrapping_add(self.delay),
            decode: unit.decode.wrapping_add(self.delay),
            payload: inserted + unit.bytes.len(),
        };
        pes.emit(&mut self.head);
        self.head.extend_from_slice(&delimiter[..inserted]);
        let described = match self.settings.descriptions {
            true => Description::of(track.count, inserted as u8, unit.bytes).emit(),
            false => [0; description::LENGTH],
        };
        let prepared = Prepared {
            track: unit.track,
            random_access: unit.random_access,
            private: if self.settings.descriptions { &described } else { &[] },
            payload: Payload { head: &self.head, body: unit.bytes },
            start: unit.decode.saturating_mul(TICKS_PER_TIMESTAMP),
            duration: unit.duration.saturating_mul(TICKS_PER_TIMESTAMP),
        };
        let done = hand_over(&mut self.pace, &mut self.writer, &prepared)?;
        track.count = track.count.wrapping_add(1);
        Ok(done)
    }

    /// The stream is over: appends what waits to `out`. At a variable rate nothing does.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if let Pace::Constant(constant) = &mut self.pace {
            constant.finish(&mut self.writer, out);
        }
    }
}

/// What cannot be put into a stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// There is no such track.
    #[error("track {track} of a program of {tracks}")]
    Track {
        /// Which was asked for.
        track: usize,
        /// How many there are.
        tracks: usize,
    },
    /// A unit of nothing.
    #[error("an access unit has at least one byte")]
    Empty,
    /// A unit larger than its size can be written.
    #[error("an access unit of {0}")]
    TooLarge(DataSize),
    /// Not a byte stream of its codec.
    #[error("an access unit of H.264 or H.265 begins with a start code in a transport stream")]
    NoStartCode,
    /// It would come after it is decoded.
    #[error(
        "at this rate an access unit of {size} comes {late:?} after it is decoded: a higher rate, or a longer delay"
    )]
    TooLate {
        /// Its size in the stream.
        size: DataSize,
        /// By how much.
        late: Duration,
    },
}
