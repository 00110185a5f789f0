//! A file in fragments (ISO/IEC 14496-12, 8.8): an index without samples, and then each sample behind a small index of its own, so
//! that a stream without an end can be played as it comes, and samples can be left out.

use bytes::{Bytes, BytesMut};

use super::boxes::{Contents, HEADER, Kind, name, put, put_full, put_u32};
use super::coding::{ReadTrack, SampleError, put_sample, sample_size};
use super::index::{IndexError, MOST_SAMPLES, Placed};
use super::layout::{Track, put_brands, put_movie};

/// The largest index of a fragment that is taken: it has at most 16 bytes for each sample.
pub(super) const MOST_FRAGMENT_BYTES: usize = 1 << 20;

/// `base-data-offset-present`, `sample-description-index-present`, `default-sample-duration-present`,
/// `default-sample-size-present`, `default-sample-flags-present`, `default-base-is-moof` (8.8.7.1).
const BASE_OFFSET: u32 = 0x01;
const DESCRIPTION: u32 = 0x02;
const DEFAULT_DURATION: u32 = 0x08;
const DEFAULT_SIZE: u32 = 0x10;
const DEFAULT_FLAGS: u32 = 0x20;
const BASE_IS_FRAGMENT: u32 = 0x2_0000;

/// `data-offset-present`, `first-sample-flags-present`, and what stands of each sample: its duration, size, flags and the offset of
/// its composition (8.8.8.1).
const DATA_OFFSET: u32 = 0x01;
const FIRST_FLAGS: u32 = 0x04;
const DURATION: u32 = 0x100;
const SIZE: u32 = 0x200;
const FLAGS: u32 = 0x400;
const COMPOSITION: u32 = 0x800;

/// Flags of a sample (8.8.3.1): one that depends on no other, and one that does and with which decoding cannot begin.
const SYNC: u32 = 0x0200_0000;
const NO_SYNC: u32 = 0x0101_0000;

/// Of those, `sample_is_non_sync_sample`.
const IS_NO_SYNC: u32 = 0x1_0000;

/// When a sample is decoded and presented, in ticks of its track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleTime {
    /// When it is decoded.
    pub decode: u64,
    /// How much later it is presented.
    pub composition: u32,
    /// How long it lasts.
    pub duration: u32,
}

/// Makes a file in fragments of one sample each.
#[derive(Clone, Debug)]
pub struct Fragmenter {
    index: Bytes,
    tracks: Vec<Track>,
    next: u32,
}

impl Fragmenter {
    /// A file of these tracks, each of which has got its first access unit. Their samples are left out of the index.
    ///
    /// # Errors
    /// When a track has no access unit, or not what its decoder needs first.
    pub fn new(tracks: Vec<Track>) -> Result<Self, SampleError> {
        tracks.iter().try_for_each(Track::check)?;
        let mut index = Vec::new();
        put(&mut index, b"ftyp", |out| {
            out.extend(b"iso6\0\0\0\0iso6mp41");
            put_brands(out, &tracks);
        });
        put_movie(&mut index, &tracks, None);
        Ok(Self { index: index.into(), tracks, next: 1 })
    }

    /// What stands before the first fragment.
    pub fn index(&self) -> Bytes {
        self.index.clone()
    }

