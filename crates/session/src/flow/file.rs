//! The movie as an MP4 file whose index stands in front, or that is in fragments.

use std::sync::Arc;

use bytes::Bytes;
use framewire_transport::registry::{file_coding, sound_coding};
use framewire_transport::{FileFragments, FileSamples, SoundTimes};
use framewire_units::Duration;
use framewire_wire::mp4::{Coding, Fragmenter, Layout, SampleError, Shape, Track};
use framewire_wire::rtp_payload::CLOCK_RATE;

use crate::plan::SendingPlan;
use crate::sound::Sound;

/// The least ticks of a second of the video: a multiple of the frame rate, so that times of frames are exact, and fine enough for
/// times between them.
const LEAST_TIMESCALE: u32 = 10_000;

/// A movie's file: its index, and how its samples follow.
#[derive(Clone, Debug)]
pub(super) struct MovieFile {
    /// All that stands before the first sample.
    pub(super) index: Bytes,
    /// Bytes of the whole file.
    pub(super) length: u64,
    pub(super) samples: FileSamples,
    /// Where each sample begins.
    offsets: Arc<[u64]>,
}

/// A place in a file from which on it is sent.
pub(super) struct FilePlace {
    /// What is sent before the samples: the index, where the place is in it.
    pub(super) index: Option<Bytes>,
    pub(super) samples: FileSamples,
    /// Frames and packets of sound before the first sample that is sent.
    pub(super) before: [u32; 2],
    /// Bytes of what is sent that stand before the place.
    pub(super) skipped: u64,
}

impl MovieFile {
    /// The file of a movie whose codec has an entry in files. All of it is read once, for the sizes of its samples.
    ///
    /// # Errors
    /// When it has a frame or a packet that cannot stand in a file, or not what its decoder needs first.
    pub(super) fn new(plan: &SendingPlan) -> Result<Self, SampleError> {
        let mpeg2 = plan.movie().index.sequence.mpeg2;
        let video = file_coding(plan.codec(), mpeg2).expect("invariant: the transport carries the codec in files");
        let mut tracks = vec![video_track(plan, video)?];
        let sound = plan.sound().map(|sound| (sound, sound_coding(sound.format())));
        if let Some((sound, coding)) = sound {
            tracks.push(sound_track(sound, coding)?);
        }
        let order = plan.order_in_file();
        let layout = Layout::new(&tracks, order.iter().map(|&is_sound| usize::from(is_sound)))?;
        let samples = FileSamples::new(video, sound.map(|(_, coding)| coding), order.into_iter());
        let offsets = layout.samples().collect();
        Ok(Self { index: layout.index(), length: layout.length(), samples, offsets })
    }

    /// What is sent from a byte of it on.
    pub(super) fn from(&self, byte: u64) -> FilePlace {
        if byte < self.index.len() as u64 {
            let (index, samples) = (Some(self.index.clone()), self.samples.clone());
            return FilePlace { index, samples, before: [0; 2], skipped: byte };
        }
        let sample = self.offsets.partition_point(|&offset| offset <= byte) - 1;
        let (samples, before) = self.samples.starting_at(sample);
        let skipped = byte - self.offsets[sample];
        FilePlace { index: None, samples, before: before.map(|count| count as u32), skipped }
    }
}

/// A movie's file in fragments: what stands before the first, and how they are made.
#[derive(Clone, Debug)]
pub(super) struct FragmentedMovie {
    /// All that stands before the first fragment.
    pub(super) index: Bytes,
    pub(super) fragments: FileFragments,
}

