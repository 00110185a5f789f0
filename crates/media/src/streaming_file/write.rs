//! Writing a streaming file from a ladder, front to back.

use std::io::Write;
use std::ops::Range;
use std::time::Duration;

use crate::audio::{AudioPacket, AudioTrack};
use crate::ladder::Ladder;
use crate::picture::FrameRate;
use crate::streaming_file::audio::{self, AUDIO_RECORD_HEADER, AudioDescription};
use crate::streaming_file::header::Header;
use crate::streaming_file::index::{self, LevelEntry, records_length};
use crate::streaming_file::record::RecordHeader;
use crate::streaming_file::{FrameEntry, MAX_FRAME, PAYLOADS, StoredPlan, StreamingFileError};

/// Writes a ladder as a streaming file, with packets of up to `payload` bytes of video, and returns its length.
///
/// Without a plan, packets have a nominal rate of zero. The same ladder, plan and payload give the same bytes.
///
/// # Errors
/// When the payload is not allowed, a frame is too large or cannot be read, times do not fit, the plan is for another number of levels or
/// its steps do not ascend, or `sink` fails.
pub fn write(
    ladder: &Ladder,
    plan: Option<&StoredPlan>,
    payload: u32,
    sink: impl Write,
) -> Result<u64, StreamingFileError> {
    write_with_audio(ladder, None, plan, payload, sink)
}

/// Writes a ladder with a track of audio beside it, as [`write`](fn@write) does without: the same bytes where there is no
/// audio.
///
/// # Errors
/// As of `write`; and when a packet of audio has more bytes than `payload`, or begins when the movie is over.
pub fn write_with_audio(
    ladder: &Ladder,
    audio: Option<&AudioTrack>,
    plan: Option<&StoredPlan>,
    payload: u32,
    mut sink: impl Write,
) -> Result<u64, StreamingFileError> {
    let header = header_of(ladder, audio, plan, payload)?;
    let rates: Vec<_> = (0..ladder.level_count()).map(|level| rates_of(ladder, &header.plan, level)).collect();
    let mut remaining = audio.map_or(&[][..], AudioTrack::packets);
    let mut written = 0;
    sink.write_all(&header.emit())?;
    let mut offset = header.length();
    let mut entries = Vec::with_capacity(header.index_length() as usize);
    let mut records = Vec::new();
    for frame in 0..ladder.frame_count() {
        let of_first = ladder.frame(0, frame);
        let (display_index, key) = (of_first.display_index, of_first.key);
        let entry = FrameEntry { offset, display_index, kind: of_first.kind, key };
        let times = audio_times(ladder.frame_rate(), frame);
        let (here, later) = remaining.split_at(remaining.partition_point(|packet| packet.time < times.end));
        let audio = audio.map(|_| audio::emit_records(written, here, &mut records));
        if let Some(entry) = audio {
            sink.write_all(&records)?;
            offset += entry.records_length();
        }
        (remaining, written) = (later, written + here.len() as u32);
        let mut levels = Vec::with_capacity(ladder.level_count());
        for (level, rates) in rates.iter().enumerate() {
            let common = RecordHeader::of_frame(&header, level, frame as u32, display_index, key.is_some());
            let common = RecordHeader { rate: rates[frame], ..common };
            let bytes = ladder.frame_bytes(level, frame)?;
            emit_records(&common, &bytes, payload, &mut records);
            levels.push(LevelEntry { bytes: bytes.len() as u32, checksum: crc32fast::hash(&records) });
            offset += records.len() as u64;
            sink.write_all(&records)?;
        }
        index::emit(entry, audio, &levels, &mut entries);
    }
    entries.extend(crc32fast::hash(&entries).to_be_bytes());
    sink.write_all(&entries)?;
    sink.flush()?;
    Ok(header.file_length)
}

/// The rate of each frame's records. A plan that was checked has none that does not fit.
fn rates_of(ladder: &Ladder, plan: &StoredPlan, level: usize) -> Vec<u32> {
    let sizes = (0..ladder.frame_count()).map(|frame| ladder.frame(level, frame).size);
    let rates = plan.rates_of(level, sizes).into_iter();
    rates.map(|rate| u32::try_from(rate.as_bps()).unwrap_or(u32::MAX)).collect()
}

