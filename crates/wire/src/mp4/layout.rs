//! The index of a file, and where its samples stand.

use bytes::Bytes;

use super::boxes::{HEADER, put, put_full, put_u16, put_u32};
use super::coding::{Coding, SampleError, Shape, put_entry, sample_size};

/// Ticks of a second of the whole presentation.
const MOVIE_TIMESCALE: u32 = 1_000;

/// A picture as it is: a matrix of fixed-point numbers (ISO/IEC 14496-12, 8.2.2.2).
const UNITY: [u32; 9] = [0x1_0000, 0, 0, 0, 0x1_0000, 0, 0, 0, 0x4000_0000];

/// "und": a language that is not stated (ISO/IEC 14496-12, 8.4.2.3).
const UNDETERMINED: u16 = 0x55C4;

/// One stream of a file: what its index says of it.
#[derive(Clone, Debug)]
pub struct Track {
    coding: Coding,
    shape: Shape,
    timescale: u32,
    start: i64,
    configuration: Option<Vec<u8>>,
    samples: Vec<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    size: u32,
    decode: u64,
    composition: u32,
    is_sync: bool,
}

/// The index of a file whose samples follow it in an order that is known.
#[derive(Clone, Debug)]
pub struct Layout {
    index: Bytes,
    length: u64,
    /// Where each sample begins behind the index, in the order in which they stand.
    samples: Vec<u64>,
}

impl Track {
    /// A track without samples, with times in ticks of `timescale` to a second. `start` is the time of the presentation at which
    /// its own times begin; where that is negative, it is presented from 0 on.
    pub fn new(coding: Coding, shape: Shape, timescale: u32, start: i64) -> Self {
        Self { coding, shape, timescale, start, configuration: None, samples: Vec::new() }
    }

    /// Adds an access unit: decoded at `decode`, and presented `composition` after that, by its own times. Decoding times ascend.
    ///
    /// # Errors
    /// When it is no access unit of this kind of stream.
    pub fn push(&mut self, unit: &[u8], decode: u64, composition: u32, is_sync: bool) -> Result<(), SampleError> {
        let size = sample_size(self.coding, unit)?;
        if self.configuration.is_none() {
            self.configuration = self.coding.configuration(unit, self.shape)?;
        }
        self.samples.push(Sample { size, decode, composition, is_sync });
        Ok(())
    }

    /// How it is coded.
    pub(super) fn coding(&self) -> Coding {
        self.coding
    }

    /// Whether an index can be made of it.
    pub(super) fn check(&self) -> Result<(), SampleError> {
        match (self.samples.is_empty(), &self.configuration) {
            (true, _) => Err(SampleError::Empty),
            (false, None) => Err(SampleError::NoParameterSets),
            (false, Some(_)) => Ok(()),
        }
    }

    /// How long each sample lasts until the next one; the last as long as the one before it.
    fn durations(&self) -> impl Iterator<Item = u32> {
        let gap = |pair: &[Sample]| u32::try_from(pair[1].decode.saturating_sub(pair[0].decode)).unwrap_or(u32::MAX);
        let last = self.samples.windows(2).next_back().map_or(1, gap);
        self.samples.windows(2).map(gap).chain([last])
    }

    fn duration(&self) -> u64 {
        self.durations().map(u64::from).sum()
    }

    /// How long it is presented, and from when on, in ticks of the presentation.
    fn presentation(&self) -> (u64, u64) {
        let scaled = |ticks: u64| ticks.saturating_mul(MOVIE_TIMESCALE.into()).div_ceil(self.timescale.into());
        let cut = self.start.min(0).unsigned_abs();
        // Samples are presented later than they are decoded, and the last one until its end.
        let ends = self.samples.iter().zip(self.durations());
        let ends = ends.map(|(sample, duration)| sample.decode + u64::from(sample.composition) + u64::from(duration));
        (scaled(ends.max().unwrap_or(0).saturating_sub(cut)), scaled(self.start.max(0).unsigned_abs()))
    }

