//! The index of a file as it is read: its tracks, and where their samples stand.

use super::boxes::Contents;
use super::coding::ReadTrack;
use super::fragments::Defaults;

/// The largest index that is taken: it has some 16 bytes for each sample, so that this is that of ten hours.
pub const MOST_INDEX_BYTES: usize = 64 << 20;

/// The most samples of all tracks that are taken.
pub(crate) const MOST_SAMPLES: usize = 4 << 20;

/// The most bytes of parameter sets of a track that are taken: they come before every picture with which decoding begins.
const MOST_CONFIGURATION: usize = 4_096;

/// Bytes that are not a file as it is read here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// It does not begin with a box of an MP4 file.
    #[error("not an MP4 file: it begins with a box {0:?}")]
    NoFile(String),
    /// The samples stand before the index, so that nothing can be played until all is there.
    #[error("the index (moov) stands behind the samples (mdat): a file that is played as it comes has it in front")]
    Behind,
    /// Its index says that fragments follow, and something else stands there.
    #[error("the file is in fragments (moof), and a box {0:?} stands between them")]
    NoFragment(String),
    /// A fragment comes before the index.
    #[error("a fragment (moof) stands before the index (moov)")]
    FragmentFirst,
    /// A box ends before what is to be in it.
    #[error("box {0:?} is cut off")]
    Short(String),
    /// A box is not there.
    #[error("there is no box {0:?} in box {1:?}")]
    Missing(String, String),
    /// There is nothing to play.
    #[error("there is no track of video or sound")]
    NoTracks,
    /// A track is coded in a way that is not read, or encrypted.
    #[error("samples of {0:?} are not read")]
    Entry(String),
    /// The tables of a track do not fit each other.
    #[error("the tables of a track do not fit each other: {0}")]
    Tables(&'static str),
    /// Samples overlap, or stand before the end of the index.
    #[error("samples overlap, or stand before the end of the index")]
    Overlap,
    /// More than is taken.
    #[error("{what}: more than {most}")]
    TooMuch {
        /// Of what.
        what: &'static str,
        /// How much is taken.
        most: usize,
    },
}

/// Where a sample stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) offset: u64,
    pub(super) size: u32,
    pub(super) track: u8,
    /// The headers of the index belong before it, unless it has its own.
    pub(super) wants_headers: bool,
}

/// What an index (`moov`) says.
#[derive(Debug)]
pub(super) struct Index {
    /// The tracks that are read: video and sound.
    pub(super) tracks: Vec<ReadTrack>,
    /// All their samples, by where they stand.
    pub(super) samples: Vec<Placed>,
    /// Where more samples follow in fragments: by track what those do not say.
    pub(super) fragments: Option<Vec<Defaults>>,
}

/// Reads an index.
pub(super) fn read(mut movie: Contents<'_>) -> Result<Index, IndexError> {
    let (mut tracks, mut samples, mut defaults) = (Vec::new(), Vec::new(), Vec::new());
    let extends = movie.find(b"mvex")?;
    while let Some(found) = movie.next()? {
        if found.kind() == *b"trak" {
            let number = u8::try_from(tracks.len()).map_err(|_| IndexError::Tables("there are too many"))?;
            let before = samples.len();
            if let Some(read) = track(found, number, &mut samples)? {
                tracks.push(read);
                defaults.push(Defaults::of(track_number(found)?, extends, samples.len() == before)?);
            }
        }
    }
    if tracks.is_empty() {
        return Err(IndexError::NoTracks);
    }
    samples.sort_unstable_by_key(|sample: &Placed| (sample.offset, sample.track));
    let ends = |sample: &Placed| sample.offset.checked_add(u64::from(sample.size));
    let fits = samples.windows(2).all(|pair| ends(&pair[0]).is_some_and(|end| end <= pair[1].offset));
    if !fits || samples.last().is_some_and(|last| ends(last).is_none()) {
        return Err(IndexError::Overlap);
    }
    Ok(Index { tracks, samples, fragments: extends.map(|_| defaults) })
}

/// The number by which fragments name a track (ISO/IEC 14496-12, 8.3.2.2): behind two times, which are longer in version 1.
fn track_number(track: Contents<'_>) -> Result<u32, IndexError> {
    let mut header = track.get(b"tkhd")?;
    let times = if header.version()? == 1 { 16 } else { 8 };
    header.bytes(times)?;
    header.u32()
}

