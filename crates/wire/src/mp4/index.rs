//! The index of a file as it is read: its tracks, and where their samples stand.

use super::boxes::{Contents, name};
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
    /// A track is coded in a way that is not read.
    #[error("samples of {0:?} are not read")]
    Entry(String),
    /// A track is encrypted, all of it or what follows a beginning in the clear (ISO/IEC 23001-7, 4.2; ISO/IEC 14496-12, 8.12).
    #[error("its samples are encrypted (DRM, {0:?}), and there is no key for them")]
    Encrypted(String),
    /// Samples of a track are of another description than its first (8.5.2).
    #[error("its samples are of more than one sample description, of which the first is read")]
    Descriptions,
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

impl IndexError {
    /// It is one of a track that cannot be read, in a file that may well be whole.
    fn is_of_coding(&self) -> bool {
        matches!(self, Self::Entry(_) | Self::Encrypted(_) | Self::Descriptions)
    }
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

/// A track that is not read, though the file can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// It is video; else sound.
    pub is_video: bool,
    /// Why it is not read; `None`: another one of its kind stands before it.
    pub why: Option<IndexError>,
}

/// The most of those that are told of.
const MOST_LEFT_OUT: usize = 16;

/// What an index (`moov`) says.
#[derive(Debug)]
pub(super) struct Index {
    /// The tracks that are read: the first of video and the first of sound that can be.
    pub(super) tracks: Vec<ReadTrack>,
    /// Others of these kinds.
    pub(super) left_out: Vec<LeftOut>,
    /// All their samples, by where they stand.
    pub(super) samples: Vec<Placed>,
    /// Where more samples follow in fragments: by track what those do not say.
    pub(super) fragments: Option<Vec<Defaults>>,
}

/// Reads an index. What is coded in a way that is not read is left out, unless no other track of video is there.
pub(super) fn read(mut movie: Contents<'_>) -> Result<Index, IndexError> {
    let (mut tracks, mut left_out, mut samples, mut defaults) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let extends = movie.find(b"mvex")?;
    while let Some(found) = movie.next()? {
        let Some(kind) = (if found.kind() == *b"trak" { kind_of(found)? } else { None }) else { continue };
        let is_of_kind = |track: &ReadTrack| track.coding.is_video() == kind.is_video;
        let why = if tracks.iter().any(is_of_kind) {
            None
        } else {
            let number = u8::try_from(tracks.len()).expect("invariant: one of each kind");
            let before = samples.len();
            match track(kind, number, &mut samples) {
                Ok(read) => {
                    let number = track_number(found)?;
                    tracks.push(read);
                    defaults.push(Defaults::of(number, extends, samples.len() == before)?);
                    continue;
                }
                Err(why) if why.is_of_coding() => {
                    samples.truncate(before);
                    Some(why)
                }
                Err(why) => return Err(why),
            }
        };
        if left_out.len() < MOST_LEFT_OUT {
            left_out.push(LeftOut { is_video: kind.is_video, why });
        }
    }
    let has_video = tracks.iter().any(|track: &ReadTrack| track.coding.is_video());
    let refused = left_out.iter().find(|one| one.is_video && !has_video || tracks.is_empty());
    if let Some(why) = refused.and_then(|one| one.why.clone()) {
        return Err(why);
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
    Ok(Index { tracks, left_out, samples, fragments: extends.map(|_| defaults) })
}

/// The number by which fragments name a track (ISO/IEC 14496-12, 8.3.2.2): behind two times, which are longer in version 1.
fn track_number(track: Contents<'_>) -> Result<u32, IndexError> {
    let mut header = track.get(b"tkhd")?;
    let times = if header.version()? == 1 { 16 } else { 8 };
    header.bytes(times)?;
    header.u32()
}

/// A track of video or of sound.
#[derive(Clone, Copy)]
struct Kind<'a> {
    is_video: bool,
    /// Of its `mdia`.
    media: Contents<'a>,
}

/// What a track is, by its handler (8.4.3); `None` of other kinds.
fn kind_of(track: Contents<'_>) -> Result<Option<Kind<'_>>, IndexError> {
    let media = track.get(b"mdia")?;
    let mut handler = media.get(b"hdlr")?;
    handler.bytes(8)?;
    Ok(match &handler.array()? {
        b"vide" => Some(Kind { is_video: true, media }),
        b"soun" => Some(Kind { is_video: false, media }),
        _ => None,
    })
}

fn track(kind: Kind<'_>, number: u8, samples: &mut Vec<Placed>) -> Result<ReadTrack, IndexError> {
    let table = kind.media.get(b"minf")?.get(b"stbl")?;
    let mut descriptions = table.get(b"stsd")?;
    descriptions.bytes(8)?;
    let mut others = descriptions;
    let entry = descriptions.next()?.ok_or_else(|| IndexError::Missing("stsd".to_owned(), "stbl".to_owned()))?;
    // A beginning in the clear has an entry of its own before the one of what is encrypted.
    while let Some(other) = others.next()? {
        if matches!(&other.kind(), b"encv" | b"enca") {
            return Err(IndexError::Encrypted(name(other.kind())));
        }
    }
    let track = ReadTrack::of_entry(entry)?;
    if track.coding.is_video() != kind.is_video {
        return Err(IndexError::Entry(name(entry.kind())));
    }
    if track.configuration_size() > MOST_CONFIGURATION {
        return Err(IndexError::TooMuch { what: "bytes of parameter sets", most: MOST_CONFIGURATION });
    }
    read_samples(table, number, &track, samples)?;
    Ok(track)
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
    let runs = runs.entries(12)?;
    if runs.clone().any(|entry| number(entry, 8) > 1) {
        return Err(IndexError::Descriptions);
    }
    let runs: Vec<(u32, u32)> = runs.map(|entry| (number(entry, 0), number(entry, 4))).collect();
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