    /// Its box; without chunks its samples are in fragments, so that how long it lasts is not known (8.8.1).
    fn put(&self, out: &mut Vec<u8>, number: u32, chunks: Option<&Chunks>) {
        put(out, b"trak", |out| {
            let (duration, delay) = self.presentation();
            let duration = if chunks.is_some() { duration } else { 0 };
            let (width, height) = match self.shape {
                Shape::Picture { width, height } => (width, height),
                Shape::Sound { .. } => (0, 0),
            };
            // Enabled, and in the movie (8.3.2.3).
            put_full(out, b"tkhd", 0, 3, |out| {
                out.extend([0; 8]);
                put_u32(out, number);
                put_u32(out, 0);
                put_u32(out, if chunks.is_some() { saturated(duration + delay) } else { 0 });
                out.extend([0; 10]); // Reserved, and the layer.
                put_u16(out, 0);
                put_u16(out, if self.coding.is_video() { 0 } else { 0x100 });
                put_u16(out, 0);
                UNITY.iter().for_each(|&value| put_u32(out, value));
                put_u32(out, u32::from(width) << 16);
                put_u32(out, u32::from(height) << 16);
            });
            put(out, b"edts", |out| self.put_edits(out, duration, delay));
            put(out, b"mdia", |out| {
                put_full(out, b"mdhd", 0, 0, |out| {
                    out.extend([0; 8]);
                    put_u32(out, self.timescale);
                    put_u32(out, chunks.map_or(0, |_| saturated(self.duration())));
                    put_u16(out, UNDETERMINED);
                    put_u16(out, 0);
                });
                put_full(out, b"hdlr", 0, 0, |out| {
                    out.extend([0; 4]);
                    out.extend(if self.coding.is_video() { b"vide" } else { b"soun" });
                    out.extend([0; 12]);
                    out.extend(b"framewire\0");
                });
                put(out, b"minf", |out| {
                    match self.shape {
                        Shape::Picture { .. } => put_full(out, b"vmhd", 0, 1, |out| out.extend([0; 8])),
                        Shape::Sound { .. } => put_full(out, b"smhd", 0, 0, |out| out.extend([0; 4])),
                    }
                    put(out, b"dinf", |out| {
                        put_full(out, b"dref", 0, 0, |out| {
                            put_u32(out, 1);
                            put_full(out, b"url ", 0, 1, |_| ()); // In this file.
                        });
                    });
                    put(out, b"stbl", |out| self.put_samples(out, chunks));
                });
            });
        });
    }

    /// Edits (8.6.6): nothing until the track begins, or none of what lies before the presentation.
    fn put_edits(&self, out: &mut Vec<u8>, duration: u64, delay: u64) {
        put_full(out, b"elst", 0, 0, |out| {
            put_u32(out, if delay > 0 { 2 } else { 1 });
            if delay > 0 {
                put_u32(out, saturated(delay));
                put_u32(out, u32::MAX);
                put_u32(out, 0x1_0000);
            }
            put_u32(out, saturated(duration));
            put_u32(out, saturated(self.start.min(0).unsigned_abs()));
            put_u32(out, 0x1_0000);
        });
    }