impl FragmentedMovie {
    /// The fragments of a movie whose codec has an entry in files. Of the movie only what begins it is read.
    ///
    /// # Errors
    /// When its first frame or packet cannot stand in a file, or lacks what a decoder needs first.
    pub(super) fn new(plan: &SendingPlan) -> Result<Self, SampleError> {
        let sequence = &plan.movie().index.sequence;
        let video = file_coding(plan.codec(), sequence.mpeg2);
        let video = video.expect("invariant: the transport carries the codec in files");
        let reordering = ticks(plan.longest_reordering().as_nanos() as i128, CLOCK_RATE);
        let mut track = Track::new(video, shape_of(plan), CLOCK_RATE, -reordering);
        track.push(&plan.outgoing(0).bytes, 0, 0, true)?;
        let mut tracks = vec![track];
        let sound = plan.sound().map(sound_times);
        if let (Some(sound), Some(times)) = (plan.sound(), sound) {
            let mut track =
                Track::new(sound_coding(sound.format()), shape_of_sound(sound), times.timescale, times.start);
            track.push(&sound.bytes(0), 0, 0, true)?;
            tracks.push(track);
        }
        let fragmenter = Fragmenter::new(tracks)?;
        let index = fragmenter.index();
        let reordering = u32::try_from(reordering).unwrap_or(u32::MAX);
        Ok(Self { index, fragments: FileFragments::new(fragmenter, reordering, sound) })
    }
}

fn shape_of(plan: &SendingPlan) -> Shape {
    let sequence = &plan.movie().index.sequence;
    Shape::Picture { width: sequence.width, height: sequence.height }
}

fn shape_of_sound(sound: &Sound) -> Shape {
    let format = sound.format();
    Shape::Sound { channels: format.channels, sample_rate: format.sample_rate, pre_skip: format.pre_skip }
}

/// Ticks are samples, so that times of packets are exact.
fn sound_times(sound: &Sound) -> SoundTimes {
    let timescale = sound.format().sample_rate;
    let ticks = |number| ticks(sound.start_of(number).into(), timescale);
    let duration = if sound.len() > 1 { ticks(1) - ticks(0) } else { 0 };
    SoundTimes { timescale, start: ticks(0), duration: u32::try_from(duration).unwrap_or(0) }
}

/// Frames by their times of decoding and presentation, each counted from the first one; presentation is moved so far that no
/// frame is presented before it is decoded.
fn video_track(plan: &SendingPlan, coding: Coding) -> Result<Track, SampleError> {
    let sequence = &plan.movie().index.sequence;
    let rate = sequence.frame_rate.numerator.max(1);
    let timescale =
        std::iter::successors(Some(rate), |scale| scale.checked_mul(2)).find(|&scale| scale >= LEAST_TIMESCALE);
    let timescale = timescale.unwrap_or(rate);
    let ticks = |time: Duration| ticks(i128::try_from(time.as_nanos()).unwrap_or(i128::MAX), timescale);
    let shift = ticks(plan.longest_reordering());
    let mut track = Track::new(coding, shape_of(plan), timescale, -shift);
    for (frame, number) in plan.movie().index.frames.iter().zip(0..) {
        let decode = ticks(frame.decode_time);
        let composition = u32::try_from(ticks(frame.display_time) + shift - decode).unwrap_or(0);
        track.push(&plan.movie().frame_bytes(number), decode.unsigned_abs(), composition, frame.key.is_some())?;
    }
    Ok(track)
}

fn sound_track(sound: &Sound, coding: Coding) -> Result<Track, SampleError> {
    let SoundTimes { timescale, start, .. } = sound_times(sound);
    let ticks = |number| ticks(sound.start_of(number).into(), timescale);
    let mut track = Track::new(coding, shape_of_sound(sound), timescale, start);
    for number in 0..sound.len() {
        track.push(&sound.bytes(number), (ticks(number) - start).unsigned_abs(), 0, true)?;
    }
    Ok(track)
}

/// Nanoseconds in ticks, to the nearest one.
fn ticks(nanos: i128, timescale: u32) -> i64 {
    let twice = nanos.saturating_mul(2 * i128::from(timescale)).saturating_add(1_000_000_000);
    i64::try_from(twice.div_euclid(2_000_000_000)).unwrap_or(i64::MAX)
}
