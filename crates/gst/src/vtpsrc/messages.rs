//! What the element tells: structures of its messages and of `stats`.

use framewire_adaptive::client::ClientState;
use framewire_wire::vtp::Description;

/// The server described the movie.
pub(super) fn described(description: &Description) -> gst::Structure {
    gst::Structure::builder("framewire-stream-described")
        .field("frames", description.frames)
        .field("duration", duration(description))
        .field("client-buffer", description.buffer.as_bytes())
        .field("rates", rates(description))
        .build()
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

/// How long the movie is.
pub(super) fn duration(description: &Description) -> gst::ClockTime {
    gst::ClockTime::try_from(description.duration).unwrap_or(gst::ClockTime::MAX)
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
}

/// The `stats` property.
pub(super) fn stats(pushed: &Pushed, state: &ClientState, waiting: u64) -> gst::Structure {
    let drops = state.drops.iter().map(|(reason, count)| {
        let reason = format!("{reason:?}");
        gst::Structure::builder("dropped-by-reason").field("reason", reason).field("datagrams", count).build()
    });
    let mut stats = gst::Structure::builder("application/x-framewire-vtp-source-stats")
        .field("frames", pushed.frames)
        .field("bytes", pushed.bytes)
        .field("frames-by-level", gst::Array::new(pushed.frames_by_level.iter().copied()))
        .field("frames-skipped", pushed.skipped)
        .field("frames-lost", state.frames_lost)
        .field("level-changes", pushed.level_changes)
        .field("packets", state.packets)
        .field("packets-missing", state.missing)
        .field("received-bytes", state.received.as_bytes())
        .field("waiting-bytes", waiting + state.buffered.as_bytes())
        .field("dropped-datagrams", state.drops.total())
        .field("dropped-by-reason", gst::Array::new(drops));
    if let Some(level) = pushed.level {
        stats = stats.field("level", level as u32);
    }
    if let Some(description) = &pushed.description {
        stats = stats
            .field("duration", duration(description))
            .field("client-buffer", description.buffer.as_bytes())
            .field("rates", rates(description));
    }
    stats.build()
}
