//! The sound of a movie, as one flow sends it beside the frames.

use std::sync::Arc;

use bytes::Bytes;
use framewire_media::audio::{AudioFormat, AudioTrack};
use framewire_recording::record::FrameFacts;
use framewire_units::{Bitrate, Duration, Timestamp};

/// The track of sound in the ledger.
pub(crate) const SOUND_TRACK: u8 = 1;

/// What stands for the type of a frame of the movie in rows of sound.
const KIND: char = 'A';

/// Sound that begins earlier than this before the first frame shown is left out. What an encoder puts before the first
/// sample is shorter (46 ms of HE-AAC at 44.1 kHz, 25 ms of MPEG audio), and time stamps of a transport stream have 0.7 s.
const LONGEST_LEAD: Duration = Duration::from_millis(200);

/// Why sound cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SoundError {
    /// All of it is before the movie.
    #[error("the sound ends {0:?} before the movie begins")]
    Before(Duration),
}

/// One track of sound: packets with their times.
#[derive(Clone, Debug)]
pub struct Sound {
    track: Arc<AudioTrack>,
    /// Packets of the track that are sent.
    packets: std::ops::Range<u32>,
    /// When the first packet of the track begins to play, from the first frame shown, in nanoseconds.
    start: i64,
}

impl Sound {
    /// A track whose first packet begins to play at `start` nanoseconds from the first frame shown, before it where that is
    /// negative. Packets that begin more than 200 ms before it are left out.
    ///
    /// # Errors
    /// When all of it is before the movie.
    pub fn new(track: AudioTrack, start: i64) -> Result<Self, SoundError> {
        let count = track.packets().len() as u32;
        let mut sound = Self { track: Arc::new(track), packets: 0..count, start };
        let earliest = -(LONGEST_LEAD.as_nanos() as i64);
        let first = (0..count).find(|&number| sound.nanos(number) >= earliest);
        sound.packets.start = first.ok_or(SoundError::Before(Duration::from_nanos(start.unsigned_abs())))?;
        Ok(sound)
    }

    /// When its first packet begins to play, from the first frame shown, in nanoseconds.
    pub fn start(&self) -> i64 {
        self.start
    }

    /// Without the packets that begin at `end` or later, from the first frame shown; `None` when none is left.
    pub(crate) fn until(&self, end: Duration) -> Option<Self> {
        let end = i64::try_from(end.as_nanos()).unwrap_or(i64::MAX);
        let kept = self.packets.clone().filter(|&number| self.nanos(number) < end).count() as u32;
        (kept > 0).then(|| Self { packets: self.packets.start..self.packets.start + kept, ..self.clone() })
    }

    /// What all packets have in common.
    pub fn format(&self) -> AudioFormat {
        self.track.format()
    }

    /// How many packets are sent; at least one.
    pub(crate) fn len(&self) -> u32 {
        self.packets.end - self.packets.start
    }

    /// When a packet begins to play, from the first frame shown; zero where that is before it.
    pub(crate) fn time(&self, number: u32) -> Duration {
        Duration::from_nanos(u64::try_from(self.nanos(self.packets.start + number)).unwrap_or(0))
    }

    /// The same in nanoseconds, negative where that is before the first frame shown.
    pub(crate) fn at(&self, number: u32) -> i64 {
        self.nanos(self.packets.start + number)
    }

    /// Its bytes over its time.
    pub(crate) fn mean_rate(&self) -> Bitrate {
        let sent = &self.track.packets()[self.packets.start as usize..self.packets.end as usize];
        let bytes: u64 = sent.iter().map(|packet| packet.bytes.len() as u64).sum();
        let nanos: u128 = sent.iter().map(|packet| packet.duration.as_nanos()).sum();
        let bits = u128::from(bytes) * 8_000_000_000;
        Bitrate::from_bps(u64::try_from(bits / nanos.max(1)).unwrap_or(u64::MAX))
    }

    /// When a packet begins to play, from the first frame shown, in nanoseconds: before it where that is negative.
    pub(crate) fn start_of(&self, number: u32) -> i64 {
        self.nanos(self.packets.start + number)
    }

    /// The bytes of a packet.
    pub(crate) fn bytes(&self, number: u32) -> Bytes {
        self.track.packets()[(self.packets.start + number) as usize].bytes.clone()
    }

    /// What the ledger must know of every packet of a flow that begins at `start`.
    pub(crate) fn facts(&self, start: Timestamp) -> impl Iterator<Item = FrameFacts> {
        (0..self.len()).map(move |number| FrameFacts {
            track: SOUND_TRACK,
            kind: KIND,
            size: self.bytes(number).len() as u32,
            level: None,
            gop: 0,
            display_index: number,
            due: start + self.time(number),
            display_time: self.time(number),
            references: Vec::new(),
            missing_reference: false,
            picture_order: None,
            recovers_from: None,
            group_time: None,
        })
    }

    /// From the first frame shown, in nanoseconds.
    fn nanos(&self, packet: u32) -> i64 {
        let since = self.track.packets()[packet as usize].time.as_nanos();
        self.start.saturating_add(i64::try_from(since).unwrap_or(i64::MAX))
    }
}
