//! A streaming file as the flows of a scenario send it, and what its frames refer to.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use bytes::Bytes;
use framewire_adaptive::frame_plan::FramePlan;
use framewire_adaptive::source::{PacketSource, Plan};
use framewire_adaptive::stored::FileSource;
use framewire_media::access_unit::{AccessUnitReader, Codec, Framing};
use framewire_media::picture_order::PictureOrder;
use framewire_media::streaming_file::{ReadAt, StreamingFile};
use framewire_media::{FrameRate, PictureType, References};
use framewire_recording::record::FrameFacts;
use framewire_units::{Bitrate, DataSize, Duration, Timestamp};

use crate::plan::letter;

/// Up to this size a streaming file is kept in memory, as movies are; a longer one is read frame by frame.
const IN_MEMORY: u64 = 1 << 26;

/// The levels of one movie, from a streaming file. Copies share it.
#[derive(Clone)]
pub struct LadderContent {
    source: Arc<FileSource<Arc<dyn ReadAt>>>,
    plan: Arc<dyn Plan>,
    /// By level and frame.
    needs: Arc<[Vec<Needs>]>,
    /// Group of pictures of each frame.
    groups: Arc<[u32]>,
}

/// What a decoder needs to show a frame of a level in its place.
#[derive(Clone, Debug, Default)]
struct Needs {
    /// Frames that it cannot be decoded without.
    references: References,
    /// It refers to something that is not in the movie.
    missing_reference: bool,
    picture_order: Option<PictureOrder>,
    recovers_from: Option<u32>,
}

/// Why a streaming file cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LadderContentError(String);

impl LadderContent {
    /// Reads a streaming file, every frame of every level; up to 64 MiB are kept in memory.
    ///
    /// # Errors
    /// When it is none, is damaged, has no plan, or has a frame that its codec's reader does not understand.
    pub fn open(source: impl ReadAt + 'static) -> Result<Self, LadderContentError> {
        let refused = |error: &dyn fmt::Display| LadderContentError(error.to_string());
        let source = in_memory(source, IN_MEMORY).map_err(|error| refused(&error))?;
        let file = StreamingFile::open(source).map_err(|error| refused(&error))?;
        let plan = FramePlan::of_file(&file).map_err(|error| refused(&error))?;
        file.verify().map_err(|error| refused(&error))?;
        let needs = (0..file.level_count()).map(|level| needs(&file, level)).collect::<Result<Vec<_>, _>>()?;
        let mut group = 0;
        let groups = (0..file.frame_count()).map(|frame| {
            group += u32::from(frame > 0 && file.frame(frame).key.is_some());
            group
        });
        Ok(Self {
            groups: groups.collect(),
            needs: needs.into(),
            plan: Arc::new(plan),
            source: Arc::new(FileSource::new(file)),
        })
    }

    /// Number of levels; at least one.
    pub fn levels(&self) -> usize {
        self.source.file().level_count()
    }

    /// Number of frames; at least one.
    pub fn frames(&self) -> u32 {
        self.source.frames()
    }

    /// Frames per second.
    pub fn frame_rate(&self) -> FrameRate {
        self.source.file().frame_rate()
    }

    /// How long it is.
    pub fn duration(&self) -> Duration {
        self.source.file().duration()
    }

    /// The codec; `None` for a ladder of sizes.
    pub fn codec(&self) -> Option<Codec> {
        self.source.file().codec()
    }

    /// Width and height in pixels; zeros where they are not known.
    pub fn picture_size(&self) -> (u16, u16) {
        self.source.file().picture_size()
    }

    /// Bytes of video in a packet, at most.
    pub fn payload(&self) -> u32 {
        self.source.file().payload()
    }

    /// What a client has to be able to hold (b_min).
    pub fn client_buffer(&self) -> DataSize {
        self.source.file().plan().client_buffer
    }

    /// How long after the first byte the plan lets the player begin.
    pub fn planned_startup(&self) -> Duration {
        self.source.file().plan().startup
    }

    /// Mean rate of a level.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn mean_rate(&self, level: usize) -> Bitrate {
        self.source.file().mean_rate(level)
    }

    /// Packets, as a server takes them.
    pub fn source(&self) -> Arc<dyn PacketSource> {
        Arc::<FileSource<Arc<dyn ReadAt>>>::clone(&self.source)
    }

    /// Rates, as a server takes them.
    pub fn plan(&self) -> Arc<dyn Plan> {
        Arc::clone(&self.plan)
    }

    /// Writes a level as one elementary stream.
    ///
    /// # Errors
    /// When the file changed and cannot be read any more, or `sink` fails.
    ///
    /// # Panics
    /// When there is no such level.
    pub fn write_level(&self, level: usize, mut sink: impl Write) -> io::Result<()> {
        let file = self.source.file();
        for frame in 0..file.frame_count() {
            sink.write_all(&file.frame_bytes(level, frame).map_err(io::Error::other)?)?;
        }
        sink.flush()
    }

    /// When a frame is due that is sent by its time, of a stream that begins at `start`: in the order of decoding, one
    /// each frame period.
    pub(crate) fn due(&self, frame: u32, start: Timestamp) -> Timestamp {
        start + self.frame_rate().time_of(frame.into())
    }

    /// What the ledger must know of a frame that is sent from `level`; from the lowest one where that is not known.
    pub(crate) fn facts(&self, frame: u32, level: Option<u8>, start: Timestamp) -> FrameFacts {
        let (file, number) = (self.source.file(), frame as usize);
        let at = usize::from(level.unwrap_or(0));
        let entry = file.frame(number);
        let needs = &self.needs[at][number];
        FrameFacts {
            track: 0,
            kind: letter(entry.kind),
            size: file.frame_size(at, number),
            level,
            gop: self.groups[number],
            display_index: entry.display_index,
            due: self.due(frame, start),
            display_time: file.display_time(number),
            references: needs.references.to_vec(),
            missing_reference: needs.missing_reference,
            picture_order: needs.picture_order,
            recovers_from: needs.recovers_from,
            group_time: None,
        }
    }
}

