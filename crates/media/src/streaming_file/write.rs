//! Writing a streaming file from a ladder, front to back.

use std::io::Write;

use crate::ladder::Ladder;
use crate::streaming_file::header::Header;
use crate::streaming_file::index::{self, LevelEntry, records_length};
use crate::streaming_file::record::RecordHeader;
use crate::streaming_file::{FrameEntry, MAX_FRAME, PAYLOADS, StoredPlan, StreamingFileError};

/// Writes a ladder as a streaming file, with packets of up to `payload` bytes of video, and returns its length.
///
/// Without a plan, packets have a nominal rate of zero. The same ladder, plan and payload give the same bytes.
///
/// # Errors
/// When the payload is not allowed, a frame is too large, times do not fit, the plan is for another number of levels or
/// its steps do not ascend, or `sink` fails.
pub fn write(
    ladder: &Ladder,
    plan: Option<&StoredPlan>,
    payload: u32,
    mut sink: impl Write,
) -> Result<u64, StreamingFileError> {
    let header = header_of(ladder, plan, payload)?;
    sink.write_all(&header.emit())?;
    let mut offset = header.length();
    let mut entries = Vec::with_capacity(index::length(ladder.frame_count(), ladder.level_count()) as usize);
    let mut records = Vec::new();
    for frame in 0..ladder.frame_count() {
        let of_first = ladder.frame(0, frame);
        let (display_index, key) = (of_first.display_index, of_first.key);
        let entry = FrameEntry { offset, display_index, kind: of_first.kind, key };
        let mut levels = Vec::with_capacity(ladder.level_count());
        for level in 0..ladder.level_count() {
            let common = RecordHeader::of_frame(&header, level, frame as u32, display_index, key.is_some());
            let bytes = ladder.frame_bytes(level, frame);
            emit_records(&common, &bytes, payload, &mut records);
            levels.push(LevelEntry { bytes: bytes.len() as u32, checksum: crc32fast::hash(&records) });
            offset += records.len() as u64;
            sink.write_all(&records)?;
        }
        index::emit(entry, &levels, &mut entries);
    }
    entries.extend(crc32fast::hash(&entries).to_be_bytes());
    sink.write_all(&entries)?;
    sink.flush()?;
    Ok(header.file_length)
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
fn header_of(ladder: &Ladder, plan: Option<&StoredPlan>, payload: u32) -> Result<Header, StreamingFileError> {
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
    };
    header.index_offset = header.length() + records;
    header.file_length = header.index_offset + index::length(ladder.frame_count(), ladder.level_count());
    Ok(header)
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