    fn put_samples(&self, out: &mut Vec<u8>, chunks: Option<&Chunks>) {
        put_full(out, b"stsd", 0, 0, |out| {
            put_u32(out, 1);
            self.put_entry(out);
        });
        let Some(chunks) = chunks else {
            [b"stts", b"stsc", b"stco"].iter().for_each(|kind| put_full(out, kind, 0, 0, |out| put_u32(out, 0)));
            return put_full(out, b"stsz", 0, 0, |out| out.extend([0; 8]));
        };
        put_runs(out, b"stts", self.durations());
        if self.samples.iter().any(|sample| sample.composition > 0) {
            put_runs(out, b"ctts", self.samples.iter().map(|sample| sample.composition));
        }
        if self.samples.iter().any(|sample| !sample.is_sync) {
            put_full(out, b"stss", 0, 0, |out| {
                let syncs = self.samples.iter().zip(1..).filter(|(sample, _)| sample.is_sync);
                let numbers: Vec<u32> = syncs.map(|(_, number)| number).collect();
                put_u32(out, numbers.len() as u32);
                numbers.iter().for_each(|&number| put_u32(out, number));
            });
        }
        put_full(out, b"stsc", 0, 0, |out| {
            let mut entries: Vec<(u32, u32)> =
                chunks.sizes.iter().zip(1..).map(|(&size, number)| (number, size)).collect();
            entries.dedup_by_key(|(_, size)| *size);
            put_u32(out, entries.len() as u32);
            for (number, size) in entries {
                [number, size, 1].into_iter().for_each(|value| put_u32(out, value));
            }
        });
        put_full(out, b"stsz", 0, 0, |out| {
            put_u32(out, 0);
            put_u32(out, self.samples.len() as u32);
            self.samples.iter().for_each(|sample| put_u32(out, sample.size));
        });
        let is_long = chunks.offsets.last().is_some_and(|&last| last > u64::from(u32::MAX));
        put_full(out, if is_long { b"co64" } else { b"stco" }, 0, 0, |out| {
            put_u32(out, chunks.offsets.len() as u32);
            for &offset in &chunks.offsets {
                match is_long {
                    true => out.extend(offset.to_be_bytes()),
                    false => put_u32(out, offset as u32),
                }
            }
        });
    }

    fn put_entry(&self, out: &mut Vec<u8>) {
        let configuration = self.configuration.as_deref().unwrap_or_default();
        put_entry(out, self.coding, configuration, |out| {
            out.extend([0; 6]);
            put_u16(out, 1);
            match self.shape {
                Shape::Picture { width, height } => {
                    out.extend([0; 16]);
                    put_u16(out, width);
                    put_u16(out, height);
                    [0x48_0000, 0x48_0000, 0].into_iter().for_each(|value| put_u32(out, value)); // 72 dpi.
                    put_u16(out, 1);
                    out.extend([0; 32]); // The name of a compressor: none.
                    put_u16(out, 24);
                    put_u16(out, u16::MAX);
                }
                Shape::Sound { channels, sample_rate, .. } => {
                    out.extend([0; 8]);
                    put_u16(out, channels.into());
                    put_u16(out, 16);
                    put_u32(out, 0);
                    // A higher rate does not fit the field; decoders of AAC go by its configuration.
                    put_u16(out, u16::try_from(sample_rate).unwrap_or(0));
                    put_u16(out, 0);
                }
            }
        });
    }
}

/// Runs of equal values, each with how many there are.
fn put_runs(out: &mut Vec<u8>, kind: &[u8; 4], values: impl Iterator<Item = u32>) {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for value in values {
        match runs.last_mut() {
            Some((count, last)) if *last == value => *count += 1,
            _ => runs.push((1, value)),
        }
    }
    put_full(out, kind, 0, 0, |out| {
        put_u32(out, runs.len() as u32);
        runs.iter().for_each(|&(count, value)| {
            put_u32(out, count);
            put_u32(out, value);
        });
    });
}

fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Samples of a track that stand behind each other, as a chunk: where it begins, and how many it has.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    offsets: Vec<u64>,
    sizes: Vec<u32>,
}

