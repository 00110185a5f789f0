//! Ladders and streaming files as what a server sends from.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use framewire_media::audio::{AudioPacket, AudioTrack};
use framewire_media::ladder::Ladder;
use framewire_media::streaming_file::{FramePackets, PAYLOADS, PlanStep, ReadAt, StoredPlan, StreamingFile};
use framewire_units::{Bitrate, Duration};

use crate::schedule::{LevelPlan, Schedule};
use crate::source::{PacketSource, SourceAudio, SourceError, SourcePacket};

/// A ladder in memory, cut into packets when they are asked for.
#[derive(Debug)]
pub struct LadderSource {
    ladder: Ladder,
    payload: u32,
    audio: Option<AudioTrack>,
}

impl LadderSource {
    /// A source of packets with up to `payload` bytes of video; values that a streaming file could not have are brought
    /// within [`PAYLOADS`].
    pub fn new(ladder: Ladder, payload: u32) -> Self {
        Self { ladder, payload: payload.clamp(*PAYLOADS.start(), *PAYLOADS.end()), audio: None }
    }

    /// The same with audio beside the video, of which packets that begin when the movie is over are left out.
    ///
    /// # Errors
    /// When a packet of audio has more bytes than a packet may have.
    pub fn with_audio(mut self, audio: &AudioTrack) -> Result<Self, SourceError> {
        let most = self.payload as usize;
        if let Some((number, packet)) = (0..).zip(audio.packets()).find(|(_, packet)| packet.bytes.len() > most) {
            let reason = format!("{} bytes of audio, and a packet has {most}", packet.bytes.len());
            return Err(SourceError::Audio { number, reason });
        }
        self.audio = audio.until(self.ladder.duration());
        Ok(self)
    }

    /// What it sends.
    pub fn ladder(&self) -> &Ladder {
        &self.ladder
    }
}

impl PacketSource for LadderSource {
    fn levels(&self) -> usize {
        self.ladder.level_count()
    }

    fn frames(&self) -> u32 {
        self.ladder.frame_count() as u32
    }

    fn time_of(&self, frame: u32) -> Duration {
        self.ladder.display_time(frame as usize)
    }

    fn duration(&self) -> Duration {
        self.ladder.duration()
    }

    fn is_switch_point(&self, frame: u32) -> bool {
        (frame as usize) < self.ladder.frame_count() && self.ladder.is_switch_point(frame as usize)
    }

    fn packet(&self, frame: u32, level: usize, index: u32) -> Result<SourcePacket, SourceError> {
        let missing = |reason: &str| SourceError::Video { frame, level, index, reason: reason.to_owned() };
        if level >= self.levels() || frame >= self.frames() {
            return Err(missing("the ladder has no such level or frame"));
        }
        let entry = self.ladder.frame(level, frame as usize);
        if index >= entry.size.div_ceil(self.payload) {
            return Err(missing("the frame has no such packet"));
        }
        let (start, end) = (index * self.payload, (index + 1).saturating_mul(self.payload).min(entry.size));
        let bytes = self.ladder.frame_bytes(level, frame as usize).map_err(|error| missing(&error.to_string()))?;
        Ok(SourcePacket {
            bytes: bytes.slice(start as usize..end as usize),
            last: end == entry.size,
            key: entry.is_key(),
        })
    }

    fn audio(&self) -> Option<SourceAudio> {
        let audio = self.audio.as_ref()?;
        let bits = u128::from(audio.size().as_bits()) * 1_000_000_000 / self.duration().as_nanos().max(1);
        let rate = Bitrate::from_bps(u64::try_from(bits).unwrap_or(u64::MAX));
        Some(SourceAudio { format: audio.format(), packets: audio.packets().len() as u32, rate })
    }

    fn audio_before(&self, frame: u32) -> u32 {
        let end = self.ladder.frame_rate().time_of(u64::from(frame) + 1);
        let before = |audio: &AudioTrack| audio.packets().partition_point(|packet| packet.time < end);
        self.audio.as_ref().map_or(0, before) as u32
    }

    fn audio_packet(&self, number: u32) -> Result<AudioPacket, SourceError> {
        let packet = self.audio.as_ref().and_then(|audio| audio.packets().get(number as usize));
        let reason = || "the track has no such packet of audio".to_owned();
        packet.cloned().ok_or_else(|| SourceError::Audio { number, reason: reason() })
    }
}

/// Frames that are kept because their other packets will be asked for next: one for each of so many clients.
const KEPT_FRAMES: usize = 64;

/// A streaming file. The frames read last are kept, so that a frame is read and checked once for all of its packets.
#[derive(Debug)]
pub struct FileSource<S> {
    file: StreamingFile<S>,
    kept: Mutex<VecDeque<(u32, usize, FramePackets)>>,
}

impl<S: ReadAt> FileSource<S> {
    /// A source that reads from an open file.
    pub fn new(file: StreamingFile<S>) -> Self {
        Self { file, kept: Mutex::default() }
    }

    /// The file.
    pub fn file(&self) -> &StreamingFile<S> {
        &self.file
    }

    fn packets(&self, frame: u32, level: usize) -> Result<FramePackets, String> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., packets)) = kept.iter().rev().find(|(of, at, _)| (*of, *at) == (frame, level)) {
            return Ok(packets.clone());
        }
        let packets = self.file.packets(level, frame as usize).map_err(|error| error.to_string())?;
        if kept.len() == KEPT_FRAMES {
            kept.pop_front();
        }
        kept.push_back((frame, level, packets.clone()));
        Ok(packets)
    }
}

