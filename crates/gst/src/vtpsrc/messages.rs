//! What the element reports: structures of its messages and of `stats`.

use std::time::Duration;

use framewire_adaptive::source::ENDLESS;
use framewire_endpoint::reception::Known;
use framewire_wire::vtp::Description;

use super::caps;

/// The server described the movie.
pub(super) fn described(description: &Description) -> gst::Structure {
    let mut structure = gst::Structure::builder("framewire-stream-described")
        .field("live", is_live(description))
        .field("client-buffer", description.buffer.as_bytes())
        .field("rates", rates(description));
    if let Some(duration) = duration(description) {
        structure = structure.field("frames", description.frames).field("duration", duration);
    }
    if let Some(audio) = description.audio.as_ref().and_then(caps::of_audio) {
        structure = structure.field("audio", audio);
    }
    structure.build()
}

/// Whether it is made while it is sent.
pub(super) fn is_live(description: &Description) -> bool {
    description.frames == ENDLESS
}

/// Another level arrives.
pub(super) fn level_changed(frame: u32, from: usize, to: usize) -> gst::Structure {
    gst::Structure::builder("framewire-level-changed")
        .field("frame", frame)
        .field("from", from as u32)
        .field("to", to as u32)
        .build()
}

/// Frames did not come.
pub(super) fn frames_lost(first: u32, count: u32) -> gst::Structure {
    gst::Structure::builder("framewire-frames-lost").field("frame", first).field("count", count).build()
}

/// Packets of audio did not come, or did not fit.
pub(super) fn audio_lost(first: u32, count: u32) -> gst::Structure {
    gst::Structure::builder("framewire-audio-lost").field("packet", first).field("count", count).build()
}

/// How long the movie is; `None` of a live one.
pub(super) fn duration(description: &Description) -> Option<gst::ClockTime> {
    (!is_live(description)).then(|| gst::ClockTime::try_from(description.duration).unwrap_or(gst::ClockTime::MAX))
}

fn rates(description: &Description) -> gst::Array {
    gst::Array::new(description.rates.iter().map(|rate| rate.as_bps()))
}

/// What the streaming thread counts.
#[derive(Clone, Debug, Default)]
pub(super) struct Pushed {
    /// The movie, once it is described.
    pub description: Option<Description>,
    /// Frames that went downstream.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The same by level, lowest first.
    pub frames_by_level: Vec<u64>,
    /// Frames before the first key frame, which nothing can be made of.
    pub skipped: u64,
    /// Changes of level.
    pub level_changes: u64,
    /// The level of the last frame.
    pub level: Option<usize>,
    /// Its play-out time.
    pub shown: Option<Duration>,
    /// Packets of audio that went downstream, and their bytes.
    pub audio: (u64, u64),
}

/// The `stats` property.
pub(super) const STATS: &str = "application/x-framewire-vtp-source-stats";

/// What is known, under a name.
pub(super) fn stats(name: &str, pushed: &Pushed, known: &Known) -> gst::Structure {
    let state = &known.state;
    let drops = state.drops.iter().map(|(reason, count)| {
        let reason = format!("{reason:?}");
        gst::Structure::builder("dropped-by-reason").field("reason", reason).field("datagrams", count).build()
    });
    let mut stats = gst::Structure::builder(name)
        .field("frames", pushed.frames)
        .field("bytes", pushed.bytes)
        .field("frames-by-level", gst::Array::new(pushed.frames_by_level.iter().copied()))
        .field("frames-skipped", pushed.skipped)
        .field("frames-lost", state.frames_lost)
        .field("frames-in-time", known.in_time)
        .field("frames-late", known.late)
        .field("level-changes", pushed.level_changes)
        .field("audio-packets", pushed.audio.0)
        .field("audio-bytes", pushed.audio.1)
        .field("audio-lost", known.audio_lost)
        .field("packets", state.packets)
        .field("packets-missing", state.missing)
        .field("packets-repeated", state.repeated)
        .field("received-bytes", state.received.as_bytes())
        .field("waiting-bytes", known.waiting + state.buffered.as_bytes())
        .field("dropped-datagrams", state.drops.total())
        .field("dropped-by-reason", gst::Array::new(drops));
    let expected = state.packets + state.missing;
    if expected > 0 {
        stats = stats.field("loss", state.missing as f64 / expected as f64);
    }
    if let Some(buffered) = pushed.buffered(known.newest) {
        stats = stats.field("buffered", buffered.as_nanos() as u64);
    }
    if let Some(rate) = known.rate {
        stats = stats.field("rate", rate);
    }
    if let Some(round_trip) = state.round_trip {
        stats = stats.field("round-trip", round_trip.as_nanos() as u64);
    }
    if let Some(level) = pushed.level {
        stats = stats.field("level", level as u32);
    }
    if let Some(description) = &pushed.description {
        stats = stats
            .field("live", is_live(description))
            .field("client-buffer", description.buffer.as_bytes())
            .field("rates", rates(description));
        if let Some(duration) = duration(description) {
            stats = stats.field("duration", duration);
        }
    }
    stats.build()
}

impl Pushed {
    /// Time of the stream that came and did not go downstream yet.
    fn buffered(&self, newest: Option<Duration>) -> Option<Duration> {
        let newest = newest?;
        Some(self.shown.map_or(newest, |shown| newest.saturating_sub(shown)))
    }
}