fn track(found: Contents<'_>, number: u8, samples: &mut Vec<Placed>) -> Result<Option<ReadTrack>, IndexError> {
    let media = found.get(b"mdia")?;
    let mut handler = media.get(b"hdlr")?;
    handler.bytes(8)?;
    if !matches!(&handler.array()?, b"vide" | b"soun") {
        return Ok(None);
    }
    let table = media.get(b"minf")?.get(b"stbl")?;
    let mut description = table.get(b"stsd")?;
    description.bytes(8)?;
    let entry = description.next()?.ok_or_else(|| IndexError::Missing("stsd".to_owned(), "stbl".to_owned()))?;
    let track = ReadTrack::of_entry(entry)?;
    if track.configuration_size() > MOST_CONFIGURATION {
        return Err(IndexError::TooMuch { what: "bytes of parameter sets", most: MOST_CONFIGURATION });
    }
    read_samples(table, number, &track, samples)?;
    Ok(Some(track))
}

fn number(entry: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(*entry[at..].first_chunk().expect("invariant: entries have their size"))
}

/// The samples of a track: their sizes (`stsz`), which of them stand in which chunk (`stsc`), and where chunks stand (`stco`, `co64`).
fn read_samples(
    table: Contents<'_>,
    number_of_track: u8,
    track: &ReadTrack,
    samples: &mut Vec<Placed>,
) -> Result<(), IndexError> {
    let mut sizes = table.get(b"stsz")?;
    sizes.version()?;
    let constant = sizes.u32()?;
    let count = sizes.u32()? as usize;
    if count > MOST_SAMPLES - samples.len().min(MOST_SAMPLES) {
        return Err(IndexError::TooMuch { what: "samples", most: MOST_SAMPLES });
    }
    let listed = if constant == 0 { sizes.bytes(4 * count)? } else { &[] };
    let alike = std::iter::repeat_n(constant, if constant == 0 { 0 } else { count });
    let mut sizes = listed.chunks_exact(4).map(|entry| number(entry, 0)).chain(alike);
    let syncs = match table.find(b"stss")? {
        None => None,
        Some(mut syncs) => {
            syncs.version()?;
            let numbers: Vec<u32> = syncs.entries(4)?.map(|entry| number(entry, 0)).collect();
            if !numbers.is_sorted() {
                return Err(IndexError::Tables("numbers of sync samples do not ascend"));
            }
            Some(numbers)
        }
    };
    let offsets = chunk_offsets(table)?;
    let mut runs = table.get(b"stsc")?;
    runs.version()?;
    let runs: Vec<(u32, u32)> = runs.entries(12)?.map(|entry| (number(entry, 0), number(entry, 4))).collect();
    if runs.first().is_some_and(|(first, _)| *first != 1) || !runs.is_sorted_by(|one, next| one.0 < next.0) {
        return Err(IndexError::Tables("numbers of chunks do not ascend from 1"));
    }
    let (mut of_runs, mut in_chunk, mut sample) = (runs.iter().peekable(), 0, 0);
    for (mut offset, chunk) in offsets.into_iter().zip(1..) {
        if let Some((_, count)) = of_runs.next_if(|(first, _)| *first == chunk) {
            in_chunk = *count;
        }
        for _ in 0..in_chunk {
            let size = sizes.next().ok_or(IndexError::Tables("chunks have more samples than there are"))?;
            if size == 0 {
                return Err(IndexError::Tables("a sample is empty"));
            }
            sample += 1;
            let is_sync = syncs.as_ref().is_none_or(|syncs| syncs.binary_search(&sample).is_ok());
            let wants_headers = track.wants_headers(is_sync, sample == 1);
            samples.push(Placed { offset, size, track: number_of_track, wants_headers });
            offset = offset.checked_add(u64::from(size)).ok_or(IndexError::Overlap)?;
        }
    }
    match sizes.next() {
        Some(_) => Err(IndexError::Tables("there are more samples than chunks have")),
        None => Ok(()),
    }
}

/// Where each chunk stands.
fn chunk_offsets(table: Contents<'_>) -> Result<Vec<u64>, IndexError> {
    if let Some(mut short) = table.find(b"stco")? {
        short.version()?;
        return Ok(short.entries(4)?.map(|entry| number(entry, 0).into()).collect());
    }
    let mut long = table.get(b"co64")?;
    long.version()?;
    let offset = |entry: &[u8]| u64::from(number(entry, 0)) << 32 | u64::from(number(entry, 4));
    Ok(long.entries(8)?.map(offset).collect())
}
