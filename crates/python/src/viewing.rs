//! ClientDriver an adaptive stream over this kernel's sockets.

use std::path::PathBuf;

use framewire_adaptive::client::{Client, ClientEvent, ClientSettings, PlayerSettings, ReportKind};
use framewire_adaptive::rate_control::RateControl;
use framewire_endpoint::{ClientDriver, ClientNotice, ClientOutcome, Files, ReceivedAudio, Silence, random_session};
use framewire_sim::Cancel;
use framewire_units::{DataSize, Timestamp};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::endpoint::{address, conclude, failure, of_drops, refusal, shared_key, tell, title_of};
use crate::interruption::interruptible;

/// Receives a stream until it ends or is interrupted, into a file where `path` is given; audio goes into a file beside it,
/// whose name ends as the codec's does. Files that are there already go only with `replace`, and no more than `most` bytes
/// go into files. `listener` is called with `"event"` and JSON. Returns what came of it, as JSON.
#[pyfunction]
#[pyo3(signature = (path, listener, *, title, data, control, tfrc, repeats, key, replace, most))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn view_stream(
    py: Python<'_>,
    path: Option<PathBuf>,
    listener: Py<PyAny>,
    title: &str,
    data: &str,
    control: &str,
    tfrc: bool,
    repeats: bool,
    key: Option<Vec<u8>>,
    replace: bool,
    most: &str,
) -> PyResult<String> {
    let settings = ClientSettings {
        key: shared_key(key)?,
        reports: if tfrc { RateControl::Tfrc.reports() } else { ReportKind::Control },
        player: repeats.then(PlayerSettings::default),
        packet_events: true,
        ..ClientSettings::paper(title_of(title)?, random_session().map_err(failure)?)
    };
    let most: DataSize =
        most.parse().map_err(|error| refusal(format!("at most \"{most}\" may be written: {error}; as 16 GB")))?;
    let viewing = ClientDriver::open(Client::new(settings), address("data", data)?, address("control", control)?);
    let viewing = viewing.map_err(failure)?;
    let files = Files { video: path, replace, most };
    let listener = |heard: ClientNotice<'_>| of_heard(heard).iter().for_each(|event| tell(&listener, event));
    let (viewed, interruption) =
        interruptible(py, &Cancel::new(), |cancel| viewing.run_into(&files, || cancel.is_raised(), listener));
    conclude(py, viewed.map(|(viewed, audio)| of_viewed(&viewed, audio.as_ref())), interruption)
}

fn of_heard(heard: ClientNotice<'_>) -> Option<Value> {
    match heard {
        ClientNotice::Event(now, event) => of_client(now, event),
        ClientNotice::Silence(noticed) => Some(of_noticed(noticed)),
    }
}

fn of_noticed(noticed: Silence) -> Value {
    let (event, waited) = match noticed {
        Silence::NoAnswer { waited } => ("no answer", waited),
        Silence::NoFeedback { waited } => ("no feedback", waited),
    };
    json!({ "event": event, "for_s": waited.as_secs_f64() })
}

fn of_client(now: Timestamp, event: &ClientEvent) -> Option<Value> {
    let at_s = now.as_secs_f64();
    Some(match event {
        ClientEvent::FrameComplete(frame) => json!({
            "at_s": at_s, "event": "frame", "frame": frame.frame, "level": frame.level, "key": frame.key,
            "bytes": frame.bytes.len(), "arrived_s": frame.arrived.as_secs_f64(),
            "media_time_s": frame.media_time.as_secs_f64(),
        }),
        ClientEvent::FramesLost { first, count } => {
            json!({ "at_s": at_s, "event": "lost", "frame": first, "count": count })
        }
        ClientEvent::LevelChanged { frame, from, to } => {
            json!({ "at_s": at_s, "event": "level", "frame": frame, "from": from, "to": to })
        }
        ClientEvent::Described(description) => json!({
            "at_s": at_s, "event": "described", "frames": description.frames,
            "duration_s": description.duration.as_secs_f64(), "client_buffer": description.buffer.as_bytes(),
            "rates_bps": description.rates.iter().map(|rate| rate.as_bps()).collect::<Vec<_>>(),
        }),
        ClientEvent::Ended(reason) => json!({ "at_s": at_s, "event": "ended", "reason": format!("{reason:?}") }),
        ClientEvent::AudioLost { first, count } => {
            json!({ "at_s": at_s, "event": "audio lost", "packet": first, "count": count })
        }
        ClientEvent::Packet { .. } | ClientEvent::Audio(_) => return None,
    })
}

fn of_viewed(viewed: &ClientOutcome, audio: Option<&ReceivedAudio>) -> Value {
    json!({
        "ended": format!("{:?}", viewed.ended),
        "frames": viewed.state.frames_complete,
        "frames_lost": viewed.state.frames_lost,
        "frames_by_level": viewed.frames_by_level,
        "packets": viewed.state.packets,
        "packets_missing": viewed.state.missing,
        "packets_repeated": viewed.state.repeated,
        "bytes": viewed.written,
        "size_limit_reached": viewed.allowance_used_up,
        "drops": of_drops(&viewed.state.drops),
        "audio": audio.map(|audio| json!({ "file": audio.file, "packets": audio.packets, "lost": audio.lost })),
        "codec": viewed.codec.map(|codec| codec.to_string()),
        "ffmpeg_format": viewed.codec.map(|codec| codec.ffmpeg_format()),
        "frames_per_second": viewed.frames_per_second,
    })
}