impl Layout {
    /// The layout of a file whose samples stand in the order of `order`, which names the track of each: all samples of all tracks.
    ///
    /// # Errors
    /// When a track has no samples, or not what its decoder needs first.
    ///
    /// # Panics
    /// When `order` names other samples than there are.
    pub fn new(tracks: &[Track], order: impl Iterator<Item = usize> + Clone) -> Result<Self, SampleError> {
        tracks.iter().try_for_each(Track::check)?;
        let (mut chunks, samples, size) = place(tracks, order.clone());
        // The header of the box of the samples has eight bytes more where they are 4 GiB or more.
        let is_long = size + HEADER as u64 > u64::from(u32::MAX);
        let header_of = |chunks: &[Chunks]| {
            let mut index = Vec::new();
            put(&mut index, b"ftyp", |out| {
                out.extend(b"isom\0\0\x02\0isomiso2iso6mp41");
                put_brands(out, tracks);
            });
            put_movie(&mut index, tracks, Some(chunks));
            put_u32(&mut index, if is_long { 1 } else { (size + HEADER as u64) as u32 });
            index.extend(b"mdat");
            if is_long {
                index.extend((size + 2 * HEADER as u64).to_be_bytes());
            }
            index
        };
        // Where the samples stand depends on how long the index is, which depends on that where they stand beyond 4 GiB only.
        let mut at = 0;
        loop {
            let length = header_of(&chunks).len() as u64;
            if length == at {
                break;
            }
            let moved = length - at;
            chunks.iter_mut().flat_map(|chunks| &mut chunks.offsets).for_each(|offset| *offset += moved);
            at = length;
        }
        let index: Bytes = header_of(&chunks).into();
        Ok(Self { length: index.len() as u64 + size, index, samples })
    }

    /// All that stands before the first sample.
    pub fn index(&self) -> Bytes {
        self.index.clone()
    }

    /// Bytes of the whole file.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Where each sample begins in the file, in the order in which they stand.
    pub fn samples(&self) -> impl Iterator<Item = u64> {
        self.samples.iter().map(|offset| self.index.len() as u64 + offset)
    }
}

/// The brands that codings ask for.
pub(super) fn put_brands(out: &mut Vec<u8>, tracks: &[Track]) {
    tracks.iter().filter_map(|track| track.coding.brand()).for_each(|brand| out.extend(brand));
}

/// The chunks of each track and the samples, by where they begin behind the index, and the bytes of all.
fn place(tracks: &[Track], order: impl Iterator<Item = usize>) -> (Vec<Chunks>, Vec<u64>, u64) {
    let mut samples = Vec::new();
    let mut chunks = vec![Chunks::default(); tracks.len()];
    let (mut next, mut last, mut offset) = (vec![0; tracks.len()], None, 0);
    for track in order {
        let own = &mut chunks[track];
        if last != Some(track) {
            own.offsets.push(offset);
            own.sizes.push(0);
        }
        *own.sizes.last_mut().expect("invariant: its first sample began a chunk") += 1;
        samples.push(offset);
        offset += u64::from(tracks[track].samples[next[track]].size);
        next[track] += 1;
        last = Some(track);
    }
    assert!(tracks.iter().zip(&next).all(|(track, &next)| next == track.samples.len()), "all samples are named");
    (chunks, samples, offset)
}

/// The index; without chunks that of a file in fragments.
pub(super) fn put_movie(out: &mut Vec<u8>, tracks: &[Track], chunks: Option<&[Chunks]>) {
    put(out, b"moov", |out| {
        put_full(out, b"mvhd", 0, 0, |out| {
            out.extend([0; 8]);
            put_u32(out, MOVIE_TIMESCALE);
            let ends = tracks.iter().map(Track::presentation).map(|(duration, delay)| duration + delay);
            put_u32(out, chunks.map_or(0, |_| saturated(ends.max().unwrap_or(0))));
            put_u32(out, 0x1_0000);
            put_u16(out, 0x100);
            out.extend([0; 10]);
            UNITY.iter().for_each(|&value| put_u32(out, value));
            out.extend([0; 24]);
            put_u32(out, tracks.len() as u32 + 1);
        });
        for (track, number) in tracks.iter().zip(1..) {
            track.put(out, number, chunks.map(|chunks| &chunks[number as usize - 1]));
        }
        if chunks.is_none() {
            put(out, b"mvex", |out| {
                // Each fragment says all of its sample; the entry is the first of its track (8.8.3).
                for number in 1..=tracks.len() as u32 {
                    put_full(out, b"trex", 0, 0, |out| {
                        [number, 1, 0, 0, 0].into_iter().for_each(|value| put_u32(out, value));
                    });
                }
            });
        }
    });
}
