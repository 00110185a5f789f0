//! The movie that tests and benchmarks of this crate stream: one level of frames of equal size at a constant rate.

use bytes::Bytes;
use framewire_adaptive::source::{PacketSource, Plan, SourceError, SourcePacket};
use framewire_units::{Bitrate, DataSize, Duration};

/// Frames whose packets say which they are: each byte is the frame's number, but for the last, which is the packet's.
pub struct Movie {
    frames: u32,
    frame_time: Duration,
    packets_per_frame: u32,
    /// Of 256 frames: more cannot be distinguished by a byte.
    packets: Vec<Bytes>,
}

impl Movie {
    /// A movie of so many frames of that duration, of so many packets with so many bytes.
    pub fn new(frames: u32, frame_time: Duration, packets_per_frame: u8, payload: usize) -> Self {
        let packet = |frame: u8, index: u8| Bytes::from([vec![frame; payload - 1], vec![index]].concat());
        let packets = (0..=255).flat_map(|frame| (0..packets_per_frame).map(move |index| packet(frame, index)));
        Self { frames, frame_time, packets_per_frame: packets_per_frame.into(), packets: packets.collect() }
    }
}

impl PacketSource for Movie {
    fn levels(&self) -> usize {
        1
    }
    fn frames(&self) -> u32 {
        self.frames
    }
    fn time_of(&self, frame: u32) -> Duration {
        self.frame_time * frame
    }
    fn duration(&self) -> Duration {
        self.frame_time * self.frames
    }
    fn is_switch_point(&self, frame: u32) -> bool {
        frame.is_multiple_of(12)
    }
    fn packet(&self, frame: u32, _level: usize, index: u32) -> Result<SourcePacket, SourceError> {
        let bytes = self.packets[(frame % 256 * self.packets_per_frame + index) as usize].clone();
        Ok(SourcePacket { bytes, last: index + 1 == self.packets_per_frame, key: self.is_switch_point(frame) })
    }
}

impl Plan for Movie {
    fn levels(&self) -> usize {
        1
    }
    fn rate_at(&self, _level: usize, _at: Duration) -> Bitrate {
        let frame = DataSize::from_bytes(u64::from(self.packets_per_frame) * self.packets[0].len() as u64);
        Bitrate::from_bps((frame.as_bits() as u128 * 1_000_000_000 / self.frame_time.as_nanos()) as u64)
    }
}
