//! The sending plan: every frame of a movie with the moment at which the frame clock offers it.

use std::sync::{Arc, OnceLock};

use framewire_media::access_unit::Codec;
use framewire_media::{FrameRate, Movie, PictureType, TimeCode};
use framewire_recording::record::FrameFacts;
use framewire_transport::OutgoingSound;
use framewire_transport::frame::OutgoingFrame;
use framewire_units::{Bitrate, Duration, Timestamp};
use framewire_wire::mpeg_ts::PlannedUnit;
use framewire_wire::{rtp, rtp_payload};

use crate::content::{ContentMatcher, MovieContent};
use crate::dependencies::{dependencies, recovers_from, referenced};
use crate::half::Track;
use crate::sound::{SOUND_TRACK, Sound};

/// A movie as one flow sends it.
#[derive(Clone, Debug)]
pub struct SendingPlan {
    movie: Movie,
    /// Of every frame, whether another may refer to it.
    referenced: Arc<[bool]>,
    sound: Option<Sound>,
    start: Timestamp,
    /// What streams of it are compared with, once asked for; `None` in it for a codec without start codes.
    content: Arc<OnceLock<Option<Arc<MovieContent>>>>,
}

impl SendingPlan {
    /// A plan whose first frame is due at `start`. Every later one is due at its decode time after that, because
    /// frames are sent in decode order (thesis, section 2.1: one frame each 1/25 s).
    pub fn new(movie: Movie, start: Timestamp) -> Self {
        Self { referenced: referenced(&movie.index).into(), movie, sound: None, start, content: Arc::default() }
    }

    /// The same with sound beside it, as far as the movie lasts: its packets are numbered behind the movie's frames.
    pub fn with_sound(self, sound: &Sound) -> Self {
        let end = self.movie.index.sequence.frame_rate.time_of(u64::from(self.len()));
        Self { sound: sound.until(end), ..self }
    }

    /// The same without its sound.
    pub(crate) fn without_sound(&self) -> Self {
        Self { sound: None, ..self.clone() }
    }

    /// The sound that it sends beside the movie.
    pub fn sound(&self) -> Option<&Sound> {
        self.sound.as_ref()
    }

    /// The tracks that it sends.
    pub(crate) fn tracks(&self) -> Vec<Track> {
        let sound = self.sound.as_ref().map(|_| Track::Audio(SOUND_TRACK));
        [Track::Video].into_iter().chain(sound).collect()
    }

    /// When packet `number` of the sound is offered: when it plays, but no sooner than the first frame; `None` where there is
    /// no such packet.
    pub(crate) fn sound_due(&self, number: u32) -> Option<Timestamp> {
        let sound = self.sound.as_ref()?;
        (number < sound.len()).then(|| self.start + sound.time(number))
    }

    /// A packet of sound as a sending half takes it.
    ///
    /// # Panics
    /// When there is no such packet.
    pub(crate) fn outgoing_sound(&self, number: u32) -> OutgoingSound {
        let sound = self.sound.as_ref().expect("invariant: a packet of sound has a sound");
        OutgoingSound { id: self.len() + number, at: sound.at(number), bytes: sound.bytes(number) }
    }

    /// The same movie with its first frame due at `start`.
    pub(crate) fn starting_at(&self, start: Timestamp) -> Self {
        Self { start, ..self.clone() }
    }

    /// When its first frame is due.
    pub(crate) fn start(&self) -> Timestamp {
        self.start
    }

    /// From its first frame until another one can follow the last.
    pub(crate) fn length(&self) -> Duration {
        let frames = &self.movie.index.frames;
        let last = frames.last().map_or(Duration::ZERO, |frame| frame.decode_time);
        (last + self.frame_interval()).max(self.frame_rate().time_of(frames.len() as u64))
    }

    /// The movie.
    pub fn movie(&self) -> &Movie {
        &self.movie
    }

    /// A matcher at the start of a stream of the movie; `None` for one whose codec has no start codes. The first one reads
    /// all of the movie, and the others have from it what it found.
    pub fn matcher(&self) -> Option<ContentMatcher> {
        let content = self.content.get_or_init(|| MovieContent::of(&self.movie).map(Arc::new));
        content.clone().map(ContentMatcher::of)
    }

    /// Number of frames.
    pub fn len(&self) -> u32 {
        self.movie.index.frames.len() as u32
    }

    /// True for a movie without frames; a parsed movie has at least one.
    pub fn is_empty(&self) -> bool {
        self.movie.index.frames.is_empty()
    }