impl<S: ReadAt> PacketSource for FileSource<S> {
    fn levels(&self) -> usize {
        self.file.level_count()
    }

    fn frames(&self) -> u32 {
        self.file.frame_count() as u32
    }

    fn time_of(&self, frame: u32) -> Duration {
        self.file.display_time(frame as usize)
    }

    fn duration(&self) -> Duration {
        self.file.duration()
    }

    fn is_switch_point(&self, frame: u32) -> bool {
        (frame as usize) < self.file.frame_count() && self.file.is_switch_point(frame as usize)
    }

    fn packet(&self, frame: u32, level: usize, index: u32) -> Result<SourcePacket, SourceError> {
        let missing = |reason: String| SourceError::Video { frame, level, index, reason };
        if level >= self.levels() || frame >= self.frames() {
            return Err(missing("the streaming file has no such level or frame".to_owned()));
        }
        let packets = self.packets(frame, level).map_err(missing)?;
        let number = index as usize;
        if number >= packets.count() {
            return Err(missing("the frame has no such packet".to_owned()));
        }
        let bytes: Bytes = packets.data(number);
        let key = self.file.frame(frame as usize).key.is_some();
        Ok(SourcePacket { bytes, last: number + 1 == packets.count(), key })
    }

    fn audio(&self) -> Option<SourceAudio> {
        let audio = self.file.audio()?;
        Some(SourceAudio { format: audio.format, packets: audio.packets, rate: self.file.audio_rate() })
    }

    fn audio_before(&self, frame: u32) -> u32 {
        let last = self.frames() - 1;
        self.file.audio_of(frame.min(last) as usize).end
    }

    fn audio_packet(&self, number: u32) -> Result<AudioPacket, SourceError> {
        let frame = first_of(self.frames(), |frame| self.audio_before(frame) > number);
        let missing = |reason: String| SourceError::Audio { number, reason };
        if frame >= self.frames() {
            return Err(missing("the streaming file has no such packet of audio".to_owned()));
        }
        let mut packets = self.file.audio_packets(frame as usize).map_err(|error| missing(error.to_string()))?;
        Ok(packets.swap_remove((number - self.file.audio_of(frame as usize).start) as usize))
    }
}

/// The first of so many frames of which `holds` is true, as it is of all behind it; `frames` when it is of none.
fn first_of(frames: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut start, mut end) = (0, frames);
    while start < end {
        let middle = start + (end - start) / 2;
        if holds(middle) { end = middle } else { start = middle + 1 }
    }
    start
}

impl From<&Schedule> for StoredPlan {
    /// The schedule as a streaming file carries it: times to the nearest nanosecond, rates up to the next bit/s, and a
    /// step of no rate at the end.
    fn from(schedule: &Schedule) -> Self {
        let at = |seconds: f64| Duration::from_nanos(libm::round(seconds * 1e9) as u64);
        let steps = |level: &LevelPlan| {
            let mut steps: Vec<PlanStep> = Vec::new();
            let begun = level.profile.steps().into_iter().map(|step| (at(step.start), step.bit_rate()));
            for (start, rate) in begun.chain([(at(level.profile.end()), Bitrate::default())]) {
                if steps.last().is_none_or(|last| last.start < start) {
                    steps.push(PlanStep { start, rate });
                }
            }
            steps
        };
        Self {
            client_buffer: schedule.client_buffer(),
            startup: schedule.settings().startup,
            levels: schedule.levels().iter().map(steps).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use framewire_media::FrameRate;
    use framewire_media::ladder::Level;
    use framewire_media::streaming_file::write;

    use super::*;
    use crate::schedule::ScheduleSettings;

    const RATE: FrameRate = FrameRate { numerator: 25, denominator: 1 };

    fn ladder() -> Ladder {
        let sizes = |scale: u32| (0..200).map(move |frame| scale * if frame % 12 == 0 { 900 } else { 200 + frame });
        let levels = [1, 2].map(|scale| Level::of_sizes(RATE, 12, &sizes(scale).collect::<Vec<_>>()).unwrap());
        Ladder::new(levels.into()).unwrap()
    }

    #[test]
    fn a_file_and_its_ladder_are_the_same_source() {
        let schedule = Schedule::new(&ladder(), ScheduleSettings::PAPER).unwrap();
        let mut bytes = Vec::new();
        write(&ladder(), Some(&(&schedule).into()), 512, &mut bytes).unwrap();
        let file = FileSource::new(StreamingFile::open(Bytes::from(bytes)).unwrap());
        let memory = LadderSource::new(ladder(), 512);
        assert_eq!((file.levels(), file.frames(), file.duration()), (2, 200, memory.duration()));
        for frame in 0..=200 {
            assert_eq!(file.is_switch_point(frame), memory.is_switch_point(frame));
            for (level, index) in (0..3).flat_map(|level| (0..6).map(move |index| (level, index))) {
                let (one, other) = (file.packet(frame, level, index), memory.packet(frame, level, index));
                assert_eq!(one.as_ref().ok(), other.as_ref().ok(), "frame {frame}, level {level}, packet {index}");
            }
        }
        let plan = file.file().plan();
        assert_eq!(plan.client_buffer, schedule.client_buffer());
        for millis in (0..9_000).step_by(37) {
            let at = Duration::from_millis(millis);
            for level in 0..2 {
                assert_eq!(plan.rate_at(level, at), schedule.rate_at(level, at), "level {level} at {millis} ms");
            }
        }
    }
}