impl fmt::Debug for LadderContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LadderContent").field("levels", &self.levels()).field("frames", &self.frames()).finish()
    }
}

/// What is read from the source from now on: where it has at most so many bytes, a copy.
fn in_memory(source: impl ReadAt + 'static, most: u64) -> io::Result<Arc<dyn ReadAt>> {
    let length = source.length()?;
    if length > most {
        return Ok(Arc::new(source));
    }
    let mut bytes = vec![0; length as usize];
    source.read_exact_at(&mut bytes, 0)?;
    Ok(Arc::new(Bytes::from(bytes)))
}

/// What each frame of a level needs. Levels change only where nothing is looked behind, so the numbers hold whatever level
/// came before; and picture order counts go on from level to level, as a decoder derives them.
fn needs(file: &StreamingFile<impl ReadAt>, level: usize) -> Result<Vec<Needs>, LadderContentError> {
    let Some(codec) = file.codec() else { return Ok(needs_of_sizes(file)) };
    let refused = |reason: String| LadderContentError(format!("level {level}: {reason}"));
    let mut reader = AccessUnitReader::new(codec, Framing::ByteStream).map_err(|error| refused(error.to_string()))?;
    let of = |frame: usize| {
        let bytes = file.frame_bytes(level, frame).map_err(|error| refused(error.to_string()))?;
        let unit = reader.read(&bytes).map_err(|error| refused(error.to_string()))?;
        Ok(Needs {
            references: unit.references.iter().filter_map(|&number| u32::try_from(number).ok()).collect(),
            missing_reference: unit.missing_reference,
            picture_order: unit.picture_order,
            recovers_from: unit.recovery.since(unit.number).and_then(|number| u32::try_from(number).ok()),
        })
    };
    (0..file.frame_count()).map(of).collect()
}

/// Frames that are nothing but sizes: each but a key frame refers to the one before it.
fn needs_of_sizes(file: &StreamingFile<impl ReadAt>) -> Vec<Needs> {
    let of = |frame: usize| match file.frame(frame).kind {
        PictureType::I | PictureType::D => Needs::default(),
        PictureType::P | PictureType::B => {
            let references = (frame as u32).checked_sub(1).into_iter().collect();
            Needs { references, ..Needs::default() }
        }
    };
    (0..file.frame_count()).map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use framewire_adaptive::schedule::{Schedule, ScheduleSettings};
    use framewire_media::ladder::{Ladder, Level};
    use framewire_media::streaming_file::write;

    use super::*;

    const RATE: FrameRate = FrameRate { numerator: 25, denominator: 1 };

    /// A file that counts how often it is read.
    struct Counted {
        bytes: Bytes,
        reads: Arc<AtomicUsize>,
    }

    impl ReadAt for Counted {
        fn length(&self) -> io::Result<u64> {
            self.bytes.length()
        }

        fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            self.bytes.read_exact_at(buffer, offset)
        }
    }

    /// How often a file is read of which all is sent, and which has so many bytes more than are kept in memory.
    fn reads_of(more: u64) -> usize {
        let sizes: Vec<u32> = (0..50).map(|frame| if frame % 12 == 0 { 900 } else { 200 + frame }).collect();
        let ladder = Ladder::new(vec![Level::of_sizes(RATE, 12, &sizes).unwrap()]).unwrap();
        let schedule = Schedule::new(&ladder, ScheduleSettings::PAPER).unwrap();
        let mut bytes = Vec::new();
        write(&ladder, Some(&(&schedule).into()), 512, &mut bytes).unwrap();
        let reads = Arc::<AtomicUsize>::default();
        let most = bytes.len() as u64 - more;
        let source = in_memory(Counted { bytes: bytes.into(), reads: Arc::clone(&reads) }, most).unwrap();
        let file = FileSource::new(StreamingFile::open(source).unwrap());
        for frame in 0..50 {
            file.packet(frame, 0, 0).unwrap();
        }
        reads.load(Ordering::Relaxed)
    }

    #[test]
    fn a_small_file_is_read_once_and_a_large_one_frame_by_frame() {
        assert_eq!(reads_of(0), 1);
        assert!(reads_of(1) >= 50);
    }
}