fn emit_records(common: &RecordHeader, bytes: &[u8], payload: u32, records: &mut Vec<u8>) {
    records.clear();
    let count = bytes.len().div_ceil(payload as usize);
    for (sequence, data) in bytes.chunks(payload as usize).enumerate() {
        let record = common.packet(sequence as u32, data.len() as u32, sequence + 1 == count);
        records.extend(record.emit());
        records.extend_from_slice(data);
    }
}

/// Everything that stands in front is known before the first frame is written.
fn header_of(
    ladder: &Ladder,
    audio: Option<&AudioTrack>,
    plan: Option<&StoredPlan>,
    payload: u32,
) -> Result<Header, StreamingFileError> {
    if !PAYLOADS.contains(&payload) {
        return Err(StreamingFileError::Payload(payload));
    }
    if u32::try_from(ladder.duration().as_millis()).is_err() {
        return Err(StreamingFileError::TooLong { seconds: ladder.duration().as_secs() });
    }
    let plan = plan.cloned().unwrap_or_default();
    check_plan(&plan, ladder)?;
    let mut records = 0;
    for (number, level) in ladder.levels().iter().enumerate() {
        for (frame, entry) in level.frames().iter().enumerate() {
            if entry.size > MAX_FRAME {
                return Err(StreamingFileError::FrameTooLarge { frame, level: number, size: entry.size });
            }
            records += records_length(entry.size, payload);
        }
    }
    if let Some(track) = audio {
        check_audio(track, ladder, payload)?;
    }
    let audio = audio.map(AudioDescription::of);
    let of_audio =
        |audio: AudioDescription| u64::from(audio.packets) * AUDIO_RECORD_HEADER as u64 + audio.size.as_bytes();
    records += audio.map_or(0, of_audio);
    let mut header = Header {
        frames: ladder.frame_count() as u32,
        frame_rate: ladder.frame_rate(),
        payload,
        codec: ladder.codec(),
        picture_size: ladder.levels()[0].picture_size(),
        index_offset: 0,
        file_length: 0,
        levels: (0..ladder.level_count()).map(|level| ladder.size(level)).collect(),
        plan,
        audio,
    };
    header.index_offset = header.length() + records;
    header.file_length = header.index_offset + header.index_length();
    Ok(header)
}

/// When packets of audio begin to play that belong to a frame in decode order: while it is the one that is taken.
pub(super) fn audio_times(frame_rate: FrameRate, frame: usize) -> Range<Duration> {
    frame_rate.time_of(frame as u64)..frame_rate.time_of(frame as u64 + 1)
}

fn check_audio(track: &AudioTrack, ladder: &Ladder, payload: u32) -> Result<(), StreamingFileError> {
    let end = ladder.duration();
    if track.format().codec.code().is_none() {
        return Err(StreamingFileError::AudioCodec(track.format().codec));
    }
    for (packet, AudioPacket { time, bytes, .. }) in track.packets().iter().enumerate() {
        if bytes.len() > payload as usize {
            return Err(StreamingFileError::AudioTooLarge { packet, size: bytes.len(), payload });
        }
        if *time >= end {
            return Err(StreamingFileError::AudioTooLong { packet, time: *time, end });
        }
    }
    Ok(())
}

fn check_plan(plan: &StoredPlan, ladder: &Ladder) -> Result<(), StreamingFileError> {
    let wrong = |reason: String| Err(StreamingFileError::Plan(reason));
    if !plan.levels.is_empty() && plan.levels.len() != ladder.level_count() {
        return wrong(format!("it has {} levels, the ladder has {}", plan.levels.len(), ladder.level_count()));
    }
    for (level, steps) in plan.levels.iter().enumerate() {
        if steps.len() > ladder.frame_count() + 2 {
            return wrong(format!("level {level} has {} steps, more than frames", steps.len()));
        }
        if !steps.is_sorted_by(|before, after| before.start < after.start) {
            return wrong(format!("the steps of level {level} do not ascend in time"));
        }
        if let Some(step) = steps.iter().find(|step| u32::try_from(step.rate.as_bps()).is_err()) {
            return wrong(format!(
                "level {level} is to be sent at {}; up to {} bit/s are allowed",
                step.rate,
                u32::MAX
            ));
        }
    }
    Ok(())
}
