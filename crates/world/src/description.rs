//! `run.json`: what was run, on what, and how it ended.

use std::path::Path;

use framewire_media::Movie;
use framewire_recording::WriteError;
use framewire_recording::record::{FlowStatus, Stuffing};
use framewire_recording::summary::{self, Summary};
use framewire_recording::tables::FORMAT_VERSION;
use framewire_scenario::Scenario;
use framewire_session::lifecycle::FlowOutcome;
use framewire_session::{FlowSetup, LadderContent, Sound};
use framewire_transport::TransportKind;
use framewire_transport::registry::{Format, SocketKind};
use serde_json::{Map, Value, json};

use crate::content::Content;
use crate::outcome::is_complete;

/// Everything that `run.json` says.
pub struct RunDescription<'a> {
    /// `"emulated"`, `"simulated"` or `"real"`.
    pub world: &'static str,
    /// The scenario, resolved.
    pub scenario: &'a Scenario,
    /// What was sent.
    pub content: &'a Content,
    /// The flows, in the order of the scenario.
    pub setups: &'a [FlowSetup],
    /// What each of them recorded.
    pub flows: &'a [FlowOutcome],
    /// What each of them came to; empty of one end, which does not know.
    pub summaries: &'a [Summary],
    /// By flow, whether its packets were seen to have clock references in place of numbers; empty where only the transports
    /// say so.
    pub clock_references_seen: Vec<bool>,
    /// `"interrupted"` or `"time limit"`; `None` when the streams ended by themselves.
    pub ended_by: Option<&'static str>,
    /// The moment that times are counted from; null where time is virtual.
    pub origin_utc: Value,
    /// The kernel, or the simulated kernel, and its settings.
    pub kernel: Value,
    /// By flow, the proof of accuracy of its network.
    pub accuracy: Map<String, Value>,
    /// What only this world has to say.
    pub beside: Map<String, Value>,
}

impl RunDescription<'_> {
    /// `complete`, or `partial` when a flow did not come to its end.
    pub fn status(&self) -> &'static str {
        if is_complete(self.flows) { "complete" } else { "partial" }
    }

    /// The document.
    pub fn to_json(&self) -> Value {
        let seen = self.clock_references_seen.iter().copied().chain(std::iter::repeat(false));
        let sound = self.summaries.iter().map(|summary| summary.sound).chain(std::iter::repeat(None));
        let flows = self.setups.iter().zip(self.flows).zip(seen.zip(sound));
        let flows: Vec<Value> =
            flows.map(|((setup, flow), (seen, sound))| flow_json(setup, flow, seen, sound)).collect();
        let mut document = json!({
            "format": FORMAT_VERSION,
            "program": "framewire",
            "version": env!("CARGO_PKG_VERSION"),
            "world": self.world,
            "status": self.status(),
            "ended_by": self.ended_by,
            "origin_utc": self.origin_utc,
            "seed": self.scenario.seed,
            "kernel": self.kernel,
            "movie": self.content.movie().map(|(file, movie)| movie_json(file, movie)),
            "sound": self.content.sound().map(|(file, sound)| sound_json(file, sound)),
            "ladder": self.content.ladder().map(|(file, ladder)| ladder_json(file, ladder)),
            "interference": interference(self.scenario),
            "flows": flows,
            "accuracy": self.accuracy,
        });
        let fields = document.as_object_mut().expect("invariant: it was written as an object");
        fields.extend(self.beside.clone());
        document
    }
}

/// Writes `scenario.toml` and then `run.json`, which makes a directory a run.
///
/// # Errors
/// When a file cannot be written; the error names it.
pub fn write_documents(directory: &Path, description: &RunDescription<'_>) -> Result<(), WriteError> {
    write_scenario(directory, description.scenario)?;
    write_description(directory, &description.to_json())
}

/// Writes `scenario.toml`.
///
/// # Errors
/// As [`write_documents`].
pub fn write_scenario(directory: &Path, scenario: &Scenario) -> Result<(), WriteError> {
    write_text(&directory.join("scenario.toml"), &scenario.to_toml())
}

/// Writes `run.json` of what is described so.
///
/// # Errors
/// As [`write_documents`].
pub fn write_description(directory: &Path, description: &Value) -> Result<(), WriteError> {
    write_text(&directory.join("run.json"), &format!("{description:#}\n"))
}

fn write_text(path: &Path, text: &str) -> Result<(), WriteError> {
    std::fs::write(path, text).map_err(|error| WriteError::new(path.to_owned(), &error))
}