    /// The fragment of an access unit of a track.
    ///
    /// # Errors
    /// When it is no access unit of this kind of stream.
    ///
    /// # Panics
    /// When there is no such track.
    pub fn fragment(
        &mut self,
        track: usize,
        unit: &[u8],
        time: SampleTime,
        is_sync: bool,
    ) -> Result<Bytes, SampleError> {
        let coding = self.tracks[track].coding();
        let size = sample_size(coding, unit)?;
        let length = size.checked_add(HEADER as u32).ok_or(SampleError::TooLarge)?;
        let number = track as u32 + 1;
        let mut header = Vec::with_capacity(128);
        put(&mut header, b"moof", |out| {
            put_full(out, b"mfhd", 0, 0, |out| put_u32(out, self.next));
            put(out, b"traf", |out| {
                put_full(out, b"tfhd", 0, BASE_IS_FRAGMENT, |out| put_u32(out, number));
                put_full(out, b"tfdt", 1, 0, |out| out.extend(time.decode.to_be_bytes()));
                put_full(out, b"trun", 0, DATA_OFFSET | DURATION | SIZE | FLAGS | COMPOSITION, |out| {
                    let flags = if is_sync { SYNC } else { NO_SYNC };
                    // Where the sample stands is known when this box is written.
                    [1, 0, time.duration, size, flags, time.composition]
                        .into_iter()
                        .for_each(|value| put_u32(out, value));
                });
            });
        });
        let place = (header.len() + HEADER) as u32;
        let at = header.len() - 5 * 4;
        header[at..at + 4].copy_from_slice(&place.to_be_bytes());
        put_u32(&mut header, length);
        header.extend(b"mdat");
        let mut fragment = BytesMut::with_capacity(header.len() + size as usize);
        fragment.extend_from_slice(&header);
        put_sample(coding, unit, &mut fragment)?;
        self.next = self.next.wrapping_add(1);
        Ok(fragment.freeze())
    }
}

/// What a file says of the samples of a track where its fragments do not (8.8.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Defaults {
    /// Its number in the file.
    number: u32,
    size: u32,
    flags: u32,
    /// Which of its sample descriptions is meant, counted from 1.
    description: u32,
    /// What comes next is its first sample.
    is_first: bool,
}

impl Defaults {
    /// Of this track; `extends` are the boxes of `mvex`, which may have some.
    /// `is_first`: the index has no sample of it.
    pub(super) fn of(number: u32, extends: Option<Contents<'_>>, is_first: bool) -> Result<Self, IndexError> {
        let mut of_track = Self { number, is_first, ..Self::default() };
        let mut rest = extends;
        while let Some(mut found) = rest.as_mut().map_or(Ok(None), Contents::next)? {
            if found.kind() == *b"trex" {
                found.version()?;
                let track = found.u32()?;
                let description = found.u32()?;
                found.u32()?; // The duration.
                let (size, flags) = (found.u32()?, found.u32()?);
                if track == number {
                    of_track = Self { size, flags, description, ..of_track };
                }
            }
        }
        Ok(of_track)
    }
}

/// Reads the index of a fragment (`moof`), which begins at byte `at` of the file and has so many bytes: where its samples stand.
pub(super) fn read(
    mut fragment: Contents<'_>,
    (at, length): (u64, u64),
    tracks: &[ReadTrack],
    defaults: &mut [Defaults],
) -> Result<Vec<Placed>, IndexError> {
    let mut samples = Vec::new();
    // Without another word, data begins with the fragment, and goes on where that of the track before it ends (8.8.7.1).
    let mut end = at;
    while let Some(found) = fragment.next()? {
        if found.kind() == *b"traf" {
            end = read_track(found, (at, end), tracks, defaults, &mut samples)?;
        }
    }
    samples.sort_unstable_by_key(|sample| (sample.offset, sample.track));
    let mut free = at.checked_add(length).ok_or(IndexError::Overlap)?;
    for sample in &samples {
        if sample.offset < free {
            return Err(IndexError::Overlap);
        }
        free = sample.offset.checked_add(u64::from(sample.size)).ok_or(IndexError::Overlap)?;
    }
    Ok(samples)
}