    /// S_i: when the frame clock offers frame `frame`.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn due(&self, frame: u32) -> Timestamp {
        self.start + self.movie.index.frames[frame as usize].decode_time
    }

    /// The movie's codec.
    pub(crate) fn codec(&self) -> Codec {
        self.movie.index.sequence.codec
    }

    /// The stream's frame rate.
    pub fn frame_rate(&self) -> FrameRate {
        self.movie.index.sequence.frame_rate
    }

    /// The time that one frame lasts, from the stream's frame rate.
    pub(crate) fn frame_interval(&self) -> Duration {
        self.movie.index.sequence.frame_rate.time_of(1)
    }

    /// Its bytes over its time.
    pub(crate) fn mean_rate(&self) -> Bitrate {
        let frames = &self.movie.index.frames;
        let bytes: u64 = frames.iter().map(|frame| u64::from(frame.size)).sum();
        let time = self.frame_interval() + frames.last().map_or(Duration::ZERO, |frame| frame.decode_time);
        let bits = u128::from(bytes) * 8_000_000_000;
        Bitrate::from_bps(u64::try_from(bits / time.as_nanos().max(1)).unwrap_or(u64::MAX))
    }

    /// In which order its frames and its sound stand in a file: of each, whether it is sound. Sound stands before the frame during
    /// which it is offered, in the order in which a sender without a frame clock is given both.
    pub(crate) fn order_in_file(&self) -> Vec<bool> {
        let (mut order, mut sound) = (Vec::new(), 0);
        for frame in 0..self.len() {
            let next = (frame + 1 < self.len()).then(|| self.due(frame + 1));
            while self.sound_due(sound).is_some_and(|due| next.is_none_or(|next| due < next)) {
                order.push(true);
                sound += 1;
            }
            order.push(false);
        }
        order
    }

    /// The most that a frame is decoded later than it is shown, each counted from the first one.
    pub(crate) fn longest_reordering(&self) -> Duration {
        let frames = self.movie.index.frames.iter();
        frames.map(|frame| frame.decode_time.saturating_sub(frame.display_time)).max().unwrap_or_default()
    }

    /// Its frames and its sound as a transport stream has them, in order of when they may be sent.
    pub(crate) fn planned_units(&self) -> Vec<PlannedUnit> {
        let frames = self.movie.index.frames.iter().map(|frame| PlannedUnit {
            track: 0,
            start: frame.decode_time,
            bytes: u64::from(frame.size),
            random_access: frame.key.is_some(),
        });
        let reordering = self.longest_reordering();
        let sound = self.sound.iter().flat_map(|sound| (0..sound.len()).map(move |number| (sound, number)));
        let sound = sound.map(|(sound, number)| PlannedUnit {
            track: usize::from(SOUND_TRACK),
            start: reordering + Duration::from_nanos(u64::try_from(sound.at(number)).unwrap_or(0)),
            bytes: sound.bytes(number).len() as u64,
            random_access: true,
        });
        let mut units: Vec<PlannedUnit> = frames.chain(sound).collect();
        units.sort_by_key(|unit| unit.start);
        units
    }

    /// The frame as a sending half takes it.
    ///
    /// # Panics
    /// When there is no such frame.
    pub fn outgoing(&self, frame: u32) -> OutgoingFrame {
        let entry = &self.movie.index.frames[frame as usize];
        let next = self.movie.index.frames.get(frame as usize + 1);
        OutgoingFrame {
            id: frame,
            kind: entry.kind,
            dependencies: dependencies(entry, self.referenced[frame as usize]),
            duration: next
                .map_or_else(|| self.frame_interval(), |next| next.decode_time.saturating_sub(entry.decode_time)),
            rtp_timestamp: rtp::timestamp(entry.display_time, rtp_payload::CLOCK_RATE),
            decode_timestamp: rtp::timestamp(entry.decode_time, rtp_payload::CLOCK_RATE),
            bytes: self.movie.frame_bytes(frame as usize),
        }
    }

    /// A group's time code, counted from the stream's first one: a stream may begin at any.
    fn group_time(&self, code: TimeCode) -> Duration {
        let first = self.movie.index.frames.iter().find_map(|frame| frame.gop_header);
        let origin = first.map_or(Duration::ZERO, |header| header.time_code.time_at(self.frame_rate()));
        code.time_at(self.frame_rate()).saturating_sub(origin)
    }

    /// What the ledger must know of every frame, and behind them of every packet of sound.
    pub fn facts(&self) -> impl Iterator<Item = FrameFacts> {
        let sound = self.sound.iter().flat_map(|sound| sound.facts(self.start));
        self.video_facts().chain(sound)
    }

    fn video_facts(&self) -> impl Iterator<Item = FrameFacts> {
        self.movie.index.frames.iter().map(|frame| FrameFacts {
            track: 0,
            kind: letter(frame.kind),
            size: frame.size,
            level: None,
            gop: frame.gop,
            display_index: frame.display_index,
            due: self.start + frame.decode_time,
            display_time: frame.display_time,
            references: frame.references.to_vec(),
            missing_reference: frame.missing_reference,
            picture_order: frame.picture_order,
            recovers_from: recovers_from(frame),
            group_time: frame.gop_header.map(|header| self.group_time(header.time_code)),
        })
    }
}

pub(crate) fn letter(kind: PictureType) -> char {
    match kind {
        PictureType::I => 'I',
        PictureType::P => 'P',
        PictureType::B => 'B',
        PictureType::D => 'D',
    }
}