fn flow_json(
    setup: &FlowSetup,
    flow: &FlowOutcome,
    has_clock_references: bool,
    sound: Option<summary::Sound>,
) -> Value {
    let failure = match &flow.status {
        FlowStatus::Failed(reason) => Some(reason),
        FlowStatus::Complete | FlowStatus::Partial => None,
    };
    let mut document = json!({
        "name": setup.name(),
        "transport": setup.transport(),
        "clock_references": has_clock_references || sends_clock_references(setup.transport()),
        "settings": setup.settings(),
        "failure": failure,
        "received_frames": flow.received.complete_frames,
        "received_bytes": flow.kept_bytes,
        "rejected": flow.received.rejected,
        "rejections": flow.received.rejections,
    });
    if let Some(Stuffing { bytes, of }) = flow.sent.stuffing {
        document["stuffing_bytes"] = bytes.into();
        document["transport_stream_bytes"] = of.into();
    }
    if let Some(sound) = sound {
        document["sound"] = sound_of_flow(sound);
    }
    document
}

/// What became of a flow's sound, and how late it was.
fn sound_of_flow(sound: summary::Sound) -> Value {
    let summary::Sound { fates, longest_wait_ms, latency_ms, apart_ms } = sound;
    let latency = |place: usize| latency_ms.map(|latencies| latencies[place]);
    json!({
        "shown": fates.shown,
        "late": fates.late,
        "lost": fates.lost,
        "not_offered": fates.not_offered,
        "wait_max_ms": longest_wait_ms,
        "latency_p50_ms": latency(0),
        "latency_p95_ms": latency(1),
        "latency_max_ms": latency(2),
        "apart_ms": apart_ms,
    })
}

/// Whether a transport sends datagrams of a transport stream without RTP, which have a clock reference each and no number.
fn sends_clock_references(transport: &str) -> bool {
    let parts = transport.parse::<TransportKind>().map(|kind| kind.profile().parts);
    parts.is_ok_and(|parts| parts.format == Format::Ts && matches!(parts.socket, SocketKind::Datagram(_)))
}

fn movie_json(file: &Path, movie: &Movie) -> Value {
    let sequence = &movie.index.sequence;
    let seconds = sequence.frame_rate.time_of(movie.index.frames.len() as u64).as_secs_f64();
    json!({
        "path": file,
        "bytes": movie.size(),
        "bitrate": movie.size() as f64 * 8.0 / seconds,
        "duration_s": seconds,
        "frames": movie.index.frames.len(),
        "width": sequence.width,
        "height": sequence.height,
        "frame_rate": f64::from(sequence.frame_rate.numerator) / f64::from(sequence.frame_rate.denominator),
    })
}

fn sound_json(file: &Path, sound: &Sound) -> Value {
    let format = sound.format();
    json!({
        "path": file,
        "codec": format.codec.to_string(),
        "start_ns": sound.start(),
        "sample_rate": format.sample_rate,
        "channels": format.channels,
    })
}

fn ladder_json(file: &Path, ladder: &LadderContent) -> Value {
    let ((width, height), rate) = (ladder.picture_size(), ladder.frame_rate());
    json!({
        "path": file,
        "codec": ladder.codec().map(|codec| codec.to_string()),
        "levels_bps": (0..ladder.levels()).map(|level| ladder.mean_rate(level).as_bps()).collect::<Vec<_>>(),
        "duration_s": ladder.duration().as_secs_f64(),
        "frames": ladder.frames(),
        "width": width,
        "height": height,
        "frame_rate": f64::from(rate.numerator) / f64::from(rate.denominator),
        "payload": ladder.payload(),
        "planned_startup_s": ladder.planned_startup().as_secs_f64(),
        "client_buffer": ladder.client_buffer().as_bytes(),
    })
}

fn interference(scenario: &Scenario) -> Vec<[f64; 2]> {
    let ovens = scenario.network.wireless().filter_map(|wifi| wifi.oven.as_ref());
    let mut on: Vec<_> = ovens.flat_map(|oven| &oven.on).collect();
    on.sort_by_key(|interval| interval.start);
    on.into_iter().map(|interval| [interval.start.as_secs_f64(), interval.end.as_secs_f64()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_transport_stream_in_datagrams_has_clock_references() {
        let with: Vec<&str> = ["ts", "ts+ifd", "ts+rtp", "udp", "tcp", "http+ts", "vtp", "bulk", "external"]
            .into_iter()
            .filter(|transport| sends_clock_references(transport))
            .collect();
        assert_eq!(with, ["ts", "ts+ifd"]);
    }
}