fn read_track(
    mut found: Contents<'_>,
    (at, before): (u64, u64),
    tracks: &[ReadTrack],
    defaults: &mut [Defaults],
    samples: &mut Vec<Placed>,
) -> Result<u64, IndexError> {
    let mut header = found.get(b"tfhd")?;
    let flags = header.u32()? & 0xFF_FFFF;
    let number = header.u32()?;
    let mut base = if flags & BASE_IS_FRAGMENT == 0 { before } else { at };
    if flags & BASE_OFFSET != 0 {
        base = header.u64()?;
    }
    let own_description = if flags & DESCRIPTION == 0 { None } else { Some(header.u32()?) };
    if flags & DEFAULT_DURATION != 0 {
        header.u32()?;
    }
    let own_size = if flags & DEFAULT_SIZE == 0 { None } else { Some(header.u32()?) };
    let own_flags = if flags & DEFAULT_FLAGS == 0 { None } else { Some(header.u32()?) };
    let track = defaults.iter().position(|track| track.number == number);
    let of_file = track.map_or(0, |track| defaults[track].description);
    if track.is_some() && own_description.unwrap_or(of_file) > 1 {
        return Err(IndexError::Descriptions);
    }
    let mut end = base;
    while let Some(run) = found.next()? {
        if run.kind() == *b"trun" {
            let of_file = track.map_or((0, 0), |track| (defaults[track].size, defaults[track].flags));
            let usual = (own_size.unwrap_or(of_file.0), own_flags.unwrap_or(of_file.1));
            end = read_run(run, (base, end), usual, |offset, size, is_sync| {
                let Some(track) = track else { return Ok(()) };
                if samples.len() == MOST_SAMPLES {
                    return Err(IndexError::TooMuch { what: "samples", most: MOST_SAMPLES });
                }
                let is_first = std::mem::take(&mut defaults[track].is_first);
                let wants_headers = tracks[track].wants_headers(is_sync, is_first);
                samples.push(Placed { offset, size, track: track as u8, wants_headers });
                Ok(())
            })?;
        }
    }
    Ok(end)
}

/// Gives out the samples of a run, and returns where it ends. Without an offset of its own it begins where the one before ended.
fn read_run(
    mut run: Contents<'_>,
    (base, before): (u64, u64),
    (usual_size, usual_flags): (u32, u32),
    mut take: impl FnMut(u64, u32, bool) -> Result<(), IndexError>,
) -> Result<u64, IndexError> {
    let flags = run.u32()? & 0xFF_FFFF;
    let count = run.u32()?;
    let mut offset = match flags & DATA_OFFSET {
        0 => before,
        _ => base.checked_add_signed(i64::from(run.u32()? as i32)).ok_or(IndexError::Overlap)?,
    };
    let mut first = if flags & FIRST_FLAGS == 0 { None } else { Some(run.u32()?) };
    let of_each = [DURATION, SIZE, FLAGS, COMPOSITION].map(|field| flags & field != 0);
    if !of_each.contains(&true) && count as usize > MOST_FRAGMENT_BYTES / 16 {
        return Err(IndexError::TooMuch { what: "samples of a run without sizes", most: MOST_FRAGMENT_BYTES / 16 });
    }
    for _ in 0..count {
        let mut fields = [None; 4];
        for (field, is_there) in fields.iter_mut().zip(of_each) {
            *field = if is_there { Some(run.u32()?) } else { None };
        }
        let [_, size, own_flags, _] = fields;
        let size = size.unwrap_or(usual_size);
        if size == 0 {
            return Err(IndexError::Tables("a sample is empty"));
        }
        let flags = first.take().or(own_flags).unwrap_or(usual_flags);
        take(offset, size, flags & IS_NO_SYNC == 0)?;
        offset = offset.checked_add(u64::from(size)).ok_or(IndexError::Overlap)?;
    }
    Ok(offset)
}

/// Boxes that may stand between fragments and are passed over; others are no file in fragments.
pub(super) fn is_between(kind: Kind) -> Result<(), IndexError> {
    match &kind {
        b"mdat" | b"styp" | b"sidx" | b"ssix" | b"prft" | b"emsg" | b"free" | b"skip" | b"mfra" | b"uuid" => Ok(()),
        _ => Err(IndexError::NoFragment(name(kind))),
    }
}
